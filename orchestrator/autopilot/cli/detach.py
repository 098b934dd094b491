"""`--detach`: the same command once more, in a session of its own, with its output in a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from autopilot.cli.options import without
from autopilot.cli.result import Result
from autopilot.errors import Exit
from autopilot.home import Repository, exclude_folder
from autopilot_state.fs import make_private_directory
from autopilot_state.lock import is_locked

START_LIMIT_S = 15.0
POLL_S = 0.05


def detach(repository: Repository) -> Result:
    """Start this command line again in the background; return once its run holds the repository, or has ended.

    Raises:
        StorageError: the log can't be written.
    """
    exclude_folder(repository)
    logs = make_private_directory(repository.folder / "detached")
    log = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    # -P: a folder of the repository named like a package must not be imported in its place.
    command = [
        sys.executable,
        "-P",
        "-m",
        "autopilot",
        *without(sys.argv[1:], "--detach", "--json"),
        "--plain",
    ]
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=fd, stderr=fd, start_new_session=True
        )
    finally:
        os.close(fd)
    holder = _wait_until_it_holds(repository, child)
    code = child.poll()
    if code is not None:
        return _ended_at_once(code, log.read_text(encoding="utf-8", errors="replace").splitlines())
    run_id = (holder or {}).get("run")
    data = {"pid": child.pid, "log": str(log), "run": run_id}
    child.returncode = 0  # it lives on without us, so Popen has nothing to warn about
    lines = [f"running in the background: pid {child.pid}, run {run_id or '(starting)'}", f"log: {log}"]
    return Result([*lines, "Next:", "  autopilot watch", "  autopilot stop"], data)


def _wait_until_it_holds(repository: Repository, child: subprocess.Popen[bytes]) -> dict[str, object] | None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and child.poll() is None:
        holder = is_locked(repository.common_dir)
        if holder is not None and holder.get("pid") == child.pid and holder.get("run"):
            return holder
        time.sleep(POLL_S)
    return None


def _ended_at_once(code: int, output: list[str]) -> Result:
    known = Exit(code) if code in set(Exit) else Exit.INTERNAL
    return Result(output, {"output": output[-160:]}, exit_code=int(known), reason=known.reason)
