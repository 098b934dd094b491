"""Ends a command with everything that it started. Used by `shell.py`, for both sandbox levels.

Inside bubblewrap the PID namespace dies with its first process, so nothing can stay. Without it a process may have
left its group and session (`setsid`, a double fork); such ones are found by their parents and by a marker in their
environment, in sweeps until no one is left.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import anyio

_PROC = Path("/proc")
_SWEEPS = 100
_NAMESPACE_END_S = 5.0
_SWEEP_PAUSE_S = 0.01
MARKER_VARIABLE = "AUTOPILOT_COMMAND_ID"


def _parents() -> dict[int, tuple[int, int]]:
    """Return parent and session of every process that has not ended (a zombie has)."""
    table: dict[int, tuple[int, int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            # The name in parentheses may hold spaces and parentheses itself.
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] not in (b"Z", b"X"):
                table[int(entry.name)] = (int(fields[1]), int(fields[3]))
    return table


def descendants(leader: int) -> set[int]:
    """Return the living processes below `leader`, without itself; empty where there is no /proc."""
    table = _parents()
    found: set[int] = set()
    front = {leader}
    while front:
        front = {pid for pid, (parent, _) in table.items() if parent in front} - found
        found |= front
    return found


def members(leader: int, marker: str) -> set[int]:
    """Return the living processes of `leader`'s tree, of its session, or with `marker` in their environment."""
    table = _parents()
    found = {pid for pid, (_, session) in table.items() if session == leader}
    needle = f"{MARKER_VARIABLE}={marker}".encode()
    for pid in table:
        with suppress(OSError):
            if needle in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                found.add(pid)
    return found | descendants(leader)


def send(pids: set[int], number: int) -> None:
    """Send a signal to each process that is still there, oldest first: a shell should hear of it before its children end."""
    for pid in sorted(pids - {os.getpid()}):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


async def kill_tree(leader: int, marker: str) -> None:
    """Kill `leader`, its group and everything it left behind; return when none is left (or after 1 s of trying).

    The tree is looked at before its parents die. A process that is just executing another program shows no
    environment for an instant, so only two sweeps that find nobody count.
    """
    left = members(leader, marker)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    empty_sweeps = 0
    for _ in range(_SWEEPS):
        send(left, signal.SIGKILL)
        left = members(leader, marker) - {os.getpid()}
        empty_sweeps = 0 if left else empty_sweeps + 1
        if empty_sweeps == 2:
            return
        await anyio.sleep(_SWEEP_PAUSE_S)


async def wait_until_gone(leader: int | None) -> None:
    """Return when the first process of a PID namespace has ended, which it does after all others (or after 5 s)."""
    if leader is None:
        return
    try:
        fd = os.pidfd_open(leader)
    except OSError:  # ended and forgotten already
        return
    try:
        with anyio.move_on_after(_NAMESPACE_END_S):
            await anyio.wait_readable(fd)
    finally:
        os.close(fd)
