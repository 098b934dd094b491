"""Small mistakes that a person makes, found in a module's syntax tree and spliced into its text.

The text outside the mistake keeps every byte, so that a bug looks like a bug and not like a reformatted file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autopilot.demo.scopes import Function, Scope, scope_of

KIND_WEIGHTS = {
    "boundary": 5.0,
    "comparison": 4.0,
    "arithmetic": 4.0,
    "constant": 5.0,
    "logic": 3.0,
    "negation": 3.0,
    "name": 4.0,
    "arguments": 3.0,
    "bound": 3.0,
    "sibling": 4.0,
    "return": 3.0,
    "deletion": 0.5,
}
"""How often each kind is planted against the others; a deleted statement is seldom what a bug is."""

_COMPARISONS: dict[type[ast.cmpop], tuple[str, dict[str, str]]] = {
    ast.Lt: (r"<", {"boundary": "<=", "comparison": ">"}),
    ast.LtE: (r"<=", {"boundary": "<", "comparison": ">="}),
    ast.Gt: (r">", {"boundary": ">=", "comparison": "<"}),
    ast.GtE: (r">=", {"boundary": ">", "comparison": "<="}),
    ast.Eq: (r"==", {"comparison": "!="}),
    ast.NotEq: (r"!=", {"comparison": "=="}),
    ast.Is: (r"\bis\b", {"comparison": "is not"}),
    ast.IsNot: (r"\bis\s+not\b", {"comparison": "is"}),
    ast.In: (r"\bin\b", {"comparison": "not in"}),
    ast.NotIn: (r"\bnot\s+in\b", {"comparison": "in"}),
}
# Only within one precedence, so that the rest of the expression is read as before.
_ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("//",)),
    ast.FloorDiv: ("//", ("*", "%")),
    ast.Div: ("/", ("*", "//")),
    ast.Mod: ("%", ("//",)),
}
_SIBLINGS = (
    ("startswith", "endswith"),
    ("lower", "upper"),
    ("strip", "lstrip", "rstrip"),
    ("removeprefix", "removesuffix"),
    ("partition", "rpartition"),
    ("split", "rsplit"),
    ("find", "rfind"),
    ("index", "rindex"),
    ("ljust", "rjust"),
    ("isalpha", "isalnum", "isdigit"),
    ("keys", "values"),
    ("union", "intersection", "difference"),
    ("min", "max"),
    ("any", "all"),
    ("ceil", "floor"),
)
_SIBLINGS_OF = {
    name: tuple(other for other in group if other != name) for group in _SIBLINGS for name in group
}
_ORDER_DOES_NOT_MATTER = frozenset({"min", "max"})
_MAX_CONSTANT = 10_000
_LEFT_ALONE = ast.JoinedStr | ast.While | ast.Assert | ast.Raise
"""Mutants of loops by `while` mostly never end; those of messages mean little; f-strings have no sure places."""


@dataclass(frozen=True)
class Mutation:
    """One edit: the bytes from `start` to `end` become `replacement`. `function` is the qualified name around it."""

    start: int
    end: int
    replacement: bytes
    kind: str
    function: str


def apply_mutations(source: bytes, edits: Iterable[Mutation]) -> bytes:
    """Return the source with all edits; they must not overlap."""
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        source = source[: edit.start] + edit.replacement + source[edit.end :]
    return source


def find_mutations(source: bytes) -> list[Mutation]:
    """Return every mutation of the functions in a module, in the order of the text; none if it can't be read.

    Each one compiles, and none is inside of `_LEFT_ALONE`.
    """
    if b"\r" in source or source.startswith(b"\xef\xbb\xbf"):
        return []
    try:
        source.decode("utf-8")
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    finder = _Finder(source)
    parts: list[tuple[int, int]] = []
    for name, function in _functions(tree, ""):
        finder.search(name, function)
        parts.append(_lines_of(function, source))
    return [each for each in sorted(set(finder.found), key=_order) if _compiles(source, each, parts)]


def _order(mutation: Mutation) -> tuple[int, int, bytes, str]:
    return mutation.start, mutation.end, mutation.replacement, mutation.kind


def _lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef, source: bytes) -> tuple[int, int]:
    """Return where the whole lines of a function begin and end, decorators included, in bytes."""
    lines = source.split(b"\n")
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    start = sum(len(line) + 1 for line in lines[: first - 1])
    return start, start + sum(len(line) + 1 for line in lines[first - 1 : function.end_lineno])


def _compiles(source: bytes, mutation: Mutation, parts: Sequence[tuple[int, int]]) -> bool:
    """Say whether the mutated function compiles; compiling the module each time would be quadratic in its size."""
    start, end = next(
        (part for part in parts if part[0] <= mutation.start and mutation.end <= part[1]), (0, len(source))
    )
    text = source[start : mutation.start] + mutation.replacement + source[mutation.end : end]
    if text[:1] in b" \t":
        text = b"if 1:\n" + text
    try:
        compile(text, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    """Yield the outermost functions and the methods of classes; a nested function belongs to the one around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _functions(child, prefix)


class _Finder:
    """Collects the mutations of one function after the other."""

    def __init__(self, source: bytes) -> None:
        self.found: list[Mutation] = []
        self._source = source
        self._line_starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        self._function = ""
        self._scope = Scope()
        self._never_zero: set[ast.expr] = set()

    def search(self, name: str, function: Function) -> None:
        self._function = name
        self._scope = scope_of(function)
        for default in (*function.args.defaults, *function.args.kw_defaults):
            if isinstance(default, ast.Constant):
                self._constant(default)
        self._block(function.body)

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._deletion(statement, alone=len(body) == 1)
            self._visit(statement)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, _LEFT_ALONE):
            return
        self._mistakes(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            if isinstance(value, ast.AST):
                self._visit(value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self._block(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self._visit(item)

    def _mistakes(self, node: ast.AST) -> None:
        match node:
            case ast.Compare():
                self._compare(node)
            case ast.BinOp():
                self._arithmetic(node.op, node.left, node.right)
            case ast.AugAssign():
                self._arithmetic(node.op, node.target, node.value)
            case ast.BoolOp():
                self._logic(node)
            case ast.UnaryOp():
                self._unary(node)
            case ast.Constant():
                self._constant(node)
            case ast.Name():
                self._name(node)
            case ast.Call():
                self._call(node)
            case ast.Subscript():
                self._subscript(node)
            case ast.Return(value=ast.Tuple(elts=elements)):
                self._swap_neighbours(elements, "return")
            case ast.IfExp():
                self._choice(node)

    # Places in the text

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        return self._line_starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def _text(self, node: ast.expr) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _add(self, start: int, end: int, replacement: str, kind: str) -> None:
        new = replacement.encode()
        if self._source[start:end] != new:
            self.found.append(Mutation(start, end, new, kind, self._function))

    def _between(self, left: ast.expr, right: ast.expr, pattern: str, kind: str, replacement: str) -> None:
        """Replace an operator that stands between two operands, unless a comment makes its place unsure."""
        start = self._end(left)
        between = self._source[start : self._start(right)]
        match = re.search(pattern.encode(), between)
        if match is not None and b"#" not in between:
            self._add(start + match.start(), start + match.end(), replacement, kind)

    def _swap(self, left: ast.expr, right: ast.expr, kind: str) -> None:
        between = self._source[self._end(left) : self._start(right)].decode()
        if "#" not in between:
            swapped = self._text(right) + between + self._text(left)
            self._add(self._start(left), self._end(right), swapped, kind)

    def _swap_neighbours(self, nodes: list[ast.expr], kind: str) -> None:
        for left, right in pairwise(nodes):
            if not isinstance(left, ast.Starred) and not isinstance(right, ast.Starred):
                self._swap(left, right, kind)

    # Kinds of mistakes

    def _compare(self, node: ast.Compare) -> None:
        for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            pattern, replacements = _COMPARISONS[type(operator)]
            for kind, replacement in replacements.items():
                self._between(left, right, pattern, kind, replacement)

    def _arithmetic(self, operator: ast.operator, left: ast.expr, right: ast.expr) -> None:
        if any(_is_literal_text(side) for side in (left, right)):
            return
        if isinstance(operator, ast.Add | ast.Sub):
            self._never_zero.add(right)
        written, others = _ARITHMETIC.get(type(operator), ("", ()))
        for other in others:
            self._between(left, right, re.escape(written), "arithmetic", other)

    def _logic(self, node: ast.BoolOp) -> None:
        if len(node.values) == 2:
            was, becomes = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            self._between(node.values[0], node.values[1], rf"\b{was}\b", "logic", becomes)

    def _unary(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start = self._start(node)
            match = re.compile(rb"not\s*").match(self._source, start)
            self._add(start, match.end() if match else start, "", "negation")
        elif isinstance(node.op, ast.USub):
            self._never_zero.add(node.operand)

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        start, end = self._start(node), self._end(node)
        if isinstance(value, bool):
            self._add(start, end, str(not value), "return")
        elif isinstance(value, int) and value <= _MAX_CONSTANT and self._text(node) == str(value):
            lowest = 1 if node in self._never_zero else 0
            for other in (value + 1, value - 1):
                if other >= lowest:
                    self._add(start, end, str(other), "constant")

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            for other in self._scope.confusable(node.id, node.lineno):
                self._add(self._start(node), self._end(node), other, "name")

    def _call(self, node: ast.Call) -> None:
        function = node.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        end = self._end(function)
        for sibling in _SIBLINGS_OF.get(called, ()):
            self._add(end - len(called.encode()), end, sibling, "sibling")
        if called not in _ORDER_DOES_NOT_MATTER:
            self._swap_neighbours(node.args, "arguments")
        if called == "range":
            for argument in node.args:
                self._off_by_one(argument)

    def _subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Slice):
            for bound in (node.slice.lower, node.slice.upper):
                if bound is not None:
                    self._off_by_one(bound)
        elif isinstance(node.slice, ast.Name) and "number" in self._scope.roles[node.slice.id]:
            self._off_by_one(node.slice)

    def _off_by_one(self, bound: ast.expr) -> None:
        if isinstance(bound, ast.Name | ast.Attribute | ast.Call):
            for step in (" - 1", " + 1"):
                self._add(self._end(bound), self._end(bound), step, "bound")

    def _choice(self, node: ast.IfExp) -> None:
        between = self._source[self._end(node.body) : self._start(node.orelse)].decode()
        if "#" not in between:
            swapped = self._text(node.orelse) + between + self._text(node.body)
            self._add(self._start(node.body), self._end(node.orelse), swapped, "return")

    def _deletion(self, statement: ast.stmt, *, alone: bool) -> None:
        """Take out a statement that has an effect of its own, with its lines, or put `pass` where it stood alone."""
        if not isinstance(statement, ast.Expr | ast.AugAssign | ast.Continue):
            return
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Call):
            return
        start, end = self._start(statement), self._end(statement)
        line_start = self._line_starts[statement.lineno - 1]
        if alone:
            self._add(start, end, "pass", "deletion")
        elif not self._source[line_start:start].strip() and self._source[end : end + 1] == b"\n":
            self._add(line_start, end + 1, "", "deletion")


def _is_literal_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
