"""The store while nothing fails: what it refuses, what it finds again, and how large its records are."""

from __future__ import annotations

import pytest
from disk_faults import QuickDisk, journal_of

from autopilot import events
from autopilot_state.errors import PatchRejected, StorageError
from autopilot_state.journal import MAX_RECORD_BYTES
from autopilot_state.models import Evidence, Usage
from autopilot_state.patch import expect, put
from autopilot_state.store import Store, empty_document, load_state

LONG = "1200.10a26z"
"""As long as ids get: an inserted phase of a large roadmap, split three times, the last child of each."""


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "run", fs=QuickDisk(), now=lambda: 1795300000.123)
    yield opened
    opened.close()


def test_a_record_that_is_refused_leaves_no_trace(store):
    """R1: what does not hold, can't be written or is too large changes neither state nor journal, and the next goes."""
    run = [expect("/run", {}), put("/run", {"status": "running"})]
    for refused, kwargs in (
        (PatchRejected, {"patch": [expect("/run", {"status": "x"}), put("/run", {})]}),
        (PatchRejected, {"patch": [*run, put("/nowhere/at", 1)]}),
        (PatchRejected, {"patch": [*run, {"op": "copy", "from": "/run", "path": "/x"}]}),
        (StorageError, {"patch": run, "data": {"text": "x" * MAX_RECORD_BYTES}}),
        (TypeError, {"patch": run, "data": {"text": object()}}),
        (TypeError, {"patch": [*run, put("/run/x", {1, 2})]}),
    ):
        with pytest.raises(refused):
            store.append("x", **kwargs)
        assert store.document == empty_document()
        assert store.seq == 0
    assert store.append("run.started", patch=run).seq == 1
    assert load_state(store.run_dir) == store.document


def test_the_state_shares_nothing_with_its_callers(store):
    """A caller that goes on using what it gave to the store changes neither the state nor what is found again."""
    row, data = {"log": []}, {"op": "1.a1.x", "files": ["a"]}
    record = store.append("op.done", unit="1", patch=[expect("/units", {}), put("/units/1", row)], data=data)
    row["log"].append("x")
    data["files"].append("b")
    store.append("x", patch=[expect("/units/1/log", []), put("/units/1/log/-", "y")])
    assert store.document["units"]["1"] == {"log": ["y"]}
    assert record.patch[1]["value"] == {"log": []}
    assert store.found("1", "1.a1.x")["files"] == ["a"]


def test_what_was_done_is_found_again_after_a_restart(store):
    """R2: an operation's data is the same to the process that wrote it and to the one that starts after it."""
    store.append("op.done", unit="1", data={"op": "1.a1.x", "figures": (1, 2.5), "nothing": None})
    live = store.found("1", "1.a1.x")
    store.close()
    again = Store.open(store.run_dir, fs=QuickDisk())
    assert again.found("1", "1.a1.x") == live == {"op": "1.a1.x", "figures": [1, 2.5], "nothing": None}
    assert again.found("1", "1.a1.y") is None
    assert again.found("2", "1.a1.x") is None
    again.append("unit.ended", unit="1", data={"forget": ["1"]})
    assert again.found("1", "1.a1.x") is None
    again.close()
    assert Store.open(store.run_dir, fs=QuickDisk()).found("1", "1.a1.x") is None


def test_a_closed_store_leaves_the_last_state(store):
    """Every stop writes state.json, and a closed store takes nothing."""
    store.append("run.started", patch=[expect("/run", {}), put("/run", {"status": "running"})])
    store.close()
    before = (store.run_dir / "state.json").read_bytes()
    with pytest.raises(StorageError):
        store.append("x")
    store.close()
    assert (store.run_dir / "state.json").read_bytes() == before


def test_a_status_update_is_small_however_long_its_unit_is_named(store):
    """A status update takes less than 512 bytes and one line, with the longest ids and large numbers."""
    rows = {LONG: events.unit_row("n" * 80)}
    for event in (
        events.run_started({"status": "running", "head": "a" * 40}),
        events.units_added(rows, first=True),
    ):
        store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)
    updates = [
        events.unit_queued(LONG, before="waiting", attempt=12, mode="accept"),
        events.unit_started(LONG, at=1795300000.123, base="b" * 40, again=True),
        events.unit_step(LONG, "verify"),
        events.unit_context(LONG, 74.2),
        events.unit_interrupted(LONG, before="running"),
        events.run_status(
            "running", "stopped", kind="run.stopped", reason="terminated", exit_code=143, at=1795300000.123
        ),
    ]
    for event in updates:
        store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)
    lines = journal_of(store.run_dir).read_bytes().splitlines(keepends=True)[2:]
    sizes = {update.kind: len(line) for update, line in zip(updates, lines, strict=True)}
    assert max(sizes.values()) < 512, sizes


def test_a_record_does_not_grow_with_the_run(tmp_path):
    """The line of an update is as long among 2,000 units as it is alone."""
    sizes = []
    for units in (1, 2000):
        store = Store.open(tmp_path / str(units), fs=QuickDisk(), now=lambda: 1.5)
        rows = {str(number): events.unit_row("n") for number in range(1, units + 1)}
        for event in (
            events.units_added(rows, first=True),
            events.unit_queued("1", before="waiting", attempt=1, mode="work"),
        ):
            store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)
        store.close()
        sizes.append(len(journal_of(store.run_dir).read_bytes().splitlines()[-1]))
    assert sizes[0] == sizes[1]


def test_what_an_answer_and_a_result_write_is_bounded(store):
    """The records that carry sums stay under a kilobyte, and the one that ends a unit under one and a half."""
    rows = {LONG: events.unit_row("n" * 80)}
    for event in (events.run_started({"head": "a" * 40}), events.units_added(rows, first=True)):
        store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)
    used = Usage(
        input_tokens=10**7, output_tokens=10**7, cache_read_tokens=10**8, cost_usd=12.345678, requests=999
    )
    for number in range(2):
        event = events.usage_added(LONG, store.document, used, f"{LONG}.a1.build{number}.answer", {})
        store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)
    ended = events.unit_ended(
        LONG, before="waiting", result="verified", reason="r" * 200, score=9.7, evidence=Evidence(), commit="c" * 40,
        at=1795300000.123, duration_s=372.123, moved=("a" * 40, "d" * 40), order_dependent=True,
    )  # fmt: skip
    store.append(ended.kind, unit=ended.unit, patch=ended.patch, data=ended.data)
    lines = journal_of(store.run_dir).read_bytes().splitlines(keepends=True)[2:]
    assert max(len(line) for line in lines[:2]) < 1024, [len(line) for line in lines]
    assert len(lines[2]) < 1500, len(lines[2])
