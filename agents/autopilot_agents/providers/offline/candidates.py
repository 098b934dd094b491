"""Edits in order of promise, suspicion times prior, each resulting tree once."""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from .localise import Suspicion
from .scope import Scope
from .source import FUNCTIONS, Edit, SourceFile, Unit, unit_tree
from .templates import Context, edits_of

_DEFAULT_FACTOR = 0.7
_BY_NAME_FACTOR = 0.7


@dataclass(frozen=True)
class Candidate:
    """One edit of one file, and how it is to be tried."""

    source: SourceFile
    edit: Edit
    score: float
    line: int
    unit: Unit | None

    @property
    def text(self) -> str:
        """The whole file with the edit in it."""
        return self.source.apply(self.edit)

    @property
    def unit_text(self) -> str:
        """The unit's lines with the edit in them."""
        assert self.unit is not None  # noqa: S101 - callers ask only for candidates inside a function
        grown = len(self.edit.text) - (self.edit.end - self.edit.start)
        return self.text[self.unit.start : self.unit.end + grown]

    @property
    def description(self) -> str:
        return f"{self.edit.kind} at {self.source.path}:{self.line}"


def is_editable(path: str, touches: tuple[str, ...]) -> bool:
    """Return whether a repair may change `path`: no tests, nothing vendored, and within `touches` if given."""
    parts = PurePosixPath(path).parts
    name = parts[-1] if parts else ""
    if not name.endswith(".py") or ".." in parts or path.startswith("/"):
        return False
    if name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py"):
        return False
    hidden = any(part.startswith(".") for part in parts)
    foreign = {"tests", "test", "testing", "site-packages", "node_modules", "venv", "build", "dist"}
    if hidden or foreign & set(parts[:-1]):
        return False
    return not touches or any(_matches(path, glob) for glob in touches)


def _matches(path: str, glob: str) -> bool:
    glob = glob.removeprefix("./").rstrip("/")
    if path.startswith(glob + "/") or fnmatch.fnmatchcase(path, glob):
        return True
    pattern = re.escape(glob).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(pattern.replace(r"\?", "[^/]"), path) is not None


def candidates(
    sources: dict[str, SourceFile], suspicion: Suspicion, test_literals: tuple[object, ...] = ()
) -> list[Candidate]:
    """Return all candidates, best first; the order is the same on every machine."""
    found: list[Candidate] = []
    used = _names_on_suspicious_lines(sources, suspicion)
    for source in sources.values():
        context = Context(source, Scope(source), test_literals)
        for statement in ast.walk(source.tree):
            if isinstance(statement, ast.stmt):
                score = _suspicion_of(source, statement, suspicion, used)
                if score > 0:
                    found.extend(_of_statement(context, statement, score, suspicion))
    found.sort(key=lambda c: (-round(c.score, 6), c.source.path, c.edit.start, c.edit.end, c.edit.text))
    return found


def _of_statement(
    context: Context, statement: ast.stmt, score: float, suspicion: Suspicion
) -> Iterator[Candidate]:
    source = context.source
    for node in _own_nodes(statement):
        line = getattr(node, "lineno", statement.lineno)
        last = line if isinstance(node, ast.ExceptHandler) else getattr(node, "end_lineno", line)
        # In a statement of many lines the lines of the node itself tell more.
        own = score if isinstance(node, ast.stmt) else suspicion.of_lines(source.path, line, last) or score
        unit = None if isinstance(statement, FUNCTIONS) and node is statement else source.unit_of(node)
        for edit in edits_of(context, node):
            inside = unit is not None and unit.start <= edit.start and edit.end <= unit.end
            yield Candidate(source, edit, own * edit.prior, line, unit if inside else None)


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the statement and its expressions, without the statements inside it; of a function, its defaults."""
    yield statement
    waiting: list[ast.AST] = list(ast.iter_child_nodes(statement))
    if isinstance(statement, FUNCTIONS):
        defaults = statement.args
        waiting = [*defaults.defaults, *(default for default in defaults.kw_defaults if default)]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.stmt):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _suspicion_of(
    source: SourceFile, statement: ast.stmt, suspicion: Suspicion, used: dict[str, float]
) -> float:
    if isinstance(statement, ast.ClassDef | ast.Import | ast.ImportFrom) or _is_docstring(statement):
        return 0.0
    if isinstance(statement, FUNCTIONS):
        first, last = statement.body[0].lineno, statement.end_lineno or 0
        return _DEFAULT_FACTOR * suspicion.of_lines(source.path, first, last)
    return suspicion.of_lines(source.path, *_header(statement)) or _by_name(source, statement, used)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _header(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    if body:
        last = max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, last


def _names_on_suspicious_lines(sources: dict[str, SourceFile], suspicion: Suspicion) -> dict[str, float]:
    used: dict[str, float] = {}
    for source in sources.values():
        for node in ast.walk(source.tree):
            name = (
                node.id
                if isinstance(node, ast.Name)
                else node.attr
                if isinstance(node, ast.Attribute)
                else ""
            )
            if name:
                score = suspicion.lines.get((source.path, node.lineno), 0.0)  # type: ignore[attr-defined]
                used[name] = max(used.get(name, 0.0), score)
    return used


def _by_name(source: SourceFile, statement: ast.stmt, used: dict[str, float]) -> float:
    """Return the suspicion of a module's or class's assignment: that of the lines that use its name."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    if not targets or source.function_of(statement) is not None:
        return 0.0
    names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return _BY_NAME_FACTOR * max((used.get(name, 0.0) for name in names), default=0.0)


class Distinct:
    """Tells whether a candidate's tree is new: parses, is not the file's own, and was not seen."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._known: set[tuple[str, int]] = set()

    def is_new(self, candidate: Candidate) -> bool:
        source, unit = candidate.source, candidate.unit
        key = (source.path, unit.first_line if unit else 0)
        if key not in self._known:
            self._known.add(key)
            own = source.tree if unit is None else unit_tree(unit, source.text[unit.start : unit.end])
            self._seen.add(_digest(key, own))
        try:
            tree = ast.parse(candidate.text) if unit is None else unit_tree(unit, candidate.unit_text)
            compile(tree, source.path, "exec", source.flags, dont_inherit=True)
            digest = _digest(key, tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        if digest in self._seen:
            return False
        self._seen.add(digest)
        return True


def _digest(key: tuple[str, int], tree: ast.AST) -> bytes:
    text = f"{key}{ast.dump(tree)}"
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()
