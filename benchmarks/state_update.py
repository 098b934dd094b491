"""What one update of a run costs, and what opening it costs: bytes and milliseconds at 10, 1,000 and 10,000 units.

    python benchmarks/state_update.py [FOLDER]

FOLDER (default: a temporary one) decides which disk is measured. `disk` is the bare append and sync of a line of the
same length, so that what is left is ours. A unit has four records: queued, started, one step, ended. `open` starts from
the state.json of the last stop, `open, no state` folds the whole journal, `look` is what `status` does.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from autopilot import events
from autopilot_state.fs import RealFileSystem
from autopilot_state.store import JOURNAL_NAME, STATE_NAME, Store, load_state

SIZES = (10, 1_000, 10_000)
SAMPLES = 300
CHUNK = 500


class NoSync(RealFileSystem):
    """Fills a journal without waiting for the disk."""

    def sync(self, fd: int) -> None:
        pass


def write(store: Store, event: events.Event) -> None:
    store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)


def fill(run_dir: Path, units: int) -> None:
    """Write the finished run of `units` units."""
    store = Store.open(run_dir, fs=NoSync())
    write(store, events.run_started({"status": "running", "head": "0" * 40}))
    ids = [str(number) for number in range(1, units + 1)]
    for first in range(0, units, CHUNK):
        rows = {unit: events.unit_row(f"Phase {unit}") for unit in ids[first : first + CHUNK]}
        write(store, events.units_added(rows, first=first == 0))
    for unit in ids:
        write(store, events.unit_queued(unit, before="waiting", attempt=1, mode="work"))
        write(store, events.unit_started(unit, at=time.time(), base="b" * 40, again=False))
        write(store, events.unit_step(unit, "verify"))
        write(store, ended(unit))
    store.close()


def ended(unit: str) -> events.Event:
    return events.unit_ended(
        unit, before="running", result="verified", score=9.7, commit="c" * 40, at=time.time(), duration_s=3.2
    )


def update_ms(store: Store) -> list[float]:
    """Return the duration of single updates of one running unit, each durable."""
    write(store, events.units_added({"0": events.unit_row("Phase 0")}, first=False))
    write(store, events.unit_queued("0", before="waiting", attempt=1, mode="work"))
    write(store, events.unit_started("0", at=time.time(), base="b" * 40, again=False))
    return [milliseconds(lambda: write(store, events.unit_step("0", "build"))) for _ in range(SAMPLES)]


def disk_ms(folder: Path, line: bytes) -> float:
    """Return the median of a bare append and sync of `line`."""
    fd = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def once() -> None:
        os.write(fd, line)
        os.fsync(fd)

    median = statistics.median(milliseconds(once) for _ in range(SAMPLES))
    os.close(fd)
    return median


def milliseconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return (time.perf_counter() - before) * 1000


def opening_ms(run_dir: Path) -> float:
    stores: list[Store] = []
    taken = milliseconds(lambda: stores.append(Store.open(run_dir)))
    stores[0].close()
    return taken


def best(work: Callable[[], float]) -> float:
    return min(work() for _ in range(3))


def measure(folder: Path, units: int) -> list[str]:
    run_dir = folder / f"run{units}"
    fill(run_dir, units)
    state, journal = run_dir / STATE_NAME, run_dir / JOURNAL_NAME
    records = journal.read_bytes().count(b"\n")
    opened = best(lambda: opening_ms(run_dir))
    looked = best(lambda: milliseconds(lambda: load_state(run_dir)))

    def opening_without_state() -> float:
        state.unlink()
        return opening_ms(run_dir)

    folded = best(opening_without_state)
    store = Store.open(run_dir)
    projecting = milliseconds(lambda: store.project(force=True))
    updates = update_ms(store)
    store.close()
    line = journal.read_bytes().splitlines(keepends=True)[-1]
    return [
        f"{units:,}", f"{records:,}", f"{len(line)}", f"{statistics.median(updates):.2f}",
        f"{statistics.quantiles(updates, n=100)[-1]:.2f}", f"{disk_ms(folder, line):.2f}", f"{projecting:.0f}",
        f"{opened:.0f}", f"{folded:.0f}", f"{looked:.0f}",
    ]  # fmt: skip


def main(folder: Path) -> None:
    header = [
        "units", "records", "bytes", "update ms", "p99 ms", "disk ms", "state.json ms", "open ms", "open, no state ms",
        "look ms",
    ]  # fmt: skip
    rows = [header, *(measure(folder, units) for units in SIZES)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as temporary:
        main(Path(temporary))
