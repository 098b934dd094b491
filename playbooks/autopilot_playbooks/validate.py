"""From a draft to a Roadmap: ids, dependencies, limits and names, the same for every form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from autopilot_playbooks.characters import hidden_characters
from autopilot_playbooks.dependencies import resolve_dependencies
from autopilot_playbooks.draft import CheckDraft, Item, PhaseDraft, RoadmapDraft
from autopilot_playbooks.named_files import named_files
from autopilot_playbooks.order import MAX_ID_LENGTH, id_key, is_phase_id
from autopilot_playbooks.schema import Category, Check, Complexity, Criterion, Issue, Phase, Roadmap
from autopilot_playbooks.where import Where, nearest, show

MAX_PHASES = 10_000
GUARD_OWNER = "0guard"
"""Guards are checks of no phase: their ids are `0guard.k1` and so on."""

_SUB_PHASE = re.compile(r"[0-9.]+[a-z]")
_ModelT = TypeVar("_ModelT", bound=BaseModel)


def build_roadmap(draft: RoadmapDraft, where: Where) -> Roadmap:
    """Return the roadmap, or raise the first thing that is wrong with it, in the order of the file."""
    if not draft.phases:
        raise where.error(
            "empty",
            "no phases",
            why="a roadmap needs at least one",
            fix="write a heading such as: ## Phase 1: Name",
        )
    if len(draft.phases) > MAX_PHASES:
        raise where.error(
            "size", f"has {len(draft.phases)} phases, more than {MAX_PHASES}", fix="split the roadmap"
        )
    _check_ids(draft.phases, where)
    depends_on = resolve_dependencies(draft.phases, where)
    phases = tuple(_phase(p, depends_on[p.id], draft.checks, where) for p in draft.phases)
    return Roadmap(
        title=_clean(draft.title, where, None, "title")[:200],
        phases=phases,
        guards=_checks(GUARD_OWNER, draft.guards, where, "guards"),
        setup=_optional(draft.setup, where, "setup"),
        playbook=_optional(draft.playbook, where, "playbook"),
        threshold=draft.threshold,
    )


def _check_ids(phases: Sequence[PhaseDraft], where: Where) -> None:
    seen: dict[tuple[int, ...], PhaseDraft] = {}
    for phase in phases:
        if not is_phase_id(phase.id):
            raise _bad_id(phase, where)
        first = seen.setdefault(id_key(phase.id), phase)
        if first is not phase:
            place = f" (line {first.line})" if first.line else ""
            raise where.error(
                "duplicate",
                f"{phase.id} stands twice, also as {show(first.name)}{place}",
                line=phase.line,
                field="phase",
                fix="give one of them another number; decimals such as 3.1 insert a phase",
            )


def _bad_id(phase: PhaseDraft, where: Where) -> Exception:
    if _SUB_PHASE.match(phase.id):
        fix = "write a decimal such as 20.1; ids with letters are made by splits"
    else:
        fix = f"write digits, with dots for inserted phases: 3, 6.1; at most {MAX_ID_LENGTH} characters"
    return where.error("id", f"is no phase id: {show(phase.id)}", line=phase.line, field="id", fix=fix)


def _phase(draft: PhaseDraft, depends_on: tuple[str, ...], default: list[CheckDraft], where: Where) -> Phase:
    line = draft.line
    checks = default if draft.checks is None else draft.checks
    return _make(
        Phase,
        where,
        line,
        id=draft.id,
        name=_clean(draft.name, where, line, "name"),
        done=draft.done,
        goal=_prose(draft.goal, where, line, "goal"),
        depends_on=depends_on,
        criteria=tuple(_criterion(draft.id, n, item, where) for n, item in enumerate(draft.criteria, 1)),
        issues=tuple(
            _issue(draft.id, n, item, where) for n, item in enumerate(draft.issues, 1) if not item.done
        ),
        checks=_checks(draft.id, checks, where, "checks"),
        files=_paths(draft.files, where, "files"),
        reports=_paths(draft.reports, where, "reports"),
        complexity=_choice(draft.complexity, get_args(Complexity), where, "complexity"),
        category=_choice(draft.category, get_args(Category), where, "category"),
        format_command=_command(draft.format_command, where),
        line=line,
    )


def _criterion(phase: str, number: int, item: Item, where: Where) -> Criterion:
    name = f"{phase}.c{number}"
    text = _prose(item.text, where, item.line, name)
    command = None if item.command is None else _clean(item.command, where, item.line, f"{name} check")
    return _make(Criterion, where, item.line, id=name, text=text, command=command)


def _issue(phase: str, number: int, item: Item, where: Where) -> Issue:
    name = f"{phase}.i{number}"
    text = _prose(item.text, where, item.line, name)
    return _make(Issue, where, item.line, id=name, text=text, files=named_files(text))


def _checks(owner: str, drafts: Sequence[CheckDraft], where: Where, field: str) -> tuple[Check, ...]:
    return tuple(_check(f"{owner}.k{n}", draft, where, field) for n, draft in enumerate(drafts, 1))


def _check(name: str, draft: CheckDraft, where: Where, field: str) -> Check:
    values: dict[str, Any] = {"id": name, "command": _clean(draft.command, where, draft.line, field)}
    if draft.timeout_s is not None:
        values["timeout_s"] = draft.timeout_s
    tests = tuple(_clean(test, where, draft.line, f"{field}.tests") for test in draft.tests)
    return _make(Check, where, draft.line, **values, tests=tests, full_output=draft.full_output)


def _paths(items: Sequence[Item], where: Where, field: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_path(item, where, field) for item in items))


def _path(item: Item, where: Where, field: str) -> str:
    path = _clean(item.text, where, item.line, field)
    if path.startswith(("/", "~")) or ".." in path.split("/") or "\\" in path or "\n" in path:
        raise where.error(
            "value",
            f"leads out of the repository: {show(path)}",
            line=item.line,
            field=field,
            fix="write a path inside the repository, with / between its parts",
        )
    return path.removeprefix("./")


def _choice(item: Item | None, allowed: Sequence[str], where: Where, field: str) -> str | None:
    if item is None:
        return None
    word = item.text.strip().lower()
    if word in allowed:
        return word
    near = nearest(word, allowed)
    fix = f"write {near}" if near else "write one of: " + ", ".join(allowed)
    raise where.error("value", f"is not known: {show(item.text)}", line=item.line, field=field, fix=fix)


def _command(item: Item | None, where: Where) -> str | None:
    return None if item is None else _clean(item.text, where, item.line, "format")


def _optional(text: str | None, where: Where, field: str) -> str | None:
    return None if text is None else _required(_clean(text, where, None, field), where, None, field)


def _clean(text: str, where: Where, line: int | None, field: str) -> str:
    """Return a name, path or command; what does not look like what it is, is refused."""
    hidden = hidden_characters(text)
    if hidden:
        raise where.error(
            "hidden",
            f"holds hidden characters: {', '.join(hidden[:5])}",
            line=line,
            field=field,
            why="it would not be what it looks like",
            fix="remove them",
        )
    return text.strip()


def _prose(text: str, where: Where, line: int | None, field: str) -> str:
    """Return prose as it stands; only what UTF-8 can't hold is refused. See `suspicious_characters`."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise where.error(
            "encoding", "holds half a character (a lone surrogate)", line=line, field=field, fix="remove it"
        )
    return text.strip()


def _required(text: str, where: Where, line: int | None, field: str) -> str:
    if not text:
        raise where.error("value", "is empty", line=line, field=field, fix="write it out, or remove it")
    return text


def _make(model: type[_ModelT], where: Where, at_line: int | None, /, **values: Any) -> _ModelT:
    """Return the model; a limit of the schema that is passed becomes an error with file, line and field."""
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or model.__name__.lower()
        owner = values.get("id", "")
        raise where.error(
            "value",
            f"of {show(str(owner))} can't be used: {first['msg']}",
            line=at_line,
            field=field,
            fix="keep it within that limit",
        ) from None
