"""What each unit has to do: the roadmap's phases, and the parts of split ones, by unit id.

The manager knows ids; this desk knows the texts behind them and answers in ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from pydantic import TypeAdapter

from autopilot.briefing import open_items
from autopilot.protocols import Ticket
from autopilot.split import ParentItems, child_edges
from autopilot_playbooks.schema import Check, Phase, Roadmap
from autopilot_state.models import ArtifactRef, SplitRequest
from autopilot_state.patch import Document

_PHASES = TypeAdapter(tuple[Phase, ...])


class RunReader(Protocol):
    """What contracts are read from: a live run's recorder, or a run folder opened for reading."""

    document: Document

    def get_artifact(self, ref: ArtifactRef) -> bytes:
        """Return the bytes of an artifact."""
        ...


class Contracts:
    """Contracts of all units of one run; those of sub-phases are read from the split's artifact."""

    def __init__(
        self, roadmap: Roadmap, recorder: RunReader, files_of: Callable[[str], Awaitable[Sequence[str]]]
    ) -> None:
        self._phases = {phase.id: phase for phase in roadmap.phases}
        self._recorder = recorder
        self._files_of = files_of

    def contract(self, unit: str, mode: str = "work") -> Phase:
        """Return what `unit` has to do; in mode accept only what it kept when it was split."""
        phase = self._phases.get(unit) or self._child(unit)
        row = self._recorder.document["units"].get(unit)
        if mode != "accept" or not row or not row["split"]:
            return phase
        kept = set(row["split"]["kept"])
        return phase.model_copy(
            update={
                "criteria": tuple(c for c in phase.criteria if c.id in kept),
                "issues": tuple(i for i in phase.issues if i.id in kept),
                "checks": tuple(c for c in phase.checks if c.id in kept),
                "reports": (),
            }
        )

    def checks(self, unit: str, mode: str) -> Sequence[Check]:
        """Return the checks of a unit's contract."""
        return self.contract(unit, mode).checks

    def _child(self, unit: str) -> Phase:
        parent = self._recorder.document["units"][unit]["parent"]
        split = self._recorder.document["units"][parent]["split"]
        for phase in _PHASES.validate_json(self._recorder.get_artifact(ArtifactRef(**split["contracts"]))):
            self._phases[phase.id] = phase
        return self._phases[unit]

    # -- SplitDesk ---------------------------------------------------------------------------------------------

    def items(self, unit: str) -> ParentItems:
        return open_items(self.contract(unit))

    async def edges(self, unit: str, request: SplitRequest) -> Sequence[set[int]]:
        base = request.split_base or self._recorder.document["run"]["base"]
        return child_edges(request, await self._files_of(base))


def ticket_fields(ticket: Ticket) -> dict[str, object]:
    """Return the fields that a job takes over from its ticket."""
    return {
        "unit": ticket.unit,
        "attempt": ticket.attempt,
        "mode": ticket.mode,
        "base": ticket.base,
        "tips": ticket.tips,
        "head": ticket.head,
        "depth": ticket.depth,
        "may_split": ticket.may_split,
        "split_refusals": ticket.split_refusals,
        "reason": ticket.reason,
    }
