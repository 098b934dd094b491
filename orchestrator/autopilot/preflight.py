"""What is found out before a run begins, so that nothing is created for one that can't work."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from autopilot.checks import python_environment
from autopilot.config import RunOptions
from autopilot.interpreters import interpreter, readable_paths
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_agents.hands.shell import run_shell
from autopilot_playbooks.schema import Check, Roadmap
from autopilot_state.errors import PreflightError

MAX_PACKAGES = 20
_WHERE = """
import importlib.util, sys
for name in sys.argv[2:]:
    spec = importlib.util.find_spec(name)
    origin = (spec.origin or "") if spec else ""
    if not origin.startswith(sys.argv[1]):
        print("SHADOWED", name, origin or "not found")
"""
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


async def refuse_shadowed_packages(git: Git, head: str, sandbox: Sandbox, options: RunOptions) -> None:
    """Return if the repository's Python packages are imported from the worktree that is under test.

    An editable install of the user's checkout may put an import hook before PYTHONPATH; every check would then test
    the wrong files. Found out with empty stand-ins of the top-level packages, so nothing of the repository runs.

    Raises:
        PreflightError: AP234, names a package and where it would come from.
    """
    packages = await _top_level_packages(git, head)
    if not packages:
        return
    with tempfile.TemporaryDirectory(prefix="autopilot-preflight-") as name:
        root = Path(name).resolve()
        for package in packages:
            (root / package).mkdir(parents=True)
            (root / package / "__init__.py").touch()
        _, python_path = interpreter(options)
        words = ["-c", _WHERE, str(root), *(package.rpartition("/")[2] for package in packages)]
        python = shlex.quote(str(options.python or options.config.python or "python3"))
        result = await run_shell(
            f"{python} {shlex.join(words)}",
            root=root,
            sandbox=sandbox,
            env=python_environment(root, python_path),
            readable=readable_paths(python_path),
        )
    wrong = [line.split(" ", 2)[1:] for line in result.view.splitlines() if line.startswith("SHADOWED ")]
    if wrong:
        raise PreflightError(
            "AP234",
            f"checks would not test the worktree: `import {wrong[0][0]}` finds {wrong[0][1]}",
            why="an editable install of another checkout comes before the worktree on the import path",
            fix="give each worktree an environment of its own with checks.setup, or name an interpreter without that install: --python PATH",
        )


async def _top_level_packages(git: Git, head: str) -> list[str]:
    """Return the folders of the top-level packages in a commit: `shop`, or `src/shop`."""
    listing = await git.run("ls-tree", "-r", "-z", "--name-only", head)
    found = []
    for raw in listing.stdout.split(b"\0"):
        parts = raw.decode("utf-8", "replace").split("/")
        if parts[-1] == "__init__.py" and (len(parts) == 2 or (len(parts) == 3 and parts[0] == "src")):
            name = parts[-2]
            if name.isidentifier() and name not in sys.stdlib_module_names:
                found.append("/".join(parts[:-1]))
    return found[:MAX_PACKAGES]


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
