"""The version of the installed distribution."""

from __future__ import annotations


def version() -> str:
    """Return it, as `0.1.0`."""
    import importlib.metadata

    return importlib.metadata.version("autopilot-orchestrator")
