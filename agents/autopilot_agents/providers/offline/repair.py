"""The search itself: locate, try, validate; one cause after the other where there are several."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import operations
from .candidates import Candidate, Distinct, candidates, is_editable
from .localise import Line, Trace, nearest, rank
from .pytest_args import PytestCommand, parse
from .source import SourceFile, read_source
from .spec import Spec
from .trial import MAX_ROUNDS, MIN_ROUNDS, TRACE_BUDGET, Attempt, Lab, Session, Task, cpu_limit
from .warm import warm_up

Log = Callable[[str], None]

MAX_CAUSES = 4
MAX_TRACED_RED, MAX_TRACED_GREEN = 12, 60
LOOKAHEAD = 200
"""How many candidates are tried after a partial repair in the hope of a whole one."""
MAX_RELATED_FILES = 8
MAX_FRESH = 400


class NoRepair(Exception):
    """Ends the search; the text says why."""


def answer(spec: Spec, root: str, log: Log) -> str:
    """Return the NDJSON answer for `spec`: a validated repair of all its tests, or an empty set."""
    try:
        search = Search(spec, root, log)
    except NoRepair as reason:
        return operations.answer(str(reason), [])
    try:
        summary = search.run()
    except NoRepair as reason:
        return operations.answer(str(reason), [])
    finally:
        search.lab.close()
    return operations.answer(summary, search.operations())


@dataclass
class Baseline:
    """What the commands said before any edit; sessions are waited for when they are first needed."""

    lab: Lab
    commands: list[PytestCommand]
    known_red: tuple[str, ...] = ()
    """Not run again: they may go round without an end."""
    paths: list[list[str] | None] = field(default_factory=list)
    """Where a command takes too long: the test files that it is cut down to."""
    numbers: list[int] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = [self.lab.start_session(c, without=self.known_red) for c in self.commands]

    def wait(self) -> list[Session]:
        while len(self.sessions) < len(self.numbers):
            command = self.commands[len(self.sessions)]
            session, paths = self.lab.finish_session(self.numbers[len(self.sessions)]), None
            if not session.finished and self.known_red:
                paths = list(dict.fromkeys(test.split("::", 1)[0] for test in self.known_red))
                session = self.lab.finish_session(
                    self.lab.start_session(command, paths, without=self.known_red)
                )
            self.sessions.append(session)
            self.paths.append(paths)
        return self.sessions

    def red(self) -> list[str]:
        verdicts = [item for session in self.wait() for item in session.verdicts.items()]
        return list(dict.fromkeys(test for test, verdict in verdicts if verdict in ("failed", "error")))


class Search:
    """One search in one worktree."""

    def __init__(self, spec: Spec, root: str, log: Log) -> None:
        parsed = [parse(command) for command in spec.all_commands]
        commands = [command for command in parsed if command is not None]
        if not commands:
            raise NoRepair("no repair: the check does not run pytest, so there are no tests to search with")
        self.spec = spec
        self.root = root
        self.log = log
        self.command = commands[0]
        self.tried = 0
        self.lab = Lab(root, spec.workers, warm_up(root))
        self.baseline = Baseline(self.lab, commands, spec.failing)
        self.skip = spec.skip_accepted
        self.repairs: list[Candidate] = []
        self.validated = 0
        self.goal_cpu_s = 0
        self.searched: set[str] = set()
        self._related: dict[str, list[tuple[str, Session]]] = {}

    def run(self) -> str:
        """Return what was repaired; raises `NoRepair`."""
        goal = self._goal()
        count = len(goal)
        for _ in range(MAX_CAUSES):
            goal = self._round(goal)
            if not goal:
                what = "; ".join(candidate.description for candidate in self.repairs)
                self.log(
                    f"{self.tried} candidates tried, validated by {self.validated} tests not searched with"
                )
                return (
                    f"{what}. Turns {count} failing tests green after {self.tried} candidates; "
                    f"validated by {self.validated} tests that were not searched with."
                )
        raise self._none()

    def operations(self) -> list[dict[str, Any]]:
        """Return the edit operations that lead from the files as they are to the repaired texts."""
        found: list[dict[str, Any]] = []
        for path, text in sorted(self.lab.texts.items()):
            newline = "\r\n" if b"\r\n" in Path(self.root, path).read_bytes() else "\n"
            before = read_source(Path(self.root, path), path)
            assert before is not None  # noqa: S101 - it was read before it was changed
            found.extend(operations.replacements(path, before.text, text, newline))
        return found

    def _none(self) -> NoRepair:
        return NoRepair(f"no repair found after {self.tried} candidates")

    def _goal(self) -> list[str]:
        if self.spec.failing:
            return list(self.spec.failing)
        red = self.baseline.red()
        unusable = [session.status for session in self.baseline.sessions if session.status in (3, 4)]
        if unusable:
            raise NoRepair(f"no repair: pytest itself can't run the check, it ends with status {unusable[0]}")
        if not red:
            raise NoRepair("nothing to repair: no test of the check is red")
        return red

    # One round: the first cause that can be found

    def _round(self, goal: list[str]) -> list[str]:
        """Add one repair to the texts and return the tests that are still red; raises `NoRepair`."""
        items = self.lab.load(self.command, self._files_of(goal))
        goal = [_collected(test, items) for test in goal]
        red, green = self._traces(goal, items)
        if red:
            target = min(red, key=lambda trace: (trace.events, goal.index(trace.test)))
        else:
            self.lab.items = []  # not red when loaded: whole sessions decide
            target = self._fresh_trace(goal)
        ordered = self._candidates(target, [*red, *green])
        self.searched.add(target.test)
        task = self._task(target, goal, green)
        lookahead = LOOKAHEAD if self._share_a_line(red) else 0
        best = self._hunt(ordered, task, goal, lookahead)
        self.repairs.append(best.candidate)
        self.lab.texts[best.candidate.source.path] = best.candidate.text
        return [test for test in goal if best.verdicts.get(test) != "passed"]

    def _files_of(self, goal: list[str]) -> list[str]:
        files = list(dict.fromkeys(test.split("::", 1)[0] for test in goal))
        if all(Path(self.root, file).exists() for file in files):
            return files
        rootdir = self.baseline.wait()[0].rootdir
        return [str(Path(rootdir, file)) for file in files]

    def _traces(self, goal: list[str], items: list[str]) -> tuple[list[Trace], list[Trace]]:
        self.usage: dict[str, float] = {}
        known = [test for test in goal if test in set(items)]
        if not known:
            return [], []
        red = self._trace(known[:MAX_TRACED_RED])
        red = [trace for trace in red if not trace.passed]
        if not red:
            return [], []
        paths = {path for trace in red for path, _ in trace.lines if self._is_editable(path)}
        others = nearest(red[0].test, items, goal, MAX_TRACED_GREEN)
        green = [trace for trace in self._trace(others, sorted(paths)) if trace.passed]
        return red, green

    def _trace(self, tests: list[str], only: list[str] | None = None) -> list[Trace]:
        traces = []
        for trace, cpu_s in self.lab.trace(tests, only):
            self.usage[trace.test] = cpu_s
            traces.append(trace)
        return traces

    def _fresh_trace(self, goal: list[str]) -> Trace:
        test = goal[0]
        number = self.lab.start_session(self.command, [self.lab.argument(test)], trace=True)
        session = self.lab.finish_session(number)
        if session.verdicts.get(test) == "passed":
            raise NoRepair(f"nothing to repair: {test} passes on its own")
        return Trace(test, False, session.lines, session.frames, TRACE_BUDGET)

    def _share_a_line(self, red: list[Trace]) -> bool:
        """Return whether one edit could turn all of them green: only of a line that all of them run."""
        common = frozenset.intersection(*(trace.lines for trace in red)) if red else frozenset[Line]()
        return not red or any(self._is_editable(path) for path, _ in common)

    def _is_editable(self, path: str) -> bool:
        return is_editable(path, self.spec.touches)

    def _candidates(self, target: Trace, traces: list[Trace]) -> Iterator[Candidate]:
        suspicion = rank(_only(target, self._is_editable), traces)
        sources = {path: source for path in suspicion.paths if (source := self._source(path))}
        if not sources:
            raise NoRepair("no repair: the failing tests run no file that may be edited")
        ordered = candidates(sources, suspicion, self._test_literals(target.test))
        top = sorted(suspicion.lines.items(), key=lambda item: (-item[1], item[0]))[:3]
        places = ", ".join(f"{path}:{line} ({score:.2f})" for (path, line), score in top)
        self.log(f"{len(suspicion.lines)} suspicious lines, first {places}; {len(ordered)} edits")
        distinct = Distinct()
        return _bounded(candidate for candidate in ordered if distinct.is_new(candidate))

    def _source(self, path: str) -> SourceFile | None:
        if path in self.lab.texts:
            return SourceFile(path, self.lab.texts[path])
        return read_source(Path(self.root, path), path)

    def _test_literals(self, test: str) -> tuple[object, ...]:
        file, *names = test.split("::")
        name = re.sub(r"\[.*", "", names[-1], flags=re.DOTALL) if names else ""
        source = read_source(Path(self.lab.rootdir, file), file)
        if source is None:
            return ()
        functions = [n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef) and n.name == name]
        values = [
            (node.lineno, node.col_offset, node.value)
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Constant) and type(node.value) in (str, int, float)
        ]
        ordered = [value for *_, value in sorted(values, key=lambda item: item[:2])]
        return tuple(dict.fromkeys(ordered))[:60]

    def _task(self, target: Trace, goal: list[str], green: list[Trace]) -> Task:
        endless = target.events >= TRACE_BUDGET
        own = 0.0 if endless else self.usage.get(target.test, 0.0)
        rest = [test for test in goal if test != target.test]
        guards = [trace.test for trace in green]
        others = sum(self.usage.get(test, 0.5) for test in (*rest, *guards))
        known = [20 * trace.events for trace in (*green, target) if trace.events < TRACE_BUDGET]
        rounds = MAX_ROUNDS if endless else min(max([MIN_ROUNDS, *known]), MAX_ROUNDS)
        self.goal_cpu_s = cpu_limit(own + others)
        return Task(
            (target.test,),
            tuple(rest),
            tuple(guards),
            rounds,
            cpu_limit(own),
            cpu_limit(own + others),
        )

    def _hunt(self, ordered: Iterator[Candidate], task: Task, goal: list[str], lookahead: int) -> Attempt:
        """Return the first attempt, in order, that repairs all of `goal`; failing that, the best partial one."""
        partial: list[Attempt] = []
        limited = itertools.islice(ordered, max(0, self.spec.max_candidates - self.tried))
        before = self.tried
        for attempt in self.lab.attempts(limited, task, self.command):
            self.tried = before + attempt.number + 1
            if partial and attempt.number - partial[0].number >= max(1, lookahead):
                break
            if not attempt.passed or attempt.broken:
                continue
            whole = all(attempt.verdicts.get(test) == "passed" for test in goal)
            if whole and self._is_valid(attempt, goal) and not self._is_skipped():
                return attempt
            if not whole:
                partial.append(attempt)
        for attempt in sorted(partial, key=lambda item: (-_greens(item, goal), item.number)):
            fixed = [test for test in goal if attempt.verdicts.get(test) == "passed"]
            if self._is_valid(attempt, fixed):
                return attempt
        raise self._none()

    def _is_skipped(self) -> bool:
        self.skip -= 1
        return self.skip >= 0

    # Validation: whole sessions, on checks that were not searched with

    def _is_valid(self, attempt: Attempt, goal: list[str]) -> bool:
        """Return whether the commands, and tests beside them, agree in sessions of their own."""
        texts = {attempt.candidate.source.path: attempt.candidate.text}
        self.validated = 0
        seen: set[str] = set()
        baseline = self.baseline
        for base, command, paths in zip(baseline.wait(), baseline.commands, baseline.paths, strict=True):
            session = self._agrees(command, paths, base, goal, texts)
            if session is None:
                return False
            seen |= session.verdicts.keys()
        return seen.issuperset(goal) and all(
            self._agrees(self.command, [path], base, [], texts)
            for path, base in self._related_sessions(attempt)
        )

    def _agrees(
        self,
        command: PytestCommand,
        paths: list[str] | None,
        base: Session,
        goal: list[str],
        texts: dict[str, str],
    ) -> Session | None:
        """Return the session if all that was green is so, and what of `goal` the command runs; else None."""
        green = [test for test, verdict in base.verdicts.items() if verdict == "passed"]
        cpu_s = cpu_limit(base.cpu_s) + self.goal_cpu_s
        number = self.lab.start_session(command, paths, texts=texts, must_pass=[*green, *goal], cpu_s=cpu_s)
        session = self.lab.finish_session(number)
        own = [*green, *(test for test in goal if test in session.verdicts)]
        if not session.finished or any(session.verdicts.get(test) != "passed" for test in own):
            return None
        self.validated += len(set(own) - self.searched)
        return session

    def _related_sessions(self, attempt: Attempt) -> list[tuple[str, Session]]:
        """Return the baseline of other test files that name the changed module, a bounded number of them."""
        stem = Path(attempt.candidate.source.path).stem
        if stem not in self._related:
            known = {test.split("::", 1)[0] for session in self.baseline.wait() for test in session.verdicts}
            folders = {str(Path(file).parent) for file in known}
            files = [
                str(path)
                for folder in sorted(folders)
                for path in sorted(Path(self.lab.rootdir, folder).glob("test_*.py"))
                if str(path.relative_to(self.lab.rootdir)) not in known
                and re.search(rf"\b{re.escape(stem)}\b", path.read_text(errors="replace"))
            ]
            numbers = [
                (file, self.lab.start_session(self.command, [file])) for file in files[:MAX_RELATED_FILES]
            ]
            self._related[stem] = [(file, self.lab.finish_session(number)) for file, number in numbers]
        return self._related[stem]


def _bounded(stream: Iterator[Candidate]) -> Iterator[Candidate]:
    """Leave out candidates outside functions beyond `MAX_FRESH`: each of them costs a session of its own."""
    fresh = 0
    for candidate in stream:
        fresh += candidate.unit is None
        if candidate.unit is not None or fresh <= MAX_FRESH:
            yield candidate


def _greens(attempt: Attempt, goal: list[str]) -> int:
    return sum(attempt.verdicts.get(test) == "passed" for test in goal)


def _collected(test: str, items: list[str]) -> str:
    """Return `test` as it was collected: the ids of reports may begin at another folder."""
    if test in items:
        return test
    return next((item for item in items if item.endswith(f"/{test}") or test.endswith(f"/{item}")), test)


def _only(trace: Trace, wanted: Callable[[str], bool]) -> Trace:
    lines = frozenset(line for line in trace.lines if wanted(line[0]))
    frames = tuple(line for line in trace.frames if wanted(line[0]))
    return Trace(trace.test, trace.passed, lines, frames, trace.events)
