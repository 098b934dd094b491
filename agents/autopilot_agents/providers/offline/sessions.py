"""What a child of the servers does: a whole pytest session, or some tests of a session that is loaded.

The loaded server has collected the tests and stands before the first one. A trial there is a fork, new code in
place of a function's, and a test: milliseconds. It is only ever a hint; a repair is judged by whole sessions.
"""

from __future__ import annotations

import ast
import builtins
import gc
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

import pytest

from . import overlay, server
from .source import Unit, unit_tree

TICK = "_autopilot_tick"
MAX_FRAMES = 200


class LoopLimit(BaseException):
    """Raised inside a test that goes round without an end; counted, so that it strikes everywhere alike."""


class Watch:
    """A pytest plugin that notes verdicts, the frames of failures, and stops where the job says so."""

    def __init__(self, root: str, must_pass: frozenset[str] = frozenset()) -> None:
        self.root = root
        self.must_pass = must_pass
        self.verdicts: dict[str, str] = {}
        self.frames: list[tuple[str, int]] = []
        self.broken: str | None = None
        self.rootdir = root

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.rootdir = str(session.config.rootpath)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self.verdicts.get(report.nodeid)
        if report.outcome == "failed":
            self._red(report.nodeid, "failed")
        elif before is None or (before == "passed" and report.outcome == "skipped"):
            self.verdicts[report.nodeid] = report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome == "failed":
            self._red(report.nodeid, "error")

    def pytest_exception_interact(self, call: pytest.CallInfo[Any]) -> None:
        error: BaseException | None = call.excinfo.value if call.excinfo else None
        while error is not None and len(self.frames) < MAX_FRAMES:
            self.frames.extend(self._frames(error.__traceback__))
            error = error.__cause__ or error.__context__

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if self.broken:
            item.session.shouldstop = "a test is broken"

    def _red(self, nodeid: str, verdict: str) -> None:
        self.verdicts[nodeid] = verdict
        if nodeid in self.must_pass:
            self.broken = nodeid

    def _frames(self, traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
        while traceback is not None:
            path = traceback.tb_frame.f_code.co_filename
            if _is_inside(self.root, path):
                yield path, traceback.tb_lineno
            traceback = traceback.tb_next


class LineTracer:
    """Notes the lines that run in files that `wanted` says are of interest, up to `budget` events."""

    def __init__(self, wanted: Callable[[str], bool], budget: int) -> None:
        self.wanted = wanted
        self.left = budget
        self.lines: dict[str, set[int]] = {}
        self._known: dict[CodeType, set[int] | None] = {}

    def __enter__(self) -> LineTracer:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code not in self._known:
            path = code.co_filename
            self._known[code] = self.lines.setdefault(path, set()) if self.wanted(path) else None
        lines = self._known[code]
        if lines is None:
            return None
        lines.add(frame.f_lineno)

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
                self.left -= 1
                if self.left < 0:
                    raise LoopLimit
            return local

        return local


def run_session(job: server.Job) -> server.Result:
    """Run pytest as `job["args"]` says, on the texts of `job["texts"]`, in this fresh process."""
    prepare_process(job)
    overlay.install(job["texts"])
    watch = Watch(job["root"], frozenset(job.get("must_pass", ())))
    tracer = LineTracer(partial(_is_inside, job["root"]), job.get("trace_budget", 0))
    if job.get("trace_budget"):
        with tracer:
            status = pytest.main(job["args"], plugins=[watch])
    else:
        status = pytest.main(job["args"], plugins=[watch])
    return {
        "status": int(status),
        "verdicts": watch.verdicts,
        "frames": watch.frames[-MAX_FRAMES:],
        "broken": watch.broken,
        "rootdir": watch.rootdir,
        "lines": {path: sorted(lines) for path, lines in tracer.lines.items()},
    }


def prepare_process(job: server.Job) -> None:
    """Give the process the environment of the command, and keep bytecode out of the worktree."""
    os.environ.update(job["environment"])
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for entry in reversed(job["environment"].get("PYTHONPATH", "").split(os.pathsep)):
        if entry:
            sys.path.insert(0, os.path.abspath(entry))  # noqa: PTH100 - exactly what the interpreter does
    if job["module_form"]:
        sys.path.insert(0, job["root"])


def _is_inside(root: str, path: str) -> bool:
    return path.startswith(root + os.sep) and "site-packages" not in path


def load(job: server.Job, connection: socket.socket) -> None:
    """Collect the tests of `job["args"]`, then serve trials that start from there."""
    prepare_process(job)
    overlay.install(job["texts"])
    loaded = _Loaded(job, connection)
    server.allow_cpu(server.LOAD_CPU_S)
    pytest.main(job["args"], plugins=[loaded.watch, loaded])


class _Loaded:
    """A pytest plugin that serves trials in place of running the tests."""

    def __init__(self, job: server.Job, connection: socket.socket) -> None:
        self.root = job["root"]
        self.slots = job["slots"]
        self.connection = connection
        self.watch = Watch(self.root)
        self.items: dict[str, pytest.Item] = {}
        self.functions: dict[tuple[str, int, str], list[FunctionType]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        self.items = {item.nodeid: item for item in session.items}
        self._index_functions()
        gc.collect()
        gc.freeze()
        server.allow_cpu(None)
        hello = {
            "id": "loaded",
            "items": list(self.items),
            "rootdir": self.watch.rootdir,
            "errors": [name for name, verdict in self.watch.verdicts.items() if verdict == "error"],
            "functions": sorted(self.functions),
        }
        self.connection.sendall(server.encode(hello))
        server.serve(self.connection, self.perform, self.slots)
        os._exit(0)

    def _index_functions(self) -> None:
        for thing in gc.get_objects():
            if type(thing) is FunctionType and _is_inside(self.root, thing.__code__.co_filename):
                code = thing.__code__
                key = (code.co_filename, code.co_firstlineno, code.co_name)
                self.functions.setdefault(key, []).append(thing)

    def perform(self, job: server.Job) -> server.Result:
        if "trace_budget" in job:
            return self._trace(job)
        if "unit" in job and not self._swap(job):
            return {"unpatchable": True}
        first = self._run(job["first"], stop=True)
        if any(self._is_red(name) for name in job["first"]):
            return {"passed": False, "verdicts": first}
        server.allow_cpu(job["cpu_total_s"])
        self._run(job["rest"], stop=False)
        self._run(job["guards"], stop=True)
        broken = [name for name in job["guards"] if self._is_red(name)]
        return {"passed": True, "verdicts": self.watch.verdicts, "broken": broken}

    def _trace(self, job: server.Job) -> server.Result:
        only = job["only"]
        wanted = partial(_is_inside, self.root) if only is None else frozenset(only).__contains__
        tracer = LineTracer(wanted, job["trace_budget"])
        with tracer:
            self._run(job["first"], stop=True)
        return {
            "verdicts": self.watch.verdicts,
            "frames": self.watch.frames[-MAX_FRAMES:],
            "lines": {path: sorted(lines) for path, lines in tracer.lines.items()},
            "events": job["trace_budget"] - tracer.left,
        }

    def _run(self, names: list[str], *, stop: bool) -> dict[str, str]:
        items = [self.items[name] for name in names if name in self.items]
        for item, following in zip(items, [*items[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if stop and self._is_red(item.nodeid):
                break
        return self.watch.verdicts

    def _is_red(self, name: str) -> bool:
        return self.watch.verdicts.get(name) != "passed"

    def _swap(self, job: server.Job) -> bool:
        """Put the changed unit's code into the functions that were made from it; False where that can't be."""
        described = job["unit"]
        unit = Unit(**described["unit"])
        tree = unit_tree(unit, described["text"])
        _count_loops(tree, described["loop_limit"])
        path = described["path"]
        module = compile(tree, path, "exec", described["flags"], dont_inherit=True)
        swapped = False
        try:
            for code in _nested(module):
                for function in self.functions.get((path, code.co_firstlineno, code.co_name), ()):
                    function.__code__ = code
                    swapped = True
        except ValueError:  # other closure variables than before
            return False
        return swapped


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _count_loops(tree: ast.Module, limit: int) -> None:
    """Make every loop in `tree` count, so that one without an end is ended after `limit` rounds."""
    left = [limit]

    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise LoopLimit

    setattr(builtins, TICK, tick)
    for node in ast.walk(tree):
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            call = ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(call, node.body[0])))
