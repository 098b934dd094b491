"""Edits of calls: arguments swapped, dropped or added, calls unwrapped or wrapped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autopilot_agents.providers.offline.scope import called_name
from autopilot_agents.providers.offline.source import Edit

from .base import Context, weighted

_WRAPPERS = (
    "abs",
    "int",
    "str",
    "list",
    "len",
    "sorted",
    "set",
    "tuple",
    "float",
    "bool",
    "reversed",
    "iter",
    "dict",
)
_METHODS_ADDED = (".strip()", ".lower()", ".copy()", ".upper()", ".items()", ".keys()", ".values()")


def arguments(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Two arguments exchanged, one dropped."""
    if not isinstance(node, ast.Call):
        return
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    for first, second in zip(node.args, node.args[1:], strict=False):
        yield context.swap(first, second, 0.65, "arguments swapped")
    if len(node.args) > 2:
        yield context.swap(node.args[0], node.args[2], 0.3, "arguments swapped")
    for first_keyword, second_keyword in zip(node.keywords, node.keywords[1:], strict=False):
        yield context.swap(first_keyword.value, second_keyword.value, 0.35, "arguments swapped")
    for index, argument in enumerate(given):
        prior = 0.45 if isinstance(argument, ast.keyword) else 0.35
        yield _without(context, node, given, index, prior)


def _without(
    context: Context, node: ast.Call, given: list[ast.expr | ast.keyword], index: int, prior: float
) -> Edit:
    starts = [context.source.span(item)[0] for item in given]
    ends = [context.source.span(item)[1] for item in given]
    if index + 1 < len(given):
        return Edit(starts[index], starts[index + 1], "", prior, "argument dropped")
    start = ends[index - 1] if index else starts[index]
    return Edit(start, ends[index], "", prior, "argument dropped")


def added_argument(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A keyword or positional argument that other calls of the same name pass, or that the callee takes."""
    if not isinstance(node, ast.Call) or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    name = called_name(node)
    have = {keyword.arg for keyword in node.keywords}
    added: dict[str, float] = {}
    for other in context.scope.calls.get(name, []):
        for keyword in other.keywords:
            if keyword.arg and keyword.arg not in have:
                added.setdefault(f"{keyword.arg}={context.text(keyword.value)}", 0.4)
        if len(other.args) > len(node.args):
            added.setdefault(context.text(other.args[len(node.args)]), 0.35)
    visible = context.scope.names_for(node)
    for parameter in context.scope.signatures.get(name, [])[len(node.args) :]:
        if parameter in visible and parameter not in have:
            added.setdefault(f"{parameter}={parameter}", 0.45)
    added.update(dict.fromkeys(_usual_arguments(node, name), 0.4))
    for variable, prior, _ in weighted("", 0.2, [v for v in visible if v not in ("self", "cls")][:6]):
        added.setdefault(variable, prior)
    for text, prior in added.items():
        yield _append_argument(context, node, text, prior)


def _usual_arguments(node: ast.Call, name: str) -> tuple[str, ...]:
    if name in ("sorted", "sort"):
        return ("reverse=True",)
    if name == "get" and len(node.args) == 1:
        return ("0", "None", "''", "[]", "False", "{}", "1", "()")
    if name in ("split", "rsplit") and len(node.args) == 1:
        return ("1",)
    if name == "enumerate" and len(node.args) == 1:
        return ("1",)
    if name in ("min", "max", "next", "getattr", "pop") and len(node.args) <= 2:
        return ("None", "0", "default=None", "default=0")
    return ()


def _append_argument(context: Context, node: ast.Call, text: str, prior: float) -> Edit:
    given = [*node.args, *node.keywords]
    end = context.source.span(node)[1] - 1
    if not given:
        return Edit(end, end, text, prior, "argument added")
    # A positional argument after keywords is no Python.
    anchor = (
        node.args[-1]
        if node.args and "=" not in text
        else max(given, key=lambda n: context.source.span(n)[1])
    )
    after = context.source.span(anchor)[1]
    return Edit(after, after, f", {text}", prior, "argument added")


def bounds(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Other bounds of a `range`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
        return
    if any(isinstance(arg, ast.Starred) for arg in node.args) or node.keywords:
        return
    texts = [context.text(arg) for arg in node.args]
    if len(texts) == 1:
        stop = texts[0]
        for text in (
            f"1, {stop}",
            f"1, {stop} + 1",
            f"{stop} - 1, -1, -1",
            f"{stop}, 0, -1",
            f"0, {stop}, 2",
            f"2, {stop}",
        ):
            yield context.replace(node, f"range({text})", 0.35, "range")
    elif len(texts) == 2:
        start, stop = texts
        for text in (
            f"{start} + 1, {stop} + 1",
            f"{start} - 1, {stop} - 1",
            stop,
            f"0, {stop}",
            f"{start}, {stop}, -1",
            f"{start}, {stop}, 2",
        ):
            yield context.replace(node, f"range({text})", 0.35, "range")
    elif len(texts) == 3:
        start, stop, step = texts
        for text in (
            f"{start}, {stop}",
            f"{start}, {stop}, -{step}",
            f"{start} + 1, {stop}, {step}",
            f"{start}, {stop} - 1, {step}",
        ):
            yield context.replace(node, f"range({text})", 0.35, "range")


def unwrapped(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The argument in place of the call, the object in place of its method's result."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute):
        value = node.func.value
        yield context.replace(node, context.text(value), 0.4 if not node.args else 0.2, "call removed")
    for index, argument in enumerate(node.args[:3]):
        if isinstance(argument, ast.Starred):
            continue
        wrapper = isinstance(node.func, ast.Name) and len(node.args) == 1
        yield context.replace(
            node, context.text(argument), (0.45 if wrapper else 0.25) * 0.9**index, "call removed"
        )
    if not node.args and not node.keywords:
        yield context.replace(node, context.text(node.func), 0.3, "call removed")


_WRAPPED_IN = (
    ast.Return, ast.Assign, ast.Call, ast.For, ast.Compare, ast.BinOp, ast.comprehension, ast.keyword, ast.Yield,
    ast.AugAssign, ast.Dict, ast.List, ast.Tuple, ast.Subscript, ast.GeneratorExp, ast.ListComp, ast.DictComp,
)  # fmt: skip


def wrapped(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A conversion around a value, a method on it, a call of it."""
    kinds = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp, ast.ListComp, ast.GeneratorExp)
    parent = context.parent(node)
    if not isinstance(node, kinds) or not isinstance(parent, _WRAPPED_IN) or not context.is_read(node):
        return
    if (isinstance(parent, ast.Call) and parent.func is node) or (
        isinstance(parent, ast.Subscript) and parent.value is node
    ):
        return
    text = context.text(node)
    parts = [
        f"{name}({text.removeprefix('(').removesuffix(')') if isinstance(node, ast.GeneratorExp) else text})"
        for name in _WRAPPERS
    ]
    direct = isinstance(parent, ast.Return | ast.Assign | ast.For | ast.comprehension | ast.Yield)
    for changed, prior, kind in weighted("value converted", 0.3 if direct else 0.2, parts, 0.93):
        yield context.replace(node, changed, prior, kind)
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.BinOp):
        return
    for changed, prior, kind in weighted(
        "method added", 0.22 if direct else 0.15, [text + m for m in _METHODS_ADDED]
    ):
        yield context.replace(node, changed, prior, kind)
    if not isinstance(node, ast.Call):
        yield context.replace(node, f"{text}()", 0.2, "call added")


TEMPLATES = (arguments, added_argument, bounds, unwrapped, wrapped)
