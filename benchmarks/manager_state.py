"""The manager with no-op units: bytes of state a unit, and milliseconds a unit with the durable journal.

    .venv/bin/python benchmarks/manager_state.py [10 100 1000 10000]

Bytes are the graph's whole state as compact JSON over the number of units. Time is wall and CPU of the manager's run
over the number of units, journal on this disk, engine and merge queue answering at once.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import anyio

from autopilot import events
from autopilot.fakes import FixedDesk, InstantQueue, ScriptedEngine, StoreJournal
from autopilot.manager import Manager
from autopilot.protocols import Ticket
from autopilot.split import ParentItems, SplitLimits
from autopilot_state.models import CheckEvidence, Evidence, Outcome
from autopilot_state.store import Store

CHECK = CheckEvidence(check="1.k1", command="true", tree="t", exit_code=0, green=True, duration_s=0.0)
NOTHING = ParentItems(frozenset(), frozenset(), frozenset())
ROWS_PER_RECORD = 500


def no_op(ticket: Ticket) -> Outcome:
    """Return a verified candidate without any work."""
    return Outcome(
        unit=ticket.unit, attempt=ticket.attempt, kind="candidate", score=10.0, commit=f"c{ticket.unit}",
        evidence=Evidence(checks=(CHECK,)),
    )  # fmt: skip


def roadmap(count: int) -> dict[str, dict[str, object]]:
    """Return units of which each tenth depends on the one before, as roadmaps do in stretches."""
    return {
        str(n): events.unit_row(f"Phase number {n} of the roadmap", deps=[str(n - 1)] if n % 10 == 0 else [])
        for n in range(1, count + 1)
    }


def measure(count: int) -> tuple[float, float, float]:
    """Return bytes, wall ms and CPU ms a unit for a run of `count` no-op units."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        journal = StoreJournal(Store.open(Path(folder) / "run"))
        journal.record(events.run_started({"id": "aa11", "base": "b", "head": "b", "status": "running"}))
        rows = list(roadmap(count).items())
        for start in range(0, count, ROWS_PER_RECORD):
            chunk = dict(rows[start : start + ROWS_PER_RECORD])
            journal.record(events.units_added(chunk, first=start == 0))
        manager = Manager(
            engine=ScriptedEngine(no_op), queue=InstantQueue(journal), journal=journal,
            desk=FixedDesk(lambda _: NOTHING), limits=SplitLimits(), max_attempts=3, threshold=9.0,
            now=time.time, notify=print,
        )  # fmt: skip
        wall, cpu = time.perf_counter(), time.process_time()
        final = anyio.run(manager.run)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        results = {row["status"] for row in final["table"].values()}
        assert results == {"verified"}, results
        return len(json.dumps(final, separators=(",", ":"))) / count, 1000 * wall / count, 1000 * cpu / count


def main() -> None:
    """Print one row for each size."""
    sizes = [int(word) for word in sys.argv[1:]] or [10, 100, 1000, 10_000]
    measure(10)  # imports and the first fsync are not the manager's
    print(f"{'units':>7} {'bytes/unit':>11} {'wall ms/unit':>13} {'CPU ms/unit':>12}")
    for count in sizes:
        size, wall, cpu = measure(count)
        print(f"{count:>7} {size:>11.0f} {wall:>13.2f} {cpu:>12.2f}")


if __name__ == "__main__":
    main()
