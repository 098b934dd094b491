"""A command on a tree: run once, found again, judged by its tests."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from autopilot.checks import CheckRun, CheckRunner
from autopilot.recorder import RunRecorder
from autopilot_agents.hands.redact import Redactor
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_playbooks.schema import Check
from autopilot_state.ledger import Ledger
from autopilot_state.store import Store

pytestmark = pytest.mark.anyio


class Place:
    """A worktree and a run folder; `runner` is new in each life of the process."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.tree.mkdir()
        self.run = folder / "run"

    def runner(self) -> CheckRunner:
        store = Store.open(self.run)
        recorder = RunRecorder(store, Ledger(self.run, store.fs), Redactor())
        return CheckRunner(recorder, Sandbox("none"), Redactor(), python_path=(Path(sys.executable).parent,))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_one_command_on_one_tree_runs_once_also_when_two_ask_at_once(place: Place) -> None:
    """Two that ask at the same moment get one run, and one record of it."""
    runner = place.runner()
    check = Check(id="1.k1", command="echo x >> count; sleep 0.2")
    found: list[CheckRun] = []

    async def ask(item: str) -> None:
        found.append(await runner.run(check.model_copy(update={"id": item}), worktree=place.tree, tree="t1"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, "1.k1")
        tasks.start_soon(ask, "2.k1")

    assert (place.tree / "count").read_text() == "x\n"
    assert found[0] == found[1]


async def test_what_ran_before_a_restart_is_found_again(place: Place) -> None:
    """A new process takes the journaled result; another tree or a deliberate repetition runs."""
    check = Check(id="1.k1", command="echo x >> count")
    first = await place.runner().run(check, worktree=place.tree, tree="t1")

    again = place.runner()
    assert await again.run(check, worktree=place.tree, tree="t1") == first
    await again.run(check, worktree=place.tree, tree="t2")
    await again.run(check, worktree=place.tree, tree="t1", again=1)

    assert (place.tree / "count").read_text() == "x\n" * 3


async def test_tests_are_told_one_by_one_with_their_ids_whole(place: Place) -> None:
    """Statuses come by test id, and an id that looks like a secret is kept as it is."""
    (place.tree / "test_a.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('url', ['http://wiki:pass@example.org'])\n"
        "def test_url(url): assert url\n"
        "def test_red(): assert 0\n"
        "@pytest.mark.skip\ndef test_skipped(): pass\n"
    )
    check = Check(id="1.k1", command="python -m pytest -q --disable-plugin-autoload")

    run = await place.runner().run(check, worktree=place.tree, tree="t1")

    assert dict(run.tests) == {
        "test_a.py::test_url[http://wiki:pass@example.org]": "passed",
        "test_a.py::test_red": "failed",
        "test_a.py::test_skipped": "skipped",
    }
    assert run.exit_code == 1


async def test_a_command_that_passes_its_time_limit_is_red_without_tests(place: Place) -> None:
    """A time limit gives 124 and no tests, whatever was reported until then."""
    run = await place.runner().run(
        Check(id="1.k1", command="sleep 30", timeout_s=0.3), worktree=place.tree, tree="t1"
    )

    assert (run.exit_code, dict(run.tests)) == (124, {})
