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
_SWEEP_PAUSE_S = 0.02
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
    """Send a signal to each process that is still there."""
    for pid in pids - {os.getpid()}:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


async def kill_tree(leader: int, marker: str) -> None:
    """Kill `leader`, its group and everything it left behind; return when none is left (or after 2 s of trying)."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for _ in range(_SWEEPS):
        left = members(leader, marker) - {os.getpid()}
        if not left:
            return
        send(left, signal.SIGKILL)
        await anyio.sleep(_SWEEP_PAUSE_S)
