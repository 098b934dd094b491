"""How a run goes on and how it ends: flags of a new start, signals, time limits, the last record, the handoff."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import anyio

from autopilot import events
from autopilot.asked import LENIENT_THRESHOLD, QUALITY_THRESHOLD
from autopilot.config import RunOptions
from autopilot.errors import exit_for
from autopilot.handoff import write_handoff
from autopilot.live import View
from autopilot.report import report_markdown
from autopilot.runs import resuming_line, take_up
from autopilot.session import Parts, work
from autopilot_playbooks.selection import select_phases
from autopilot_state.fs import RealFileSystem, write_atomic


def resume(parts: Parts, options: RunOptions, view: View) -> None:
    """Take up an old run: flags of this start count from now on, and one line says what is reused."""
    recorder = parts.recorder
    take_up(recorder, at=time.time())
    run = recorder.document["run"]
    changes: dict[str, Any] = {"sandbox": parts.sandbox.level, "max_parallel": parts.settings.max_parallel}
    if options.quality or options.lenient:
        changes |= {
            "threshold": QUALITY_THRESHOLD if options.quality else LENIENT_THRESHOLD,
            "quality": options.quality,
        }
    for field, value in changes.items():
        if run[field] != value:
            recorder.record(events.run_setting(field, run[field], value))
    if options.phases is not None:
        _retarget(parts, options.phases)
    view.line(resuming_line(recorder.document))


def _retarget(parts: Parts, phases: str) -> None:
    targets = set(select_phases(parts.roadmap, phases))
    for unit, row in list(parts.recorder.document["units"].items()):
        if (
            row["parent"] is None
            and row["attempt"] == 0
            and not row["done"]
            and row["targeted"] != (unit in targets)
        ):
            parts.recorder.record(events.unit_targeted(unit, row, targeted=unit in targets))


async def work_until_ended(parts: Parts, folder: Path, options: RunOptions, view: View) -> int:
    """Work until everything ended, a signal came or the time is over; write down which, and return the exit code."""
    stopped: list[str] = []
    limit_s = options.config.max_minutes * 60 if options.config.max_minutes else None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch_signals, tasks.cancel_scope, stopped, folder)
        with anyio.move_on_after(limit_s) as timer:
            await work(parts)
        if timer.cancelled_caught:
            stopped.append("budget: the time limit was reached")
        tasks.cancel_scope.cancel()
    return _end(parts, folder, stopped[0] if stopped else None, view)


async def _watch_signals(scope: anyio.CancelScope, stopped: list[str], folder: Path) -> None:
    """Stop on the first signal; a second one ends the process at once. The kernel frees the lock."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async for number in signals:
            if stopped:
                os._exit(128 + number)
            stopped.append(_signal_reason(number, folder))
            scope.cancel()


def _signal_reason(number: int, folder: Path) -> str:
    if number == signal.SIGINT:
        return "interrupted"
    asked = list((folder / "commands").glob("stop-*.json"))
    for path in asked:
        path.unlink(missing_ok=True)
    return "stopped" if asked else "terminated"


def _end(parts: Parts, folder: Path, stopped: str | None, view: View) -> int:
    """Write the last record, the report and, for an unfinished run, the handoff."""
    recorder, document = parts.recorder, parts.recorder.document
    parked = any(row["result"] == "parked" for row in document["units"].values())
    if stopped is not None or parked:
        reason = stopped or exit_for(document)[1]
        code = exit_for({**document, "run": {**document["run"], "reason": reason}})[0]
        recorder.record(
            events.run_status(
                "running", "stopped", kind="run.stopped", reason=reason, exit_code=code, at=time.time()
            )
        )
        write_handoff(folder, document, reason=reason, fs=RealFileSystem())
        view.line(f"Stopped ({reason}). Everything is saved; go on with: autopilot resume {parts.run}")
    else:
        code, reason = exit_for(document)
        recorder.record(
            events.run_status(
                "running", "finished", kind="run.finished", reason=reason, exit_code=code, at=time.time()
            )
        )
        for name in ("handoff.json", "HANDOFF.md"):
            (folder / name).unlink(missing_ok=True)
    write_atomic(RealFileSystem(), folder / "report.md", report_markdown(document).encode())
    return code
