"""How a command's failure looks: four labelled lines, or the envelope; a bug of ours leaves a report file."""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
from pathlib import Path

from autopilot.cli.result import write_json, write_lines
from autopilot.errors import describe, exit_of
from autopilot_state.errors import AutopilotError
from autopilot_state.fs import RealFileSystem, make_private_directory, write_atomic


def print_failure(command: str, error: BaseException, *, as_json: bool, debug: bool) -> int:
    """Show an error that ended a command on standard error (and as the envelope), and return the exit code."""
    fields = describe(error)
    if fields is None:
        fields = _internal(error)
        code, reason = 1, "internal"
    else:
        code, reason = exit_of(error)
    if debug:
        traceback.print_exception(error)
    if as_json:
        from autopilot.report import envelope

        write_json(envelope(command, exit_code=code, reason=reason, error=fields))
    write_lines(sys.stderr, error_lines(fields))
    return code


def error_lines(fields: dict[str, str]) -> list[str]:
    """Return the lines of an error: what happened first, then why, what to do, and where more is said."""
    lines = [f"error {fields['code']}: {fields['what']}"]
    for label in ("why", "fix"):
        for number, text in enumerate(fields[label].splitlines()):
            lines.append(f"  {label if number == 0 else '   '}  {text}")
    return [*lines, f"  more  autopilot explain {fields['code']}"]


def _internal(error: BaseException) -> dict[str, str]:
    """Return the four fields for a bug of ours; the traceback goes to a private file."""
    where = _write_crash_report(error)
    return {
        "code": "AP100",
        "what": f"a bug in autopilot: {type(error).__name__}: {str(error)[:300]}",
        "why": f"report: {where}" if where else "the report could not be written either; use --debug",
        "fix": "what was acknowledged is saved; `autopilot` goes on with it. Please send the report",
    }


def _write_crash_report(error: BaseException) -> Path | None:
    from autopilot.home import state_home

    text = [
        f"python {platform.python_version()} on {platform.platform()}\n",
        f"arguments {sys.argv[1:]!r}\n",
        *traceback.format_exception(error),
    ]
    try:
        folder = make_private_directory(state_home(os.environ) / "crashes")
        path = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.txt"
        write_atomic(RealFileSystem(), path, "".join(text).encode("utf-8", "backslashreplace"))
    except (OSError, AutopilotError):
        return None
    return path
