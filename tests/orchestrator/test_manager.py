"""The manager with scripted outcomes: order, splits, acceptance, blocking, retries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot import events
from autopilot.fakes import FixedDesk, InstantQueue, ScriptedEngine, StoreJournal
from autopilot.manager import Manager
from autopilot.protocols import Ticket
from autopilot.split import ParentItems, SplitLimits
from autopilot_state.models import ArtifactRef, CheckEvidence, Evidence, Outcome, SplitRequest, SubPhase
from autopilot_state.store import Store

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def evidence(unit: str) -> Evidence:
    check = CheckEvidence(
        check=f"{unit}.k1", command="true", tree="t", exit_code=0, green=True, duration_s=0.1
    )
    return Evidence(checks=(check,))


def candidate(ticket: Ticket, score: float = 10.0) -> Outcome:
    return Outcome(
        unit=ticket.unit, attempt=ticket.attempt, mode=ticket.mode, kind="candidate", score=score,
        commit=f"c-{ticket.unit}-{ticket.attempt}", evidence=evidence("1"), base=ticket.base,
    )  # fmt: skip


def split(ticket: Ticket, names: list[str], issues: list[str]) -> Outcome:
    parts = tuple(
        SubPhase(name=name, issues=(issue,), own_checks=1) for name, issue in zip(names, issues, strict=True)
    )
    request = SplitRequest(
        reason="issues", sub_phases=parts, kept=(f"{ticket.unit}.k1",), original_issue_count=len(issues),
        contracts=ArtifactRef(path="x", sha256="0"), split_base="base",
    )  # fmt: skip
    return Outcome(unit=ticket.unit, attempt=ticket.attempt, kind="split", split=request, base="base")


def accepted(ticket: Ticket, score: float = 10.0) -> Outcome:
    return Outcome(unit=ticket.unit, attempt=ticket.attempt, mode="accept", kind="accepted", score=score)


class Run:
    """A manager over a real store with a roadmap given as {id: dependencies}."""

    def __init__(
        self, folder: Path, roadmap: dict[str, list[str]], answer, *, refuse=lambda _: None, items=None
    ) -> None:
        self.store = Store.open(folder)
        self.journal = StoreJournal(self.store)
        self.journal.record(
            events.run_started({"id": "aa11", "base": "base", "head": "base", "status": "running"})
        )
        rows = {u: events.unit_row(f"phase {u}", deps=d) for u, d in roadmap.items()}
        self.journal.record(events.units_added(rows, first=True))
        self.lines: list[str] = []
        self.engine = ScriptedEngine(answer)
        self.answer, self.refuse, self.items = answer, refuse, items
        self.manager = self.make()

    def make(self) -> Manager:
        nothing = ParentItems(frozenset(), frozenset(), frozenset())
        return Manager(
            engine=self.engine, queue=InstantQueue(self.journal, self.refuse), journal=self.journal,
            desk=FixedDesk(self.items or (lambda _: nothing)), limits=SplitLimits(), max_attempts=3, threshold=9.0,
            now=lambda: 1.0, notify=self.lines.append,
        )  # fmt: skip

    def results(self) -> dict[str, str]:
        return {u: row["result"] for u, row in self.store.document["units"].items()}

    def order(self) -> list[str]:
        return [f"{t.unit}/{t.mode[0]}{t.attempt}" for t in self.engine.tickets]


def six_items(unit: str) -> ParentItems:
    issues = frozenset({f"{unit}.i1", f"{unit}.i2"})
    return ParentItems(frozenset(), issues, frozenset({f"{unit}.k1"}))


async def test_units_start_in_dependency_order_and_all_are_verified(tmp_path: Path) -> None:
    """A unit is dispatched only after what it needs was verified, and a finished run has a result for each."""
    run = Run(tmp_path / "r", {"1": [], "2": ["1"], "3": ["1"], "4": ["2", "3"]}, candidate)

    await run.manager.run()

    assert run.order() == ["1/w1", "2/w1", "3/w1", "4/w1"]
    assert set(run.results().values()) == {"verified"}
    assert run.engine.tickets[-1].tips == ("c-1-1", "c-2-1", "c-3-1")
    assert run.engine.tickets[-1].base == "base"


async def test_a_failed_unit_blocks_what_needs_it_and_nothing_else(tmp_path: Path) -> None:
    """Dependents of a failed unit are blocked, transitively; unrelated units go on."""

    def answer(ticket: Ticket) -> Outcome:
        if ticket.unit == "1":
            return Outcome(unit="1", attempt=1, kind="failed", reason="red")
        return candidate(ticket)

    run = Run(tmp_path / "r", {"1": [], "2": ["1"], "3": ["2"], "4": []}, answer)

    await run.manager.run()

    assert run.results() == {"1": "failed", "2": "blocked", "3": "blocked", "4": "verified"}
    assert run.store.document["units"]["3"]["reason"] == "needs 1"


async def test_a_split_runs_children_then_accepts_the_parent_on_the_head(tmp_path: Path) -> None:
    """A split consumes no attempt, its children run, and the parent is accepted last with the lowest score."""

    def answer(ticket: Ticket) -> Outcome:
        if ticket.unit == "20" and ticket.mode == "work":
            return split(ticket, ["login", "dates"], ["20.i1", "20.i2"])
        if ticket.mode == "accept":
            return accepted(ticket)
        return candidate(ticket, 9.5 if ticket.unit == "20b" else 10.0)

    run = Run(tmp_path / "r", {"20": [], "21": ["20"]}, answer, items=six_items)

    await run.manager.run()

    assert run.order() == ["20/w1", "20a/w1", "20b/w1", "20/a2", "21/w1"]
    assert run.lines == [
        "Phase 20 too large (2 issues). Splitting into 2 sub-phases, launching in parallel..."
    ]
    units = run.store.document["units"]
    assert (units["20"]["result"], units["20"]["score"], units["20"]["children"]) == (
        "verified",
        9.5,
        ["20a", "20b"],
    )
    assert run.engine.tickets[3].base == "c-20b-1"
    assert run.engine.tickets[4].tips == ("c-20a-1", "c-20b-1")


async def test_a_failed_child_fails_the_parent_but_not_its_siblings(tmp_path: Path) -> None:
    """A parent with a failed child is not passed, the siblings' merges stand, and dependents are blocked."""

    def answer(ticket: Ticket) -> Outcome:
        if ticket.unit == "20":
            return split(ticket, ["login", "dates"], ["20.i1", "20.i2"])
        if ticket.unit == "20a":
            return Outcome(unit="20a", attempt=1, kind="failed", score=4.0, reason="red")
        return candidate(ticket)

    run = Run(tmp_path / "r", {"20": [], "21": ["20"]}, answer, items=six_items)

    await run.manager.run()

    assert run.results() == {"20": "failed", "21": "blocked", "20a": "failed", "20b": "verified"}
    assert run.store.document["run"]["head"] == "c-20b-1"
    assert run.store.document["units"]["20"]["reason"] == "20a failed"


async def test_a_request_that_breaks_the_contract_goes_back_once_with_the_reason(tmp_path: Path) -> None:
    """A refused split costs no attempt, tells why, and the unit then goes on unsplit."""

    def answer(ticket: Ticket) -> Outcome:
        if ticket.may_split:
            return split(ticket, ["login", "login"], ["20.i1", "20.i2"])
        return candidate(ticket)

    run = Run(tmp_path / "r", {"20": []}, answer, items=six_items)

    await run.manager.run()

    assert run.order() == ["20/w1", "20/w1"]
    assert "two sub-phases are named 'login'" in run.engine.tickets[1].reason
    assert run.results() == {"20": "verified"}


async def test_a_red_gate_sends_back_at_most_to_the_third_attempt(tmp_path: Path) -> None:
    """A candidate that the gate refuses starts again on the head, and fails after three attempts."""
    run = Run(
        tmp_path / "r", {"1": [], "2": []}, candidate, refuse=lambda o: "red" if o.unit == "2" else None
    )

    await run.manager.run()

    assert run.order() == ["1/w1", "2/w1", "2/w2", "2/w3"]
    assert run.engine.tickets[-1].base == "c-1-1"
    assert run.results() == {"1": "verified", "2": "failed"}
    assert run.store.document["units"]["2"]["reason"] == "red; 3 attempts used up"


async def test_a_unit_below_its_threshold_is_not_merged_as_verified(tmp_path: Path) -> None:
    """A score under the threshold gives `below`, whatever the checks say."""

    def answer(ticket: Ticket) -> Outcome:
        return candidate(ticket, 8.9)

    run = Run(tmp_path / "r", {"1": [], "2": ["1"]}, answer)

    await run.manager.run()

    assert run.results() == {"1": "below", "2": "blocked"}
    assert run.store.document["run"]["head"] == "base"


async def test_a_restarted_manager_does_nothing_again_that_was_recorded(tmp_path: Path) -> None:
    """A manager built anew from a finished journal dispatches nothing and changes nothing."""
    run = Run(tmp_path / "r", {"1": [], "2": ["1"]}, candidate)
    await run.manager.run()
    before, seq = json.dumps(run.store.document), run.store.seq

    await run.make().run()

    assert len(run.engine.tickets) == 2
    assert (json.dumps(run.store.document), run.store.seq) == (before, seq)


async def test_the_table_stays_under_200_bytes_a_unit(tmp_path: Path) -> None:
    """What the graph carries is bounded, however long the names are."""
    roadmap = {str(n): [str(n - 1)] if n > 1 else [] for n in range(1, 60)}
    run = Run(tmp_path / "r", roadmap, candidate)
    for row in run.store.document["units"].values():
        row["name"] = "x" * 80

    final = await run.manager.run()

    assert len(json.dumps(final["table"])) / len(roadmap) < 200
