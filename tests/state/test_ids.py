"""Ids of units: their form, their children and their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot_state.ids import (
    MAX_UNIT_ID_LENGTH,
    child_id,
    is_unit_id,
    new_run_id,
    split_depth,
    unit_sort_key,
)

PHASES = st.lists(st.integers(0, 40), min_size=1, max_size=3).map(lambda numbers: ".".join(map(str, numbers)))
SPLITS = st.lists(st.integers(0, 25), max_size=4)


def descend(unit, path):
    for index in path:
        unit = child_id(unit, index)
    return unit


@pytest.mark.parametrize("text", ["20", "6.1", "0", "20a", "20a1", "20a1a", "6.1b12c", "1.2.3z"])
def test_ids_of_phases_and_sub_phases_are_ids(text):
    """The forms that the documents name are accepted."""
    assert is_unit_id(text)


@pytest.mark.parametrize(
    "text",
    ["", "a", "20A", "20aa", "20a.1", ".1", "1.", "1..2", "20 ", "20\n", "-1", "../1", "٣", "２０", "1" * (MAX_UNIT_ID_LENGTH + 1)],
)  # fmt: skip
def test_other_texts_are_no_ids(text):
    """What could be a path, an option or a look-alike is refused."""
    assert not is_unit_id(text)


def test_children_alternate_letters_and_numbers():
    """20 → 20a → 20a1 → 20a1a, and each level counts as one split."""
    assert [descend("20", path) for path in ([0], [25], [0, 0], [0, 11], [0, 0, 1])] == [
        "20a", "20z", "20a1", "20a12", "20a1b",
    ]  # fmt: skip
    assert [split_depth(unit) for unit in ("20", "6.1", "20a", "6.1z", "20a12", "20a1b")] == [
        0,
        0,
        1,
        1,
        2,
        3,
    ]
    with pytest.raises(ValueError, match="26"):
        child_id("20", 26)


@given(PHASES, SPLITS)
def test_a_child_is_an_id_one_level_deeper(phase, path):
    """Every child of a unit is a unit id, and its depth is the number of splits above it."""
    unit = descend(phase, path)
    assert split_depth(unit) == len(path)
    assert is_unit_id(unit) == (len(unit) <= MAX_UNIT_ID_LENGTH)


@given(st.sets(st.tuples(PHASES, SPLITS.map(tuple)), min_size=2, max_size=12))
def test_children_sort_after_their_parent_and_before_its_next_sibling(places):
    """Sorting by the key is sorting by the place in the tree: numerically, children directly after their parent."""
    by_tree = sorted(places, key=lambda place: ([int(part) for part in place[0].split(".")], place[1]))
    units = [descend(phase, path) for phase, path in by_tree]
    assert sorted(reversed(units), key=unit_sort_key) == units


def test_the_order_is_the_one_that_people_count_in():
    """10 comes after 2, and a phase that was inserted after 6 comes after the children of 6."""
    order = [
        "2",
        "6",
        "6a",
        "6a1",
        "6a2",
        "6a10",
        "6b",
        "6.1",
        "6.1a",
        "6.2",
        "7",
        "10",
        "10a",
        "10a1",
        "10b",
    ]
    assert sorted(reversed(order), key=unit_sort_key) == order


def test_run_ids_are_hex():
    """A run id is four hex digits."""
    assert all(len(run) == 4 and int(run, 16) >= 0 for run in (new_run_id() for _ in range(50)))
