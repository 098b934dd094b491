"""How an answer that was cut goes on: what of it is kept, what to ask for, with how much room. Pure functions.

Only complete lines are kept. The rest is asked for in a new turn of the user's, because current models reject an
answer that was begun for them; what is done is named, so that it is not sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from autopilot_agents.edits.ndjson import parse_answer

MAX_CONTINUATIONS = 3
ESCALATION = 1.5

ASK_AGAIN = (
    "Your answer was cut before a part of it was complete, so none of it can be used. "
    "Answer again from the beginning, in the same form, and as short as it can be."
)


@dataclass(frozen=True)
class Line:
    """A complete line of an edit answer. `refused` reads like an operation and is none; `other` is prose or a fence."""

    text: str
    kind: Literal["meta", "operation", "refused", "end", "other"]
    name: str = ""
    total: int | None = None


def join_parts(kept: str, part: str, *, whole: bool) -> str:
    """Return what is known of the answer after `part`: the complete lines of `kept`, then those of `part`.

    A meta line that stands again is dropped, and so are operations that are sent again.

    Args:
        kept: what earlier calls returned; empty for the first part.
        part: the text of the newest reply.
        whole: the newest reply ended by itself, so its last line counts without a newline.
    """
    complete, tail = _split_tail(part)
    if not kept:
        return part if whole else complete
    before = _lines(kept)
    after = _lines(f"{part}\n" if whole and tail else complete)
    rest = _without_repeats(after, _repeated(before, after, whole=whole))
    joined = kept + "".join(line.text for line in rest)
    return joined.removesuffix("\n") if whole and tail else joined


def is_edit_answer(text: str) -> bool:
    """Say whether `text` has complete lines of an edit set; other answers can't be continued, only asked again."""
    return any(line.kind in ("meta", "operation", "end") for line in _lines(text))


def has_ended(text: str) -> bool:
    """Say whether the end line came, after which nothing can be missing."""
    return any(line.kind == "end" for line in _lines(text))


def ask_for_rest(kept: str) -> str:
    """Return the user's turn that asks for what `kept` lacks."""
    lines = _lines(kept)
    done = _operations(lines)
    total = _total(lines)
    of = f" of {total}" if total is not None else ""
    names = "\n".join(f"{number} {line.name}" for number, line in enumerate(done, start=1))
    listed = f"Done:\n{names}\n" if names else ""
    return (
        f"Your answer was cut. {len(done)}{of} done, go on with operation {len(done) + 1}.\n"
        f"{listed}"
        "Send only what remains, one operation a line, begun from its start, then the end line. "
        "No meta line, and nothing that is done."
    )


def next_budget(max_tokens: int, limit: int) -> int:
    """Return the room of the next call: half as much again, up to the model's limit."""
    return max(max_tokens, min(int(max_tokens * ESCALATION), limit))


def _without_repeats(lines: Sequence[Line], repeated: int) -> list[Line]:
    """Return `lines` without meta lines and without the first `repeated` operations."""
    again = {id(line) for line in _operations(lines)[:repeated]}
    return [line for line in lines if line.kind != "meta" and id(line) not in again]


def _repeated(before: Sequence[Line], after: Sequence[Line], *, whole: bool) -> int:
    """Return how many operations at the start of `after` are the last ones of `before` once more.

    The announced total decides where it can. Where it can't, one equal operation may be meant twice, but a row of
    them is a model that went back a few steps.
    """
    done = [line.text.strip() for line in _operations(before)]
    new = [line.text.strip() for line in _operations(after)]
    overlap = next((n for n in range(min(len(done), len(new)), 0, -1) if done[-n:] == new[:n]), 0)
    total = _total(before)
    repeats_meta = any(line.kind == "meta" for line in after)
    too_many = total is not None and len(done) + len(new) > total
    if total is not None and whole:
        return overlap if too_many else 0
    return overlap if overlap > 1 or repeats_meta or total is None or too_many else 0


def _operations(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line.kind in ("operation", "refused")]


def _total(lines: Sequence[Line]) -> int | None:
    return next((line.total for line in lines if line.kind == "meta"), None)


def _split_tail(text: str) -> tuple[str, str]:
    end = text.rfind("\n") + 1
    return text[:end], text[end:]


def _lines(text: str) -> list[Line]:
    """Read `text` line by line; a tail without newline is no line. Only a line feed ends one, as in JSON text."""
    return [_read_line(f"{line}\n") for line in text.split("\n")[:-1]]


def _read_line(line: str) -> Line:
    parsed = parse_answer(line)
    if parsed.operations:
        operation = parsed.operations[0]
        return Line(line, "operation", f"{operation.type} {operation.file_path}")
    if parsed.ended:
        return Line(line, "end")
    if not line.lstrip().startswith("{"):
        return Line(line, "other")
    if parsed.rejected:
        return Line(line, "refused", f"(not usable: {parsed.rejected[0].reason})")
    return Line(line, "meta", total=parsed.total)
