"""The ids of a run as types, and their order.

Roadmap ids match `\\d+(\\.\\d+)*` (`20`, `6.1`). The levels of sub-phases alternate letters and numbers:
`20` → `20a` → `20a1` → `20a1a`.
"""

from __future__ import annotations

import re
import secrets
import string
from typing import NewType

RunId = NewType("RunId", str)
"""4 to 8 hex digits."""
UnitId = NewType("UnitId", str)
"""A phase (`20`, `6.1`) or a sub-phase (`20a`, `20a1`)."""
OpId = NewType("OpId", str)
"""Names one side effect of one attempt, the same after every restart: `20a.a1.build1.answer`."""

MAX_UNIT_ID_LENGTH = 24

_UNIT = re.compile(r"(?P<phase>\d+(?:\.\d+)*)(?P<split>(?:[a-z](?:\d+[a-z])*\d*)?)\Z", re.ASCII)
_PARTS = re.compile(r"\.?\d+|[a-z]", re.ASCII)


def new_run_id() -> RunId:
    """Return a fresh run id of four hex digits."""
    return RunId(secrets.token_hex(2))


def is_unit_id(text: str) -> bool:
    """Say whether `text` is the id of a phase or a sub-phase."""
    return len(text) <= MAX_UNIT_ID_LENGTH and _UNIT.match(text) is not None


def unit_sort_key(unit: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts numerically, children directly after their parent: 2, 10, 10a, 10a1, 10b, 10.1."""
    return tuple(_part_key(part) for part in _PARTS.findall(unit))


def _part_key(part: str) -> tuple[int, int, str]:
    if part.isalpha():
        return (0, 0, part)
    # An inserted phase (`6.1`) is a sibling of `6`, so it comes after the children of `6`.
    return (1, int(part[1:]), "") if part.startswith(".") else (0, int(part), "")


def child_id(parent: UnitId, index: int) -> UnitId:
    """Return the id of the child `index` (0-based) of `parent`; letters and numbers alternate by level.

    Raises:
        ValueError: a 27th lettered child was asked for.
    """
    if parent[-1].isalpha():
        return UnitId(f"{parent}{index + 1}")
    if index >= len(string.ascii_lowercase):
        raise ValueError(f"a unit has at most {len(string.ascii_lowercase)} children")
    return UnitId(f"{parent}{string.ascii_lowercase[index]}")


def split_depth(unit: str) -> int:
    """Return how many splits lie above `unit`: 0 for a phase, 1 for `20a`, 2 for `20a1`."""
    match = _UNIT.match(unit)
    return len(_PARTS.findall(match["split"])) if match else 0
