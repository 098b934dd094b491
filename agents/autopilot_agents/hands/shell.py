"""The one function that runs commands: of checks, of agents, of the user's `autopilot shell`, of the offline search.

Every command gets a fresh shell, a fresh and scrubbed environment, no input, a time limit, a bounded view of its
output, and is ended with everything that it started.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
import anyio.abc

from autopilot_agents.errors import CommandRefused, SandboxUnavailable
from autopilot_agents.hands import processes
from autopilot_agents.hands.environment import scrubbed_environment
from autopilot_agents.hands.output import OutputSink, OutputView, open_log
from autopilot_agents.hands.redact import Redactor
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_agents.hands.shell_policy import banned_edit
from autopilot_agents.protocols import ToolSpec

__all__ = ["ShellLimits", "ShellResult", "ShellTool", "banned_edit", "run_agent_shell", "run_shell"]

EXIT_TIME_LIMIT = 124
_CHUNK_BYTES = 65_536
_DRAIN_S = 2.0
"""How long output is read on after the tree is dead; then nobody can write but what escaped without a sandbox."""
_INLINE_BYTES = 100_000
"""Longer commands go to the shell as a file; Linux takes 131,072 bytes as one argument."""
_FULL_VIEW_LINES = 100_000
_FULL_VIEW_BYTES = 4_000_000


@dataclass(frozen=True)
class ShellLimits:
    """What one command may use, and how much of it is shown."""

    timeout_s: float = 600.0
    view_lines: int = 240
    view_bytes: int = 16_384
    log_bytes: int = 50_000_000
    term_grace_s: float = 2.0
    """Between asking the tree to end and killing it."""


@dataclass(frozen=True)
class ShellResult:
    """How a command ended. `view` is bounded, redacted and free of control characters."""

    command: str
    exit_code: int
    """128 + n when ended by signal n, 124 at the time limit."""
    view: str
    duration_s: float
    timed_out: bool
    truncated: bool
    """True if `view` shows less than the whole output."""
    output_bytes: int


async def run_shell(
    command: str,
    *,
    root: Path,
    sandbox: Sandbox,
    env: Mapping[str, str] | None = None,
    writable: Sequence[Path] = (),
    readable: Sequence[Path] = (),
    log_path: Path | None = None,
    limits: ShellLimits = ShellLimits(),
    redactor: Redactor | None = None,
    full_output: bool = False,
) -> ShellResult:
    """Return how `command` ended, after everything that it started is dead, also when cancelled.

    The command runs in `root`, under `bash -o pipefail`. `env` is added to the scrubbed environment, without
    variables whose names look secret. `log_path` takes the redacted output up to `limits.log_bytes`.
    `full_output` widens the view to 4 MB, for checks that a user wrote.

    Raises:
        CommandRefused: the command or `root` can't be run in: a NUL, no such folder.
        SandboxUnavailable: the sandbox could not be set up, so that nothing was run.
    """
    _refuse_impossible(command, root)
    if full_output:
        limits = replace(limits, view_lines=_FULL_VIEW_LINES, view_bytes=_FULL_VIEW_BYTES)
    view = OutputView(limits.view_lines, limits.view_bytes)
    redactor = redactor or Redactor()
    started = time.monotonic()
    log = open_log(log_path) if log_path else None
    sink = OutputSink(view, redactor, log, limits.log_bytes)
    try:
        run = _Run(command, root.resolve(), sandbox, scrubbed_environment(env), writable, readable)
        exit_code, timed_out = await run.to_end(sink, limits)
    finally:
        sink.finish()
        if log is not None:
            log.close()
    # Once more over the finished view: taking out terminal sequences may have joined the parts of a secret.
    return ShellResult(
        command=redactor.text(command),
        exit_code=exit_code,
        view=redactor.text(view.text()),
        duration_s=time.monotonic() - started,
        timed_out=timed_out,
        truncated=view.truncated,
        output_bytes=sink.output_bytes,
    )


class _Run:
    """One command's process tree, from start to the death of its last member."""

    def __init__(
        self,
        command: str,
        root: Path,
        sandbox: Sandbox,
        env: dict[str, str],
        writable: Sequence[Path],
        readable: Sequence[Path],
    ) -> None:
        self._root = root
        self._sandbox = sandbox
        self._marker = uuid.uuid4().hex
        if sandbox.level == "none":
            env = {**env, processes.MARKER_VARIABLE: self._marker}
        self._env = env
        self._script = _as_file(command)
        self._argv = sandbox.argv(
            root=root,
            command_argv=_shell_argv(command, self._script),
            env=env,
            writable=writable,
            readable=readable,
        )
        self._output, self._status = -1, -1
        self._report = b""

    async def to_end(self, sink: OutputSink, limits: ShellLimits) -> tuple[int, bool]:
        """Return exit code and whether the time limit was reached."""
        process = await self._start()
        try:
            timed_out = await self._watch(process, sink, limits)
            code = process.returncode if process.returncode is not None else -signal.SIGKILL
            if timed_out:
                return EXIT_TIME_LIMIT, True
            self._prove_that_it_ran(code, sink)
            return (code if code >= 0 else 128 - code), False
        finally:
            os.close(self._output)
            os.close(self._status)

    async def _start(self) -> anyio.abc.Process:
        self._output, output = os.pipe()
        self._status, status = os.pipe()
        os.set_blocking(self._output, False)
        os.set_blocking(self._status, False)
        argv, kept = list(self._argv), [self._script] if self._script is not None else []
        if self._sandbox.level == "bwrap":
            # bubblewrap says over this pipe whether the command was started at all.
            argv[1:1] = ["--json-status-fd", str(status)]
            kept.append(status)
        try:
            # Cancelled in here, the shell would be killed but not what it has started meanwhile.
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    argv,
                    stdin=DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=self._root,
                    # Inside, the environment of bubblewrap itself can be read.
                    env={"PATH": self._env["PATH"]} if self._sandbox.level == "bwrap" else self._env,
                    start_new_session=True,
                    pass_fds=kept,
                )
        except BaseException as cause:
            os.close(self._output)
            os.close(self._status)
            if isinstance(cause, OSError):
                raise _not_started(str(cause)) from cause
            raise
        finally:
            for fd in {output, status, *kept}:
                os.close(fd)
        with suppress(ProcessLookupError, PermissionError):
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
        return process

    async def _watch(self, process: anyio.abc.Process, sink: OutputSink, limits: ShellLimits) -> bool:
        """Wait for the shell, not for what it left in the background; return True at the time limit."""
        drained = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._pump, sink, drained)
            try:
                with anyio.move_on_after(limits.timeout_s) as limit:
                    await process.wait()
                if limit.cancelled_caught:
                    await self._ask_to_end(process, limits.term_grace_s)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._kill(process)
                    with anyio.move_on_after(_DRAIN_S):
                        await drained.wait()
            group.cancel_scope.cancel()
        return limit.cancelled_caught

    async def _pump(self, sink: OutputSink, drained: anyio.Event) -> None:
        try:
            while True:
                await anyio.wait_readable(self._output)
                data = os.read(self._output, _CHUNK_BYTES)
                if not data:
                    return
                sink.take(data)
        finally:
            drained.set()

    async def _ask_to_end(self, process: anyio.abc.Process, grace_s: float) -> None:
        """Send TERM to the command's processes, not to bubblewrap, whose end would kill them at once."""
        tree = processes.descendants(process.pid)
        if self._sandbox.level == "none":
            tree |= processes.members(process.pid, self._marker) | {process.pid}
        processes.send(tree, signal.SIGTERM)
        with anyio.move_on_after(grace_s):
            await process.wait()

    async def _kill(self, process: anyio.abc.Process) -> None:
        if self._sandbox.level == "bwrap":
            # The PID namespace dies with bubblewrap (--die-with-parent), and everything in it.
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await processes.wait_until_gone(self._namespace_leader())
        else:
            await processes.kill_tree(process.pid, self._marker)
            await process.wait()

    def _namespace_leader(self) -> int | None:
        """Return the first process of the PID namespace, as bubblewrap reported it, or None if it made none."""
        with suppress(BlockingIOError):
            self._report += os.read(self._status, _CHUNK_BYTES)
        match = re.search(rb'"child-pid": *(\d+)', self._report)
        return int(match[1]) if match else None

    def _prove_that_it_ran(self, code: int, sink: OutputSink) -> None:
        if self._sandbox.level != "bwrap" or code != 1:
            return
        if b'"exit-code"' not in self._report:
            sink.finish()
            raise _not_started(sink.view.text()[-500:])


def _not_started(why: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        "AP502",
        "the sandbox could not be set up; the command was not run",
        why=why.strip(),
        fix="run `autopilot doctor`; bubblewrap 0.8 or later and user namespaces are needed",
    )


def _refuse_impossible(command: str, root: Path) -> None:
    if "\0" in command:
        raise CommandRefused(
            "AP452", "the command holds a NUL character", fix="write it as \\0 in a quoted string"
        )
    try:
        os.fsencode(command)
    except UnicodeEncodeError as cause:
        raise CommandRefused("AP452", "the command is not valid text", why=str(cause)) from cause
    if not root.is_dir():
        raise CommandRefused("AP454", f"there is no folder {root} to run in")


def _shell_argv(command: str, script: int | None) -> list[str]:
    bash = shutil.which("bash")
    start = [bash, "--norc", "--noprofile", "-o", "pipefail"] if bash else ["sh"]
    return [*start, f"/proc/self/fd/{script}"] if script is not None else [*start, "-c", command]


def _as_file(command: str) -> int | None:
    """Return a descriptor of a file in memory that holds a command too long for an argument, or None."""
    data = os.fsencode(command)
    if len(data) <= _INLINE_BYTES:
        return None
    fd = os.memfd_create("command")
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    return fd


async def run_agent_shell(
    command: str,
    *,
    root: Path,
    sandbox: Sandbox,
    env: Mapping[str, str] | None = None,
    writable: Sequence[Path] = (),
    readable: Sequence[Path] = (),
    log_path: Path | None = None,
    limits: ShellLimits = ShellLimits(),
    redactor: Redactor | None = None,
) -> ShellResult:
    """Return what `run_shell` returns, for a command that a model wrote; never with the full output.

    Raises:
        CommandRefused: AP451, the command edits files; the text names the edit operation to use.
    """
    reason = banned_edit(command)
    if reason:
        raise CommandRefused(
            "AP451", reason, why="files change through edit operations only, which can be undone"
        )
    return await run_shell(
        command,
        root=root,
        sandbox=sandbox,
        env=env,
        writable=writable,
        readable=readable,
        log_path=log_path,
        limits=limits,
        redactor=redactor,
    )


class ShellTool:
    """Lets a role run commands in its worktree."""

    spec = ToolSpec(
        name="shell",
        description=(
            "Run a bash command in the worktree: tests, linters, reading and searching. No network, no input, a fresh "
            "shell each time. Long output is shortened to its first lines, error lines and last lines. Don't edit "
            "files with it (no sed -i, no here-documents or redirection into files): use edit operations."
        ),
        schema={
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "the bash command"},
                "timeout_s": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "default": 600},
            },
            "required": ["command"],
            "additionalProperties": False,
        },
    )

    def __init__(
        self,
        root: Path,
        sandbox: Sandbox,
        redactor: Redactor | None = None,
        on_result: Callable[[ShellResult], None] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
        limits: ShellLimits = ShellLimits(),
        new_log: Callable[[], Path] | None = None,
    ) -> None:
        self._root = root
        self._sandbox = sandbox
        self._redactor = redactor
        self._on_result = on_result
        self._env = env
        self._readable = readable
        self._limits = limits
        self._new_log = new_log

    async def run(self, arguments: Mapping[str, Any]) -> str:
        """Return the view of the output and a line with the exit code."""
        command, timeout_s = _checked(arguments, self._limits.timeout_s)
        result = await run_agent_shell(
            command,
            root=self._root,
            sandbox=self._sandbox,
            env=self._env,
            readable=self._readable,
            log_path=self._new_log() if self._new_log else None,
            limits=replace(self._limits, timeout_s=timeout_s),
            redactor=self._redactor,
        )
        if self._on_result is not None:
            self._on_result(result)
        ending = f"ended at the time limit of {timeout_s:g} s; " if result.timed_out else ""
        return f"{result.view}\n[{ending}exit code {result.exit_code}]".lstrip("\n")


def _checked(arguments: Mapping[str, Any], longest_s: float) -> tuple[str, float]:
    command, timeout_s = arguments.get("command"), arguments.get("timeout_s", longest_s)
    if not isinstance(command, str) or not command.strip():
        raise CommandRefused("AP453", "the shell tool needs a command: a non-empty string")
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 < timeout_s <= 600:
        raise CommandRefused("AP453", "timeout_s has to be a number of seconds over 0 and up to 600")
    return command, min(float(timeout_s), longest_s)
