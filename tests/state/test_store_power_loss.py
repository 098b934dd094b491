"""What is left of a run after a power failure at any moment, and proof that the method finds missing syncs."""

from __future__ import annotations

from contextlib import suppress

import pytest
from disk_faults import (
    RECORDS,
    Killed,
    LoggedDisk,
    PowerModel,
    QuickDisk,
    journal_of,
    model,
    put_on_disk,
    whole_run,
)

from autopilot_state.errors import JournalError
from autopilot_state.journal import Journal
from autopilot_state.projection import STATE_NAME, read_projection
from autopilot_state.store import Store


def states_of_a_run(run_dir, kills=(), dropped=()):
    """Run to the end through the kills (operation, torn share) and return all states that power loss may leave."""
    power = PowerModel(run_dir)

    def acknowledged(seq):
        power.acknowledged = max(power.acknowledged, seq)

    for at, torn in kills:
        with pytest.raises(Killed):
            whole_run(run_dir, LoggedDisk(power, at, torn=torn, dropped=dropped), acknowledged)
    whole_run(run_dir, LoggedDisk(power, dropped=dropped), acknowledged)
    return list(power.states())


def count_losses(states, folder):
    """Open each state; return how many lost an acknowledged record, can't be opened or have half a state.json."""
    lost = 0
    for number, (files, acknowledged) in enumerate(states):
        run_dir = folder / str(number)
        put_on_disk(run_dir, files)
        if STATE_NAME in files and read_projection(run_dir) is None:
            lost += 1
            continue
        try:
            store = Store.open(run_dir, fs=QuickDisk())
        except JournalError:
            lost += 1
            continue
        lost += store.seq < acknowledged or store.document != model(store.seq)
        store.close()
    return lost


def test_power_loss_at_any_moment_loses_nothing_acknowledged(tmp_path):
    """R1: whichever legal state the disk is left in, every acknowledged record is there and the state is its fold."""
    states = states_of_a_run(tmp_path / "run")
    assert len(states) > 150
    assert count_losses(states, tmp_path / "states") == 0


@pytest.mark.parametrize("at", range(3, 16, 2))
def test_power_loss_after_a_kill_loses_nothing_acknowledged(tmp_path, at):
    """R1: a process that died before its syncs leaves no debt that the next one would not pay."""
    states = states_of_a_run(tmp_path / "run", kills=[(at, 0.5), (4, None), (6, None)])
    assert count_losses(states, tmp_path / "states") == 0


def test_a_stop_leaves_its_last_state_durably(tmp_path):
    """R5: once a run has stopped, a power failure takes neither its journal nor its state.json back."""
    power = PowerModel(tmp_path / "run")
    whole_run(tmp_path / "run", LoggedDisk(power))
    power.seen.clear()
    power.remember()
    for number, (files, _) in enumerate(power.states()):
        put_on_disk(tmp_path / str(number), files)
        assert read_projection(tmp_path / str(number)).seq == RECORDS


@pytest.mark.parametrize("torn", [None, 0.5, 1])
def test_what_an_opened_journal_showed_is_durable(tmp_path, torn):
    """R1: records that a killed process wrote and never synced are durable before the next process believes them."""
    for at in range(12):
        run_dir = tmp_path / f"at{at}"
        run_dir.mkdir()
        power = PowerModel(run_dir)
        with suppress(Killed):
            three_records(power, LoggedDisk(power, at, torn=torn))
        three_records(power, LoggedDisk(power))
        for number, (files, acknowledged) in enumerate(power.states()):
            put_on_disk(run_dir / str(number), files)
            journal, found = Journal.open(journal_of(run_dir / str(number)), QuickDisk())
            journal.close()
            assert len(found.lines) >= acknowledged


def three_records(power, disk):
    """Open the journal alone and add three records; what opening shows counts as told."""
    journal, found = Journal.open(journal_of(power.run_dir), disk)
    try:
        power.acknowledged = max(power.acknowledged, len(found.lines))
        power.remember()
        for _ in range(3):
            power.acknowledged = journal.append(1.5, "x", None, [], {}).seq
            power.remember()
    finally:
        journal.close()


@pytest.mark.parametrize("dropped", [("file", "directory"), ("file",), ("directory",)], ids=" and ".join)
def test_the_method_finds_a_missing_sync(tmp_path, dropped):
    """A store without these syncs does lose acknowledged records in this model; otherwise it would prove nothing."""
    states = states_of_a_run(tmp_path / "run", dropped=dropped)
    assert count_losses(states, tmp_path / "states") >= 1
