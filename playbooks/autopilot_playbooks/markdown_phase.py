"""The fields of one Markdown phase, collected block by block."""

from __future__ import annotations

import re

from autopilot_playbooks.blocks import Block
from autopilot_playbooks.draft import CheckDraft, Item, PhaseDraft
from autopilot_playbooks.inline import (
    LABELS,
    Label,
    check_drafts,
    is_nothing,
    path_items,
    read_box,
    read_label,
    split_labels,
    take_command,
    unquoted,
)
from autopilot_playbooks.where import Where

LISTS = frozenset({"depends_on", "criteria", "issues", "checks", "files", "reports"})
_PROSE = "prose"
_CLOSING = re.compile(r"(?:Plans?|Progress|Status):\Z")
"""Lines that other tools put below the fields, without bold."""


MAX_ENTRY = 8000
"""Characters of one list entry or of a list on the label's line; the schema allows texts half as long."""


class PhaseReader:
    """Collects the fields of one phase.

    `_field` is the open field: a label's, `prose` before the first label, or None where text belongs to no field.
    """

    def __init__(self, draft: PhaseDraft, where: Where) -> None:
        self._draft = draft
        self._where = where
        self._field: str | None = _PROSE
        self._label_depth = 0
        self._items_depth: int | None = None
        self._collected: dict[str, list[Item]] = {}
        self._inline: dict[str, Item] = {}
        self._goal: list[str] = []
        self._prose: list[str] = []
        self._fresh_paragraph = True

    def take(self, block: Block) -> None:
        """Take the next block of the phase."""
        if block.kind == "paragraph":
            self._paragraph(block)
        elif block.kind == "fence":
            self._fence(block)
        else:
            for part in split_labels(block.text):
                self._text(part, block)

    def take_heading(self, block: Block) -> None:
        """Take a heading below the phase's own: `#### Checks` opens a field, any other closes the open one."""
        word = " ".join(block.text.strip(" *_:").lower().split())
        self._open(Label(LABELS.get(word), ""), block, depth=0)

    def _paragraph(self, block: Block) -> None:
        self._fresh_paragraph = True
        if block.depth == 0 and self._field in LISTS and self._has_content(self._field):
            self._field = None

    def _has_content(self, name: str) -> bool:
        return name in self._inline or bool(self._collected.get(name))

    def _text(self, text: str, block: Block) -> None:
        label = read_label(text, self._where, block.line) if self._may_be_label(block) else None
        if label is not None:
            self._open(label, block, depth=block.depth)
        elif block.kind == "item":
            self._item(text, block)
        else:
            self._line(text, block)
        self._fresh_paragraph = False

    def _may_be_label(self, block: Block) -> bool:
        """A line at the margin may always be one; an entry of an open list may not, it is an entry."""
        if block.depth == 0 or block.lazy:
            return True
        return self._field not in LISTS or self._label_depth >= block.depth

    def _open(self, label: Label, block: Block, *, depth: int) -> None:
        self._field = label.field
        self._label_depth = 0 if block.lazy else depth
        self._items_depth = None
        name, rest = label.field, label.rest.strip()
        if name is None:
            return
        if name in self._inline or self._collected.get(name) or (name == "goal" and self._goal):
            raise self._where.error(
                "duplicate", "is given twice", line=block.line, field=name, fix="keep one of them"
            )
        self._collected[name] = []
        if name == "goal":
            self._goal += [rest] if rest else []
        elif rest:
            self._inline[name] = self._bounded(Item(rest, block.line), name)

    def _item(self, text: str, block: Block) -> None:
        name = self._field
        if name not in LISTS:
            self._free_item(text, block)
            return
        if self._items_depth is None:
            self._items_depth = block.depth
        if block.depth < self._items_depth:
            self._field = None
        elif block.depth > self._items_depth:
            self._append_to_item(name, f"\n- {text}")
        else:
            done, text = read_box(text)
            self._collected[name].append(self._bounded(Item(text, block.line, done), name))

    def _free_item(self, text: str, block: Block) -> None:
        done, entry = read_box(text)
        if (
            self._field == _PROSE and entry != text and block.depth == 1
        ):  # a bare check list: the phase's issues
            self._field, self._items_depth = "issues", 1
            self._collected["issues"] = [self._bounded(Item(entry, block.line, done), "issues")]
        elif self._field in ("goal", _PROSE):
            self._add_prose(f"\n{'  ' * (block.depth - 1)}- {text}")

    def _line(self, text: str, block: Block) -> None:
        name = self._field
        if name in LISTS and self._items_depth is not None and block.depth >= self._items_depth:
            self._append_to_item(name, f" {text}")
        elif name in LISTS and name in self._inline:
            self._continue_inline(name, text)
        elif name in ("goal", _PROSE):
            if block.depth == 0 and _CLOSING.match(text):
                self._field = None
            else:
                self._add_prose(("\n\n" if self._fresh_paragraph and not block.depth else "\n") + text)
        elif not (name in LISTS and block.depth):
            self._field = None

    def _continue_inline(self, name: str, text: str) -> None:
        before = self._inline[name]
        if name in ("criteria", "issues") or before.text.endswith(","):
            self._inline[name] = self._bounded(Item(f"{before.text} {text}", before.line), name)
        else:
            self._field = None

    def _append_to_item(self, name: str, text: str) -> None:
        items = self._collected[name]
        if items:
            last = items[-1]
            items[-1] = self._bounded(Item(last.text + text, last.line, last.done), name)

    def _bounded(self, item: Item, name: str) -> Item:
        if len(item.text) > MAX_ENTRY:
            raise self._where.error(
                "size",
                f"has an entry of more than {MAX_ENTRY} characters",
                line=item.line,
                field=name,
                fix="divide it",
            )
        return item

    def _add_prose(self, text: str) -> None:
        target = self._goal if self._field == "goal" else self._prose
        target.append(text if target else text.lstrip("\n"))

    def _fence(self, block: Block) -> None:
        """A fence right under Checks holds one command a line; anywhere else it is prose and left out."""
        if self._field != "checks" or self._has_content("checks"):
            return
        for offset, row in enumerate(block.text.split("\n")):
            if row.strip() and not row.lstrip().startswith("#"):
                self._collected["checks"].append(Item(row.strip(), block.line + offset))

    def finish(self) -> PhaseDraft:
        """Return the phase with all that was collected."""
        draft = self._draft
        draft.goal = "".join(self._goal or self._prose).strip()
        draft.criteria = [self._criterion(item) for item in self._all("criteria")]
        draft.issues = self._all("issues")
        draft.files = [path for item in self._all("files") for path in path_items(item)]
        draft.reports = [path for item in self._all("reports") for path in path_items(item)]
        draft.checks = self._checks()
        draft.depends_on = self._all("depends_on") if "depends_on" in self._collected else None
        draft.complexity = self._word("complexity")
        draft.category = self._word("category")
        draft.format_command = self._command("format")
        return draft

    def _all(self, name: str) -> list[Item]:
        inline = self._inline.get(name)
        on_line = [inline] if inline and (name == "depends_on" or not is_nothing(inline.text)) else []
        return on_line + self._collected.get(name, [])

    def _criterion(self, item: Item) -> Item:
        text, command = take_command(item.text)
        return Item(text, item.line, item.done, command)

    def _checks(self) -> list[CheckDraft] | None:
        if "checks" not in self._collected:
            return None
        inline = self._inline.get("checks")
        on_line = check_drafts(inline, comma_list=True) if inline else []
        listed = self._collected["checks"]
        return on_line + [draft for item in listed for draft in check_drafts(item, comma_list=False)]

    def _word(self, name: str) -> Item | None:
        item = self._inline.get(name)
        if item is None:
            return None
        words = unquoted(item.text).split()
        return Item(words[0].strip("*_.,;").lower(), item.line) if words else None

    def _command(self, name: str) -> Item | None:
        item = self._inline.get(name)
        drafts = check_drafts(item, comma_list=False) if item else []
        return Item(drafts[0].command, drafts[0].line) if drafts else None
