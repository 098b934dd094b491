"""What worktrees promise: made, set back and removed without touching the user's work, and no agent's work lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import pytest

from autopilot_agents.errors import PathRefused
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.worktree import add_worktree, read_manifest, remove_worktree, reset_worktree

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
SALVAGE = "refs/autopilot/salvage/run/20"


def user_git(repo: Path, *args: str) -> str:
    """Run stock git as the user would."""
    done = subprocess.run(["git", *args], cwd=repo, env=USER_ENV, capture_output=True, check=True)
    return os.fsdecode(done.stdout).strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    path.mkdir()
    user_git(path, "init", "-q", "-b", "main")
    (path / "a.txt").write_text("one\n")
    (path / ".gitignore").write_text("build/\n.autopilot/\n")
    user_git(path, "add", "-A")
    user_git(path, "commit", "-qm", "first")
    return path


@pytest.fixture
def place(repo: Path) -> Path:
    return repo / ".autopilot" / "worktrees" / "run" / "20"


def users_files(repo: Path) -> dict[str, bytes]:
    """Return everything of the user's: files, index, stash, refs, config; not objects and worktree records."""
    left_out = [repo / ".autopilot", repo / ".git" / "objects", repo / ".git" / "worktrees"]
    return {
        str(path.relative_to(repo)): path.read_bytes()
        for path in sorted(repo.rglob("*"))
        if path.is_file() and not any(path.is_relative_to(folder) for folder in left_out)
    }


async def test_the_users_work_is_byte_for_byte_the_same(repo: Path, place: Path) -> None:
    """F1: adding, changing, resetting and removing worktrees leaves a dirty checkout, its index and stash alone."""
    (repo / "a.txt").write_text("stashed\n")
    user_git(repo, "stash")
    (repo / "a.txt").write_text("staged\n")
    user_git(repo, "add", "a.txt")
    (repo / "a.txt").write_text("half staged\n")
    (repo / "untracked").write_text("u")
    (repo / "build").mkdir()
    (repo / "build" / "cache").write_text("i")
    before = users_files(repo)
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    assert (place / "a.txt").read_text() == "one\n"
    (place / "a.txt").write_text("agent\n")
    await reset_worktree(git, place, "HEAD")
    (place / "new").write_text("agent\n")
    await remove_worktree(git, place, salvage_ref=SALVAGE)
    user_git(repo, "update-ref", "-d", SALVAGE)
    assert users_files(repo) == before


async def test_a_worktree_that_is_there_is_kept_with_its_work(repo: Path, place: Path) -> None:
    """Adding again after a restart gives the same worktree, with what was not committed in it."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    (place / "half-done").write_text("work")
    await add_worktree(git, place, "HEAD")
    assert (place / "half-done").read_text() == "work"


async def test_a_broken_worktree_is_made_anew_and_its_files_are_kept(repo: Path, place: Path) -> None:
    """When git's record of a worktree is gone, a new one is made and the old files stay beside it."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    (place / "half-done").write_text("work")
    (place / ".git").write_text("gitdir: /nonexistent\n")
    await add_worktree(git, place, "HEAD")
    assert sorted(path.name for path in place.iterdir()) == [".git", ".gitignore", "a.txt"]
    assert (place.with_name("20.broken-1") / "half-done").read_text() == "work"
    assert user_git(place, "status", "--porcelain") == ""


async def test_a_deleted_worktree_is_made_anew(repo: Path, place: Path) -> None:
    """A folder that somebody deleted, while git still lists it, is no obstacle."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    subprocess.run(["rm", "-r", str(place)], check=True)
    await add_worktree(git, place, "HEAD")
    assert (place / "a.txt").exists()


async def test_hooks_do_not_run(repo: Path, place: Path, tmp_path: Path) -> None:
    """F6: post-checkout and reference-transaction hooks of the repository see nothing of a worktree's life."""
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'canary'}\n")
        hook.chmod(0o755)
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    (place / "new").write_text("x")
    await reset_worktree(git, place, "HEAD")
    (place / "new").write_text("x")
    await remove_worktree(git, place, salvage_ref=SALVAGE)
    assert not (tmp_path / "canary").exists()


async def test_reset_keeps_build_caches_and_nothing_else(repo: Path, place: Path) -> None:
    """After a reset the files are the commit's; untracked ones are gone, ignored ones stay."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    (place / "a.txt").write_text("changed")
    (place / "new" / "nested").mkdir(parents=True)
    user_git(place / "new" / "nested", "init", "-q")
    (place / "build").mkdir()
    (place / "build" / "cache").write_text("slow to make")
    await reset_worktree(git, place, "HEAD")
    assert (place / "a.txt").read_text() == "one\n"
    assert (place / "build" / "cache").read_text() == "slow to make"
    assert not (place / "new").exists()


async def test_unsaved_work_goes_to_the_salvage_ref(repo: Path, place: Path) -> None:
    """R3: what is in no commit is on the salvage ref when the worktree is gone."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    (place / "a.txt").write_text("changed\n")
    (place / "new").write_text("new\n")
    salvaged = await remove_worktree(git, place, salvage_ref=SALVAGE)
    assert not place.exists()
    assert salvaged == user_git(repo, "rev-parse", SALVAGE)
    assert user_git(repo, "show", f"{SALVAGE}:a.txt") == "changed"
    assert user_git(repo, "show", f"{SALVAGE}:new") == "new"
    assert str(place) not in user_git(repo, "worktree", "list")
    assert read_manifest(place.parent) == {}


async def test_a_second_salvage_keeps_the_first(repo: Path, place: Path) -> None:
    """Unsaved work of an earlier attempt stays reachable from the same ref."""
    git = Git(repo)
    salvaged = []
    for text in ("first", "second"):
        await add_worktree(git, place, "HEAD")
        (place / "a.txt").write_text(text)
        salvaged.append(await remove_worktree(git, place, salvage_ref=SALVAGE))
    assert user_git(repo, "show", f"{SALVAGE}:a.txt") == "second"
    assert salvaged[0] in user_git(repo, "rev-list", SALVAGE).split()


async def test_commits_on_no_ref_are_salvaged(repo: Path, place: Path) -> None:
    """A clean worktree whose commit is on no ref is not lost; one whose commit is, leaves no salvage ref."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    assert await remove_worktree(git, place, salvage_ref=SALVAGE) is None
    assert await git.read_ref(SALVAGE) is None
    await add_worktree(git, place, "HEAD")
    (place / "a.txt").write_text("committed")
    user_git(place, "commit", "-qam", "by the agent")
    tip = user_git(place, "rev-parse", "HEAD")
    assert await remove_worktree(git, place, salvage_ref=SALVAGE) == tip
    assert await git.read_ref(SALVAGE) == tip


async def test_a_broken_worktree_is_salvaged_before_it_goes(repo: Path, place: Path) -> None:
    """Work in a worktree whose git folder is gone is saved against the commit that it was made from."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    (place / "a.txt").write_text("work\n")
    subprocess.run(["rm", "-r", str(repo / ".git" / "worktrees")], check=True)
    await remove_worktree(git, place, salvage_ref=SALVAGE)
    assert user_git(repo, "show", f"{SALVAGE}:a.txt") == "work"
    assert not place.exists()


async def test_what_is_not_ours_is_never_removed(repo: Path, place: Path, tmp_path: Path) -> None:
    """A worktree or folder of the user's, also with a manifest beside it, is refused and stays."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    theirs = place.with_name("theirs")
    user_git(repo, "worktree", "add", "-q", "--detach", str(theirs))
    (theirs / "work").write_text("w")
    plain = tmp_path / "plain"
    plain.mkdir()
    for folder in (theirs, plain, repo, place / ".." / "theirs"):
        with pytest.raises(PathRefused):
            await remove_worktree(git, folder, salvage_ref=SALVAGE)
        with pytest.raises(PathRefused):
            await reset_worktree(git, folder, "HEAD")
    with pytest.raises(PathRefused):
        await add_worktree(git, theirs, "HEAD")
    assert (theirs / "work").read_text() == "w"
    assert plain.exists()


async def test_the_users_other_worktrees_stay_registered(repo: Path, place: Path, tmp_path: Path) -> None:
    """A worktree of the user's whose disk is not there at the moment is still known to git afterwards."""
    user_git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "usb"))
    (tmp_path / "usb").rename(tmp_path / "unplugged")
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    await remove_worktree(git, place, salvage_ref=SALVAGE)
    assert str(tmp_path / "usb") in user_git(repo, "worktree", "list")


async def test_a_symlink_in_the_place_of_a_worktree_is_refused(
    repo: Path, place: Path, tmp_path: Path
) -> None:
    """A worktree that was swapped for a symlink is not followed, whatever the manifest says."""
    git = Git(repo)
    await add_worktree(git, place, "HEAD")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("precious")
    place.rename(place.with_name("moved"))
    place.symlink_to(victim)
    for change in (reset_worktree(git, place, "HEAD"), remove_worktree(git, place, salvage_ref=SALVAGE)):
        with pytest.raises(PathRefused):
            await change
    assert (victim / "file").read_text() == "precious"


async def test_worktrees_can_be_made_at_the_same_time(repo: Path, place: Path) -> None:
    """Units that start together each get their worktree, and the manifest names all of them."""
    git = Git(repo)
    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(add_worktree, git, place.with_name(str(number)), "HEAD")
    assert sorted(read_manifest(place.parent)) == ["0", "1", "2", "3"]
    assert all((place.with_name(str(number)) / "a.txt").exists() for number in range(4))
