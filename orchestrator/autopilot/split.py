"""The split contract, checked mechanically: the manager reads ids, counts and globs, never a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from autopilot_state.ids import UnitId, child_id, split_depth
from autopilot_state.models import SplitRequest


@dataclass(frozen=True)
class SplitLimits:
    """Bounds of one run: how wide and how deep a split may be, and whether it may be at all."""

    enabled: bool = True
    max_children: int = 26
    max_depth: int = 3


@dataclass(frozen=True)
class ParentItems:
    """The ids that a parent has open: each must be in one child, or kept."""

    criteria: frozenset[str]
    issues: frozenset[str]
    checks: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.criteria | self.issues | self.checks


def contract_breach(
    parent: str, items: ParentItems, request: SplitRequest, limits: SplitLimits
) -> str | None:
    """Return what is wrong with a split request, in one line for the phase runner, or None when it holds."""
    rules: Sequence[Callable[[], str | None]] = (
        lambda: _bounds(parent, request, limits),
        lambda: _names(request),
        lambda: _coverage(items, request),
        lambda: _checks(request),
        lambda: _not_equal(items, request),
        lambda: _cycle(request),
    )
    return next((breach for rule in rules if (breach := rule()) is not None), None)


def _bounds(parent: str, request: SplitRequest, limits: SplitLimits) -> str | None:
    if not limits.enabled:
        return "splitting is off for this run"
    if split_depth(parent) + 1 > limits.max_depth:
        return f"unit {parent} is {split_depth(parent)} levels deep, at most {limits.max_depth} are allowed"
    if not 2 <= len(request.sub_phases) <= limits.max_children:
        return f"{len(request.sub_phases)} sub-phases; between 2 and {limits.max_children} are allowed"
    return None


def _names(request: SplitRequest) -> str | None:
    counts = Counter(child.name.casefold() for child in request.sub_phases)
    twice = [name for name, count in counts.items() if count > 1]
    return f"two sub-phases are named {twice[0]!r}" if twice else None


def _coverage(items: ParentItems, request: SplitRequest) -> str | None:
    counts = Counter(_all_ids(request))
    unknown = sorted(set(counts) - items.all)
    if unknown:
        return f"{unknown[0]} is no item of the parent"
    missing = sorted(items.all - set(counts))
    if missing:
        return f"{missing[0]} is in no sub-phase and not kept"
    twice = sorted(item for item, count in counts.items() if count > 1)
    return f"{twice[0]} is in more than one place" if twice else None


def _all_ids(request: SplitRequest) -> Iterable[str]:
    yield from request.kept
    for child in request.sub_phases:
        yield from (*child.criteria, *child.issues, *child.checks)


def _checks(request: SplitRequest) -> str | None:
    bare = [child.name for child in request.sub_phases if child.own_checks + len(child.checks) == 0]
    return f"sub-phase {bare[0]!r} has no check of its own" if bare else None


def _not_equal(items: ParentItems, request: SplitRequest) -> str | None:
    for child in request.sub_phases:
        if items.all and items.all == set((*child.criteria, *child.issues, *child.checks)):
            return f"sub-phase {child.name!r} is the whole parent"
    return None


def _cycle(request: SplitRequest) -> str | None:
    count = len(request.sub_phases)
    edges = {index: set(child.depends_on) for index, child in enumerate(request.sub_phases)}
    if any(not 0 <= other < count or other == index for index, others in edges.items() for other in others):
        return "depends_on names a sub-phase that does not exist, or itself"
    return None if topological(edges) is not None else "the sub-phases depend on each other in a circle"


def topological(edges: dict[int, set[int]]) -> list[int] | None:
    """Return the indices so that each comes after what it depends on, lowest first; None for a circle."""
    left = {index: set(others) for index, others in edges.items()}
    order: list[int] = []
    while left:
        free = sorted(index for index, others in left.items() if not others)
        if not free:
            return None
        order.append(free[0])
        del left[free[0]]
        for others in left.values():
            others.discard(free[0])
    return order


def child_ids(parent: str, request: SplitRequest) -> list[str]:
    """Return the ids of the children, in the request's order."""
    return [child_id(UnitId(parent), index) for index in range(len(request.sub_phases))]


def child_edges(request: SplitRequest, base_files: Sequence[str]) -> list[set[int]]:
    """Return for each child the children it waits for: what it asked for, and those whose touches overlap.

    Overlapping children get an edge in topological, then id, order. `base_files` are the paths of the base tree.
    """
    edges = {index: set(child.depends_on) for index, child in enumerate(request.sub_phases)}
    order = topological(edges) or list(edges)
    matched = [_matching(child.files, base_files) for child in request.sub_phases]
    for position, later in enumerate(order):
        for earlier in order[:position]:
            if overlaps(
                request.sub_phases[earlier].files,
                request.sub_phases[later].files,
                matched[earlier],
                matched[later],
            ):
                edges[later].add(earlier)
    return [edges[index] for index in sorted(edges)]


def overlaps(one: Sequence[str], other: Sequence[str], one_files: set[str], other_files: set[str]) -> bool:
    """Say whether two sets of touches meet: a shared file of the base tree, or one literal prefix inside the other.

    No globs at all means everything.
    """
    if not one or not other or one_files & other_files:
        return True
    return any(
        _literal(a).startswith(_literal(b)) or _literal(b).startswith(_literal(a))
        for a in one
        for b in other
        if _is_glob(a) or _is_glob(b)
    ) or bool(set(one) & set(other))


def _is_glob(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


def _literal(pattern: str) -> str:
    """Return the part of a glob before its first wildcard."""
    for index, mark in enumerate(pattern):
        if mark in "*?[":
            return pattern[:index]
    return pattern


def _matching(globs: Sequence[str], files: Sequence[str]) -> set[str]:
    return {path for path in files if any(glob_matches(glob, path) for glob in globs)}


def glob_matches(pattern: str, path: str) -> bool:
    """Match one glob: `**` crosses folders, `*` and `?` don't, and a bare folder means all below it."""
    if not _is_glob(pattern):
        return path == pattern or path.startswith(pattern.rstrip("/") + "/")
    out: list[str] = []
    index = 0
    while index < len(pattern):
        if pattern.startswith("**/", index):
            out.append("(?:.*/)?")
            index += 3
        elif pattern.startswith("**", index):
            out.append(".*")
            index += 2
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[index], re.escape(pattern[index])))
            index += 1
    return re.fullmatch("".join(out), path) is not None


def child_edges_notice(edges: Sequence[set[int]]) -> bool:
    """Say whether all children run one after the other, so that the notice must not promise parallel work."""
    return (
        len(edges) > 1
        and sum(1 for before in edges if not before) == 1
        and all(len(before) == index for index, before in enumerate(sorted(edges, key=len)))
    )
