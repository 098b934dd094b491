"""The order of phases: ids as numbers, dependencies first, cycles refused."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence

from autopilot_playbooks.errors import RoadmapError
from autopilot_playbooks.schema import Phase

MAX_ID_LENGTH = 16
"""Leaves room for the letters of sub-phases in a unit's id."""

_ID = re.compile(r"[0-9]+(?:\.[0-9]+)*\Z")


def is_phase_id(text: str) -> bool:
    """Say whether `text` is the id of a phase: `3`, `6.1`."""
    return len(text) <= MAX_ID_LENGTH and _ID.match(text) is not None


def id_key(phase: str) -> tuple[int, ...]:
    """Return the numbers of an id, for order and equality: 2 < 2.1 < 10, and 02 is 2."""
    return tuple(int(part) for part in phase.split("."))


def dependency_order(phases: Iterable[Phase]) -> tuple[str, ...]:
    """Return all ids, dependencies first, else by number. Dependencies outside of `phases` are passed over.

    Raises:
        RoadmapError: AP209, the phases wait for each other.
    """
    depends_on = {phase.id: phase.depends_on for phase in phases}
    cycle = find_cycle(depends_on)
    if cycle:
        raise RoadmapError(
            "AP209",
            f"phases wait for each other: {' -> '.join(cycle)}",
            fix="remove one of these dependencies",
        )
    return _topological(depends_on)


def _topological(depends_on: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    waits = {phase: len({d for d in needs if d in depends_on}) for phase, needs in depends_on.items()}
    dependents: dict[str, list[str]] = {phase: [] for phase in depends_on}
    for phase, needs in depends_on.items():
        for needed in {d for d in needs if d in depends_on}:
            dependents[needed].append(phase)
    ready = [(id_key(phase), phase) for phase, count in waits.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, phase = heapq.heappop(ready)
        order.append(phase)
        for dependent in dependents[phase]:
            waits[dependent] -= 1
            if waits[dependent] == 0:
                heapq.heappush(ready, (id_key(dependent), dependent))
    return tuple(order)


def find_cycle(depends_on: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return a cycle as 3, 5, 3 (each depends on the next, the smallest id first), or nothing."""
    finished: set[str] = set()
    for start in depends_on:
        path: list[str] = []
        position: dict[str, int] = {}
        stack = [(start, False)]
        while stack:  # a loop, because a chain of 10,000 phases is deeper than the call stack
            phase, leaving = stack.pop()
            if leaving:
                finished.add(phase)
                del position[path.pop()]
            elif phase in position:
                return _from_smallest(path[position[phase] :])
            elif phase not in finished and phase in depends_on:
                position[phase] = len(path)
                path.append(phase)
                stack.append((phase, True))
                stack.extend((needed, False) for needed in depends_on[phase])
    return ()


def _from_smallest(cycle: list[str]) -> tuple[str, ...]:
    first = cycle.index(min(cycle, key=id_key))
    turned = cycle[first:] + cycle[:first]
    return (*turned, turned[0])
