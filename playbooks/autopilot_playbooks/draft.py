"""What a form of the roadmap hands to validation: texts with their lines, nothing checked yet."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """One entry of a list, and where it stands."""

    text: str
    line: int | None
    done: bool = False
    command: str | None = None
    """The check of a criterion, where the form has a place of its own for it."""


@dataclass(frozen=True)
class CheckDraft:
    """A command as written. None: the default."""

    command: str
    line: int | None
    timeout_s: float | None = None
    tests: tuple[str, ...] = ()
    full_output: bool = False


@dataclass
class PhaseDraft:
    """A phase as written. `depends_on` and `checks` are None where the phase says nothing about them."""

    id: str
    name: str
    line: int | None
    done: bool = False
    goal: str = ""
    depends_on: list[Item] | None = None
    criteria: list[Item] = field(default_factory=list)
    issues: list[Item] = field(default_factory=list)
    checks: list[CheckDraft] | None = None
    files: list[Item] = field(default_factory=list)
    reports: list[Item] = field(default_factory=list)
    complexity: Item | None = None
    category: Item | None = None
    format_command: Item | None = None


@dataclass
class RoadmapDraft:
    """A roadmap as written. `checks` are the default for phases that name none."""

    title: str = ""
    phases: list[PhaseDraft] = field(default_factory=list)
    checks: list[CheckDraft] = field(default_factory=list)
    guards: list[CheckDraft] = field(default_factory=list)
    setup: str | None = None
    playbook: str | None = None
    threshold: float | None = None
