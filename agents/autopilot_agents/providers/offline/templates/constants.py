"""Edits of literals: numbers, booleans, None, strings, empty and filled containers."""

from __future__ import annotations

import ast
import copy
import difflib
import itertools
from collections.abc import Iterable, Iterator

from autopilot_agents.providers.offline.source import Edit

from .base import Context, weighted

_SEPARATORS = (",", ", ", " ", "", "-", "_", "/", ".", ":", ": ", ";", "\n", "=", "|", "\t", "&", "+", "#", "?", "*", "%", "'", '"', "0")  # fmt: skip


def number(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A neighbouring number, 0, 1, -1, a multiple, or a number that the file uses nearby."""
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        return
    value = node.value
    assert isinstance(value, int | float)  # noqa: S101 - narrows for the type checker
    near = context.scope.literals_near(node.lineno, type(value), 12)
    texts: dict[str, float] = {}
    parent = context.parent(node)
    added = (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub) and parent.right is node
    )
    for other, prior in (*_neighbours(value), *((item, 0.3) for item in near)):
        text = repr(other)
        if added and other == 0:
            continue  # the operand is rather dropped
        if text not in (repr(value), "inf", "nan"):
            texts.setdefault(text, prior)
    for literal in context.test_literals:
        if type(literal) is type(value):
            texts.setdefault(repr(literal), 0.12)
    for text, prior in texts.items():
        yield context.replace(node, text, prior, "number")


def named(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A variable in scope in place of a literal, or how long it is."""
    if not isinstance(node, ast.Constant) or isinstance(context.parent(node), ast.JoinedStr | ast.Expr):
        return
    if type(node.value) not in (int, float, str):
        return
    names = [name for name in context.scope.names_for(node) if name not in ("self", "cls")][:8]
    for text, prior, kind in weighted("literal to variable", 0.4, names, 0.93):
        yield context.replace(node, text, prior, kind)
        if type(node.value) is int:
            yield context.replace(node, f"len({text})", prior / 2, kind)


def _neighbours(value: float) -> Iterator[tuple[float, float]]:
    yield value + 1, 0.85
    yield value - 1, 0.85
    if value in (0, 1):
        yield 1 - value, 0.9
    yield 0 * value, 0.4
    yield -value, 0.4
    yield 1 + 0 * value, 0.35
    yield value * 2, 0.3
    yield (value // 2 if isinstance(value, int) else value / 2), 0.3
    yield value * 10, 0.3
    yield (value // 10 if isinstance(value, int) else value / 10), 0.3
    yield value + 2, 0.2
    yield value - 2, 0.2
    if isinstance(value, int) and value > 3:
        yield from ((1 << value.bit_length(), 0.15), (1 << (value.bit_length() - 1), 0.15))
        yield from ((value - 10, 0.12), (value + 10, 0.12), (value * 60, 0.1), (value // 60, 0.1))
        yield from ((value * 100, 0.12), (value // 100, 0.12))


def boolean(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The other truth value; something for None."""
    if not isinstance(node, ast.Constant):
        return
    if node.value is True or node.value is False:
        yield context.replace(node, str(not node.value), 0.9, "boolean")
        yield context.replace(node, "None", 0.2, "boolean")
    elif node.value is None:
        names = [name for name in context.scope.names_for(node) if name != "self"][:8]
        for text, prior, kind in weighted("None", 0.3, ("True", "False", "0", "''", "[]", "{}", "1", *names)):
            yield context.replace(node, text, prior, kind)


def text(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another string of the file, another separator, a string of the failing tests that is nearly the same."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str | bytes):
        return
    if isinstance(context.parent(node), ast.JoinedStr | ast.FormattedValue | ast.Expr):
        return
    value = node.value
    kind = type(value)
    texts: dict[str, float] = {}
    for other, prior in _other_texts(context, node, value):
        if type(other) is kind and other != value:
            texts.setdefault(repr(other), prior)
    for literal, prior in texts.items():
        yield context.replace(node, _quoted_alike(context, node, literal), prior, "text")


def _other_texts(context: Context, node: ast.Constant, value: str | bytes) -> Iterator[tuple[object, float]]:
    if isinstance(value, str):
        if len(value) <= 3 and not value.isalnum():
            yield from ((other, 0.45) for other in _SEPARATORS)
        yield from ((other, prior) for other, prior in _close_texts(value, context.test_literals))
        yield from ((other, 0.35) for other in {value.upper(), value.lower(), value.title()} - {value})
        yield value.strip(), 0.3
        yield value + " ", 0.15
        yield value[1:-1], 0.2
        yield value.removeprefix("XX").removesuffix("XX"), 0.6
    decayed = 0.35
    for other in context.scope.literals_near(node.lineno, type(value), 20):
        yield other, decayed
        decayed *= 0.96
    yield type(value)(), 0.3


def _close_texts(value: str, literals: Iterable[object]) -> Iterator[tuple[str, float]]:
    for literal in literals:
        if isinstance(literal, str) and literal and len(literal) < 200:
            ratio = difflib.SequenceMatcher(None, value, literal).quick_ratio()
            if ratio > 0.5 or literal in value or value in literal:
                yield literal, 0.15 + 0.3 * ratio


def _quoted_alike(context: Context, node: ast.AST, literal: str) -> str:
    """Return the literal with the quotes that the file uses here, where that needs no escaping."""
    own = context.text(node).lstrip("rRuUbB")[:1]
    if own == '"' and literal[0] == "'" and '"' not in literal and "\\'" not in literal:
        return f'"{literal[1:-1]}"'
    return literal


def format_string(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another precision, conversion or name in an f-string. It is written anew, because the positions inside
    f-strings are not reliable before Python 3.12.
    """
    if not isinstance(node, ast.JoinedStr):
        return
    for index, part in enumerate(node.values):
        for changed, prior in _other_parts(context, node, part):
            fresh = copy.deepcopy(node)
            fresh.values[index] = changed
            yield context.replace(node, ast.unparse(fresh), prior, "format")
    values = [i for i, part in enumerate(node.values) if isinstance(part, ast.FormattedValue)]
    for first, second in itertools.pairwise(values):
        fresh = copy.deepcopy(node)
        fresh.values[first], fresh.values[second] = fresh.values[second], fresh.values[first]
        yield context.replace(node, ast.unparse(fresh), 0.45, "format")


def _other_parts(context: Context, whole: ast.JoinedStr, part: ast.expr) -> Iterator[tuple[ast.expr, float]]:
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        if len(part.value) <= 3:
            yield from ((ast.Constant(other), 0.3) for other in _SEPARATORS if other != part.value)
        yield from ((ast.Constant(o), 0.25) for o in {part.value.lower(), part.value.upper()} - {part.value})
        return
    if not isinstance(part, ast.FormattedValue):
        return
    for conversion in (-1, ord("r"), ord("s")):
        if conversion != part.conversion:
            yield ast.FormattedValue(part.value, conversion, part.format_spec), 0.35
    if isinstance(part.value, ast.Name):
        own = part.value.id
        for name in [n for n in context.scope.names_for(whole) if n != own][:8]:
            yield ast.FormattedValue(ast.Name(name, ast.Load()), part.conversion, part.format_spec), 0.3
    elif isinstance(part.value, ast.Attribute):
        base = part.value.value
        known = context.scope.attributes.get(base.id if isinstance(base, ast.Name) else "*", [])
        for name in [n for n in known if n != part.value.attr][:8]:
            yield (
                ast.FormattedValue(ast.Attribute(base, name, ast.Load()), part.conversion, part.format_spec),
                0.3,
            )
    if isinstance(part.format_spec, ast.JoinedStr):
        for spec in _other_specs(ast.unparse(part.format_spec)[2:-1]):
            joined = ast.JoinedStr([ast.Constant(spec)])
            yield ast.FormattedValue(part.value, part.conversion, joined), 0.4


def _other_specs(spec: str) -> Iterator[str]:
    for index, character in enumerate(spec):
        if character.isdigit():
            for other in (int(character) + 1, int(character) - 1):
                if 0 <= other <= 9:
                    yield spec[:index] + str(other) + spec[index + 1 :]
        for group in ("<>^", "dxXob", "feg%", "+-"):
            if character in group:
                yield from (spec[:index] + other + spec[index + 1 :] for other in group if other != character)


def container(context: Context, node: ast.AST) -> Iterator[Edit]:
    """An empty container for another, an element dropped or exchanged with its neighbour."""
    if isinstance(node, ast.List | ast.Tuple | ast.Dict) and context.is_read(node):
        elements = node.keys if isinstance(node, ast.Dict) else node.elts
        if not elements:
            for text in ("[]", "{}", "()", "set()", "None", "''", "0"):
                if text != context.text(node):
                    yield context.replace(node, text, 0.25, "empty value")
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        for first, second in zip(node.elts, node.elts[1:], strict=False):
            yield context.swap(first, second, 0.5, "elements swapped")
    if isinstance(node, ast.Dict):
        for first, second in zip(node.values, node.values[1:], strict=False):
            yield context.swap(first, second, 0.3, "elements swapped")
        if len(node.keys) == 1 and node.keys[0] is not None:
            yield context.swap(node.keys[0], node.values[0], 0.4, "key and value swapped")


def pair(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Key and value of a comprehension the other way round."""
    if isinstance(node, ast.DictComp):
        yield context.swap(node.key, node.value, 0.45, "key and value swapped")


TEMPLATES = (number, named, boolean, text, format_string, container, pair)
