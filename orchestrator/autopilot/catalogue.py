"""What each error code means, why it exists, and what to do: the texts behind `autopilot explain CODE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One code's explanation."""

    what: str
    why: str
    fix: str


CATALOGUE: Mapping[str, Entry] = {}
