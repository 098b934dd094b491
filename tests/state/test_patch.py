"""Patches: all or none, and a journal of them folds to the state that they were written from."""

from __future__ import annotations

import copy
import json

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot_state.errors import JournalDamaged, PatchRejected
from autopilot_state.journal import GENESIS, decode, encode, iterate
from autopilot_state.patch import apply_patch, diff, expect, pointer, put
from autopilot_state.store import empty_document, fold

NAMES = st.sampled_from(["a", "b", "20a", "x/y", "m~n", "", "ü", "-", "0"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6).filter(lambda text: text.isprintable()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def places(value, parts=()):
    """Return the paths of all members of `value`, each with what stands there."""
    found = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += [((*parts, key), inner), *places(inner, (*parts, key))]
    return found


def draw_operation(data, document):
    """Return a random operation that holds for `document`."""
    inside = [(parts, value) for parts, value in places(document) if parts[0] != "schema"]
    containers = [(parts, value) for parts, value in inside if isinstance(value, dict | list)]
    kind = data.draw(st.sampled_from(["add", "add", "replace", "remove"]))
    deep = [item for item in inside if len(item[0]) > 1]
    if kind == "add" or not deep:
        parts, value = data.draw(st.sampled_from(containers))
        key = data.draw(NAMES if isinstance(value, dict) else st.sampled_from([*range(len(value) + 1), "-"]))
        return put(pointer(*parts, key), data.draw(VALUES))
    parts, _ = data.draw(st.sampled_from(deep))
    if kind == "remove":
        return {"op": "remove", "path": pointer(*parts)}
    return {"op": "replace", "path": pointer(*parts), "value": data.draw(VALUES)}


def draw_patch(data, document):
    """Return a random patch that holds for `document`, and the document after it."""
    parts, value = data.draw(st.sampled_from(places(document)))
    patch, after = [expect(pointer(*parts), copy.deepcopy(value))], copy.deepcopy(document)
    for _ in range(data.draw(st.integers(0, 4))):
        operation = draw_operation(data, after)
        after = jsonpatch.apply_patch(after, [operation])
        patch.append(operation)
    return patch, after


@settings(max_examples=50)
@given(st.data())
def test_folding_the_records_gives_the_state_they_were_written_from(data):
    """The fold of the journal's bytes is the document, exactly, for any valid patches."""
    document, lines, head = empty_document(), b"", GENESIS
    for seq in range(1, data.draw(st.integers(1, 6)) + 1):
        patch, after = draw_patch(data, document)
        apply_patch(document, patch)
        assert json.dumps(document) == json.dumps(after)
        line, head = encode(seq, 1.5, "some.kind", None, patch, {}, head)
        lines += line
    records = [record for record, _ in iterate(lines)]
    assert fold(records) == document
    assert fold(records) == document, "a fold changes its records"


@settings(max_examples=50)
@given(st.data())
def test_a_patch_that_fails_leaves_the_state_as_it_was(data):
    """All or none: after a failed patch the state equals what it was, the order of its members included."""
    document = empty_document()
    apply_patch(
        document, [expect("/units", {}), put("/units/20", {"log": [1, 2, {"x": 1}], "a": {}, "b": 2})]
    )
    patch, after = draw_patch(data, document)
    failing = data.draw(
        st.sampled_from(
            [
                expect("/schema", 7),
                expect("/nowhere", None),
                put("/nowhere/at/all", 1),
                put("/order/99", 1),
                put("/order/x", 1),
                put("/schema/x", 1),
                put("", {}),
                {"op": "remove", "path": "/nowhere"},
                {"op": "replace", "path": "/nowhere", "value": 1},
                {"op": "move", "from": "/units", "path": "/order"},
                {"op": "add", "path": "/units/1"},
                {"op": "add", "path": "/~7", "value": 1},
                {"op": "add", "value": 1},
            ]
        )
    )
    if failing.get("path") == "/order/99" and len(after["order"]) >= 99:
        return
    before = json.dumps(document)
    with pytest.raises(PatchRejected):
        apply_patch(document, [*patch, failing, *patch])
    assert json.dumps(document) == before


def test_a_patch_must_say_what_its_writer_believed():
    """Compare and swap: a patch without a leading test is refused, and so is one whose test does not hold."""
    document = empty_document()
    with pytest.raises(PatchRejected) as blind:
        apply_patch(document, [put("/run", {})])
    with pytest.raises(PatchRejected) as stale:
        apply_patch(document, [expect("/run", {"status": "running"}), put("/run", {})])
    assert (blind.value.code, stale.value.code) == ("AP103", "AP104")
    assert "/run" in stale.value.why


def test_a_state_shares_nothing_with_the_patches_it_came_from():
    """Later patches change the state and never the values of an earlier patch."""
    row = {"log": []}
    document = empty_document()
    apply_patch(document, [expect("/units", {}), put("/units/1", row)])
    apply_patch(document, [expect("/units/1/log", []), put("/units/1/log/-", "x")])
    assert row == {"log": []}


def test_a_record_whose_patch_does_not_hold_is_named():
    """A journal that folds to nothing sensible is damaged, and the error says at which record."""
    line, _ = encode(1, 1.5, "x", None, [expect("/run", 5)], {}, GENESIS)
    with pytest.raises(JournalDamaged, match="record 1"):
        fold([decode(line[:-1])])


@settings(max_examples=50)
@given(st.data())
def test_a_difference_leads_from_one_state_to_the_other(data):
    """`diff` gives people the operations between two states."""
    before = empty_document()
    _, after = draw_patch(data, before)
    assert jsonpatch.apply_patch(before, diff(before, after)) == after
