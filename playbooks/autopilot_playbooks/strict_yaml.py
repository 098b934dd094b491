"""YAML to nodes that know their line. Plain data only: no tags, bounded aliases, no duplicate keys.

The value of a plain scalar is null, true/false, a decimal number or else a string: `no`, `on`, `1:30`, `0x1F`
and `2026-01-01` are strings, whatever YAML 1.1 makes of them. Built from the parser's events with a stack of
our own, so that neither depth nor aliases can exhaust anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from autopilot_playbooks.where import Where, show

MAX_ALIASES = 100
MAX_DEPTH = 40
MAX_ALIASED_NODES = 10_000

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18}|[0-9]{1,18}(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?\Z"
)
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Node:
    """A value with its place: a dict of nodes, a list of nodes, or a scalar whose spelling is `raw`."""

    value: Any
    line: int | None
    raw: str = ""
    size: int = 1
    """How many nodes it stands for, aliases spelled out."""


def parse_yaml(text: str, where: Where, *, first_line: int = 1) -> Node:
    """Return the only document of `text`; an empty one is a node of None."""
    build = _Builder(where, first_line)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            build.take(event)
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, where, first_line) from None
    return build.root or Node(None, first_line)


def _syntax_error(error: yaml.YAMLError, text: str, where: Where, first_line: int) -> Exception:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "can't be parsed"
    if mark is not None:
        line, column = mark.line, mark.column
    else:
        before = text[: getattr(error, "position", 0)]
        line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
    tab = text.split("\n")[line : line + 1]
    hint = "indent with spaces, not tabs" if tab and "\t" in tab[0] else "correct the YAML at this place"
    return where.error(
        "syntax", f"YAML: {show(problem)}", line=line + first_line, column=column + 1, fix=hint
    )


class _Builder:
    """Folds parse events into one node."""

    def __init__(self, where: Where, first_line: int) -> None:
        self.root: Node | None = None
        self._where = where
        self._first_line = first_line
        self._stack: list[tuple[Node, str | None]] = []
        self._keys: list[str | None] = []
        self._anchors: dict[str, Node] = {}
        self._aliases = 0
        self._aliased_nodes = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + self._first_line
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._anchored(event, self._scalar(event, line)), line)
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._alias(event, line), line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(line)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise self._refuse("holds more than one YAML document", line, "keep one document in the file")

    def _scalar(self, event: Any, line: int) -> Node:
        text = event.value
        if event.tag in ("tag:yaml.org,2002:str", "!") or (event.tag is None and not event.implicit[0]):
            return Node(text, line, text)
        self._refuse_tag(event, line)
        if text in _WORDS:
            return Node(_WORDS[text], line, text)
        if _INTEGER.match(text):
            return Node(int(text), line, text)
        if _FLOAT.match(text):
            return Node(float(text), line, text)
        if _SPECIAL.match(text):
            return Node(float(text.replace(".", "", 1)), line, text)
        return Node(text, line, text)

    def _open(self, event: Any, line: int) -> None:
        self._refuse_tag(event, line)
        if len(self._stack) >= MAX_DEPTH:
            raise self._refuse(f"is nested more than {MAX_DEPTH} levels deep", line, "flatten it")
        node = Node({} if isinstance(event, yaml.MappingStartEvent) else [], line)
        if self._stack and self._keys[-1] is None and isinstance(self._stack[-1][0].value, dict):
            raise self._refuse("has a key that is not a word", line, "write keys as plain words")
        self._stack.append((node, event.anchor))
        self._keys.append(None)

    def _close(self, line: int) -> None:
        node, anchor = self._stack.pop()
        self._keys.pop()
        if anchor:
            self._anchors[anchor] = node
        self._add(node, line)

    def _add(self, node: Node, line: int) -> None:
        if not self._stack:
            self.root = node
            return
        parent = self._stack[-1][0]
        parent.size += node.size
        if isinstance(parent.value, list):
            parent.value.append(node)
            return
        key = self._keys[-1]
        if key is None:
            self._keys[-1] = self._key(node, parent, line)
        else:
            parent.value[key] = node
            self._keys[-1] = None

    def _key(self, node: Node, parent: Node, line: int) -> str:
        if isinstance(node.value, dict | list):
            raise self._refuse("has a key that is not a word", line, "write keys as plain words")
        if node.raw in parent.value:
            raise self._refuse(f"key {show(node.raw)} stands twice", line, "keep one of them")
        return node.raw

    def _anchored(self, event: Any, node: Node) -> Node:
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, line: int) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:  # unknown, or still open: an alias inside its own anchor
            raise self._refuse(f"alias {show(event.anchor)} has no value", line, "write the value out")
        self._aliases += 1
        self._aliased_nodes += node.size
        if self._aliases > MAX_ALIASES or self._aliased_nodes > MAX_ALIASED_NODES:
            raise self._refuse(
                "uses too many YAML aliases", line, f"write values out; at most {MAX_ALIASES} aliases"
            )
        return node

    def _refuse_tag(self, event: Any, line: int) -> None:
        if event.tag is not None:
            raise self._refuse(
                f"YAML tag {show(event.tag)} is not allowed", line, "remove the tag: plain data only"
            )

    def _refuse(self, problem: str, line: int, fix: str) -> Exception:
        return self._where.error("syntax", problem, line=line, fix=fix)
