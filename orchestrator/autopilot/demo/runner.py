"""Runs a repository's tests for the planter, as one process a run."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from autopilot.junit import parse_junit
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_agents.hands.shell import ShellLimits, run_shell

Ending = Literal["passed", "failed", "error", "skipped"]


class TestsDidNotEnd(Exception):
    """Raised when a run of the tests gave no result: time limit, no report, failed set-up. `tail` ends its output."""

    __test__ = False

    def __init__(self, tail: str, reason: str) -> None:
        super().__init__(reason)
        self.tail = tail


class TestRunner(Protocol):
    """Runs tests in a folder and says how each ended."""

    async def run(self, repo_dir: Path, args: list[str]) -> dict[str, Ending]:
        """Return how each test ended, by test id; `args` are files or test ids, none means all.

        Raises:
            TestsDidNotEnd: the time limit was reached, or there is no report.
        """
        ...


class SubprocessRunner:
    """Runs `python -m pytest`, with the folder (and its `src`) first on the import path.

    `python` is looked up as the shell does. `sandbox` None runs the tests without a border, which only the bundled
    package may; `memory_mib` bounds the address space, because a mutant may well fill a list for ever. `setup` is run
    once in each folder, before its first tests.
    """

    def __init__(
        self,
        python: str,
        timeout_s: float,
        *,
        sandbox: Sandbox | None = None,
        readable: Sequence[Path] = (),
        memory_mib: int = 8192,
        setup: str | None = None,
    ) -> None:
        self._python = python
        self._timeout_s = timeout_s
        self._sandbox = sandbox or Sandbox(level="none")
        self._readable = tuple(readable)
        self._memory_mib = memory_mib
        self._setup = setup
        self._set_up: set[Path] = set()

    async def run(self, repo_dir: Path, args: list[str]) -> dict[str, Ending]:
        await self._prepare(repo_dir)
        with tempfile.TemporaryDirectory(prefix="autopilot-report-") as folder:
            report = Path(folder) / "report.xml"
            result = await run_shell(
                self._command(report, args),
                root=repo_dir,
                sandbox=self._sandbox,
                env=_import_path(repo_dir),
                writable=[Path(folder)],
                readable=self._readable,
                limits=ShellLimits(timeout_s=self._timeout_s, view_lines=40, view_bytes=4_000),
            )
            if result.timed_out:
                raise TestsDidNotEnd(result.view, "they reached their time limit")
            if not report.is_file():
                raise TestsDidNotEnd(result.view, "pytest left no report")
            try:
                results = parse_junit(report.read_bytes())
            except ValueError as error:
                raise TestsDidNotEnd(str(error), "their report is damaged") from error
        endings: dict[str, Ending] = {}
        for test_id, test in results.items():
            endings[test_id] = "skipped" if test.status == "xfailed" else test.status
        return endings

    async def _prepare(self, repo_dir: Path) -> None:
        """Run the set-up command, once in each folder."""
        if self._setup is None or repo_dir in self._set_up:
            return
        result = await run_shell(
            self._setup,
            root=repo_dir,
            sandbox=self._sandbox,
            env=_import_path(repo_dir),
            readable=self._readable,
            limits=ShellLimits(timeout_s=self._timeout_s, view_lines=40, view_bytes=4_000),
        )
        if result.exit_code != 0:
            raise TestsDidNotEnd(result.view, "the set-up command failed")
        self._set_up.add(repo_dir)

    def _command(self, report: Path, args: Sequence[str]) -> str:
        words = [self._python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no"]
        words += [f"--junitxml={report}", "-o", "junit_family=xunit1", *args]
        return f"ulimit -v {self._memory_mib * 1024}; {shlex.join(words)}"


def _import_path(repo_dir: Path) -> Mapping[str, str]:
    roots = [repo_dir / "src", repo_dir] if (repo_dir / "src").is_dir() else [repo_dir]
    return {"PYTHONPATH": ":".join(str(root.resolve()) for root in roots)}
