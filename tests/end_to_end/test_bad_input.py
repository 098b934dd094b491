"""What can't work is refused before anything is created, with file, line and field, exit 2 or 6."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests_support import Project, git

GOOD = "## Phase 1: A\n**Checks**\n- `true`\n"


@dataclass(frozen=True)
class Case:
    """A repository or roadmap that can't be used, and what the error must say."""

    id: str
    exit: int
    says: str
    roadmap: str = GOOD
    prepare: Callable[[Project], object] = lambda project: None
    args: tuple[str, ...] = ("--provider", "scripted")


def merge_in_progress(project: Project) -> None:
    git(project.path, "checkout", "-q", "-b", "other")
    project.write({"calc/add.py": "other\n"})
    project.commit()
    git(project.path, "checkout", "-q", "main")
    project.write({"calc/add.py": "mine\n"})
    project.commit()
    with pytest.raises(Exception, match="status 1"):
        git(project.path, "merge", "other")


def make_bare(project: Project) -> None:
    git(project.path, "clone", "-q", "--bare", ".", "../bare")
    project.path = project.path.parent / "bare"


def leave_repository(project: Project) -> None:
    project.path = project.path.parent / "nowhere"
    project.path.mkdir()
    (project.path / "ROADMAP.md").write_text(GOOD)


def no_commits(project: Project) -> None:
    leave_repository(project)
    git(project.path, "init", "-q")


CASES = [
    Case("not-a-repository", 6, "not in a git repository", prepare=leave_repository),
    Case("no-commits", 6, "no commits", prepare=no_commits),
    Case("bare", 6, "", prepare=make_bare),
    Case("F4-merge-in-progress", 6, "merge", prepare=merge_in_progress),
    Case("A4-empty-roadmap", 2, "no phases", roadmap="\n"),
    Case(
        "A7-cycle",
        2,
        "1 -> 2 -> 1",
        roadmap="## Phase 1: A\n**Depends on**: 2\n## Phase 2: B\n**Depends on**: 1\n",
    ),
    Case("A7-unknown-dependency", 2, "9", roadmap="## Phase 1: A\n**Depends on**: 9\n"),
    Case("A7-duplicate-id", 2, "ROADMAP.md:2", roadmap="## Phase 1: A\n## Phase 1: B\n"),
    Case("A6-unknown-key", 2, "gaurds", roadmap="---\ngaurds: ['true']\n---\n" + GOOD),
    Case("A6-wrong-type", 2, "threshold", roadmap="---\nthreshold: high\n---\n" + GOOD),
    Case(
        "check-that-cannot-start",
        6,
        "no-such-program",
        roadmap="## Phase 1: A\n**Checks**\n- `no-such-program -x`\n",
    ),
    Case("missing-key", 6, "ANTHROPIC_API_KEY", args=("--provider", "anthropic")),
    Case("unknown-provider", 2, "martian", args=("--provider", "martian")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_it_is_refused_and_nothing_is_created(project: Project, case: Case) -> None:
    """One clear error with its code, the right exit, and neither a run nor a branch nor a folder afterwards."""
    project.write({"ROADMAP.md": case.roadmap})
    project.play({})
    case.prepare(project)
    before = everything(project.path)

    done = project.autopilot("run", *case.args, "--json", expect=case.exit)

    error = json.loads(done.stdout)["error"]
    assert case.says in f"{error['what']} {error['why']} {error['fix']}"
    assert error["code"].startswith("AP")
    assert error["fix"]
    assert everything(project.path) == before


def everything(folder: Path) -> dict[str, bytes]:
    """Return all files of the folder; git's index may be refreshed, the empty lock file is allowed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("autopilot.lock", "index")
    }


def test_unknown_commands_and_flags_name_the_nearest(project: Project) -> None:
    """A typo exits 2 with the command that was probably meant."""
    done = project.autopilot("runn", expect=2)
    assert "run" in done.stderr
    done = project.autopilot("run", "--qualty", expect=2)
    assert "--quality" in done.stderr
