"""What a command comes back with, and how it is printed: text, or with `--json` exactly one envelope."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from autopilot.errors import Exit
from autopilot_state.patch import Document


@dataclass(frozen=True)
class Result:
    """A command's end. `lines` go to standard output as text, the rest into the envelope."""

    lines: Sequence[str] = ()
    data: Any = None
    document: Document | None = None
    exit_code: int = Exit.OK
    reason: str = "ok"


def print_result(command: str, result: Result, *, as_json: bool) -> None:
    """Write a command's result to standard output; a reader that has gone is no error."""
    if as_json:
        from autopilot.report import envelope

        write_json(
            envelope(
                command,
                document=result.document,
                exit_code=result.exit_code,
                reason=result.reason,
                data=result.data,
            )
        )
    else:
        write_lines(sys.stdout, result.lines)


def write_json(document: Any) -> None:
    """Write one JSON document and a newline to standard output."""
    import orjson

    text = orjson.dumps(document, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    write_text(sys.stdout, text + "\n")


def write_lines(stream: TextIO | None, lines: Sequence[str]) -> None:
    """Write lines, each made harmless for a terminal."""
    from autopilot.table import printable

    write_text(stream, "".join(f"{printable(line)}\n" for line in lines))


def write_text(stream: TextIO | None, text: str) -> None:
    """Write text; when the reader of the pipe has gone, nothing more is written, and nothing is raised."""
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except (BrokenPipeError, ValueError):
        silence(stream)


def silence(stream: TextIO) -> None:
    """Point a broken stream at nothing, so that the interpreter's last flush can't fail either."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        return


def text_width(stream: TextIO | None) -> int:
    """Return how wide a table may be: COLUMNS, else the terminal's width, else 100."""
    import shutil

    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    if stream is not None and stream.isatty():
        return shutil.get_terminal_size((100, 24)).columns
    return 100
