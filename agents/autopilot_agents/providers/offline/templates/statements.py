"""Edits of whole statements: removed, moved, exchanged, borrowed from nearby; branches, returns and loops."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from autopilot_agents.providers.offline.source import FUNCTIONS, Edit

from .base import Context, weighted

_EXCEPTIONS = (
    "ValueError", "TypeError", "KeyError", "IndexError", "LookupError", "AttributeError", "Exception",
    "StopIteration", "RuntimeError", "ZeroDivisionError", "OSError", "NotImplementedError", "OverflowError",
    "FileNotFoundError", "AssertionError", "ArithmeticError", "UnicodeDecodeError", "ImportError", "EOFError",
)  # fmt: skip


def removed(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The statement gone, or exchanged with the next one."""
    block = _block_of(context, node)
    if block is None or not isinstance(node, ast.stmt) or not _stands_alone(context, node):
        return
    prior = (
        0.4 if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Break | ast.Continue) else 0.25
    )
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)):
        return
    start, end = context.source.span(node)
    if len(block) == 1:
        yield Edit(start, end, "pass", prior, "statement removed")
    else:
        yield Edit(*_whole_lines(context, node), "", prior, "statement removed")
    index = _index(block, node)
    if index + 1 < len(block) and _stands_alone(context, block[index + 1]):
        yield context.swap(node, block[index + 1], 0.45, "statements swapped")


def moved(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The last statement of a block after that block, the statement after a block into it."""
    block = _block_of(context, node)
    if block is None or not isinstance(node, ast.stmt) or not _stands_alone(context, node):
        return
    parent = context.parent(node)
    index = _index(block, node)
    if isinstance(parent, ast.For | ast.While | ast.If | ast.With | ast.Try) and index == len(block) - 1 > 0:
        yield _reindent(context, node, parent, 0.4)
    if index > 0 and isinstance(block[index - 1], ast.For | ast.While | ast.If | ast.With):
        before = block[index - 1]
        inner = getattr(before, "orelse", None) or before.body  # type: ignore[attr-defined]
        if _stands_alone(context, inner[-1]):
            yield _reindent(context, node, inner[-1], 0.35)


def _reindent(context: Context, node: ast.stmt, like: ast.AST, prior: float) -> Edit:
    start, end = _whole_lines(context, node)
    text = textwrap.dedent(context.source.text[start:end])
    indent = " " * like.col_offset  # type: ignore[attr-defined]
    return Edit(start, end, textwrap.indent(text, indent), prior, "statement moved")


def branches(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The branches of an `if` exchanged, `if` for `while`, an `else` without its condition or gone."""
    if isinstance(node, ast.IfExp):
        yield context.swap(node.body, node.orelse, 0.7, "branches swapped")
        yield context.replace(node, context.text(node.body), 0.35, "branch dropped")
        yield context.replace(node, context.text(node.orelse), 0.35, "branch dropped")
    if isinstance(node, ast.While):
        yield from _keyword(context, node, "while", "if", 0.3)
    if isinstance(node, ast.If) and _keyword_is(context, node, "if"):
        yield from _keyword(context, node, "if", "while", 0.3)
        parent = context.parent(node)
        block = _block_of(context, node) or []
        index = _index(block, node) if block else 0
        if index > 0 and isinstance(block[index - 1], ast.If) and not isinstance(parent, ast.Module):
            yield from _keyword(context, node, "if", "elif", 0.35)
    if isinstance(node, ast.If) and _keyword_is(context, node, "elif"):
        yield from _keyword(context, node, "elif", "if", 0.35)
    if isinstance(node, ast.If) and node.orelse and _stands_alone(context, node.body[0]):
        yield from _swapped_blocks(context, node)
    if isinstance(node, ast.If | ast.For | ast.While) and node.orelse:
        start = context.source.span(node.body[-1])[1]
        end = context.source.span(node.orelse[-1])[1]
        yield Edit(start, end, "", 0.3, "else dropped")


def _swapped_blocks(context: Context, node: ast.If) -> Iterator[Edit]:
    if isinstance(node.orelse[0], ast.If) and _keyword_is(context, node.orelse[0], "elif"):
        yield context.swap(node.test, node.orelse[0].test, 0.4, "conditions swapped")
        return
    first = context.source.span(node.body[0])[0], context.source.span(node.body[-1])[1]
    second = context.source.span(node.orelse[0])[0], context.source.span(node.orelse[-1])[1]
    text = context.source.text
    swapped = text[slice(*second)] + text[first[1] : second[0]] + text[slice(*first)]
    yield Edit(first[0], second[1], swapped, 0.55, "branches swapped")


def _keyword_is(context: Context, node: ast.stmt, word: str) -> bool:
    return context.source.text.startswith(word, context.source.span(node)[0])


def _keyword(context: Context, node: ast.stmt, own: str, other: str, prior: float) -> Iterator[Edit]:
    start = context.source.span(node)[0]
    if context.source.text.startswith(own, start):
        yield Edit(start, start + len(own), other, prior, f"{own} to {other}")


def loops(context: Context, node: ast.AST) -> Iterator[Edit]:
    """`break` for `continue`, and both for `return`."""
    if isinstance(node, ast.Break | ast.Continue):
        other = "continue" if isinstance(node, ast.Break) else "break"
        yield context.replace(node, other, 0.9, "loop control")
        yield context.replace(node, "return", 0.3, "loop control")
    if isinstance(node, ast.Return) and node.value is None:
        for other in ("continue", "break"):
            yield context.replace(node, other, 0.3, "loop control")


def results(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another result, `return` added or removed, `yield` for `yield from`."""
    if isinstance(node, ast.Return):
        own = context.text(node.value) if node.value else ""
        names = [name for name in context.scope.names_for(node) if name != own][:10]
        options = [*names, "True", "False", "None", "self", "0", "[]"]
        for text, prior, kind in weighted("result", 0.4, [o for o in options if o != own], 0.93):
            yield context.replace(node, f"return {text}", prior, kind)
        if node.value is not None:
            yield context.replace(node, f"yield {own}", 0.15, "result")
            yield context.replace(node, own, 0.15, "return removed")
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Constant):
        start = context.source.span(node)[0]
        yield Edit(start, start, "return ", 0.45, "return added")
        yield Edit(start, start, "yield ", 0.2, "yield added")
        yield Edit(start, start, "yield from ", 0.2, "yield added")
    if isinstance(node, ast.Yield) and node.value is not None:
        yield context.replace(node, f"yield from {context.text(node.value)}", 0.4, "yield")
    if isinstance(node, ast.YieldFrom):
        yield context.replace(node, f"yield {context.text(node.value)}", 0.4, "yield")


def exceptions(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another type of exception, raised or caught."""
    named = None
    if isinstance(node, ast.ExceptHandler):
        named = node.type
    elif isinstance(node, ast.Raise) and node.exc is not None:
        named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if isinstance(named, ast.Name):
        own = [n for n in context.scope.module_names if n.endswith(("Error", "Exception"))]
        names = [name for name in dict.fromkeys((*own, *_EXCEPTIONS)) if name != named.id]
        for text, prior, kind in weighted("exception type", 0.6, names, 0.92):
            yield context.replace(named, text, prior, kind)
    if isinstance(named, ast.Tuple) and isinstance(node, ast.ExceptHandler):
        for name in ("Exception", *(context.text(e) for e in named.elts)):
            yield context.replace(named, name, 0.3, "exception type")


def borrowed(context: Context, node: ast.AST) -> Iterator[Edit]:
    """A short statement of the same file, before or after this one; what a missing statement may have said."""
    if not isinstance(node, ast.stmt) or not _stands_alone(context, node) or isinstance(node, FUNCTIONS):
        return
    if _block_of(context, node) is None or context.source.function_of(node) is None:
        return
    texts = [textwrap.dedent(" " * d.col_offset + context.text(d)) for d in context.scope.donors(node, 14)]
    texts += _usual_statements(context, node)
    line = context.source.line_start(node.lineno)
    indent = context.source.text[line : line + node.col_offset]
    end = context.source.span(node)[1]
    simple = not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue)
    for text, prior, kind in weighted("statement added", 0.24, dict.fromkeys(texts), 0.95):
        block = textwrap.indent(text, indent)
        yield Edit(line, line, f"{block}\n", prior, kind)
        if simple:
            yield Edit(end, end, f"\n{block}", prior, kind)


def _usual_statements(context: Context, node: ast.stmt) -> list[str]:
    texts = []
    loop = context.parent(node)
    while loop is not None and not isinstance(loop, (ast.For, ast.While, *FUNCTIONS)):
        loop = context.parent(loop)
    if isinstance(loop, ast.For | ast.While):
        texts += ["continue", "break"]
    function = context.source.function_of(node)
    if function is not None:
        names = [name for name in context.scope.names_for(node) if name not in ("self", "cls")]
        texts += [f"return {name}" for name in names[:4]] + ["return"]
        texts += [f"{name} += 1" for name in names[:3]] + [f"{name} -= 1" for name in names[:2]]
    return texts


def _block_of(context: Context, node: ast.AST) -> list[ast.stmt] | None:
    parent = context.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(item is node for item in block):
            return block
    return None


def _index(block: list[ast.stmt], node: ast.AST) -> int:
    return next(i for i, item in enumerate(block) if item is node)


def _stands_alone(context: Context, node: ast.stmt) -> bool:
    """Return whether the statement's lines hold nothing else; an `elif` does not stand alone."""
    start, end = context.source.span(node)
    before = context.source.text[context.source.line_start(node.lineno) : start]
    after = context.source.text[end:].split("\n", 1)[0]
    if isinstance(node, ast.If) and _keyword_is(context, node, "elif"):
        return False
    return not before.strip() and (not after.strip() or after.strip().startswith("#"))


def _whole_lines(context: Context, node: ast.stmt) -> tuple[int, int]:
    start = context.source.line_start(node.lineno)
    return start, context.source.line_start((node.end_lineno or node.lineno) + 1)


TEMPLATES = (removed, moved, branches, loops, results, exceptions, borrowed)
