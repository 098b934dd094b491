"""Disks that fail on demand, a run that counts, and a model that says what must be left of it.

`FaultyDisk` stops, tears or refuses operation number N of the file system. `LoggedDisk` feeds a `PowerModel`, which
knows at every moment which states a power failure may leave: what was not synced may be gone, half there or zeroed,
and a name that its directory was not synced for may be there or not.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autopilot_state.fs import RealFileSystem
from autopilot_state.patch import expect, put
from autopilot_state.store import JOURNAL_NAME, Store

UNITS = ("1", "2", "2a", "3")
OPERATIONS = 38
RECORDS = 2 + OPERATIONS


class Killed(BaseException):
    """The process is dead: nothing of it runs any more, not even its error handling."""


class QuickDisk(RealFileSystem):
    """The disk without the wait: a killed process leaves the page cache behind, synced or not."""

    def sync(self, fd):
        pass


class FaultyDisk(QuickDisk):
    """Does `fault` at operation `at`: dies before it, dies in the middle of a write, or gets an error number."""

    def __init__(self, at=-1, *, torn=None, error=None, sticky=False):
        self.count = 0
        self.writes = []
        self._at, self._torn, self._error, self._sticky = at, torn, error, sticky
        self._dead = False

    def _step(self, tear=None):
        number, self.count = self.count, self.count + 1
        if self._dead:
            raise Killed
        if number == self._at or (self._sticky and self._at >= 0 and number > self._at):
            if self._error is not None:
                raise OSError(self._error, os.strerror(self._error))
            self._dead = True
            if tear is not None and self._torn is not None:
                tear()
            raise Killed

    def open(self, path, flags):
        self._step()
        return super().open(path, flags)

    def write(self, fd, data):
        self.writes.append(self.count)
        self._step(lambda: os.write(fd, data[: int(len(data) * self._torn)]))
        return super().write(fd, data)

    def sync(self, fd):
        self._step()

    def truncate(self, fd, size):
        self._step()
        super().truncate(fd, size)

    def replace(self, source, target):
        self._step()
        super().replace(source, target)

    def unlink(self, path):
        self._step()
        super().unlink(path)


class SlowDisk(QuickDisk):
    """Takes seven bytes at a time."""

    def write(self, fd, data):
        return super().write(fd, data[:7])


# The run and its model


def operation(number):
    """Return the unit and the id of operation `number`, and how often its unit was counted before it."""
    unit, before = UNITS[number % len(UNITS)], number // len(UNITS)
    return unit, f"{unit}.a1.count{before}", before


def model(records):
    """Return the state after `records` records, worked out without any patch."""
    units = {}
    if records >= 2:
        units = {unit: {"status": "running", "count": 0, "log": []} for unit in UNITS}
    for number in range(max(0, records - 2)):
        unit, op, before = operation(number)
        units[unit]["count"] = before + 1
        units[unit]["log"].append(op)
    run = {"status": "running"} if records else {}
    return {"schema": 1, "run": run, "order": list(units), "units": units, "usage": {}}


def add_units():
    patch = [expect("/order", [])]
    for unit in UNITS:
        patch.append(put(f"/units/{unit}", {"status": "running", "count": 0, "log": []}))
        patch.append(put("/order/-", unit))
    return patch


def go_on(store, acknowledged):
    """Do what the journal does not hold yet, the way a run starts and resumes; tell each acknowledged record."""
    if store.seq == 0:
        store.append("run.started", patch=[expect("/run", {}), put("/run", {"status": "running"})])
        acknowledged(store.seq)
    if store.seq == 1:
        store.append("units.added", patch=add_units())
        acknowledged(store.seq)
    for number in range(OPERATIONS):
        unit, op, before = operation(number)
        if store.found(unit, op) is not None:
            continue
        count, log = f"/units/{unit}/count", f"/units/{unit}/log/-"
        patch = [expect(count, before), put(count, before + 1), put(log, op)]
        store.append("op.done", unit=unit, patch=patch, data={"op": op})
        acknowledged(store.seq)
        if number % 5 == 4:
            store.project(force=True)


def whole_run(run_dir, disk, acknowledged=lambda seq: None):
    store = Store.open(run_dir, fs=disk, now=lambda: 1.5)
    go_on(store, acknowledged)
    store.close()


# Power


@dataclass
class Inode:
    durable: bytes = b""
    pending: list = field(default_factory=list)

    def content(self, how):
        """Return what may be found after the power failed: `how` much of what was not synced arrived."""
        content = self.durable
        for kind, value in self.pending if how != "lost" else []:
            if kind == "truncate":
                content = content[:value]
            elif how == "half":
                content += value[: len(value) // 2]
                break
            else:
                content += b"\0" * len(value) if how == "zeroed" else value
        return content

    def sync(self):
        self.durable, self.pending = self.content("all"), []


class PowerModel:
    """What is surely on disk, and what may be, in one run folder."""

    def __init__(self, run_dir: Path):
        self.run_dir = run_dir
        self.names: dict[str, Inode] = {}
        self.durable_names: dict[str, Inode] = {}
        self.acknowledged = 0
        self.seen: dict[tuple, int] = {}

    def remember(self):
        """Keep the states that a power failure at this moment may leave; the most that was promised counts."""
        for names, how in itertools.product(
            (self.durable_names, self.names), ("lost", "half", "zeroed", "all")
        ):
            state = tuple(sorted((name, inode.content(how)) for name, inode in names.items()))
            self.seen[state] = max(self.seen.get(state, 0), self.acknowledged)

    def states(self) -> Iterator[tuple[dict[str, bytes], int]]:
        for state, acknowledged in self.seen.items():
            yield dict(state), acknowledged


class LoggedDisk(FaultyDisk):
    """Works, tells the model, and skips the syncs named in `dropped` ("file", "directory")."""

    def __init__(self, power, at=-1, *, torn=None, dropped=()):
        super().__init__(at, torn=torn)
        self._power, self._dropped = power, dropped
        self._open = {}

    def open(self, path, flags):
        fd = super().open(path, flags)
        power = self._power
        if flags & os.O_DIRECTORY:
            self._open[fd] = path
        else:
            inode = power.names.setdefault(path.name, Inode())
            if flags & os.O_TRUNC and inode.content("all"):
                inode.pending.append(("truncate", 0))
            self._open[fd] = inode
        power.remember()
        return fd

    def write(self, fd, data):
        before = os.fstat(fd).st_size
        try:
            return super().write(fd, data)
        finally:
            arrived = os.fstat(fd).st_size - before
            self._open[fd].pending.append(("append", data[:arrived]))
            self._power.remember()

    def sync(self, fd):
        super().sync(fd)
        what = self._open[fd]
        if isinstance(what, Inode):
            if "file" not in self._dropped:
                what.sync()
        elif what == self._power.run_dir and "directory" not in self._dropped:
            self._power.durable_names = dict(self._power.names)
        self._power.remember()

    def truncate(self, fd, size):
        super().truncate(fd, size)
        self._open[fd].pending.append(("truncate", size))
        self._power.remember()

    def replace(self, source, target):
        super().replace(source, target)
        self._power.names[target.name] = self._power.names.pop(source.name)
        self._power.remember()

    def unlink(self, path):
        super().unlink(path)
        self._power.names.pop(path.name, None)
        self._power.remember()


def put_on_disk(run_dir, files):
    run_dir.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        (run_dir / name).write_bytes(content)


def journal_of(run_dir):
    return run_dir / JOURNAL_NAME
