"""Typed reading of a mapping: unknown keys and wrong types are errors that name the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autopilot_playbooks.strict_yaml import Node
from autopilot_playbooks.where import Where, nearest, show

_TYPE_NAMES = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}


def type_name(value: Any) -> str:
    """Return what a user would call the type of `value`."""
    return _TYPE_NAMES.get(type(value), "a number")


class Fields:
    """The keys of one mapping, read by type. A key that is missing or null reads as None."""

    def __init__(
        self,
        node: Node,
        where: Where,
        known: Sequence[str],
        *,
        path: str = "",
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.where = where
        self.line = node.line
        self._path = path
        self._values = self._check(node, known, aliases or {})

    def _check(self, node: Node, known: Sequence[str], aliases: Mapping[str, str]) -> dict[str, Node]:
        if not isinstance(node.value, dict):
            raise self.wrong(node, None, "a mapping (key: value)")
        values: dict[str, Node] = {}
        for key, value in node.value.items():
            name = aliases.get(key, key)
            if name not in known:
                raise self._unknown(key, value, known)
            if name in values:
                raise self.where.error(
                    "duplicate" if "duplicate" in self.where.codes else "syntax",
                    f"is given under two names; both mean {name}",
                    line=value.line,
                    field=self.path(key),
                    fix="keep one of them",
                )
            values[name] = value
        return values

    def _unknown(self, key: str, value: Node, known: Sequence[str]) -> Exception:
        near = nearest(key, known)
        fix = f"write {near}" if near else "known keys: " + ", ".join(known)
        return self.where.error("unknown", "is not known", line=value.line, field=self.path(key), fix=fix)

    def path(self, key: str | None) -> str:
        """Return the full name of a key: `phases[3].checks`."""
        return ".".join(part for part in (self._path, key) if part)

    def node(self, key: str) -> Node | None:
        """Return the raw node of `key`."""
        return self._values.get(key)

    def wrong(self, node: Node, key: str | None, expected: str, *, fix: str = "") -> Exception:
        """Return the error for a value of another type than `expected`; the value is not repeated when long."""
        field = self.path(key) or None
        got = type_name(node.value)
        shown = f" {show(node.raw, 30)}" if node.raw and got != "nothing" else ""
        problem = f"should be {expected}, and is {got}{shown}"
        hint = fix or f"write {expected}"
        return self.where.error("value", problem, line=node.line, field=field, fix=hint)

    def text(self, key: str) -> str | None:
        """Return the text of `key`."""
        node = self._present(key)
        return None if node is None else self._text(node, key)

    def _text(self, node: Node, key: str) -> str:
        if not isinstance(node.value, str):
            quoted = f'put it in quotes: "{show(node.raw, 30)}"' if node.raw else "write text"
            raise self.wrong(node, key, "text", fix=quoted)
        return node.value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of texts; a single text is a list of one."""
        items = self.items(key)
        return None if items is None else tuple(self._text(item, key) for item in items)

    def items(self, key: str) -> list[Node] | None:
        """Return the nodes of a list; a single value is a list of one."""
        node = self._present(key)
        if node is None:
            return None
        return node.value if isinstance(node.value, list) else [node]

    def flag(self, key: str) -> bool | None:
        """Return true or false; the words yes, no, on and off are refused."""
        node = self._present(key)
        if node is None:
            return None
        if not isinstance(node.value, bool):
            raise self.wrong(node, key, "true or false")
        return node.value

    def number(self, key: str, low: float, high: float) -> float | None:
        """Return a finite number from `low` to `high`."""
        node = self._present(key)
        return None if node is None else self._number(node, key, low, high)

    def _number(self, node: Node, key: str, low: float, high: float) -> float:
        expected = f"a number from {low:g} to {high:g}"
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            unquote = isinstance(value, str) and value.replace(".", "", 1).isdigit()
            raise self.wrong(node, key, expected, fix="remove the quotes" if unquote else "")
        if not low <= value <= high:  # NaN and the infinities are not between
            raise self.wrong(node, key, expected)
        return float(value)

    def numbers(self, key: str, low: float, high: float) -> tuple[float, ...] | None:
        """Return a list of finite numbers."""
        items = self.items(key)
        return None if items is None else tuple(self._number(item, key, low, high) for item in items)

    def integer(self, key: str, low: int, high: int) -> int | None:
        """Return a whole number from `low` to `high`."""
        node = self._present(key)
        if node is None:
            return None
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.wrong(node, key, f"a whole number from {low} to {high}")
        return value

    def _present(self, key: str) -> Node | None:
        node = self._values.get(key)
        return None if node is None or node.value is None else node
