"""Starts, finds, reopens and ends runs: everything about a run folder that is not a unit's work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autopilot import events
from autopilot.config import RunOptions
from autopilot.home import Repository, find_run, run_folder, unfinished_run
from autopilot.recorder import RunRecorder
from autopilot.refs import run_branch
from autopilot.scheduling import SATISFIED
from autopilot_playbooks.digest import roadmap_digest
from autopilot_playbooks.schema import Phase, Roadmap
from autopilot_state.errors import PreflightError
from autopilot_state.ids import new_run_id, unit_sort_key
from autopilot_state.models import ArtifactRef
from autopilot_state.store import load_state

ROWS_PER_RECORD = 500


@dataclass(frozen=True)
class Settings:
    """What this start asks for, resolved: flags over config over playbook."""

    provider: str
    model: str | None
    playbook: str
    threshold: float
    quality: bool
    max_parallel: int
    sandbox: str
    context_window: int | None
    cost_known: bool


def find_existing(repository: Repository, options: RunOptions) -> Path | None:
    """Return the folder of the run to go on with, or None for a new one.

    Raises:
        PreflightError: AP660, another roadmap than the unfinished run's was named.
        UsageError: the run that was named does not exist.
    """
    if options.mode == "resume":
        return find_run(repository, options.run_id)
    found = None if options.fresh else unfinished_run(repository)
    if found is None or options.roadmap is None:
        return found
    before = load_state(found)["run"].get("roadmap")
    if before is not None and Path(before).resolve() != options.roadmap.resolve():
        raise PreflightError(
            "AP660",
            f"run {found.name} of {Path(before).name} is unfinished",
            why=f"this start names another roadmap, {options.roadmap.name}",
            fix=f"go on with `autopilot resume {found.name}`, or put it away with `autopilot run --fresh {options.roadmap}`",
        )
    return found


def free_run_folder(repository: Repository) -> Path:
    """Return the folder of a run id that is not taken."""
    while (folder := run_folder(repository, new_run_id())).exists():
        pass
    return folder


def begin(
    recorder: RunRecorder,
    folder: Path,
    *,
    repository: Path,
    base: str,
    roadmap: Roadmap,
    roadmap_path: Path | None,
    targets: Sequence[str],
    settings: Settings,
    at: float,
) -> None:
    """Write the first records of a run: its settings, its phases, its roadmap as an artifact."""
    ref = recorder.put_artifact("", "roadmap.json", roadmap.model_dump_json().encode())
    fields: dict[str, Any] = {
        "id": folder.name,
        "status": "running",
        "reason": None,
        "exit_code": None,
        "repository": str(repository),
        "base": base,
        "head": base,
        "branch": run_branch(folder.name),
        "roadmap": str(roadmap_path) if roadmap_path else None,
        "roadmap_digest": ref.sha256,
        "roadmap_ref": ref.model_dump(),
        "roadmap_changes": 0,
        "playbook": settings.playbook,
        "provider": settings.provider,
        "model": settings.model,
        "threshold": settings.threshold,
        "quality": settings.quality,
        "review": "none",
        "sandbox": settings.sandbox,
        "max_parallel": settings.max_parallel,
        "slots": settings.max_parallel,
        "context_window": settings.context_window,
        "cost_known": settings.cost_known,
        "started_at": round(at, 3),
        "ended_at": None,
        "active_s": 0.0,
        "notes": [],
    }
    recorder.record(events.run_started(fields))
    rows = [(phase.id, row_of(phase, targets)) for phase in roadmap.phases]
    for start in range(0, len(rows), ROWS_PER_RECORD):
        recorder.record(events.units_added(dict(rows[start : start + ROWS_PER_RECORD]), first=start == 0))


def row_of(phase: Phase, targets: Iterable[str]) -> dict[str, Any]:
    """Return the unit row of a phase of the roadmap."""
    row = events.unit_row(
        phase.name, deps=phase.depends_on, targeted=phase.id in set(targets), done=phase.done
    )
    return {**row, "digest": roadmap_digest(phase)[:16]}


def load_roadmap_of(recorder: RunRecorder) -> Roadmap:
    """Return the roadmap that this run works on, from its artifact.

    Raises:
        StorageError: the artifact is missing or was changed.
    """
    ref = ArtifactRef(**recorder.document["run"]["roadmap_ref"])
    return Roadmap.model_validate_json(recorder.get_artifact(ref))


def take_up(recorder: RunRecorder, *, at: float) -> None:
    """Make an old run's state ready for scheduling: what was interrupted waits, what may be tried again reopens.

    An unfinished run's parked units go on where they stood; a finished run's failed, below and blocked units get a
    new attempt.
    """
    run = recorder.document["run"]
    finished = run["status"] == "finished"
    _reopen(recorder, finished=finished)
    units = recorder.document["units"]
    for unit in sorted(units, key=unit_sort_key):
        if units[unit]["status"] in ("queued", "running", "merging"):
            recorder.record(events.unit_interrupted(unit, before=units[unit]["status"]))
    if run["status"] != "running":
        recorder.record(events.run_status(run["status"], "running", kind="run.resumed", at=at))


def _reopen(recorder: RunRecorder, *, finished: bool) -> None:
    units = recorder.document["units"]
    again = {u for u, row in units.items() if _tries_again(row, finished=finished)}
    if not again:
        return
    again |= {u for u, row in units.items() if row["result"] == "blocked"}
    for unit in list(again):
        while (parent := units[unit]["parent"]) is not None:
            again.add(parent)
            unit = parent
    for unit in sorted(again, key=unit_sort_key):
        row = units[unit]
        if row["status"] == "ended":
            new_attempt = row["result"] not in ("parked", "blocked") and finished
            recorder.record(events.unit_reopened(unit, row, new_attempt=new_attempt))


def _tries_again(row: Mapping[str, Any], *, finished: bool) -> bool:
    again = ("parked", "failed", "below", "needs_human") if finished else ("parked", "needs_human")
    return row["status"] == "ended" and row["result"] in again


def resuming_line(document: Mapping[str, Any]) -> str:
    """Return the one line that says which units are reused, go on and start."""
    units = document["units"]
    ids = sorted(units, key=unit_sort_key)
    reuse = [
        u
        for u in ids
        if units[u]["status"] == "ended" and units[u]["result"] in SATISFIED and not units[u]["done"]
    ]
    reuse = [u for u in reuse if units[u]["result"] != "skipped"]
    open_ones = [u for u in ids if units[u]["status"] != "ended" and units[u]["targeted"]]
    goes_on = [u for u in open_ones if units[u]["attempt"] > 0]
    start = [u for u in open_ones if units[u]["attempt"] == 0]
    parts = [
        f"{word} {' '.join(us)}"
        for word, us in (("reuse", reuse), ("continue", goes_on), ("start", start))
        if us
    ]
    return f"Resuming {document['run']['id']}: " + (" | ".join(parts) if parts else "nothing is left to do")
