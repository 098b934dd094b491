"""Dependencies as people write them: `Phase 3, Phase 7 (logging)`, `none`, nothing at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from autopilot_playbooks.draft import Item, PhaseDraft
from autopilot_playbooks.inline import is_nothing
from autopilot_playbooks.order import find_cycle, id_key, is_phase_id
from autopilot_playbooks.where import Where, nearest, show

_REMARK = re.compile(r"\([^()]*\)")
_SEPARATOR = re.compile(r"[,;&+\n]|\band\b|\bund\b", re.IGNORECASE)
_DEPENDENCY = re.compile(
    r"(?:phases?\b\.?\s*)?#?(?P<id>[0-9]+(?:\.[0-9]+)*)(?!\w)(?:\s*[-\u2013]\s*(?:phase\s+)?(?P<last>[0-9]+(?:\.[0-9]+)*)(?!\w))?",
    re.IGNORECASE,
)
_MEANT = re.compile(r"phases?\b\s*\S|#?[0-9]+[a-z]", re.IGNORECASE)
_Key = tuple[int, ...]


def resolve_dependencies(phases: Sequence[PhaseDraft], where: Where) -> dict[str, tuple[str, ...]]:
    """Return what each phase depends on. One that says nothing depends on the phase before it in the file.

    Raises:
        RoadmapError: an id is not there, a phase names itself, or phases wait for each other.
    """
    known = {id_key(phase.id): phase.id for phase in phases}
    result: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    for phase in phases:
        result[phase.id] = (
            before if phase.depends_on is None else _named(phase, phase.depends_on, known, where)
        )
        before = (phase.id,)
    _refuse_cycle(result, phases, where)
    return result


def _named(phase: PhaseDraft, items: list[Item], known: Mapping[_Key, str], where: Where) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for item in items:
        if is_nothing(item.text):
            continue
        for needed in _ids_in(item, known, where):
            if needed == phase.id:
                raise _error(f"names the phase itself ({phase.id})", item, where, "remove it, or write none")
            found[needed] = None
    return tuple(found)


def _ids_in(item: Item, known: Mapping[_Key, str], where: Where) -> list[str]:
    found: list[str] = []
    for part in _SEPARATOR.split(_REMARK.sub(" ", item.text)):
        part = part.strip(" *_`[]")
        match = _DEPENDENCY.match(part)
        if match:
            found += _expand(match, item, known, where)
        elif part and (not found or _MEANT.match(part)):
            raise _error(f"names no phase: {show(part)}", item, where, "write ids: Phase 3, Phase 7; or none")
    return found


def _expand(match: re.Match[str], item: Item, known: Mapping[_Key, str], where: Where) -> list[str]:
    first = _lookup(match["id"], item, known, where)
    if not match["last"]:
        return [first]
    last = _lookup(match["last"], item, known, where)
    low, high = id_key(first), id_key(last)
    if low > high:
        raise _error(f"goes backwards: {first}-{last}", item, where, f"write {last}-{first}")
    return [known[key] for key in sorted(known) if low <= key <= high]


def _lookup(written: str, item: Item, known: Mapping[_Key, str], where: Where) -> str:
    phase = known.get(id_key(written)) if is_phase_id(written) else None
    if phase is None:
        near = nearest(written, known.values())
        fix = f"did you mean {near}?" if near else "write the id of a phase of this roadmap"
        raise _error(f"names phase {show(written)}, which is not in the roadmap", item, where, fix)
    return phase


def _error(problem: str, item: Item, where: Where, fix: str) -> Exception:
    return where.error("dependency", problem, line=item.line, field="depends_on", fix=fix)


def _refuse_cycle(
    depends_on: Mapping[str, Sequence[str]], phases: Sequence[PhaseDraft], where: Where
) -> None:
    cycle = find_cycle(depends_on)
    if not cycle:
        return
    by_id = {phase.id: phase for phase in phases}
    silent = sorted({phase for phase in cycle if by_id[phase].depends_on is None}, key=id_key)
    why = "each waits for the next"
    if silent:
        why += f"; {', '.join(silent)} names nothing, so it depends on the phase before it in the file"
    raise where.error(
        "cycle",
        f"makes a cycle: {' -> '.join(cycle)}",
        line=by_id[cycle[0]].line,
        field="depends_on",
        why=why,
        fix="remove one of these dependencies",
    )
