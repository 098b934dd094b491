"""The ports of the manager: where units run, where candidates are merged, where records go.

The manager sees these and the state, nothing else. A ticket is all that it says about a unit; the engine turns it
into a job (contract, playbook, budgets) with the loader that the composition root gave it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from autopilot.events import Event
from autopilot.split import ParentItems
from autopilot_state.models import Evidence, Outcome, SplitRequest
from autopilot_state.patch import Document

Mode = Literal["work", "accept", "resolve"]


@dataclass(frozen=True)
class Ticket:
    """One attempt of one unit, as the manager asks for it."""

    unit: str
    attempt: int
    mode: Mode
    base: str
    """Commit to start from."""
    tips: tuple[str, ...] = ()
    """Commits of the transitive dependencies, in id order, merged onto `base` before the work begins."""
    depth: int = 0
    head: str = ""
    """The run's head when the ticket was written: the base of last resort, should the tips conflict."""
    may_split: bool = True
    split_refusals: int = 0
    """How often this attempt's split request was refused; part of its thread's name."""
    reason: str = ""
    """Why an earlier attempt was sent back, or its split request refused; told to the agents."""


@dataclass(frozen=True)
class Merged:
    """What the merge queue did with a candidate. `head` is set when the run branch moved to it."""

    unit: str
    outcome: Outcome
    head: str | None
    evidence: Evidence
    reason: str = ""
    conflict: bool = False


Arrival = Outcome | Merged
"""What the manager waits for: an attempt has ended, or a candidate was merged or refused."""


class Engine(Protocol):
    """Where phase runners execute: in this process, or on many machines."""

    async def submit(self, ticket: Ticket) -> None:
        """Take a unit; it starts when a slot is free."""
        ...

    async def outcomes(self) -> Sequence[Outcome]:
        """Wait for at least one outcome and return all that are there."""
        ...

    async def cancel(self) -> None:
        """End all units; nothing runs on when this returns."""
        ...


class MergeQueue(Protocol):
    """Owns the run branch; serial, and never waits for a unit."""

    async def submit(self, outcome: Outcome, *, result: str, score: float | None) -> None:
        """Take a candidate; when the gate is green its unit ends with `result` and `score`."""
        ...

    async def results(self) -> Sequence[Merged]:
        """Wait for at least one result and return all that are there."""
        ...


class SplitDesk(Protocol):
    """Answers the two questions of the split contract that need more than ids, in ids."""

    def items(self, unit: str) -> ParentItems:
        """Return the ids of what a unit has open."""
        ...

    async def edges(self, unit: str, request: SplitRequest) -> Sequence[set[int]]:
        """Return for each child the children whose touches overlap with its own and come before it."""
        ...


class Journal(Protocol):
    """Where the manager's decisions become durable. `document` is the present state, read only."""

    document: Document

    def record(self, event: Event) -> None:
        """Return when the event can't be lost."""
        ...
