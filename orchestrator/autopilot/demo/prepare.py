"""Prepares the demo's repository: a copy of a package with planted bugs and a roadmap that asks to repair them.

It lives by seed in the user's folder of state, and appears there whole or not at all. Its history is one commit, made
after the planting, so that no object of it holds a line that a bug replaced.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autopilot.demo.laboratory import file_of, open_laboratory
from autopilot.demo.planter import PlantedBug, plant_in
from autopilot.demo.roadmap_writer import write_roadmap
from autopilot.demo.runner import SubprocessRunner, TestsDidNotEnd
from autopilot.demo.tracked import copy_repository
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.git_process import run_git
from autopilot_agents.hands.sandbox import Sandbox, detect_sandbox
from autopilot_state.errors import PreflightError

PACKAGE = Path(__file__).parent / "package"
BUNDLED_NAME = "shopkit"
BUNDLED_BUGS = 10
REPO_BUGS = 6
ROADMAP = "ROADMAP.md"
_COMMIT_DATE = 1_767_225_600
_BUNDLED_TIMEOUT_S = 60.0
_REPO_TIMEOUT_S = 1800.0
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".pytest_cache", "*.pyc")


@dataclass(frozen=True)
class DemoRepository:
    """Where the demo is. `reused`: it was there already, with whatever its last run left."""

    path: Path
    roadmap: Path
    base_commit: str
    reused: bool


@dataclass(frozen=True)
class _Order:
    """What to plant, in what, and how its tests are run."""

    seed: int
    title: str
    singles: int
    pairs: int
    one_per_file: bool
    python: str
    setup: str | None
    runner: SubprocessRunner


async def prepare_demo(
    *,
    seed: int,
    state_home: Path,
    repo: Path | None = None,
    python: str | None = None,
    setup: str | None = None,
    bugs: int | None = None,
    on_line: Callable[[str], None],
    sandbox: Sandbox | None = None,
) -> DemoRepository:
    """Return the demo's repository below `<state_home>/autopilot/demo`, made now unless it is there.

    Without `repo` it is the bundled package, whose tests need no sandbox. The tests of `repo` are somebody else's
    code, so they run in `sandbox`, or in the one that this machine has. `on_line` takes lines for the user. Whoever
    wants a finished demo to start anew removes its folder first.

    Raises:
        PreflightError: no test of `repo` passes (AP710), they can't be run (AP711), nothing could be planted (AP713),
            or something else stands at the demo's place (AP714).
        SandboxUnavailable: `repo` is given and this machine has no sandbox.
    """
    path = demo_folder(state_home / "autopilot", seed=seed, repo=repo)
    if (path / ".git").is_dir():
        on_line(f"Going on with the demo in {path}")
        return await _demo_at(path, reused=True)
    if path.exists():
        raise PreflightError(
            "AP714", f"{path} is no demo repository", fix=f"move it away: mv {path} {path}.old"
        )
    if repo is None:
        order = _bundled(seed, python, bugs)
    else:
        order = await _of_repo(repo, seed, python, setup, bugs, sandbox)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_stale(path)
    draft = path.with_name(f".new-{path.name}-{os.getpid()}")
    try:
        await _make(draft / path.name, repo, order, on_line)
        reused = not _put_in_place(draft / path.name, path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return await _demo_at(path, reused=reused)


def demo_folder(home: Path, *, seed: int, repo: Path | None = None) -> Path:
    """Return where the demo of a seed lives, whether or not it exists; `home` is Autopilot's own folder of state."""
    name = BUNDLED_NAME if repo is None else _name_of(repo)
    return home / "demo" / f"{name}-{seed}"


def _name_of(repo: Path) -> str:
    """Return a name for the folder: the repository's own, and a hash that tells two of the same name apart."""
    resolved = repo.resolve()
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", resolved.name).strip(".-") or "repo"
    return f"{readable[:60]}-{hashlib.sha256(os.fsencode(resolved)).hexdigest()[:6]}"


def _bundled(seed: int, python: str | None, bugs: int | None) -> _Order:
    python = python or sys.executable
    count = BUNDLED_BUGS if bugs is None else bugs
    pairs = 1 if count >= 4 else 0
    modules = len(list((PACKAGE / BUNDLED_NAME).glob("[a-z]*.py")))
    return _Order(
        seed=seed,
        title="Repair shopkit",
        singles=count - pairs,
        pairs=pairs,
        one_per_file=count <= modules,
        python=python,
        setup=None,
        runner=SubprocessRunner(python, _BUNDLED_TIMEOUT_S, memory_mib=1024),
    )


async def _of_repo(
    repo: Path, seed: int, python: str | None, setup: str | None, bugs: int | None, sandbox: Sandbox | None
) -> _Order:
    python = python or sys.executable
    runner = SubprocessRunner(
        python,
        _REPO_TIMEOUT_S,
        sandbox=sandbox or await detect_sandbox(),
        readable=_folders_of(python),
        setup=setup,
    )
    return _Order(
        seed=seed,
        title=f"Repair {' '.join(repo.resolve().name.split())}",
        singles=REPO_BUGS if bugs is None else bugs,
        pairs=0,
        one_per_file=False,
        python=python,
        setup=setup,
        runner=runner,
    )


def _folders_of(python: str) -> list[Path]:
    """Return the folders of an interpreter, which a sandbox would hide if they lie in the user's home."""
    found = shutil.which(python)
    if found is None:
        return []
    program = Path(found).absolute()
    folders = {program.parent.parent, program.resolve().parent.parent}
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - Path.home() raises without a user
    return sorted(folder for folder in folders if not home.is_relative_to(folder))


async def _make(path: Path, repo: Path | None, order: _Order, on_line: Callable[[str], None]) -> None:
    """Fill `path` with the copy, the bugs, the roadmap and the one commit."""
    if repo is None:
        shutil.copytree(PACKAGE, path, ignore=_NOT_COPIED)
    else:
        path.mkdir(parents=True)
        on_line(f"Copied {await copy_repository(repo, path)} files of {repo}")
    on_line(
        f"Planting {order.singles + order.pairs} bugs (seed {order.seed}); their fixes are stored nowhere"
    )
    bugs, red_files = await _plant(path, order, on_line)
    text = write_roadmap(
        [bug for bug in bugs if bug.edits == 1],
        pair_bugs=[bug for bug in bugs if bug.edits > 1],
        python=order.python,
        title=order.title,
        setup=order.setup,
        red_files=red_files,
    )
    (path / ROADMAP).write_text(text, encoding="utf-8")
    await _commit_everything(path)


async def _plant(
    path: Path, order: _Order, on_line: Callable[[str], None]
) -> tuple[list[PlantedBug], list[str]]:
    """Return the planted bugs, and the test files in which something failed before."""
    try:
        async with open_laboratory(path, order.runner) as laboratory:
            red = laboratory.red
            if not laboratory.passing:
                raise PreflightError(
                    "AP710", "no test of the repository passes", why=f"{len(red)} fail or can't be collected",
                    fix="name the interpreter that has what they need: --python PATH, or --setup CMD",
                )  # fmt: skip
            if red:
                on_line(f"{len(red)} tests fail before any bug is planted; they are left out")
            bugs = await plant_in(
                laboratory, path, seed=order.seed, count=order.singles, one_per_file=order.one_per_file, pairs=order.pairs
            )  # fmt: skip
    except TestsDidNotEnd as cause:
        raise PreflightError(
            "AP711", f"the tests of the repository can't be run: {cause}", why=cause.tail.strip()[-500:],
            fix="name the interpreter that has what they need: --python PATH, or --setup CMD",
        ) from cause  # fmt: skip
    if not bugs:
        raise PreflightError(
            "AP713", "no bug could be planted", why="the tests notice no change of the code, or too many do",
            fix="use a repository whose tests cover its functions",
        )  # fmt: skip
    failing = sum(len(bug.tests) for bug in bugs)
    on_line(f"Planted {len(bugs)} bugs: {failing} of {len(laboratory.passing)} tests fail now")
    return bugs, sorted({file_of(test) for test in red})


async def _commit_everything(path: Path) -> None:
    """Make the repository: one commit that depends on the files alone."""
    await run_git(["init", "-q", "--template=", "--initial-branch=main"], cwd=path)
    git = Git(path)
    await git.run("add", "--all", "--force", "--", ".")
    tree = (await git.run("write-tree")).line
    commit = await git.commit_tree(tree, [], "Plant\n", _COMMIT_DATE)
    await git.update_ref("refs/heads/main", commit)


def _put_in_place(made: Path, path: Path) -> bool:
    """Move a whole demo to its place; return False where another process was faster."""
    try:
        made.rename(path)
    except OSError:
        if not (path / ".git").is_dir():
            raise
        return False
    return True


def _remove_stale(path: Path) -> None:
    """Remove what killed processes left of this demo."""
    for left in sorted(path.parent.glob(f".new-{path.name}-*")):
        pid = left.name.rpartition("-")[2]
        if pid.isdigit() and not _is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


async def _demo_at(path: Path, *, reused: bool) -> DemoRepository:
    first = (await Git(path).run("rev-list", "--max-parents=0", "main")).line.split()
    return DemoRepository(path, path / ROADMAP, first[-1], reused)
