"""Files of one worktree, reached only beneath it: no links, no `..`, no `.git`, whatever the spelling.

Paths are checked twice. `check_relative` looks at the text; `Root` then lets the kernel resolve it with
`openat2(RESOLVE_BENEATH | NO_SYMLINKS | NO_MAGICLINKS)`, because a path that was looked at and opened later can
be swapped in between. Where that call is missing, each component is opened on its own with O_NOFOLLOW.

Codes: AP401 the text is no plain relative path, AP402 a name that belongs to git or Autopilot, AP403 it does not
resolve beneath the worktree, AP404 nothing is there, AP405 not a regular file, AP406 too large.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autopilot_agents.errors import PathRefused
from autopilot_agents.hands.names import (
    MAX_PATH_CHARS,
    TEMP_PREFIX,
    check_relative,
    matches_glob,
    owner_of,
    runs_later,
    shown,
    spelling_problem,
)
from autopilot_agents.hands.openat2 import FOLDER, has_openat2, openat2

__all__ = [
    "MAX_LISTED",
    "MAX_PATH_CHARS",
    "MAX_READ_BYTES",
    "TEMP_PREFIX",
    "Root",
    "check_relative",
    "matches_glob",
    "runs_later",
]

MAX_READ_BYTES = 50_000_000
MAX_LISTED = 200_000


class Root:
    """A worktree, held by a descriptor: what is done through it stays beneath it.

    `vcs_meta` allows writing `.gitmodules` and `.gitattributes`; reading them is always allowed. `walk_only`
    leaves `openat2` aside, as on a system that lacks it.

    Nothing is fsynced: a worktree is disposable, and what counts is the commit made from it.
    """

    def __init__(self, path: Path | str, *, vcs_meta: bool = False, walk_only: bool = False) -> None:
        self.path = Path(path)
        self.vcs_meta = vcs_meta
        self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._finalizer = weakref.finalize(self, os.close, self._fd)
        self._openat2 = not walk_only and has_openat2(self._fd)

    def close(self) -> None:
        """Release the descriptor; the root can't be used after it."""
        self._finalizer()

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, path: str, *, max_bytes: int = MAX_READ_BYTES) -> bytes:
        """Return the bytes of a regular file."""
        check_relative(path, vcs_meta=True)
        # O_NONBLOCK: opening a FIFO or a device must not wait for its other end.
        fd = self._open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise _not_regular(path, info.st_mode)
            size, data = info.st_size, b""
            if size <= max_bytes:
                data = b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
        finally:
            os.close(fd)
        if max(size, len(data)) > max_bytes:
            raise PathRefused("AP406", f"{shown(path)} has {size:,} bytes, more than {max_bytes:,}")
        return data

    def stat_mode(self, path: str) -> int:
        """Return `st_mode` of what stands at `path`; a link is refused."""
        check_relative(path, vcs_meta=True)
        with self._parent(path) as (folder, name):
            try:
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            except OSError as error:
                raise _refusal(path, error) from error
        if stat.S_ISLNK(mode):
            raise _refusal(path, OSError(errno.ELOOP, os.strerror(errno.ELOOP)))
        return mode

    def exists(self, path: str) -> bool:
        """Say whether a file or a folder stands at `path`; a link is refused, also a dangling one."""
        try:
            self.stat_mode(path)
        except PathRefused as refused:
            if refused.code == "AP404":
                return False
            raise
        return True

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Put `data` at `path` in one step, with the permission bits of `mode`, making folders as needed.

        Raises:
            PathRefused: the path is refused, or something other than a regular file stands there.
            OSError: the file system refused the write; what stood there still does.
        """
        check_relative(path, vcs_meta=self.vcs_meta)
        with self._parent(path, create=True) as (folder, name):
            _require_regular(path, folder, name)
            temporary = TEMP_PREFIX + secrets.token_hex(8)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as file:
                    file.write(data)
                    os.fchmod(file.fileno(), mode & 0o777)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def remove(self, path: str) -> None:
        """Delete a regular file, and the folders that are empty without it, as git does."""
        check_relative(path, vcs_meta=self.vcs_meta)
        with self._parent(path) as (folder, name):
            if not _require_regular(path, folder, name):
                raise _refusal(path, OSError(errno.ENOENT, os.strerror(errno.ENOENT)))
            os.unlink(name, dir_fd=folder)
        self._prune(path)

    def rename(self, path: str, new_path: str) -> None:
        """Move a regular file to a path where nothing stands, making folders as needed."""
        check_relative(path, vcs_meta=self.vcs_meta)
        check_relative(new_path, vcs_meta=self.vcs_meta)
        with (
            self._parent(path) as (folder, name),
            self._parent(new_path, create=True) as (new_folder, new_name),
        ):
            if not _require_regular(path, folder, name):
                raise _refusal(path, OSError(errno.ENOENT, os.strerror(errno.ENOENT)))
            if _require_regular(new_path, new_folder, new_name):
                raise PathRefused("AP403", f"{shown(new_path)} is already there", fix="Choose a free path.")
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
        self._prune(path)

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in `folder` (an empty string is the top), empty when it does not exist."""
        if folder:
            check_relative(folder, vcs_meta=True)
        try:
            fd = self._open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        except PathRefused as refused:
            if refused.code == "AP404":
                return frozenset()
            raise
        try:
            with os.scandir(fd) as entries:
                return frozenset(entry.name for entry in entries)
        finally:
            os.close(fd)

    def list_files(self, glob: str | None = None, *, skip: Collection[str] = ()) -> list[str]:
        """Return the paths of regular files that `glob` means, sorted; links are neither listed nor followed.

        Folders named in `skip`, git's and Autopilot's own files are left out, and so is a name that no edit
        could write. At most `MAX_LISTED` paths come back.
        """
        found: list[str] = []
        for path in self._walk_files("", frozenset(skip)):
            if glob is None or matches_glob(path, glob):
                found.append(path)
                if len(found) == MAX_LISTED:
                    break
        return sorted(found)

    def sweep(self) -> int:
        """Remove temporary files that a killed process left behind; return how many there were."""
        leftovers = [p for p in self._walk_files("", frozenset(), leftovers=True)]
        for path in leftovers:
            with self._parent(path) as (folder, name), suppress(OSError):
                os.unlink(name, dir_fd=folder)
        return len(leftovers)

    def _walk_files(self, prefix: str, skip: frozenset[str], *, leftovers: bool = False) -> Iterator[str]:
        pending = [prefix]
        while pending:
            folder = pending.pop()
            for name, is_folder in self._entries(folder):
                path = f"{folder}/{name}" if folder else name
                if name.startswith(TEMP_PREFIX):
                    if leftovers and not is_folder:
                        yield path
                elif spelling_problem(path) or owner_of(path, True):
                    continue
                elif is_folder and name not in skip:
                    pending.append(path)
                elif not is_folder and not leftovers:
                    yield path

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        """Return (name, is a folder) of the folders and regular files in `folder`; one that is gone has none."""
        try:
            fd = self._open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        except PathRefused:
            return []
        try:
            with os.scandir(fd) as entries:
                return [
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
                ]
        finally:
            os.close(fd)

    @contextmanager
    def _parent(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Hold the folder of `path` open; gives its descriptor and the last component."""
        parent, _, name = path.rpartition("/")
        try:
            fd = self._open(parent or ".", FOLDER)
        except PathRefused as refused:
            if not create or refused.code != "AP404":
                raise
            fd = self._make_folders(parent)
        try:
            yield fd, name
        finally:
            os.close(fd)

    def _make_folders(self, parent: str) -> int:
        fd = os.dup(self._fd)
        try:
            for name in parent.split("/"):
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=fd)
                try:
                    child = os.open(name, FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                except OSError as error:
                    raise _refusal(parent, error) from error
                os.close(fd)
                fd = child
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _prune(self, path: str) -> None:
        """Remove the folders above `path` that are empty."""
        folder = path.rpartition("/")[0]
        with suppress(OSError, PathRefused):
            while folder:
                with self._parent(folder) as (fd, name):
                    os.rmdir(name, dir_fd=fd)
                folder = folder.rpartition("/")[0]

    def _open(self, path: str, flags: int) -> int:
        """Open `path` beneath the root; any error of the resolution is a refusal."""
        try:
            if self._openat2:
                return openat2(self._fd, path, flags | os.O_CLOEXEC)
            return self._open_by_component(path, flags | os.O_CLOEXEC)
        except OSError as error:
            raise _refusal(path, error) from error

    def _open_by_component(self, path: str, flags: int) -> int:
        *parents, last = path.split("/")
        fd = os.dup(self._fd)
        try:
            for name in parents:
                child = os.open(name, FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                os.close(fd)
                fd = child
            return os.open(last, flags | os.O_NOFOLLOW, dir_fd=fd)
        finally:
            os.close(fd)


def _require_regular(path: str, folder: int, name: str) -> bool:
    """Return whether something stands at `name`; refuse it unless it is a regular file."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refusal(path, error) from error
    if not stat.S_ISREG(mode):
        raise _not_regular(path, mode)
    return True


def _not_regular(path: str, mode: int) -> PathRefused:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISLNK, "a symbolic link"), (stat.S_ISFIFO, "a pipe"))
    kind = next((name for test, name in kinds if test(mode)), "a socket or a device")
    return PathRefused("AP405", f"{shown(path)} is {kind}, not a regular file")


def _refusal(path: str, error: OSError) -> PathRefused:
    if error.errno == errno.ENOENT:
        return PathRefused("AP404", f"no such file: {shown(path)}")
    if error.errno == errno.ENXIO:
        return PathRefused("AP405", f"{shown(path)} is a socket or a device, not a regular file")
    return PathRefused(
        "AP403",
        f"path {shown(path)} does not resolve beneath the worktree ({error.strerror})",
        why="A component is a link, or is no folder; links are never followed.",
        fix="Name the file itself by its own path.",
    )
