"""One open run: its lock, its store, its parts. Made by `app.py`, closed in order whatever happens."""

from __future__ import annotations

import os
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from langgraph.checkpoint.base import BaseCheckpointSaver

from autopilot.cast import Cast
from autopilot.checkpoints import open_checkpoints
from autopilot.checks import CheckRunner
from autopilot.contracts import Contracts, ticket_fields
from autopilot.engine.local import LocalEngine
from autopilot.events import Event
from autopilot.home import Repository
from autopilot.job import UnitJob
from autopilot.manager import Manager
from autopilot.merge_queue import GitMergeQueue
from autopilot.phase_runner import Kit, PhaseRunner
from autopilot.protocols import Ticket
from autopilot.recorder import RunRecorder
from autopilot.refs import kept_branch, run_branch, salvage_ref, unit_ref
from autopilot.runs import Settings
from autopilot.split import SplitLimits
from autopilot.workbench import Workbench
from autopilot_agents.clock import SystemClock
from autopilot_agents.gate import Gate
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.redact import Redactor
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_agents.hands.worktree import remove_worktree
from autopilot_agents.protocols import Provider
from autopilot_playbooks.digest import playbook_digest
from autopilot_playbooks.schema import Playbook, Roadmap
from autopilot_state.models import Outcome


@dataclass(frozen=True)
class Parts:
    """What a run is made of; every field is ready to use."""

    repository: Repository
    git: Git
    recorder: RunRecorder
    provider: Provider
    sandbox: Sandbox
    redactor: Redactor
    playbook: Playbook
    roadmap: Roadmap
    settings: Settings
    limits: SplitLimits
    python: str
    python_path: tuple[Path, ...]
    readable: tuple[Path, ...]
    max_agents: int
    notify: Callable[[str], None]
    clock: SystemClock = field(default_factory=SystemClock)

    @property
    def run_dir(self) -> Path:
        return self.repository.runs / self.run

    @property
    def run(self) -> str:
        return str(self.recorder.document["run"]["id"])

    @property
    def worktrees(self) -> Path:
        return self.repository.folder / "worktrees" / self.run

    @property
    def commit_date(self) -> int:
        return int(self.recorder.document["run"]["started_at"])


async def work(parts: Parts) -> None:
    """Run everything that is open, until every targeted unit has ended."""
    await _settle_refs(parts)
    runner = CheckRunner(parts.recorder, parts.sandbox, parts.redactor, parts.readable, parts.python_path)
    contracts = Contracts(parts.roadmap, parts.recorder, lambda commit: _files_of(parts.git, commit))
    queue = _make_queue(parts, runner, contracts)
    gate = Gate(
        name=parts.provider.name, in_flight=parts.max_agents, clock=parts.clock, on_notice=parts.notify
    )
    cast = Cast(parts.provider, gate, parts.playbook, parts.recorder, parts.notify)
    async with open_checkpoints(parts.run_dir) as saver:
        units = _Units(parts, runner, cast, contracts, saver)
        engine = LocalEngine(
            slots=parts.settings.max_parallel, journal=parts.recorder, load=units.job, run=units.run,
            now=parts.clock.now, on_crash=lambda unit, error: _keep_crash(parts, unit, error),
        )  # fmt: skip
        manager = Manager(
            engine=engine, queue=queue, journal=parts.recorder, desk=contracts, limits=parts.limits,
            max_attempts=parts.playbook.max_attempts, threshold=parts.settings.threshold, now=parts.clock.now,
            notify=parts.notify,
        )  # fmt: skip
        async with engine, queue_at_work(queue):
            await manager.run()
    await _clean_up(parts)


def _make_queue(parts: Parts, runner: CheckRunner, contracts: Contracts) -> GitMergeQueue:
    return GitMergeQueue(
        git=parts.git, runner=runner, recorder=parts.recorder, worktree=parts.worktrees / "gate",
        own_checks=contracts.checks, guards=parts.roadmap.guards, commit_date=parts.commit_date,
        setup=parts.roadmap.setup, now=parts.clock.now,
    )  # fmt: skip


@asynccontextmanager
async def queue_at_work(queue: GitMergeQueue) -> AsyncIterator[None]:
    """The merge queue works as long as the block lasts."""

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.work)
        yield
        tasks.cancel_scope.cancel()


@dataclass(frozen=True)
class _Units:
    """Makes jobs from tickets and runs them."""

    parts: Parts
    runner: CheckRunner
    cast: Cast
    contracts: Contracts
    saver: BaseCheckpointSaver[Any]

    def job(self, ticket: Ticket) -> UnitJob:
        parts = self.parts
        return UnitJob.model_validate(
            {
                **ticket_fields(ticket),
                "run": parts.run,
                "contract": self.contracts.contract(ticket.unit, ticket.mode),
                "guards": parts.roadmap.guards,
                "setup": parts.roadmap.setup,
                "threshold": parts.settings.threshold,
                "playbook": playbook_digest(parts.playbook),
                "provider": parts.settings.provider,
                "model": parts.settings.model,
                "python": parts.python,
                "commit_date": parts.commit_date,
            }
        )

    async def run(self, job: UnitJob) -> Outcome:
        parts = self.parts
        path = parts.worktrees / job.unit
        bench = Workbench(job, parts.git, path, self.runner)
        kit = Kit(
            bench, self.cast, parts.recorder, parts.playbook, parts.limits, self.saver, parts.clock.monotonic
        )
        outcome = await PhaseRunner(job, kit).run()
        await self.saver.adelete_thread(job.thread)
        await remove_worktree(parts.git, path, salvage_ref=salvage_ref(job.run, job.unit))
        return outcome


# -- refs and folders -------------------------------------------------------------------------------------------


async def _files_of(git: Git, commit: str) -> list[str]:
    listing = await git.run("ls-tree", "-r", "-z", "--name-only", commit)
    return [os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]


async def _settle_refs(parts: Parts) -> None:
    """Make the run branch stand where the journal says: a kill may have come between the record and the ref."""
    ref = f"refs/heads/{run_branch(parts.run)}"
    there, head = await parts.git.read_ref(ref), parts.recorder.document["run"]["head"]
    if there != head:
        await parts.git.update_ref(ref, head, there)


async def _clean_up(parts: Parts) -> None:
    """Keep the work of what was not merged on branches of its own, and remove the run's worktrees."""
    for unit, row in parts.recorder.document["units"].items():
        await _settle_unit_ref(parts, unit, row)
    if parts.worktrees.is_dir():
        for path in sorted(parts.worktrees.iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                await remove_worktree(parts.git, path, salvage_ref=salvage_ref(parts.run, path.name))


async def _settle_unit_ref(parts: Parts, unit: str, row: dict[str, Any]) -> None:
    tip = await parts.git.read_ref(unit_ref(parts.run, unit)) if row["attempt"] else None
    if tip is None:
        return
    if row["result"] in ("failed", "below", "needs_human"):
        branch = f"refs/heads/{kept_branch(parts.run, unit)}"
        before = await parts.git.read_ref(branch)
        keep = row["commit"] or tip
        if before != keep:
            await parts.git.update_ref(branch, keep, before)
    if row["status"] == "ended" and row["result"] != "parked":
        await parts.git.delete_ref(unit_ref(parts.run, unit), tip)


def _keep_crash(parts: Parts, unit: str, error: Exception) -> None:
    """Keep the traceback of a bug of ours where the report can name it; it is redacted like everything."""
    text = "".join(traceback.format_exception(error))
    ref = parts.recorder.put_artifact(unit, "crash.txt", parts.redactor.text(text).encode())
    parts.recorder.record(Event("unit.crashed", [], {"ref": ref.model_dump()}, unit))
