"""Shipped fakes of the manager's ports: an engine that answers from a function, a queue that merges at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autopilot import events
from autopilot.events import Event
from autopilot.mailbox import Mailbox
from autopilot.protocols import Journal, Merged, Ticket
from autopilot.split import ParentItems
from autopilot_state.models import Evidence, Outcome, SplitRequest
from autopilot_state.store import Store


class StoreJournal:
    """A manager's journal on a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.document = store.document

    def record(self, event: Event) -> None:
        self.store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)


class ScriptedEngine:
    """Answers each ticket with what `answer` returns, in the order of submission; `tickets` keeps them all."""

    def __init__(self, answer: Callable[[Ticket], Outcome]) -> None:
        self.tickets: list[Ticket] = []
        self._answer = answer
        self._mail: Mailbox[Outcome] = Mailbox()

    async def submit(self, ticket: Ticket) -> None:
        self.tickets.append(ticket)
        self._mail.put(self._answer(ticket))

    async def outcomes(self) -> Sequence[Outcome]:
        return await self._mail.take_all()

    async def cancel(self) -> None:
        self.tickets.clear()


class InstantQueue:
    """Merges every candidate at once, unless `refuse` gives a reason; the head is the candidate's commit."""

    def __init__(self, journal: Journal, refuse: Callable[[Outcome], str | None] = lambda _: None) -> None:
        self._journal = journal
        self._refuse = refuse
        self._mail: Mailbox[Merged] = Mailbox()

    async def submit(self, outcome: Outcome, *, result: str, score: float | None) -> None:
        reason = self._refuse(outcome)
        if reason is not None:
            self._mail.put(Merged(outcome.unit, outcome, None, Evidence(), reason))
            return
        old = self._journal.document["run"]["head"]
        head = outcome.commit or old
        self._journal.record(
            events.unit_ended(
                outcome.unit,
                before="merging",
                result=result,
                score=score,
                commit=outcome.commit,
                at=0.0,
                moved=(old, head),
            )
        )
        self._mail.put(Merged(outcome.unit, outcome, head, outcome.evidence))

    async def results(self) -> Sequence[Merged]:
        return await self._mail.take_all()


class FixedDesk:
    """A split desk that knows every unit's items beforehand and finds no overlaps but the given ones."""

    def __init__(self, items: Callable[[str], ParentItems], edges: Sequence[set[int]] | None = None) -> None:
        self._items = items
        self._edges = edges

    def items(self, unit: str) -> ParentItems:
        return self._items(unit)

    async def edges(self, unit: str, request: SplitRequest) -> Sequence[set[int]]:
        return self._edges or [set(child.depends_on) for child in request.sub_phases]
