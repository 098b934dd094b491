"""The Linux call `openat2`, which resolves a path beneath a folder in one step of the kernel."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import lru_cache

# O_PATH opens a folder that may be searched but not listed; where it is missing, reading must do.
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY

_SYS_OPENAT2 = 437  # the same number on every architecture but alpha
_RESOLVE = 0x08 | 0x04 | 0x02  # BENEATH, NO_SYMLINKS, NO_MAGICLINKS


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def openat2(dir_fd: int, path: str, flags: int) -> int:
    """Return a descriptor of `path` beneath `dir_fd`; raises OSError when a link or `..` lies on the way."""
    how = _OpenHow(flags, 0, _RESOLVE)
    encoded = os.fsencode(path)
    for _ in range(64):
        fd: int = _libc().syscall(
            ctypes.c_long(_SYS_OPENAT2), ctypes.c_int(dir_fd), encoded, ctypes.byref(how), ctypes.c_size_t(24)
        )
        if fd >= 0:
            return fd
        # EAGAIN: a rename went on while the kernel resolved; it asks to be called again.
        if ctypes.get_errno() not in (errno.EINTR, errno.EAGAIN):
            break
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))


def has_openat2(dir_fd: int) -> bool:
    """Say whether this kernel has the call and lets this process use it."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(openat2(dir_fd, ".", FOLDER | os.O_CLOEXEC))
    except OSError:  # ENOSYS, or EPERM from a filter that does not know the call
        return False
    return True
