"""The composition root: builds the parts of a run, hands them to each other, and ends the run as it should end.

Interfaces call the functions without an underscore. Heavy imports are made inside them.
"""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from autopilot import events
from autopilot.config import Config, DemoOptions, GcOptions, RunOptions
from autopilot.errors import Exit, exit_for
from autopilot.handoff import write_handoff
from autopilot.home import Repository, exclude_folder, find_repository, state_home
from autopilot.live import View
from autopilot.preflight import refuse_unstartable_checks
from autopilot.recorder import RunRecorder
from autopilot.report import report_markdown
from autopilot.runs import (
    Settings,
    begin,
    find_existing,
    free_run_folder,
    load_roadmap_of,
    resuming_line,
    take_up,
)
from autopilot.session import Parts, interpreter, readable_paths, work
from autopilot.split import SplitLimits
from autopilot_agents.hands.git import Git, discover, refuse_executable_config, refuse_unusual_state
from autopilot_agents.hands.redact import Redactor
from autopilot_agents.hands.sandbox import Sandbox, detect_sandbox
from autopilot_agents.metered import Metered
from autopilot_agents.pool import make_provider
from autopilot_agents.protocols import Provider
from autopilot_agents.providers.model_table import find_figures, load_table
from autopilot_playbooks.loader import load_playbook
from autopilot_playbooks.roadmap import load_roadmap
from autopilot_playbooks.schema import Check, Playbook, Roadmap
from autopilot_playbooks.selection import select_phases
from autopilot_state.errors import PreflightError, UsageError
from autopilot_state.fs import RealFileSystem, write_atomic
from autopilot_state.ledger import Ledger
from autopilot_state.lock import RepositoryLock
from autopilot_state.store import Store

ROADMAP_NAMES = (
    "ROADMAP.md",
    ".autopilot/roadmap.md",
    ".autopilot/roadmap.yaml",
    ".autopilot/roadmap.json",
    ".planning/ROADMAP.md",
)
LENIENT_THRESHOLD = 7.0


def run_command(options: RunOptions, view: View) -> int:
    """Run or resume to the end and return the exit code; the state is in the run folder."""
    return anyio.run(_run, options, view)


def demo_command(options: DemoOptions, view: View) -> int:
    """Prepare the demo's repository, then run its roadmap with the offline provider; return the exit code."""
    from autopilot.demo.command import run_demo

    return anyio.run(run_demo, options, view)


def dry_run(options: RunOptions) -> dict[str, Any]:
    """Return what a run would do: phases in order with what they wait for and their commands. Starts nothing."""
    repository = find_repository(options.cwd)
    plan = _plan(options, repository)
    phases = {phase.id: phase for phase in plan.roadmap.phases}
    wave: dict[str, int] = {}
    for unit in plan.targets:
        wave[unit] = 1 + max((wave.get(d, 0) for d in phases[unit].depends_on), default=0)
    rows = [
        {
            "id": unit, "name": phases[unit].name, "wave": wave[unit], "depends_on": list(phases[unit].depends_on),
            "checks": [check.command for check in phases[unit].checks],
        }
        for unit in plan.targets
    ]  # fmt: skip
    notes = [
        f"provider {options.config.provider}, threshold {plan.threshold}, {plan.max_parallel} units at once"
    ]
    return {"phases": rows, "notes": notes}


def recheck_command(options: RunOptions) -> dict[str, Any]:
    """Run every recorded check again from a clean clone of a run's result; return what each said."""
    from autopilot.recheck import recheck

    return anyio.run(recheck, options)


def gc_command(options: GcOptions) -> dict[str, Any]:
    """List what `gc` may remove, and remove it when asked; nothing whose work is on no durable ref."""
    from autopilot.gc import collect_garbage

    return anyio.run(collect_garbage, options)


# -- what is asked for ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """A new run, thought through and not begun."""

    roadmap: Roadmap
    path: Path
    targets: tuple[str, ...]
    playbook: Playbook
    threshold: float
    max_parallel: int


def _plan(options: RunOptions, repository: Repository) -> _Plan:
    path = options.roadmap or _default_roadmap(repository)
    roadmap = _with_config(load_roadmap(path), options.config)
    playbook = load_playbook(_playbook_name(options, roadmap), search=[repository.folder / "playbooks"])
    return _Plan(
        roadmap, path, select_phases(roadmap, options.phases), playbook, _threshold(options, playbook, roadmap),
        _max_parallel(options),
    )  # fmt: skip


def _default_roadmap(repository: Repository) -> Path:
    for name in ROADMAP_NAMES:
        if (repository.top / name).is_file():
            return repository.top / name
    raise UsageError(
        "AP232",
        "no roadmap was named and none was found",
        why=f"looked for {', '.join(ROADMAP_NAMES)} in {repository.top}",
        fix="name one: `autopilot run ROADMAP.md`; docs/roadmap-format.md shows how to write it",
    )


def _with_config(roadmap: Roadmap, config: Config) -> Roadmap:
    """Return the roadmap with the configuration's checks where phases name none, its guards and its set-up."""
    phases = tuple(
        phase
        if phase.checks
        else phase.model_copy(
            update={
                "checks": tuple(
                    Check(id=f"{phase.id}.k{n}", command=command)
                    for n, command in enumerate(config.checks_test, start=1)
                )
            }
        )
        for phase in roadmap.phases
    )
    guards = roadmap.guards or tuple(
        Check(id=f"0.k{n}", command=command) for n, command in enumerate(config.checks_guards, start=1)
    )
    return roadmap.model_copy(
        update={"phases": phases, "guards": guards, "setup": roadmap.setup or config.checks_setup}
    )


def _playbook_name(options: RunOptions, roadmap: Roadmap) -> str:
    named = options.playbook or options.config.playbook or roadmap.playbook
    return named or ("quality" if options.quality else "standard")


def _threshold(options: RunOptions, playbook: Playbook, roadmap: Roadmap) -> float:
    if options.quality or options.lenient:
        return 9.5 if options.quality else LENIENT_THRESHOLD
    if options.config.threshold is not None:
        return options.config.threshold
    return roadmap.threshold if roadmap.threshold is not None else playbook.threshold


def _max_parallel(options: RunOptions) -> int:
    return 1 if options.sequential else options.config.max_parallel


# -- a run ------------------------------------------------------------------------------------------------------


async def _run(options: RunOptions, view: View) -> int:
    return await run_here(options, view, allow_no_sandbox=options.unsafe_no_sandbox)


async def run_here(options: RunOptions, view: View, *, allow_no_sandbox: bool, candidates: int = 4000) -> int:
    """Run or resume in the repository of `options.cwd`; return the exit code."""
    repository = find_repository(options.cwd)
    found = await discover(options.cwd)
    await refuse_unusual_state(found)
    await refuse_executable_config(found)
    if found.head is None:
        raise PreflightError("AP604", "this repository has no commits", fix="commit something first")
    with ExitStack() as stack:
        lock = RepositoryLock.acquire(repository.common_dir)
        stack.callback(lock.release)
        existing = find_existing(repository, options)
        plan = _plan(options, repository) if existing is None else None
        provider = make_provider(
            _provider_name(options, existing), model=options.config.model, environ=os.environ,
            workers=max(1, os.cpu_count() or 1), max_candidates=candidates,
        )  # fmt: skip
        sandbox = await detect_sandbox(allow_none=allow_no_sandbox)
        git = Git(found)
        if plan is not None:
            await refuse_unstartable_checks(plan.roadmap, plan.targets, git, found.head, sandbox, options)
        exclude_folder(repository)
        folder = existing or free_run_folder(repository)
        lock.describe({"run": folder.name})
        opened = _open(folder, stack, view)
        parts = await _make_parts(options, repository, git, provider, sandbox, opened, plan, found.head, view)
        if existing is not None:
            _resume(parts, options, view)
        return await _work_until_ended(parts, opened, options, view)


def _provider_name(options: RunOptions, existing: Path | None) -> str:
    if existing is not None and options.provider is None:
        from autopilot_state.store import load_state

        return str(load_state(existing)["run"]["provider"])
    return options.config.provider


@dataclass(frozen=True)
class _Opened:
    folder: Path
    store: Store
    recorder: RunRecorder
    redactor: Redactor


def _open(folder: Path, stack: ExitStack, view: View) -> _Opened:
    """Open the run folder; everything recorded is shown as it is recorded."""
    redactor = Redactor.from_environ(os.environ)
    store = Store.open(folder)
    stack.callback(store.close)
    ledger = Ledger(folder, store.fs)
    stack.callback(ledger.close)
    recorder = RunRecorder(store, ledger, redactor, on_record=lambda record: _show(view, store, record))
    return _Opened(folder, store, recorder, redactor)


def _show(view: View, store: Store, record: Any) -> None:
    view.record(record)
    view.update(store.document)


async def _make_parts(
    options: RunOptions,
    repository: Repository,
    git: Git,
    provider: Provider,
    sandbox: Sandbox,
    opened: _Opened,
    plan: _Plan | None,
    head: str,
    view: View,
) -> Parts:
    recorder = opened.recorder
    now = _now()
    if plan is not None:
        window = (await provider.limits()).context_window
        settings = Settings(
            provider=provider.name, model=options.config.model, playbook=plan.playbook.name,
            threshold=plan.threshold, quality=options.quality, max_parallel=plan.max_parallel, sandbox=sandbox.level,
            context_window=window, cost_known=provider.name != "offline",
        )  # fmt: skip
        begin(
            recorder, opened.folder, repository=repository.main, base=head, roadmap=plan.roadmap,
            roadmap_path=plan.path, targets=plan.targets, settings=settings, at=now,
        )  # fmt: skip
    run = recorder.document["run"]
    playbook = (
        plan.playbook if plan else load_playbook(run["playbook"], search=[repository.folder / "playbooks"])
    )
    settings = Settings(
        provider=run["provider"], model=run["model"], playbook=run["playbook"], threshold=run["threshold"],
        quality=run["quality"], max_parallel=_parallel_of(options, run), sandbox=sandbox.level,
        context_window=run["context_window"], cost_known=run["cost_known"],
    )  # fmt: skip
    limits = SplitLimits(
        enabled=playbook.split.enabled and not options.no_split,
        max_children=playbook.split.max_children,
        max_depth=min(playbook.split.max_depth, options.config.max_split_depth),
    )
    python, python_path = interpreter(options)
    return Parts(
        repository=repository, git=git, recorder=recorder, provider=provider, sandbox=sandbox,
        redactor=opened.redactor, playbook=playbook, roadmap=plan.roadmap if plan else load_roadmap_of(recorder),
        settings=settings, limits=limits, python=python, python_path=python_path, readable=readable_paths(python_path),
        max_agents=options.config.max_agents, notify=view.line,
    )  # fmt: skip


async def _capped(provider: Provider, cap_usd: float, recorder: RunRecorder) -> Provider:
    """Return the provider behind the run's cap; one without a price can't spend."""
    model = (await provider.limits()).model
    figures = find_figures(model, load_table().anthropic)
    if figures is None:
        return provider
    return Metered(
        provider, figures, cap_usd=cap_usd, spent_usd=lambda: recorder.document["usage"].get("cost_usd", 0.0)
    )


def _parallel_of(options: RunOptions, run: dict[str, Any]) -> int:
    given = options.sequential or options.max_parallel is not None
    return _max_parallel(options) if given else int(run["max_parallel"])


def _now() -> float:
    import time

    return time.time()


# -- going on, ending -------------------------------------------------------------------------------------------


def _resume(parts: Parts, options: RunOptions, view: View) -> None:
    """Take up an old run: flags of this start count from now on, and one line says what is reused."""
    recorder = parts.recorder
    take_up(recorder, at=_now())
    run = recorder.document["run"]
    changes: dict[str, Any] = {"sandbox": parts.sandbox.level, "max_parallel": parts.settings.max_parallel}
    if options.quality or options.lenient:
        changes |= {"threshold": 9.5 if options.quality else LENIENT_THRESHOLD, "quality": options.quality}
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


async def _work_until_ended(parts: Parts, opened: _Opened, options: RunOptions, view: View) -> int:
    """Work until everything ended, a signal came or the time is over; write down which, and return the exit code."""
    stopped: list[str] = []
    limit_s = options.config.max_minutes * 60 if options.config.max_minutes else None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch_signals, tasks.cancel_scope, stopped, opened.folder)
        with anyio.move_on_after(limit_s) as timer:
            await work(parts)
        if timer.cancelled_caught:
            stopped.append("budget: the time limit was reached")
        tasks.cancel_scope.cancel()
    return _end(parts, opened, stopped[0] if stopped else None, view)


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


def _end(parts: Parts, opened: _Opened, stopped: str | None, view: View) -> int:
    """Write the last record, the report and, for an unfinished run, the handoff."""
    recorder, document = opened.recorder, opened.recorder.document
    parked = any(row["result"] == "parked" for row in document["units"].values())
    if stopped is not None or parked:
        reason = stopped or exit_for(document)[1]
        code = exit_for({**document, "run": {**document["run"], "reason": reason}})[0]
        recorder.record(
            events.run_status(
                "running", "stopped", kind="run.stopped", reason=reason, exit_code=code, at=_now()
            )
        )
        write_handoff(opened.folder, document, reason=reason, fs=RealFileSystem())
        view.line(f"Stopped ({reason}). Everything is saved; go on with: autopilot resume {parts.run}")
    else:
        code, reason = exit_for(document)
        recorder.record(
            events.run_status(
                "running", "finished", kind="run.finished", reason=reason, exit_code=code, at=_now()
            )
        )
        for name in ("handoff.json", "HANDOFF.md"):
            (opened.folder / name).unlink(missing_ok=True)
    write_atomic(RealFileSystem(), opened.folder / "report.md", report_markdown(document).encode())
    return code


def settings_for(options: RunOptions, config: Config) -> RunOptions:
    """Return the options with other resolved settings."""
    return replace(options, config=config)


__all__ = [
    "Exit",
    "demo_command",
    "dry_run",
    "gc_command",
    "recheck_command",
    "run_command",
    "run_here",
    "state_home",
]
