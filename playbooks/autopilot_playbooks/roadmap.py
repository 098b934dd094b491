"""A roadmap file, in any of its forms, to a `Roadmap`."""

from __future__ import annotations

from pathlib import Path, PurePath

from autopilot_playbooks.characters import suspicious_characters
from autopilot_playbooks.data_form import read_data
from autopilot_playbooks.digest import roadmap_digest
from autopilot_playbooks.draft import RoadmapDraft
from autopilot_playbooks.markdown_form import read_markdown
from autopilot_playbooks.order import dependency_order
from autopilot_playbooks.schema import Roadmap
from autopilot_playbooks.selection import looks_like_phases, select_phases
from autopilot_playbooks.source import decode, read_bounded
from autopilot_playbooks.strict_json import parse_json
from autopilot_playbooks.strict_yaml import parse_yaml
from autopilot_playbooks.validate import build_roadmap
from autopilot_playbooks.where import Where, in_roadmap, show

__all__ = [
    "dependency_order",
    "load_roadmap",
    "looks_like_phases",
    "parse_roadmap",
    "roadmap_digest",
    "select_phases",
    "suspicious_characters",
]


def load_roadmap(path: Path) -> Roadmap:
    """Return the roadmap in the file `path`.

    Raises:
        RoadmapError: the file can't be read, or what it says can't be used.
    """
    name = str(path)
    return parse_roadmap(read_bounded(path, in_roadmap(name)), name=name)


def parse_roadmap(data: bytes, *, name: str) -> Roadmap:
    """Return the roadmap that `data` holds; the suffix of `name` says in which form.

    Raises:
        RoadmapError: what it says can't be used; `what` begins with `name:line`.
    """
    where = in_roadmap(name)
    draft = _draft(data, PurePath(name).suffix.lower(), where)
    return build_roadmap(draft, where)


def _draft(data: bytes, suffix: str, where: Where) -> RoadmapDraft:
    if suffix in ("", ".md", ".markdown"):
        return read_markdown(decode(data, where), where)
    if suffix in (".yaml", ".yml"):
        return read_data(parse_yaml(decode(data, where), where), where)
    if suffix == ".json":
        text = decode(data, where)
        return read_data(parse_json(text, where), where) if text.strip() else RoadmapDraft()
    raise where.error(
        "unreadable", f"has a suffix that is no roadmap's: {show(suffix)}", fix="name it .md, .yaml or .json"
    )
