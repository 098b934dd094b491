"""Edits of subscripts and slices: bounds moved, dropped, added; parts of a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autopilot_agents.providers.offline.source import Edit

from .base import Context


def subscript(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The first for the last, the value without its subscript."""
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice):
        return
    key = context.text(node.slice)
    for own, other in (
        ("0", "-1"),
        ("-1", "0"),
        ("1", "-1"),
        ("-1", "1"),
        ("-2", "-1"),
        ("-1", "-2"),
        ("1", "0"),
        ("0", "1"),
    ):
        if key == own:
            yield context.replace(node.slice, other, 0.8, "index")
    if not isinstance(node.slice, ast.Constant | ast.UnaryOp):
        yield context.replace(node.slice, f"-{context.operand(node.slice)}", 0.25, "index")
    if context.is_read(node):
        yield context.replace(node, context.text(node.value), 0.25, "subscript removed")
        get = f"{context.text(node.value)}.get({key})"
        yield context.replace(node, get, 0.15, "subscript")


def slice_bounds(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A bound dropped, added, or exchanged with the other one."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return
    lower, upper, step = (
        context.text(p) if p else "" for p in (node.slice.lower, node.slice.upper, node.slice.step)
    )
    tail = f":{step}" if step else ""
    options: list[tuple[str, float]] = []
    if lower:
        options += [(f":{upper}{tail}", 0.5), (f"{upper}:{lower}{tail}", 0.3), (f":{lower}{tail}", 0.45)]
    if upper:
        options += [(f"{lower}:{tail}", 0.5), (f"{upper}:{tail}", 0.45)]
    if not upper:
        options += [(f"{lower}:-1{tail}", 0.4)]
        options += [(f"{lower}:{lower} + 1", 0.15)] if lower else []
    if not lower:
        options += [(f"1:{upper}{tail}", 0.4), (f"-1:{upper}{tail}", 0.1)]
    for bound in context.scope.literals_near(node.lineno, int, 3):
        options += [(f"{lower}:{bound}{tail}", 0.3)] if not upper else []
        options += [(f"{bound}:{upper}{tail}", 0.2)] if not lower else []
    if step:
        options += [(f"{lower}:{upper}", 0.45)]
    else:
        options += [(f"{lower}:{upper}:-1", 0.25), (f"{lower}:{upper}:2", 0.15)]
    for text, prior in options:
        yield context.replace(node.slice, text, prior, "slice")
    if context.is_read(node):
        yield context.replace(node, context.text(node.value), 0.35, "slice removed")


def sliced(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A slice of a value that is returned, passed on, assigned or gone through."""
    parent = context.parent(node)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call) or not context.is_read(node):
        return
    if not isinstance(
        parent, ast.Return | ast.For | ast.Assign | ast.comprehension | ast.BinOp | ast.Yield | ast.Call
    ):
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    prior = 0.25 if isinstance(parent, ast.Return | ast.For | ast.comprehension) else 0.15
    for text in ("[1:]", "[:-1]", "[::-1]", "[0]", "[-1]", "[:]"):
        yield context.replace(node, context.text(node) + text, prior, "slice added")


TEMPLATES = (subscript, slice_bounds, sliced)
