"""Where the functions and classes of a Python file stand, by their dotted name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autopilot_agents.edits.report import OperationRejected
from autopilot_agents.edits.syntax import parse_python
from autopilot_agents.edits.text import TextFile

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

SymbolTable = dict[str, list[tuple[int, int]]]
"""Dotted name → (first, last line) of each definition, decorators included."""


def symbol_table(text: TextFile) -> SymbolTable:
    """Return all definitions of a Python file.

    Raises:
        OperationRejected: it does not parse, or has line ends that Python counts and an edit does not.
    """
    if b"\r" in text.body.replace(b"\r\n", b""):
        raise OperationRejected("the file has lone carriage returns, so symbols can't be located; use lines")
    try:
        tree = parse_python(text.data)
    except (SyntaxError, ValueError) as error:
        raise OperationRejected(f"the file does not parse, so symbols can't be located: {error}") from error
    table: SymbolTable = {}
    for name, node in _definitions(tree, ""):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        table.setdefault(name, []).append((first, node.end_lineno or node.lineno))
    return table


def find_symbol(table: SymbolTable, symbol: str) -> tuple[int, int]:
    """Return (first, last line) of `symbol`.

    Raises:
        OperationRejected: no such definition, or several.
    """
    places = table.get(symbol, [])
    if len(places) == 1:
        return places[0]
    if places:
        lines = ", ".join(str(first) for first, _ in places)
        raise OperationRejected(
            f"symbol {symbol!r} is defined {len(places)} times, on lines {lines}; use lines"
        )
    tail = symbol.rpartition(".")[2].lower()
    similar = [name for name in table if name.rpartition(".")[2].lower() == tail] or list(table)
    known = ", ".join(f"{name} (line {table[name][0][0]})" for name in similar[:10])
    raise OperationRejected(f"symbol {symbol!r} is not defined in the file", nearest=known)


def _definitions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, _Definition]]:
    """Yield definitions with their dotted names; `if` and `try` around one don't count as a level."""
    pending: list[tuple[ast.AST, str]] = [(tree, prefix)]
    while pending:
        node, above = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _DEFINITIONS):
                name = f"{above}.{child.name}" if above else child.name
                yield name, child
                pending.append((child, name))
            elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                pending.append((child, above))
