"""Tables for spreadsheets: comma separated, quoted only where it must be, safe to open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal

FORMULA_STARTS = ("=", "+", "-", "@")

Cell = str | int | float | Decimal | bool | date | None


def render_cell(value: Cell) -> str:
    """Return a value as a spreadsheet reads it; nothing is an empty cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str):
        return defuse(value)
    return str(value)


def defuse(text: str) -> str:
    """Return text that no spreadsheet runs as a formula: an apostrophe goes before it, unless it is a number."""
    if text.startswith(FORMULA_STARTS) and not is_number(text):
        return "'" + text
    return text


def is_number(text: str) -> bool:
    """Return whether the text is a plain number, with a sign or a decimal point or both."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    whole, point, fraction = digits.partition(".")
    if point and not fraction:
        return False
    return whole.isdigit() and (not fraction or fraction.isdigit())


def quote(text: str, separator: str = ",") -> str:
    """Return the text in quotes if it needs them; quotes inside are doubled."""
    special = (separator, '"', "\n", "\r")
    if any(mark in text for mark in special) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def render_row(values: Iterable[Cell], separator: str = ",") -> str:
    """Return one line without its end."""
    return separator.join(quote(render_cell(value), separator) for value in values)


def export(
    rows: Sequence[Mapping[str, Cell]],
    columns: Sequence[str] | None = None,
    *,
    separator: str = ",",
    header: bool = True,
) -> str:
    """Return a table of all rows; without `columns` those of the rows, in the order in which they first appear."""
    names = list(columns) if columns is not None else column_names(rows)
    lines = [render_row(names, separator)] if header else []
    lines += [render_row([row.get(name) for name in names], separator) for row in rows]
    return "".join(line + "\r\n" for line in lines)


def column_names(rows: Iterable[Mapping[str, Cell]]) -> list[str]:
    """Return the keys of all rows, each once, in the order in which they first appear."""
    seen: dict[str, None] = {}
    for row in rows:
        seen.update(dict.fromkeys(row))
    return list(seen)


def with_totals(
    rows: Sequence[Mapping[str, Cell]], label: str, summed: Sequence[str]
) -> list[Mapping[str, Cell]]:
    """Return the rows and a last one with the sums of some columns; its first column holds the label."""
    first = column_names(rows)[:1]
    totals: dict[str, Cell] = dict.fromkeys(first, label)
    for name in summed:
        totals[name] = sum(value for row in rows if isinstance(value := row.get(name), int))
    return [*rows, totals]
