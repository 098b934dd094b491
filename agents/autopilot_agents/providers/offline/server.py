"""A process that forks a child for every job, so that a trial costs a fork and not an interpreter.

Jobs and results are JSON lines on a socket pair. Each child has a session of its own, null for its standard
streams, limits on CPU time and memory, and a scratch folder; whatever it started is killed when it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Job = dict[str, Any]
Result = dict[str, Any]
Perform = Callable[[Job], Result]

MEMORY_BYTES = 2 << 30
LOAD_CPU_S = 120
_POLL_S = 0.05
_FAREWELL_S = 5.0
_open_sockets: set[socket.socket] = set()


class Main(Protocol):
    """What a server process does with its end of the socket pair."""

    def __call__(self, connection: socket.socket) -> None: ...


@dataclass
class Server:
    """The client's end of a server process."""

    connection: socket.socket
    pid: int
    buffer: bytes = b""
    results: list[Result] = field(default_factory=list)
    alive: bool = True

    def send(self, job: Job) -> None:
        try:
            self.connection.sendall(encode(job))
        except OSError:
            self.alive = False

    def pump(self, timeout_s: float | None = None) -> None:
        """Move results to `results`, waiting for the first one, for the end, or for `timeout_s`."""
        while self.alive:
            ready, _, _ = select.select([self.connection], [], [], timeout_s)
            if not ready:
                return
            chunk = self.connection.recv(1 << 20)
            if not chunk:
                self.alive = False
            *lines, self.buffer = (self.buffer + chunk).split(b"\n")
            self.results.extend(json.loads(line) for line in lines)
            if lines:
                return

    def close(self) -> None:
        """End the process; its children end with it."""
        _open_sockets.discard(self.connection)
        self.connection.close()
        self.alive = False
        deadline = time.monotonic() + _FAREWELL_S
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:  # not serving yet, so it doesn't look at the connection
                    os.kill(self.pid, signal.SIGKILL)
                time.sleep(_POLL_S / 10)


def encode(message: dict[str, Any]) -> bytes:
    """Return `message` as it goes over a socket or a pipe."""
    return json.dumps(message).encode() + b"\n"


def start(main: Main) -> Server:
    """Fork a process that runs `main` and return its client."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            for other in _open_sockets:
                # An inherited end would keep the other servers from seeing that we are gone.
                other.close()
            _silence()
            main(theirs)
        finally:
            os._exit(0)
    theirs.close()
    _open_sockets.add(ours)
    return Server(ours, pid)


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


@dataclass
class _Child:
    job: Job
    pid: int
    pipe: int
    deadline: float
    scratch: str
    output: bytes = b""


def serve(connection: socket.socket, perform: Perform, slots: int) -> None:
    """Take jobs until the other end closes; each is performed in a child, `slots` at once, and answered when it
    has ended.
    """
    children: dict[int, _Child] = {}
    queue: deque[Job] = deque()
    buffer = b""
    try:
        while True:
            timeout = _POLL_S if children else None
            watched: list[Any] = [connection, *children]
            ready, _, _ = select.select(watched, [], [], timeout)
            if connection in ready:
                chunk = connection.recv(1 << 20)
                if not chunk:
                    return
                *lines, buffer = (buffer + chunk).split(b"\n")
                queue.extend(json.loads(line) for line in lines)
            for child in [c for c in children.values() if _is_over(c, ready)]:
                del children[child.pipe]
                _answer(connection, child)
            while queue and len(children) < slots:
                child = _start(queue.popleft(), perform, connection)
                children[child.pipe] = child
    finally:
        for child in children.values():
            _end(child)


def _start(job: Job, perform: Perform, connection: socket.socket) -> _Child:
    reading, writing = os.pipe()
    scratch = tempfile.mkdtemp(prefix="trial-")
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.close(reading)
            connection.close()
            _limit(job["cpu_s"])
            _use_scratch(scratch)
            answer = encode(perform(job))
            while answer:
                answer = answer[os.write(writing, answer) :]
        finally:
            os._exit(0)
    os.close(writing)
    return _Child(job, pid, reading, time.monotonic() + job["wall_s"], scratch)


def _limit(cpu_s: int) -> None:
    allow_cpu(cpu_s)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = MEMORY_BYTES + _mapped_bytes()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _mapped_bytes() -> int:
    """Return the address space that is in use already: libraries may reserve much of it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


def allow_cpu(cpu_s: int | None) -> None:
    """Let this process use `cpu_s` seconds of CPU in all, or any number; it is killed at the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = resource.RLIM_INFINITY if cpu_s is None else cpu_s
    if hard != resource.RLIM_INFINITY:
        soft = hard if cpu_s is None else min(cpu_s, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _use_scratch(scratch: str) -> None:
    tempfile.tempdir = scratch
    for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT"):
        os.environ[name] = scratch


def _is_over(child: _Child, ready: list[Any]) -> bool:
    if child.pipe in ready:
        chunk = os.read(child.pipe, 1 << 20)
        child.output += chunk
        return not chunk or chunk.endswith(b"\n")
    return time.monotonic() > child.deadline


def _answer(connection: socket.socket, child: _Child) -> None:
    cpu_s = _end(child)
    done = child.output.endswith(b"\n")
    result: Result = json.loads(child.output) if done else {}
    result.update(id=child.job["id"], done=done, cpu_s=cpu_s)
    connection.sendall(encode(result))


def _end(child: _Child) -> float:
    """Kill the child and all that it started, and return the CPU seconds that it used."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    _, _, usage = os.wait4(child.pid, 0)
    os.close(child.pipe)
    shutil.rmtree(child.scratch, ignore_errors=True)
    return usage.ru_utime + usage.ru_stime
