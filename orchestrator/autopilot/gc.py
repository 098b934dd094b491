"""Frees disk: worktrees and run folders that nothing needs any more, each listed before it is removed.

A worktree is removed through git, its uncommitted work put on a salvage ref first; a run folder goes only when the
run has finished and its branch is merged into the user's branch or gone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autopilot.config import GcOptions
from autopilot.home import Repository, find_repository, run_folders
from autopilot.refs import salvage_ref
from autopilot_agents.hands.git import Git, discover
from autopilot_agents.hands.worktree import read_manifest, remove_worktree
from autopilot_state.errors import AutopilotError, JournalError
from autopilot_state.lock import RepositoryLock
from autopilot_state.store import load_state


async def collect_garbage(options: GcOptions) -> dict[str, Any]:
    """Return what may go, with sizes and reasons for what stays; with `delete` remove what may go."""
    repository = find_repository(options.cwd)
    lock = RepositoryLock.acquire(repository.common_dir, purpose="gc")
    try:
        found = await discover(options.cwd)
        git = Git(found)
        items = [*_worktrees(repository), *[item async for item in _runs(repository, git, found.head)]]
        if options.delete:
            for item in items:
                await _remove(item, git)
        return {"items": [{k: v for k, v in item.items() if not k.startswith("_")} for item in items]}
    finally:
        lock.release()


def _worktrees(repository: Repository) -> Iterator[dict[str, Any]]:
    folder = repository.folder / "worktrees"
    for run in sorted(folder.iterdir()) if folder.is_dir() else []:
        unfinished = _status(repository.runs / run.name) in ("running", "stopped")
        for name in sorted(read_manifest(run)) if run.is_dir() and not run.is_symlink() else []:
            path = run / name
            yield {
                "kind": "worktree", "path": str(path), "bytes": _size(path), "removable": not unfinished,
                "reason": f"run {run.name} is unfinished" if unfinished else "", "_ref": salvage_ref(run.name, name),
            }  # fmt: skip


async def _runs(repository: Repository, git: Git, head: str | None) -> Any:
    for folder in run_folders(repository):
        status = _status(folder)
        reason = "" if status == "finished" else f"the run is {status}"
        if not reason:
            tip = await git.read_ref(f"refs/heads/autopilot/{folder.name}")
            if tip is not None and (head is None or not await git.is_ancestor(tip, head)):
                reason = f"autopilot/{folder.name} is not merged"
        yield {
            "kind": "run",
            "path": str(folder),
            "bytes": _size(folder),
            "removable": not reason,
            "reason": reason,
        }


def _status(folder: Path) -> str:
    try:
        return str(load_state(folder)["run"].get("status", "unknown"))
    except (JournalError, OSError):
        return "unknown"


def _size(path: Path) -> int:
    return sum(p.lstat().st_size for p in path.rglob("*") if not p.is_dir())


async def _remove(item: dict[str, Any], git: Git) -> None:
    if not item["removable"]:
        return
    path = Path(item["path"])
    try:
        if item["kind"] == "worktree":
            await remove_worktree(git, path, salvage_ref=item["_ref"])
        elif not path.is_symlink():
            shutil.rmtree(path)
        item["removed"] = True
    except (AutopilotError, OSError) as error:
        item["removable"], item["reason"] = False, str(error)
