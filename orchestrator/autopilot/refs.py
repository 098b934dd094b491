"""Names of the run's refs. A branch `autopilot/<run>` and one below it can't both exist in git (the first is a
file where the second needs a folder), so a kept unit's branch is `autopilot/<run>-<unit>`; see docs/decisions/0004."""

from __future__ import annotations


def run_branch(run: str) -> str:
    """Return the result's branch."""
    return f"autopilot/{run}"


def kept_branch(run: str, unit: str) -> str:
    """Return the branch that keeps the work of a unit that was not merged."""
    return f"autopilot/{run}-{unit}"


def unit_ref(run: str, unit: str) -> str:
    """Return the ref that holds a unit's tip while it is worked on, out of the list of branches."""
    return f"refs/autopilot/units/{run}/{unit}"


def salvage_ref(run: str, unit: str) -> str:
    """Return the ref that keeps what a worktree held when it was removed."""
    return f"refs/autopilot/salvage/{run}/{unit}"
