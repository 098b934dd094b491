"""JSON to the same nodes as YAML, without lines. No duplicate keys, no NaN, bounded depth."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from autopilot_playbooks.strict_yaml import MAX_DEPTH, Node
from autopilot_playbooks.where import Where, show


def parse_json(text: str, where: Where) -> Node:
    """Return the value of `text`."""

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                raise where.error(
                    "syntax", f"key {show(key)} stands twice in one object", fix="keep one of them"
                )
            result[key] = value
        return result

    def no_constant(name: str) -> NoReturn:
        raise where.error("value", f"{name} is not a number of JSON", fix="write a finite number")

    try:
        value = json.loads(
            text, object_pairs_hook=no_duplicates, parse_constant=no_constant, parse_float=_Float
        )
    except json.JSONDecodeError as error:
        raise where.error(
            "syntax",
            f"JSON: {error.msg}",
            line=error.lineno,
            column=error.colno,
            fix="correct the JSON at this place",
        ) from None
    except RecursionError:
        raise _too_deep(where) from None
    except ValueError:  # an integer of thousands of digits
        raise where.error("value", "holds a number that is too long", fix="write a shorter number") from None
    return _node(value, where, 0)


class _Float(float):
    """Keeps the spelling, because the phase id 6.10 is not 6.1."""

    def __new__(cls, raw: str) -> _Float:
        made = super().__new__(cls, raw)
        made.raw = raw
        return made

    raw: str


def _node(value: Any, where: Where, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise _too_deep(where)
    if isinstance(value, dict):
        return Node({key: _node(item, where, depth + 1) for key, item in value.items()}, None)
    if isinstance(value, list):
        return Node([_node(item, where, depth + 1) for item in value], None)
    if isinstance(value, _Float):
        return Node(float(value), None, value.raw)
    return Node(value, None, str(value))


def _too_deep(where: Where) -> Exception:
    return where.error("syntax", f"is nested more than {MAX_DEPTH} levels deep", fix="flatten it")
