"""What the hardened git promises: it reads any repository, runs nothing of it, and never touches the user's work."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import pytest

from autopilot_agents.errors import GitError, PathRefused
from autopilot_agents.hands.git import (
    Git,
    discover,
    fingerprint_config,
    refuse_executable_config,
    refuse_unusual_state,
)
from autopilot_state.errors import PreflightError

pytestmark = pytest.mark.anyio

USER_ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "User",
    "GIT_AUTHOR_EMAIL": "user@example.com",
    "GIT_COMMITTER_NAME": "User",
    "GIT_COMMITTER_EMAIL": "user@example.com",
}


def user_git(repo: Path, *args: str, check: bool = True, **env: str) -> str:
    """Run stock git as the user would."""
    done = subprocess.run(["git", *args], cwd=repo, env={**USER_ENV, **env}, capture_output=True, check=check)
    return os.fsdecode(done.stdout)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    path.mkdir()
    user_git(path, "init", "-q", "-b", "main")
    (path / "a.txt").write_text("one\ntwo\nthree\n")
    (path / ".gitignore").write_text("ignored/\n")
    user_git(path, "add", "-A")
    user_git(path, "commit", "-qm", "first")
    return path


def commit_file(repo: Path, name: str, content: str) -> str:
    (repo / name).write_text(content)
    user_git(repo, "add", "-A")
    user_git(repo, "commit", "-qm", f"write {name}")
    return user_git(repo, "rev-parse", "HEAD").strip()


async def refused(path: Path) -> PreflightError:
    with pytest.raises(PreflightError) as caught:
        await discover(path)
    return caught.value


async def test_a_repository_is_found_from_a_folder_below(repo: Path) -> None:
    """From any folder of the worktree its top, head and branch are found."""
    (repo / "deep" / "er").mkdir(parents=True)
    found = await discover(repo / "deep" / "er")
    assert (found.top, found.git_dir, found.common_dir) == (repo, repo / ".git", repo / ".git")
    assert (found.head, found.branch) == (user_git(repo, "rev-parse", "HEAD").strip(), "main")


async def test_a_detached_head_is_a_base_like_any_other(repo: Path) -> None:
    """F2: with a detached HEAD the commit is the base and there is no branch."""
    user_git(repo, "checkout", "-q", "--detach")
    found = await discover(repo)
    assert found.branch is None
    assert found.head == user_git(repo, "rev-parse", "HEAD").strip()


async def test_no_commits_are_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    """F2: an unborn branch is refused, and the fix makes the first commit."""
    user_git(tmp_path, "init", "-q")
    error = await refused(tmp_path)
    assert error.code == "AP604"
    assert "git commit" in error.fix


async def test_places_that_are_no_worktree_are_refused_by_name(repo: Path, tmp_path: Path) -> None:
    """F3: no repository, a bare one, the inside of .git and a missing folder each have a code of their own."""
    user_git(tmp_path, "init", "-q", "--bare", "bare.git")
    (tmp_path / "plain").mkdir()
    codes = [
        (await refused(place)).code
        for place in (
            tmp_path / "plain",
            tmp_path / "gone",
            tmp_path / "bare.git",
            repo / ".git",
            repo / ".git/refs",
        )
    ]
    assert codes == ["AP601", "AP601", "AP602", "AP603", "AP603"]


async def test_a_linked_worktree_of_the_user_is_found(repo: Path, tmp_path: Path) -> None:
    """F3: in a linked worktree its own git folder and the shared one are told apart."""
    user_git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    found = await discover(tmp_path / "side")
    assert found.top == tmp_path / "side"
    assert found.common_dir == repo / ".git"
    assert found.git_dir == repo / ".git" / "worktrees" / "side"


async def test_git_variables_of_the_caller_are_dropped(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F3: GIT_DIR, GIT_INDEX_FILE and injected configuration in the environment change nothing."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "alias.x")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "!touch /nope")
    found = await discover(repo)
    assert found.git_dir == repo / ".git"
    assert (await Git(found).run("config", "--get", "alias.x", check=False)).exit_status == 1


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to make a repository of another user")
async def test_root_can_work_in_a_repository_of_another_user(repo: Path) -> None:
    """A repository that belongs to somebody else is read, where stock git refuses for doubtful ownership."""
    for path in (repo, *repo.rglob("*")):
        os.lchown(path, 12345, 12345)
    assert user_git(repo, "rev-parse", "HEAD", check=False) == ""
    assert (await discover(repo)).head is not None


def _conflict(repo: Path) -> None:
    user_git(repo, "checkout", "-q", "-b", "other")
    commit_file(repo, "a.txt", "other\n")
    user_git(repo, "checkout", "-q", "main")
    commit_file(repo, "a.txt", "main\n")


@pytest.mark.parametrize(
    ("command", "what", "abort"),
    [
        (("merge", "other"), "a merge", "git merge --abort"),
        (("rebase", "other"), "a rebase", "git rebase --abort"),
        (("cherry-pick", "other"), "a cherry-pick", "git cherry-pick --abort"),
        (("bisect", "start"), "a bisect", "git bisect reset"),
    ],
)
async def test_an_operation_in_progress_is_refused_with_its_end(
    repo: Path, command: tuple[str, ...], what: str, abort: str
) -> None:
    """F4: a half done operation is named with how to finish and how to abort it; after the abort all is well."""
    _conflict(repo)
    await refuse_unusual_state(await discover(repo))
    user_git(repo, *command, check=False)
    with pytest.raises(PreflightError) as caught:
        await refuse_unusual_state(await discover(repo))
    assert caught.value.code == "AP606"
    assert what in caught.value.what
    assert abort in caught.value.fix
    user_git(repo, *abort.split()[1:])
    await refuse_unusual_state(await discover(repo))


async def test_mails_being_applied_are_told_from_a_rebase(repo: Path) -> None:
    """F4: a stopped `git am` is not called a rebase, whose commands would not end it."""
    _conflict(repo)
    patch = repo.parent / "p.patch"
    patch.write_text(user_git(repo, "format-patch", "-1", "--stdout", "other"))
    user_git(repo, "am", str(patch), check=False)
    with pytest.raises(PreflightError) as caught:
        await refuse_unusual_state(await discover(repo))
    assert "git am --abort" in caught.value.fix


async def test_unmerged_files_without_a_merge_are_named(repo: Path) -> None:
    """F5: unmerged entries are refused with the files' names, also when nothing says where they came from."""
    _conflict(repo)
    user_git(repo, "merge", "other", check=False)
    (repo / ".git" / "MERGE_HEAD").unlink()
    with pytest.raises(PreflightError) as caught:
        await refuse_unusual_state(await discover(repo))
    assert caught.value.code == "AP607"
    assert "a.txt" in caught.value.what


async def test_a_lock_on_the_users_index_stops_nothing(repo: Path) -> None:
    """F5: the user's index.lock is neither a reason to refuse nor removed: their index is never written."""
    lock = repo / ".git" / "index.lock"
    lock.write_text("")
    found = await discover(repo)
    await refuse_unusual_state(found)
    await Git(found).write_tree_of_worktree(repo, repo.parent / "index")
    assert lock.exists()


HOSTILE = {
    "core.fsmonitor": "touch {canary}; false",
    "core.sshCommand": "touch {canary}",
    "core.pager": "touch {canary}",
    "core.editor": "touch {canary}",
    "gpg.program": "{canary}.sh",
    "commit.gpgSign": "true",
    "diff.external": "{canary}.sh",
    "diff.evil.command": "{canary}.sh",
    "diff.evil.textconv": "{canary}.sh",
    "alias.rev-parse": "!touch {canary}",
    "trailer.x.command": "touch {canary}",
}


async def test_a_hostile_repository_runs_nothing(repo: Path, tmp_path: Path) -> None:
    """T-GIT-5, T-GIT-6, F6: hooks, fsmonitor, pagers, diff drivers and signing of the repository never run."""
    canary = tmp_path / "canary"
    script = tmp_path / "canary.sh"
    script.write_text(f"#!/bin/sh\ntouch {canary}\n")
    script.chmod(0o755)
    (repo / ".gitattributes").write_text("* diff=evil\n")
    head = commit_file(repo, "b.txt", "b\n")
    for name in (
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "post-commit",
    ):
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(script.read_text())
        hook.chmod(0o755)
    for key, value in HOSTILE.items():
        user_git(repo, "config", key, value.format(canary=canary))
    canary.unlink(missing_ok=True)

    git = Git(await discover(repo))
    await refuse_unusual_state(await discover(repo))
    tree = await git.write_tree_of_worktree(repo, tmp_path / "index")
    new = await git.commit_tree(tree, [head], "work\n", 1_700_000_000)
    await git.update_ref("refs/autopilot/test", new)
    await git.changed_files(f"{head}^", new)
    await git.run("diff", "--no-ext-diff", "--no-textconv", f"{head}^", head)
    await git.run("worktree", "add", "--detach", "--no-checkout", str(tmp_path / "wt"), head)
    await git.checkout_into(tmp_path / "wt", head)
    await git.merge_trees(None, head, new)
    assert not canary.exists()
    user_git(repo, "checkout", "-q", "--detach")
    assert canary.exists(), "the trap itself works: stock git runs it"


async def test_a_redirected_worktree_is_not_followed(repo: Path, tmp_path: Path) -> None:
    """F12: core.worktree in the repository's config does not move what is read or written."""
    (tmp_path / "victim").mkdir()
    user_git(repo, "config", "core.worktree", str(tmp_path / "victim"))
    git = Git(repo)
    tree = await git.write_tree_of_worktree(repo, tmp_path / "index")
    assert tree == await git.tree_of("HEAD")
    assert list((tmp_path / "victim").iterdir()) == []


async def test_a_bare_repository_inside_the_files_is_not_taken_for_the_real_one(
    repo: Path, tmp_path: Path
) -> None:
    """T-GIT-5: git started in a folder that looks like a bare repository uses the pinned one."""
    user_git(repo, "init", "-q", "--bare", str(repo / "trap"))
    user_git(repo / "trap", "config", "core.fsmonitor", f"touch {tmp_path / 'canary'}")
    result = await Git(repo).run("status", "--porcelain", "-z", cwd=repo / "trap")
    assert b"trap" in result.stdout or result.stdout == b""
    assert (await Git(repo).run("rev-parse", "HEAD", cwd=repo / "trap")).line == user_git(
        repo, "rev-parse", "HEAD"
    ).strip()
    assert not (tmp_path / "canary").exists()


async def test_a_changed_config_changes_the_fingerprint(repo: Path) -> None:
    """F12: a key that git executes changes the fingerprint, also through an include; an ordinary key does not."""
    found = await discover(repo)
    before = await fingerprint_config(found)
    user_git(repo, "config", "user.nickname", "x")
    assert await fingerprint_config(found) == before
    included = repo / ".git" / "more"
    included.write_text("")
    user_git(repo, "config", "include.path", str(included))
    with_include = await fingerprint_config(found)
    included.write_text('[filter "x"]\n\tsmudge = touch /nope\n')
    assert len({before, with_include, await fingerprint_config(found)}) == 3


async def test_a_filter_is_refused_only_where_attributes_use_it(repo: Path) -> None:
    """F7, F12: a filter or merge driver that files use is refused by name; one that nothing uses is not."""
    user_git(repo, "config", "filter.evil.smudge", "touch /nope")
    found = await discover(repo)
    await refuse_executable_config(found)
    commit_file(repo, ".gitattributes", "*.bin filter=evil\n")
    with pytest.raises(PreflightError) as caught:
        await refuse_executable_config(found)
    assert caught.value.code == "AP608"
    assert "filter.evil.smudge" in caught.value.what


NAMES = [
    b"new\nline", b"tab\there", b"-x", b"--output=x", b"caf\xe9-latin1", "\u00e9".encode(), "e\u0301".encode(), b"A", b"a",
    b"n" * 255, b"dot.", b"space ", b"CON", b" lead", b"quote\"'`$(x)", b"star*", b":(glob)x", b"back\\slash", b"#hash", b"!bang",
]  # fmt: skip


async def test_any_file_name_goes_in_and_comes_back(repo: Path, tmp_path: Path) -> None:
    """F10: names with newlines, dashes, other encodings or pathspec magic are stored and listed byte for byte."""
    for name in NAMES:
        with open(os.path.join(os.fsencode(repo), name), "wb") as file:
            file.write(name)
    git = Git(repo)
    tree = await git.write_tree_of_worktree(repo, tmp_path / "index")
    changed = await git.changed_files("HEAD", tree)
    assert sorted(os.fsencode(name) for name in changed) == sorted(NAMES)
    for name in NAMES:
        assert await git.read_blob(tree, os.fsdecode(name)) == name


async def test_the_users_index_stash_and_files_are_not_touched(repo: Path, tmp_path: Path) -> None:
    """F1: writing the tree of a dirty worktree leaves index, stash, refs and files byte for byte as they were."""
    (repo / "a.txt").write_text("stashed\n")
    user_git(repo, "stash")
    (repo / "a.txt").write_text("staged\n")
    user_git(repo, "add", "a.txt")
    (repo / "a.txt").write_text("worked on\n")
    (repo / "untracked").write_text("u")
    (repo / "ignored").mkdir()
    (repo / "ignored" / "x").write_text("i")
    before = snapshot(repo)
    git = Git(repo)
    tree = await git.write_tree_of_worktree(repo, tmp_path / "index")
    assert await git.read_blob(tree, "a.txt") == b"worked on\n"
    assert await git.changed_files("HEAD", tree) == ["a.txt", "untracked"]
    assert snapshot(repo) == before


def snapshot(repo: Path) -> dict[str, bytes]:
    """Return every file of the user's, git's included, but the objects, of which there may be more."""
    return {
        str(path.relative_to(repo)): path.read_bytes()
        for path in sorted(repo.rglob("*"))
        if path.is_file() and not path.is_relative_to(repo / ".git" / "objects")
    }


async def test_an_edit_in_the_same_instant_with_the_same_size_is_seen(repo: Path, tmp_path: Path) -> None:
    """A file rewritten with the size and the time that git remembers, in the instant of the index, is still read."""
    user_git(repo, "config", "core.trustctime", "false")  # the one stamp that can't be set by hand
    instant = (1_700_000_000_000_000_000, 1_700_000_000_000_000_000)
    (repo / "a.txt").write_text("lower\n")
    os.utime(repo / "a.txt", ns=instant)
    user_git(repo, "add", "a.txt")
    os.utime(repo / ".git" / "index", ns=instant)
    (repo / "a.txt").write_text("UPPER\n")
    os.utime(repo / "a.txt", ns=instant)
    git = Git(repo)
    tree = await git.write_tree_of_worktree(repo, tmp_path / "index")
    assert await git.read_blob(tree, "a.txt") == b"UPPER\n"


async def test_the_same_arguments_give_the_same_commit(repo: Path) -> None:
    """A commit depends on tree, parents, message, date and author alone."""
    git = Git(repo)
    head = user_git(repo, "rev-parse", "HEAD").strip()
    tree = await git.tree_of(head)
    ids = {await git.commit_tree(tree, [head], "Grüße\n", 5) for _ in range(2)}
    assert len(ids) == 1
    assert await git.commit_tree(tree, [head], "Grüße\n", 5, author="Ann <ann@example.com>") not in ids
    shown = user_git(repo, "show", "-s", "--format=%an <%ae>|%ct|%s", ids.pop())
    assert shown.strip() == "Autopilot <autopilot@localhost>|5|Grüße"


async def test_merges_are_made_without_a_worktree(repo: Path) -> None:
    """Two commits merge into a tree, or name the files in conflict; with a base, trees merge as well."""
    git = Git(repo)
    base = user_git(repo, "rev-parse", "HEAD").strip()
    ours = commit_file(repo, "b.txt", "b\n")
    user_git(repo, "checkout", "-q", "-b", "side", base)
    theirs = commit_file(repo, "c.txt", "c\n")
    merged = await git.merge_trees(None, ours, theirs)
    assert merged.tree is not None
    assert await git.changed_files(base, merged.tree) == ["b.txt", "c.txt"]
    trees = [await git.tree_of(commit) for commit in (base, ours, theirs)]
    assert await git.merge_trees(*trees) == merged
    clash = commit_file(repo, "b.txt", "other\n")
    conflict = await git.merge_trees(None, ours, clash)
    assert conflict.tree is None
    assert conflict.conflicts == ("b.txt",)
    assert await git.is_ancestor(base, clash)
    assert not await git.is_ancestor(ours, clash)


async def test_a_ref_moves_only_from_where_it_is_expected(repo: Path) -> None:
    """Moving a ref compares first; the same move twice is fine; a ref that stands elsewhere is left there."""
    git = Git(repo)
    first = user_git(repo, "rev-parse", "HEAD").strip()
    second = commit_file(repo, "b.txt", "b\n")
    ref = "refs/autopilot/run"
    await git.update_ref(ref, first)
    await git.update_ref(ref, first)
    with pytest.raises(GitError) as caught:
        await git.update_ref(ref, second)
    assert caught.value.code == "AP612"
    assert await git.read_ref(ref) == first
    await git.update_ref(ref, second, first)
    await git.update_ref(ref, second, first)
    await git.delete_ref(ref)
    assert await git.read_ref(ref) is None


@pytest.mark.parametrize(
    "ref",
    [
        "-f",
        "../x",
        "HEAD",
        "refs/heads/x.lock",
        "refs/heads/a..b",
        "refs/heads/a b",
        "refs/heads/-/../x",
        "refs/heads/x/",
    ],
)
async def test_a_name_that_is_no_ref_is_refused(repo: Path, ref: str) -> None:
    """F13: names from elsewhere that are no full ref names never reach git."""
    with pytest.raises(GitError) as caught:
        await Git(repo).update_ref(ref, "HEAD")
    assert caught.value.code == "AP613"


@pytest.mark.parametrize("revision", ["--output=x", "-h", "a b", "HEAD;x", ""])
async def test_a_revision_is_never_taken_for_an_option(repo: Path, revision: str) -> None:
    """T-GIT-9: what starts with a dash or holds other than a revision's characters is refused."""
    with pytest.raises(GitError) as caught:
        await Git(repo).changed_files(revision, "HEAD")
    assert caught.value.code == "AP614"


async def test_a_worktree_that_points_to_another_repository_is_refused(repo: Path, tmp_path: Path) -> None:
    """F14: a .git file that an agent turned towards another repository is not followed."""
    (tmp_path / "other").mkdir()
    user_git(tmp_path / "other", "init", "-q")
    user_git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "wt"))
    (tmp_path / "wt" / ".git").write_text(f"gitdir: {tmp_path / 'other' / '.git'}\n")
    with pytest.raises(PathRefused) as caught:
        await Git(repo).run("status", cwd=tmp_path / "wt")
    assert caught.value.code == "AP621"


async def test_a_failure_says_which_command_and_why(repo: Path) -> None:
    """A failed git names its command and holds git's own words; with check off its status comes back."""
    git = Git(repo)
    with pytest.raises(GitError) as caught:
        await git.read_blob("HEAD", "missing.txt")
    assert "cat-file" in caught.value.what
    assert "missing.txt" in caught.value.stderr
    assert (await git.run("cat-file", "-e", "HEAD:missing.txt", check=False)).exit_status != 0


async def test_input_and_output_larger_than_a_pipe_pass(repo: Path) -> None:
    """A megabyte goes in and comes back while both pipes are full."""
    data = os.urandom(1 << 20)
    git = Git(repo)
    blob = (await git.run("hash-object", "-w", "--stdin", input=data)).line
    assert (await git.run("cat-file", "blob", blob)).stdout == data


async def test_a_cancelled_git_leaves_no_process(repo: Path, tmp_path: Path) -> None:
    """Cancelling a call that waits for its input ends the process too."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with anyio.move_on_after(0.3):
        await Git(repo).run("hash-object", "--", str(fifo))
    running = [_command_line(entry) for entry in Path("/proc").glob("[0-9]*/cmdline")]
    assert not any(str(fifo).encode() in words for words in running)


def _command_line(entry: Path) -> bytes:
    try:
        return entry.read_bytes()
    except OSError:  # it ended meanwhile
        return b""
