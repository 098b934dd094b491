"""Which names of a function could be mistaken for one another.

A person confuses two numbers or two lists, hardly a list with a number; so names are compared by how they are used.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef

_OWN_SCOPE = (
    ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda | Function | ast.ClassDef
)
_TAKES_SEQUENCE = frozenset(
    {"len", "sorted", "sum", "list", "tuple", "set", "enumerate", "reversed", "max", "min"}
)


@dataclass
class Scope:
    """The parameters and variables of one function."""

    first_line: dict[str, int] = field(default_factory=dict)
    """After which line a name can be used; parameters from the start."""
    roles: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def confusable(self, name: str, line: int) -> list[str]:
        """Return the names that could stand in place of `name` on a line, in alphabetical order."""
        if self.first_line.get(name, line) >= line:
            return []
        known = sorted(other for other, first in self.first_line.items() if first < line and other != name)
        return [other for other in known if self.roles[other] & self.roles[name]]


def scope_of(function: Function) -> Scope:
    """Return the names of a function and the roles in which it uses them."""
    scope = Scope()
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.arg not in ("self", "cls"):
            scope.first_line[argument.arg] = 0
            if argument.annotation is not None:
                scope.roles[argument.arg].add(ast.unparse(argument.annotation))
    for name, line in _assigned(function):
        scope.first_line.setdefault(name, line)
    for node in ast.walk(function):
        for used, role in _uses(node):
            if isinstance(used, ast.Name):
                scope.roles[used.id].add(role)
    return scope


def _assigned(function: Function) -> list[tuple[str, int]]:
    """Return assigned names with their lines; those of comprehensions and nested functions don't live outside."""
    found = []
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, _OWN_SCOPE):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node.id, node.lineno))
        pending += ast.iter_child_nodes(node)
    return sorted(found, key=lambda each: (each[1], each[0]))


def _uses(node: ast.AST) -> list[tuple[ast.expr, str]]:
    """Return the operands of a node with what they must be there."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [(left, "number"), (right, "number")]
        case ast.AugAssign(target=target, value=value):
            return [(target, "number"), (value, "number")]
        case ast.Assign(targets=[target], value=ast.BinOp()):
            return [(target, "number")]
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            ordered = all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops)
            return [(each, "number") for each in (left, *comparators)] if ordered else []
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return [(iterated, "sequence")]
        case ast.Subscript(value=value):
            return [(value, "sequence")]
        case ast.Call(func=ast.Name(id=called), args=[argument]) if called in _TAKES_SEQUENCE:
            return [(argument, "sequence")]
        case ast.Call(func=ast.Name(id="range"), args=bounds):
            return [(bound, "number") for bound in bounds]
        case _:
            return []
