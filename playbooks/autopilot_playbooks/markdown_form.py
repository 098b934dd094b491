"""A roadmap as Markdown, as people write it: phases are headings, fields are bold labels under them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from autopilot_playbooks.blocks import Block, read_blocks
from autopilot_playbooks.data_form import read_front_matter
from autopilot_playbooks.draft import PhaseDraft, RoadmapDraft
from autopilot_playbooks.front_matter import split_front_matter
from autopilot_playbooks.inline import read_box
from autopilot_playbooks.markdown_phase import PhaseReader
from autopilot_playbooks.where import Where, show

MAX_LINES = 200_000

_PREFIX = r"(?:[^\w\s\[]|\s|_|\[[ xX]\]|\[[^\]xX ]*\]|v[0-9][\w.]*|[mM]ilestone\s+[\w.]+|[0-9]+[.)](?=\s))*"
_PHASE = re.compile(
    rf"(?P<prefix>{_PREFIX}?)[Pp](?:hase|HASE)\s+(?P<id>[0-9][^\s:–—*]*|[A-Z]{{1,4}}(?=\s*[:–—-])|[A-Za-z][0-9]+)"
    r"(?:\s*\((?:INSERTED|inserted)\))?\s*(?P<mark>\*\*|__)?(?:\s*[:–—]|\s+-(?=\s|\Z)|\.(?=\s)|\s|\Z)"
    r"\s*(?P<name>.*)\Z"
)
_TICKED = re.compile(r"\[[xX]\]")
_TRAILING_BOX = re.compile(r"\s*\[(?P<mark>[ xX])\]\s*\Z")
_INSERTED = re.compile(r"\s*\(INSERTED\)\s*\Z")
_ENTRY_REST = re.compile(r"(?P<name>.+?)(?:\*\*|__)\s*[:–—-]?\s*(?P<goal>.*)\Z")
_ENTRY_DASH = re.compile(r"\s+[–—-]\s+")


@dataclass(frozen=True)
class _Title:
    """A phase as a heading or a list entry names it."""

    id: str
    name: str
    done: bool
    line: int
    goal: str = ""


@dataclass
class _Reading:
    """What has been read so far: phases under headings, and entries of lists of phases."""

    title: str = ""
    level: int = 0
    phase: PhaseReader | None = None
    phases: list[PhaseDraft] = field(default_factory=list)
    entries: list[_Title] = field(default_factory=list)


def read_markdown(text: str, where: Where) -> RoadmapDraft:
    """Return the roadmap that a Markdown file holds."""
    if text.count("\n") >= MAX_LINES:
        raise where.error("size", f"has more than {MAX_LINES} lines", fix="split the roadmap")
    front, body = split_front_matter(text, where)
    reading = _Reading()
    for block in read_blocks(body):
        if block.kind == "heading":
            _heading(block, reading, where)
        elif reading.phase is not None:
            reading.phase.take(block)
        elif block.kind == "item":
            _entry(block, reading)
    _close(reading)
    draft = RoadmapDraft() if front is None else read_front_matter(front, where)
    draft.title = reading.title
    draft.phases = _with_entries(reading, where)
    return draft


def _heading(block: Block, reading: _Reading, where: Where) -> None:
    title = _phase_title(block.text, block.line)
    if title is not None:
        _close(reading)
        reading.phase = PhaseReader(PhaseDraft(title.id, title.name, title.line, title.done), where)
        reading.level = block.depth
    elif reading.phase is not None and block.depth > reading.level:
        reading.phase.take_heading(block)
    else:
        _close(reading)
        if block.depth == 1 and not reading.title and not reading.phases:
            reading.title = block.text


def _close(reading: _Reading) -> None:
    if reading.phase is not None:
        reading.phases.append(reading.phase.finish())
        reading.phase = None


def _phase_title(text: str, line: int) -> _Title | None:
    match = _PHASE.match(text[:500])
    if match is None:
        return None
    name = match["name"].strip()
    box = _TRAILING_BOX.search(name)
    done = bool(_TICKED.search(match["prefix"])) or bool(box and box["mark"] in "xX")
    name = _INSERTED.sub("", _TRAILING_BOX.sub("", name)).strip()
    name = _without_bold(name, match["prefix"])
    phase = match["id"].rstrip(".,;-")
    return _Title(phase, name or f"Phase {phase}", done, line)


def _without_bold(name: str, prefix: str) -> str:
    for mark in ("**", "__"):
        if mark in prefix and name.endswith(mark):
            return name[: -len(mark)].strip()
    return name


def _entry(block: Block, reading: _Reading) -> None:
    """Keep `- [x] **Phase 2: Name** - one line`, outside of a phase: it says done, or is the phase itself."""
    done, text = read_box(block.text)
    match = _PHASE.match(text[:500])
    if match is None or match["prefix"].strip() not in ("", "**", "__"):
        return
    rest = _ENTRY_REST.match(match["name"]) if match["prefix"].strip() else None
    if rest:
        name, goal = rest["name"], rest["goal"]
    else:
        name, goal = [*_ENTRY_DASH.split(match["name"], maxsplit=1), ""][:2]
    phase = match["id"].rstrip(".,;-")
    name = _INSERTED.sub("", name).strip() or f"Phase {phase}"
    reading.entries.append(_Title(phase, name, done, block.line, goal.strip()))


def _with_entries(reading: _Reading, where: Where) -> list[PhaseDraft]:
    """Return the phases in order; a phase that only a list names stands after the one listed before it."""
    by_id = {phase.id: phase for phase in reading.phases}
    follows: dict[str | None, list[PhaseDraft]] = {}
    listed: dict[str, _Title] = {}
    anchor: str | None = None
    for entry in reading.entries:
        if entry.id in by_id:
            by_id[entry.id].done |= entry.done
            anchor = entry.id
        elif entry.id not in listed:
            listed[entry.id] = entry
            draft = PhaseDraft(entry.id, entry.name, entry.line, entry.done, entry.goal)
            follows.setdefault(anchor, []).append(draft)
        elif listed[entry.id].name != entry.name:
            raise _listed_twice(listed[entry.id], entry, where)
    result = follows.pop(None, [])
    for phase in reading.phases:
        result += [phase, *follows.pop(phase.id, [])]
    return result


def _listed_twice(first: _Title, second: _Title, where: Where) -> Exception:
    return where.error(
        "duplicate",
        f"{show(second.id)} is listed twice, as {show(first.name)} (line {first.line}) and {show(second.name)}",
        line=second.line,
        field="phase",
        fix="give one of them another number",
    )
