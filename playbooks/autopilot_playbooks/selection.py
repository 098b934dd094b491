"""PHASES of the command line: `3`, `1-7`, `3,5,8`, `all`, `next`, sub-phases such as `20a`."""

from __future__ import annotations

import re

from autopilot_playbooks.errors import RoadmapError
from autopilot_playbooks.order import dependency_order, id_key, is_phase_id
from autopilot_playbooks.schema import Roadmap
from autopilot_playbooks.where import nearest, show

_PART = re.compile(
    r"(?P<first>[0-9]{1,16}(?:\.[0-9]{1,16})*)"
    r"(?:(?P<split>[a-z](?:[0-9]+[a-z])*[0-9]*)|\s*[-\u2013]\s*(?P<last>[0-9]{1,16}(?:\.[0-9]{1,16})*))?\Z"
)
_SUB_PHASE_PARTS = re.compile(r"[0-9]+|[a-z]")
_WORDS = ("all", "next")


def looks_like_phases(text: str) -> bool:
    """Say whether `text` follows the grammar of PHASES."""
    return text.strip().lower() in _WORDS or all(_PART.match(part.strip()) for part in text.split(","))


def select_phases(roadmap: Roadmap, spec: str | None) -> tuple[str, ...]:
    """Return the outstanding phases that `spec` names, dependencies first; None or `all`: all of them.

    A sub-phase stands where its parent would, after it. What is done already is passed over.

    Raises:
        RoadmapError: AP213, `spec` does not parse or names a phase that is not there.
    """
    order = dependency_order(roadmap.phases)
    done = {phase.id for phase in roadmap.phases if phase.done}
    outstanding = tuple(phase for phase in order if phase not in done)
    word = "all" if spec is None else spec.strip().lower()
    if word == "all":
        return outstanding
    if word == "next":
        return outstanding[:1]
    return _named(word, order, set(outstanding))


def _named(spec: str, order: tuple[str, ...], outstanding: set[str]) -> tuple[str, ...]:
    by_key = {id_key(phase): phase for phase in order}
    chosen: set[str] = set()
    children: dict[str, set[str]] = {}
    for part in (part.strip() for part in spec.split(",")):
        match = _PART.match(part)
        if match is None:
            raise _bad_part(part)
        first = _known(match["first"], by_key)
        if match["split"]:
            children.setdefault(first, set()).add(first + match["split"])
        elif match["last"]:
            chosen.update(_range(first, _known(match["last"], by_key), order))
        else:
            chosen.add(first)
    result: list[str] = []
    for phase in order:
        result += [phase] if phase in chosen & outstanding else []
        result += sorted(children.get(phase, ()), key=_child_key)
    return tuple(result)


def _range(first: str, last: str, order: tuple[str, ...]) -> list[str]:
    low, high = id_key(first), id_key(last)
    if low > high:
        raise RoadmapError(
            "AP213",
            f"PHASES {first}-{last} goes backwards",
            fix=f"write {last}-{first}; dependencies decide the order",
        )
    return [phase for phase in order if low <= id_key(phase) <= high]


def _known(written: str, by_key: dict[tuple[int, ...], str]) -> str:
    phase = by_key.get(id_key(written)) if is_phase_id(written) else None
    if phase is not None:
        return phase
    ids = [by_key[key] for key in sorted(by_key)]
    near = nearest(written, ids)
    span = f"the roadmap has {', '.join(ids[:12])}{', …' if len(ids) > 12 else ''}"
    hint = f"did you mean {near}? {span}" if near else span
    raise RoadmapError("AP213", f"PHASES names phase {show(written)}, which is not in the roadmap", fix=hint)


def _bad_part(part: str) -> RoadmapError:
    near = nearest(part, _WORDS)
    fix = f"did you mean {near}?" if near else "write 3, 1-7, 3,5,8, all or next"
    return RoadmapError("AP213", f"PHASES can't be read at {show(part) or 'an empty place'}", fix=fix)


def _child_key(child: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(p), "") if p.isdigit() else (0, p) for p in _SUB_PHASE_PARTS.findall(child))
