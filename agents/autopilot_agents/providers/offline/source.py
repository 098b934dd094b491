"""One source file: its text, its tree, where each node stands, and the parts that can be compiled alone."""

from __future__ import annotations
import __future__

import ast
import io
import tokenize
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Edit:
    """`text` in place of the characters `start` to `end` of a file. `prior` is how often such an edit is right."""

    start: int
    end: int
    text: str
    prior: float
    kind: str


@dataclass(frozen=True)
class Unit:
    """An outermost function: what can be compiled alone and put in place of the code that is loaded."""

    name: str
    classes: tuple[str, ...]
    first_line: int
    start: int
    end: int


class SourceFile:
    """A file as text with a tree; offsets are in characters, as the tree's columns are in UTF-8 bytes."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = [line + "\n" for line in text.split("\n")]
        self.tree = ast.parse(text)
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def offset(self, line: int, column: int) -> int:
        """Return the character at which the byte `column` of `line` (1-based) stands."""
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode(errors="ignore"))
        return self._line_starts[line - 1] + column

    def line_start(self, line: int) -> int:
        return min(self._line_starts[line - 1], len(self.text))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where `node` begins and ends."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """Return the statement that `node` belongs to."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        return current

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the innermost function around `node`."""
        current = self.parents.get(node)
        while current is not None and not isinstance(current, FUNCTIONS):
            current = self.parents.get(current)
        return current

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the innermost class around `node`."""
        current = self.parents.get(node)
        while current is not None and not isinstance(current, ast.ClassDef):
            current = self.parents.get(current)
        return current

    def unit_of(self, node: ast.AST) -> Unit | None:
        """Return the outermost function around `node`, or None when `node` runs at import (defaults do)."""
        outermost: Function | None = None
        classes: list[str] = []
        previous, current = node, self.parents.get(node)
        while current is not None:
            if isinstance(current, FUNCTIONS) and _in_body(current, previous):
                outermost, classes = current, []
            elif isinstance(current, ast.ClassDef):
                classes.append(current.name)
            previous, current = current, self.parents.get(current)
        if outermost is None:
            return None
        first = first_line(outermost)
        end = self.offset(outermost.end_lineno or first, outermost.end_col_offset or 0)
        return Unit(outermost.name, tuple(reversed(classes)), first, self.line_start(first), end)

    @cached_property
    def flags(self) -> int:
        """Compiler flags of the file's `from __future__` imports."""
        flags = 0
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    flags |= int(getattr(__future__, alias.name).compiler_flag)
        return flags

    def apply(self, edit: Edit) -> str:
        """Return the file's text with `edit` in it."""
        return self.text[: edit.start] + edit.text + self.text[edit.end :]


def _in_body(function: Function, child: ast.AST) -> bool:
    return any(child is statement for statement in function.body)


def first_line(node: ast.AST) -> int:
    """Return the line at which a definition begins, decorators included, as code objects count it."""
    own: int = node.lineno  # type: ignore[attr-defined]
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([own, *(decorator.lineno for decorator in decorators)])


def unit_tree(unit: Unit, text: str) -> ast.Module:
    """Parse `text` (the unit's lines) alone, inside classes of the same names, with the file's line numbers.

    Raises:
        SyntaxError, ValueError: the text is no Python.
    """
    wrappers = [" " * depth + f"class {name}:\n" for depth, name in enumerate(unit.classes)]
    if text[:1] in " \t" and not wrappers:
        wrappers = ["if 1:\n"]
    tree = ast.parse("".join(wrappers) + text + "\n")
    ast.increment_lineno(tree, unit.first_line - 1 - len(wrappers))
    return tree


def read_source(path: Path, name: str) -> SourceFile | None:
    """Return the file, or None when it is no UTF-8 Python source that parses."""
    try:
        content = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        if encoding not in ("utf-8", "utf-8-sig") or b"\r" in content.replace(b"\r\n", b""):
            return None
        # Columns and code units are the same with both line endings; operations put the file's own back.
        return SourceFile(name, content.decode(encoding).replace("\r\n", "\n"))
    except (OSError, SyntaxError, UnicodeError, ValueError, RecursionError):
        return None
