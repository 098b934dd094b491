"""What is left of a run after a power failure at any moment, and proof that the method finds missing syncs."""

from __future__ import annotations

import pytest
from disk_faults import Killed, LoggedDisk, PowerModel, QuickDisk, model, put_on_disk, whole_run

from autopilot_state.errors import JournalError
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
    """Open each state and return how many of them lost an acknowledged record or could not be opened."""
    lost = 0
    for number, (files, acknowledged) in enumerate(states):
        run_dir = folder / str(number)
        put_on_disk(run_dir, files)
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


@pytest.mark.parametrize("dropped", [("file", "directory"), ("file",), ("directory",)], ids=" and ".join)
def test_the_method_finds_a_missing_sync(tmp_path, dropped):
    """A store without these syncs does lose acknowledged records in this model; otherwise it would prove nothing."""
    states = states_of_a_run(tmp_path / "run", dropped=dropped)
    assert count_losses(states, tmp_path / "states") >= 1
