"""Playbooks: Markdown with YAML front matter, prompts under `## Prompt: ROLE` or in files of `prompts/`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from autopilot_playbooks.blocks import read_blocks
from autopilot_playbooks.characters import hidden_characters
from autopilot_playbooks.digest import playbook_digest
from autopilot_playbooks.fields import Fields
from autopilot_playbooks.front_matter import split_front_matter
from autopilot_playbooks.schema import Playbook, SplitRule
from autopilot_playbooks.source import decode, read_bounded
from autopilot_playbooks.where import Where, in_playbook, nearest, show

__all__ = ["ROLES", "STEPS", "load_playbook", "playbook_digest"]

ROLES = ("assessor", "planner", "builder", "reviewer", "aligner", "resolver")
STEPS = ("prepare", "assess", "plan", "build", "verify", "review", "seal")
NEEDED_STEPS = ("prepare", "build", "verify", "seal")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_PROMPT_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\.md\Z")
_PROMPT_HEADING = re.compile(r"prompt\s*:\s*(?P<role>.+)\Z", re.IGNORECASE)

_INTEGERS = {
    "max_repair_cycles": (0, 10),
    "max_attempts": (1, 10),
    "max_turns": (1, 1000),
    "whole_file_lines": (0, 100_000),
    "slice_lines": (1, 10_000),
}
_SPLIT_INTEGERS = {
    "max_issues": (0, 1000),
    "min_files": (0, 1000),
    "max_complex_deliverables": (0, 1000),
    "max_files_to_read": (0, 10_000),
    "max_batches": (1, 100),
    "max_children": (2, 26),
    "max_depth": (0, 6),
}
_KEYS = (
    "name",
    "description",
    "extends",
    "threshold",
    "steps",
    "context_warn_pct",
    "split",
    "run_later_files",
    "prompts",
    *_INTEGERS,
)


@dataclass(frozen=True)
class _Found:
    """A playbook's file and the folder that holds its `prompts`."""

    file: Traversable
    folder: Traversable
    name: str


def load_playbook(name: str, *, search: Sequence[Path] = ()) -> Playbook:
    """Return the playbook `name`: the first `name.md` in the folders `search`, else the one shipped with Autopilot.

    A playbook with `extends` takes over what it does not say itself. One that extends its own name extends the
    next of that name, so that `standard.md` in a search folder may build on the shipped one.

    Raises:
        PlaybookFileError: there is none of that name, or what it says can't be used.
    """
    values = _read_chain(name, search, ())
    where = in_playbook(name)
    try:
        return Playbook(**{**values, "name": name})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise where.error("value", f"can't be used: {first['msg']}", field=field, fix="correct it") from None


def _read_chain(name: str, search: Sequence[Path], chain: tuple[_Found, ...]) -> dict[str, Any]:
    found = _find(name, search, chain)
    where = in_playbook(_display(found))
    node, body = split_front_matter(decode(read_bounded(found.file, where), where), where)
    if node is None or node.value is None:
        raise where.error(
            "syntax",
            "has no front matter",
            line=1,
            fix="begin with --- and keys such as threshold: 9.0, then ---",
        )
    fields = Fields(node, where, _KEYS)
    parent = fields.text("extends")
    base = _read_chain(parent, search, (*chain, found)) if parent else {}
    own = _values(fields)
    own["prompts"] = _prompts(fields, body, found, where)
    return _merged(base, own)


def _find(name: str, search: Sequence[Path], chain: tuple[_Found, ...]) -> _Found:
    where = in_playbook(_display(chain[-1]) if chain else name)
    if not _NAME.match(name):
        raise where.error(
            "unreadable",
            f"{show(name)} is no name of a playbook",
            field="extends" if chain else None,
            fix="write a name such as standard: letters, digits, - and _",
        )
    seen = {str(found.file) for found in chain}
    folders: list[Traversable] = [*search, files("autopilot_playbooks") / "library"]
    for folder in folders:
        file = folder / f"{name}.md"
        if file.is_file() and str(file) not in seen:
            return _Found(_plain_file(file, where), folder, name)
    raise _missing(name, folders, chain, where)


def _missing(name: str, folders: list[Traversable], chain: tuple[_Found, ...], where: Where) -> Exception:
    names = [found.name for found in chain]
    if name in names:
        circle = " -> ".join([*names, name])
        return where.error(
            "extends", f"extends itself: {circle}", field="extends", fix="remove one of these extends"
        )
    known = sorted(_names_in(folders))
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else "known playbooks: " + ", ".join(known)
    return where.error("unreadable", f"there is no playbook {show(name)}", fix=hint)


def _names_in(folders: list[Traversable]) -> set[str]:
    found = (
        entry.name for folder in folders if folder.is_dir() for entry in folder.iterdir() if entry.is_file()
    )
    return {name.removesuffix(".md") for name in found if name.endswith(".md")}


def _display(found: _Found) -> str:
    return str(found.file) if isinstance(found.folder, Path) else f"{found.name}.md"


def _plain_file(file: Traversable, where: Where) -> Traversable:
    if isinstance(file, Path) and (
        file.is_symlink() or (file.parent.name == "prompts" and file.parent.is_symlink())
    ):
        raise where.error(
            "unreadable",
            f"{show(file.name)} is reached through a symbolic link",
            fix="put the file itself there",
        )
    return file


def _values(fields: Fields) -> dict[str, Any]:
    """Return what the front matter says, as keys of `Playbook`; what it does not say is left out."""
    own: dict[str, Any] = {
        "description": _clean(fields, "description"),
        "threshold": fields.number("threshold", 0, 10),
        "steps": _steps(fields),
        "context_warn_pct": fields.numbers("context_warn_pct", 0, 100),
        "run_later_files": fields.flag("run_later_files"),
        "split": _split(fields),
    }
    own |= {key: fields.integer(key, low, high) for key, (low, high) in _INTEGERS.items()}
    _clean(fields, "name")
    return {key: value for key, value in own.items() if value is not None}


def _clean(fields: Fields, key: str) -> str | None:
    text = fields.text(key)
    hidden = hidden_characters(text or "")
    if hidden:
        node = fields.node(key)
        raise fields.where.error(
            "hidden",
            f"holds hidden characters: {', '.join(hidden[:5])}",
            line=node.line if node else None,
            field=key,
            fix="remove them",
        )
    return text


def _steps(fields: Fields) -> tuple[str, ...] | None:
    steps = fields.texts("steps")
    node = fields.node("steps")
    if steps is None or node is None:
        return None
    for step in steps:
        if step not in STEPS:
            near = nearest(step, STEPS)
            fix = f"write {near}" if near else "known steps: " + ", ".join(STEPS)
            raise fields.where.error(
                "value",
                f"names a step that is not known: {show(step)}",
                line=node.line,
                field="steps",
                fix=fix,
            )
    in_order = [step for step in STEPS if step in steps]
    if list(steps) != in_order or not set(NEEDED_STEPS) <= set(steps):
        raise fields.where.error(
            "value",
            "should hold each step once, in order, and never lack " + ", ".join(NEEDED_STEPS),
            line=node.line,
            field="steps",
            fix="write [" + ", ".join(s for s in STEPS if s in steps or s in NEEDED_STEPS) + "]",
        )
    return steps


def _split(fields: Fields) -> dict[str, Any] | None:
    node = fields.node("split")
    if node is None or node.value is None:
        return None
    rule = Fields(node, fields.where, tuple(SplitRule.model_fields), path="split")
    own: dict[str, Any] = {
        "enabled": rule.flag("enabled"),
        "context_pct": rule.number("context_pct", 1, 100),
    }
    own |= {key: rule.integer(key, low, high) for key, (low, high) in _SPLIT_INTEGERS.items()}
    return {key: value for key, value in own.items() if value is not None}


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    result = {**base, **own}
    for key in ("split", "prompts"):
        result[key] = {**base.get(key, {}), **own.get(key, {})}
    return result


def _prompts(fields: Fields, body: str, found: _Found, where: Where) -> dict[str, str]:
    prompts = _prompt_files(fields, found, where)
    for role, text, line in _prompt_sections(body):
        _check_role(role, line, where)
        if role in prompts:
            raise where.error(
                "prompt", f"{role} has two prompts", line=line, field="prompts", fix="keep one of them"
            )
        prompts[role] = _usable_prompt(text, role, line, where)
    return prompts


def _check_role(role: str, line: int | None, where: Where) -> None:
    if role not in ROLES:
        near = nearest(role, ROLES)
        fix = f"write {near}" if near else "known roles: " + ", ".join(ROLES)
        raise where.error(
            "prompt", f"names a role that is not known: {show(role)}", line=line, field="prompts", fix=fix
        )


def _usable_prompt(text: str, role: str, line: int | None, where: Where) -> str:
    if not text.strip():
        raise where.error(
            "prompt", f"of {role} is empty", line=line, field="prompts", fix="write the prompt, or remove it"
        )
    hidden = hidden_characters(text)
    if hidden:
        raise where.error(
            "hidden",
            f"of {role} holds hidden characters: {', '.join(hidden[:5])}",
            line=line,
            field="prompts",
            why="a prompt is an instruction, and a person must be able to read all of it",
            fix="remove them",
        )
    return text.strip() + "\n"


def _prompt_files(fields: Fields, found: _Found, where: Where) -> dict[str, str]:
    node = fields.node("prompts")
    if node is None or node.value is None:
        return {}
    if isinstance(node.value, dict):
        for role, value in node.value.items():
            _check_role(role, value.line, where)
    named = Fields(node, where, ROLES, path="prompts")
    prompts = {}
    for role, value in node.value.items():
        text = _prompt_file(named.text(role) or "", value.line, found, where)
        prompts[role] = _usable_prompt(text, role, value.line, where)
    return prompts


def _prompt_file(name: str, line: int | None, found: _Found, where: Where) -> str:
    if not _PROMPT_FILE.match(name):
        raise where.error(
            "prompt",
            f"is no plain file name: {show(name)}",
            line=line,
            field="prompts",
            fix="write a name such as builder.md, of a file in the folder prompts beside the playbook",
        )
    file = found.folder / "prompts" / name
    if not file.is_file():
        raise where.error(
            "prompt",
            f"names prompts/{name}, which is not there",
            line=line,
            field="prompts",
            fix="write that file",
        )
    inside = in_playbook(f"prompts/{name}")
    return decode(read_bounded(_plain_file(file, where), inside), inside)


def _prompt_sections(body: str) -> list[tuple[str, str, int]]:
    """Return role, text and line of each `## Prompt: ROLE`; it ends at the next heading as high as itself."""
    rows = body.split("\n")
    headings = [block for block in read_blocks(body) if block.kind == "heading"]
    sections = []
    for index, block in enumerate(headings):
        match = _PROMPT_HEADING.match(block.text)
        if match:
            later = (h.line - 1 for h in headings[index + 1 :] if h.depth <= block.depth)
            text = "\n".join(rows[block.line : next(later, len(rows))])
            sections.append((match["role"].strip().lower(), text, block.line))
    return sections
