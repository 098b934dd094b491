"""The plan of `run --dry-run` as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plan_lines(plan: Mapping[str, Any]) -> list[str]:
    """Return the phases in order with what each waits for and which commands it would run.

    `plan` holds `phases` (`id`, `name`, `depends_on`, `checks`, `wave`) and may hold `notes`.
    """
    phases = plan.get("phases", [])
    lines = [f"{len(phases)} phases would run; nothing was started."]
    for phase in phases:
        after = ", ".join(phase.get("depends_on", []))
        wave = f"wave {phase['wave']}  " if phase.get("wave") is not None else ""
        lines.append(f"  {wave}{phase['id']} {phase['name']}" + (f"  (after {after})" if after else ""))
        lines += [f"      $ {command}" for command in phase.get("checks", [])]
    return lines + [str(note) for note in plan.get("notes", [])]
