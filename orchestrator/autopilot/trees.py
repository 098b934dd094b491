"""A worktree that holds exactly one commit, set up once: what attempts and the merge gate stand on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from autopilot.checks import CheckRunner
from autopilot_agents.errors import GitError
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.worktree import add_worktree, remove_worktree, reset_worktree
from autopilot_state.errors import AutopilotError


async def show_commit(
    git: Git, runner: CheckRunner, path: Path, commit: str, *, setup: str | None, salvage: str
) -> None:
    """Make the worktree at `path` hold exactly `commit`, adding it and running `setup` where that is needed.

    Ignored files stay, so that build caches survive. `salvage` is the ref for what a broken worktree held.

    Raises:
        AutopilotError: AP230, the set-up command failed.
    """
    known = path.exists()
    await add_worktree(git, path, commit)
    try:
        await reset_worktree(git, path, commit)
    except GitError:
        # A kill in the middle of a checkout leaves git's lock in this worktree of ours: make it anew.
        await remove_worktree(git, path, salvage_ref=salvage)
        await add_worktree(git, path, commit)
        await reset_worktree(git, path, commit)
        known = False
    if setup is not None:
        await _set_up(runner, path, setup, created=not known)


async def _set_up(runner: CheckRunner, path: Path, command: str, *, created: bool) -> None:
    """Run the set-up command once in the life of a worktree; a kill in between runs it again."""
    marker = path.with_name(f".{path.name}.setup")
    digest = hashlib.sha256(command.encode()).hexdigest()
    if not created and marker.exists() and marker.read_text() == digest:
        return
    marker.unlink(missing_ok=True)
    result = await runner.shell(command, path)
    if result.exit_code != 0:
        raise AutopilotError(
            "AP230",
            f"the set-up command `{command}` ended with {result.exit_code}",
            why=result.view[-800:],
            fix="repair checks.setup, then `autopilot resume`",
        )
    marker.write_text(digest)
