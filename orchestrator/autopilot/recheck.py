"""Runs every recorded check again from a clean clone of the result: the answer to "is it really true?"."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from autopilot.checks import python_environment
from autopilot.config import RunOptions
from autopilot.contracts import Contracts
from autopilot.home import find_repository, find_run
from autopilot.interpreters import interpreter, readable_paths
from autopilot.junit import TestResult, parse_junit
from autopilot.recorder import ReadOnlyRun
from autopilot.scheduling import SATISFIED
from autopilot_agents.hands.git import Git, clone_commit, discover
from autopilot_agents.hands.redact import Redactor
from autopilot_agents.hands.sandbox import Sandbox, detect_sandbox
from autopilot_agents.hands.shell import ShellLimits, run_shell
from autopilot_playbooks.schema import Check
from autopilot_state.ids import unit_sort_key


async def recheck(options: RunOptions) -> dict[str, Any]:
    """Return each check of each merged unit with what it says now; the run and the repository stay as they are."""
    repository = find_repository(options.cwd)
    run = ReadOnlyRun(find_run(repository, options.run_id))
    document = run.document
    git = Git(await discover(options.cwd))
    sandbox = await detect_sandbox(allow_none=document["run"]["sandbox"] == "none")
    contracts = Contracts(run.roadmap(), run, _no_files)
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="autopilot-recheck-") as name:
        clone = Path(name) / "clone"
        await clone_commit(git.common_dir, clone, document["run"]["head"])
        runner = _Again(options, sandbox, clone)
        if run.roadmap().setup:
            await runner.shell(str(run.roadmap().setup), 3600.0, Path(name))
        for unit in sorted(document["units"], key=unit_sort_key):
            row = document["units"][unit]
            if row["result"] in SATISFIED and row["result"] != "skipped":
                mode = "accept" if row["children"] else "work"
                for check in contracts.checks(unit, mode):
                    found.append({"unit": unit, "check": check.id, **await runner.check(check)})
    return {"run": document["run"]["id"], "commit": document["run"]["head"], "checks": found}


async def _no_files(_: str) -> list[str]:
    return []


class _Again:
    """Runs commands in the clone as a run's checks run."""

    def __init__(self, options: RunOptions, sandbox: Sandbox, clone: Path) -> None:
        self._sandbox = sandbox
        self._clone = clone
        _, self._python_path = interpreter(options)
        self._redactor = Redactor.from_environ(os.environ)
        self._seen: dict[str, tuple[tuple[int, float], dict[str, TestResult]]] = {}

    async def check(self, check: Check) -> dict[str, Any]:
        """Return what one check says; a command that several units share runs once."""
        if check.command not in self._seen:
            with tempfile.TemporaryDirectory(prefix="autopilot-check-") as scratch:
                ended = await self.shell(check.command, check.timeout_s, Path(scratch))
                report = Path(scratch) / "junit.xml"
                self._seen[check.command] = (
                    ended,
                    parse_junit(report.read_bytes()) if report.exists() else {},
                )
        (exit_code, duration_s), tests = self._seen[check.command]
        green = exit_code == 0
        if check.tests:
            green = all(test in tests and tests[test].status == "passed" for test in check.tests)
        return {
            "command": check.command,
            "tests": len(check.tests),
            "exit_code": exit_code,
            "green": green,
            "duration_s": round(duration_s, 3),
        }

    async def shell(self, command: str, timeout_s: float, scratch: Path) -> tuple[int, float]:
        """Return exit status and seconds of a command in the clone."""
        env = python_environment(self._clone, self._python_path)
        env["PYTEST_ADDOPTS"] = f"--junitxml={scratch}/junit.xml -o junit_family=xunit1"
        result = await run_shell(
            command, root=self._clone, sandbox=self._sandbox, env=env, writable=[scratch],
            readable=readable_paths(self._python_path), limits=ShellLimits(timeout_s=timeout_s), redactor=self._redactor,
        )  # fmt: skip
        return result.exit_code, result.duration_s
