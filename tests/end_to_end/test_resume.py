"""A run that was killed or stopped goes on by itself and comes to the same end."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from tests_support import Project, git, kill_tree, wait_for

ROADMAP = """## Phase 1: Addition
**Depends on**: none
**Checks**
- `python -m pytest -q tests/test_add.py`

## Phase 2: Multiplication
**Depends on**: none
**Checks**
- `python -m pytest -q tests/test_mul.py`
"""


@pytest.fixture
def offline(project: Project) -> Project:
    """A project whose phases the offline provider can repair."""
    project.write({"ROADMAP.md": ROADMAP})
    project.commit("Roadmap")
    return project


def start_args(project: Project) -> list[str]:
    return ["run", "--provider", "offline", "--python", project.python, "--plain"]


def runs(project: Project) -> list[Path]:
    return sorted((project.path / ".autopilot/runs").glob("*/journal.jsonl"))


def records(project: Project) -> list[dict[str, object]]:
    (path,) = runs(project)
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]


def final_tree(project: Project, document: dict[str, object]) -> str:
    return git(project.path, "rev-parse", f"{document['branch']}^{{tree}}")


def table(document: dict[str, object]) -> list[tuple[object, ...]]:
    return [(p["id"], p["result"], p["score"], p["tests"]) for p in document["phases"]]  # type: ignore[attr-defined]


def test_a_run_killed_again_and_again_reaches_the_same_tree_and_table(
    offline: Project, tmp_path: Path
) -> None:
    """kill -9 at random moments: same final tree and table, nothing done twice that was recorded, nothing locked."""
    offline.autopilot(*start_args(offline), expect=0)
    expected = offline.report()
    expected_tree = final_tree(offline, expected)
    git(offline.path, "branch", "-D", str(expected["branch"]))
    (offline.path / ".autopilot").rename(tmp_path / "first-run")
    rng = random.Random(20)

    kills = 0
    for _ in range(5):
        process = offline.start(*start_args(offline))
        delay = rng.uniform(1.5, 6.0)
        try:
            process.communicate(timeout=delay)
            break
        except Exception:
            kill_tree(process)
            kills += 1
    if not runs(offline) or b'"type":"run.finished"' not in runs(offline)[0].read_bytes():
        offline.autopilot(*start_args(offline), expect=0)

    document = offline.report()
    assert kills > 0
    assert final_tree(offline, document) == expected_tree
    assert table(document) == table(expected)
    ends = Counter(r["unit"] for r in records(offline) if r["type"] == "unit.ended")
    assert set(ends.values()) == {1}
    operations = Counter(r["data"]["op"] for r in records(offline) if "op" in r["data"])  # type: ignore[index,operator]
    assert set(operations.values()) == {1}


def test_sigterm_stops_within_five_seconds_and_bare_autopilot_goes_on(offline: Project) -> None:
    """A stopped run exits 143, leaves a handoff, and `autopilot` alone finishes it without a question."""
    process = offline.start(*start_args(offline))
    wait_for(lambda: bool(runs(offline)) and b"unit.started" in runs(offline)[0].read_bytes())
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)

    assert process.returncode == 143, err
    assert time.monotonic() - began < 10
    folder = runs(offline)[0].parent
    assert json.loads((folder / "handoff.json").read_text())["reason"] == "terminated"
    assert (folder / "HANDOFF.md").exists()
    done = offline.autopilot("--plain", expect=0)
    assert f"Resuming {folder.name}:" in done.stderr
    assert not (folder / "handoff.json").exists()


def test_of_two_starts_at_once_one_runs_and_the_other_names_it(offline: Project) -> None:
    """The second start exits 7, names pid and run of the first, and changes nothing."""
    first = offline.start(*start_args(offline))
    wait_for(lambda: bool(runs(offline)))
    second = offline.autopilot("run", "--provider", "offline", "--json")
    first.communicate(timeout=100)

    assert second.returncode == 7
    error = json.loads(second.stdout)["error"]
    assert str(first.pid) in error["what"]
    assert len(runs(offline)) == 1
    assert first.returncode == 0


def test_a_lost_checkpoint_database_costs_nothing_but_the_place(offline: Project) -> None:
    """Without checkpoints.sqlite a killed unit starts again from its last journaled operation."""
    process = offline.start(*start_args(offline))
    wait_for(lambda: bool(runs(offline)) and b'"kind":"model.reply"' in runs(offline)[0].read_bytes())
    kill_tree(process)
    (runs(offline)[0].parent / "checkpoints.sqlite").write_bytes(b"not a database")

    offline.autopilot(expect=0)

    assert set(offline.results(offline.report()).values()) == {"verified"}
