"""Tables of a run as plain text, and the one function that makes any text safe for a terminal.

Rows are the same wherever they are shown: terminal, report.md, CSV, HTML. Fitting a width goes in this order: the
phase's name and the reason shrink to their minimum; then columns are dropped, Ctx first, then Cost, Time, Split,
Tests, Commit / reason and Score; Phase and Result stay, cut where even they don't fit.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autopilot.statistics import (
    Document,
    Totals,
    Unit,
    lowest_score,
    ordered_units,
    stands,
    state_of,
    tests_of,
    totals_by_unit,
)

GAP = "  "


@dataclass(frozen=True)
class Column:
    """A column; the higher `drop`, the sooner it goes when space is short (0: never). `shrinks_to`: least width."""

    title: str
    drop: int = 0
    right: bool = False
    shrinks_to: int | None = None


COMPLETION_COLUMNS = (
    Column("Phase", shrinks_to=10),
    Column("Result"),
    Column("Score", drop=1, right=True),
    Column("Split", drop=4),
    Column("Tests", drop=3, right=True),
    Column("Ctx", drop=7, right=True),
    Column("Cost", drop=6, right=True),
    Column("Time", drop=5, right=True),
    Column("Commit / reason", drop=2, shrinks_to=7),
)
STATUS_COLUMNS = (
    Column("Phase", shrinks_to=10),
    Column("State"),
    Column("Step", drop=2),
    Column("Score", drop=3, right=True),
    Column("Ctx", drop=6, right=True),
    Column("Cost", drop=5, right=True),
    Column("Time", drop=4, right=True),
)
Row = tuple[str, ...]


def printable(text: str) -> str:
    """Return `text` as one line that can't act on a terminal: control, bidi and invisible characters are escaped."""
    if text.isprintable():
        return text
    return "".join(_visible(char) for char in text.expandtabs(4))


def _visible(char: str) -> str:
    if char.isprintable() or unicodedata.category(char) == "Zs":
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def display_width(text: str) -> int:
    """Return how many terminal cells `text` takes."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Return `text` cut to `width` cells, with `…` where something was left out."""
    if display_width(text) <= width:
        return text
    kept, used = "", 0
    for char in text:
        used += _char_width(char)
        if used > width - 1:
            break
        kept += char
    return f"{kept}…" if width > 0 else ""


def render(columns: Sequence[Column], rows: Sequence[Row], *, width: int) -> list[str]:
    """Return the lines of a table that is at most `width` cells wide: titles, a rule, then one line a row."""
    cells = [tuple(printable(cell) for cell in row) for row in rows]
    kept, widths = _layout(columns, cells, width)
    titles = tuple(column.title for column in columns)
    lines = [_line(columns, titles, kept, widths), *(_line(columns, row, kept, widths) for row in cells)]
    rule = "─" * min(width, sum(widths.values()) + len(GAP) * (len(kept) - 1))
    return [fit(line, width) for line in (lines[0], rule, *lines[1:])]


def _layout(columns: Sequence[Column], rows: Sequence[Row], width: int) -> tuple[list[int], dict[int, int]]:
    """Return which columns stay, and how wide each is."""
    natural = [
        max([display_width(column.title), *(display_width(row[index]) for row in rows)])
        for index, column in enumerate(columns)
    ]
    least = [min(n, c.shrinks_to) if c.shrinks_to else n for n, c in zip(natural, columns, strict=True)]
    kept = list(range(len(columns)))

    def needed(widths: Sequence[int]) -> int:
        return sum(widths[index] for index in kept) + len(GAP) * (len(kept) - 1)

    for index in sorted(kept, key=lambda index: -columns[index].drop):
        # Rather no column than one without a single value beside names that are cut off.
        if (
            needed(natural) > width
            and columns[index].drop
            and rows
            and all(row[index] in ("", "-") for row in rows)
        ):
            kept.remove(index)
    while needed(least) > width and any(columns[index].drop for index in kept):
        kept.remove(max(kept, key=lambda index: columns[index].drop))
    widths = {index: least[index] for index in kept}
    _share(max(0, width - needed(least)), widths, natural)
    return kept, widths


def _share(spare: int, widths: dict[int, int], natural: Sequence[int]) -> None:
    """Give spare cells in turn to the columns that were shrunk, until all are whole or nothing is left."""
    while spare > 0 and (short := [index for index in widths if widths[index] < natural[index]]):
        for index in short[:spare]:
            widths[index] += 1
        spare -= len(short[:spare])


def _line(columns: Sequence[Column], row: Row, kept: Sequence[int], widths: Mapping[int, int]) -> str:
    parts = []
    for index in kept:
        text = fit(row[index], widths[index])
        padding = " " * (widths[index] - display_width(text))
        parts.append(padding + text if columns[index].right else text + padding)
    return GAP.join(parts).rstrip()


def completion_rows(document: Document) -> list[Row]:
    """Return one row a unit for `COMPLETION_COLUMNS`, sub-phases under their parent."""
    totals = totals_by_unit(document)
    priced = bool(document.get("run", {}).get("cost_known", True))
    return [
        (
            _phase(unit, row, depth),
            stands(document, row),
            _score(document, unit, row),
            _split(row),
            _tests(tests_of(document, row)),
            percent(row.get("context_pct")),
            _cost(totals[unit], priced),
            clock(totals[unit].duration_s) if _begun(totals[unit]) else "-",
            commit_or_reason(row),
        )
        for unit, row, depth in ordered_units(document)
    ]


def status_rows(document: Document, *, now: float | None = None) -> list[Row]:
    """Return one row a unit for `STATUS_COLUMNS`. `now`: running units show their time up to it."""
    totals = totals_by_unit(document, now=now)
    priced = bool(document.get("run", {}).get("cost_known", True))
    return [
        (
            _phase(unit, row, depth),
            _progress(document, row),
            row.get("step") or "",
            _score(document, unit, row),
            percent(row.get("context_pct")),
            _cost(totals[unit], priced),
            clock(totals[unit].duration_s) if _begun(totals[unit]) else "-",
        )
        for unit, row, depth in ordered_units(document)
    ]


def _cost(totals: Totals, priced: bool) -> str:
    return money(totals.cost_usd, known=priced and totals.requests > 0)


def _begun(totals: Totals) -> bool:
    return totals.duration_s > 0 or totals.requests > 0


def _phase(unit: str, row: Unit, depth: int) -> str:
    return f"{'  ' * depth}{unit} {row.get('name', '')}"


def _progress(document: Document, row: Unit) -> str:
    if row.get("status") != "split":
        return stands(document, row)
    children = row.get("children", [])
    ended = sum(document["units"][child].get("status") == "ended" for child in children)
    return f"split {ended}/{len(children)}"


def _score(document: Document, unit: str, row: Unit) -> str:
    """Return the score; of a parent with a child that fell short, the minimum, and it says so."""
    short = [state_of(document["units"][child]) in ("below", "failed") for child in row.get("children", [])]
    lowest = lowest_score(document, unit) if any(short) else None
    if lowest is not None:
        return f"min {lowest:.1f}"
    score = row.get("score")
    return "-" if score is None else f"{score:.1f}"


def _split(row: Unit) -> str:
    children = row.get("children", [])
    if children:
        return f"{len(children)}: {children[0]}-{children[-1]}" if len(children) > 1 else f"1: {children[0]}"
    return f"of {row['parent']}" if row.get("parent") else "-"


def _tests(tests: Mapping[str, Any] | None) -> str:
    if not tests:
        return "-"
    words = (("fixed", "+{}"), ("still_red", "{} red"), ("broken", "{} broken"))
    return " ".join(form.format(tests[key]) for key, form in words if tests.get(key)) or "+0"


def percent(value: float | None) -> str:
    """Return `18%`, or `-` where it was not measured."""
    return "-" if value is None else f"{value:.0f}%"


def money(value: float, *, known: bool = True) -> str:
    """Return `$0.24`, or `-` where the provider has no price and so nothing was counted."""
    return "-" if not known and not value else f"${value:.2f}"


def clock(seconds: float) -> str:
    """Return `m:ss`."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def commit_or_reason(row: Unit) -> str:
    """Return the commit of what was merged, else why there is none."""
    commit = (row.get("commit") or "")[:7]
    if row.get("result") in ("verified", "unverified") and commit:
        return commit
    if row.get("result") == "below":
        return row.get("reason") or "branch kept"
    return row.get("reason") or commit or "-"
