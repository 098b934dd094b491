"""A roadmap that changed between two starts: only what it affects is worked on again."""

from __future__ import annotations

import json

from tests_support import Project, edits, plan, read, replace_text

ROADMAP = """## Phase 1: Addition
**Depends on**: none
**Checks**
- `python -m pytest -q tests/test_add.py`

## Phase 2: Multiplication
**Depends on**: none
**Checks**
- `python -m pytest -q tests/test_mul.py`
"""


def test_only_changed_phases_start_again_and_a_new_one_is_added(project: Project) -> None:
    """An unaffected verified phase is reused; the changed one and the new one run; one line names them."""
    project.write({"ROADMAP.md": ROADMAP})
    project.commit()
    add = [read("calc/add.py"), edits(replace_text("calc/add.py", "a - b", "a + b"))]
    project.play({"planner": [plan()] * 4, "1/builder": add, "2/builder": [{"error": {"status": 401}}]})
    first = project.run(expect=8)
    assert project.results(first) == {"1": "verified", "2": "parked"}
    changed = ROADMAP.replace("## Phase 2: Multiplication", "## Phase 2: Multiplication, again")
    project.write(
        {
            "ROADMAP.md": changed
            + "\n## Phase 3: More\n**Depends on**: 2\n**Checks**\n- `test -f calc/mul.py`\n"
        }
    )
    mul = [read("calc/mul.py"), edits(replace_text("calc/mul.py", "a + b", "a * b"))]
    project.play({"planner": [plan()] * 4, "2/builder": mul, "3/builder": [edits()]})

    done = project.autopilot("--json", expect=0)

    document = json.loads(done.stdout)
    assert project.results(document) == {"1": "verified", "2": "verified", "3": "verified"}
    assert "Roadmap changed: start again 2 | new 3" in done.stderr
    assert "reuse 1 | continue 2 | start 3" in done.stderr
    assert document["phases"][1]["name"] == "Multiplication, again"
