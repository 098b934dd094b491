"""The one place that builds errors: which file, line and field, and what to write in place of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from autopilot_playbooks.errors import PlaybookError, PlaybookFileError, RoadmapError

ROADMAP_CODES = {
    "unreadable": "AP200",
    "encoding": "AP201",
    "size": "AP202",
    "syntax": "AP203",
    "unknown": "AP204",
    "value": "AP205",
    "id": "AP206",
    "duplicate": "AP207",
    "dependency": "AP208",
    "cycle": "AP209",
    "empty": "AP210",
    "secret": "AP211",
    "hidden": "AP212",
    "selection": "AP213",
}
PLAYBOOK_CODES = {
    "unreadable": "AP220",
    "encoding": "AP221",
    "size": "AP221",
    "syntax": "AP221",
    "unknown": "AP222",
    "value": "AP223",
    "prompt": "AP224",
    "extends": "AP225",
    "secret": "AP226",
    "hidden": "AP227",
}


def show(text: str, limit: int = 60) -> str:
    """Return `text` fit for a terminal: what does not print is escaped, what is long is cut."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in cut)


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word that `word` is most like, or None."""
    found = get_close_matches(word.lower(), list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


@dataclass(frozen=True)
class Where:
    """Names the file that is being read, and makes its errors."""

    name: str
    error_type: type[PlaybookError]
    codes: Mapping[str, str]

    def error(
        self,
        kind: str,
        problem: str,
        *,
        line: int | None = None,
        column: int | None = None,
        field: str | None = None,
        why: str = "",
        fix: str,
    ) -> PlaybookError:
        """Return the error to raise; its `what` begins with `file:line: field NAME` as far as these are known."""
        place = ":".join(str(p) for p in (show(self.name, 200), line, column) if p is not None)
        subject = f"field {show(field)} " if field else ""
        return self.error_type(self.codes[kind], f"{place}: {subject}{problem}", why=why, fix=fix)


def in_roadmap(name: str) -> Where:
    """Return the error maker of a roadmap."""
    return Where(name, RoadmapError, ROADMAP_CODES)


def in_playbook(name: str) -> Where:
    """Return the error maker of a playbook."""
    return Where(name, PlaybookFileError, PLAYBOOK_CODES)
