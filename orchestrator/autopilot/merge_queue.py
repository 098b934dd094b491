"""The serial merge queue: it alone moves the run branch, and only to a tree on which a command said so.

A candidate is merged onto the present head without a worktree, then its own checks, every published check and the
guards run on the merged tree. Green moves the branch, in the journal first; red or a conflict sends the unit back.
Never `ours` or `theirs`, never force, never a red branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autopilot import events
from autopilot.checks import CheckRun, CheckRunner
from autopilot.mailbox import Mailbox
from autopilot.protocols import Merged
from autopilot.recorder import RunRecorder
from autopilot.refs import run_branch, salvage_ref
from autopilot.trees import show_commit
from autopilot.verdict import Comparison, compare, needs_repeat
from autopilot_agents.hands.git import Git
from autopilot_playbooks.schema import Check
from autopilot_state.errors import AutopilotError
from autopilot_state.models import Outcome

REPEATS = 2


@dataclass(frozen=True)
class Submission:
    """A candidate, and how its unit ends when the gate is green."""

    outcome: Outcome
    result: str
    score: float | None


class GitMergeQueue:
    """Owns the run branch. `work` runs until it is cancelled."""

    def __init__(
        self,
        *,
        git: Git,
        runner: CheckRunner,
        recorder: RunRecorder,
        worktree: Path,
        own_checks: Callable[[str, str], Sequence[Check]],
        guards: Sequence[Check],
        commit_date: int,
        setup: str | None,
        now: Callable[[], float],
    ) -> None:
        self._git = git
        self._runner = runner
        self._recorder = recorder
        self._worktree = worktree
        self._own_checks = own_checks
        self._guards = guards
        self._date = commit_date
        self._setup = setup
        self._now = now
        self._checked_out = ""
        self._waiting: Mailbox[Submission] = Mailbox()
        self._done: Mailbox[Merged] = Mailbox()

    async def submit(self, outcome: Outcome, *, result: str, score: float | None) -> None:
        self._waiting.put(Submission(outcome, result, score))

    async def results(self) -> Sequence[Merged]:
        return await self._done.take_all()

    async def work(self) -> None:
        """Merge candidates in the order of their arrival."""
        while True:
            for submission in await self._waiting.take_all():
                self._done.put(await self._merge_one(submission))

    async def _merge_one(self, submission: Submission) -> Merged:
        outcome = submission.outcome
        try:
            return await self._merge(submission)
        except AutopilotError as error:
            return Merged(outcome.unit, outcome, None, outcome.evidence, f"merge gate: {error.what}"[:200])

    async def _merge(self, submission: Submission) -> Merged:
        outcome = submission.outcome
        head = str(self._recorder.document["run"]["head"])
        new = head
        if outcome.commit is not None and not await self._git.is_ancestor(outcome.commit, head):
            merged = await self._git.merge_trees(None, head, outcome.commit)
            if merged.tree is None:
                names = ", ".join(merged.conflicts[:3])
                return Merged(
                    outcome.unit, outcome, None, outcome.evidence, f"conflicts in {names}", conflict=True
                )
            new = await self._git.commit_tree(
                merged.tree, [head, outcome.commit], self._message(outcome), self._date
            )
        red = await self._gate(outcome, new)
        if red is not None:
            return Merged(
                outcome.unit, outcome, None, outcome.evidence, f"red on the merged tree: {red}"[:200]
            )
        await self._move(submission, head, new)
        return Merged(outcome.unit, outcome, new, outcome.evidence)

    def _message(self, outcome: Outcome) -> str:
        row, run = self._recorder.document["units"][outcome.unit], self._recorder.document["run"]["id"]
        return (
            f"Merge {outcome.unit}: {row['name']}\n\nAutopilot-Run: {run}\nAutopilot-Unit: {outcome.unit}\n"
        )

    async def _move(self, submission: Submission, head: str, new: str) -> None:
        """End the unit and move the branch with one record; the ref follows, and is set again after a kill."""
        outcome = submission.outcome
        row = self._recorder.document["units"][outcome.unit]
        self._recorder.record(
            events.unit_ended(
                outcome.unit,
                before="merging",
                result=submission.result,
                score=submission.score,
                reason=outcome.reason if submission.result == "below" else "",
                evidence=outcome.evidence,
                commit=outcome.commit,
                at=self._now(),
                duration_s=row["duration_s"] + outcome.duration_s,
                moved=(head, new),
                order_dependent=outcome.order_dependent or row["order_dependent"],
            )
        )
        if new != head:
            await self._git.update_ref(
                f"refs/heads/{run_branch(self._recorder.document['run']['id'])}", new, head
            )

    # -- the gate ----------------------------------------------------------------------------------------------

    async def _gate(self, outcome: Outcome, commit: str) -> str | None:
        """Return what is red on the merged tree, or None.

        Green: no own or published check is red, and no test fails that passed on the run's base.
        """
        tree = await self._git.tree_of(commit)
        for check, guard in self._checks_for(outcome):
            found = await self._compare(check, commit, tree, guard=guard)
            if not found.green:
                names = (
                    found.broken or found.still_red or (f"`{check.command[:80]}` exit {found.run.exit_code}",)
                )
                return f"{names[0]} ({check.id})"
        return None

    def _checks_for(self, outcome: Outcome) -> list[tuple[Check, bool]]:
        """Return own checks, then published ones, then guards; the same command with the same tests once."""
        found: dict[tuple[str, tuple[str, ...], bool], tuple[Check, bool]] = {}
        for check in (*self._own_checks(outcome.unit, outcome.mode), *self._published()):
            found.setdefault((check.command, check.tests, False), (check, False))
        for check in self._guards:
            found.setdefault((check.command, check.tests, True), (check, True))
        return list(found.values())

    def _published(self) -> list[Check]:
        checks: list[Check] = []
        for unit, row in self._recorder.document["units"].items():
            if row["result"] in ("verified", "unverified"):
                checks += self._own_checks(unit, "accept" if row["children"] else "work")
        return checks

    async def _compare(self, check: Check, commit: str, tree: str, *, guard: bool) -> Comparison:
        run = self._recorder.document["run"]
        before = await self._run(check, run["base"], await self._git.tree_of(run["base"]))
        now = await self._run(check, commit, tree)
        repeats = []
        if needs_repeat(before, now):
            repeats = [await self._run(check, commit, tree, again=n) for n in range(1, REPEATS + 1)]
        return compare(check, before, now, repeats=repeats, guard=guard)

    async def _run(self, check: Check, commit: str, tree: str, *, again: int = 0) -> CheckRun:
        known = self._runner.known(check, tree, again=again)
        if known is not None:
            return known
        if self._checked_out != commit:
            salvage = salvage_ref(str(self._recorder.document["run"]["id"]), "gate")
            await show_commit(
                self._git, self._runner, self._worktree, commit, setup=self._setup, salvage=salvage
            )
            self._checked_out = commit
        return await self._runner.run(check, worktree=self._worktree, tree=tree, again=again)
