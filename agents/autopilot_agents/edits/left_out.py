"""Lines that a model writes in place of code it did not write out: `# ... existing code ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CANDIDATE = re.compile(
    r"^.*\b(?:existing|rest|remainder|remaining|unchanged|omitted|previous|before|other|same)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENT = re.compile(r"(?:#+|//+|/\*+|<!--|--|;+|%+|\{/\*)(?P<text>.*?)(?:\*+/|-->|\*/\})?\s*\Z", re.DOTALL)
_AROUND = " \t\r.…()[]*"
_LONGEST = 80

_THING = (
    r"(?:code|file|functions?|methods?|class(?:es)?|module|implementations?|contents?|imports?|tests?|lines?"
    r"|logic|body|fields?|cases?)"
)
_STAYS = r"(?:(?:is|are|stays?|remains?|goes|continues)\s+)?(?:the\s+)?(?:unchanged|same|omitted|as\s+before|as\s+is|here|remains?|not\s+shown|for\s+brevity)"
_PHRASE = re.compile(
    rf"""(?:the\s+|your\s+|keep\s+)?(?:
        (?:rest|remainder)\s+of\s+(?:the\s+|this\s+|your\s+)?(?:\w+\s+){{0,2}}?{_THING}(?:\s+{_STAYS})*
      | (?:rest|remainder)\s+{_STAYS}
      | (?:existing|remaining|other|previous|unchanged|same)\s+(?:\w+\s+)?{_THING}(?P<stays>\s+{_STAYS})*
      | {_THING}\s+(?:unchanged|omitted)(?:\s+for\s+brevity)?
      | unchanged | omitted | as\s+before | same\s+as\s+before
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_HINT = re.compile(
    r"\b(?:existing|rest\s+of|remaining|unchanged|omitted|as\s+before|same\s+as|previous\s+code)\b",
    re.IGNORECASE,
)
_NEEDS_DOTS = re.compile(
    r"(?:the\s+|your\s+)?(?:existing|remaining|other|previous|same|unchanged)\s", re.IGNORECASE
)


def left_out_lines(content: str) -> Iterator[str]:
    """Yield the lines of `content` that stand for left-out code.

    Words alone are prose: they count in a comment, or beside an ellipsis that no spread operator or doctest is.
    """
    for found in _CANDIDATE.finditer(content):
        line = found[0].strip()
        if len(line) <= _LONGEST and _stands_for_code(line):
            yield line


def _stands_for_code(line: str) -> bool:
    comment = _COMMENT.match(line)
    text = (comment["text"] if comment else line).strip(" \t()[]*")
    dotted = text.startswith(("...", "…")) or text.endswith(("...", "…"))
    words = text.strip(_AROUND)
    if any(character in words for character in "(){}=;:"):
        return False
    if comment and dotted:
        return bool(_HINT.search(words) or _PHRASE.fullmatch(words))
    phrase = _PHRASE.fullmatch(words)
    if phrase is None or not (comment or dotted):
        return False
    # `# other methods` is a heading; `# other methods unchanged` is not.
    return dotted or phrase["stays"] is not None or not _NEEDS_DOTS.match(words)
