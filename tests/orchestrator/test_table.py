"""Tables fit any terminal and can't act on it."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot.table import (
    COMPLETION_COLUMNS,
    STATUS_COLUMNS,
    completion_rows,
    display_width,
    fit,
    printable,
    render,
    status_rows,
)

Document = dict[str, Any]
ANY_TEXT = st.text(st.characters(), max_size=60)


def test_completion_table_holds_every_column_at_96(sample: Document) -> None:
    """The drawing of the documentation, word for word in its columns."""
    lines = render(COMPLETION_COLUMNS, completion_rows(sample), width=110)
    assert [column.title for column in COMPLETION_COLUMNS] == [
        "Phase", "Result", "Score", "Split", "Tests", "Ctx", "Cost", "Time", "Commit / reason",
    ]  # fmt: skip
    assert all(column.title in lines[0] for column in COMPLETION_COLUMNS)
    assert lines[2].split() == [
        "18",
        "API",
        "pagination",
        "verified",
        "9.6",
        "-",
        "+14",
        "31%",
        "$0.84",
        "11:02",
        "4f2c1a9",
    ]
    assert lines[4].startswith("  20a login copy")


def test_parent_shows_the_minimum_and_its_childrens_cost(sample: Document) -> None:
    """A parent whose child fell short says `min`, and takes its children's money and time in."""
    parent = completion_rows(sample)[1]
    assert parent[0] == "20 UAT fixes"
    assert parent[2:4] == ("min 4.0", "3: 20a-20c")
    assert parent[6:8] == ("$1.11", "21:14")


def test_child_says_whose_part_it_is(sample: Document) -> None:
    """A sub-phase names its parent in the Split column; what is red is counted."""
    below = completion_rows(sample)[3]
    assert below[1] == "below"
    assert below[3] == "of 20"
    assert below[4] == "+2 1 red"
    assert below[8] == "test_empty.py::test_cta red"


def test_a_stopped_run_has_nothing_at_work(tmp_path: Path, scribe: Any) -> None:
    """What was running when the run stopped is called stopped, not running."""
    writer = scribe(tmp_path / "beef")
    writer.phases(p1="one", p2="two")
    writer.start("1")
    writer.stop(reason="terminated", exit_code=143)
    document = writer.close()
    assert [row[1] for row in completion_rows(document)] == ["stopped", "waiting"]
    assert [row[1] for row in status_rows(document)] == ["stopped", "waiting"]


def test_cost_is_a_dash_where_the_provider_has_no_price(sample: Document) -> None:
    """Nothing was paid and nothing was measured are different things."""
    sample["run"]["cost_known"] = False
    for row in sample["units"].values():
        row["usage"] = None
    assert {row[6] for row in completion_rows(sample)} == {"-"}


@pytest.mark.parametrize("width", [20, 40, 60, 80, 96, 120])
def test_no_line_is_wider_than_the_terminal(sample: Document, width: int) -> None:
    """At any width every line fits, and phase and result can be read."""
    for columns, rows in (
        (COMPLETION_COLUMNS, completion_rows(sample)),
        (STATUS_COLUMNS, status_rows(sample)),
    ):
        lines = render(columns, rows, width=width)
        assert max(map(display_width, lines)) <= width
        assert len(lines) == 2 + len(rows)
        assert lines[2].startswith("18 API")
        assert "verified" in lines[2]


def test_columns_leave_in_the_documented_order(sample: Document) -> None:
    """Ctx goes first, then Cost, Time, Split, Tests, the reason and the score."""
    rows = completion_rows(sample)
    gone: list[str] = []
    for width in range(120, 20, -1):
        titles = render(COMPLETION_COLUMNS, rows, width=width)[0]
        for title in ("Ctx", "Cost", "Time", "Split", "Tests", "Commit", "Score"):
            if title not in titles and title not in gone:
                gone.append(title)
    assert gone == ["Ctx", "Cost", "Time", "Split", "Tests", "Commit", "Score"]


@given(ANY_TEXT)
def test_no_text_can_act_on_a_terminal(text: str) -> None:
    """Control, bidi and invisible characters never get through."""
    assert all(char.isprintable() or unicodedata.category(char) == "Zs" for char in printable(text))
    assert not set(printable(text)) & set("\x1b\x07\r\n\x9b\u202e\u200b\u2066")


@given(ANY_TEXT, st.integers(1, 40))
def test_cut_text_fits_its_cells(text: str, width: int) -> None:
    """Wide and combining characters count as what they take."""
    assert display_width(fit(printable(text), width)) <= width


@settings(max_examples=50)
@given(st.lists(st.tuples(*[ANY_TEXT] * 9), min_size=1, max_size=4), st.integers(1, 130))
def test_any_rows_fit_any_width(rows: list[tuple[str, ...]], width: int) -> None:
    """Whatever a roadmap calls its phases, the table keeps its bounds."""
    assert max(map(display_width, render(COMPLETION_COLUMNS, rows, width=width))) <= width
