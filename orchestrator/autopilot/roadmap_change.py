"""A roadmap that changed since the run began: what is not affected is reused, what is starts again, one line says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autopilot import events
from autopilot.recorder import RunRecorder
from autopilot.runs import row_of
from autopilot_playbooks.digest import roadmap_digest
from autopilot_playbooks.schema import Roadmap
from autopilot_state.ids import unit_sort_key


@dataclass(frozen=True)
class Change:
    """Phases by what the change means for them; each list in id order."""

    again: tuple[str, ...]
    """Worked on before; they, or what they need, read differently now."""
    later: tuple[str, ...]
    """Not begun yet; they begin with what they say now."""
    new: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def line(self) -> str:
        """One line for people."""
        parts = (("start again", self.again), ("reread", self.later), ("new", self.new), ("gone", self.gone))
        return "Roadmap changed: " + " | ".join(f"{word} {' '.join(units)}" for word, units in parts if units)


def follow_roadmap(recorder: RunRecorder, roadmap: Roadmap, targets: Sequence[str]) -> Change | None:
    """Make the run follow `roadmap`; return what changed, or None when nothing did."""
    change = _compare(recorder, roadmap)
    if change is None:
        return None
    number = recorder.document["run"].get("roadmap_changes", 0) + 1
    ref = recorder.put_artifact("", f"roadmap-{number}.json", roadmap.model_dump_json().encode())
    run = recorder.document["run"]
    recorder.record(events.run_setting("roadmap_ref", run["roadmap_ref"], ref.model_dump()))
    recorder.record(events.run_setting("roadmap_digest", run["roadmap_digest"], ref.sha256))
    recorder.record(events.run_setting("roadmap_changes", run["roadmap_changes"], number))
    phases = {phase.id: phase for phase in roadmap.phases}
    for unit in (*change.again, *change.later):
        row = row_of(phases[unit], targets)
        if unit in change.again:
            # What an earlier attempt merged is on the head, so that is where the new one starts.
            row |= {"attempt": 1, "order_dependent": True} if row["status"] == "waiting" else {}
        recorder.record(events.unit_reset(unit, row, recorder.document["units"]))
    if change.new:
        recorder.record(events.units_added({u: row_of(phases[u], targets) for u in change.new}, first=False))
    for unit in change.gone:
        row = recorder.document["units"][unit]
        if row["status"] != "ended":
            recorder.record(events.unit_targeted(unit, row, targeted=False))
    return change


def _compare(recorder: RunRecorder, roadmap: Roadmap) -> Change | None:
    units = recorder.document["units"]
    digests = {phase.id: roadmap_digest(phase)[:16] for phase in roadmap.phases}
    known = [u for u, row in units.items() if row["parent"] is None]
    changed = {u for u in known if u in digests and digests[u] != units[u]["digest"]}
    new = [u for u in digests if u not in units]
    gone = [u for u in known if u not in digests and units[u]["targeted"]]
    if not (changed or new or gone):
        return None
    affected = _with_dependents(changed, roadmap)
    begun = {u for u in affected if u in units and units[u]["attempt"] > 0}
    return Change(
        again=_sorted(begun),
        later=_sorted((changed - begun) & set(known)),
        new=_sorted(new),
        gone=_sorted(gone),
    )


def _with_dependents(changed: set[str], roadmap: Roadmap) -> set[str]:
    affected, before = set(changed), 0
    while len(affected) != before:
        before = len(affected)
        affected |= {phase.id for phase in roadmap.phases if affected & set(phase.depends_on)}
    return affected


def _sorted(units: Sequence[str] | set[str]) -> tuple[str, ...]:
    return tuple(sorted(units, key=unit_sort_key))
