"""What can happen in a run, each as one journal record: its type, its patch, its data.

The patch is led by a `test` of what the writer believed, so a record that no longer fits is refused instead of
overwriting. `unit_row` and `run_fields` are the shape of `state.json`; docs/state-format.md shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autopilot_state.models import Evidence, Outcome, SplitRequest, Usage
from autopilot_state.patch import Document, Operation, expect, pointer, put


@dataclass(frozen=True)
class Event:
    """A record to be: `Store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)`."""

    kind: str
    patch: Sequence[Operation]
    data: Mapping[str, Any]
    unit: str | None = None


def unit_row(
    name: str,
    *,
    parent: str | None = None,
    deps: Sequence[str] = (),
    after: Sequence[str] = (),
    targeted: bool = True,
    done: bool = False,
) -> dict[str, Any]:
    """Return a unit as it stands in state.json before anything happened to it.

    `status` is one of waiting, queued, running, merging, split, ended; `result` is set when it is `ended`.
    `deps` must succeed before it starts; what stands in `after` only has to have ended (overlapping touches).
    """
    return {
        "name": name,
        "digest": None,
        "parent": parent,
        "children": [],
        "deps": list(deps),
        "after": list(after),
        "split_base": None,
        "split": None,
        "targeted": targeted and not done,
        "done": done,
        "status": "waiting" if targeted and not done else "ended",
        "mode": "work",
        "attempt": 0,
        "attempts_before": 0,
        "step": None,
        "result": None if targeted and not done else "skipped",
        "score": None,
        "reason": "done in the roadmap" if done else "" if targeted else "not targeted",
        "split_refusals": 0,
        "commit": None,
        "base": None,
        "tests": None,
        "logs": [],
        "context_pct": None,
        "usage": None,
        "started_at": None,
        "ended_at": None,
        "duration_s": 0.0,
        "order_dependent": False,
    }


def run_started(fields: Mapping[str, Any]) -> Event:
    """The first record: who, on what, with which settings (see `run_fields` in app.py)."""
    return Event("run.started", [expect("/run", {}), put("/run", dict(fields))], {})


def units_added(rows: Mapping[str, Mapping[str, Any]], *, first: bool) -> Event:
    """Phases of the roadmap, in its order; large roadmaps take several records."""
    patch: list[Operation] = [expect("/order", []) if first else expect("/schema", 1)]
    for unit, row in rows.items():
        patch += [put(pointer("units", unit), dict(row)), put("/order/-", unit)]
    return Event("units.added", patch, {})


def _unit(unit: str, field: str) -> str:
    return pointer("units", unit, field)


def unit_queued(unit: str, *, before: str, attempt: int, mode: str) -> Event:
    """The manager handed the unit to the engine, which starts it when a slot is free."""
    patch: list[Operation] = [
        expect(_unit(unit, "status"), before),
        put(_unit(unit, "status"), "queued"),
        put(_unit(unit, "attempt"), attempt),
        put(_unit(unit, "mode"), mode),
    ]
    if before == "split":
        patch.append(put(_unit(unit, "base"), None))
    return Event("unit.queued", patch, {}, unit)


def unit_started(unit: str, *, at: float, base: str, again: bool) -> Event:
    """The unit has a slot and a worktree. `again`: it goes on after a stop."""
    patch = [expect(_unit(unit, "status"), "queued"), put(_unit(unit, "status"), "running")]
    patch += [put(_unit(unit, "started_at"), round(at, 3)), put(_unit(unit, "base"), base)]
    return Event("unit.started", patch, {"again": again}, unit)


def unit_step(unit: str, step: str) -> Event:
    """The phase runner began a step."""
    patch = [expect(_unit(unit, "status"), "running"), put(_unit(unit, "step"), step)]
    return Event("unit.step", patch, {}, unit)


def unit_context(unit: str, pct: float) -> Event:
    """The last answer's input filled `pct` percent of the model's window."""
    return Event(
        "unit.context",
        [expect(_unit(unit, "status"), "running"), put(_unit(unit, "context_pct"), round(pct, 1))],
        {},
        unit,
    )


def usage_added(unit: str, document: Document, usage: Usage, op: str, data: Mapping[str, Any]) -> Event:
    """One model answer: its operation is done, and its tokens count for the unit and the run."""
    row, run = document["units"][unit]["usage"], document["usage"]
    patch = [
        expect(_unit(unit, "usage"), row),
        put(_unit(unit, "usage"), _sum(row, usage)),
        put("/usage", _sum(run, usage)),
    ]
    return Event("op.done", patch, {"op": op, **data}, unit)


def _sum(before: Mapping[str, Any] | None, usage: Usage) -> dict[str, Any]:
    total = (Usage(**before) if before else Usage()) + usage
    return {**total.model_dump(), "cost_usd": round(total.cost_usd, 6)}


def unit_merging(unit: str, outcome: Outcome, *, before: str) -> Event:
    """The phase runner sealed a candidate; the merge queue has it now."""
    patch = [
        expect(_unit(unit, "status"), before),
        put(_unit(unit, "status"), "merging"),
        put(_unit(unit, "step"), "merge"),
        put(_unit(unit, "commit"), outcome.commit),
    ]
    return Event(
        "unit.candidate", patch, {"outcome": outcome.model_dump(mode="json", exclude_defaults=True)}, unit
    )


def unit_ended(
    unit: str,
    *,
    before: str,
    result: str,
    reason: str = "",
    score: float | None = None,
    evidence: Evidence | None = None,
    commit: str | None = None,
    at: float,
    duration_s: float = 0.0,
    moved: tuple[str, str] | None = None,
    order_dependent: bool = False,
) -> Event:
    """The unit has its result. `moved` (old head, new head): this very record moves the run branch."""
    patch: list[Operation] = [expect(_unit(unit, "status"), before)]
    if moved is not None:
        patch += [expect("/run/head", moved[0]), put("/run/head", moved[1])]
    fields: dict[str, Any] = {
        "status": "ended",
        "step": None,
        "result": result,
        "reason": reason,
        "score": score,
        "ended_at": round(at, 3),
        "duration_s": round(duration_s, 3),
    }
    if evidence is not None:
        fields["tests"] = evidence.tests.model_dump()
        fields["logs"] = list(dict.fromkeys(check.log.path for check in evidence.checks if check.log))[:8]
    if commit is not None:
        fields["commit"] = commit
    if order_dependent:
        fields["order_dependent"] = True
    patch += [put(_unit(unit, key), value) for key, value in fields.items()]
    return Event("unit.ended", patch, {"forget": [unit]}, unit)


def unit_sent_back(unit: str, *, before: str, attempt: int, mode: str, reason: str) -> Event:
    """The merge gate was red, or the trees conflict (`mode` resolve): a new attempt starts on the head."""
    patch = [
        expect(_unit(unit, "status"), before),
        put(_unit(unit, "status"), "waiting"),
        put(_unit(unit, "attempt"), attempt),
        put(_unit(unit, "mode"), mode),
        put(_unit(unit, "base"), None),
        put(_unit(unit, "step"), None),
        put(_unit(unit, "reason"), reason[:200]),
        put(_unit(unit, "order_dependent"), True),
    ]
    return Event("unit.sent_back", patch, {}, unit)


def unit_split(
    unit: str,
    children: Mapping[str, Mapping[str, Any]],
    request: SplitRequest,
    *,
    before: str,
    split_base: str,
    duration_s: float,
) -> Event:
    """The split contract held: the children exist, the parent waits for them and holds nothing."""
    patch: list[Operation] = [
        expect(_unit(unit, "status"), before),
        put(_unit(unit, "status"), "split"),
        put(_unit(unit, "step"), None),
        put(_unit(unit, "children"), list(children)),
        put(_unit(unit, "split_base"), split_base),
        put(_unit(unit, "split"), {"contracts": request.contracts.model_dump(), "kept": list(request.kept)}),
        put(_unit(unit, "duration_s"), round(duration_s, 3)),
    ]
    patch += [put(pointer("units", child), dict(row)) for child, row in children.items()]
    return Event(
        "unit.split", patch, {"request": request.model_dump(mode="json", exclude_defaults=True)}, unit
    )


def split_refused(unit: str, breach: str, *, before: str) -> Event:
    """The split request broke its contract: the attempt goes on with the reason, without a new attempt."""
    patch = [
        expect(_unit(unit, "status"), before),
        put(_unit(unit, "status"), "waiting"),
        put(_unit(unit, "split_refusals"), 1),
        put(_unit(unit, "reason"), f"split refused: {breach}"[:200]),
    ]
    return Event("unit.split_refused", patch, {}, unit)


def unit_reopened(unit: str, row: Mapping[str, Any], *, new_attempt: bool) -> Event:
    """An ended unit is taken up again: a parked one where it stood, any other with a new attempt on the head.

    A split parent waits for its children again.
    """
    split = bool(row["children"])
    fields: dict[str, Any] = {
        "status": "split" if split else "waiting",
        "result": None,
        "score": None,
        "reason": "",
        "ended_at": None,
    }
    if new_attempt and not split:
        fields |= {
            "attempt": row["attempt"] + 1 if row["attempt"] else 0,
            "attempts_before": row["attempt"],
            "mode": "work",
            "base": None,
            "order_dependent": bool(row["attempt"]),
        }
    patch = [expect(_unit(unit, "result"), row["result"])]
    return Event(
        "unit.reopened", patch + [put(_unit(unit, key), value) for key, value in fields.items()], {}, unit
    )


def unit_reset(unit: str, row: Mapping[str, Any], units: Mapping[str, Mapping[str, Any]]) -> Event:
    """The unit's contract changed: it begins anew with `row`, its sub-phases and all its operations are forgotten."""
    below = _descendants(unit, units)
    patch: list[Operation] = [
        expect(_unit(unit, "digest"), units[unit]["digest"]),
        put(pointer("units", unit), dict(row)),
    ]
    patch += [{"op": "remove", "path": pointer("units", child)} for child in below]
    return Event("unit.reset", patch, {"forget": [unit, *below]}, unit)


def _descendants(unit: str, units: Mapping[str, Mapping[str, Any]]) -> list[str]:
    children = list(units[unit]["children"])
    return children + [below for child in children for below in _descendants(child, units)]


def unit_interrupted(unit: str, *, before: str) -> Event:
    """A stopped or killed unit waits again; its next start goes on from its last journaled operation."""
    patch = [expect(_unit(unit, "status"), before), put(_unit(unit, "status"), "waiting")]
    return Event("unit.interrupted", patch, {}, unit)


def run_setting(field: str, before: Any, after: Any) -> Event:
    """A flag of this start changes a setting of the run from now on."""
    return Event(
        "run.setting", [expect(pointer("run", field), before), put(pointer("run", field), after)], {}
    )


def unit_targeted(unit: str, row: Mapping[str, Any], *, targeted: bool) -> Event:
    """PHASES of this start target a unit that was not targeted, or the other way round; nothing ran for it yet."""
    fields: dict[str, Any] = {
        "targeted": targeted,
        "status": "waiting" if targeted else "ended",
        "result": None if targeted else "skipped",
        "reason": "" if targeted else "not targeted",
    }
    patch = [expect(_unit(unit, "targeted"), row["targeted"])]
    patch += [put(_unit(unit, key), value) for key, value in fields.items()]
    return Event("unit.targeted", patch, {}, unit)


def run_status(
    before: str, after: str, *, kind: str, reason: str | None = None, exit_code: int | None = None, at: float
) -> Event:
    """The run was stopped, taken up again or finished; `kind` is run.stopped, run.resumed or run.finished."""
    patch = [
        expect("/run/status", before),
        put("/run/status", after),
        put("/run/reason", reason),
        put("/run/exit_code", exit_code),
        put("/run/ended_at", round(at, 3) if after != "running" else None),
    ]
    return Event(kind, patch, {})
