"""Candidates tried in parallel, their verdicts in order: what is accepted does not depend on timing."""

from __future__ import annotations

import itertools
import math
import os
import select
import socket
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

from . import server, sessions
from .candidates import Candidate
from .localise import Trace
from .pytest_args import PytestCommand

TRACE_BUDGET = 500_000
"""Line events after which a traced test counts as endless."""
MIN_ROUNDS, MAX_ROUNDS = 200_000, 1_000_000
"""How often the loops of a changed function may go round in one trial: bounds of what is taken from the traces."""
MIN_CPU_S = 5
SESSION_CPU_S = 150
LOAD_WALL_S = 300
_WINDOW = 6
"""Candidates handed out per worker, so that one at its time limit doesn't stop the others."""
_WALL_FACTOR, _WALL_EXTRA_S = 3, 20


@dataclass(frozen=True)
class Task:
    """Which tests a candidate has to face, in this order, and how long they may take."""

    first: tuple[str, ...]
    """Searched with: must turn green."""
    rest: tuple[str, ...]
    """Red as well: may turn green."""
    guards: tuple[str, ...]
    """Green: must stay so."""
    loop_limit: int = MIN_ROUNDS
    cpu_s: int = MIN_CPU_S
    cpu_total_s: int = 60


@dataclass(frozen=True)
class Attempt:
    """How a candidate did."""

    number: int
    candidate: Candidate
    passed: bool
    verdicts: dict[str, str]
    broken: bool


@dataclass(frozen=True)
class Session:
    """How a whole pytest session ended; `finished` is False when it was killed at a limit."""

    finished: bool
    status: int
    """pytest's own exit status; 3 and up mean that no test was run."""
    verdicts: dict[str, str]
    rootdir: str = ""
    cpu_s: float = 0.0
    frames: tuple[tuple[str, int], ...] = ()
    lines: frozenset[tuple[str, int]] = frozenset()


class Lab:
    """Runs tests of one worktree on changed texts, without writing to it."""

    def __init__(self, root: str, workers: int, plugin_options: tuple[str, ...]) -> None:
        self.root = root
        self.workers = workers
        self.plugin_options = plugin_options
        self.texts: dict[str, str] = {}
        self.rootdir = root
        self.fresh = server.start(partial(_serve_fresh, workers))
        self.loaded: server.Server | None = None
        self.items: list[str] = []
        self.functions: set[tuple[str, int, str]] = set()
        self._ids = itertools.count()
        self._results: dict[int, server.Result] = {}
        self._owners: dict[int, server.Server] = {}

    def close(self) -> None:
        for process in (self.fresh, self.loaded):
            if process is not None:
                process.close()

    # Whole sessions

    def start_session(
        self,
        command: PytestCommand,
        paths: Iterable[str] | None = None,
        *,
        texts: dict[str, str] | None = None,
        must_pass: Iterable[str] = (),
        without: Iterable[str] = (),
        trace: bool = False,
        cpu_s: int = SESSION_CPU_S,
    ) -> int:
        """Begin a session of `command`, or of other `paths` with its options; return its number."""
        job = self._command_job(command, paths, {**self.texts, **(texts or {})})
        job["args"] += [f"--deselect={test}" for test in without]
        job.update(must_pass=list(must_pass), trace_budget=10 * TRACE_BUDGET if trace else 0)
        return self._send(self.fresh, job, cpu_s, cpu_s)

    def finish_session(self, number: int) -> Session:
        """Wait for the session."""
        return _session(self.root, self._wait(number))

    def _command_job(
        self, command: PytestCommand, paths: Iterable[str] | None, texts: dict[str, str]
    ) -> server.Job:
        return {
            "root": self.root,
            "args": command.arguments(None if paths is None else tuple(paths), self.plugin_options),
            "environment": command.environment,
            "module_form": command.module_form,
            "texts": {os.path.join(self.root, path): text for path, text in texts.items()},  # noqa: PTH118
        }

    # The loaded session

    def load(self, command: PytestCommand, paths: Iterable[str]) -> list[str]:
        """Collect the tests in `paths` on the present texts and return their ids; none if that fails."""
        if self.loaded is not None:
            self.loaded.close()
        job = {**self._command_job(command, paths, self.texts), "slots": self.workers}
        self.loaded = server.start(partial(sessions.load, job))
        self.loaded.pump(LOAD_WALL_S)
        if not self.loaded.results:
            self.loaded.close()
            self.items = []
            return []
        hello = self.loaded.results.pop()
        self.items = [] if hello["errors"] else hello["items"]
        self.rootdir = hello["rootdir"]
        self.functions = {tuple(key) for key in hello["functions"]}
        return self.items

    def trace(self, tests: Iterable[str], only: Iterable[str] | None = None) -> list[tuple[Trace, float]]:
        """Return what each of the loaded tests ran, and the CPU seconds that it took."""
        paths = None if only is None else [os.path.join(self.root, path) for path in only]  # noqa: PTH118
        assert self.loaded is not None  # noqa: S101 - `load` comes first
        numbers = [
            (
                test,
                self._send(
                    self.loaded, {"first": [test], "only": paths, "trace_budget": TRACE_BUDGET}, 60, 60
                ),
            )
            for test in tests
        ]
        traces = []
        for test, number in numbers:
            result = self._wait(number)
            session = _session(self.root, result)
            passed = session.verdicts.get(test) == "passed"
            events = result.get("events", TRACE_BUDGET)
            traces.append((Trace(test, passed, session.lines, session.frames, events), session.cpu_s))
        return traces

    # Candidates

    def attempts(self, stream: Iterator[Candidate], task: Task, command: PytestCommand) -> Iterator[Attempt]:
        """Yield how the candidates did, in their order, with `workers` of them under way at once."""
        waiting: dict[int, tuple[Candidate, int]] = {}
        upcoming, due = 0, 0
        exhausted = False
        while True:
            while not exhausted and len(waiting) < self.workers * _WINDOW:
                candidate = next(stream, None)
                if candidate is None:
                    exhausted = True
                    break
                waiting[upcoming] = (candidate, self._try(candidate, task, command))
                upcoming += 1
            if due not in waiting:
                return
            candidate, number = waiting.pop(due)
            result = self._wait(number)
            if result.get("unpatchable"):
                result = self._wait(self._try_fresh(candidate, task, command))
            yield _attempt(due, candidate, task, result)
            due += 1

    def _try(self, candidate: Candidate, task: Task, command: PytestCommand) -> int:
        unit = candidate.unit
        path = os.path.join(self.root, candidate.source.path)  # noqa: PTH118
        if unit is None or not self.items or (path, unit.first_line, unit.name) not in self.functions:
            return self._try_fresh(candidate, task, command)
        job = {
            "first": task.first,
            "rest": task.rest,
            "guards": task.guards,
            "unit": {
                "unit": asdict(unit),
                "text": candidate.unit_text,
                "path": path,
                "flags": candidate.source.flags,
                "loop_limit": task.loop_limit,
            },
        }
        assert self.loaded is not None  # noqa: S101 - there are no items without it
        return self._send(self.loaded, job, task.cpu_s, task.cpu_total_s)

    def _try_fresh(self, candidate: Candidate, task: Task, command: PytestCommand) -> int:
        tests = [self.argument(test) for test in (*task.first, *task.rest, *task.guards)]
        return self.start_session(
            command,
            tests,
            texts={candidate.source.path: candidate.text},
            must_pass=(*task.first, *task.guards),
            cpu_s=task.cpu_s + 5,
        )

    def argument(self, test: str) -> str:
        """Return the test id as an argument that holds from any folder."""
        return os.path.join(self.rootdir, test)  # noqa: PTH118

    # Jobs

    def _send(self, process: server.Server, job: server.Job, cpu_s: int, cpu_total_s: int) -> int:
        number = next(self._ids)
        job.update(id=number, cpu_s=cpu_s, cpu_total_s=max(cpu_s, cpu_total_s))
        job["wall_s"] = _WALL_FACTOR * job["cpu_total_s"] + _WALL_EXTRA_S
        self._owners[number] = process
        process.send(job)
        return number

    def _wait(self, number: int) -> server.Result:
        owner = self._owners.pop(number)
        while number not in self._results and owner.alive:
            alive = [p for p in (self.fresh, self.loaded) if p is not None and p.alive]
            ready, _, _ = select.select([p.connection for p in alive], [], [])
            for process in alive:
                if process.connection in ready:
                    process.pump()
                    self._results.update((result["id"], result) for result in process.results)
                    process.results.clear()
        return self._results.pop(number, {"done": False})


def _serve_fresh(workers: int, connection: socket.socket) -> None:
    server.serve(connection, sessions.run_session, workers)


def _session(root: str, result: server.Result) -> Session:
    return Session(
        finished=bool(result.get("done")),
        status=result.get("status", -1),
        verdicts=result.get("verdicts", {}),
        rootdir=result.get("rootdir", ""),
        cpu_s=result.get("cpu_s", 0.0),
        frames=tuple((_relative(root, path), line) for path, line in result.get("frames", ())),
        lines=frozenset(
            (_relative(root, path), line) for path, lines in result.get("lines", {}).items() for line in lines
        ),
    )


def _relative(root: str, path: str) -> str:
    return path[len(root) + 1 :] if path.startswith(root + os.sep) else path


def _attempt(number: int, candidate: Candidate, task: Task, result: server.Result) -> Attempt:
    verdicts = result.get("verdicts", {})
    passed = bool(result.get("done")) and all(verdicts.get(test) == "passed" for test in task.first)
    broken = any(verdicts.get(test, "failed") != "passed" for test in task.guards)
    return Attempt(number, candidate, passed, verdicts, broken)


def cpu_limit(used_s: float) -> int:
    """Return the CPU limit for tests that took `used_s` before: generous, so that load can't reach it."""
    return max(MIN_CPU_S, math.ceil(20 * used_s))
