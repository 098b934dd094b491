"""From the command line to the exit code. Every way out of a command passes through here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autopilot.cli.result import Result, print_result, silence

if TYPE_CHECKING:
    import argparse


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name, and exit with its code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _make_streams_safe()
    code = _guarded(words)
    _flush()
    sys.exit(code)


def _make_streams_safe() -> None:
    """UTF-8 whatever the locale; what can't be encoded (half a surrogate of a path) is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _guarded(words: list[str]) -> int:
    as_json = "--json" in words
    command = next((word for word in words if not word.startswith("-")), "autopilot")
    try:
        return _run(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except Exception as error:  # noqa: BLE001 - the one place that turns errors into exit codes
        from autopilot.cli.failure import print_failure

        return print_failure(command, error, as_json=as_json, debug="--debug" in words)


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        print(_version())
        return 0
    from autopilot.cli.parser import parse

    try:
        args = parse(words)
    except SystemExit as done:  # argparse leaves this way after --help
        return int(done.code or 0)
    name = args.command or "autopilot"
    result = _dispatch(args)
    print_result(name, result, as_json=args.json)
    return int(result.exit_code)


def _dispatch(args: argparse.Namespace) -> Result:
    if args.version:
        return Result([_version()], {"version": _version().split()[-1]})
    if args.command is None:
        from autopilot.cli.run import go_on

        return go_on(args)
    result: Result = args.run_command(args)
    return result


def _version() -> str:
    from importlib.metadata import version

    return f"autopilot {version('autopilot-orchestrator')}"


def _flush() -> None:
    """A pipe whose reader has gone must not turn the last flush into a message."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except (OSError, ValueError):
            silence(stream)
