"""The composition root: builds the parts of a run, hands them to each other, and ends the run as it should end.

Interfaces call the functions without an underscore. Heavy imports are made inside them.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from autopilot.asked import Asked, slots_of, think_through, with_config
from autopilot.config import DemoOptions, GcOptions, RunOptions
from autopilot.home import Repository, exclude_folder, find_repository
from autopilot.interpreters import interpreter, readable_paths
from autopilot.live import View
from autopilot.preflight import refuse_shadowed_packages, refuse_unstartable_checks
from autopilot.recorder import RunRecorder
from autopilot.roadmap_change import follow_roadmap
from autopilot.runs import (
    Settings,
    begin,
    find_existing,
    free_run_folder,
    load_roadmap_of,
)
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
from autopilot_playbooks.selection import select_phases
from autopilot_state.errors import PreflightError
from autopilot_state.ledger import Ledger
from autopilot_state.lock import RepositoryLock
from autopilot_state.store import Store

if TYPE_CHECKING:
    from autopilot.session import Parts


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
    plan = think_through(options, repository)
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
        plan = think_through(options, repository) if existing is None else None
        provider = make_provider(
            _provider_name(options, existing), model=options.config.model, environ=os.environ,
            workers=max(1, os.cpu_count() or 1), max_candidates=candidates,
        )  # fmt: skip
        sandbox = await detect_sandbox(allow_none=allow_no_sandbox)
        git = Git(found)
        if plan is not None:
            await refuse_unstartable_checks(plan.roadmap, plan.targets, git, found.head, sandbox, options)
            if plan.roadmap.setup is None:
                await refuse_shadowed_packages(git, found.head, sandbox, options)
        # Only now what costs seconds to import: whoever made a mistake has been told by now.
        from autopilot.ending import resume, work_until_ended

        exclude_folder(repository)
        folder = existing or free_run_folder(repository)
        lock.describe({"run": folder.name})
        opened = _open(folder, stack, view)
        parts = await _make_parts(options, repository, git, provider, sandbox, opened, plan, found.head, view)
        if existing is not None:
            resume(parts, options, view)
        return await work_until_ended(parts, opened.folder, options, view)


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
    plan: Asked | None,
    head: str,
    view: View,
) -> Parts:
    recorder = opened.recorder
    now = time.time()
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
    else:
        _follow_roadmap(recorder, options, view)
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
    from autopilot.session import Parts

    python, python_path = interpreter(options)
    return Parts(
        repository=repository, git=git, recorder=recorder, provider=await _capped(provider, options.config.max_usd, recorder), sandbox=sandbox,
        redactor=opened.redactor, playbook=playbook, roadmap=plan.roadmap if plan else load_roadmap_of(recorder),
        settings=settings, limits=limits, python=python, python_path=python_path, readable=readable_paths(python_path),
        max_agents=options.config.max_agents, notify=view.line,
    )  # fmt: skip


def _follow_roadmap(recorder: RunRecorder, options: RunOptions, view: View) -> None:
    """Read the run's roadmap file again, where it still is, and say in one line what changed."""
    named = recorder.document["run"]["roadmap"]
    if named is None or not Path(named).is_file():
        return
    roadmap = with_config(load_roadmap(Path(named)), options.config)
    change = follow_roadmap(recorder, roadmap, select_phases(roadmap, options.phases))
    if change is not None:
        view.line(change.line)


async def _capped(provider: Provider, cap_usd: float, recorder: RunRecorder) -> Provider:
    """Return the provider behind the run's cap; one without a price can't spend."""
    model = (await provider.limits()).model
    figures = find_figures(model, load_table().anthropic)
    if figures is None:
        return provider
    return Metered(
        provider, figures, cap_usd=cap_usd, spent_usd=recorder.document["usage"].get("cost_usd", 0.0)
    )


def _parallel_of(options: RunOptions, run: dict[str, Any]) -> int:
    given = options.sequential or options.max_parallel is not None
    return slots_of(options) if given else int(run["max_parallel"])


__all__ = ["demo_command", "dry_run", "gc_command", "recheck_command", "run_command", "run_here"]
