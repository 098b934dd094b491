"""A unit's job: serialisable, complete, and without a path of the manager's machine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from autopilot_playbooks.schema import Check, Phase
from autopilot_state.models import Model


class UnitJob(Model):
    """Everything that one attempt of one unit needs to know."""

    run: str
    unit: str
    attempt: int
    mode: Literal["work", "accept", "resolve"]
    contract: Phase
    """What must be done; in mode accept only what the parent kept."""
    guards: tuple[Check, ...] = ()
    setup: str | None = None
    base: str
    tips: tuple[str, ...] = ()
    head: str
    depth: int = 0
    may_split: bool = True
    split_refusals: int = 0
    reason: str = ""
    threshold: float = Field(ge=0, le=10)
    playbook: str
    """Digest of the playbook in use."""
    provider: str
    model: str | None = None
    python: str = "python"
    """Command that starts the interpreter of the checks."""
    commit_date: int
    """Seconds since the epoch of every commit of this run, so that a restart makes the same commits."""

    @property
    def thread(self) -> str:
        """Name of the LangGraph thread: a zombie of an earlier attempt writes into a dead one."""
        refused = f"-s{self.split_refusals}" if self.split_refusals else ""
        return f"{self.run}/{self.unit}/{self.mode[0]}{self.attempt}{refused}"

    def op(self, name: str) -> str:
        """Return the id of one side effect of this attempt, the same after every restart."""
        refused = f"s{self.split_refusals}." if self.split_refusals else ""
        return f"{self.unit}.a{self.attempt}.{refused}{name}"
