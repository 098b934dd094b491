"""`autopilot stop`: a command file that the runner journals, and a signal that makes it look."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import time
import uuid
from pathlib import Path

import orjson

from autopilot.cli.result import Result
from autopilot.home import Repository, find_repository, find_run
from autopilot_state.errors import UsageError
from autopilot_state.fs import RealFileSystem, make_private_directory, write_atomic
from autopilot_state.lock import LOCK_NAME, is_locked

WAIT_S = 10.0
POLL_S = 0.05


def stop(args: argparse.Namespace) -> Result:
    """Ask a run to stop and wait until it has; a run that nobody works on is stopped already."""
    repository = find_repository(Path.cwd())
    folder = find_run(repository, args.run)
    holder = is_locked(repository.common_dir)
    go_on = ["Next:", f"  autopilot resume {folder.name}"]
    if holder is None:
        return Result([f"run {folder.name} is not running", *go_on], {"run": folder.name, "ended": True})
    if holder.get("run", folder.name) != folder.name:
        raise UsageError(
            "AP663",
            f"run {folder.name} is not running; this repository is held by run {holder['run']}",
            fix=f"autopilot stop {holder['run']}",
        )
    _write_command(folder)
    signalled = _signal(repository, holder)
    if _wait(repository, holder):
        return Result(
            [f"run {folder.name} has stopped", *go_on],
            {"run": folder.name, "ended": True, "signalled": signalled},
        )
    where = f"pid {holder.get('pid')} on {holder.get('host')}"
    return Result(
        [
            f"run {folder.name} was asked to stop; {where} still works on it",
            "Next:",
            f"  autopilot watch {folder.name}",
        ],
        {"run": folder.name, "ended": False, "signalled": signalled},
    )


def _write_command(folder: Path) -> None:
    commands = make_private_directory(folder / "commands")
    content = orjson.dumps({"command": "stop", "at": time.time(), "pid": os.getpid()})
    write_atomic(RealFileSystem(), commands / f"stop-{uuid.uuid4().hex}.json", content + b"\n")


def _signal(repository: Repository, holder: dict[str, object]) -> bool:
    """Send SIGTERM to the holder when it is here, alive, and really has the lock file open; say whether it was sent."""
    pid = holder.get("pid")
    if not isinstance(pid, int) or pid <= 1 or holder.get("host") != socket.gethostname():
        return False
    if not _has_open(pid, repository.common_dir / LOCK_NAME):
        return False
    try:
        os.kill(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _has_open(pid: int, path: Path) -> bool:
    """Say whether a living process has a file open: a number that was given to another process has not."""
    try:
        state = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        wanted = path.stat()
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
    if not state or state[0] in ("Z", "X"):
        return False
    for descriptor in descriptors:
        try:
            found = descriptor.stat()
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False


def _wait(repository: Repository, holder: dict[str, object]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        now = is_locked(repository.common_dir)
        if now is None or now.get("pid") != holder.get("pid"):
            return True
        time.sleep(POLL_S)
    return False
