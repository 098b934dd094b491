"""Edits of names: another variable, another attribute, the sibling of a well-known function or method."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autopilot_agents.providers.offline.source import FUNCTIONS, Edit

from .base import Context, weighted

_FUNCTION_GROUPS = (
    "min max sum len", "any all", "sorted reversed list tuple set frozenset", "int float str bool repr",
    "abs round int float", "floor ceil trunc round", "range enumerate zip", "isinstance issubclass",
    "map filter filterfalse", "takewhile dropwhile filter", "first last", "getattr hasattr", "list iter tuple",
    "deque list", "defaultdict dict OrderedDict Counter", "bisect_left bisect_right bisect", "bool not_",
    "insort_left insort_right insort", "heappush heappushpop heapreplace", "next iter", "dict set list",
    "chain zip", "zip zip_longest", "permutations combinations product", "ord chr", "print repr", "add sub mul",
    "nlargest nsmallest", "staticmethod classmethod property", "lt le gt ge eq ne", "sin cos tan", "log exp sqrt",
    "itemgetter attrgetter", "partial curry", "divmod pow", "copy deepcopy",
)  # fmt: skip
_ATTRIBUTE_GROUPS = (
    "append extend insert appendleft add", "pop popleft popitem remove", "lower upper title capitalize swapcase casefold",
    "startswith endswith", "find rfind index rindex", "strip lstrip rstrip", "split rsplit splitlines partition rpartition",
    "keys values items", "add discard remove update", "get setdefault pop", "update setdefault",
    "union intersection difference symmetric_difference", "issubset issuperset isdisjoint",
    "intersection_update difference_update symmetric_difference_update update",
    "ljust rjust center zfill", "removeprefix removesuffix", "isdigit isalpha isalnum isspace isnumeric isdecimal",
    "isupper islower istitle", "encode decode", "read readline readlines write", "extend extendleft", "append appendleft",
    "first last", "left right", "start stop end step", "min max", "prev next", "head tail", "width height", "x y z",
    "key value", "real imag", "year month day", "hour minute second", "days seconds total_seconds microseconds",
    "floor ceil trunc", "push pop", "lo hi", "low high", "sort reverse", "match search fullmatch", "join split", "args kwargs",
    "bisect_left bisect_right bisect", "group groups groupdict", "count index", "exists is_file is_dir", "name stem suffix",
    "acquire release", "enter exit", "copy clear", "hexdigest digest", "parent children", "lineno col_offset",
)  # fmt: skip


def _groups(lines: tuple[str, ...]) -> dict[str, list[str]]:
    siblings: dict[str, list[str]] = {}
    for line in lines:
        words = line.split()
        for word in words:
            siblings.setdefault(word, []).extend(other for other in words if other != word)
    return siblings


_FUNCTIONS = _groups(_FUNCTION_GROUPS)
_ATTRIBUTES = _groups(_ATTRIBUTE_GROUPS)


def variable(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another variable in scope, nearest first; `self.name` where there is such an attribute."""
    if not isinstance(node, ast.Name) or _is_callee(context, node):
        return
    stored = isinstance(node.ctx, ast.Store)
    looked_into = isinstance(context.parent(node), ast.Attribute)
    own = () if looked_into else ("self", "cls")  # where an attribute is looked up, they are likely
    names = [name for name in context.scope.names_for(node) if name not in (node.id, *own)]
    prior = 0.25 if stored else 0.5
    for text, weight, kind in weighted("variable", prior, names[:25], 0.94):
        yield context.replace(node, text, weight, kind)
    if not stored:
        if node.id in context.scope.attributes.get("self", ()):
            yield context.replace(node, f"self.{node.id}", 0.4, "variable")
        constants = [name for name in context.scope.module_names if name != node.id]
        if node.id in context.scope.module_names:
            for text, weight, kind in weighted("name", 0.45, _alike(node.id, constants)[:12]):
                yield context.replace(node, text, weight, kind)


def function(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The sibling of a called or passed function, or another function of the file."""
    if not isinstance(node, ast.Name) or not context.is_read(node):
        return
    siblings = _FUNCTIONS.get(node.id, [])
    visible = context.scope.visible(node) if siblings else set()
    for text, prior, kind in weighted("function", 0.75, [name for name in siblings if name in visible]):
        yield context.replace(node, text, prior, kind)
    if _is_callee(context, node):
        others = [name for name in context.scope.signatures if name in context.scope.module_names]
        for text, prior, kind in weighted("function", 0.35, _alike(node.id, others)[:10], 0.93):
            yield context.replace(node, text, prior, kind)


def attribute(context: Context, node: ast.AST) -> Iterator[Edit]:
    """The sibling of an attribute or method, or another one that the file uses on the same thing."""
    if not isinstance(node, ast.Attribute):
        return
    end = context.source.span(node)[1]
    start = end - len(node.attr)
    if context.source.text[start:end] != node.attr:
        return
    known = _ATTRIBUTES.get(node.attr, []) + _FUNCTIONS.get(node.attr, [])
    for text, prior, kind in weighted("attribute", 0.75, dict.fromkeys(known)):
        yield Edit(start, end, text, prior, kind)
    used = _used_on(context, node)
    for text, prior, kind in weighted("attribute", 0.5, _alike(node.attr, used)[:14], 0.93):
        if text not in known:
            yield Edit(start, end, text, prior, kind)
    of_self = isinstance(node.value, ast.Name) and node.value.id == "self" and not _is_callee(context, node)
    if of_self and node.attr in context.scope.names_for(node) and context.is_read(node):
        yield context.replace(node, node.attr, 0.4, "variable")


def _used_on(context: Context, node: ast.Attribute) -> list[str]:
    base = node.value.id if isinstance(node.value, ast.Name) else "*"
    used = list(context.scope.attributes.get(base, []))
    owner = context.source.class_of(node)
    if base in ("self", "cls") and owner is not None:
        used += context.scope.methods.get(owner.name, [])
    called = _is_callee(context, node)
    callable_names = set(context.scope.calls) | {m for ms in context.scope.methods.values() for m in ms}
    fitting = [name for name in used if (name in callable_names) == called]
    return [name for name in dict.fromkeys(fitting) if name != node.attr]


def _alike(name: str, others: list[str]) -> list[str]:
    """Sort `others` so that names which share a beginning or an end with `name` come first."""

    def shared(other: str) -> int:
        length = 0
        for ours, theirs in zip(name, other, strict=False):
            if ours != theirs:
                break
            length += 1
        tail = 0
        for ours, theirs in zip(reversed(name), reversed(other), strict=False):
            if ours != theirs:
                break
            tail += 1
        return max(length, tail)

    return sorted((other for other in others if other != name), key=lambda other: -shared(other))


def parameter_default(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Another default: the simple values; numbers and strings are changed as literals."""
    if not isinstance(node, FUNCTIONS):
        return
    for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
        for text, prior, kind in weighted(
            "default value", 0.4, ("None", "True", "False", "0", "1", "''", "()", "-1")
        ):
            if context.text(default) != text:
                yield context.replace(default, text, prior, kind)


def _is_callee(context: Context, node: ast.AST) -> bool:
    parent = context.parent(node)
    return isinstance(parent, ast.Call) and parent.func is node


TEMPLATES = (variable, function, attribute, parameter_default)
