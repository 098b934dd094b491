"""Edits of one file as byte ranges of its text: sorted once, checked for overlap, spliced once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autopilot_agents.edits.text import TextFile


@dataclass(frozen=True)
class Splice:
    """`data` in place of `body[start:end]`. `lines`: it is whole lines, and begins on a line of its own."""

    start: int
    end: int
    data: bytes
    lines: bool
    index: int
    """Position of the operation in its set; insertions at one place keep this order."""

    @property
    def order(self) -> tuple[int, int, int]:
        return self.start, self.end, self.index


def overlaps(splices: Sequence[Splice]) -> Iterator[tuple[Splice, Splice]]:
    """Yield (earlier, later operation) of neighbours that touch the same bytes; `splices` is sorted by `order`.

    An insertion at the border of a range does not overlap it; one inside does.
    """
    furthest: Splice | None = None
    for splice in splices:
        if furthest is not None and splice.start < furthest.end:
            first, second = sorted((furthest, splice), key=lambda s: s.index)
            yield first, second
        if furthest is None or splice.end > furthest.end:
            furthest = splice


def splice_once(text: TextFile, splices: Sequence[Splice]) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the edited body, and for each splice (offset in it, index of its operation).

    Whole lines at the end of a file that has no final newline leave it without one.
    """
    parts: list[bytes] = []
    placed: list[tuple[int, int]] = []
    at, size, last_byte = 0, 0, b"\n"
    for splice in splices:
        kept = text.body[at : splice.start]
        last_byte = kept[-1:] or last_byte
        gap = text.eol_near(text.line_count) if splice.lines and splice.data and last_byte != b"\n" else b""
        placed.append((size + len(kept) + len(gap), splice.index))
        parts += (kept, gap, splice.data)
        size += len(kept) + len(gap) + len(splice.data)
        last_byte = splice.data[-1:] or last_byte
        at = splice.end
    parts.append(text.body[at:])
    tail = _inserted_tail(text, splices)
    if tail is not None and text.body and not text.ends_with_newline:
        data = 3 * tail + 2
        parts[data] = parts[data].removesuffix(b"\n").removesuffix(b"\r")
    return b"".join(parts), placed


def _inserted_tail(text: TextFile, splices: Sequence[Splice]) -> int | None:
    """Return the position of the splice whose whole lines end the file, None when other bytes do."""
    end = len(text.body)
    for position in reversed(range(len(splices))):
        splice = splices[position]
        if splice.end != end:
            return None
        if splice.data:
            return position if splice.lines else None
        end = splice.start
    return None
