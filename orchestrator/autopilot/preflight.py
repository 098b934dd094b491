"""What is found out before a run begins, so that nothing is created for one that can't work."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from autopilot.config import RunOptions
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_agents.hands.shell import run_shell
from autopilot_playbooks.schema import Check, Roadmap
from autopilot_state.errors import PreflightError

_SHELL_STARTS = frozenset("({!$\"'`<>&|;#\\*?[~")


async def refuse_unstartable_checks(
    roadmap: Roadmap, targets: Sequence[str], git: Git, head: str, sandbox: Sandbox, options: RunOptions
) -> None:
    """Return if the first word of every check is a command that can be found.

    A word that only a shell can make sense of is left to the shell. With a set-up command nothing is refused,
    because that may install the command.

    Raises:
        PreflightError: AP231, names the phase, the command and the word.
    """
    if roadmap.setup is not None:
        return
    words = {
        word: (phase, check)
        for phase, check in _checks(roadmap, targets)
        if (word := first_word(check.command))
    }
    plain = [word for word in words if "/" not in word]
    missing = await _not_found(plain, sandbox, options)
    for word in words:
        if "/" in word and not Path(word).is_absolute():
            there = await git.run("cat-file", "-e", f"{head}:{word.removeprefix('./')}", check=False)
            if there.exit_status != 0:
                missing.append(word)
        elif "/" in word and not Path(word).exists():
            missing.append(word)
    if missing:
        phase, check = words[missing[0]]
        raise PreflightError(
            "AP231",
            f"phase {phase}: its check `{check.command[:120]}` can't start",
            why=f"{missing[0]} was not found",
            fix="name a command that exists here, or install it with checks.setup",
        )


def _checks(roadmap: Roadmap, targets: Sequence[str]) -> Iterable[tuple[str, Check]]:
    for phase in roadmap.phases:
        if phase.id in targets:
            yield from ((phase.id, check) for check in phase.checks)
    yield from (("guards", check) for check in roadmap.guards)


def first_word(command: str) -> str | None:
    """Return the word that a shell would start first, or None where that takes a shell to say."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for word in words:
        name, equals, _ = word.partition("=")
        if equals and name.isidentifier():
            continue
        return None if word[0] in _SHELL_STARTS or word == "" else word.rstrip(";")
    return None


async def _not_found(words: Sequence[str], sandbox: Sandbox, options: RunOptions) -> list[str]:
    if not words:
        return []
    named = options.python or options.config.python
    env = {}
    readable: list[Path] = []
    if named is not None:
        folder = Path(named).absolute().parent
        env["PATH"] = f"{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        readable = [folder.parent]
    script = "; ".join(
        f"command -v -- {shlex.quote(w)} >/dev/null || printf '%s\\n' {shlex.quote(w)}" for w in words
    )
    with tempfile.TemporaryDirectory(prefix="autopilot-preflight-") as folder_name:
        result = await run_shell(script, root=Path(folder_name), sandbox=sandbox, env=env, readable=readable)
    return [line for line in result.view.splitlines() if line in words]
