"""One writer a repository, with real processes and a real git."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from autopilot_state.errors import LockedError, StorageError
from autopilot_state.lock import LOCK_NAME, RepositoryLock, is_locked, read_holder

CONTENDER = """
import json, select, sys
from pathlib import Path
from autopilot_state.errors import LockedError
from autopilot_state.lock import RepositoryLock, is_locked
def say(**answer):
    print(json.dumps(answer), flush=True)
lock, where = None, Path(sys.argv[1])
for line in sys.stdin:
    if line == "take\\n":
        try:
            lock = RepositoryLock.acquire(where)
            say(won=True)
        except LockedError as error:
            say(won=False, code=error.code, what=error.what)
    elif line == "free\\n":
        if lock is not None:
            lock.release()
            lock = None
        say(free=True)
    elif line == "look\\n":
        say(looking=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            is_locked(where)
"""


@contextmanager
def contenders(where, count):
    """Give processes that take, look at and free the lock when they are told to."""
    argv = [sys.executable, "-I", "-c", CONTENDER, str(where)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(argv, **pipes) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def tell(process, word):
    process.stdin.write(word + "\n")
    process.stdin.flush()


def answer(process):
    return json.loads(process.stdout.readline())


def test_of_two_starts_at_once_exactly_one_wins(tmp_path):
    """R4, C1: thirty times, one process has the lock and the other names its pid."""
    with contenders(tmp_path, 2) as processes:
        for _ in range(30):
            for process in processes:
                tell(process, "take")
            answers = [answer(process) for process in processes]
            assert sorted(found["won"] for found in answers) == [False, True]
            winner, loser = sorted(range(2), key=lambda number: not answers[number]["won"])
            assert answers[loser]["code"] == "AP701"
            assert f"pid {processes[winner].pid} on " in answers[loser]["what"]
            for process in processes:
                tell(process, "free")
                answer(process)


def test_a_killed_holder_frees_the_lock(tmp_path):
    """C3: there are no stale locks; the next start has it at once, whatever the file says."""
    for _ in range(3):
        with contenders(tmp_path, 1) as (holder,):
            tell(holder, "take")
            assert answer(holder)["won"]
            assert is_locked(tmp_path)["pid"] == holder.pid
            with pytest.raises(LockedError, match=f"pid {holder.pid} "):
                RepositoryLock.acquire(tmp_path)
            holder.send_signal(signal.SIGKILL)
            holder.wait()
        assert read_holder(tmp_path / LOCK_NAME)["pid"] == holder.pid
        assert is_locked(tmp_path) is None
        RepositoryLock.acquire(tmp_path).release()


def test_looking_at_the_lock_never_makes_a_start_fail(tmp_path):
    """A viewer that asks who holds the lock, again and again, stands in nobody's way."""
    RepositoryLock.acquire(tmp_path).release()
    with contenders(tmp_path, 1) as (viewer,):
        tell(viewer, "look")
        assert answer(viewer)["looking"]
        for _ in range(500):
            RepositoryLock.acquire(tmp_path).release()
        tell(viewer, "free")
        assert answer(viewer)["free"]


def test_the_holder_is_named_with_its_run(tmp_path):
    """R4: pid, host, start time and run are told; after a release nobody is."""
    lock = RepositoryLock.acquire(tmp_path)
    lock.describe({"run": "2f9c"})
    with pytest.raises(LockedError, match=rf"pid {os.getpid()} on .*, since \d{{4}}-.*, run 2f9c") as locked:
        RepositoryLock.acquire(tmp_path)
    assert locked.value.exit_code == 7
    assert is_locked(tmp_path)["run"] == "2f9c"
    lock.describe({})
    assert "run" not in is_locked(tmp_path)
    lock.release()
    assert is_locked(tmp_path) is None


def test_a_deleted_lock_file_is_noticed(tmp_path):
    """C4: who holds a deleted file holds nothing, and can see it."""
    first = RepositoryLock.acquire(tmp_path)
    assert first.still_held()
    (tmp_path / LOCK_NAME).unlink()
    assert not first.still_held()
    second = RepositoryLock.acquire(tmp_path)
    assert second.still_held()
    assert not first.still_held()
    first.release()
    assert second.still_held()
    second.release()


@pytest.mark.parametrize("kind", ["symlink", "dangling", "fifo", "directory"])
def test_a_lock_that_is_no_plain_file_is_refused(tmp_path, kind):
    """B15: a planted link is neither followed nor changed."""
    target = tmp_path / "target"
    if kind == "symlink":
        target.write_text("mine")
    if kind in ("symlink", "dangling"):
        (tmp_path / LOCK_NAME).symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(tmp_path / LOCK_NAME)
    else:
        (tmp_path / LOCK_NAME).mkdir()
    with pytest.raises(StorageError) as refused:
        RepositoryLock.acquire(tmp_path)
    assert refused.value.code == "AP110"
    assert target.exists() == (kind == "symlink")
    assert kind != "symlink" or target.read_text() == "mine"


def test_a_missing_folder_gives_no_lock(tmp_path):
    """A lock that can't be taken because its folder is missing is a storage error, and leaves nothing."""
    with pytest.raises(StorageError):
        RepositoryLock.acquire(tmp_path / "missing")
    assert is_locked(tmp_path / "missing") is None


def git(where, *arguments):
    return subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments],
        cwd=where, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


def common_dir(where):
    return Path(where, git(where, "rev-parse", "--git-common-dir"))


def test_linked_worktrees_and_other_paths_share_the_lock(tmp_path):
    """C2: a repository is one, from a linked worktree of it and through a symlink too."""
    main, linked, alias = tmp_path / "main", tmp_path / "linked", tmp_path / "alias"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(linked))
    alias.symlink_to(main)
    lock = RepositoryLock.acquire(common_dir(main))
    for other in (linked, alias, main / "."):
        with pytest.raises(LockedError):
            RepositoryLock.acquire(common_dir(other))
    lock.release()
    RepositoryLock.acquire(common_dir(linked)).release()
    assert git(main, "status", "--porcelain") == ""
