"""What a role is told about its unit, and what a planner answers. Both are JSON inside the text of a turn.

A brief stands in the prompt between `<brief>` and `</brief>`, so that a language model reads it as data and the
offline provider parses it. It names ids, commands and test ids, and no path of this machine.
"""

from __future__ import annotations

import json
import re
from typing import Literal

from pydantic import Field

from autopilot_state.models import Complexity, Model, ShortText

DeliverableKind = Literal["create", "modify", "test", "docs", "config"]
Layer = Literal["types", "config", "migrations", "core", "integrations", "tests", "docs"]

_BRIEF = re.compile(r"<brief>\n(.*?)\n</brief>", re.DOTALL)


class BriefItem(Model):
    """A criterion or an issue: its id, its text and the files that it names."""

    id: str
    text: str
    files: tuple[str, ...] = ()


class BriefCheck(Model):
    """A check, and what it said before the work began."""

    id: str
    command: str
    tests: tuple[str, ...] = ()
    """Test ids that this unit must turn green; empty: the whole command must exit 0."""
    failing: tuple[str, ...] = ()
    """Test ids that are red at the unit's base; empty when the command reports no tests."""
    passing: int = 0
    exit_code: int | None = None
    output: str = ""
    """Capped output of the last failing run; empty when green."""


class Brief(Model):
    """All that a role needs to know about its unit."""

    unit: str
    mode: Literal["work", "accept", "resolve"] = "work"
    name: str
    goal: str = ""
    criteria: tuple[BriefItem, ...] = ()
    issues: tuple[BriefItem, ...] = ()
    checks: tuple[BriefCheck, ...] = ()
    touches: tuple[str, ...] = ()
    """Globs of what may be edited; empty means everything."""
    complexity: Complexity | None = None
    may_split: bool = True
    cycle: int = 0
    """Repair cycle, 0 for the first try."""
    feedback: str = ""
    """Why the previous try was not enough: failing output, rejected edits, what the merge gate said."""
    python: str = ""
    """Command that starts the interpreter the checks use, inside the sandbox; empty for other languages."""

    def render(self) -> str:
        """Return the block that a prompt holds."""
        return f"<brief>\n{json.dumps(self.model_dump(exclude_defaults=True), indent=1)}\n</brief>"

    @classmethod
    def find(cls, text: str) -> Brief | None:
        """Return the last brief in `text`, or None."""
        found = _BRIEF.findall(text)
        return cls.model_validate_json(found[-1]) if found else None


class Deliverable(Model):
    """A file that the plan wants written. `complex` by the planner's judgement, counted for the split trigger."""

    path: str = Field(max_length=400)
    kind: DeliverableKind = "modify"
    layer: Layer = "core"
    complex: bool = False


class ChildCheck(Model):
    """A check of a proposed child: a command narrowed to its issues, or the parent's with the ids of its tests."""

    command: str
    tests: tuple[str, ...] = ()
    timeout_s: float = 600.0


class PlanChild(Model):
    """One part of the work, should it have to be split. Ids are the parent's."""

    name: str = Field(min_length=1, max_length=80)
    scope: ShortText = ""
    criteria: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    own_checks: tuple[ChildCheck, ...] = ()
    files: tuple[str, ...] = ()
    depends_on: tuple[int, ...] = ()
    complexity: Complexity | None = None


class Plan(Model):
    """A planner's answer: one JSON object."""

    deliverables: tuple[Deliverable, ...] = ()
    files_to_read: tuple[str, ...] = ()
    parts: tuple[PlanChild, ...] = ()
    """How the work would be divided if it is too large; the phase runner decides whether it is."""
    rationale: ShortText = ""
    notes: str = Field(default="", max_length=8000)
    """Free text for the builder."""
