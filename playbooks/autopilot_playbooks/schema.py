"""What a roadmap and a playbook say, as frozen values. A sub-phase made by a split is a `Phase` too."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Complexity = Literal["low", "medium", "high"]
Category = Literal["backend", "database", "frontend", "deployment", "docs", "tests", "general"]
PhaseName = Annotated[str, StringConstraints(min_length=1, max_length=80)]


class Frozen(BaseModel):
    """Frozen, strict about names: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(Frozen):
    """A command whose exit status is evidence."""

    id: str
    """`20.k1`; filled in from the phase's id and the position."""
    command: str = Field(min_length=1, max_length=4000)
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    tests: tuple[str, ...] = ()
    """When given, the check is green when each of these test ids passed; other red tests don't matter to it."""
    full_output: bool = False
    """A user's word that a prompt may hold this command's whole output."""


class Criterion(Frozen):
    """A statement that must be true at the end; `command`, where the user gave one, is what shows it."""

    id: str
    text: str = Field(min_length=1, max_length=4000)
    command: str | None = None


class Issue(Frozen):
    """One defect or task of a phase. `files` are the paths that its text names in backticks."""

    id: str
    text: str = Field(min_length=1, max_length=4000)
    files: tuple[str, ...] = ()


class Phase(Frozen):
    """An item of the roadmap, or a sub-phase. Ids of items are stable: `20.c1`, `20.i1`, `20.k1`."""

    id: str
    name: PhaseName
    done: bool = False
    """`[x]` in the roadmap: skipped."""
    goal: str = ""
    depends_on: tuple[str, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    issues: tuple[Issue, ...] = ()
    checks: tuple[Check, ...] = ()
    files: tuple[str, ...] = ()
    """Globs of what the phase may edit; for a sub-phase its touches. Empty means everything."""
    reports: tuple[str, ...] = ()
    complexity: Complexity | None = None
    category: Category | None = None
    format_command: str | None = None
    line: int | None = None
    """1-based line of the roadmap where the phase begins, for error messages."""
    parent: str | None = None


class Roadmap(Frozen):
    """All phases in the order of the file, and what its front matter set."""

    title: str = ""
    phases: tuple[Phase, ...]
    guards: tuple[Check, ...] = ()
    """Commands that must not break on any merged tree: compared test by test with the base (front matter `guards`)."""
    setup: str | None = None
    """Command that runs once in each worktree before anything else (front matter `setup`)."""
    playbook: str | None = None
    threshold: float | None = None


class SplitRule(Frozen):
    """When a phase is too large; see docs/phase-runner.md. All numbers are defaults of the standard playbook."""

    enabled: bool = True
    max_issues: int = 3
    min_files: int = 4
    """More than `max_issues` issues over at least `min_files` files ask for a split."""
    max_complex_deliverables: int = 5
    max_files_to_read: int = 9
    context_pct: float = 70.0
    max_batches: int = 4
    max_children: int = 26
    max_depth: int = 3


class Playbook(Frozen):
    """Which steps, thresholds, caps and prompts a mode uses. `prompts` maps a role to its prompt text."""

    name: str
    description: str = ""
    threshold: float = Field(default=9.0, ge=0, le=10)
    max_repair_cycles: int = Field(default=3, ge=0, le=10)
    max_attempts: int = Field(default=3, ge=1, le=10)
    """Attempts of one unit, those that the merge gate sent back included."""
    max_turns: int = Field(default=60, ge=1, le=1000)
    """Model answers of one agent in one step."""
    steps: tuple[str, ...] = ("prepare", "assess", "plan", "build", "verify", "seal")
    context_warn_pct: tuple[float, ...] = (70.0, 90.0)
    split: SplitRule = SplitRule()
    whole_file_lines: int = 500
    slice_lines: int = 200
    run_later_files: bool = False
    """Whether files that run later (CI, hooks, build scripts) may be edited."""
    prompts: dict[str, str] = Field(default_factory=dict)
