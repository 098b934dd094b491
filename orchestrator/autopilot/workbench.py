"""The worktree of one attempt: its base, its commits, the checks on it. Every effect can be done again.

Commits are functions of tree, parent, message and the run's date, so a restart that makes one again makes the same
one. Only edit operations change the code: what a shell command leaves behind is put back before they are applied.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autopilot.checks import CheckRun, CheckRunner
from autopilot.job import UnitJob
from autopilot.refs import salvage_ref, unit_ref
from autopilot.split import glob_matches
from autopilot.trees import show_commit
from autopilot.verdict import Comparison, Verdict, changed_test_files, compare, needs_repeat
from autopilot_agents.edits.apply import apply_operations
from autopilot_agents.edits.check import EditPolicy
from autopilot_agents.edits.operations import Operation
from autopilot_agents.edits.report import EditReport
from autopilot_agents.errors import GitError
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.paths import Root
from autopilot_agents.hands.worktree import reset_worktree
from autopilot_playbooks.schema import Check
from autopilot_state.errors import AutopilotError

REPEATS = 2


CONFLICT_MARKS = (b"<<<<<<< ", b">>>>>>> ")


class BaseConflict(AutopilotError):
    """Raised when a conflict can't be shown to the resolver as files (a folder against a file, a binary)."""


@dataclass(frozen=True)
class Workbench:
    """One attempt's worktree at `path`."""

    job: UnitJob
    git: Git
    path: Path
    runner: CheckRunner

    # -- trees -------------------------------------------------------------------------------------------------

    async def make_base(self) -> tuple[str, bool]:
        """Return the commit to start from, and whether it depends on the order in which others were merged.

        The base is the given commit merged with the tips in order. Tips that conflict give the run's head instead.
        """
        base = self.job.base
        for tip in self.job.tips:
            if await self.git.is_ancestor(tip, base):
                continue
            merged = await self.git.merge_trees(None, base, tip)
            if merged.tree is None:
                # The run's head holds these tips merged already, conflicts resolved.
                return self.job.head, True
            message = (
                f"Base of {self.job.unit}\n\nAutopilot-Run: {self.job.run}\nAutopilot-Unit: {self.job.unit}\n"
            )
            base = await self.git.commit_tree(merged.tree, [base, tip], message, self.job.commit_date)
        return base, self.job.base == self.job.head and bool(self.job.mode != "work" or self.job.attempt > 1)

    async def make_conflicted(self) -> tuple[str, tuple[str, ...]]:
        """Return a commit on the base that holds the refused candidate merged, conflict marks included, and its paths."""
        merged = await self.git.merge_trees(None, self.job.base, self.job.tips[0])
        tree = merged.tree or merged.marked
        if tree is None:
            raise BaseConflict("AP233", f"unit {self.job.unit}: the conflict can't be written down as files")
        return await self.commit_tree(
            tree, self.job.base, "Merge with conflicts", "conflict"
        ), merged.conflicts

    async def conflict_marks(self, base: str, tip: str) -> list[str]:
        """Return the changed files that still hold conflict marks."""
        await self.checkout(tip)
        changed = await self.git.changed_files(base, tip)
        return [path for path in changed if _has_marks(self.path / path)]

    async def checkout(self, commit: str) -> None:
        """Make the worktree hold exactly `commit`; ignored files stay, so that build caches survive."""
        await show_commit(
            self.git,
            self.runner,
            self.path,
            commit,
            setup=self.job.setup,
            salvage=salvage_ref(self.job.run, self.job.unit),
        )

    async def commit_tree(self, tree: str, parent: str, title: str, step: str) -> str:
        """Return the commit of `tree` on `parent`, kept by a ref of this unit; `parent` when nothing changed."""
        if tree == await self.git.tree_of(parent):
            return parent
        message = f"{title}\n\nAutopilot-Run: {self.job.run}\nAutopilot-Unit: {self.job.unit}\nAutopilot-Op: {self.job.op(step)}\n"
        commit = await self.git.commit_tree(tree, [parent], message, self.job.commit_date)
        await self._keep(commit)
        return commit

    async def commit_merge(self, tree: str, base: str, candidate: str, title: str) -> str:
        """Return the commit of a resolved conflict: `tree` with the head and the candidate as parents."""
        message = f"{title}\n\nAutopilot-Run: {self.job.run}\nAutopilot-Unit: {self.job.unit}\n"
        commit = await self.git.commit_tree(tree, [base, candidate], message, self.job.commit_date)
        await self._keep(commit)
        return commit

    async def _keep(self, commit: str) -> None:
        ref = unit_ref(self.job.run, self.job.unit)
        old = await self.git.read_ref(ref)
        if old != commit:
            await self.git.update_ref(ref, commit, old)

    async def write_tree(self) -> str:
        """Return the tree of the worktree's files, what is ignored left out."""
        with tempfile.TemporaryDirectory(prefix="autopilot-index-") as folder:
            return await self.git.write_tree_of_worktree(self.path, Path(folder) / "index")

    # -- edits -------------------------------------------------------------------------------------------------

    async def apply(
        self, operations: Sequence[Operation], policy: EditPolicy, tip: str, title: str, step: str
    ) -> tuple[EditReport, str]:
        """Apply a set to `tip`, all or nothing, and return the report and the new tip."""
        await self.checkout(tip)
        with Root(self.path) as root:
            report = apply_operations(root, operations, policy)
        if not report.ok:
            return report, tip
        if self.job.contract.format_command:
            await self.runner.shell(self.job.contract.format_command, self.path)
        commit = await self.commit_tree(await self.write_tree(), tip, title, step)
        await reset_worktree(self.git, self.path, commit)
        return report, commit

    # -- checks ------------------------------------------------------------------------------------------------

    async def run_check(self, check: Check, commit: str, *, again: int = 0) -> CheckRun:
        """Return how `check` ends on `commit`; the worktree must hold it."""
        return await self.runner.run(
            check, worktree=self.path, tree=await self.git.tree_of(commit), again=again
        )

    async def baseline(self, commit: str) -> dict[str, CheckRun]:
        """Return every check and guard of this unit on its base, by check id."""
        await self.checkout(commit)
        return {c.id: await self.run_check(c, commit) for c in (*self.job.contract.checks, *self.job.guards)}

    async def judge(self, base: str, tip: str, baseline: dict[str, CheckRun]) -> tuple[Verdict, list[str]]:
        """Return what `tip` is worth against the baseline, and the test files that were tried in their old version."""
        await self.checkout(tip)
        changed = await self.git.changed_files(base, tip) if tip != base else []
        own = [await self._compare(c, base, tip, baseline[c.id], changed) for c in self.job.contract.checks]
        guards = [
            await self._compare(c, base, tip, baseline[c.id], changed, guard=True) for c in self.job.guards
        ]
        criteria = {c.id: await self._criterion(c.id, c.command, tip) for c in self.job.contract.criteria}
        restored = sorted({path for _, paths in (*own, *guards) for path in paths})
        return Verdict(tuple(c for c, _ in own), tuple(c for c, _ in guards), criteria), restored

    async def _criterion(self, item: str, command: str | None, tip: str) -> CheckRun | None:
        return await self.run_check(Check(id=item, command=command), tip) if command else None

    async def _compare(
        self,
        check: Check,
        base: str,
        tip: str,
        before: CheckRun,
        changed: Sequence[str],
        *,
        guard: bool = False,
    ) -> tuple[Comparison, list[str]]:
        now = await self.run_check(check, tip)
        repeats = []
        if needs_repeat(before, now):
            repeats = [await self.run_check(check, tip, again=n) for n in range(1, REPEATS + 1)]
        allowed = {path: any(glob_matches(g, path) for g in self.job.contract.files) for path in changed}
        paths = changed_test_files(self.job.contract, changed, before, allowed)
        restored = await self._run_restored(check, base, tip, paths) if paths else None
        return compare(check, before, now, restored=restored, repeats=repeats, guard=guard), paths

    async def _run_restored(self, check: Check, base: str, tip: str, paths: Sequence[str]) -> CheckRun:
        """Run `check` on `tip` with the base's version of `paths` put back."""
        for path in paths:
            target = self.path / path
            try:
                blob = await self.git.read_blob(base, path)
            except GitError:
                # The base has no such file: its version of this file is its absence.
                target.unlink(missing_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(blob)
        tree = await self.write_tree()
        run = await self.runner.run(check, worktree=self.path, tree=tree)
        await reset_worktree(self.git, self.path, tip)
        return run


def _has_marks(path: Path) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    lines = path.read_bytes().split(b"\n")
    return all(any(line.startswith(mark) for line in lines) for mark in CONFLICT_MARKS)
