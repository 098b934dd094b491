"""Which unit may start: against a simple model, for any graph and any results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autopilot.scheduling import Schedule, transitive_dependencies

graphs = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        *(
            st.tuples(
                st.sets(st.integers(1, max(1, i - 1))), st.sets(st.integers(1, max(1, i - 1))), st.booleans()
            )
            for i in range(1, n + 1)
        )
    )
)


@given(graphs)
def test_units_start_exactly_when_the_model_says(spec: tuple[tuple[set[int], set[int], bool], ...]) -> None:
    """A unit starts once, after all it needs succeeded and all it follows ended; what can't start is blocked."""
    needs = {str(i): {str(d) for d in n if d < i} for i, (n, _, _) in enumerate(spec, start=1)}
    follows = {
        str(i): {str(d) for d in f if d < i} - needs[str(i)] for i, (_, f, _) in enumerate(spec, start=1)
    }
    succeeds = {str(i): ok for i, (_, _, ok) in enumerate(spec, start=1)}
    schedule = Schedule()
    for unit in needs:
        schedule.add(unit, needs[unit], follows[unit])
    started: list[str] = []
    blocked: set[str] = set()

    while ready := schedule.take_ready():
        for unit in ready:
            assert unit not in started
            assert all(other in started and succeeds[other] for other in needs[unit])
            started.append(unit)
        for unit in ready:
            if succeeds[unit]:
                schedule.succeeded(unit)
            else:
                blocked |= set(schedule.did_not_succeed(unit))

    assert set(started) | blocked == set(needs)
    assert not set(started) & blocked


def test_transitive_dependencies_are_in_id_order_with_children() -> None:
    """A unit's base is merged from all it rests on, split parents' children included, in numerical order."""
    units: dict[str, dict[str, object]] = {
        "2": {"deps": [], "children": ["2a", "2b"], "parent": None},
        "2a": {"deps": [], "children": [], "parent": "2"},
        "2b": {"deps": ["2a"], "children": [], "parent": "2"},
        "10": {"deps": ["2"], "children": [], "parent": None},
        "11": {"deps": ["10"], "children": [], "parent": None},
    }

    assert transitive_dependencies(units, "11") == ["2", "2a", "2b", "10"]
    assert transitive_dependencies(units, "2b") == ["2a"]
