"""Worktrees for units: added, set back and removed, without ever touching what this program did not make.

A manifest beside the worktrees says which ones are ours; it is written before a worktree is made. Whatever is in one
and in no commit is put on a salvage ref before the worktree goes.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from autopilot_agents.errors import GitError, PathRefused
from autopilot_agents.hands.git import Git
from autopilot_state.fs import RealFileSystem, make_private_directory, write_atomic

MANIFEST = "manifest.json"
_VERSION = 1


async def add_worktree(git: Git, path: Path, commit: str) -> Path:
    """Return `path` as a detached worktree at `commit`; one that is already there is kept with all it holds.

    A broken one of ours (its git folder is gone) is renamed aside, not deleted, and made anew.

    Raises:
        PathRefused: AP622, something that is not ours stands there, or the way leads through a symlink.
    """
    folder = _plain(path)
    make_private_directory(folder.parent)
    if folder.exists():
        _require_ours(folder)
        if await _is_whole(git, folder):
            return folder
        folder.rename(_free_name(folder))
        await _forget(git, folder)
    _note(folder, commit)
    await git.run("worktree", "add", "--detach", "--no-checkout", "-f", str(folder), commit)
    await git.checkout_into(folder, commit)
    return folder


async def reset_worktree(git: Git, path: Path, commit: str) -> None:
    """Make a worktree of ours show exactly `commit`; ignored files stay, so that build caches survive."""
    folder = _require_ours(_plain(path))
    await git.checkout_into(folder, commit)
    await git.run("clean", "-q", "-ffd", "--", ".", cwd=folder)


async def remove_worktree(git: Git, path: Path, *, salvage_ref: str) -> str | None:
    """Remove a worktree of ours; return the commit that its unsaved work was put on, or None if all was saved.

    `salvage_ref` then points to that commit. If it already held one, that becomes a parent, so that nothing is lost.

    Raises:
        PathRefused: AP622, it is not ours; nothing was removed.
    """
    folder = _require_ours(_plain(path))
    salvaged = None
    if folder.exists():
        whole = await _is_whole(git, folder)
        salvaged = await _salvage(git, folder, salvage_ref, whole=whole)
        if not whole:
            shutil.rmtree(folder)  # git refuses to; it is ours, no symlink, and saved
    await _forget(git, folder)
    _drop_entry(folder)
    return salvaged


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the entries of the manifest in a folder of worktrees, by name; empty when there is none."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as cause:
        raise PathRefused("AP623", f"{folder / MANIFEST} can't be read", why=str(cause)) from cause
    entries = content.get("worktrees") if isinstance(content, dict) else None
    if not isinstance(entries, dict) or content.get("version") != _VERSION:
        raise PathRefused("AP623", f"{folder / MANIFEST} is no manifest of worktrees of this version")
    return entries


def _write_manifest(folder: Path, entries: dict[str, Any]) -> None:
    content = json.dumps({"version": _VERSION, "worktrees": entries}, indent=1, sort_keys=True) + "\n"
    write_atomic(RealFileSystem(), folder / MANIFEST, content.encode())


def _note(folder: Path, commit: str) -> None:
    entries = read_manifest(folder.parent)
    _write_manifest(folder.parent, {**entries, folder.name: {"commit": commit}})


def _drop_entry(folder: Path) -> None:
    entries = read_manifest(folder.parent)
    if entries.pop(folder.name, None) is not None:
        _write_manifest(folder.parent, entries)


def _plain(path: Path) -> Path:
    """Return `path` absolute, if it and the folder of worktrees are no symlinks and it has a name of its own."""
    path = path.absolute()
    if path.name in ("", ".", "..", ".git", MANIFEST) or ".." in path.parts:
        raise PathRefused("AP622", f"{path} is no place for a worktree")
    for part in (path, path.parent):
        if part.is_symlink():
            raise PathRefused(
                "AP622", f"{part} is a symlink", why="a worktree is made and removed where it is named"
            )
    return path


def _require_ours(folder: Path) -> Path:
    if folder.name not in read_manifest(folder.parent):
        raise PathRefused(
            "AP622",
            f"{folder} is not one of this program's worktrees",
            why=f"{folder.parent / MANIFEST} does not name it",
            fix="nothing was changed; move it away if its name is needed",
        )
    return folder


async def _is_whole(git: Git, folder: Path) -> bool:
    """Return whether `folder` is a worktree of this repository with a HEAD that can be read."""
    try:
        return await git.at(folder).read_ref("HEAD") is not None
    except PathRefused:
        return False


async def _salvage(git: Git, folder: Path, ref: str, *, whole: bool) -> str | None:
    here = git.at(folder) if whole else Git(git.common_dir, folder)
    entry = read_manifest(folder.parent)[folder.name]
    head = await here.read_ref("HEAD") if whole else await git.read_ref(entry["commit"])
    if head is None:
        raise GitError("AP624", f"the base of {folder.name} is gone from the repository; its files were kept")
    with tempfile.TemporaryDirectory(prefix="autopilot-index-") as name:
        if whole:
            tree = await git.write_tree_of_worktree(folder, Path(name) / "index")
        else:
            tree = await _tree_without_git_folder(here, head, Path(name) / "index")
    if tree == await git.tree_of(head):
        if not whole or await _is_on_a_ref(git, head):
            return None
        tip = head
    else:
        tip = ""
    earlier = await git.read_ref(ref)
    if not tip or earlier is not None:
        parents = [head] if earlier is None or earlier == head else [head, earlier]
        tip = await git.commit_tree(tree, parents, f"Unsaved work of {folder.name}\n", int(time.time()))
    await git.update_ref(ref, tip, earlier)
    return tip


async def _tree_without_git_folder(git: Git, base: str, index_file: Path) -> str:
    env = {"GIT_INDEX_FILE": str(index_file)}
    await git.run("read-tree", base, env=env)
    await git.run("add", "-A", "--", ".", env=env)
    return (await git.run("write-tree", env=env)).line


async def _is_on_a_ref(git: Git, commit: str) -> bool:
    return bool((await git.run("for-each-ref", "--count=1", f"--contains={commit}")).stdout)


async def _forget(git: Git, folder: Path) -> None:
    """Remove a worktree and git's record of it; only this one, as `prune` would also forget the user's."""
    result = await git.run("worktree", "remove", "-f", "-f", str(folder), check=False)
    if result.exit_status != 0 and "is not a working tree" not in result.stderr:
        raise GitError(
            "AP625", f"{folder} could not be removed", stderr=result.stderr, exit_status=result.exit_status
        )


def _free_name(folder: Path) -> Path:
    """Return a name beside `folder` that nothing has."""
    number = 1
    while (aside := folder.with_name(f"{folder.name}.broken-{number}")).exists():
        number += 1
    return aside
