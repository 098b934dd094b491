"""Edits of operators: comparisons, arithmetic, logic, assignment with an operator."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autopilot_agents.providers.offline.source import Edit

from .base import Context, weighted

_COMPARE: dict[type[ast.cmpop], tuple[str, tuple[tuple[str, float], ...]]] = {
    ast.Lt: (r"<", (("<=", 0.98), (">", 0.7), (">=", 0.7), ("!=", 0.35), ("==", 0.3))),
    ast.LtE: (r"<=", (("<", 0.98), (">=", 0.7), (">", 0.7), ("==", 0.4), ("!=", 0.3))),
    ast.Gt: (r">", ((">=", 0.98), ("<", 0.7), ("<=", 0.7), ("!=", 0.35), ("==", 0.3))),
    ast.GtE: (r">=", ((">", 0.98), ("<=", 0.7), ("<", 0.7), ("==", 0.4), ("!=", 0.3))),
    ast.Eq: (r"==", (("!=", 0.95), (">=", 0.4), ("<=", 0.4), ("<", 0.35), (">", 0.35), ("is", 0.3), ("in", 0.2))),
    ast.NotEq: (r"!=", (("==", 0.95), ("<", 0.4), (">", 0.4), ("is not", 0.3), ("<=", 0.3), (">=", 0.3))),
    ast.Is: (r"\bis\b", (("is not", 0.95), ("==", 0.35))),
    ast.IsNot: (r"\bis\s+not\b", (("is", 0.95), ("!=", 0.35))),
    ast.In: (r"\bin\b", (("not in", 0.95), ("==", 0.25))),
    ast.NotIn: (r"\bnot\s+in\b", (("in", 0.95), ("!=", 0.2))),
}  # fmt: skip
_BINARY: dict[type[ast.operator], tuple[str, tuple[tuple[str, float], ...]]] = {
    ast.Add: ("+", (("-", 0.9), ("*", 0.6), ("|", 0.15))),
    ast.Sub: ("-", (("+", 0.9), ("*", 0.3), ("/", 0.25), ("//", 0.2), ("%", 0.25))),
    ast.Mult: ("*", (("/", 0.7), ("+", 0.6), ("//", 0.6), ("**", 0.5), ("-", 0.3), ("%", 0.2))),
    ast.Div: ("/", (("*", 0.8), ("//", 0.8), ("%", 0.4), ("-", 0.25))),
    ast.FloorDiv: ("//", (("/", 0.8), ("%", 0.7), ("*", 0.6), ("-", 0.25))),
    ast.Mod: ("%", (("//", 0.7), ("/", 0.6), ("*", 0.5), ("+", 0.25), ("-", 0.25))),
    ast.Pow: ("**", (("*", 0.8), ("//", 0.25), ("+", 0.25), ("^", 0.2))),
    ast.LShift: ("<<", ((">>", 0.9), ("*", 0.3))),
    ast.RShift: (">>", (("<<", 0.9), ("//", 0.3))),
    ast.BitAnd: ("&", (("|", 0.85), ("^", 0.7), ("-", 0.35))),
    ast.BitOr: ("|", (("&", 0.85), ("^", 0.7), ("-", 0.35))),
    ast.BitXor: ("^", (("|", 0.8), ("&", 0.8), ("-", 0.3))),
    ast.MatMult: ("@", (("*", 0.6),)),
}
_NON_COMMUTATIVE = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)


def comparison(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another comparison, the operands the other way round, a bound moved by one, one link of a chain gone."""
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for index, operator in enumerate(node.ops):
        left, right = operands[index], operands[index + 1]
        pattern, others = _COMPARE[type(operator)]
        for text, prior in others:
            yield from context.token(left, right, pattern, text, prior, "comparison")
    if len(node.ops) == 1 and not isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        yield context.swap(node.left, node.comparators[0], 0.3, "operands swapped")
    elif len(node.ops) > 1:
        whole = context.source.text
        first = whole[context.source.span(node.left)[0] : context.source.span(node.comparators[-2])[1]]
        rest = whole[context.source.span(node.comparators[0])[0] : context.source.span(node)[1]]
        yield context.replace(node, first, 0.3, "comparison dropped")
        yield context.replace(node, rest, 0.3, "comparison dropped")


def arithmetic(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another operator, the operands the other way round, one operand alone."""
    if not isinstance(node, ast.BinOp):
        return
    own, others = _BINARY[type(node.op)]
    pattern = "".join("\\" + character for character in own)
    for text, prior in others:
        yield from context.token(node.left, node.right, pattern, text, prior, "arithmetic operator")
    if not (isinstance(node.op, ast.Mod) and _is_text(node.left)):
        prior = 0.55 if isinstance(node.op, _NON_COMMUTATIVE) else 0.25
        yield context.swap(node.left, node.right, prior, "operands swapped")
    small = isinstance(node.right, ast.Constant) and node.right.value in (1, 2)
    yield context.replace(node, context.text(node.left), 0.85 if small else 0.4, "operand dropped")
    yield context.replace(node, context.text(node.right), 0.3, "operand dropped")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def logic(context: Context, node: ast.AST) -> Iterator[Edit]:
    """`and` for `or`, an operand dropped, an operand negated."""
    if not isinstance(node, ast.BoolOp):
        return
    own, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield from context.token(left, right, rf"\b{own}\b", other, 0.9, "boolean operator")
    text = context.source.text
    start, end = context.source.span(node)
    for index, value in enumerate(node.values):
        rest = [context.text(v) for i, v in enumerate(node.values) if i != index]
        yield Edit(start, end, f" {own} ".join(rest), 0.45, "condition dropped")
        if not isinstance(value, ast.UnaryOp) and not _has_opposite(value):
            yield context.replace(value, f"not {_negatable(context, value)}", 0.65, "condition negated")
    if len(node.values) > 2:
        joined = text[start:end]
        yield Edit(start, end, joined.replace(f" {own} ", f" {other} "), 0.5, "boolean operator")


def _has_opposite(node: ast.AST) -> bool:
    """Return whether another comparison says the same as `not` before this one."""
    return isinstance(node, ast.Compare) and len(node.ops) == 1


def _negatable(context: Context, node: ast.AST) -> str:
    bare = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Compare)
    return context.text(node) if bare else f"({context.text(node)})"


def unary(context: Context, node: ast.AST) -> Iterator[Edit]:
    """`not`, `-` and `~` removed."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        prior = 0.95 if isinstance(node.op, ast.Not) else 0.75
        yield context.replace(node, context.text(node.operand), prior, "unary operator removed")
        if isinstance(node.op, ast.Invert):
            yield context.replace(node, f"-{context.text(node.operand)}", 0.3, "unary operator")


def condition(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A condition negated, or decided beforehand."""
    test = getattr(node, "test", None)
    tests = [test] if isinstance(test, ast.expr) else []
    if isinstance(node, ast.comprehension):
        tests = list(node.ifs)
    for item in tests:
        negated = isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.Not)
        if not negated and not _has_opposite(item):
            yield context.replace(item, f"not {_negatable(context, item)}", 0.75, "condition negated")
        if not isinstance(item, ast.Constant):
            yield context.replace(item, "True", 0.3, "condition decided")
            yield context.replace(item, "False", 0.3, "condition decided")


def added_condition(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A further condition, borrowed from nearby: what a condition that went missing may have said."""
    parent = context.parent(node)
    tested = isinstance(parent, ast.If | ast.While | ast.IfExp) and parent.test is node
    returned = isinstance(parent, ast.Return) and isinstance(node, ast.Compare | ast.BoolOp)
    if not isinstance(node, ast.expr) or not (tested or returned):
        return
    own = context.text(node)
    grouped = f"({own})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda) else own
    names = [name for name in context.scope.names_for(node) if name not in ("self", "cls")][:4]
    texts = [*context.scope.conditions_near(node, 8), *names, *(f"not {name}" for name in names)]
    for text, prior, _ in weighted("", 0.26, [t for t in dict.fromkeys(texts) if t not in own], 0.96):
        yield context.replace(node, f"{grouped} and {text}", prior, "condition added")
        yield context.replace(node, f"{grouped} or {text}", prior, "condition added")


def assignment(context: Context, node: ast.AST) -> Iterator[Edit]:
    """`+=` for `-=`, `=` for `+=`, and the other way round."""
    if isinstance(node, ast.AugAssign):
        own, others = _BINARY[type(node.op)]
        pattern = "".join("\\" + character for character in own) + "="
        for text, prior in others:
            yield from context.token(
                node.target, node.value, pattern, text + "=", prior, "assignment operator"
            )
        yield from context.token(node.target, node.value, pattern, "=", 0.5, "assignment operator")
    elif (
        isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple)
    ):
        for text, prior in (("+=", 0.6), ("-=", 0.3), ("*=", 0.15), ("|=", 0.15), ("&=", 0.1)):
            yield from context.token(node.targets[0], node.value, "=", text, prior, "assignment operator")


_COUNTABLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp)
_COUNTED_IN = (
    ast.Compare, ast.BinOp, ast.Subscript, ast.Slice, ast.Call, ast.Return, ast.Assign, ast.keyword,
    ast.AugAssign, ast.Tuple, ast.Yield,
)  # fmt: skip


def off_by_one(context: Context, node: ast.AST) -> Iterator[Edit]:
    """One more or one less than an expression that may be a number."""
    if not isinstance(node, _COUNTABLE) or not context.is_read(node):
        return
    parent = context.parent(node)
    if not isinstance(parent, _COUNTED_IN) or _is_callee_or_container(node, parent):
        return
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Sub | ast.FloorDiv | ast.Mult):
        return
    prior = 0.45 if isinstance(parent, ast.Compare | ast.Slice | ast.Subscript) else 0.3
    if isinstance(parent, ast.Call) and getattr(parent.func, "id", "") == "range":
        prior = 0.6
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len":
        prior += 0.1
    text = context.text(node)
    pattern = "({} {} 1)" if isinstance(parent, ast.BinOp) else "{} {} 1"
    yield context.replace(node, pattern.format(text, "-"), prior, "off by one")
    yield context.replace(node, pattern.format(text, "+"), prior, "off by one")


def _is_callee_or_container(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Call):
        return parent.func is node
    return isinstance(parent, ast.Subscript) and parent.value is node


_SIGNED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Compare, ast.BoolOp)
_SIGNED_IN = (
    ast.Return, ast.Assign, ast.Compare, ast.keyword, ast.Tuple, ast.Lambda, ast.Call, ast.BinOp,
)  # fmt: skip


def sign(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A minus, or a `not`, before what is returned, passed on, compared or assigned."""
    parent = context.parent(node)
    if not isinstance(node, _SIGNED) or not isinstance(parent, _SIGNED_IN) or not context.is_read(node):
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    if isinstance(parent, ast.Return | ast.Assign | ast.keyword | ast.Lambda | ast.Call):
        prior = 0.5 if isinstance(parent, ast.Return | ast.Lambda) else 0.2
        if not _has_opposite(node):
            yield context.replace(node, f"not {_negatable(context, node)}", prior, "value negated")
    if not isinstance(node, ast.Compare | ast.BoolOp):
        prior = 0.35 if isinstance(parent, ast.Return) else 0.2
        yield context.replace(node, f"-{context.text(node)}", prior, "sign")


TEMPLATES = (comparison, arithmetic, logic, unary, condition, added_condition, assignment, off_by_one, sign)
