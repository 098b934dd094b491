"""The manager: route → dispatch → collect → record, a LangGraph graph without a model.

It holds ids, names, statuses, scores and routing, at most 200 bytes a unit. It never opens a plan, a source file,
a report or a diff: what it needs to know arrives as a typed `Outcome`, and what it decides leaves as a `Ticket` or
a journal record. A superstep is a barrier, so `dispatch` hands over everything that is ready and `collect` takes
whatever has come, first come first served: no unit waits for an unrelated one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypedDict

import anyio
from langgraph.graph import END, START, StateGraph

from autopilot import events
from autopilot.bridge import run_cancellable
from autopilot.mailbox import Mailbox
from autopilot.protocols import Arrival, Engine, Journal, Merged, MergeQueue, SplitDesk, Ticket
from autopilot.scheduling import SATISFIED, Schedule, transitive_dependencies
from autopilot.split import SplitLimits, child_edges_notice, child_ids, contract_breach
from autopilot_state.ids import split_depth, unit_sort_key
from autopilot_state.models import Outcome, SplitRequest

MAX_NAME_LENGTH = 40
MAX_STEPS = 10**9
"""LangGraph counts supersteps; a run's length is bounded by its units and attempts, not by this."""

Row = dict[str, Any]
"""`name`, `status`, `score`, `attempt` of one unit: bounded, plain, validated by `bounded_row`."""


def bounded_row(name: str, status: str, attempt: int, score: float | None) -> Row:
    """Return a row of the manager's table.

    Raises:
        ValueError: a value is outside its bounds.
    """
    if not 0 <= attempt < 1000 or len(status) > 12 or (score is not None and not 0 <= score <= 10):
        raise ValueError(f"not a row: {status} {attempt} {score}")
    return {"name": name[:MAX_NAME_LENGTH], "status": status, "attempt": attempt, "score": score}


def update_in_place(table: dict[str, Row], changes: dict[str, Row]) -> dict[str, Row]:
    """Reducer of the table: the one dict is changed, never copied (2.4 MB an update at 10,000 units if it were)."""
    table.update(changes)
    return table


class ManagerState(TypedDict):
    """All that the graph carries from step to step."""

    table: Annotated[dict[str, Row], update_in_place]
    arrivals: Sequence[Arrival]
    in_flight: int


class Manager:
    """One run's scheduling. `run` returns when every targeted unit has ended."""

    def __init__(
        self,
        *,
        engine: Engine,
        queue: MergeQueue,
        journal: Journal,
        desk: SplitDesk,
        limits: SplitLimits,
        max_attempts: int,
        threshold: float,
        now: Callable[[], float],
        notify: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._queue = queue
        self._journal = journal
        self._desk = desk
        self._limits = limits
        self._max_attempts = max_attempts
        self._threshold = threshold
        self._now = now
        self._notify = notify
        self._schedule = Schedule()
        self._inbox: Mailbox[Arrival] = Mailbox()

    # -- the graph ---------------------------------------------------------------------------------------------

    async def run(self) -> ManagerState:
        """Schedule everything that is open, and return the final table."""
        graph = self._build()
        start: ManagerState = {"table": self._load(), "arrivals": [], "in_flight": 0}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_pump, self._engine.outcomes, self._inbox)
            tasks.start_soon(_pump, self._queue.results, self._inbox)
            final = await run_cancellable(graph.ainvoke(start, {"recursion_limit": MAX_STEPS}))
            tasks.cancel_scope.cancel()
        return final  # type: ignore[no-any-return]

    def _build(self) -> Any:
        graph = StateGraph(ManagerState)
        graph.add_node("dispatch", self._dispatch)
        graph.add_node("collect", self._collect)
        graph.add_node("record", self._record)
        graph.add_conditional_edges(START, self._route, ["dispatch", "collect", END])
        graph.add_edge("dispatch", "collect")
        graph.add_edge("collect", "record")
        graph.add_conditional_edges("record", self._route, ["dispatch", "collect", END])
        return graph.compile()

    def _route(self, state: ManagerState) -> str:
        if not self._schedule.idle:
            return "dispatch"
        return "collect" if state["in_flight"] else END

    async def _dispatch(self, state: ManagerState) -> dict[str, Any]:
        changes: dict[str, Row] = {}
        for unit in self._schedule.take_ready():
            ticket = self._ticket(unit)
            row = self._row(unit)
            attempt, mode = ticket.attempt, ticket.mode
            self._journal.record(events.unit_queued(unit, before=row["status"], attempt=attempt, mode=mode))
            await self._engine.submit(ticket)
            changes[unit] = self._table_row(unit)
        return {"table": changes, "in_flight": state["in_flight"] + len(changes)}

    async def _collect(self, state: ManagerState) -> dict[str, Any]:
        return {"arrivals": await self._inbox.take_all()}

    async def _record(self, state: ManagerState) -> dict[str, Any]:
        changed: set[str] = set()
        landed = 0
        for arrival in state["arrivals"]:
            if isinstance(arrival, Merged):
                changed |= self._record_merged(arrival)
                landed += 1
            elif await self._record_outcome(arrival, changed):
                landed += 1
        rows = {unit: self._table_row(unit) for unit in changed}
        return {"table": rows, "arrivals": [], "in_flight": state["in_flight"] - landed}

    # -- what arrives ------------------------------------------------------------------------------------------

    async def _record_outcome(self, outcome: Outcome, changed: set[str]) -> bool:
        """Journal an attempt's end; return whether the unit is out of flight (a candidate stays in it)."""
        unit = outcome.unit
        changed.add(unit)
        if outcome.kind == "split" and outcome.split is not None:
            changed |= await self._split(unit, outcome.split, outcome.duration_s)
            return True
        if outcome.kind not in ("candidate", "accepted"):
            changed |= self._end(outcome, result=outcome.kind, score=outcome.score, reason=outcome.reason)
            return True
        result, score = self._result_of(outcome)
        if result == "below" and outcome.kind == "candidate":
            # Not merged: the work stays on a branch of its own.
            changed |= self._end(outcome, result=result, score=score, reason=self._why(outcome, result))
            return True
        self._journal.record(events.unit_merging(unit, outcome, before=self._row(unit)["status"]))
        await self._queue.submit(outcome, result=result, score=score)
        return False

    def _record_merged(self, merged: Merged) -> set[str]:
        """Take note of what the merge queue did; a refused candidate starts a new attempt on the head."""
        outcome, unit = merged.outcome, merged.unit
        if merged.head is not None:
            # The queue's own record moved the branch and ended the unit.
            return {unit} | self._after_end(unit)
        row = self._row(unit)
        tries = row["attempt"] - row["attempts_before"]
        if tries >= self._max_attempts:
            reason = f"{merged.reason}; {tries} attempts used up"
            return self._end(outcome, result="failed", score=outcome.score, reason=reason)
        mode = "accept" if row["mode"] == "accept" else "resolve" if merged.conflict else "work"
        self._journal.record(
            events.unit_sent_back(
                unit, before=row["status"], attempt=row["attempt"] + 1, mode=mode, reason=merged.reason
            )
        )
        self._schedule.make_ready(unit)
        return {unit}

    async def _split(self, unit: str, request: SplitRequest, duration_s: float) -> set[str]:
        breach = contract_breach(unit, self._desk.items(unit), request, self._limits)
        if breach is not None:
            self._journal.record(events.split_refused(unit, breach, before=self._row(unit)["status"]))
            self._schedule.make_ready(unit)
            return {unit}
        children = child_ids(unit, request)
        edges = await self._desk.edges(unit, request)
        rows = {}
        for index, (child, part) in enumerate(zip(children, request.sub_phases, strict=True)):
            needs = [children[other] for other in part.depends_on]
            follows = [children[other] for other in sorted(edges[index] - set(part.depends_on))]
            rows[child] = events.unit_row(part.name, parent=unit, deps=needs, after=follows)
        base = request.split_base or self._row(unit)["base"]
        self._journal.record(
            events.unit_split(
                unit, rows, request, before=self._row(unit)["status"], split_base=base, duration_s=duration_s
            )
        )
        self._notify(split_notice(unit, request, in_order=child_edges_notice(edges)))
        for child in children:
            self._schedule.add(child, rows[child]["deps"], rows[child]["after"])
        return {unit, *children}

    # -- ends --------------------------------------------------------------------------------------------------

    def _end(self, outcome: Outcome, *, result: str, score: float | None, reason: str) -> set[str]:
        self._journal.record(
            events.unit_ended(
                outcome.unit,
                before=self._row(outcome.unit)["status"],
                result=result,
                reason=reason[:200],
                score=score,
                evidence=outcome.evidence,
                commit=outcome.commit,
                at=self._now(),
                duration_s=self._row(outcome.unit)["duration_s"] + outcome.duration_s,
                order_dependent=outcome.order_dependent,
            )
        )
        return {outcome.unit} | self._after_end(outcome.unit)

    def _after_end(self, unit: str) -> set[str]:
        """Release or block what waits for an ended unit, and send its parent to acceptance."""
        changed: set[str] = set()
        row = self._row(unit)
        if _succeeded(row):
            self._schedule.succeeded(unit)
        else:
            for blocked in self._schedule.did_not_succeed(unit):
                changed |= self._close(blocked, "blocked", f"needs {unit}")
        parent = row["parent"]
        if parent is not None and all(
            self._row(child)["status"] == "ended" for child in self._row(parent)["children"]
        ):
            changed |= self._children_ended(parent)
        return changed

    def _children_ended(self, parent: str) -> set[str]:
        """Accept the parent by a last run of what it kept, unless a child already decided it."""
        if self._row(parent)["status"] != "split":
            return set()
        failed = self._failed_children(parent)
        if failed:
            reason = "; ".join(f"{child} {self._row(child)['result']}" for child in failed)
            return self._close(parent, "failed", reason) | self._after_end(parent)
        self._schedule.make_ready(parent)
        return {parent}

    def _close(self, unit: str, result: str, reason: str) -> set[str]:
        """End a unit that nothing ran for."""
        row = self._row(unit)
        event = events.unit_ended(
            unit,
            before=row["status"],
            result=result,
            reason=reason[:200],
            score=self._lowest_score(unit, None),
            at=self._now(),
            duration_s=row["duration_s"],
        )
        self._journal.record(event)
        changed = {unit}
        parent = row["parent"]
        if parent is not None and all(
            self._row(child)["status"] == "ended" for child in self._row(parent)["children"]
        ):
            changed |= self._children_ended(parent)
        return changed

    def _result_of(self, outcome: Outcome) -> tuple[str, float | None]:
        """Return result and score of a candidate or an acceptance, should its gate be green."""
        score = self._lowest_score(outcome.unit, outcome.score)
        below = [
            child for child in self._row(outcome.unit)["children"] if self._row(child)["result"] != "verified"
        ]
        if below or (score is not None and score < self._threshold):
            return "below", score
        if not outcome.evidence.checks and not self._row(outcome.unit)["children"]:
            return "unverified", score
        return "verified", score

    def _why(self, outcome: Outcome, result: str) -> str:
        """Return the reason of a result that is not verified."""
        below = [c for c in self._row(outcome.unit)["children"] if self._row(c)["result"] == "below"]
        if below:
            return "; ".join(f"{child} below" for child in below)
        return (outcome.reason or f"score under {self._threshold}") if result == "below" else ""

    def _lowest_score(self, unit: str, own: float | None) -> float | None:
        scores = [self._row(child)["score"] for child in self._row(unit)["children"]]
        known = [score for score in (own, *scores) if score is not None]
        return min(known) if known else None

    def _failed_children(self, parent: str) -> list[str]:
        return [
            c for c in self._row(parent)["children"] if self._row(c)["result"] not in ("verified", "below")
        ]

    # -- tickets -----------------------------------------------------------------------------------------------

    def _ticket(self, unit: str) -> Ticket:
        """Return the next attempt of a unit, from its row alone, so that a restart writes the same ticket."""
        row = self._row(unit)
        head = self._journal.document["run"]["head"]
        accepting = row["status"] == "split" or row["mode"] == "accept"
        common = {"head": head, "depth": split_depth(unit), "reason": row["reason"]}
        if accepting:
            attempt = row["attempt"] + 1 if row["status"] == "split" else row["attempt"]
            base = head if row["status"] == "split" else row["base"] or head
            return Ticket(unit, attempt, "accept", base, may_split=False, **common)
        refusals = row["split_refusals"]
        may_split = self._limits.enabled and not refusals
        if row["order_dependent"]:
            tips = (row["commit"],) if row["mode"] == "resolve" else ()
            base = row["base"] or head
            return Ticket(
                unit,
                row["attempt"],
                row["mode"],
                base,
                tips,
                may_split=may_split and row["mode"] == "work",
                **common,
            )
        return Ticket(
            unit,
            max(1, row["attempt"]),
            "work",
            self._base(unit),
            self._tips(unit),
            may_split=may_split,
            split_refusals=refusals,
            **common,
        )

    def _base(self, unit: str) -> str:
        parent = self._row(unit)["parent"]
        where = (
            self._row(parent)["split_base"] if parent is not None else self._journal.document["run"]["base"]
        )
        return str(where)

    def _tips(self, unit: str) -> tuple[str, ...]:
        """Return the commits that the unit's base is merged from: its dependencies', in id order."""
        units = self._journal.document["units"]
        parent = self._row(unit)["parent"]
        known = set(transitive_dependencies(units, parent)) if parent is not None else set()
        found = [u for u in transitive_dependencies(units, unit) if u not in known]
        return tuple(
            units[u]["commit"] for u in found if units[u]["commit"] and units[u]["result"] in SATISFIED
        )

    # -- state -------------------------------------------------------------------------------------------------

    def _load(self) -> dict[str, Row]:
        """Build the table and the schedule from the journal's state: a first start and a restart are the same."""
        units = self._journal.document["units"]
        for unit in sorted(units, key=unit_sort_key):
            row = units[unit]
            if row["status"] == "waiting" and row["targeted"]:
                needs = [d for d in row["deps"] if not self._over(d)]
                follows = [d for d in row["after"] if units[d]["status"] != "ended"]
                self._schedule.add(unit, needs, follows)
        self._settle(units)
        return {unit: self._table_row(unit) for unit in units}

    def _settle(self, units: dict[str, Row]) -> None:
        """Draw the consequences of ends that were journaled just before a stop."""
        for unit in sorted(units, key=unit_sort_key):
            row = units[unit]
            if row["status"] == "ended" and not _succeeded(row):
                for blocked in self._schedule.did_not_succeed(unit):
                    self._close(
                        blocked,
                        "blocked",
                        f"needs {unit}" + (" (not targeted)" if not row["targeted"] else ""),
                    )
        for unit in sorted(units, key=unit_sort_key):
            row = units[unit]
            if row["status"] == "split" and all(
                units[child]["status"] == "ended" for child in row["children"]
            ):
                self._children_ended(unit)

    def _over(self, unit: str) -> bool:
        """Say whether a dependency is fulfilled; one that is neither done nor targeted never will be by itself."""
        row = self._row(unit)
        return row["status"] == "ended" and _succeeded(row)

    def _row(self, unit: str) -> Row:
        row: Row = self._journal.document["units"][unit]
        return row

    def _table_row(self, unit: str) -> Row:
        row = self._row(unit)
        return bounded_row(row["name"], row["result"] or row["status"], row["attempt"], row["score"])


def _succeeded(row: Row) -> bool:
    """Say whether what depends on this ended unit may start: a skipped one counts when the roadmap says done."""
    return bool(row["result"] in SATISFIED and (row["result"] != "skipped" or row["done"]))


async def _pump(source: Callable[[], Awaitable[Sequence[Arrival]]], inbox: Mailbox[Arrival]) -> None:
    while True:
        for arrival in await source():
            inbox.put(arrival)


def split_notice(unit: str, request: SplitRequest, *, in_order: bool) -> str:
    """Return the one line that announces a split, with its trigger where that is another one than issues."""
    seen = request.evidence
    trigger = {
        "issues": f"{request.original_issue_count} issues",
        "complex_deliverables": f"{seen.complex_deliverables} complex deliverables",
        "files_to_read": f"{seen.files_to_read} files to read",
        "predicted_output": f"predicted {seen.predicted_output_tokens // 1000}k output tokens",
        "context": f"context {seen.context_pct or 0:.0f}%",
        "output_cut": "output cut",
    }[request.reason]
    how = "in order" if in_order else "in parallel"
    return f"Phase {unit} too large ({trigger}). Splitting into {len(request.sub_phases)} sub-phases, launching {how}..."
