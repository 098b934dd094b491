"""A phase that is too large is split while it is worked on, its children are verified one by one."""

from __future__ import annotations

import pytest
from tests_support import Project, edits, git, plan, read, replace_text

NAMES = ("one", "two", "three", "four")

ROADMAP = """## Phase 20: UAT fixes
**Goal**: numbers are right
**Issues**
""" + "".join(f"- [ ] `lib/{n}.py` is wrong, `tests/test_{n}.py` shows it\n" for n in NAMES) + """
**Checks**
- `python -m pytest -q tests`

## Phase 21: After
**Depends on**: 20
**Checks**
- `python -m pytest -q tests/test_one.py`

## Phase 22: Apart
**Depends on**: none
**Checks**
- `test -f lib/one.py`
"""  # fmt: skip


def part(index: int, name: str) -> dict[str, object]:
    return {
        "name": f"repair {name}",
        "issues": [f"20.i{index}"],
        "own_checks": [
            {"command": "python -m pytest -q tests", "tests": [f"tests/test_{name}.py::test_{name}"]}
        ],
        "files": [f"lib/{name}.py"],
    }


def repair(name: str, right: str = "return 1") -> list[dict[str, object]]:
    return [read(f"lib/{name}.py"), edits(replace_text(f"lib/{name}.py", "return 0", right))]


@pytest.fixture
def large(project: Project) -> Project:
    """A phase with four issues over four files, which is one more than a phase may have."""
    project.write({"ROADMAP.md": ROADMAP, "lib/__init__.py": ""})
    for name in NAMES:
        project.write(
            {
                f"lib/{name}.py": f"def {name}():\n    return 0\n",
                f"tests/test_{name}.py": f"from lib.{name} import {name}\n\n\ndef test_{name}():\n    assert {name}() == 1\n",
            }
        )
    git(project.path, "rm", "-q", "tests/test_add.py", "tests/test_mul.py")
    project.commit("Large")
    return project


def answers(**children: list[dict[str, object]]) -> dict[str, list[dict[str, object]]]:
    parts = [part(i, n) for i, n in enumerate(NAMES, start=1)]
    deliverables = [{"path": f"lib/{n}.py"} for n in NAMES]
    script: dict[str, list[dict[str, object]]] = {
        "20/planner": [plan(deliverables=deliverables, parts=parts)],
        "planner": [plan()] * 8,
        "builder": [edits()] * 8,
    }
    for letter, name in zip("abcd", NAMES, strict=True):
        script[f"20{letter}/builder"] = children.get(name, repair(name))
    return script


def test_a_large_phase_is_split_into_children_and_accepted(large: Project) -> None:
    """The children run each with a check of its own, the parent is accepted on the merged head, and all is verified."""
    large.play(answers())

    document = large.run("--plain", expect=0)

    assert large.results(document) == dict.fromkeys(
        ["20", "20a", "20b", "20c", "20d", "21", "22"], "verified"
    )
    parent = document["phases"][0]
    assert parent["split"] == ["20a", "20b", "20c", "20d"]
    assert [p["parent"] for p in document["phases"][1:5]] == ["20"] * 4
    notice = "Phase 20 too large (4 issues). Splitting into 4 sub-phases, launching in parallel..."
    assert notice in document["stderr"]


def test_a_failed_child_fails_its_parent_while_its_siblings_are_merged(large: Project) -> None:
    """Exit 3; the parent is not passed, the siblings' work is merged, the reason and the next command are printed."""
    large.play(answers(three=[*repair("three", "return 2"), edits()]))

    done = large.autopilot("run", "--provider", "scripted", "--python", large.python, "--plain", expect=3)
    document = large.report()

    results = large.results(document)
    assert results["20"] == "failed"
    assert results["20c"] == "failed"
    assert [results[u] for u in ("20a", "20b", "20d", "22")] == ["verified"] * 4
    assert results["21"] == "blocked"
    for name, value in (("one", "1"), ("two", "1"), ("three", "0"), ("four", "1")):
        assert f"return {value}" in large.show(document["branch"], f"lib/{name}.py")
    assert "20c failed" in document["phases"][0]["reason"]
    assert f"autopilot resume {document['run_id']}" in done.stdout


def test_a_resumed_finished_run_gives_failed_units_a_new_attempt(large: Project) -> None:
    """`resume` of a finished run tries its failed and blocked units again and can end with everything verified."""
    large.play(answers(three=[*repair("three", "return 2"), edits()]))
    first = large.run("--plain", expect=3)
    large.play(answers())

    done = large.autopilot("resume", first["run_id"], "--plain", expect=0)

    assert set(large.results(large.report()).values()) == {"verified"}
    assert f"Resuming {first['run_id']}: reuse 20a 20b 20d 22 | continue 20 20c" in done.stderr


def test_an_edit_outside_a_childs_touches_is_refused(large: Project) -> None:
    """A child can't write outside the globs that its part declared; its sibling's file stays as it was."""
    outside = [read("lib/four.py"), edits(replace_text("lib/four.py", "return 0", "return 1"))]
    large.play(answers(three=[*outside, edits()], four=[edits()]))

    document = large.run("--plain", expect=3)

    assert large.results(document)["20c"] == "failed"
    assert "return 0" in large.show(document["branch"], "lib/four.py")


def test_no_split_works_on_the_phase_as_a_whole(large: Project) -> None:
    """With --no-split the same phase is built in one unit."""
    everything = [
        read(*(f"lib/{n}.py" for n in NAMES)),
        edits(*(replace_text(f"lib/{n}.py", "return 0", "return 1") for n in NAMES)),
    ]
    large.play({**answers(), "20/builder": everything})

    document = large.run("--no-split", expect=0)

    assert [p["id"] for p in document["phases"]] == ["20", "21", "22"]
