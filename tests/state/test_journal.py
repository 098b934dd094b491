"""The journal's bytes: round trip, damage found, torn tails cut off."""

from __future__ import annotations

import os

import pytest
from disk_faults import QuickDisk, journal_of, whole_run
from hypothesis import given
from hypothesis import strategies as st

from autopilot_state.errors import JournalDamaged, StorageError
from autopilot_state.fs import RealFileSystem
from autopilot_state.journal import GENESIS, MAX_RECORD_BYTES, Journal, decode, encode, iterate, scan
from autopilot_state.patch import expect, put


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """The bytes of a short journal."""
    run_dir = tmp_path_factory.mktemp("journal") / "run"
    whole_run(run_dir, QuickDisk())
    return b"".join(journal_of(run_dir).read_bytes().splitlines(keepends=True)[:9])


def ends_of(data):
    return [position + 1 for position, byte in enumerate(data) if byte == 10]


def read(data):
    return [record for record, _ in iterate(data)]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    seq=st.integers(1, 2**53), ts=st.floats(0, 2**40), unit=st.none() | TEXT, text=TEXT,
    number=st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
def test_a_record_comes_back_as_it_was_written(seq, ts, unit, text, number):
    """Encoding and decoding give back every field, whatever its text holds, on one line."""
    patch = [expect("/units/1/reason", text), put("/units/1/score", number)]
    line, digest = encode(seq, ts, "unit.step", unit, patch, {"op": text}, GENESIS)
    record = decode(line[:-1])
    assert line.count(b"\n") == 1
    assert (record.seq, record.ts, record.type, record.unit) == (seq, ts, "unit.step", unit)
    assert (record.patch, record.data, record.prev, record.hash) == (patch, {"op": text}, GENESIS, digest)


def test_a_cut_at_any_byte_keeps_exactly_the_whole_records(journal):
    """B7: a torn last line is dropped, and nothing before it."""
    whole = read(journal)
    for cut in range(len(journal) + 1):
        assert read(journal[:cut]) == whole[: journal[:cut].count(b"\n")]


def test_zeroes_at_the_end_are_a_torn_line(journal):
    """B9: what delayed allocation leaves after a power failure is cut off like a torn line."""
    whole = read(journal)
    for end in (ends_of(journal)[-1], ends_of(journal)[-2] + 40):
        for zeroes in (1, 512, 4096):
            assert read(journal[:end] + b"\0" * zeroes) == whole[: journal[:end].count(b"\n")]


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80, 0xFF])
def test_a_changed_byte_is_found_wherever_it_is(journal, mask):
    """B8: a flipped byte makes the journal damaged, or drops the last record alone; it is never believed."""
    whole = read(journal)
    last = ends_of(journal)[-2]
    for position in range(len(journal)):
        damaged = bytearray(journal)
        damaged[position] ^= mask
        try:
            left = read(bytes(damaged))
        except JournalDamaged:
            continue
        assert left == whole[:-1]
        assert position >= last, "an acknowledged record went with a torn line"


def test_a_gap_a_swap_and_a_foreign_record_are_refused(journal):
    """B10: the chain holds the records together; only the same line twice says nothing new."""
    lines = journal.splitlines(keepends=True)
    foreign, _ = encode(4, 1.5, "x", None, [], {}, "f" * 32)
    jump, _ = encode(5, 1.5, "x", None, [], {}, read(journal)[2].hash)
    for damaged in (
        [*lines[:3], *lines[4:]],
        [*lines[:3], lines[4], lines[3], *lines[5:]],
        [*lines[:3], foreign, *lines[3:]],
        [*lines[:3], foreign],
        [*lines[:3], jump],
        lines[1:],
    ):
        with pytest.raises(JournalDamaged):
            read(b"".join(damaged))
    assert read(b"".join([*lines[:3], lines[2], *lines[3:], lines[-1]])) == read(journal)


def test_a_damaged_journal_is_left_as_it_is(tmp_path, journal):
    """B8: nothing is written to a journal that can't be trusted."""
    path = tmp_path / "journal.jsonl"
    damaged = journal[:50] + b"#" + journal[51:]
    path.write_bytes(damaged)
    with pytest.raises(JournalDamaged, match="record 1 at byte 0"):
        Journal.open(path, RealFileSystem())
    assert path.read_bytes() == damaged


def test_opening_cuts_a_torn_line_off_and_goes_on(tmp_path, journal):
    """B7: the next record follows the last whole one, and the position of the cut is told."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal[:-7])
    opened, found = Journal.open(path, RealFileSystem())
    last = ends_of(journal)[-2]
    assert (found.good_bytes, found.torn_bytes) == (last, len(journal) - 7 - last)
    record = opened.append(2.5, "unit.step", "1", [], {})
    opened.close()
    assert [found.seq for found in scan(path).records] == [*range(1, 9), record.seq]


def test_a_record_that_is_too_large_is_refused_before_it_is_written(tmp_path):
    """R7: no record is unbounded, and the journal goes on after refusing one."""
    opened, _ = Journal.open(tmp_path / "journal.jsonl", RealFileSystem())
    with pytest.raises(StorageError) as refused:
        opened.append(1.5, "x", None, [], {"text": "x" * MAX_RECORD_BYTES})
    assert refused.value.code == "AP108"
    assert opened.append(1.5, "x", None, [], {}).seq == 1
    opened.close()


def test_a_closed_journal_takes_nothing(tmp_path):
    """A descriptor that another file may have by now is never written to."""
    opened, _ = Journal.open(tmp_path / "journal.jsonl", RealFileSystem())
    opened.close()
    opened.close()
    with pytest.raises(StorageError):
        opened.append(1.5, "x", None, [], {})


@pytest.mark.parametrize("kind", ["symlink", "dangling", "fifo", "directory"])
def test_a_journal_that_is_no_plain_file_is_refused(tmp_path, journal, kind):
    """B15: no symlink is followed and no FIFO is waited for, in reading or writing."""
    path, elsewhere = tmp_path / "journal.jsonl", tmp_path / "elsewhere"
    if kind == "symlink":
        elsewhere.write_bytes(journal)
    if kind in ("symlink", "dangling"):
        path.symlink_to(elsewhere)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(StorageError):
        Journal.open(path, RealFileSystem())
    with pytest.raises(StorageError):
        scan(path)
    assert elsewhere.exists() == (kind == "symlink")
