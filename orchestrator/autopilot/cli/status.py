"""`autopilot status`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autopilot.cli.result import Result, text_width
from autopilot.home import Repository, find_repository, find_run, run_folders
from autopilot.live import status_lines
from autopilot.report import next_commands, status_word
from autopilot.statistics import ordered_units
from autopilot_state.lock import is_locked
from autopilot_state.patch import Document
from autopilot_state.store import load_state


def status(args: argparse.Namespace) -> Result:
    """Show where a run stands, and whether its process lives."""
    repository = find_repository(Path.cwd())
    if args.run is None and not run_folders(repository):
        return Result(
            ["no run in this repository yet; start one:", "  autopilot run ROADMAP.md"],
            {"run": None, "state": None},
        )
    folder = find_run(repository, args.run)
    document = load_state(folder)
    holder = holder_of(repository, folder.name)
    lines = shown_status(document, holder)
    commands = [f"autopilot watch {folder.name}"] if holder else next_commands(document)
    if commands:
        lines += ["Next:", *(f"  {command}" for command in commands)]
    return Result(lines, status_data(document, holder), document)


def shown_status(document: Document, holder: Mapping[str, object] | None) -> list[str]:
    """Return the status as text; the clocks of a run that nobody works on stand still."""
    now = time.time() if holder is not None else None
    return status_lines(document, width=text_width(sys.stdout), now=now, state=state_text(document, holder))


def holder_of(repository: Repository, run_id: str) -> Mapping[str, object] | None:
    """Return who works on this run now, or None; another run's process doesn't count."""
    holder = is_locked(repository.common_dir)
    if holder is None or holder.get("run", run_id) != run_id:
        return None
    return holder


def state_text(document: Document, holder: Mapping[str, object] | None) -> str:
    """Return what a run does in words: `running (pid 12 on host)`, `stopped (budget)`, `finished`."""
    word = status_word(document, live=holder is not None)
    run = document.get("run", {})
    if word == "running" and holder is not None:
        return f"running (pid {holder.get('pid')} on {holder.get('host')})"
    if word == "stopped":
        return f"stopped ({run.get('reason') or 'its process is gone'})"
    return f"{word} ({run['reason']})" if run.get("reason") else word


def status_data(document: Document, holder: Mapping[str, object] | None) -> dict[str, Any]:
    """Return what the envelope says beyond the run's own keys; `run` is the run's exit code, null while it has none."""
    run = document.get("run", {})
    return {
        "run": run.get("exit_code"),
        "reason": run.get("reason"),
        "state": status_word(document, live=holder is not None),
        "holder": dict(holder) if holder is not None else None,
        "started_at": run.get("started_at"),
        "ended_at": run.get("ended_at"),
        "units": [
            {"id": unit, "status": row.get("status"), "step": row.get("step")}
            for unit, row, _ in ordered_units(document)
        ],
    }
