"""One git process, hardened: no hook, no configuration but the repository's own, no prompt, no network, no pager.

Used by `git.py` alone. The flags were tested one by one against 19 ways to make git run something.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import anyio.abc

from autopilot_agents.errors import GitError
from autopilot_agents.hands.environment import DEFAULT_PATH

_TIMEOUT_S = 900.0
_OUTPUT_BYTES = 512 << 20
_ERROR_BYTES = 65_536
_HARDENING = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.fsync=all",
    "commit.gpgSign=false",
    "safe.directory=*",
    "safe.bareRepository=explicit",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "advice.addEmbeddedRepo=false",
    "merge.renames=true",
    "merge.conflictStyle=merge",
    "rerere.enabled=false",
)


@dataclass(frozen=True)
class GitResult:
    """What a git process gave back; `stderr` is bounded."""

    stdout: bytes
    stderr: str
    exit_status: int

    @property
    def line(self) -> str:
        """The output as one stripped line."""
        return os.fsdecode(self.stdout).strip()


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH") or DEFAULT_PATH,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_EDITOR": "false",
        **(extra or {}),
    }


async def run_git(
    arguments: list[str], *, cwd: Path, stdin: bytes | None = None, env: Mapping[str, str] | None = None
) -> GitResult:
    """Return how `git` with the hardening flags ended; killed when cancelled."""
    flags = [word for setting in _HARDENING for word in ("-c", setting)]
    process = await anyio.open_process(
        ["git", "--no-pager", *flags, *arguments],
        stdin=DEVNULL if stdin is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env=_environment(env),
        start_new_session=True,
    )
    out, err = bytearray(), bytearray()
    async with process:
        try:
            with anyio.fail_after(_TIMEOUT_S):
                async with anyio.create_task_group() as group:
                    group.start_soon(_collect, process.stdout, out, _OUTPUT_BYTES)
                    group.start_soon(_collect, process.stderr, err, _ERROR_BYTES)
                    await _feed(process, stdin)
                status = await process.wait()
        except TimeoutError as cause:
            raise GitError("AP611", f"git {arguments[-1]} did not end within {_TIMEOUT_S:g} s") from cause
    if len(out) >= _OUTPUT_BYTES:
        raise GitError("AP611", "git gave more output than can be held", why=f"over {_OUTPUT_BYTES} bytes")
    return GitResult(bytes(out), err.decode("utf-8", "replace"), status)


async def _collect(stream: anyio.abc.ByteReceiveStream | None, into: bytearray, limit: int) -> None:
    if stream is not None:
        async for chunk in stream:
            into += chunk[: limit - len(into)]


async def _feed(process: anyio.abc.Process, data: bytes | None) -> None:
    if data is None or process.stdin is None:
        return
    try:
        await process.stdin.send(data)
        await process.stdin.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # git ended without reading all of it; its exit status says why
