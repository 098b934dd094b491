"""Which unit may start, from in-degree counters: O(edges) in all, never a scan of all units."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from autopilot_state.ids import unit_sort_key

SATISFIED = ("verified", "unverified", "skipped")
"""Results that what depends on a unit may build on."""


class Schedule:
    """Edges and counters of all units that have not ended. Ready units come out in id order."""

    def __init__(self) -> None:
        self._waiting: dict[str, int] = {}
        self._needed_by: dict[str, list[str]] = {}
        self._followed_by: dict[str, list[str]] = {}
        self._is_ready: set[str] = set()
        self._ready: list[tuple[tuple[tuple[int, int, str], ...], str]] = []

    def add(self, unit: str, needs: Iterable[str], follows: Iterable[str] = ()) -> None:
        """Add a unit: what it `needs` must succeed, what it `follows` must have ended. Open ones only."""
        edges = 0
        for dependency in needs:
            self._needed_by.setdefault(dependency, []).append(unit)
            edges += 1
        for dependency in follows:
            self._followed_by.setdefault(dependency, []).append(unit)
            edges += 1
        self._waiting[unit] = edges
        if edges == 0:
            self.make_ready(unit)

    def make_ready(self, unit: str) -> None:
        """Put a unit among the ready ones, whatever it waited for."""
        self._waiting.pop(unit, None)
        if unit in self._is_ready:
            return
        self._is_ready.add(unit)
        heapq.heappush(self._ready, (unit_sort_key(unit), unit))

    def take_ready(self) -> list[str]:
        """Return all ready units in id order and forget them."""
        self._is_ready.clear()
        return [heapq.heappop(self._ready)[1] for _ in range(len(self._ready))]

    def succeeded(self, unit: str) -> None:
        """Count down what waits for `unit`."""
        self._count_down(self._needed_by.pop(unit, ()))
        self._count_down(self._followed_by.pop(unit, ()))

    def did_not_succeed(self, unit: str) -> list[str]:
        """Return every unit that can't start any more because `unit` did not succeed, nearest first.

        What only follows it goes on.
        """
        blocked: list[str] = []
        queue = [unit]
        while queue:
            ended = queue.pop(0)
            self._count_down(self._followed_by.pop(ended, ()))
            for dependent in self._needed_by.pop(ended, ()):
                if self._waiting.pop(dependent, None) is not None:
                    blocked.append(dependent)
                    queue.append(dependent)
        return blocked

    def _count_down(self, dependents: Iterable[str]) -> None:
        for dependent in dependents:
            if dependent in self._waiting:
                self._waiting[dependent] -= 1
                if self._waiting[dependent] == 0:
                    self.make_ready(dependent)

    @property
    def idle(self) -> bool:
        """Nothing is ready."""
        return not self._ready


def transitive_dependencies(units: Mapping[str, Mapping[str, object]], unit: str) -> list[str]:
    """Return all units below `unit` in dependency order's id order, children of split parents included.

    A child inherits what its parent depends on; `units` are the rows of state.json.
    """
    seen: set[str] = set()
    stack = list(_direct(units, unit))
    while stack:
        dependency = stack.pop()
        if dependency in seen or dependency not in units:
            continue
        seen.add(dependency)
        stack += _direct(units, dependency)
        stack += _sequence(units[dependency].get("children"))
    return sorted(seen, key=unit_sort_key)


def _direct(units: Mapping[str, Mapping[str, object]], unit: str) -> list[str]:
    row = units[unit]
    found = _sequence(row.get("deps")) + _sequence(row.get("after"))
    parent = row.get("parent")
    if isinstance(parent, str):
        found += _direct(units, parent)
    return found


def _sequence(value: object) -> list[str]:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
