"""Runs checks and keeps what came out: one command on one tree runs once, whoever asks.

For Python the worktree (or its `src`) comes first on PYTHONPATH, so that checks see the tree under test and not an
installed copy. A runner of pytest is asked, through the environment, for a JUnit report beside its own output; a
command that writes none is one test.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import orjson

from autopilot.junit import parse_junit
from autopilot.recorder import RunRecorder
from autopilot_agents.hands.redact import Redactor
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_agents.hands.shell import ShellLimits, ShellResult, run_shell
from autopilot_playbooks.schema import Check
from autopilot_state.models import ArtifactRef

JUNIT_NAME = "junit.xml"


@dataclass(frozen=True)
class CheckRun:
    """How one command ended on one tree. `tests` maps test ids to their status; empty when it reports none."""

    command: str
    tree: str
    exit_code: int
    duration_s: float
    view: str
    tests: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """The file that each test stands in, where the report says so."""
    log: ArtifactRef | None = None

    @property
    def red_tests(self) -> tuple[str, ...]:
        return tuple(test for test, status in self.tests.items() if status in ("failed", "error"))

    def passed(self, test: str) -> bool:
        return self.tests.get(test) == "passed"


@dataclass(frozen=True)
class CheckRunner:
    """Everything that running a command on a worktree needs."""

    recorder: RunRecorder
    sandbox: Sandbox
    redactor: Redactor
    readable: Sequence[Path] = ()
    python_path: Sequence[Path] = ()
    """Folders that come first on PATH, so that `python` is the interpreter the user named."""
    turns: dict[str, anyio.Lock] = field(default_factory=dict)
    """One lock for each operation that was asked for."""

    async def run(self, check: Check, *, worktree: Path, tree: str, again: int = 0) -> CheckRun:
        """Return how `check` ends on the checked-out `tree`; found again when it ran there before.

        `again` numbers deliberate repetitions, which look for flaky tests.
        """
        op = _op(check, tree, again)
        async with self.turns.setdefault(op, anyio.Lock()):
            # Whoever asks while it runs in another worktree of the same tree waits, and finds it.
            known = self.known(check, tree, again=again)
            return known if known is not None else await self._run_and_keep(check, worktree, tree, op)

    async def _run_and_keep(self, check: Check, worktree: Path, tree: str, op: str) -> CheckRun:
        run = await self._run(check, worktree, tree, op[1:])
        ref = self.recorder.put_artifact("", f"{op[1:]}.json", _encode(run))
        self.recorder.done(op, "", "check", {"exit": run.exit_code, "ref": ref.model_dump()})
        # What was stored, not what was seen: a restart must not find another result than this life worked with.
        return _decode(self.recorder.get_artifact(ref))

    def known(self, check: Check, tree: str, *, again: int = 0) -> CheckRun | None:
        """Return how `check` ended on `tree` when it ran there before."""
        done = self.recorder.found(_op(check, tree, again))
        return None if done is None else _decode(self.recorder.get_artifact(ArtifactRef(**done["ref"])))

    async def _run(self, check: Check, worktree: Path, tree: str, name: str) -> CheckRun:
        with tempfile.TemporaryDirectory(prefix="autopilot-check-") as scratch:
            log_path = self.recorder.log_path("", f"{name}.log")
            result = await self.shell(
                check.command,
                worktree,
                extra_env={"PYTEST_ADDOPTS": f"--junitxml={scratch}/{JUNIT_NAME} -o junit_family=xunit1"},
                writable=[Path(scratch)],
                log_path=log_path,
                limits=ShellLimits(timeout_s=check.timeout_s),
                full_output=check.full_output,
            )
            tests, files = await _read_junit(Path(scratch) / JUNIT_NAME, complete=not result.timed_out)
        digest = (
            hashlib.sha256(await anyio.Path(log_path).read_bytes()).hexdigest() if log_path.exists() else ""
        )
        return CheckRun(
            command=check.command,
            tree=tree,
            exit_code=result.exit_code,
            duration_s=round(result.duration_s, 3),
            view=result.view,
            tests=tests,
            files=files,
            log=ArtifactRef(path=f"shared/{name}.log", sha256=digest) if digest else None,
        )

    async def shell(
        self,
        command: str,
        worktree: Path,
        *,
        extra_env: Mapping[str, str] | None = None,
        writable: Sequence[Path] = (),
        log_path: Path | None = None,
        limits: ShellLimits | None = None,
        full_output: bool = False,
    ) -> ShellResult:
        """Run `command` in the worktree as checks run: in the sandbox, with the worktree first on PYTHONPATH."""
        return await run_shell(
            command,
            root=worktree,
            sandbox=self.sandbox,
            env={**python_environment(worktree, self.python_path), **(extra_env or {})},
            writable=writable,
            readable=self.readable,
            log_path=log_path,
            limits=limits or ShellLimits(),
            redactor=self.redactor,
            full_output=full_output,
        )


def python_environment(worktree: Path, python_path: Sequence[Path] = ()) -> dict[str, str]:
    """Return the variables that make Python import from the worktree, and PATH where an interpreter was named."""
    roots = [str(worktree / "src"), str(worktree)] if (worktree / "src").is_dir() else [str(worktree)]
    env = {"PYTHONPATH": ":".join(roots)}
    if python_path:
        env["PATH"] = ":".join(
            [*map(str, python_path), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        )
    return env


async def _read_junit(path: Path, *, complete: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Return statuses and files of a report; nothing of one that a time limit cut, or that does not parse."""
    if not complete or not path.exists():
        return {}, {}
    try:
        results = parse_junit(await anyio.Path(path).read_bytes())
    except ValueError:
        return {}, {}
    return {t: r.status for t, r in results.items()}, {t: r.file for t, r in results.items() if r.file}


def _op(check: Check, tree: str, again: int) -> str:
    """Return the operation of a command on a tree; which unit asks makes no difference."""
    about = orjson.dumps([check.command, check.timeout_s, check.full_output])
    return f".check.{hashlib.sha256(about).hexdigest()[:12]}.{tree}.{again}"


def _encode(run: CheckRun) -> bytes:
    log = run.log.model_dump() if run.log else None
    about = {
        "command": run.command,
        "tree": run.tree,
        "exit_code": run.exit_code,
        "duration_s": run.duration_s,
        "view": run.view,
        "tests": dict(run.tests),
        "files": dict(run.files),
        "log": log,
    }
    return orjson.dumps(about)


def _decode(data: bytes) -> CheckRun:
    about = orjson.loads(data)
    log = ArtifactRef(**about["log"]) if about["log"] else None
    return CheckRun(**{**about, "log": log})
