"""What a start asks for, resolved before anything is created."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from autopilot.asked import think_through
from autopilot.config import Config, RunOptions
from autopilot.home import find_repository
from autopilot_state.errors import UsageError

ROADMAP = """## [x] Phase 1: Done before
**Checks**
- `true`

## Phase 2: Open
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "ROADMAP.md").write_text(ROADMAP)
    return tmp_path


def asked(repo: Path, **more: Any) -> Any:
    config = more.pop("config", Config())
    return think_through(RunOptions(cwd=repo, config=config, **more), find_repository(repo))


def test_thresholds_come_from_flags_then_config_then_playbook(repo: Path) -> None:
    """--quality 9.5, --lenient 7.0, else the configuration's, else the playbook's 9.0."""
    assert asked(repo).threshold == 9.0
    assert asked(repo, quality=True).threshold == 9.5
    assert asked(repo, lenient=True).threshold == 7.0
    assert asked(repo, config=Config(threshold=8.0)).threshold == 8.0
    assert asked(repo, quality=True).playbook.name == "quality"


def test_done_phases_are_not_targeted_unless_forced(repo: Path) -> None:
    """`[x]` is skipped; --force takes it up again for the phases that were named."""
    assert asked(repo).targets == ("2",)
    assert asked(repo, force=True, phases="1").targets == ("1",)
    assert asked(repo, force=True).targets == ("1", "2")


def test_the_configurations_checks_serve_phases_without_their_own(repo: Path) -> None:
    """A phase that names no check gets the repository's; one that does keeps its own."""
    plan = asked(repo, config=Config(checks_test=("pytest -q",), checks_guards=("ruff check .",)))

    assert [check.command for check in plan.roadmap.phases[0].checks] == ["true"]
    assert [(check.id, check.command) for check in plan.roadmap.phases[1].checks] == [("2.k1", "pytest -q")]
    assert [check.command for check in plan.roadmap.guards] == ["ruff check ."]


def test_without_a_roadmap_the_error_says_where_it_was_looked_for(repo: Path) -> None:
    """No file, no guess: the error lists the places."""
    (repo / "ROADMAP.md").unlink()

    with pytest.raises(UsageError, match="no roadmap") as raised:
        asked(repo)

    assert ".planning/ROADMAP.md" in raised.value.why
