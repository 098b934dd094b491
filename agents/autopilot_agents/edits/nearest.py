"""The real text of a file that resembles what an operation looked for, so that the next try can quote it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from heapq import nlargest

from autopilot_agents.edits.text import TextFile

_LINES = 12
_CHARS = 200
_CANDIDATES = 12
_SCANNED_LINES = 200_000
_LEAST = 0.4
_WORD = re.compile(r"\w+|[^\w\s]")


def nearest_text(text: TextFile, wanted: str) -> str:
    """Return the numbered lines that resemble `wanted` most, or an empty string when none does."""
    lines = [line.strip() for line in wanted.split("\n")]
    first = next((i for i, line in enumerate(lines) if line), None)
    if first is None:
        return ""
    target = lines[first][:_CHARS]
    words = set(_WORD.findall(target))
    scored = ((_shared(words, text.line(n)), n) for n in range(1, min(text.line_count, _SCANNED_LINES) + 1))
    candidates = nlargest(_CANDIDATES, (pair for pair in scored if pair[0] > 0), key=lambda p: (p[0], -p[1]))
    rated = [(_ratio(target, text.line(n)), -n) for _, n in candidates]
    if not rated or max(rated)[0] < _LEAST:
        return ""
    start = max(-max(rated)[1] - first, 1)
    return numbered(text, start, start + max(len(lines), 1) - 1)


def numbered(text: TextFile, first: int, last: int) -> str:
    """Return the lines `first` to `last` that exist with their numbers, at most a dozen, each cut to fit."""
    first = max(first, 1)
    shown = text.lines(first, min(last, first + _LINES - 1))
    return "\n".join(f"{first + i}: {line[:_CHARS]}" for i, line in enumerate(shown))


def _shared(words: set[str], line: str) -> float:
    """Return how much two lines have in common, 0 to 1, by their words."""
    other = set(_WORD.findall(line[:_CHARS]))
    return len(words & other) / len(words | other) if other else 0.0


def _ratio(target: str, line: str) -> float:
    return SequenceMatcher(None, target, line.strip()[:_CHARS], autojunk=False).ratio()
