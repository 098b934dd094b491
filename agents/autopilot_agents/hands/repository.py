"""What a repository looks like from its files: where its git folder is, what is in progress, what its config runs.

Starts no process; `git.py` does, and uses this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from autopilot_agents.errors import PathRefused
from autopilot_state.errors import PreflightError


@dataclass(frozen=True)
class Repository:
    """A repository as it was found. `head` is None and `branch` is set before the first commit."""

    top: Path
    git_dir: Path
    """Of this worktree; a linked worktree has one of its own."""
    common_dir: Path
    """Shared by all worktrees: objects, refs, config."""
    head: str | None
    branch: str | None
    """Without `refs/heads/`; None when HEAD is detached."""
    bare: bool = False


def git_folders(folder: Path) -> tuple[Path, Path]:
    """Return git folder and common folder of a worktree, a linked worktree or a git folder.

    Raises:
        PathRefused: AP621, it is none of these, or its pointer leads to something else.
    """
    entry = folder / ".git"
    if entry.is_file() and not entry.is_symlink():
        return _linked_folders(folder, entry)
    git_dir = entry if entry.is_dir() else folder
    if not (git_dir / "HEAD").is_file():
        raise PathRefused("AP621", f"{folder} is no worktree", why="it has no git folder")
    pointer = git_dir / "commondir"
    common = (git_dir / pointer.read_text().strip()) if pointer.is_file() else git_dir
    if not (common / "objects").is_dir():
        raise PathRefused("AP621", f"{folder} is no worktree", why="its git folder has no objects")
    return git_dir.resolve(), common.resolve()


def _linked_folders(folder: Path, entry: Path) -> tuple[Path, Path]:
    text = entry.read_text(errors="surrogateescape").strip()
    git_dir = (folder / text.removeprefix("gitdir:").strip()).resolve()
    pointer = git_dir / "commondir"
    if not text.startswith("gitdir:") or not (git_dir / "HEAD").is_file():
        raise PathRefused("AP621", f"{folder} is no worktree", why="its .git file points to no git folder")
    return git_dir, (git_dir / pointer.read_text().strip()).resolve() if pointer.is_file() else git_dir


_IN_PROGRESS = (
    ("rebase-merge", "a rebase", "git rebase --continue", "git rebase --abort"),
    ("rebase-apply/applying", "applying mails (git am)", "git am --continue", "git am --abort"),
    ("rebase-apply", "a rebase", "git rebase --continue", "git rebase --abort"),
    ("MERGE_HEAD", "a merge", "git merge --continue", "git merge --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --continue", "git revert --abort"),
    ("BISECT_LOG", "a bisect", "git bisect good/bad", "git bisect reset"),
)


def refuse_in_progress(git_dir: Path) -> None:
    """Raise PreflightError AP606, with how to finish or abort it, when an operation of git's is half done."""
    for name, what, finish, abort in _IN_PROGRESS:
        if (git_dir / name).exists():
            raise PreflightError(
                "AP606",
                f"{what} is in progress in this repository",
                why="HEAD is not where the work will be",
                fix=f"finish it with `{finish}` or drop it with `{abort}`, then start again",
            )


# Keys whose value git executes, or which move what git reads and writes.
_EXECUTABLE = re.compile(
    r"(?:filter\..+\.(?:clean|smudge|process)"
    r"|diff\..+\.(?:command|textconv)|diff\.external"
    r"|merge\..+\.driver|trailer\..+\.(?:command|cmd)"
    r"|core\.(?:fsmonitor|hookspath|worktree|pager|editor|sshcommand|gitproxy|askpass|attributesfile"
    r"|alternaterefscommand)"
    r"|include\.path|includeif\..+\.path|alias\..+|pager\..+|credential\.(?:.+\.)?helper"
    r"|gpg\.(?:.+\.)?program|sequence\.editor|init\.templatedir|uploadpack\.packobjectshook"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs|proxy)|submodule\..+\.update"
    r"|(?:difftool|mergetool)\..+\.(?:cmd|path)|interactive\.difffilter|extensions\..+)",
    re.IGNORECASE,
)
# Of these, what no flag or variable of ours switches off.
_UNSTOPPABLE = re.compile(r"(filter|merge)\.(.+)\.(?:clean|smudge|process|driver)", re.IGNORECASE)


def executable_keys(listing: bytes) -> list[tuple[str, str]]:
    """Return the keys and values that matter from `git config --list -z`, in the order in which git reads them."""
    found = []
    for entry in listing.split(b"\0"):
        key, _, value = entry.decode("utf-8", "surrogateescape").partition("\n")
        if _EXECUTABLE.fullmatch(key):
            found.append((key, value))
    return found


def refuse_drivers(keys: list[tuple[str, str]], attributes: str) -> None:
    """Raise PreflightError AP608 for filter and merge drivers that `attributes` (the lines that name one) use."""
    used = []
    for key, _ in keys:
        match = _UNSTOPPABLE.fullmatch(key)
        if match and re.search(rf"\b{match[1]}={re.escape(match[2])}(?:\s|$)", attributes, re.IGNORECASE):
            used.append(key)
    if used:
        raise PreflightError(
            "AP608",
            "this repository's git configuration runs programs on its files: " + ", ".join(sorted(set(used))),
            why="filter and merge drivers run outside the sandbox at every checkout, and can't be switched off",
            fix="remove them with `git config --unset KEY`, or the attributes that use them, for the time of the run",
        )


_REF = re.compile(r"refs/(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/\.))[^\x00-\x20\x7f~^:?*\[\\]+(?<![/.])")


def is_ref_name(name: str) -> bool:
    """True for a full ref name that git takes and that no option or revision can be mistaken for."""
    return _REF.fullmatch(name) is not None
