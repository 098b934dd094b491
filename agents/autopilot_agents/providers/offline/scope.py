"""What an edit may borrow: names in scope, attributes and literals of the file, statements nearby."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from .source import FUNCTIONS, Function, SourceFile

_BUILTINS = frozenset(dir(builtins))
_CONTAINERS = (*FUNCTIONS, ast.ClassDef, ast.Lambda)


class Scope:
    """Looks things up in one file; results come in order of nearness, so that the likely ones are first."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self._locals: dict[Function, list[str]] = {}
        self._names: dict[tuple[Function | None, int], list[str]] = {}

    def locals_of(self, function: Function) -> list[str]:
        """Return parameters and assigned names, in the order in which they come up."""
        if function not in self._locals:
            names = [argument.arg for argument in _arguments(function)]
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.append(node.id)
                elif (isinstance(node, ast.ExceptHandler) and node.name) or (
                    isinstance(node, FUNCTIONS) and node is not function
                ):
                    names.append(str(node.name))
            self._locals[function] = list(dict.fromkeys(names))
        return self._locals[function]

    def names_for(self, node: ast.AST) -> list[str]:
        """Return variables that may stand at `node`, nearest first: its statement, then around it."""
        function = self.source.function_of(node)
        key = (function, node.lineno)  # type: ignore[attr-defined]
        if key not in self._names:
            names: list[str] = []
            while function is not None:
                names.extend(self.locals_of(function))
                function = self.source.function_of(function)
            self._names[key] = sorted(dict.fromkeys(names), key=lambda name: self._distance(name, key[1]))
        return self._names[key]

    def _distance(self, name: str, line: int) -> int:
        return min((abs(line - other) for other in self._name_lines.get(name, ())), default=9999)

    @cached_property
    def _name_lines(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Name):
                found.setdefault(node.id, []).append(node.lineno)
            elif isinstance(node, ast.arg):
                found.setdefault(node.arg, []).append(node.lineno)
        return found

    @cached_property
    def module_names(self) -> list[str]:
        """Names that are bound at the top of the file."""
        names: list[str] = []
        for node in self.source.tree.body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                names.append(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names.extend((alias.asname or alias.name).split(".")[0] for alias in node.names)
            else:
                names.extend(
                    inner.id
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
                )
        return list(dict.fromkeys(names))

    @cached_property
    def attributes(self) -> dict[str, list[str]]:
        """Attributes that the file uses, by the text of what they are looked up on."""
        found: dict[str, Counter[str]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Attribute):
                base = node.value.id if isinstance(node.value, ast.Name) else "*"
                found.setdefault(base, Counter())[node.attr] += 1
        return {base: [name for name, _ in counter.most_common()] for base, counter in found.items()}

    @cached_property
    def methods(self) -> dict[str, list[str]]:
        """Methods and properties by class."""
        return {
            node.name: [item.name for item in node.body if isinstance(item, FUNCTIONS)]
            for node in ast.walk(self.source.tree)
            if isinstance(node, ast.ClassDef)
        }

    @cached_property
    def signatures(self) -> dict[str, list[str]]:
        """Parameter names by function, without `self` and `cls`."""
        found: dict[str, list[str]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, FUNCTIONS):
                names = [argument.arg for argument in _arguments(node)]
                found.setdefault(node.name, [name for name in names if name not in ("self", "cls")])
        return found

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Calls by the name of what is called."""
        found: dict[str, list[ast.Call]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Call):
                found.setdefault(called_name(node), []).append(node)
        return found

    @cached_property
    def _literals(self) -> list[tuple[int, object]]:
        docstrings = {
            id(body[0].value)
            for node in ast.walk(self.source.tree)
            if isinstance(node, (ast.Module, *_CONTAINERS)) and not isinstance(node, ast.Lambda)
            for body in [node.body]
            if body and isinstance(body[0], ast.Expr)
        }
        return [
            (node.lineno, node.value)
            for node in ast.walk(self.source.tree)
            if isinstance(node, ast.Constant) and id(node) not in docstrings
        ]

    def literals_near(self, line: int, kind: type, limit: int) -> list[object]:
        """Return literals of exactly `kind` in the file, nearest first, each once."""
        ranked = sorted(
            ((abs(number - line), number, repr(value), value) for number, value in self._literals),
            key=lambda item: item[:3],
        )
        return list(dict.fromkeys(value for *_, value in ranked if type(value) is kind))[:limit]

    def visible(self, node: ast.AST) -> set[str]:
        """Return every name that can be read at `node`."""
        return {*self.names_for(node), *self.module_names, *_BUILTINS}

    def donors(self, statement: ast.stmt, limit: int) -> Iterator[ast.stmt]:
        """Yield short statements of the file that could stand at `statement`, nearest first."""
        visible = self.visible(statement)
        if self.source.function_of(statement) is None:
            return
        ranked = sorted(
            (abs(donor.lineno - statement.lineno), donor.lineno, donor.col_offset, index)
            for index, donor in enumerate(self._short_statements)
            if donor is not statement
        )
        seen: set[str] = set()
        for *_, index in ranked:
            donor = self._short_statements[index]
            text = self.source.segment(donor)
            if text not in seen and _reads(donor) <= visible:
                seen.add(text)
                yield donor
            if len(seen) >= limit:
                return

    def conditions_near(self, node: ast.AST, limit: int) -> list[str]:
        """Return comparisons and tests of the file that can be read at `node`, nearest first; and the ones of
        `node` itself with another attribute of the same objects.
        """
        visible = self.visible(node)
        line = node.lineno  # type: ignore[attr-defined]
        ranked = sorted(
            (abs(other - line), text) for other, text, reads in self._conditions if reads <= visible
        )
        texts = [*self._with_other_attributes(node), *(text for _, text in ranked)]
        return list(dict.fromkeys(texts))[:limit]

    def _with_other_attributes(self, node: ast.AST) -> list[str]:
        if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Attribute):
            return []
        own = node.left.attr
        methods = {name for names in self.methods.values() for name in names}
        others = [name for name in self.attributes.get("self", ()) if name not in methods][:4]
        segment = self.source.segment(node)
        return [segment.replace(f".{own}", f".{name}") for name in others if name != own]

    @cached_property
    def _conditions(self) -> list[tuple[int, str, set[str]]]:
        return [
            (node.lineno, self.source.segment(node), _reads(node))
            for node in ast.walk(self.source.tree)
            if isinstance(node, ast.Compare) and node.lineno == node.end_lineno
        ]

    @cached_property
    def _short_statements(self) -> list[ast.stmt]:
        kinds = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.If)
        return [
            node
            for node in ast.walk(self.source.tree)
            if isinstance(node, kinds)
            and (node.end_lineno or 0) - node.lineno <= 2
            and self.source.function_of(node) is not None
            and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ]


def called_name(call: ast.Call) -> str:
    """Return the last name of what is called, `append` for `items.append(x)`."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _arguments(function: Function) -> list[ast.arg]:
    spec = function.args
    stars = [argument for argument in (spec.vararg, spec.kwarg) if argument]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *stars]


def _reads(tree: ast.AST) -> set[str]:
    return {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
