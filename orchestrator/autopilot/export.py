"""The report in other formats: CSV, one self-contained HTML page without scripts, and a Chrome trace."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Iterator
from typing import Any

from autopilot.report import next_commands, not_met, notes, phases_json, summary
from autopilot.statistics import Document, ordered_units, state_of
from autopilot.table import COMPLETION_COLUMNS, completion_rows, printable

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;width:100%}th,td{padding:.3rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td:first-child{white-space:pre}
tr.verified td:nth-child(2){color:#116329}tr.failed td:nth-child(2),tr.below td:nth-child(2){color:#a40e26}
code,pre{background:#f4f4f4;padding:.1rem .3rem}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}code,pre{background:#222}th,td{border-color:#333}}
"""


def report_csv(document: Document) -> str:
    """Return one line a unit with the fields of the envelope's `phases`, flat."""
    out = io.StringIO()
    writer: Any = None
    for entry in phases_json(document):
        flat = _flatten(entry)
        if writer is None:
            writer = csv.DictWriter(out, list(flat), lineterminator="\n")
            writer.writeheader()
        writer.writerow({key: _csv_cell(value) for key, value in flat.items()})
    return out.getvalue()


def _flatten(entry: dict[str, Any]) -> dict[str, Any]:
    tests = entry.pop("tests") or {}
    tokens = entry.pop("tokens")
    flat = {**entry, "split": " ".join(entry["split"])}
    flat |= {f"tests_{key}": tests.get(key) for key in ("fixed", "still_red", "broken")}
    return flat | {f"tokens_{key}": value for key, value in tokens.items()}


def _csv_cell(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula is quoted; names come from roadmaps and models."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def report_html(document: Document) -> str:
    """Return the report as one page: no script, nothing loaded, every text escaped."""
    run = document.get("run", {})
    title = f"Autopilot run {_text(str(run.get('id', '')))}"
    head = "".join(f"<th{_class(c.right)}>{c.title}</th>" for c in COMPLETION_COLUMNS)
    body = "\n".join(_html_rows(document))
    missed = "".join(
        f"<li><b>{_text(unit)}</b> {_text(why)}"
        + (f" <code>{_text(branch)}</code>" if branch else "")
        + "</li>"
        for unit, why, branch in not_met(document)
    )
    commands = "\n".join(_text(command) for command in next_commands(document))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        f"<p>{_text(str(run.get('repository') or ''))} <code>{_text(str(run.get('branch') or ''))}</code></p>",
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>",
        f"<p>{_text(summary(document))}</p>",
        f"<h2>Not met</h2><ul>{missed}</ul>" if missed else "",
        "".join(f"<p>{_text(note)}</p>" for note in notes(document)),
        f"<h2>Next</h2><pre>{commands}</pre>" if commands else "",
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _html_rows(document: Document) -> Iterator[str]:
    states = [state_of(row) for _, row, _ in ordered_units(document)]
    for state, row in zip(states, completion_rows(document), strict=True):
        cells = (
            f"<td{_class(column.right)}>{_text(cell)}</td>"
            for column, cell in zip(COMPLETION_COLUMNS, row, strict=True)
        )
        yield f'<tr class="{_text(state)}">{"".join(cells)}</tr>'


def _class(right: bool) -> str:
    return ' class="n"' if right else ""


def _text(text: str) -> str:
    return html.escape(printable(text), quote=True)


def chrome_trace(document: Document, steps: Iterable[tuple[float, str, str]] = ()) -> dict[str, Any]:
    """Return a trace for chrome://tracing or Perfetto: a span a unit, and a span a step.

    `steps` holds time, unit and name of each step's beginning, in the order of the journal.
    """
    begin = document.get("run", {}).get("started_at") or 0.0
    end = document.get("run", {}).get("ended_at")
    lanes, events = {}, []
    for lane, (unit, row, _) in enumerate(ordered_units(document), start=1):
        lanes[unit] = lane
        label = printable(f"{unit} {row.get('name', '')}")
        events.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": lane, "args": {"name": label}})
        if row.get("started_at"):
            stop = row.get("ended_at") or end or row["started_at"]
            events.append(_span(label, "unit", lane, row["started_at"] - begin, stop - begin))
            events[-1]["args"] = {"state": state_of(row), "score": row.get("score")}
    events += _step_spans(document, lanes, list(steps), begin)
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _step_spans(
    document: Document, lanes: dict[str, int], steps: list[tuple[float, str, str]], begin: float
) -> Iterator[dict[str, Any]]:
    """A step lasts until the unit's next one, or until the unit's end."""
    following: dict[str, float] = {}
    spans = []
    for at, unit, name in reversed(steps):
        if unit not in lanes:
            continue
        stop = following.get(unit) or document["units"][unit].get("ended_at") or at
        following[unit] = at
        spans.append(_span(printable(name), "step", lanes[unit], at - begin, stop - begin))
    yield from reversed(spans)


def _span(name: str, category: str, lane: int, start_s: float, stop_s: float) -> dict[str, Any]:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": 1,
        "tid": lane,
        "ts": round(start_s * 1e6),
        "dur": max(0, round((stop_s - start_s) * 1e6)),
    }
