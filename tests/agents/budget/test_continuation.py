"""What is kept of a cut answer, and what is asked for next."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot_agents.budget.continuation import (
    ask_for_rest,
    has_ended,
    is_edit_answer,
    join_parts,
    next_budget,
)
from autopilot_agents.edits.ndjson import parse_answer

END = '{"type":"end"}\n'


def meta(total: int | None) -> str:
    return json.dumps({"type": "meta", "summary": "s", "total_operations": total}) + "\n"


def create(number: int, content: str = "x\n") -> str:
    return json.dumps({"type": "create", "file_path": f"f{number}.py", "content": content}) + "\n"


def test_only_complete_lines_of_a_cut_answer_are_kept() -> None:
    """A line without its newline was never written, even where it would parse."""
    assert join_parts("", meta(2) + create(1) + create(2).rstrip("\n"), whole=False) == meta(2) + create(1)


def test_the_request_for_the_rest_names_what_is_done() -> None:
    """Index, type and path of each; what was refused counts as sent, and says so."""
    asked = ask_for_rest(meta(5) + create(1) + '{"type":"nonsense"}\n' + create(3))
    assert "3 of 5 done, go on with operation 4." in asked
    assert "\n1 create f1.py\n2 (not usable: " in asked
    assert "\n3 create f3.py\n" in asked


def test_without_a_total_the_request_has_none() -> None:
    """An answer without its announcement can be continued too."""
    assert "1 done, go on with operation 2." in ask_for_rest(create(1))
    assert "0 of 4 done, go on with operation 1." in ask_for_rest(meta(4))


def test_a_repeated_meta_line_is_dropped() -> None:
    """It would announce the number of what remains as the number of all."""
    kept = meta(3) + create(1)
    joined = join_parts(kept, meta(2) + create(2) + create(3) + END, whole=True)
    assert joined == kept + create(2) + create(3) + END


@pytest.mark.parametrize("again", [1, 2, 3])
def test_operations_that_are_sent_again_are_dropped(again: int) -> None:
    """A model that goes back a few steps, or to the beginning, changes nothing twice."""
    kept = meta(4) + create(1) + create(2) + create(3)
    repeated = "".join(create(n) for n in range(4 - again, 4))
    assert join_parts(kept, repeated + create(4) + END, whole=True) == kept + create(4) + END


def test_an_operation_that_is_meant_twice_stays_when_the_total_says_so() -> None:
    """Two equal operations in a row are what the model announced."""
    kept = meta(3) + create(1) + create(2)
    assert join_parts(kept, create(2) + END, whole=True) == kept + create(2) + END


def test_going_back_is_seen_in_a_part_that_was_cut_too() -> None:
    """A whole restart that is cut again repeats at least its first operations."""
    kept = meta(9) + create(1) + create(2)
    part = meta(9) + create(1) + create(2) + create(3) + '{"type":"cre'
    assert join_parts(kept, part, whole=False) == kept + create(3)


def test_the_last_line_of_a_whole_answer_needs_no_newline() -> None:
    """Models often leave out the last newline."""
    kept = meta(2) + create(1)
    assert join_parts(kept, create(2) + END.strip(), whole=True) == kept + create(2) + END.strip()


def test_a_step_back_is_seen_without_a_meta_line() -> None:
    """Two equal operations in a row are no coincidence, though the total would have room for them."""
    kept = meta(9) + create(1) + create(2)
    part = create(1) + create(2) + create(3) + '{"type":"cre'
    assert join_parts(kept, part, whole=False) == kept + create(3)


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (meta(1), True),
        (create(1), True),
        ("Here it is:\n```\n" + create(1), True),
        ('{"deliverables": []}\n', False),
        ('{\n "type": "meta"\n', False),
        ("I will look first.\n", False),
        (meta(1).strip(), False),
        ("", False),
    ],
)
def test_only_an_edit_set_can_be_continued(text: str, edit: bool) -> None:
    """One JSON document, or prose, has no part that stands for itself."""
    assert is_edit_answer(text) is edit


def test_after_the_end_line_nothing_is_missing() -> None:
    """A cut behind the end loses nothing."""
    assert has_ended(meta(1) + create(1) + END)
    assert not has_ended(meta(1) + create(1) + END.strip())


@pytest.mark.parametrize(
    ("now", "limit", "then"), [(8192, 64_000, 12_288), (60_000, 64_000, 64_000), (64_000, 64_000, 64_000)]
)
def test_the_room_grows_by_half_up_to_the_limit(now: int, limit: int, then: int) -> None:
    """And never shrinks."""
    assert next_budget(now, limit) == then


contents = st.lists(st.text(max_size=40), min_size=1, max_size=8)


@given(contents, st.data())
def test_no_cut_loses_duplicates_or_invents_an_operation(contents: list[str], data: st.DataObject) -> None:
    """Wherever an answer is cut, and wherever its continuations are, the joined set is the set that was meant.

    The model behind this is honest: it goes on with the operation that it is asked for, and may repeat its meta line.
    """
    lines = [create(number, text) for number, text in enumerate(contents)]
    kept = ""
    for _ in range(4):
        done = len(parse_answer(kept).operations)
        head = meta(len(lines)) if not kept or data.draw(st.booleans()) else ""
        rest = (head + "".join(lines[done:]) + END).encode()
        cut = data.draw(st.integers(0, len(rest) - 1))
        part = rest[:cut].decode(errors="ignore")
        kept = join_parts(kept, part, whole=False)
        got = list(parse_answer(kept).raw_lines)
        assert got == [line.strip() for line in lines[: len(got)]]
        assert len(got) >= done
    done = len(parse_answer(kept).operations)
    head = "" if kept else meta(len(lines))
    whole = parse_answer(join_parts(kept, head + "".join(lines[done:]) + END, whole=True), final=True)
    assert list(whole.raw_lines) == [line.strip() for line in lines]
    assert (whole.total, whole.cut, whole.rejected) == (len(lines), False, ())
