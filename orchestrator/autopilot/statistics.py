"""Figures of a run, computed from its state: which units, in which order, and what each one took.

A parent's money, tokens and time include those of its children; the run's totals count each request once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
Unit = Mapping[str, Any]


@dataclass(frozen=True)
class Totals:
    """Money, tokens and working time of a unit with all that it split into, or of a run."""

    cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0
    duration_s: float = 0.0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.cost_usd + other.cost_usd,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.requests + other.requests,
            self.duration_s + other.duration_s,
        )

    @property
    def tokens(self) -> int:
        """All tokens, cache reads and writes included."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def tokens_by_kind(self) -> dict[str, int]:
        """Return the token counts as the envelope names them."""
        return {
            "input": self.input_tokens,
            "output": self.output_tokens,
            "cache_read": self.cache_read_tokens,
            "cache_write": self.cache_write_tokens,
        }


def ordered_units(document: Document) -> Iterator[tuple[str, Unit, int]]:
    """Yield id, unit and depth of every unit, in the order of the roadmap, a parent before its children."""
    units = document.get("units", {})
    stack = [(unit, 0) for unit in reversed(document.get("order", []))]
    while stack:
        unit, depth = stack.pop()
        row = units.get(unit)
        if row is None:
            continue
        yield unit, row, depth
        stack += [(child, depth + 1) for child in reversed(row.get("children", []))]


def totals_by_unit(document: Document, *, now: float | None = None) -> dict[str, Totals]:
    """Return each unit's totals, its children's included. `now`: running units count their time up to it."""
    listed = list(ordered_units(document))
    found = {unit: _own_totals(row, now) for unit, row, _ in listed}
    for unit, row, _ in reversed(listed):
        parent = row.get("parent")
        if parent in found:
            found[parent] = found[parent] + found[unit]
    return found


def _own_totals(row: Unit, now: float | None) -> Totals:
    duration = row.get("duration_s") or 0.0
    if now is not None and row.get("status") in ("running", "merging") and row.get("started_at"):
        duration += max(0.0, now - row["started_at"])
    return _from_usage(row.get("usage") or {}, duration)


def _from_usage(usage: Mapping[str, Any], duration_s: float) -> Totals:
    return Totals(
        cost_usd=usage.get("cost_usd", 0.0),
        input_tokens=usage.get("input_tokens", 0),
        output_tokens=usage.get("output_tokens", 0),
        cache_read_tokens=usage.get("cache_read_tokens", 0),
        cache_write_tokens=usage.get("cache_write_tokens", 0),
        requests=usage.get("requests", 0),
        duration_s=duration_s,
    )


def run_totals(document: Document, *, now: float | None = None) -> Totals:
    """Return the run's totals; its time is the wall time that a process worked on it."""
    run = document.get("run", {})
    duration = run.get("active_s") or 0.0
    started = run.get("started_at")
    if not duration and started is not None:
        duration = max(0.0, (run.get("ended_at") or now or started) - started)
    return _from_usage(document.get("usage") or {}, duration)


def state_of(row: Unit) -> str:
    """Return the one word for where a unit stands: its result once it has ended, else its status."""
    return str(row.get("result") or "ended") if row.get("status") == "ended" else str(row.get("status"))


def stands(document: Document, row: Unit) -> str:
    """Return the word for a unit in its run: what was at work when the run stopped is `stopped`."""
    word = state_of(row)
    at_work = word in ("queued", "running", "merging")
    return "stopped" if at_work and document.get("run", {}).get("status") in ("stopped", "finished") else word


def counts(document: Document) -> Counter[str]:
    """Return how many units stand at each word."""
    return Counter(stands(document, row) for row in document.get("units", {}).values())


def tests_of(document: Document, row: Unit) -> dict[str, int] | None:
    """Return the test counts of a unit, its sub-phases' included; None when nothing was compared."""
    found = [
        row.get("tests"),
        *(tests_of(document, document["units"][child]) for child in row.get("children", [])),
    ]
    known = [tests for tests in found if tests]
    names = ("fixed", "still_red", "broken", "flaky")
    return {name: sum(tests.get(name, 0) for tests in known) for name in names} if known else None


def lowest_score(document: Document, unit: str) -> float | None:
    """Return the minimum of the scores of a unit and of all below it, or None where none is measured."""
    units = document.get("units", {})
    scores, stack = [], [unit]
    while stack:
        row = units.get(stack.pop())
        if row is None:
            continue
        if row.get("score") is not None:
            scores.append(row["score"])
        stack += row.get("children", [])
    return min(scores, default=None)
