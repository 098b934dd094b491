"""Where things are: the repository around a path, its run folders, the user's own folders.

Reads files only and starts no git, so that `status` answers at once. It trusts nothing that it finds: a run's folder
is used only when its name is a run id.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autopilot_state.errors import JournalError, PreflightError, UsageError
from autopilot_state.fs import RealFileSystem, append_durably, make_private_directory
from autopilot_state.store import JOURNAL_NAME, load_state

FOLDER = ".autopilot"
_RUN_ID = re.compile(r"[0-9a-f]{4,8}\Z")
_EXCLUDE_LINE = f"/{FOLDER}/"


@dataclass(frozen=True)
class Repository:
    """A git repository: `top` is the worktree we stand in, `main` the one that holds `.autopilot`."""

    top: Path
    common_dir: Path
    main: Path

    @property
    def folder(self) -> Path:
        """`.autopilot` of this repository; linked worktrees share it."""
        return self.main / FOLDER

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return self.folder / "runs"


def find_repository(start: Path) -> Repository:
    """Return the repository that `start` lies in.

    Raises:
        PreflightError: there is none, or its `.git` can't be read.
    """
    if not start.is_dir():
        raise PreflightError("AP640", f"{start} is no directory", fix="name a folder inside a git repository")
    start = Path(os.path.realpath(start))
    for top in (start, *start.parents):
        if (top / ".git").exists():
            return _repository(top)
    raise PreflightError(
        "AP641",
        f"{start} is not in a git repository",
        why="a run works on commits: every result is one, and so is the way back",
        fix="git init && git add -A && git commit -m 'Start'",
    )


def _repository(top: Path) -> Repository:
    dot_git = top / ".git"
    if dot_git.is_dir():
        return Repository(top, dot_git, top)
    try:
        git_dir = top / dot_git.read_text(encoding="utf-8").strip().removeprefix("gitdir:").strip()
        shared = git_dir / "commondir"
        common = git_dir / shared.read_text(encoding="utf-8").strip() if shared.is_file() else git_dir
        common = common.resolve(strict=True)
    except (OSError, ValueError) as cause:
        raise PreflightError(
            "AP642", f"{dot_git} names no git directory", why=str(cause), fix="git worktree repair"
        ) from cause
    linked = shared.is_file() and common.name == ".git"
    return Repository(top, common, common.parent if linked else top)


def run_folder(repository: Repository, run_id: str) -> Path:
    """Return where the run `run_id` of a repository lives, whether or not it exists."""
    return repository.runs / run_id


def run_folders(repository: Repository) -> list[Path]:
    """Return the folders of all runs of a repository, the one that was last written to first."""
    try:
        found = [path for path in repository.runs.iterdir() if _RUN_ID.match(path.name)]
    except OSError:
        return []
    dated = [(path.joinpath(JOURNAL_NAME).stat().st_mtime_ns, path) for path in found if _has_journal(path)]
    return [path for _, path in sorted(dated, reverse=True)]


def _has_journal(path: Path) -> bool:
    return path.joinpath(JOURNAL_NAME).is_file() and not path.is_symlink()


def find_run(repository: Repository, run_id: str | None) -> Path:
    """Return the folder of the run `run_id`, or of the newest run where None is given.

    Raises:
        UsageError: there is no such run.
    """
    folders = run_folders(repository)
    if run_id is None and folders:
        return folders[0]
    for folder in folders:
        if folder.name == run_id:
            return folder
    known = ", ".join(folder.name for folder in folders[:8])
    if run_id is None or not known:
        raise UsageError(
            "AP643", f"{repository.main} has no run yet", fix="start one: autopilot run ROADMAP.md"
        )
    raise UsageError("AP644", f"no run {run_id!r} here", why=f"runs: {known}", fix=f"use {folders[0].name}")


def unfinished_run(repository: Repository) -> Path | None:
    """Return the folder of the newest run without a `run.finished` record, or None. Damaged runs don't count."""
    for folder in run_folders(repository):
        try:
            status = load_state(folder).get("run", {}).get("status")
        except JournalError:
            continue
        if status in ("running", "stopped"):
            return folder
    return None


def exclude_folder(repository: Repository) -> bool:
    """Keep `.autopilot` out of `git status` through info/exclude; return whether a line had to be added.

    Raises:
        StorageError: the disk refused.
    """
    path = repository.common_dir / "info" / "exclude"
    before = path.read_bytes() if path.is_file() else b""
    if _EXCLUDE_LINE.encode() in before.splitlines():
        return False
    make_private_directory(path.parent)
    disk = RealFileSystem()
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        start = "" if not before or before.endswith(b"\n") else "\n"
        append_durably(disk, fd, path, f"{start}{_EXCLUDE_LINE}\n".encode())
    finally:
        os.close(fd)
    return True


def config_home(environ: Mapping[str, str]) -> Path:
    """Return the user's folder of settings, `$XDG_CONFIG_HOME/autopilot`."""
    return _xdg(environ, "XDG_CONFIG_HOME", ".config")


def state_home(environ: Mapping[str, str]) -> Path:
    """Return the user's folder of state, `$XDG_STATE_HOME/autopilot`."""
    return _xdg(environ, "XDG_STATE_HOME", ".local/state")


def _xdg(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    named = environ.get(variable, "")
    if named.startswith("/"):  # the specification says to ignore relative paths
        return Path(named) / "autopilot"
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises without a user
    if not home.startswith("/"):
        raise PreflightError(
            "AP645", f"neither {variable} nor HOME names a folder", fix=f"export {variable}=/an/absolute/path"
        )
    return Path(home) / below_home / "autopilot"
