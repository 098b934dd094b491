"""A file's bytes as lines that can be edited without changing any byte beside the edit.

Lines end at a line feed and nowhere else. A file with a UTF-16 mark is worked on as UTF-8 and turned back, which
is exact; any other file is worked on as the bytes it has.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from autopilot_agents.edits.report import OperationRejected

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class TextFile:
    """The text of a file. `body` has no mark and is UTF-8, unless `encoding` is latin-1."""

    data: bytes
    mark: bytes
    encoding: str
    body: bytes

    @classmethod
    def of(cls, data: bytes) -> TextFile:
        """Return `data` as text.

        Raises:
            OperationRejected: the file is binary, or no valid text of the encoding that its mark names.
        """
        mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", ""))
        body = data[len(mark) :]
        if encoding == "utf-32":
            raise OperationRejected("the file is UTF-32, which can't be edited as text")
        if encoding.startswith("utf-16"):
            try:
                body = body.decode(encoding).encode()
            except UnicodeError as error:
                raise OperationRejected(f"the file is no valid UTF-16: {error}") from error
        if b"\0" in body:
            raise OperationRejected("the file is binary")
        return cls(data, mark, encoding or _guess(body), body)

    @cached_property
    def starts(self) -> list[int]:
        """Offsets in `body` where each line begins, and where the last one ends."""
        starts = [0]
        at = self.body.find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.body.find(b"\n", at + 1)
        if starts[-1] != len(self.body):
            starts.append(len(self.body))
        return starts

    @property
    def line_count(self) -> int:
        return len(self.starts) - 1

    @property
    def ends_with_newline(self) -> bool:
        return self.body.endswith(b"\n")

    def line_at(self, offset: int) -> int:
        """Return the 1-based line that holds `offset`; the end of the file belongs to the last line."""
        return min(bisect_right(self.starts, offset), max(self.line_count, 1))

    def line(self, number: int) -> str:
        """Return line `number` (1-based) without its end, for people to read."""
        raw = self.body[self.starts[number - 1] : self.starts[number]]
        return self.decode(raw.removesuffix(b"\n").removesuffix(b"\r"))

    def lines(self, first: int, last: int) -> list[str]:
        """Return the lines `first` to `last` that exist, as `line` does."""
        return [self.line(n) for n in range(max(first, 1), min(last, self.line_count) + 1)]

    def eol_near(self, number: int) -> bytes:
        """Return how line `number` ends, or its neighbour when it has no end: what inserted lines shall end with."""
        for candidate in (number, number - 1, number + 1, 1):
            if 1 <= candidate <= self.line_count:
                end = self.starts[candidate]
                if self.body[end - 1 : end] == b"\n":
                    return b"\r\n" if self.body[end - 2 : end] == b"\r\n" else b"\n"
        return b"\n"

    def decode(self, raw: bytes) -> str:
        """Return a part of `body` as text."""
        return raw.decode("latin-1" if self.encoding == "latin-1" else "utf-8", errors="replace")

    def encode(self, text: str) -> bytes:
        """Return `text` as it stands in `body`.

        Raises:
            OperationRejected: the file's encoding has no such character.
        """
        try:
            return text.encode("latin-1" if self.encoding == "latin-1" else "utf-8")
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise OperationRejected(
                f"the file is not UTF-8, and {character!r} has no byte in Latin-1; use characters up to U+00FF"
            ) from error

    def encode_lines(self, content: str, eol: bytes, *, whole: bool) -> bytes:
        """Return `content` with line ends `eol`; `whole` adds the last one when it is missing."""
        raw = self.encode(content).replace(b"\r\n", b"\n")
        if whole and raw and not raw.endswith(b"\n"):
            raw += b"\n"
        return raw if eol == b"\n" else raw.replace(b"\n", eol)

    def to_bytes(self, body: bytes) -> bytes:
        """Return the file's bytes for an edited `body`, with its mark and encoding."""
        if self.encoding.startswith("utf-16"):
            body = body.decode().encode(self.encoding)
        return self.mark + body


def _guess(body: bytes) -> str:
    """Return the encoding of an unmarked file: bytes that are no UTF-8 are kept one by one, as Latin-1 is."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"
