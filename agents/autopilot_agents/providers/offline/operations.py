"""Edit operations from the texts before and after: whole lines, numbered as the file stands."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

MAX_SUMMARY_CHARS = 600
MAX_LINE_BYTES = 1_800
"""A longer line would be cut in the view that a tool's result is."""


def replacements(path: str, before: str, after: str, newline: str = "\n") -> Iterator[dict[str, Any]]:
    """Yield the `replace` operations that turn `before` into `after`; an insertion takes a neighbour along."""
    old, new = _lines(before), _lines(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if i1 == i2 or j1 == j2:
            i1, i2, j1, j2 = _with_neighbour(i1, i2, j1, j2, len(old))
        yield from _split(path, i1, i2, [line.replace("\n", newline) for line in new[j1:j2]])


def _split(path: str, first: int, last: int, lines: list[str]) -> Iterator[dict[str, Any]]:
    """Yield one operation, or several for fewer lines each, so that none is too long."""
    operation = {
        "type": "replace",
        "file_path": path,
        "start_line": first + 1,
        "end_line": last,
        "content": "".join(lines),
    }
    if len(json.dumps(operation)) <= MAX_LINE_BYTES or last - first < 2 or len(lines) < 2:
        yield operation
        return
    half, middle = len(lines) // 2, first + (last - first) // 2
    yield from _split(path, first, middle, lines[:half])
    yield from _split(path, middle, last, lines[half:])


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    ended = lines[-1] == ""
    return [line + "\n" for line in lines[:-1]] + ([] if ended else [lines[-1]])


def _with_neighbour(i1: int, i2: int, j1: int, j2: int, count: int) -> tuple[int, int, int, int]:
    if i1 > 0:
        return i1 - 1, i2, j1 - 1, j2
    return (i1, i2 + 1, j1, j2 + 1) if i2 < count else (i1, i2, j1, j2)


def answer(summary: str, operations: list[dict[str, Any]]) -> str:
    """Return the answer as NDJSON: what it says, its operations, its end."""
    meta = {"type": "meta", "summary": summary[:MAX_SUMMARY_CHARS], "total_operations": len(operations)}
    return "".join(json.dumps(line) + "\n" for line in [meta, *operations, {"type": "end"}])
