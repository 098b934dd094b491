"""One writer a repository: flock on a file that is never deleted, in the git common directory.

The kernel frees the lock when its holder dies, however it dies; so there are no stale locks, and what the file
says (pid, host, start time, run) only serves the message. Linked worktrees share the common directory and so the
lock.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import time
from pathlib import Path

import orjson

from autopilot_state.errors import LockedError, StorageError

LOCK_NAME = "autopilot.lock"
_TRIES = 40
_PAUSE_S = 0.005


class RepositoryLock:
    """Held from `acquire` until `release` or the end of the process."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def acquire(cls, common_dir: Path, *, purpose: str = "run") -> RepositoryLock:
        """Return the held lock of the repository whose git common directory is `common_dir`.

        Raises:
            LockedError: another process holds it; the message names it.
            StorageError: the file can't be opened or locked on this file system.
        """
        path = common_dir / LOCK_NAME
        holder: dict[str, object] = {}
        for _ in range(_TRIES):
            lock = cls._attempt(path)
            if lock is not None:
                try:
                    lock.describe({"purpose": purpose})
                except BaseException:
                    os.close(lock._fd)
                    raise
                return lock
            holder = read_holder(path)
            if _is_alive(holder):
                break
            # Not there yet, or no more: a holder that hasn't written its name, a dead one's name, or a reader
            # that looked at the lock for a moment.
            time.sleep(_PAUSE_S)
        raise _locked(holder)

    @classmethod
    def _attempt(cls, path: Path) -> RepositoryLock | None:
        """Return the lock, or None when it is held, or was deleted between opening and locking."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError as cause:
            raise StorageError("AP110", f"the lock {path} can't be opened", why=str(cause)) from cause
        lock = cls(path, fd)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(f"{path} is not a regular file")
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        except OSError as cause:
            os.close(fd)
            raise StorageError(
                "AP110", f"{path} can't be locked on this file system", why=str(cause)
            ) from cause
        if lock.still_held():
            return lock
        os.close(fd)
        return None

    def describe(self, more: dict[str, str]) -> None:
        """Say in the file who holds it: pid, host, start time, and `more` (the run's id).

        Raises:
            StorageError: the disk takes no bytes; a run could not go on either.
        """
        about = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time(), **more}
        text = orjson.dumps(about) + b"\n"
        try:
            os.pwrite(self._fd, text, 0)
            os.ftruncate(self._fd, len(text))
        except OSError as cause:
            raise StorageError("AP110", f"the lock {self.path} can't be written", why=str(cause)) from cause

    def still_held(self) -> bool:
        """Say whether the locked file is still the one on disk: a deleted lock file protects nothing."""
        try:
            there, ours = self.path.lstat(), os.fstat(self._fd)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        """Free the lock; the file stays."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def _is_alive(holder: dict[str, object]) -> bool:
    """Say whether `holder` names a process that may hold the lock now; one on another host may."""
    pid = holder.get("pid")
    if not isinstance(pid, int) or holder.get("host") != socket.gethostname():
        return bool(holder)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def read_holder(path: Path) -> dict[str, object]:
    """Return what the lock file says about its holder; empty when it says nothing."""
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_locked(common_dir: Path) -> dict[str, object] | None:
    """Return the holder of the lock, or None when nobody holds it. Never takes it for longer than a moment."""
    path = common_dir / LOCK_NAME
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return read_holder(path) or {"pid": None}
    finally:
        os.close(fd)
    return None


def _locked(holder: dict[str, object]) -> LockedError:
    since = holder.get("since")
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since)) if isinstance(since, float) else "?"
    who = f"pid {holder.get('pid', '?')} on {holder.get('host', '?')}, since {began}"
    run = f", run {holder['run']}" if holder.get("run") else ""
    return LockedError(
        "AP701",
        f"another autopilot holds this repository ({who}{run})",
        why="one repository has one writer at a time",
        fix="wait for it, watch it with `autopilot watch`, or end it with `autopilot stop`",
    )
