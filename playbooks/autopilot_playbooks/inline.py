"""What a line of a Markdown roadmap says: labels, code spans, comma lists, check boxes, commands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autopilot_playbooks.draft import CheckDraft, Item
from autopilot_playbooks.where import Where, nearest

LABELS = {
    "goal": "goal",
    "depends on": "depends_on",
    "success criteria": "criteria",
    "acceptance criteria": "criteria",
    "criteria": "criteria",
    "issues": "issues",
    "checks": "checks",
    "files": "files",
    "reports": "reports",
    "complexity": "complexity",
    "category": "category",
    "format": "format",
}
NEAR_MISS = 0.8
NOTHING = frozenset({"", "-", "–", "—", "none", "n/a", "nothing"})

_BOLD = re.compile(
    r"(?P<mark>\*\*|__)(?P<label>[^*_:\n]{1,60}?)\s*(?P<inside>:)?(?P=mark)"
    r"(?P<remark>\s*\([^)\n]*\))?\s*(?P<outside>[:–—]|-(?=\s|\Z))?\s*(?P<rest>.*)\Z",
    re.DOTALL,
)
_NEXT_LABEL = re.compile(r"\s\|\s{1,8}(?=(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__))")
_BOX = re.compile(r"\[(?P<mark>[ xX])\](?:\s+|\Z)")
_CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_TIMEOUT = re.compile(
    r"timeout:?\s*(?P<number>[0-9]{1,6}(?:\.[0-9]{1,3})?)\s*(?P<unit>s|sec|seconds|m|min|minutes|h)?\Z", re.I
)
_LAST_REMARK = re.compile(r"\((?P<remark>[^()]*)\)\s*\Z")
_REMARKS = re.compile(r"\([^()]*\)")
_SECONDS = {"m": 60.0, "min": 60.0, "minutes": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Label:
    """A bold word at the start of a line. `field` is None where no field has that name."""

    field: str | None
    rest: str


def read_label(text: str, where: Where, line: int) -> Label | None:
    """Return the label that `text` starts with, or None where it starts with prose.

    Raises:
        RoadmapError: AP204, the label is all but one that is known, or has no colon.
    """
    match = _BOLD.match(text)
    if match is None:
        return None
    word = " ".join(match["label"].lower().split())
    separated = bool(match["inside"] or match["outside"]) or not match["rest"]
    if word in LABELS:
        if not separated:
            raise _typo(where, line, match["label"], f"put a colon after it: **{match['label']}**: …")
        return Label(LABELS[word], match["rest"])
    if not separated:
        return None
    near = nearest(word, LABELS, NEAR_MISS)
    if near:
        raise _typo(where, line, match["label"], f"write **{near.capitalize()}**:")
    return Label(None, match["rest"])


def _typo(where: Where, line: int, label: str, fix: str) -> Exception:
    return where.error("unknown", "is not known as it stands", line=line, field=label, fix=fix)


def split_labels(text: str) -> list[str]:
    """Return the labels of one line, `**Goal**: x | **Depends on**: y`, each on its own."""
    return _NEXT_LABEL.split(text) if _BOLD.match(text) else [text]


def read_box(text: str) -> tuple[bool, str]:
    """Return whether `text` begins with a ticked box, and the text without it."""
    match = _BOX.match(text)
    return (match["mark"] in "xX", text[match.end() :]) if match else (False, text)


def code_spans(text: str) -> list[re.Match[str]]:
    """Return the matches of code spans; `span_text` tells what they hold."""
    return list(_CODE.finditer(text))


def span_text(match: re.Match[str]) -> str:
    """Return the text of a code span: one space of padding on both sides goes, as Markdown has it."""
    code = match["code"].replace("\n", " ")
    if code.startswith(" ") and code.endswith(" ") and code.strip():
        return code[1:-1]
    return code


def unquoted(text: str) -> str:
    """Return `text` without the backticks around it."""
    spans = code_spans(text.strip())
    return span_text(spans[0]) if spans and spans[0].group() == text.strip() else text.strip()


def is_nothing(text: str) -> bool:
    """Say whether `text` means an empty list: none, -, nothing (first phase)."""
    return _REMARKS.sub("", text).strip(" .*_`").lower() in NOTHING


def split_commas(text: str) -> list[str]:
    """Return the parts of a comma list. Commas in code spans, brackets and quotes don't divide."""
    parts, depth, quote, start = [], 0, "", 0
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char == "`" or (char in "'\"" and text.find(char, index + 1) > 0):
            quote = char
        elif char in "{[(":
            depth += 1
        elif char in "}])":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def path_items(item: Item) -> list[Item]:
    """Return the paths or globs of one line; a remark after a path in backticks is dropped."""
    if is_nothing(item.text):
        return []
    return [Item(path, item.line) for part in split_commas(item.text) for path in _paths_in(part)]


def _paths_in(part: str) -> list[str]:
    spans = spans_outside_remarks(part) if part.startswith("`") else []
    return [span_text(span) for span in spans] or [part]


def spans_outside_remarks(text: str) -> list[re.Match[str]]:
    """Return the code spans of `text` that don't stand in parentheses."""
    remarks = [match.span() for match in _REMARKS.finditer(_CODE.sub(lambda m: "_" * len(m.group()), text))]
    return [m for m in code_spans(text) if not any(start < m.start() < end for start, end in remarks)]


def check_drafts(item: Item, *, comma_list: bool) -> list[CheckDraft]:
    """Return the commands of one line, with the options that stand in parentheses after them."""
    text, timeout_s, full_output = _take_options(item.text)
    if is_nothing(text):
        return []
    named = spans_outside_remarks(text)
    if named and (text.startswith("`") or text[: named[0].start()].rstrip().endswith(":")):
        commands = [span_text(span) for span in named]
    else:
        commands = split_commas(text) if comma_list else [text]
    return [CheckDraft(command, item.line, timeout_s, (), full_output) for command in commands]


def _take_options(text: str) -> tuple[str, float | None, bool]:
    timeout_s: float | None = None
    full_output = False
    while match := _LAST_REMARK.search(text):
        options = [option.strip() for option in match["remark"].split(",")]
        timeouts = [_TIMEOUT.match(option) for option in options]
        known = [bool(t) or o.lower() == "full output" for o, t in zip(options, timeouts, strict=True)]
        if not all(known):
            break
        for found in timeouts:
            if found:
                timeout_s = float(found["number"]) * _SECONDS.get((found["unit"] or "s").lower(), 1.0)
        full_output = full_output or not all(timeouts)
        text = text[: match.start()].rstrip()
    return text.strip(), timeout_s, full_output


def take_command(text: str) -> tuple[str, str | None]:
    """Return a criterion's text and the command of its "(check: `cmd`)" at the end."""
    spans = code_spans(text)
    if spans and text[spans[-1].end() :].strip() in (")", ")."):
        before = text[: spans[-1].start()].rstrip()
        if before.lower().endswith("(check:"):
            return before[: -len("(check:")].rstrip(), span_text(spans[-1])
    return text.strip(), None
