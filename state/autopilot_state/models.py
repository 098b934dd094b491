"""What crosses the borders of a run: outcomes, split requests, evidence and usage. All frozen, all bounded.

Only ids pass through the manager (`20.c1`, `20.i1`, `20.k1`); the texts behind them are artifacts, named by
their hash. Plain values (dicts of the journal) are used inside; these models stand at the borders.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

ShortText = Annotated[str, StringConstraints(max_length=200)]
"""A reason that fits a table line; what is longer is an artifact."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=80)]
ItemId = Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)*[a-z0-9]*\.[cikr]\d+$", max_length=40)]
"""`20.c1` criterion, `20.i1` issue, `20.k1` check, `20.r1` reported finding."""

Result = Literal["verified", "below", "failed", "parked", "needs_human", "blocked", "unverified", "skipped"]
OutcomeKind = Literal["candidate", "accepted", "below", "failed", "parked", "needs_human", "split"]
Complexity = Literal["low", "medium", "high"]


class Model(BaseModel):
    """Frozen, strict about names: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ArtifactRef(Model):
    """A file of the run, by content: `path` below the run's `artifacts` folder and the SHA-256 of its bytes."""

    path: str
    sha256: str


class Usage(Model):
    """Tokens and money. `input_tokens` excludes what was read from or written to a prompt cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            requests=self.requests + other.requests,
        )

    @property
    def context_tokens(self) -> int:
        """Everything the model read: fresh input, cache writes and cache reads. Output is not counted."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


class TestCounts(Model):
    """What changed against the unit's baseline, test by test. Flaky tests are listed, never `fixed`."""

    __test__ = False

    fixed: int = 0
    still_red: int = 0
    broken: int = 0
    flaky: int = 0


class CheckEvidence(Model):
    """One command on one tree, as the harness saw it end. `exit_code` is 124 after a time limit."""

    check: ItemId
    command: str
    tree: str
    exit_code: int
    green: bool
    duration_s: float
    log: ArtifactRef | None = None


class Evidence(Model):
    """What a unit's result rests on: never a model's claim."""

    checks: tuple[CheckEvidence, ...] = ()
    tests: TestCounts = TestCounts()
    fulfilled: tuple[ItemId, ...] = ()
    """Criteria and checks that a green command stands behind."""
    open: tuple[ItemId, ...] = ()
    restored_files: tuple[str, ...] = ()
    """Test files of the baseline that were run beside the unit's own version of them."""


class SubPhase(Model):
    """A child that a split request proposes. `depends_on` holds indices (0-based) of other children."""

    name: Name
    scope: ShortText = ""
    criteria: tuple[ItemId, ...] = ()
    issues: tuple[ItemId, ...] = ()
    checks: tuple[ItemId, ...] = ()
    """Checks of the parent that move to this child whole; narrowed ones are in the artifact and counted below."""
    own_checks: int = 0
    """How many checks of its own the child has, narrowed ones included."""
    files: tuple[str, ...] = ()
    """Touches: globs of what the child may edit; empty means everything."""
    depends_on: tuple[int, ...] = ()
    complexity: Complexity | None = None


class SplitEvidence(Model):
    """Why the phase runner found the scope too large: figures it saw, not an opinion."""

    issues: int = 0
    files: int = 0
    files_to_read: int = 0
    complex_deliverables: int = 0
    predicted_output_tokens: int = 0
    context_pct: float | None = None
    tokens_used: int = 0


class SplitRequest(Model):
    """Returned in place of results; a contract that the manager checks mechanically (`split.py`)."""

    reason: Literal[
        "issues", "complex_deliverables", "files_to_read", "predicted_output", "context", "output_cut"
    ]
    rationale: ShortText = ""
    sub_phases: tuple[SubPhase, ...]
    kept: tuple[ItemId, ...] = ()
    """Criteria, issues and checks that stay with the parent and are settled at its acceptance."""
    original_issue_count: int
    evidence: SplitEvidence = SplitEvidence()
    split_base: str | None = None
    """Commit of the sound work in progress that the children start from; None: the parent's base."""
    contracts: ArtifactRef
    """The children's full contracts, in the order of `sub_phases`."""


class Outcome(Model):
    """What a phase runner returns for one attempt."""

    unit: str
    attempt: int
    mode: Literal["work", "accept", "resolve"] = "work"
    kind: OutcomeKind
    score: float | None = None
    commit: str | None = None
    """The candidate's commit; None when an acceptance changed nothing."""
    base: str | None = None
    reason: ShortText = ""
    evidence: Evidence = Evidence()
    context_pct: float | None = None
    usage: Usage = Usage()
    duration_s: float = 0.0
    split: SplitRequest | None = None
    order_dependent: bool = False
