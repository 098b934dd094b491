"""How a command ends: the exit codes with their names, and which of them a run has earned.

Errors themselves are `AutopilotError` (autopilot_state.errors) and `PlaybookError` (autopilot_playbooks.errors); both
carry `code`, `what`, `why`, `fix` and `exit_code`. Nothing here imports either package's models: `status` uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit codes of every command; `STOPPED` (by `autopilot stop`) and `TERMINATED` share 143."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    BELOW_TARGET = 3
    NEEDS_HUMAN = 4
    BUDGET = 5
    PREFLIGHT = 6
    LOCKED = 7
    PROVIDER = 8
    INTERRUPTED = 130
    TERMINATED = 143
    STOPPED = 143

    @property
    def reason(self) -> str:
        """The name that the envelope, the report and the documentation use."""
        return self.name.lower()


REASONS: Mapping[str, Exit] = {name.lower(): code for name, code in Exit.__members__.items()}
"""Every reason of the envelope with its code, `stopped` included."""

_RUN_REASONS = ("interrupted", "terminated", "stopped", "internal", "provider", "budget", "needs_human")
"""What a run's own `reason` may name, strongest first; the rest follows from its units."""

MET = ("verified", "skipped")
"""Results that leave nothing to do. A `skipped` unit was done before or not asked for."""


def exit_for(document: Mapping[str, Any]) -> tuple[int, str]:
    """Return the exit code and its name for a run, the first that applies: a signal, 1, 8, 5, 4, 3, 0.

    0 needs every unit to have ended as verified or skipped; a unit that has not ended counts as below target.
    """
    named = _named(document.get("run", {}).get("reason"))
    found = {named} if named else set()
    found.update(_unit_reasons(document))
    for reason in (*_RUN_REASONS, "below_target"):
        if reason in found:
            return int(REASONS[reason]), reason
    return int(Exit.OK), "ok"


def _named(reason: object) -> str | None:
    """Return the known name that a run's reason begins with (`budget`, or `budget: 25.00 USD reached`)."""
    if not isinstance(reason, str):
        return None
    name = reason.split(":", 1)[0].strip()
    return name if name in _RUN_REASONS else None


def _unit_reasons(document: Mapping[str, Any]) -> Iterator[str]:
    for row in document.get("units", {}).values():
        result = row.get("result") if row.get("status") == "ended" else None
        if result in MET:
            continue
        if result == "needs_human":
            yield "needs_human"
        elif result == "parked":
            yield "budget" if str(row.get("reason", "")).lower().startswith("budget") else "provider"
        else:
            yield "below_target"


def describe(error: BaseException) -> dict[str, str] | None:
    """Return `code`, `what`, `why` and `fix` of an error that users are meant to see, or None for any other."""
    fields = {name: getattr(error, name, None) for name in ("code", "what", "why", "fix")}
    if not all(isinstance(value, str) for value in fields.values()):
        return None
    return {name: str(value) for name, value in fields.items()}


def exit_of(error: BaseException) -> tuple[int, str]:
    """Return the exit code and its name for an error that ended a command."""
    found = getattr(error, "exit_code", None)
    code = Exit(found) if isinstance(found, int) and found in set(Exit) else Exit.INTERNAL
    return int(code), code.reason
