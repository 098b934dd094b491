"""The command line. One file a command group; what is heavy is imported inside the commands."""

from autopilot.cli.main import main

__all__ = ["main"]
