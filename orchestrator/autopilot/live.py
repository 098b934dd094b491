"""What a person sees while a run lives: notification lines, progress lines or a pinned table, and the event stream.

A view only ever reads. When its terminal or pipe goes away it falls silent, and the run goes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol, TextIO

import orjson

from autopilot.report import duration, spent, summary
from autopilot.statistics import counts, ordered_units, run_totals, state_of
from autopilot.table import STATUS_COLUMNS, printable, render, status_rows
from autopilot_state.errors import UsageError
from autopilot_state.journal import Record
from autopilot_state.patch import Document

HEARTBEAT_S = 60.0
REDRAW_INTERVAL_S = 0.25
MAX_LIVE_LINES = 12
WARN_CONTEXT_PCT = 70.0


class View(Protocol):
    """Shows a run. Every method is cheap, and none raises when nobody can look any more."""

    def line(self, text: str) -> None:
        """Show one notification line, exactly this text."""
        ...

    def update(self, document: Document) -> None:
        """Take notice that the state has changed; called after each journal record."""
        ...

    def record(self, record: Record) -> None:
        """Take notice of a journal record; most views don't care."""
        return

    def close(self) -> None:
        """Show what is still to be shown, and let the terminal go."""
        ...


class NullView(View):
    """Shows nothing."""

    def line(self, text: str) -> None:
        pass

    def update(self, document: Document) -> None:
        pass

    def close(self) -> None:
        pass


class KeepingView(NullView):
    """Keeps the last state it was told of, for the table or the envelope at the end."""

    def __init__(self) -> None:
        self.document: Document | None = None

    def update(self, document: Document) -> None:
        self.document = document


class ViewGroup(View):
    """Several views as one."""

    def __init__(self, views: Iterable[View]) -> None:
        self._views = tuple(views)

    def line(self, text: str) -> None:
        for view in self._views:
            view.line(text)

    def update(self, document: Document) -> None:
        for view in self._views:
            view.update(document)

    def record(self, record: Record) -> None:
        for view in self._views:
            view.record(record)

    def close(self) -> None:
        for view in self._views:
            view.close()


class _Sink:
    """A stream that may go away at any time."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream

    def write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # a closed pipe, a closed file
            self._stream = None


class PlainView(View):
    """Labelled lines, one an event, no redraw: for logs, pipes, CI and screen readers.

    Off a terminal, progress lines begin with the time; notification lines stay exactly what they are.
    """

    def __init__(self, stream: TextIO, *, now: Callable[[], float] = time.time) -> None:
        self._sink = _Sink(stream)
        self._timed = not stream.isatty()
        self._now = now
        self._shown: dict[str, tuple[Any, ...]] = {}
        self._document: Document | None = None
        self._touched: set[str] | None = None
        self._beat = now()

    def line(self, text: str) -> None:
        self._sink.write(f"{printable(text)}\n")

    def record(self, record: Record) -> None:
        """With records coming in, only the units that they name are compared."""
        if self._touched is None:
            self._touched = set()
        if record.unit is not None:
            self._touched.add(record.unit)

    def update(self, document: Document) -> None:
        self._document = document
        self._show(document, document["units"] if self._touched is None else self._touched)
        if self._now() - self._beat >= HEARTBEAT_S:
            self._beat = self._now()
            self._say(heartbeat(document, now=self._beat))

    def close(self) -> None:
        if self._document is not None:
            self._show(self._document, self._document["units"])

    def _show(self, document: Document, units: Iterable[str]) -> None:
        for unit in sorted(units) if isinstance(units, set) else units:
            row = document["units"].get(unit)
            if row is None:
                continue
            seen = (row["status"], row["step"], row["attempt"])
            if self._shown.get(unit, ("waiting", None, 0)) != seen:
                self._shown[unit] = seen
                self._say(progress_line(unit, row))
        if self._touched is not None:
            self._touched = set()

    def _say(self, text: str) -> None:
        at = f"{_iso(self._now())} " if self._timed else ""
        self._sink.write(f"{at}{printable(text)}\n")


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def progress_line(unit: str, row: Mapping[str, Any]) -> str:
    """Return one unit's present state as a line: `20c verify`, `20c ended verified 9.7 91be03d`."""
    if row["status"] != "ended":
        parts = [unit, row["status"], row["step"] if row["step"] != row["status"] else None]
        return " ".join(part for part in parts if part) + (
            f" attempt={row['attempt']}" if row["attempt"] > 1 else ""
        )
    score = "" if row["score"] is None else f" {row['score']:.1f}"
    commit = f" {row['commit'][:7]}" if row["commit"] else ""
    reason = f": {row['reason']}" if row["reason"] else ""
    return f"{unit} ended {row['result']}{score}{commit}{reason}"


def heartbeat(document: Document, *, now: float) -> str:
    """Return the line that shows a quiet run to be alive."""
    found, units = counts(document), document["units"]
    running = [unit for unit, row, _ in ordered_units(document) if row["status"] in ("running", "merging")]
    done = sum(row["status"] == "ended" for row in units.values())
    shown = ",".join(running[:8]) + (f"+{len(running) - 8}" if len(running) > 8 else "")
    parts = [
        f"heartbeat run={document['run'].get('id')}",
        f"running={shown or '-'}",
        f"done={done}/{len(units)}",
    ]
    parts.append(f"verified={found['verified']}")
    return " ".join([*parts, f"cost={run_totals(document, now=now).cost_usd:.2f}"])


def status_lines(document: Document, *, width: int, now: float | None, state: str) -> list[str]:
    """Return the status table with its head and foot; `state` says what the process does (`running (pid 12)`).

    `now`: running units show their time up to it; None where nobody works on them.
    """
    run = document.get("run", {})
    took = duration(run_totals(document, now=now).duration_s)
    threshold = run.get("threshold", 9.0)
    head = f"autopilot {run.get('id')}  {state}  {run.get('playbook')} (pass >= {threshold:.1f})  {took}"
    lines = [head, "", *render(STATUS_COLUMNS, status_rows(document, now=now), width=width), ""]
    lines.append(summary(document, now=now))
    for unit, row, _ in ordered_units(document):
        if row["status"] == "running" and (row["context_pct"] or 0) >= WARN_CONTEXT_PCT:
            lines.append(f"! {unit} context {row['context_pct']:.0f}% (warning only, work continues)")
    return [printable(line) for line in lines]


def live_lines(document: Document, *, width: int, now: float) -> list[str]:
    """Return at most `MAX_LIVE_LINES` lines of the status: units at work first, what was left out counted."""
    units = [(unit, state_of(row)) for unit, row, _ in ordered_units(document)]
    table = render(STATUS_COLUMNS, status_rows(document, now=now), width=width)
    rows = list(zip(units, table[2:], strict=True))
    room = MAX_LIVE_LINES - 4
    if len(rows) > room:
        order = sorted(range(len(rows)), key=lambda index: (_interest(rows[index][0][1]), index))
        rows = [rows[index] for index in sorted(order[:room])]
    hidden = len(units) - len(rows)
    run, slots = document["run"], document["run"].get("slots")
    busy = sum(state == "running" for _, state in units)
    done = sum(row["status"] == "ended" for row in document["units"].values())
    foot = f"{run.get('id')} | {done} of {len(units)} ended | workers {busy}/{slots} | {spent(document)}"
    more = [f"… {hidden} more"] if hidden else []
    return [*table[:2], *(line for _, line in rows), *more, printable(foot)[:width]]


def _interest(state: str) -> int:
    order = ("running", "merging", "failed", "needs_human", "below", "parked", "split", "queued", "waiting")
    return order.index(state) if state in order else len(order)


class EventsView(NullView):
    """Writes every journal record as one line of JSON to a file, or to standard output for `-`."""

    def __init__(self, target: str, *, stdout: TextIO | None = None) -> None:
        self._ours = target != "-"
        self._out: IO[bytes] | None
        try:
            self._out = _append_to(target) if self._ours else _binary(stdout or sys.stdout)
        except OSError as cause:
            raise UsageError(
                "AP650",
                f"--events {target} can't be written",
                why=str(cause),
                fix="name a file in a folder that exists",
            ) from None

    def record(self, record: Record) -> None:
        if self._out is None:
            return
        try:
            _write_whole(self._out, orjson.dumps(vars(record)) + b"\n")
        except (OSError, ValueError):  # the reader of the pipe has gone, or the disk is full
            self.close()

    def close(self) -> None:
        if self._ours and self._out is not None:
            self._out.close()
        self._out = None


def _write_whole(out: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[out.write(view) :]
    out.flush()


def _append_to(target: str) -> IO[bytes]:
    # Unbuffered: bytes that a full disk refused must not be tried again when the file is closed.
    return Path(target).open("ab", buffering=0)


def _binary(stream: TextIO | None) -> IO[bytes] | None:
    return getattr(stream, "buffer", None)


def wants_plain(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Say whether a stream should get plain lines: no terminal, a dumb one, CI, or NO_COLOR."""
    if not stream.isatty() or environ.get("TERM") in ("dumb", "unknown"):
        return True
    return bool(environ.get("NO_COLOR") or environ.get("CI"))


def make_view(stream: TextIO | None, *, plain: bool, environ: Mapping[str, str]) -> View:
    """Return the view that fits a stream: a pinned table on a capable terminal, plain lines anywhere else."""
    if stream is None or stream.closed:
        return NullView()
    if plain or wants_plain(stream, environ):
        return PlainView(stream)
    from autopilot.live_rich import RichView

    return RichView(stream)
