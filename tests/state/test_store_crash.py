"""What is left of a run after its process died or its disk failed at any operation."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from disk_faults import (
    RECORDS,
    FaultyDisk,
    Killed,
    QuickDisk,
    SlowDisk,
    go_on,
    journal_of,
    model,
    whole_run,
)

from autopilot_state.errors import StorageError
from autopilot_state.fs import make_private_directory
from autopilot_state.journal import scan
from autopilot_state.projection import STATE_NAME, read_projection
from autopilot_state.store import Store, fold, load_state


def operations_of_a_run(tmp_path):
    disk = FaultyDisk()
    whole_run(tmp_path / "unharmed", disk)
    return disk


def refusal(function, *arguments):
    """Return the storage error that a call ends with, or None."""
    try:
        function(*arguments)
    except StorageError as refused:
        return refused
    return None


def run_until_killed(run_dir, disk):
    """Return how many records were acknowledged before the process died."""
    acknowledged = [0]
    with pytest.raises(Killed):
        whole_run(run_dir, disk, acknowledged.append)
    return acknowledged[-1]


def check_recovery(run_dir, acknowledged):
    """Every acknowledged record is there, at most one more; then the run goes on and does nothing twice."""
    check_kept(run_dir, acknowledged)
    whole_run(run_dir, QuickDisk())
    check_finished(run_dir)


def check_kept(run_dir, acknowledged):
    if (run_dir / STATE_NAME).exists():
        assert read_projection(run_dir) is not None, "state.json is not whole"
    if journal_of(run_dir).exists():
        before = load_state(run_dir)
    else:
        assert acknowledged == 0
        before = model(0)
    store = Store.open(run_dir, fs=QuickDisk(), now=lambda: 2.5)
    assert acknowledged <= store.seq <= acknowledged + 1
    assert store.document == before == model(store.seq)
    store.close()


def check_finished(run_dir):
    records = scan(journal_of(run_dir)).records
    done = Counter(record.data["op"] for record in records if record.type == "op.done")
    assert set(done.values()) == {1}
    assert len(records) == RECORDS
    assert load_state(run_dir) == model(RECORDS)
    assert sorted(path.name for path in run_dir.iterdir()) == ["journal.jsonl", "state.json"]


def test_a_kill_before_any_operation_loses_nothing_acknowledged(tmp_path):
    """R1, R2: whatever operation the process dies before, acknowledged records are there and nothing is done twice."""
    for at in range(operations_of_a_run(tmp_path).count):
        run_dir = tmp_path / f"at{at}"
        check_recovery(run_dir, run_until_killed(run_dir, FaultyDisk(at)))


@pytest.mark.parametrize("share", [0, 0.3, 0.99])
def test_a_torn_write_loses_nothing_acknowledged(tmp_path, share):
    """R1, R2: a write of which only a part arrived is as if it had never begun."""
    for at in operations_of_a_run(tmp_path).writes:
        run_dir = tmp_path / f"at{at}"
        check_recovery(run_dir, run_until_killed(run_dir, FaultyDisk(at, torn=share)))


def test_a_kill_while_recovering_from_a_kill_changes_nothing(tmp_path):
    """E6: opening again converges, wherever the opening itself is killed, twenty times in a row."""
    for at in operations_of_a_run(tmp_path).writes[::6]:
        run_dir = tmp_path / f"at{at}"
        acknowledged = run_until_killed(run_dir, FaultyDisk(at, torn=0.5))
        for again in range(20):
            try:
                Store.open(run_dir, fs=FaultyDisk(again)).close()
            except Killed:
                continue
        check_recovery(run_dir, acknowledged)


@pytest.mark.parametrize("sticky", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize(
    ("error", "every"), [(errno.ENOSPC, 1), (errno.EIO, 3), (errno.EROFS, 9), (errno.EDQUOT, 11)]
)
def test_an_error_of_the_disk_stops_the_run_with_everything_acknowledged(tmp_path, error, every, sticky):
    """D1-D4: a refused operation is a StorageError that names the reason, and the run goes on once it is mended."""
    for at in range(0, operations_of_a_run(tmp_path).count, every):
        run_dir, acknowledged = tmp_path / f"at{at}", [0]
        refused = refusal(whole_run, run_dir, FaultyDisk(at, error=error, sticky=sticky), acknowledged.append)
        assert refused is None or (refused.code == "AP101" and os.strerror(error) in refused.why)
        check_kept(run_dir, acknowledged[-1])
        if at % 10 == 0:
            check_recovery(run_dir, acknowledged[-1])


def test_a_store_whose_disk_refused_a_record_takes_no_more(tmp_path):
    """D4: a failed sync is never retried, the next record is refused, and state.json never runs ahead of the journal."""
    refused = 0
    for at in range(operations_of_a_run(tmp_path).count):
        run_dir = tmp_path / f"at{at}"
        with suppress(StorageError):
            store = Store.open(run_dir, fs=FaultyDisk(at, error=errno.EIO))
            refused += was_refused_for_good(store)
            store.close()
        if not journal_of(run_dir).exists():
            continue
        records, projected = scan(journal_of(run_dir)).records, read_projection(run_dir)
        assert projected is None or projected.document == fold(records[: projected.seq])
        assert load_state(run_dir) == fold(records)
    assert refused == 2 * RECORDS


def was_refused_for_good(store):
    """Run until the disk refuses; say whether it was a record, after which the store takes no other."""
    try:
        go_on(store, lambda seq: None)
    except StorageError:
        size = store._journal.path.stat().st_size
        again = refusal(store.append, "run.note")
        assert again is None or (again.code == "AP106" and store._journal.path.stat().st_size == size)
        return again is not None
    return False


def test_short_writes_are_completed(tmp_path):
    """D5: a disk that takes a few bytes at a time gets them all."""
    whole_run(tmp_path / "run", SlowDisk())
    check_finished(tmp_path / "run")


def test_an_error_before_the_first_byte_leaves_no_run(tmp_path):
    """D3: nothing is kept elsewhere when the run folder can't be written."""
    with pytest.raises(StorageError):
        Store.open(tmp_path / "run", fs=FaultyDisk(0, error=errno.EROFS, sticky=True))
    assert not journal_of(tmp_path / "run").exists()


def test_a_new_run_folder_is_private_and_named_durably(tmp_path):
    """R1: the folders above a journal are synced too, and only their owner may enter them."""
    synced = []

    class Watching(QuickDisk):
        def sync(self, fd):
            synced.append(os.readlink(f"/proc/self/fd/{fd}"))

    run_dir = make_private_directory(tmp_path / ".autopilot" / "runs" / "2f9c", Watching())
    assert synced == [str(tmp_path), str(tmp_path / ".autopilot"), str(run_dir.parent)]
    assert [path.stat().st_mode & 0o777 for path in (run_dir, *run_dir.parents[:2])] == [0o700] * 3


PROGRAM = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from autopilot_state.fs import RealFileSystem
from disk_faults import whole_run
def acknowledged(seq):
    print(seq, flush=True)
whole_run(Path(sys.argv[1]), RealFileSystem(), acknowledged)
"""


def test_a_process_killed_for_real_loses_nothing_acknowledged(tmp_path):
    """R1: after kill -9 of the process that writes, what it had told of is there."""
    here = str(Path(__file__).parent)
    for number, enough in enumerate((1, 2, 9, 23, 37)):
        run_dir = tmp_path / f"run{number}"
        argv = [sys.executable, "-I", "-c", PROGRAM, str(run_dir), here]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
            lines = [process.stdout.readline() for _ in range(enough)]
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        acknowledged = max(json.loads(line) for line in lines if line.endswith("\n"))
        assert acknowledged >= enough
        check_recovery(run_dir, acknowledged)
