"""PHASES, the order of phases, and the contract key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot_playbooks import (
    Phase,
    RoadmapError,
    dependency_order,
    looks_like_phases,
    parse_roadmap,
    roadmap_digest,
    select_phases,
)

ROADMAP = parse_roadmap(
    b"""
## [x] Phase 1: a
## Phase 2: b
## Phase 10: late
**Depends on**: 2
## Phase 2.1: inserted
**Depends on**: 10
## Phase 3: c
**Depends on**: 1
""",
    name="r.md",
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, ("2", "3", "10", "2.1")),
        ("all", ("2", "3", "10", "2.1")),
        ("next", ("2",)),
        ("3", ("3",)),
        ("1", ()),
        ("2-3", ("2", "3", "2.1")),
        ("1-10", ("2", "3", "10", "2.1")),
        ("2.1, 3", ("3", "2.1")),
        ("10,2,2", ("2", "10")),
        ("2b,2a1,2a,3", ("2a", "2a1", "2b", "3")),
        ("1a", ("1a",)),
        ("02", ("2",)),
    ],
)
def test_phases_are_selected_in_dependency_order(spec: str | None, expected: tuple[str, ...]) -> None:
    """Only what is outstanding, dependencies first, sub-phases in the place of their parent."""
    assert select_phases(ROADMAP, spec) == expected


@pytest.mark.parametrize(
    ("spec", "says"),
    [("4", "4"), ("2-9", "9"), ("7a", "7"), ("3-2", "backwards"), ("nxt", "nxt"), ("3,", "empty")],
)
def test_phases_that_are_not_there_are_refused(spec: str, says: str) -> None:
    """An unknown id or a word that is no selection is named, with what there is."""
    with pytest.raises(RoadmapError) as caught:
        select_phases(ROADMAP, spec)
    assert (caught.value.code, says in caught.value.what, bool(caught.value.fix)) == ("AP213", True, True)


@pytest.mark.parametrize(
    "text", ["3", "1-7", "3,5,8", "all", "next", "6.1", "20a", "20a1", "1-3, 20b", "2.1-3"]
)
def test_selections_look_like_phases(text: str) -> None:
    """The grammar of PHASES is told from file names."""
    assert looks_like_phases(text)


@pytest.mark.parametrize(
    "text", ["", "ROADMAP.md", "3.md", "phases", "3-", "a3", "20ab", "--all", "3;5", "٣"]
)
def test_other_words_do_not_look_like_phases(text: str) -> None:
    """File names, flags and digits of other scripts are not PHASES."""
    assert not looks_like_phases(text)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 2**8 - 1), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_dependencies_come_first_and_numbers_decide(bits: list[int], random: object) -> None:
    """In the order of any graph, a phase stands after its dependencies; among those that are ready the smallest does."""
    phases = [
        Phase(id=str(n), name="n", depends_on=tuple(str(k) for k in range(n) if mask >> k & 1))
        for n, mask in enumerate(bits)
    ]
    shuffled = list(phases)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    order = dependency_order(shuffled)
    needs = {phase.id: set(phase.depends_on) for phase in phases}
    for index, phase in enumerate(order):
        ready = [p for p in order[index:] if needs[p] <= set(order[:index])]
        assert phase == min(ready, key=int)


def test_a_chain_of_ten_thousand_is_ordered() -> None:
    """Depth is no limit."""
    phases = [Phase(id=str(n), name="n", depends_on=(str(n - 1),) if n else ()) for n in range(10_000)]
    assert dependency_order(reversed(phases))[-1] == "9999"


def test_dependency_order_refuses_a_cycle() -> None:
    """Phases made by hand are checked as well."""
    phases = [Phase(id="3", name="n", depends_on=("5",)), Phase(id="5", name="n", depends_on=("3",))]
    with pytest.raises(RoadmapError, match="3 -> 5 -> 3"):
        dependency_order(phases)


def test_the_contract_key_is_the_content() -> None:
    """Moving a phase in the file keeps its key; any change of what it says makes another."""
    phase = parse_roadmap(b"## Phase 1: a\n**Goal**: x\n", name="r.md").phases[0]
    moved = parse_roadmap(b"\n\n\n## Phase 1: a\n\n**Goal**: x\n", name="r.md").phases[0]
    assert phase.line != moved.line
    assert roadmap_digest(phase) == roadmap_digest(moved)
    changes = {
        "name": "b",
        "goal": "y",
        "done": True,
        "depends_on": ("2",),
        "files": ("x",),
        "category": "docs",
    }
    keys = {roadmap_digest(phase.model_copy(update={key: value})) for key, value in changes.items()}
    assert len(keys | {roadmap_digest(phase)}) == len(changes) + 1
    assert len(roadmap_digest(phase)) == 64
