"""Every durable write, behind one small port that tests replace to stop the program before any operation.

Rules, from measured failures of others: a temporary file lives in the directory of its target; data is synced
before the rename and the directory after it; a failed fsync is fatal and never retried, because the kernel marks
the pages clean ("Can applications recover from fsync failures?", ATC '20).
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from autopilot_state.errors import StorageError

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600


class FileSystem(Protocol):
    """The operations whose order decides what survives a crash."""

    def open(self, path: Path, flags: int) -> int:
        """Open `path`, never through a symlink, private to the user; return the descriptor."""
        ...

    def write(self, fd: int, data: bytes) -> int:
        """Write some of `data`; return how many bytes went."""
        ...

    def sync(self, fd: int) -> None:
        """Return when the file's data can't be lost by a power failure."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut the open file off at `size` bytes."""
        ...

    def replace(self, source: Path, target: Path) -> None:
        """Rename over `target`, atomically."""
        ...

    def unlink(self, path: Path) -> None:
        """Remove a file; a missing one is fine."""
        ...


class RealFileSystem:
    """The disk."""

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)


def storage_error(path: Path, cause: OSError) -> StorageError:
    """Return the error that tells people which write the disk refused, and why."""
    return StorageError(
        "AP101",
        f"{path.name} could not be written",
        why=f"{cause.strerror or cause} ({path})",
        fix="free space or repair the disk, then start again: what was acknowledged is still there",
    )


def write_all(fs: FileSystem, fd: int, data: bytes) -> None:
    """Write all of `data`, through short writes."""
    view = memoryview(data)
    while view:
        written = fs.write(fd, bytes(view))
        if written == 0:  # a device that takes nothing would keep this loop for ever
            raise OSError(errno.EIO, "the disk takes no bytes")
        view = view[written:]


def sync_directory(fs: FileSystem, directory: Path) -> None:
    """Return when names created in `directory` can't be lost."""
    fd = fs.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fs.sync(fd)
    finally:
        os.close(fd)


def write_atomic(fs: FileSystem, path: Path, data: bytes) -> None:
    """Replace `path` by `data` so that a reader, and a crash, see the old bytes or the new, nothing between.

    Raises:
        StorageError: the disk refused; the old bytes are still there.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        fd = fs.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            write_all(fs, fd, data)
            fs.sync(fd)
        finally:
            os.close(fd)
        fs.replace(temporary, path)
        sync_directory(fs, path.parent)
    except OSError as cause:
        with suppress(OSError):
            fs.unlink(temporary)
        raise storage_error(path, cause) from cause


def append_durably(fs: FileSystem, fd: int, path: Path, data: bytes) -> None:
    """Append `data` to the open file and return when it can't be lost.

    Raises:
        StorageError: the write or the sync failed; how much of `data` is on disk is unknown.
    """
    try:
        write_all(fs, fd, data)
        fs.sync(fd)
    except OSError as cause:
        raise storage_error(path, cause) from cause


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file; never follows a symlink and never waits for a FIFO's writer.

    Raises:
        OSError: it is missing, unreadable or no regular file.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def make_private_directory(path: Path, fs: FileSystem | None = None) -> Path:
    """Create `path` and its missing parents for this user alone, durably, and return it.

    Raises:
        StorageError: something else stands there, a symlink, or a directory that others may write to.
    """
    disk = fs or RealFileSystem()
    missing = [step for step in (path, *path.parents) if not os.path.lexists(step)]
    try:
        for step in reversed(missing):
            step.mkdir(mode=PRIVATE_DIR, exist_ok=True)
            sync_directory(disk, step.parent.resolve())
        _check_private(path)
    except OSError as cause:
        raise storage_error(path, cause) from cause
    return path


def _check_private(path: Path) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a directory, or a symlink", str(path))
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user", str(path))
    if found.st_mode & stat.S_IWOTH:
        raise PermissionError(errno.EPERM, "everybody may write to it", str(path))
