"""Where in a file an edit goes: from lines, anchors, symbols and exact text to a byte range."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from autopilot_agents.edits.nearest import nearest_text, numbered
from autopilot_agents.edits.operations import (
    Append,
    ContentEdit,
    Delete,
    Insert,
    InsertAfter,
    InsertBefore,
    Prepend,
    Replace,
    ReplaceText,
)
from autopilot_agents.edits.report import OperationRejected
from autopilot_agents.edits.search import MAX_COUNTED, TextSearch
from autopilot_agents.edits.splice import Splice
from autopilot_agents.edits.symbols import SymbolTable, find_symbol, symbol_table
from autopilot_agents.edits.text import TextFile

CONTEXT_LINES = 3


@dataclass
class Locator:
    """Finds edits of one file; what it needs more than once is computed once."""

    path: str
    text: TextFile
    nearest_wanted: Callable[[], bool] = lambda: True
    """Whether another search for resembling text may be made; it reads the whole file."""
    expected: Collection[str] = ()
    """Texts that will be looked for."""

    def locate(self, operation: ContentEdit, index: int) -> Splice:
        """Return the byte range of `operation` and what goes there.

        Raises:
            OperationRejected: it can't be placed.
        """
        match operation:
            case ReplaceText():
                return self._replace_text(operation, index)
            case Replace() | Delete():
                return self._range(operation, index)
            case Insert():
                return self._insert(operation, index)
            case InsertBefore() | InsertAfter():
                return self._beside(operation, index)
            case Prepend():
                return self._lines(0, 0, operation.content, index)
            case Append():
                return self._lines(len(self.text.body), len(self.text.body), operation.content, index)

    def _lines(self, start: int, end: int, content: str, index: int) -> Splice:
        eol = self.text.eol_near(self.text.line_at(start))
        # An empty file has no line ends to follow, nor a missing one to keep.
        data = self.text.encode_lines(content, eol, whole=bool(self.text.body))
        return Splice(start, end, data, lines=True, index=index)

    def _insert(self, operation: Insert, index: int) -> Splice:
        count = self.text.line_count
        if not 1 <= operation.line <= count + 1:
            raise OperationRejected(f"line {_short(operation.line)} is outside 1 to {count + 1}")
        self._check_context(operation, operation.line, operation.line - 1)
        at = self.text.starts[operation.line - 1]
        # Lines go with the line above them: it is the one whose block they continue.
        eol = self.text.eol_near(max(operation.line - 1, 1))
        data = self.text.encode_lines(operation.content, eol, whole=bool(self.text.body))
        return Splice(at, at, data, lines=True, index=index)

    def _range(self, operation: Replace | Delete, index: int) -> Splice:
        first, last = self._line_range(operation)
        self._check_context(operation, first, last)
        content = operation.content if isinstance(operation, Replace) else ""
        start, end = self.text.starts[first - 1], self.text.starts[last]
        return self._lines(start, end, content, index)

    def _line_range(self, operation: Replace | Delete) -> tuple[int, int]:
        if operation.symbol is not None:
            return self._symbol(operation.symbol)
        first, last = operation.start_line or 0, operation.end_line or 0
        count = self.text.line_count
        if not 1 <= first <= last <= count:
            raise OperationRejected(
                f"lines {_short(first)} to {_short(last)} are no range of a file with {count} lines",
                nearest=numbered(self.text, max(count - 2, 1), count),
            )
        return first, last

    def _beside(self, operation: InsertBefore | InsertAfter, index: int) -> Splice:
        if operation.symbol is not None:
            first, last = self._symbol(operation.symbol)
        else:
            start, end = self._one_match(operation.anchor or "", "anchor")
            first, last = self.text.line_at(start), self.text.line_at(end - 1)
        line = first - 1 if isinstance(operation, InsertBefore) else last
        at = self.text.starts[line]
        eol = self.text.eol_near(first if isinstance(operation, InsertBefore) else last)
        data = self.text.encode_lines(operation.content, eol, whole=True)
        return Splice(at, at, data, lines=True, index=index)

    def _symbol(self, symbol: str) -> tuple[int, int]:
        if not self.path.lower().endswith((".py", ".pyi")):
            raise OperationRejected("symbol is known in Python files only; use lines or replace_text")
        return find_symbol(self._symbols, symbol)

    @cached_property
    def _symbols(self) -> SymbolTable:
        return symbol_table(self.text)

    def _replace_text(self, operation: ReplaceText, index: int) -> Splice:
        if not operation.old_text:
            raise OperationRejected("old_text is empty")
        if operation.old_text == operation.new_text:
            raise OperationRejected("old_text and new_text are the same")
        start, end = self._one_match(operation.old_text, "old_text")
        eol = self.text.eol_near(self.text.line_at(start))
        return Splice(start, end, self._new_text(operation, eol), lines=False, index=index)

    def _new_text(self, operation: ReplaceText, eol: bytes) -> bytes:
        return self.text.encode_lines(operation.new_text, eol, whole=False)

    def is_done(self, operation: ReplaceText) -> bool:
        """Say whether the old text is gone and the new one stands there once."""
        if not (operation.old_text and operation.new_text.strip()) or self._matches(operation.old_text):
            return False
        return len(self._matches(operation.new_text)) == 1

    def _one_match(self, wanted: str, what: str) -> tuple[int, int]:
        found = self._matches(wanted)
        if len(found) == 1:
            return found[0]
        if not found:
            nearest = nearest_text(self.text, wanted) if self.nearest_wanted() else ""
            raise OperationRejected(f"{what} was found 0 times, must be there once", nearest=nearest)
        more = "at least " if len(found) == MAX_COUNTED else ""
        numbers = [self.text.line_at(start) for start, _ in found[:8]]
        places = "\n".join(numbered(self.text, n, n) for n in dict.fromkeys(numbers))
        raise OperationRejected(
            f"{what} was found {more}{len(found)} times, must be there once; quote more of it", nearest=places
        )

    def _matches(self, wanted: str) -> list[tuple[int, int]]:
        """Return (start, end) of every place where `wanted` stands, up to a cap."""
        raw = self._searchable(wanted)
        return self._search.places(raw) if raw else []

    @cached_property
    def _search(self) -> TextSearch:
        expected = {raw for text in self.expected if (raw := self._searchable(text))}
        return TextSearch(self.text, expected)

    def _searchable(self, wanted: str) -> bytes:
        try:
            return self.text.encode(wanted).replace(b"\r\n", b"\n")
        except OperationRejected:  # a character that the file's encoding has not
            return b""

    def _check_context(self, operation: Insert | Replace | Delete, first: int, last: int) -> None:
        """Refuse the edit unless its context stands within three lines of the range, spaces aside."""
        for name, context in (("before", operation.context_before), ("after", operation.context_after)):
            wanted = [line.strip() for line in (context or "").split("\n") if line.strip()]
            if not wanted:
                continue
            reach = len((context or "").strip("\n").split("\n")) + CONTEXT_LINES - 1
            start, end = (first - reach, first - 1) if name == "before" else (last + 1, last + reach)
            there = [line.strip() for line in self.text.lines(start, end) if line.strip()]
            if not _contains(there, wanted):
                raise OperationRejected(
                    f"context_{name} {wanted[0][:80]!r} does not stand within {CONTEXT_LINES} lines {name} "
                    f"line {first if name == 'before' else max(last, 1)}",
                    nearest=numbered(self.text, max(first - CONTEXT_LINES, 1), last + CONTEXT_LINES),
                )


def _contains(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(lines[i : i + len(wanted)] == wanted for i in range(len(lines) - len(wanted) + 1))


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**12 else "(a huge number)"
