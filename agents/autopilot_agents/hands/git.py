"""The git command line, hardened: nothing of the user's configuration, hooks or environment takes part in it.

Every call costs a process of about 5 ms; the functions here need one or two. Names come back through `-z`, revisions
go in after checks, so that none is taken for an option. The user's index, stash, branches and files are not touched:
trees are written through indexes of our own. What git still executes is listed in `repository.py` and refused.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autopilot_agents.errors import GitError, PathRefused
from autopilot_agents.hands.git_process import GitResult, run_git
from autopilot_agents.hands.repository import (
    Repository,
    executable_keys,
    git_folders,
    is_ref_name,
    refuse_drivers,
    refuse_in_progress,
)
from autopilot_state.errors import PreflightError

__all__ = [
    "AUTOPILOT",
    "Git",
    "GitResult",
    "MergeResult",
    "Repository",
    "clone_commit",
    "discover",
    "fingerprint_config",
    "refuse_executable_config",
    "refuse_unusual_state",
]

AUTOPILOT = "Autopilot <autopilot@localhost>"
_NO_COMMIT = "0" * 40
_OLDEST = (2, 38)
_REVISION = re.compile(r"[A-Za-z0-9_./@{}^~+-]+(?::[^\0]*)?")


@dataclass(frozen=True)
class MergeResult:
    """A merged tree, or None and the files in conflict."""

    tree: str | None
    conflicts: tuple[str, ...] = ()
    marked: str | None = None
    """With conflicts: the tree whose files hold the conflict marks, for who resolves them."""


class Git:
    """Git for one repository, with its folders pinned when it is made.

    `repo` is a worktree, a git folder or a `Repository`. Calls with `cwd` in another worktree of the same
    repository use that worktree's HEAD and index.
    """

    def __init__(self, repo: Path | Repository, work_tree: Path | None = None) -> None:
        if isinstance(repo, Repository):
            self.git_dir, self.common_dir = repo.git_dir, repo.common_dir
            self.work_tree: Path | None = work_tree or repo.top
        else:
            self.git_dir, self.common_dir = git_folders(repo)
            self.work_tree = work_tree or (repo.resolve() if (repo / ".git").exists() else None)

    def at(self, worktree: Path) -> Git:
        """Return git for another worktree of this repository.

        Raises:
            PathRefused: AP621, it is none, or it belongs to another repository.
        """
        other = Git(worktree)
        if other.common_dir != self.common_dir:
            raise PathRefused("AP621", f"{worktree} is a worktree of another repository")
        return other

    async def run(
        self,
        *args: str,
        cwd: Path | None = None,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> GitResult:
        """Return what git gave back.

        Raises:
            GitError: AP610, `check` is set and the exit status is not 0.
        """
        if cwd is not None and cwd != self.work_tree and (cwd / ".git").exists():
            return await self.at(cwd).run(*args, input=input, env=env, check=check)
        place = [f"--git-dir={self.git_dir}"]
        if self.work_tree is not None:
            place.append(f"--work-tree={self.work_tree}")
        folder = cwd or self.work_tree or self.git_dir
        pinned = {"GIT_COMMON_DIR": str(self.common_dir), **(env or {})}
        result = await run_git([*place, *args], cwd=folder, stdin=input, env=pinned)
        if check and result.exit_status != 0:
            raise _failed(args, result)
        return result

    async def tree_of(self, commit: str) -> str:
        """Return the id of a commit's tree."""
        return (
            await self.run("rev-parse", "--verify", "--end-of-options", f"{_revision(commit)}^{{tree}}")
        ).line

    async def commit_tree(
        self,
        tree: str,
        parents: list[str] | tuple[str, ...],
        message: str,
        date: int,
        author: str = AUTOPILOT,
    ) -> str:
        """Return the id of a commit that depends on the arguments alone; `date` is in seconds since the epoch."""
        match = re.fullmatch(r"([^<>\n]*?) ?<([^<>\n]*)>", author)
        name, mail = match.groups() if match else (author, "")
        who = {f"GIT_{role}_{part}": text for role in ("AUTHOR", "COMMITTER") for part, text in
               (("NAME", name), ("EMAIL", mail), ("DATE", f"@{date} +0000"))}  # fmt: skip
        options = [word for parent in parents for word in ("-p", _revision(parent))]
        return (
            await self.run(
                "commit-tree", *options, "-F", "-", _revision(tree), input=message.encode(), env=who
            )
        ).line

    async def write_tree_of_worktree(self, worktree: Path, index_file: Path) -> str:
        """Return the id of the tree of everything in `worktree` that is not ignored.

        Works in an index of its own, seeded from the worktree's index, whose cached file times spare reading
        unchanged files; the worktree's index stays as it is.
        """
        git = self.at(worktree)
        env = {"GIT_INDEX_FILE": str(index_file.absolute())}
        try:
            # The copy keeps its time: git uses it to find files changed in the same instant.
            shutil.copy2(git.git_dir / "index", index_file)
        except FileNotFoundError:
            await git.run("read-tree", "HEAD", env=env)
        await git.run("add", "-A", "--", ".", env=env)
        return (await git.run("write-tree", env=env)).line

    async def merge_trees(self, base: str | None, ours: str, theirs: str) -> MergeResult:
        """Return the merge of two commits, written as a tree, or the files in conflict; no worktree is involved.

        With `base` None it is the merge base of the two commits. With a `base` all three may be trees.
        """
        if base is not None:
            # --merge-base came with git 2.40; commits that have it as their parent say the same to any git.
            root = await self.commit_tree(f"{base}^{{tree}}", [], "base", 0)
            ours = await self.commit_tree(f"{ours}^{{tree}}", [root], "ours", 0)
            theirs = await self.commit_tree(f"{theirs}^{{tree}}", [root], "theirs", 0)
        result = await self.run(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
            _revision(ours), _revision(theirs), check=False,
        )  # fmt: skip
        tree, *names = [os.fsdecode(part) for part in result.stdout.split(b"\0") if part] or [""]
        if result.exit_status == 0:
            return MergeResult(tree)
        if result.exit_status == 1 and tree:
            return MergeResult(None, tuple(dict.fromkeys(names)), tree)
        raise _failed(("merge-tree",), result)

    async def update_ref(self, ref: str, new: str, old: str | None = None) -> None:
        """Move `ref` from `old` to `new`; `old` None means that it must not exist yet. Doing it twice is fine.

        Raises:
            GitError: AP612, the ref stands elsewhere; AP613, it is no name for a ref.
        """
        _check_ref(ref)
        result = await self.run(
            "update-ref", "--no-deref", ref, _revision(new), old or _NO_COMMIT, check=False
        )
        if result.exit_status == 0:
            return
        current = await self.read_ref(ref)
        if current is None or current != await self.read_ref(new):
            raise GitError(
                "AP612",
                f"{ref} was not moved to {new[:12]}",
                why=f"it is expected at {old or 'nothing'} and stands at {current or 'nothing'}; {result.stderr.strip()[-200:]}",
                fix="nothing was overwritten; look at both commits before going on",
                stderr=result.stderr,
                exit_status=result.exit_status,
            )

    async def read_ref(self, ref: str) -> str | None:
        """Return the id of the commit at `ref` (a ref or any revision), or None if there is none."""
        revision = f"{_revision(ref)}^{{commit}}"
        result = await self.run("rev-parse", "--verify", "-q", "--end-of-options", revision, check=False)
        return result.line if result.exit_status == 0 else None

    async def delete_ref(self, ref: str, old: str | None = None) -> None:
        """Delete `ref`, if `old` is given only when it stands there; a missing one is fine without `old`."""
        _check_ref(ref)
        await self.run("update-ref", "--no-deref", "-d", ref, *([old] if old else []))

    async def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Return whether the first commit is reachable from the second; a commit is its own ancestor."""
        words = ("merge-base", "--is-ancestor", _revision(ancestor), _revision(descendant))
        result = await self.run(*words, check=False)
        if result.exit_status not in (0, 1):
            raise _failed(words, result)
        return result.exit_status == 0

    async def changed_files(self, a: str, b: str) -> list[str]:
        """Return the paths that differ between two commits or trees; a rename is two of them."""
        result = await self.run(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv",
            _revision(a), _revision(b), "--",
        )  # fmt: skip
        return [os.fsdecode(name) for name in result.stdout.split(b"\0") if name]

    async def read_blob(self, commit: str, path: str) -> bytes:
        """Return the bytes of a file in a commit; of a symlink, its target.

        Raises:
            GitError: AP610, there is no such file.
        """
        return (await self.run("cat-file", "blob", f"{_revision(commit)}:{path}")).stdout

    async def checkout_into(self, worktree: Path, commit: str) -> None:
        """Make `worktree` show `commit`, detached; files that no commit knows are left."""
        git = self.at(worktree)
        words = ("checkout", "-q", "-f", "--detach", "--no-recurse-submodules", _revision(commit), "--")
        await git.run("-c", "core.sparseCheckout=false", *words)


def _revision(text: str) -> str:
    """Return `text` if it can only be read as a revision, never as an option."""
    if text.startswith("-") or not _REVISION.fullmatch(text):
        raise GitError("AP614", f"{text[:80]!r} is no revision", fix="give a commit id or a full ref name")
    return text


def _check_ref(ref: str) -> None:
    if not is_ref_name(ref):
        raise GitError(
            "AP613", f"{ref[:120]!r} is no name for a ref", fix="a full name such as refs/heads/topic"
        )


def _failed(args: tuple[str, ...], result: GitResult) -> GitError:
    command = next((word for word in args if not word.startswith("-") and "=" not in word), "")
    return GitError(
        "AP610",
        f"git {command} ended with status {result.exit_status}",
        stderr=result.stderr[-4_000:],
        exit_status=result.exit_status,
    )


async def discover(path: Path) -> Repository:
    """Return the repository that `path` lies in.

    Raises:
        PreflightError: no repository (AP601), a bare one (AP602), inside a git folder (AP603), no commits (AP604),
            git is missing or older than 2.38 (AP605).
    """
    await _require_version()
    if not path.is_dir():
        raise PreflightError(
            "AP601", f"{path} is no folder", fix="start in a git repository, or give -C FOLDER"
        )
    result = await run_git(
        ["-c", "safe.bareRepository=all", "rev-parse", "--is-bare-repository", "--is-inside-git-dir",
         "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel",
         "HEAD", "--symbolic-full-name", "HEAD"],
        cwd=path,
    )  # fmt: skip
    said = os.fsdecode(result.stdout).split("\n")
    if len(said) < 5:
        raise PreflightError(
            "AP601", f"{path} is no git repository", fix="start in one, or make one with `git init`"
        )
    bare, inside, git_dir, common_dir = said[:4]
    if bare == "true":
        raise PreflightError(
            "AP602", f"{git_dir} is a bare repository", fix="start in a clone of it that has files"
        )
    if inside == "true":
        raise PreflightError(
            "AP603", f"{path} lies inside a git folder", fix="start in the folder that holds .git"
        )
    if result.exit_status != 0:
        _refuse_without_commit(result, path)
    top, head, full_name = said[4:7]
    branch = full_name.removeprefix("refs/heads/") if full_name.startswith("refs/heads/") else None
    return Repository(Path(top), Path(git_dir).resolve(), Path(common_dir).resolve(), head, branch)


def _refuse_without_commit(result: GitResult, path: Path) -> None:
    if "ambiguous argument 'HEAD'" in result.stderr or "bad revision 'HEAD'" in result.stderr:
        raise PreflightError(
            "AP604",
            "this repository has no commits",
            why="a run starts from a commit",
            fix="make the first one: git add -A && git commit -m 'First commit'",
        )
    raise PreflightError(
        "AP601", f"git can't read the repository at {path}", why=result.stderr.strip()[-500:]
    )


async def _require_version() -> None:
    fix = "install git 2.38 or later"
    try:
        said = (await run_git(["version"], cwd=Path("/"))).line
    except FileNotFoundError as cause:
        raise PreflightError("AP605", "git is not installed", fix=fix) from cause
    match = re.search(r"(\d+)\.(\d+)", said)
    if match is None or (int(match[1]), int(match[2])) < _OLDEST:
        raise PreflightError(
            "AP605", f"this git is too old: {said}", why="merging without a worktree", fix=fix
        )


async def clone_commit(source: Path, target: Path, commit: str) -> Git:
    """Return git for a fresh clone of the repository at `source`, with `commit` checked out in `target`.

    Raises:
        GitError: AP610, it can't be cloned.
    """
    # A clone by path is the file protocol, which is off for everything else.
    words = ["-c", "protocol.file.allow=always", "clone", "-q", "--no-local", "--no-checkout"]
    result = await run_git([*words, str(source), str(target)], cwd=target.parent)
    if result.exit_status != 0:
        raise _failed(("clone",), result)
    git = Git(target)
    await git.checkout_into(target, commit)
    return git


async def refuse_unusual_state(repo: Repository) -> None:
    """Return if nothing of git's is half done in the user's worktree.

    An `index.lock` is no reason: the user's index is never written.

    Raises:
        PreflightError: AP606, a merge, rebase, cherry-pick, revert, bisect or am; AP607, unmerged files.
    """
    refuse_in_progress(repo.git_dir)
    unmerged = (await Git(repo).run("ls-files", "-u", "-z")).stdout
    names = {os.fsdecode(entry.partition(b"\t")[2]) for entry in unmerged.split(b"\0") if entry}
    if names:
        raise PreflightError(
            "AP607",
            f"{len(names)} unmerged file(s): {', '.join(sorted(names)[:5])}",
            fix="resolve them and `git add` them, or drop the changes, then start again",
        )


async def _config(repo: Repository) -> list[tuple[str, str]]:
    # With the global and system files switched off, what is left is the repository's own, worktree's included.
    listing = (await Git(repo).run("config", "--list", "--includes", "-z", "--show-scope")).stdout
    parts = listing.split(b"\0")
    local = [
        entry
        for scope, entry in zip(parts[::2], parts[1::2], strict=False)
        if scope in (b"local", b"worktree")
    ]
    return executable_keys(b"\0".join(local))


async def fingerprint_config(repo: Repository) -> str:
    """Return a hash over the keys of the repository's configuration that git would execute, and their values."""
    text = "\0".join(f"{key}\n{value}" for key, value in await _config(repo))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


async def refuse_executable_config(repo: Repository) -> None:
    """Return if git runs no filter or merge driver for this repository's files.

    Raises:
        PreflightError: AP608, names the keys that the repository's attributes use.
    """
    keys = await _config(repo)
    if not any(key.lower().startswith(("filter.", "merge.")) for key, _ in keys):
        return
    words = ("grep", "-h", "-E", "(filter|merge)=", "HEAD", "--", ":(glob)**/.gitattributes")
    attributes = os.fsdecode((await Git(repo).run(*words, check=False)).stdout)
    info = repo.common_dir / "info" / "attributes"
    if info.is_file():
        attributes += info.read_text(errors="surrogateescape")
    refuse_drivers(keys, attributes)
