"""The split contract: every rule refuses what it is for, and lets a sound request pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.split import (
    ParentItems,
    SplitLimits,
    child_edges,
    child_edges_notice,
    child_ids,
    contract_breach,
    glob_matches,
    topological,
)
from autopilot_state.models import ArtifactRef, SplitRequest, SubPhase

ITEMS = ParentItems(frozenset({"20.c1"}), frozenset({"20.i1", "20.i2"}), frozenset({"20.k1"}))


def part(name: str, *issues: str, checks: int = 1, **more: Any) -> SubPhase:
    return SubPhase(name=name, issues=issues, own_checks=checks, **more)


def request(*parts: SubPhase, kept: tuple[str, ...] = ("20.c1", "20.k1")) -> SplitRequest:
    return SplitRequest(
        reason="issues", sub_phases=parts, kept=kept, original_issue_count=2,
        contracts=ArtifactRef(path="x", sha256="y"),
    )  # fmt: skip


def breach(asked: SplitRequest, limits: SplitLimits | None = None, parent: str = "20") -> str | None:
    return contract_breach(parent, ITEMS, asked, limits or SplitLimits())


def test_a_sound_request_holds() -> None:
    """Every open item in exactly one place, unique names, checks of their own: nothing to say."""
    assert breach(request(part("a", "20.i1"), part("b", "20.i2"))) is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (request(part("a", "20.i1"), part("A", "20.i2")), "two sub-phases are named"),
        (request(part("a", "20.i1"), part("b")), "20.i2 is in no sub-phase and not kept"),
        (request(part("a", "20.i1"), part("b", "20.i1", "20.i2")), "20.i1 is in more than one place"),
        (request(part("a", "20.i1"), part("b", "20.i2", "20.i9")), "20.i9 is no item of the parent"),
        (request(part("a", "20.i1"), part("b", "20.i2", checks=0)), "'b' has no check of its own"),
        (request(part("a", "20.i1")), "between 2 and 26"),
        (request(part("a", "20.i1", depends_on=(1,)), part("b", "20.i2", depends_on=(0,))), "in a circle"),
        (request(part("a", "20.i1", depends_on=(0,)), part("b", "20.i2")), "does not exist, or itself"),
    ],
)
def test_each_breach_is_named(asked: SplitRequest, words: str) -> None:
    """A request that breaks one rule goes back with that rule."""
    assert words in (breach(asked) or "")


def test_a_child_may_not_be_the_whole_parent() -> None:
    """A split that only renames the parent would go on for ever."""
    whole = SubPhase(name="all", criteria=("20.c1",), issues=("20.i1", "20.i2"), checks=("20.k1",))
    assert "is the whole parent" in (breach(request(whole, part("b", checks=1), kept=())) or "")


def test_width_and_depth_are_bounded() -> None:
    """A 27th child and a fourth level are refused."""
    many = (*tuple(part(f"p{n}") for n in range(25)), part("x", "20.i1"), part("y", "20.i2"))
    assert "27 sub-phases" in (breach(request(*many)) or "")
    two = request(part("a", "20.i1"), part("b", "20.i2"))
    assert "3 levels deep" in (breach(two, parent="20a1a") or "")
    assert "splitting is off" in (breach(two, SplitLimits(enabled=False)) or "")


def test_ids_of_children_alternate_letters_and_numbers() -> None:
    """20 → 20a, 20b; 20a → 20a1, 20a2."""
    two = request(part("a", "20.i1"), part("b", "20.i2"))
    assert child_ids("20", two) == ["20a", "20b"]
    assert child_ids("20a", two) == ["20a1", "20a2"]


def test_children_are_ordered_only_where_their_touches_meet() -> None:
    """A shared file or a glob inside another's prefix gives an edge; disjoint touches give none; none means all."""
    files = ["src/a.py", "src/b.py", "docs/x.md"]
    apart = request(part("a", files=("src/a.py",)), part("b", files=("src/b.py",)))
    assert child_edges(apart, files) == [set(), set()]
    shared = request(part("a", files=("src/*.py",)), part("b", files=("src/b.py",)))
    assert child_edges(shared, files) == [set(), {0}]
    prefix = request(part("a", files=("new/**",)), part("b", files=("new/deep/*.py",)))
    assert child_edges(prefix, files) == [set(), {0}]
    unlimited = request(part("a"), part("b", files=("src/b.py",)))
    assert child_edges(unlimited, files) == [set(), {0}]
    assert child_edges_notice(child_edges(unlimited, files))
    assert not child_edges_notice(child_edges(apart, files))


def test_a_later_child_that_another_depends_on_comes_first() -> None:
    """Overlap edges follow the declared order, so they never make a circle with it."""
    asked = request(part("a", files=("x.py",), depends_on=(1,)), part("b", files=("x.py",)))
    assert child_edges(asked, ["x.py"]) == [{1}, set()]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/deep/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src", "src/deep/a.py", True),
        ("src", "src2/a.py", False),
        ("a?.py", "ab.py", True),
        ("**/test_*.py", "tests/unit/test_a.py", True),
    ],
)
def test_globs(pattern: str, path: str, expected: bool) -> None:
    """`*` stays within a folder, `**` crosses folders, a bare folder means everything below it."""
    assert glob_matches(pattern, path) is expected


@given(st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 7)), min_size=1))
def test_a_topological_order_puts_dependencies_first(graph: dict[int, set[int]]) -> None:
    """Where there is an order, each index comes after all that it depends on."""
    edges = {node: {other for other in others if other in graph} for node, others in graph.items()}

    order = topological(edges)

    if order is not None:
        assert sorted(order) == sorted(edges)
        assert all(
            order.index(other) < order.index(node) for node, others in edges.items() for other in others
        )
