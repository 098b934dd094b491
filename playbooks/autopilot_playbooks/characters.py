"""Characters that hide or disguise text: control, bidi, zero-width and tag characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from autopilot_playbooks.schema import Phase, Roadmap
from autopilot_playbooks.where import show

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ZERO_WIDTH = frozenset(
    "\u200b\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u034f\u115f\u1160\u180e\u3164\uffa0"
)
_LINE_ENDS = frozenset("\u0085\u2028\u2029")
_JOINERS = frozenset("\u200c\u200d")
_JOINABLE = frozenset({"So", "Sk", "Lo", "Mn", "Mc"})


def hidden_characters(text: str) -> list[str]:
    """Return the disguising characters of `text`, each once, as `U+202E RIGHT-TO-LEFT OVERRIDE`."""
    found: dict[str, None] = {}
    for index, char in enumerate(text):
        if _is_hidden(char, text[index - 1] if index else ""):
            found[f"U+{ord(char):04X} {unicodedata.name(char, _unnamed(char))}"] = None
    return list(found)


def _is_hidden(char: str, before: str) -> bool:
    if char.isascii():
        return (char < " " and char not in "\n\t") or char == "\x7f"
    if char in _JOINERS:  # emoji and several scripts are written with them
        return not before or unicodedata.category(before) not in _JOINABLE
    if char in _BIDI or char in _ZERO_WIDTH or char in _LINE_ENDS:
        return True
    return "\U000e0000" <= char <= "\U000e01ef" or unicodedata.category(char) in ("Cc", "Cs")


def _unnamed(char: str) -> str:
    if unicodedata.category(char) == "Cs":
        return "LONE SURROGATE"
    return "CONTROL CHARACTER" if ord(char) < 0xA0 else "TAG CHARACTER"


def suspicious_characters(roadmap: Roadmap) -> list[str]:
    """Return one line for each text of the roadmap that holds hidden characters: where, and which.

    They are kept, because prose is data; a person should see that they are there before a run starts.
    """
    report = []
    for phase in roadmap.phases:
        for label, text in _prose(phase):
            found = hidden_characters(text)
            if found:
                line = f" (line {phase.line})" if phase.line else ""
                report.append(f"phase {phase.id}{line}, {label}: {show(', '.join(found), 200)}")
    return report


def _prose(phase: Phase) -> Iterable[tuple[str, str]]:
    yield "goal", phase.goal
    for criterion in phase.criteria:
        yield f"criterion {criterion.id}", criterion.text
    for issue in phase.issues:
        yield f"issue {issue.id}", issue.text
