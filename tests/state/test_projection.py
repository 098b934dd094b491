"""state.json: believed where it is whole and of this journal, rebuilt everywhere else."""

from __future__ import annotations

import hashlib
import os

import orjson
import pytest
from disk_faults import RECORDS, QuickDisk, go_on, journal_of, model, whole_run

from autopilot_state.errors import JournalMissing, PreflightError, StorageError
from autopilot_state.journal import scan
from autopilot_state.migrations import next_migration
from autopilot_state.patch import apply_patch, expect, put
from autopilot_state.projection import MAX_CORRUPT_COPIES, STATE_NAME, export, parse, read_projection
from autopilot_state.store import Store, empty_document, fold, load_state


@pytest.fixture
def run_dir(tmp_path):
    """A finished run."""
    whole_run(tmp_path / "run", QuickDisk())
    return tmp_path / "run"


def reopened(run_dir):
    """Open and close the run and return its state."""
    store = Store.open(run_dir, fs=QuickDisk())
    document = store.document
    store.close()
    return document


def copies(run_dir):
    return sorted(path.name for path in run_dir.glob(f"{STATE_NAME}.corrupt-*"))


def sealed(value):
    """Return `value` as a state.json whose hash holds."""
    body = value[:-2]
    digest = hashlib.blake2b(body, digest_size=16).hexdigest().encode()
    return body + b',\n  "hash": "' + digest + b'"\n}\n'


def test_state_json_is_the_fold_of_the_journal(run_dir):
    """Folding the patches gives state.json exactly, and it says at which record it stands."""
    text = orjson.loads((run_dir / STATE_NAME).read_bytes())
    records = scan(journal_of(run_dir)).records
    assert (text.pop("seq"), text.pop("head")) == (RECORDS, records[-1].hash)
    assert text.pop("journal_bytes") == journal_of(run_dir).stat().st_size
    del text["hash"]
    assert text == fold(records) == model(RECORDS)


def test_a_state_that_lags_is_folded_further(tmp_path):
    """`load_state` and `Store.open` give the present state from a state.json of any earlier record."""
    run_dir, older = tmp_path / "run", {}
    store = Store.open(run_dir, fs=QuickDisk())

    def keep(seq):
        store.project(force=True)
        older[seq] = (run_dir / STATE_NAME).read_bytes()

    go_on(store, keep)
    store.close()
    assert len(older) == RECORDS
    for seq, content in older.items():
        (run_dir / STATE_NAME).write_bytes(content)
        assert read_projection(run_dir).seq == seq
        assert load_state(run_dir) == reopened(run_dir) == model(RECORDS)
    assert copies(run_dir) == []


def test_a_state_cut_or_changed_at_any_byte_is_not_believed(run_dir):
    """B1, B2: whatever happened to state.json, the state is the journal's."""
    content = (run_dir / STATE_NAME).read_bytes()
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        assert parse(content[:position]) is None
        assert parse(bytes(changed)) is None
    for position in range(0, len(content), 97):
        (run_dir / STATE_NAME).write_bytes(content[:position] + b"#" + content[position + 1 :])
        assert load_state(run_dir) == model(RECORDS)


def test_a_missing_state_is_rebuilt(run_dir):
    """B5: without state.json the journal gives the same state, and the next start writes it again."""
    content = (run_dir / STATE_NAME).read_bytes()
    (run_dir / STATE_NAME).unlink()
    assert load_state(run_dir) == model(RECORDS)
    assert not (run_dir / STATE_NAME).exists(), "a reader wrote"
    assert reopened(run_dir) == model(RECORDS)
    assert (run_dir / STATE_NAME).read_bytes() == content


@pytest.mark.parametrize("records", [1, 2, 60])
def test_a_state_of_another_journal_is_not_believed(run_dir, tmp_path, records):
    """A state.json that was copied from another run, shorter or longer, changes nothing."""
    other = Store.open(tmp_path / "other", fs=QuickDisk())
    for number in range(records):
        other.append("x", patch=[expect("/schema", 1), put("/usage/requests", number)])
    other.close()
    (run_dir / STATE_NAME).write_bytes((tmp_path / "other" / STATE_NAME).read_bytes())
    assert load_state(run_dir) == model(RECORDS)
    assert reopened(run_dir) == model(RECORDS)
    assert copies(run_dir) == [f"{STATE_NAME}.corrupt-1"]


def test_few_damaged_copies_are_kept(run_dir):
    """B2: damaged files are kept for people to look at, the first three, and no loop fills the disk."""
    for number in range(6):
        (run_dir / STATE_NAME).write_bytes(b"%d" % number)
        assert reopened(run_dir) == model(RECORDS)
    assert [(run_dir / name).read_bytes() for name in copies(run_dir)] == [b"0", b"1", b"2"]
    assert MAX_CORRUPT_COPIES == 3


NASTY = {
    "nested": b'{"schema": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"\n}",
    "digits": b'{"schema": ' + b"9" * 5000 + b"\n}",
    "nan": b'{"schema": NaN\n}',
    "surrogate": b'{"schema": "\\ud800"\n}',
    "list": b"[1\n]",
    "empty": b"{\n}",
    "not utf-8": b'{"schema": "\xff"\n}',
}


@pytest.mark.parametrize("name", NASTY)
def test_a_state_that_is_no_state_is_not_believed(run_dir, name):
    """B4: what json parsers stumble over is rebuilt from the journal, even with a hash that holds."""
    (run_dir / STATE_NAME).write_bytes(sealed(NASTY[name]))
    assert load_state(run_dir) == model(RECORDS)
    assert reopened(run_dir) == model(RECORDS)


def test_a_state_without_its_journal_is_refused(run_dir):
    """B6: the journal is the evidence; without it nothing goes on, and nothing is written."""
    journal_of(run_dir).unlink()
    for opening in (Store.open, load_state):
        with pytest.raises(JournalMissing) as missing:
            opening(run_dir)
        assert missing.value.code == "AP109"
    assert [path.name for path in run_dir.iterdir()] == [STATE_NAME]


def files(run_dir):
    return {path.name: path.read_bytes() for path in run_dir.iterdir()}


def test_a_state_of_a_newer_version_is_refused(run_dir):
    """B3: a state.json that a newer version wrote is named as that, and left as it is."""
    newer = {**empty_document(), "schema": 2}
    (run_dir / STATE_NAME).write_bytes(export(newer, seq=1, head="0" * 32, journal_bytes=1))
    check_refused_as_newer(run_dir)


def test_a_journal_of_a_newer_version_is_refused(run_dir):
    """B3: so is a journal that moved on to a newer schema, also without its state.json."""
    store = Store.open(run_dir, fs=QuickDisk())
    store.append("state.migrated", patch=[expect("/schema", 1), put("/schema", 2)])
    store.close()
    (run_dir / STATE_NAME).unlink()
    check_refused_as_newer(run_dir)


def check_refused_as_newer(run_dir):
    before = files(run_dir)
    for opening in (Store.open, load_state):
        with pytest.raises(PreflightError, match="written by a newer version") as refused:
            opening(run_dir)
        assert refused.value.code == "AP111"
    assert files(run_dir) == before


def test_a_migration_is_a_patch_that_ends_with_the_next_version():
    """An older state is led on version by version, by patches that a journal can hold."""
    document = empty_document()
    steps = {1: lambda found: [put("/run/reason", found["usage"])], 2: lambda found: []}
    while (patch := next_migration(document, migrations=steps, schema=3)) is not None:
        apply_patch(document, patch)
    assert document == {**empty_document(), "schema": 3, "run": {"reason": {}}}
    assert next_migration(empty_document()) is None


def test_a_stranger_in_the_run_folder_is_left_alone(run_dir):
    """B17: unknown files stay; only what killed writers of state.json left behind goes."""
    (run_dir / "notes.txt").write_text("mine")
    (run_dir / f".{STATE_NAME}.99999.tmp").write_text("half")
    reopened(run_dir)
    assert sorted(files(run_dir)) == ["journal.jsonl", "notes.txt", "state.json"]


@pytest.mark.parametrize("kind", ["symlink", "fifo", "file", "everybody's"])
def test_a_run_folder_that_is_no_private_folder_is_refused(tmp_path, kind):
    """B15: a folder that was exchanged, or that everybody may write to, is not written to."""
    run_dir, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if kind == "symlink":
        run_dir.symlink_to(elsewhere)
    elif kind == "fifo":
        os.mkfifo(run_dir)
    elif kind == "file":
        run_dir.write_text("mine")
    else:
        run_dir.mkdir()
        run_dir.chmod(0o777)
    with pytest.raises(StorageError):
        Store.open(run_dir)
    assert list(elsewhere.iterdir()) == []


def test_a_symlink_in_place_of_state_json_is_replaced_and_not_followed(run_dir, tmp_path):
    """B15: its target is neither believed nor changed."""
    target = tmp_path / "target.json"
    target.write_bytes((run_dir / STATE_NAME).read_bytes())
    before = target.read_bytes()
    (run_dir / STATE_NAME).unlink()
    (run_dir / STATE_NAME).symlink_to(target)
    assert read_projection(run_dir) is None
    assert reopened(run_dir) == model(RECORDS)
    assert target.read_bytes() == before
    assert not (run_dir / STATE_NAME).is_symlink()
