"""What of a model's answer is an edit set: one operation a line, real once its newline has arrived.

There is no repairing here. A cut line that a lenient parser completes is an edit nobody wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pydantic import ValidationError

from autopilot_agents.edits.operations import End, Meta, Operation, describe_problem, parse_line

MAX_ANSWER_BYTES = 50_000_000
MAX_OPERATIONS = 10_000
MAX_LINE_BYTES = 10_000_000
MAX_REJECTED = 1_000
"""Rejected lines that are listed; an answer with more of them is no edit set."""

_FENCE = re.compile(r"\s*(?:```|~~~)\s*[\w+-]*\s*\Z")
_SHOWN_CHARS = 300


@dataclass(frozen=True)
class RejectedLine:
    """A line that is no operation, why, and how it begins."""

    line_number: int
    reason: str
    text: str


@dataclass(frozen=True)
class ParsedAnswer:
    """The complete operations of an answer, and what is known about its end."""

    operations: tuple[Operation, ...] = ()
    raw_lines: tuple[str, ...] = ()
    total: int | None = None
    summary: str = ""
    ended: bool = False
    """The end line came."""
    cut: bool = False
    """Something is missing at the end: ask for what remains."""
    rejected: tuple[RejectedLine, ...] = ()


class _LineRefused(Exception):
    """A line is no operation. `incomplete` when it reads like the beginning of one."""

    def __init__(self, reason: str, *, incomplete: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.incomplete = incomplete


class _TooMuch(Exception):
    """The answer passes a cap; what came before it is kept."""


@dataclass
class _Reader:
    operations: list[Operation] = field(default_factory=list)
    raw_lines: list[str] = field(default_factory=list)
    rejected: list[RejectedLine] = field(default_factory=list)
    total: int | None = None
    summary: str = ""
    ended: bool = False
    cut: bool = False

    def take(self, number: int, line: str) -> None:
        """Accept `line` or list it as rejected."""
        if not line.strip() or _FENCE.match(line):
            return
        try:
            self._accept(line)
        except _LineRefused as refused:
            self.reject(number, refused.reason, line)

    def _accept(self, line: str) -> None:
        parsed = _parse(line)
        if self.ended:
            raise _LineRefused("stands after the end line")
        if isinstance(parsed, Meta):
            self.total, self.summary = parsed.total_operations, parsed.summary
        elif isinstance(parsed, End):
            self.ended = True
        elif len(self.operations) == MAX_OPERATIONS:
            raise _TooMuch(f"more than {MAX_OPERATIONS:,} operations")
        else:
            self.operations.append(parsed)
            self.raw_lines.append(line)

    def reject(self, number: int, reason: str, line: str) -> None:
        if len(self.rejected) < MAX_REJECTED:
            self.rejected.append(RejectedLine(number, reason, line[:_SHOWN_CHARS]))

    def take_tail(self, number: int, line: str, final: bool) -> None:
        """Look at a last line without newline: it counts only when the answer is known to have ended there."""
        if not line.strip() or _FENCE.match(line):
            return
        if not final:
            self.cut = True
            return
        try:
            self._accept(line)
        except _LineRefused as refused:
            self.cut = refused.incomplete
            self.reject(number, refused.reason, line)

    def answer(self) -> ParsedAnswer:
        short = self.total is not None and not self.ended and len(self.operations) < self.total
        return ParsedAnswer(
            operations=tuple(self.operations),
            raw_lines=tuple(self.raw_lines),
            total=self.total,
            summary=self.summary,
            ended=self.ended,
            cut=self.cut or short,
            rejected=tuple(self.rejected),
        )


def parse_answer(text: str, *, final: bool = False) -> ParsedAnswer:
    """Return the operations of `text` that are complete, and every line that is none with its reason.

    `final` says that the answer ended by itself (it has a stop reason that is no limit): only then does a last
    line without newline count, if it parses whole.
    """
    reader = _Reader()
    number = 0
    line = ""
    try:
        for number, line, whole in _lines(text):
            if whole:
                reader.take(number, line)
            else:
                reader.take_tail(number, line, final)
    except _TooMuch as too_much:
        reader.cut = True
        reader.reject(number, str(too_much), line)
    return reader.answer()


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (1-based number, line, its newline came). Only a line feed ends a line, as in JSON text."""
    number, start, size = 0, 0, 0
    while start < len(text):
        number += 1
        end = text.find("\n", start)
        whole = end >= 0
        stop = end if whole else len(text)
        line = text[start:stop]
        size += (len(line) if line.isascii() else len(line.encode(errors="surrogatepass"))) + whole
        if size > MAX_ANSWER_BYTES:
            raise _TooMuch(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes; the rest was not read")
        yield number, line.removesuffix("\r"), whole
        start = stop + 1


def _parse(line: str) -> Operation | Meta | End:
    try:
        too_long = len(line) > MAX_LINE_BYTES or len(line.encode()) > MAX_LINE_BYTES
    except UnicodeEncodeError as error:
        raise _LineRefused("holds half of a surrogate pair") from error
    if too_long:
        raise _LineRefused(f"is longer than {MAX_LINE_BYTES:,} bytes")
    data = _load(line)
    if not isinstance(data, dict):
        raise _LineRefused("is JSON, but no object with a `type`")
    try:
        return parse_line(data)
    except ValidationError as error:
        raise _LineRefused(describe_problem(error)) from error
    except RecursionError as error:
        raise _LineRefused("is nested too deeply") from error


def _load(line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise _LineRefused("is nested too deeply") from error
    except json.JSONDecodeError as error:
        begun = line.lstrip().startswith("{")
        raise _LineRefused(f"is not JSON: {error.msg} at column {error.colno}", incomplete=begun) from error
    except ValueError as error:  # an integer of thousands of digits
        raise _LineRefused(f"is not JSON: {str(error)[:100]}") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _LineRefused(f"has the key {twice[:60]!r} twice")
    return data


def _refuse_constant(name: str) -> NoReturn:
    raise _LineRefused(f"holds {name}, which is not JSON")
