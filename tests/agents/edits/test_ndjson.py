"""An answer is what of it is complete: nothing lost, nothing invented, nothing repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot_agents.edits import ndjson
from autopilot_agents.edits.ndjson import parse_answer


def op(**fields: Any) -> dict[str, Any]:
    return {"type": "create", "file_path": "a.py", "content": "x\n", **fields}


def answer(*objects: object, end: str = "\n", ascii_only: bool = False) -> str:
    return "".join(json.dumps(o, ensure_ascii=ascii_only) + end for o in objects)


def with_frame(*operations: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "meta", "summary": "s", "total_operations": len(operations)},
        *operations,
        {"type": "end"},
    ]


REPLACE = {
    "type": "replace",
    "file_path": "b.py",
    "start_line": 1,
    "end_line": 2,
    "content": "def f():\n    return 'é 𝄞'\n",
}
TEXT = {
    "type": "replace_text",
    "file_path": "ü/c.py",
    "old_text": 'a "q" \\ b',
    "new_text": '{"type":"end"}\n',
}
MODIFY = {
    "type": "modify",
    "file_path": "d.py",
    "operations": [
        {"type": "insert", "line": 3, "content": "x\n"},
        {"type": "delete", "start_line": 5, "end_line": 6},
    ],
}
RENAME = {"type": "rename", "file_path": "e.py", "new_path": "f.py"}
ANCHOR = {"type": "insert_after", "file_path": "g.py", "anchor": "def g():", "content": "    '''{}[]\"'''\n"}

SAMPLES = [
    answer(*with_frame(op())),
    answer(*with_frame(op(content="a\n" * 20), REPLACE)),
    answer(*with_frame(TEXT, op(content="𝄞é"))),
    answer(*with_frame(TEXT, op(content="𝄞é\ud7ff")), ascii_only=True),
    answer(*with_frame(MODIFY, RENAME)),
    answer(op(), op(file_path="b.py")),
    answer(*with_frame(ANCHOR, {"type": "delete_file", "file_path": "h.py"})),
    "Here are the edits.\n```json\n" + answer(*with_frame(op(), RENAME)) + "```\n",
    answer(*with_frame()),
    "\n\n" + answer(*with_frame(op(content="\u2028\x0b\x0c\x85"))) + "\n",
    answer(
        *with_frame(
            {"type": "append", "file_path": "a", "content": "1\n"},
            {"type": "prepend", "file_path": "a", "content": "0\n"},
        )
    ),
    answer(*with_frame({"type": "delete", "file_path": "a.py", "symbol": "A.b"}, op(content=""))),
]


@pytest.mark.parametrize("eol", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("sample", SAMPLES, ids=range(len(SAMPLES)))
def test_G1_G2_cut_at_every_byte(sample: str, eol: str) -> None:
    """However an answer is cut, also inside a character, its complete operations come out, and no other."""
    whole = sample.replace("\n", eol).encode()
    full = parse_answer(whole.decode())
    assert full.ended or "end" not in sample
    assert not full.cut
    operation_ends = [
        sum(map(len, lines[: i + 1]))
        for lines in [whole.splitlines(keepends=True)]
        for i, line in enumerate(lines)
        if line.decode().rstrip("\r\n") in full.raw_lines
    ]
    assert len(operation_ends) == len(full.operations)
    for cut in range(len(whole) + 1):
        text = whole[:cut].decode(errors="replace")
        complete = sum(end <= cut for end in operation_ends)
        parsed = parse_answer(text)
        assert parsed.operations == full.operations[:complete]
        assert parsed.raw_lines == full.raw_lines[:complete]
        if full.total is not None and complete < full.total and parsed.total is not None:
            assert parsed.cut


@pytest.mark.parametrize("sample", SAMPLES, ids=range(len(SAMPLES)))
def test_G1_a_cut_and_its_continuation_are_the_whole(sample: str) -> None:
    """What was complete before a cut, and what is then asked for, add up to the answer."""
    full = parse_answer(sample)
    for cut in range(0, len(sample), 7):
        first = parse_answer(sample[:cut])
        rest = "".join(line + "\n" for line in full.raw_lines[len(first.raw_lines) :])
        assert first.operations + parse_answer(rest).operations == full.operations


def test_a_last_line_without_newline_counts_only_when_the_answer_ended_by_itself() -> None:
    """The same text is a cut operation, or a whole one, by the word of who knows how the stream ended."""
    text = answer(*with_frame(op(), REPLACE)[:-1]).removesuffix("\n")
    cut = parse_answer(text)
    assert (len(cut.operations), cut.cut, cut.rejected) == (1, True, ())
    final = parse_answer(text, final=True)
    assert (len(final.operations), final.cut) == (2, False)
    torn = parse_answer(text[:-5], final=True)
    assert (len(torn.operations), torn.cut) == (1, True)
    prose = parse_answer(answer(op()) + "Done.", final=True)
    assert (len(prose.operations), prose.cut, prose.rejected[0].text) == (1, False, "Done.")


def test_fewer_than_announced_is_cut_unless_the_end_came() -> None:
    """An answer that stops between two lines is cut; one that says it ended is not."""
    lines = with_frame(op(), REPLACE, RENAME)
    assert parse_answer(answer(*lines[:-2])).cut
    ended = parse_answer(answer(*lines[:2], lines[-1]))
    assert (ended.cut, ended.ended, ended.total, ended.summary) == (False, True, 3, "s")


@pytest.mark.parametrize(
    "line",
    [
        "{'type': 'create', 'file_path': 'a', 'content': ''}",
        '{"type":"create","file_path":"a","content":"x",}',
        '{"type":"create","file_path":"a","content":"x"} // done',
        '{"type":"create","file_path":"a","content":"x"}{"type":"end"}',
        "{“type”:“create”}",
        '[{"type":"end"}]',
        '"end"',
        "null",
        "I will now edit a.py:",
        '{"type":"create","file_path":"a","content":"x\u0001"}',
        '{"type":"create","file_path":"a","file_path":"b","content":"x"}',
        '{"type":"meta","total_operations":NaN}',
        '{"type":"meta","total_operations":-1}',
        '{"type":"insert","file_path":"a","content":"x","line":Infinity}',
        '{"type":"insert","file_path":"a","content":"x","line":' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"type":"create","file_path":"a","content":' + '{"a":' * 5000 + "1" + "}" * 5000 + "}",
        '\ufeff{"type":"end"}',
    ],
    ids=lambda line: line[:40],
)
def test_G4_what_is_not_json_is_rejected_alone_and_never_repaired(line: str) -> None:
    """A line that does not parse is named with its number and reason; its neighbours are kept."""
    parsed = parse_answer(
        "```json\n" + answer(op()) + line + "\n" + answer(REPLACE, {"type": "end"}) + "```\n"
    )
    assert [o.type for o in parsed.operations] == ["create", "replace"]
    assert [(r.line_number, bool(r.reason), r.text) for r in parsed.rejected] == [(3, True, line[:300])]
    assert parsed.ended


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (op(type="chmod"), "chmod"),
        ({"file_path": "a"}, "type"),
        ({"type": "create", "file_path": "a"}, "content"),
        (op(mode=0o4755), "mode"),
        (op(content=None), "content"),
        (op(content=["x"]), "content"),
        (op(file_path=7), "file_path"),
        (op(content="\ud800"), "surrogate"),
        ({**REPLACE, "start_line": "1"}, "start_line"),
        ({**REPLACE, "start_line": 1.0}, "start_line"),
        ({**REPLACE, "start_line": True}, "start_line"),
        ({**REPLACE, "symbol": "f"}, "in their place"),
        ({"type": "delete", "file_path": "a", "start_line": 1}, "end_line"),
        ({"type": "insert_after", "file_path": "a", "content": "x"}, "anchor"),
        ({"type": "append", "file_path": "a", "content": ""}, "content"),
        ({**MODIFY, "operations": []}, "operations"),
        ({**MODIFY, "operations": [op()]}, "operations"),
        (
            {**MODIFY, "operations": [{"type": "append", "file_path": "other", "content": "x"}]},
            "another file_path",
        ),
        ({**MODIFY, "operations": "x"}, "operations"),
        (op(expected_sha256="abc"), "expected_sha256"),
        ({"type": "end", "extra": 1}, "extra"),
    ],
)
def test_G5_malformed_operations_are_rejected_with_what_is_wrong(fields: dict[str, Any], told: str) -> None:
    """An unknown kind, a missing, extra or ill-typed field: the model is told which; the others are kept."""
    parsed = parse_answer(answer(op(), fields, RENAME))
    assert [o.type for o in parsed.operations] == ["create", "rename"]
    assert len(parsed.rejected) == 1
    assert told in parsed.rejected[0].reason


def test_G5_numbers_that_no_file_has_are_operations_all_the_same() -> None:
    """A range that can't be is for the whole set to fail on, so it is not dropped here."""
    parsed = parse_answer(answer({**REPLACE, "start_line": 10**18, "end_line": -1}))
    assert len(parsed.operations) == 1


def test_operations_after_the_end_line_are_rejected() -> None:
    """A second document behind the end is not part of the set."""
    parsed = parse_answer(answer(*with_frame(op()), *with_frame(RENAME)))
    assert len(parsed.operations) == 1
    assert [r.line_number for r in parsed.rejected] == [4, 5, 6]


def test_nested_operations_inherit_the_path() -> None:
    """What stands in a modify means its file."""
    (modify,) = parse_answer(answer(MODIFY)).operations
    assert modify.type == "modify"
    assert {nested.file_path for nested in modify.operations} == {"d.py"}


def test_caps_keep_what_came_before() -> None:
    """Over a cap of operations or bytes the answer is cut there; an oversized line is rejected alone."""
    lines = [op(file_path=f"{i}.py") for i in range(ndjson.MAX_OPERATIONS + 5)]
    many = parse_answer(answer(*lines))
    assert (len(many.operations), many.cut) == (ndjson.MAX_OPERATIONS, True)
    assert "operations" in many.rejected[-1].reason
    big = op(content="x" * ndjson.MAX_LINE_BYTES)
    parsed = parse_answer(answer(op(), big, RENAME))
    assert len(parsed.operations) == 2
    assert len(parsed.rejected[0].text) < 1000
    huge = parse_answer(answer(op()) + (("é" * 9_000_000 + "\n") * 3) + answer(RENAME))
    assert (len(huge.operations), huge.cut) == (1, True)


@given(st.text(max_size=200))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    """Whatever a model says, the answer is a value, and raw lines match operations one to one."""
    for final in (False, True):
        parsed = parse_answer(text, final=final)
        assert len(parsed.raw_lines) == len(parsed.operations)
