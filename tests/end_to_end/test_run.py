"""A roadmap goes in, a branch on which every phase was verified comes out: the command as a process, real git."""

from __future__ import annotations

import json
import subprocess
import sys

from tests_support import Project, edits, git, plan, read, replace_text

ROADMAP = """# Repairs

## Phase 1: Addition
**Goal**: add adds
**Checks**
- `python -m pytest -q tests/test_add.py`

## Phase 2: Multiplication
**Goal**: mul multiplies
**Depends on**: none
**Checks**
- `python -m pytest -q tests/test_mul.py`
"""

ADD = [read("calc/add.py"), edits(replace_text("calc/add.py", "a - b", "a + b"))]
MUL = [read("calc/mul.py"), edits(replace_text("calc/mul.py", "a + b", "a * b"))]


def ready(project: Project, roadmap: str = ROADMAP) -> str:
    project.write({"ROADMAP.md": roadmap})
    base = project.commit("Roadmap")
    project.play({"planner": [plan(), plan()], "1/builder": ADD, "2/builder": MUL})
    return base


def test_two_phases_are_repaired_verified_and_merged(project: Project) -> None:
    """Exit 0, every phase verified, and the named branch really passes the tests from a clean clone."""
    base = ready(project)

    document = project.run(expect=0)

    assert project.results(document) == {"1": "verified", "2": "verified"}
    assert [p["tests"]["fixed"] for p in document["phases"]] == [1, 1]
    clone = project.home / "clone"
    git(project.path, "clone", "-q", "-b", document["branch"], str(project.path), str(clone))
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=clone, capture_output=True, text=True)
    assert tests.returncode == 0, tests.stdout
    assert git(project.path, "merge-base", document["branch"], base) == base


def test_the_users_checkout_is_byte_for_byte_as_before(project: Project) -> None:
    """Dirty files, the index, the stash and the user's branches are untouched by a run."""
    ready(project)
    git(project.path, "branch", "topic")
    project.write({"calc/add.py": "def add(a, b):\n    return 1\n"})
    git(project.path, "stash")
    project.write({"calc/mul.py": "staged\n", "new.txt": "untracked\n"})
    git(project.path, "add", "calc/mul.py")
    project.write({"calc/mul.py": "dirty\n"})

    def picture() -> list[str]:
        index = (project.path / ".git/index").read_bytes().hex()
        refs = git(project.path, "for-each-ref", "refs/heads/main", "refs/heads/topic", "refs/stash")
        files = [(project.path / name).read_text() for name in ("calc/add.py", "calc/mul.py", "new.txt")]
        return [index, refs, *files, git(project.path, "symbolic-ref", "HEAD")]

    before = picture()
    project.run(expect=0)

    assert picture() == before


def test_an_edit_that_repairs_nothing_fails_the_phase_and_exits_3(project: Project) -> None:
    """A builder's claim is no evidence: a phase whose check stays red is failed, its work is not merged."""
    base = ready(project)
    wrong = [read("calc/add.py"), edits(replace_text("calc/add.py", "a - b", "a - b - 0"))]
    project.play({"planner": [plan(), plan()], "1/builder": [*wrong, edits()], "2/builder": MUL})

    document = project.run(expect=3)

    assert project.results(document) == {"1": "failed", "2": "verified"}
    assert document["reason"] == "below_target"
    assert "still red" in document["phases"][0]["reason"]
    assert project.show(document["branch"], "calc/add.py") == project.show(base, "calc/add.py")
    assert document["resume"] == f"autopilot resume {document['run_id']}"


def test_a_weakened_test_is_a_broken_one(project: Project) -> None:
    """Making a check green by editing its test does not pass: the baseline's version of the test decides."""
    ready(project)
    cheat = [read("tests/test_add.py"), edits(replace_text("tests/test_add.py", "add(2, 3) == 5", "True"))]
    project.play({"planner": [plan(), plan()], "1/builder": [*cheat, edits()], "2/builder": MUL})

    document = project.run(expect=3)

    first = document["phases"][0]
    assert (first["result"], first["tests"]["broken"]) == ("failed", 1)


def test_a_second_phase_that_breaks_the_first_is_not_merged(project: Project) -> None:
    """The merged tree runs every published check: what turns an earlier phase red is sent back, then fails."""
    roadmap = ROADMAP.replace("**Depends on**: none", "**Depends on**: 1")
    ready(project, roadmap)
    both = [
        read("calc/mul.py", "calc/add.py"),
        edits(replace_text("calc/mul.py", "a + b", "a * b"), replace_text("calc/add.py", "a + b", "a - b")),
    ]
    project.play({"planner": [plan()] * 6, "1/builder": ADD, "2/builder": [*both, *both, *both]})

    document = project.run(expect=3)

    assert project.results(document) == {"1": "verified", "2": "failed"}
    assert "a + b" in project.show(document["branch"], "calc/add.py")


def test_a_phase_without_checks_is_unverified_never_verified(project: Project) -> None:
    """No evidence means `unverified`, and the run does not exit 0."""
    project.write({"ROADMAP.md": "## Phase 1: Words\n**Goal**: say hello in a file\n"})
    project.commit()
    project.play(
        {
            "planner": [plan()],
            "builder": [edits({"type": "create", "file_path": "hello.txt", "content": "hi\n"})],
        }
    )

    document = project.run(expect=3)

    assert project.results(document) == {"1": "unverified"}
    assert document["phases"][0]["score"] is None
    assert project.show(document["branch"], "hello.txt") == "hi"


def test_a_criterion_with_a_red_command_gives_below(project: Project) -> None:
    """Checks green and a criterion's own command red: the score is under the threshold, the work stays on a branch."""
    roadmap = ROADMAP.split("## Phase 2")[0].replace(
        "**Checks**", "**Success Criteria**\n1. There is a changelog (check: `test -f CHANGES`)\n\n**Checks**"
    )
    base = ready(project, roadmap)

    document = project.run(expect=3)

    phase = document["phases"][0]
    assert (phase["result"], phase["score"]) == ("below", 5.0)
    assert git(project.path, "rev-parse", document["branch"]) == base
    kept = git(project.path, "rev-parse", f"autopilot/{document['run_id']}-1")
    assert "a + b" in project.show(kept, "calc/add.py")


def test_the_journal_verifies_and_state_json_is_its_fold(project: Project) -> None:
    """After a run the journal's chain holds and state.json is exactly what it folds to."""
    ready(project)
    document = project.run(expect=0)

    done = project.autopilot("state", "verify", document["run_id"], "--json", expect=0)

    assert json.loads(done.stdout)["exit_code"] == 0


def test_reports_are_read_by_a_role_of_their_own(project: Project) -> None:
    """A phase that names reports has them assessed first; the journal holds how many findings, not their text."""
    reported = ROADMAP.split("## Phase 2")[0].replace("**Checks**", "**Reports**: docs/uat.md\n**Checks**")
    ready(project, reported)
    project.write({"docs/uat.md": "Adding is wrong: 2 + 3 gives -1.\n"})
    project.commit()
    finding = {"text": "`calc/add.py`: adding subtracts", "report": "docs/uat.md"}
    project.play(
        {
            "assessor": [read("docs/uat.md"), plan(issues=[finding], summary="1 open defect")],
            "planner": [plan()],
            "1/builder": ADD,
        }
    )

    document = project.run(expect=0)

    journal = project.path / ".autopilot/runs" / document["run_id"] / "journal.jsonl"
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [r["data"] for r in records if r["type"] == "reports.assessed"] == [{"findings": 1}]
    assert "adding subtracts" not in (journal.parent / "state.json").read_text()
