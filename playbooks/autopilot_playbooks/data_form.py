"""A roadmap as YAML or JSON: the same keys in both. Front matter of Markdown has the top-level ones."""

from __future__ import annotations

from autopilot_playbooks.draft import CheckDraft, Item, PhaseDraft, RoadmapDraft
from autopilot_playbooks.fields import Fields
from autopilot_playbooks.strict_yaml import Node
from autopilot_playbooks.where import Where

SETTINGS = ("checks", "guards", "setup", "playbook", "threshold")
PHASE_KEYS = (
    "id",
    "name",
    "done",
    "goal",
    "depends_on",
    "criteria",
    "issues",
    "checks",
    "files",
    "reports",
    "complexity",
    "category",
    "format",
)
PHASE_ALIASES = {"success_criteria": "criteria", "format_command": "format"}
CHECK_KEYS = ("command", "timeout_s", "tests", "full_output")
MAX_TIMEOUT_S = 86_400.0


def read_data(root: Node, where: Where) -> RoadmapDraft:
    """Return the roadmap that a YAML or JSON document holds."""
    if root.value is None:
        return RoadmapDraft()
    fields = Fields(root, where, ("title", *SETTINGS, "phases"))
    draft = read_settings(fields)
    draft.title = fields.text("title") or ""
    node = fields.node("phases")
    if node is not None and node.value is not None:
        if not isinstance(node.value, list):
            raise fields.wrong(node, "phases", "a list", fix="write each phase as `- id: …`")
        draft.phases = [_phase(item, where, index) for index, item in enumerate(node.value)]
    return draft


def read_front_matter(root: Node, where: Where) -> RoadmapDraft:
    """Return the settings that the front matter of a Markdown roadmap makes."""
    return RoadmapDraft() if root.value is None else read_settings(Fields(root, where, SETTINGS))


def read_settings(fields: Fields) -> RoadmapDraft:
    """Return a roadmap without phases from the top-level keys."""
    return RoadmapDraft(
        checks=read_checks(fields, "checks") or [],
        guards=read_checks(fields, "guards") or [],
        setup=fields.text("setup"),
        playbook=fields.text("playbook"),
        threshold=fields.number("threshold", 0, 10),
    )


def read_checks(fields: Fields, key: str) -> list[CheckDraft] | None:
    """Return the checks under `key`: texts, or mappings of command, timeout_s, tests and full_output."""
    items = fields.items(key)
    if items is None:
        return None
    return [_check(item, fields, f"{key}[{index}]") for index, item in enumerate(items)]


def _check(node: Node, outer: Fields, key: str) -> CheckDraft:
    if isinstance(node.value, str):
        return CheckDraft(node.value, node.line)
    if not isinstance(node.value, dict):
        raise outer.wrong(node, key, "a command or a mapping with command")
    fields = Fields(node, outer.where, CHECK_KEYS, path=outer.path(key))
    return CheckDraft(
        command=_required(fields, "command", node),
        line=node.line,
        timeout_s=fields.number("timeout_s", 0.001, MAX_TIMEOUT_S),
        tests=fields.texts("tests") or (),
        full_output=fields.flag("full_output") or False,
    )


def _phase(node: Node, where: Where, index: int) -> PhaseDraft:
    fields = Fields(node, where, PHASE_KEYS, path=f"phases[{index}]", aliases=PHASE_ALIASES)
    return PhaseDraft(
        id=_id(fields, node),
        name=_required(fields, "name", node),
        line=node.line,
        done=fields.flag("done") or False,
        goal=fields.text("goal") or "",
        depends_on=_depends_on(fields),
        criteria=_items(fields, "criteria", "command"),
        issues=_items(fields, "issues", "done"),
        checks=read_checks(fields, "checks"),
        files=_items(fields, "files"),
        reports=_items(fields, "reports"),
        complexity=_single(fields, "complexity"),
        category=_single(fields, "category"),
        format_command=_single(fields, "format"),
    )


def _required(fields: Fields, key: str, owner: Node) -> str:
    value = fields.text(key)
    if value is None:
        raise fields.where.error(
            "value", "is missing", line=owner.line, field=fields.path(key), fix=f"add {key}: …"
        )
    return value


def _id(fields: Fields, owner: Node) -> str:
    node = fields.node("id")
    if node is None or isinstance(node.value, bool) or not isinstance(node.value, str | int | float):
        if node is not None and node.value is not None:
            raise fields.wrong(node, "id", "a phase id such as 3 or 6.1")
        return _required(fields, "id", owner)
    return node.raw.strip()


def _depends_on(fields: Fields) -> list[Item] | None:
    node = fields.node("depends_on")
    if node is None:
        return None
    if node.value is None:
        raise fields.wrong(
            node, "depends_on", "a list of phase ids", fix="write [] for none, or remove the line"
        )
    items = fields.items("depends_on") or []
    for item in items:
        if isinstance(item.value, bool | dict | list) or item.value is None:
            raise fields.wrong(item, "depends_on", "a list of phase ids")
    return [Item(item.raw, item.line) for item in items]


def _items(fields: Fields, key: str, extra: str | None = None) -> list[Item]:
    """Return the entries of a list of texts; with `extra`, an entry may be a mapping of text and that key."""
    result = []
    for index, node in enumerate(fields.items(key) or []):
        if isinstance(node.value, dict) and extra:
            entry = Fields(node, fields.where, ("text", extra), path=fields.path(f"{key}[{index}]"))
            text = _required(entry, "text", node)
            done = extra == "done" and bool(entry.flag("done"))
            command = entry.text("command") if extra == "command" else None
            result.append(Item(text, node.line, done, command))
        elif isinstance(node.value, str):
            result.append(Item(node.value, node.line))
        else:
            raise fields.wrong(node, f"{key}[{index}]", "text", fix="put it in quotes")
    return result


def _single(fields: Fields, key: str) -> Item | None:
    text = fields.text(key)
    node = fields.node(key)
    return None if text is None or node is None else Item(text, node.line)
