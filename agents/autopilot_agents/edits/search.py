"""Where texts stand in a file, for one text or for ten thousand.

A search reads the file from end to end, so many of them on a large file would take minutes. When they are known
beforehand, one pass notes where a few short pieces of each stand, and a text is then looked for at those places only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from functools import cached_property

from autopilot_agents.edits.text import TextFile

MAX_COUNTED = 100
"""Matches that are counted; an edit needs exactly one."""

_PIECE = 8
_PIECES = 4
_MAX_PLACES = 200
_WORTH_BYTES = 100_000
_WORTH_TEXTS = 20


class TextSearch:
    """Finds texts in a file, taking `\\n` in them for either kind of line end."""

    def __init__(self, text: TextFile, expected: Collection[bytes] = ()) -> None:
        self._text = text
        self._expected = expected
        # What a line holds before its end stands at the same column in both.
        self._body = text.body.replace(b"\r\n", b"\n")

    def places(self, wanted: bytes) -> list[tuple[int, int]]:
        """Return (start, end) in the file's body of every place where `wanted` stands, at most `MAX_COUNTED`."""
        found = self._find(wanted)
        return [(self._original(at), self._original(at + len(wanted))) for at in found]

    def _find(self, wanted: bytes) -> list[int]:
        indexed = self._indexed_places(wanted)
        if indexed is not None:
            return indexed[:MAX_COUNTED]
        found: list[int] = []
        at = self._body.find(wanted)
        while at >= 0 and len(found) < MAX_COUNTED:
            found.append(at)
            at = self._body.find(wanted, at + 1)
        return found

    def _indexed_places(self, wanted: bytes) -> list[int] | None:
        """Return where `wanted` stands, or None when its pieces were not noted or stand almost everywhere."""
        noted = [
            (places, offset)
            for offset in _piece_offsets(wanted)
            if (places := self._index.get(wanted[offset : offset + _PIECE])) is not None
            and len(places) < _MAX_PLACES
        ]
        if not noted:
            return None
        places, offset = min(noted, key=lambda pair: len(pair[0]))
        starts = (place - offset for place in places if place >= offset)
        return [start for start in starts if self._body.startswith(wanted, start)]

    @cached_property
    def _index(self) -> dict[bytes, list[int]]:
        """Where the pieces of the expected texts stand, up to `_MAX_PLACES` of each."""
        if len(self._expected) < _WORTH_TEXTS or len(self._body) < _WORTH_BYTES:
            return {}
        body = self._body
        index: dict[bytes, list[int]] = {
            wanted[offset : offset + _PIECE]: []
            for wanted in self._expected
            for offset in _piece_offsets(wanted)
        }
        for at in range(len(body) - _PIECE + 1):
            places = index.get(body[at : at + _PIECE])
            if places is not None and len(places) < _MAX_PLACES:
                places.append(at)
        return index

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        at = self._body.find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = self._body.find(b"\n", at + 1)
        return starts

    def _original(self, at: int) -> int:
        """Return the offset in the file's body for one in the searched one."""
        if len(self._body) == len(self._text.body):
            return at
        line = bisect_right(self._starts, at) - 1
        return self._text.starts[line] + at - self._starts[line]


def _piece_offsets(wanted: bytes) -> list[int]:
    """Return where in `wanted` its pieces begin: spread over it, as its beginning is often only indentation."""
    last = len(wanted) - _PIECE
    if last < 0:
        return []
    return sorted({last * i // (_PIECES - 1) for i in range(_PIECES)})
