"""Every durable write, behind one small port that tests replace to stop the program before any operation.

Rules, from measured failures of others: a temporary file lives in the directory of its target; data is synced
before the rename and the directory after it; a failed fsync is fatal and never retried, because the kernel marks
the pages clean ("Can applications recover from fsync failures?", ATC '20).
"""

from __future__ import annotations

import os
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

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)


def _storage_error(path: Path, cause: OSError) -> StorageError:
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
        view = view[fs.write(fd, bytes(view)) :]


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
        raise _storage_error(path, cause) from cause


def append_durably(fs: FileSystem, fd: int, path: Path, data: bytes) -> None:
    """Append `data` to the open file and return when it can't be lost.

    Raises:
        StorageError: the write or the sync failed; how much of `data` is on disk is unknown.
    """
    try:
        write_all(fs, fd, data)
        fs.sync(fd)
    except OSError as cause:
        raise _storage_error(path, cause) from cause


def make_private_directory(path: Path) -> Path:
    """Create `path` and its parents for this user alone, and return it.

    Raises:
        StorageError: something else stands there, or it is a symlink.
    """
    try:
        path.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        if path.is_symlink() or not path.is_dir():
            raise NotADirectoryError(20, "not a directory, or a symlink", str(path))
    except OSError as cause:
        raise _storage_error(path, cause) from cause
    return path
