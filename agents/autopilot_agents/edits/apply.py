"""A checked plan written to the files: all of it, or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from autopilot_agents.edits.check import plan_set
from autopilot_agents.edits.operations import Operation
from autopilot_agents.edits.plan import EditPlan, EditPolicy, FileChange
from autopilot_agents.edits.report import EditReport, OperationResult
from autopilot_agents.errors import PathRefused
from autopilot_agents.hands.paths import Root

__all__ = ["EditReport", "OperationResult", "apply_operations", "apply_plan"]


def apply_operations(
    root: Root, operations: Sequence[Operation], policy: EditPolicy, *, dry_run: bool = False
) -> EditReport:
    """Return what became of `operations`, checked as a whole and, unless `dry_run`, written as a whole."""
    plan = plan_set(root, operations, policy)
    return _report(plan, dry_run=True) if dry_run else apply_plan(root, plan)


def apply_plan(root: Root, plan: EditPlan) -> EditReport:
    """Return what became of `plan`: when one write fails, what was written before it is put back."""
    if not plan.ok or not plan.changes:
        return _report(plan)
    moved = next((change.path for change in plan.changes if _current(root, change) != change.before), None)
    if moved is not None:
        return _not_applied(plan, f"{moved} changed while the set was checked; read it again")
    done: list[FileChange] = []
    try:
        # Files are written before any is removed, so that a crash in a rename leaves two of them, not none.
        for change in sorted(plan.changes, key=lambda change: change.after is None):
            done.append(change)
            _put(root, change.path, change.after, change.mode)
    except (OSError, PathRefused) as error:
        restored, lost = _restore(root, done)
        failed = f"{done[-1].path} could not be written: {error}"
        return _not_applied(
            plan, failed + "".join(f"; {path} could not be restored" for path in lost), restored
        )
    except BaseException:
        _restore(root, done)
        raise
    return _report(plan)


def _current(root: Root, change: FileChange) -> bytes | None:
    """Return what the file holds now; something unreadable is as good as changed."""
    try:
        return root.read(change.path)
    except PathRefused as refused:
        return None if refused.code == "AP404" else b""


def _put(root: Root, path: str, content: bytes | None, mode: int) -> None:
    if content is None:
        root.remove(path)
    else:
        root.write(path, content, mode)


def _restore(root: Root, done: Sequence[FileChange]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Put the files of `done` back, the last first; return (paths put back, paths that could not be)."""
    restored, lost = [], []
    for change in reversed(done):
        try:
            if _current(root, change) == change.before:
                continue
            _put(root, change.path, change.before, change.mode)
        except (OSError, PathRefused):
            lost.append(change.path)
        else:
            restored.append(change.path)
    return tuple(restored), tuple(lost)


def _report(plan: EditPlan, *, dry_run: bool = False) -> EditReport:
    hashes = {c.path: hashlib.sha256(c.after).hexdigest() for c in plan.changes if c.after is not None}
    return EditReport(
        operations=plan.results,
        changed_files=tuple(change.path for change in plan.changes),
        dry_run=dry_run,
        sha256=hashes,
    )


def _not_applied(plan: EditPlan, reason: str, restored: tuple[str, ...] = ()) -> EditReport:
    results = tuple(
        replace(result, status="not_applied", reason=reason) if result.status == "applied" else result
        for result in plan.results
    )
    return EditReport(operations=results, restored=restored)
