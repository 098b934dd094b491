"""What a run came to: exit codes, envelope, report."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.errors import MET, REASONS, Exit, exit_for
from autopilot.export import chrome_trace, report_csv, report_html
from autopilot.report import completion_lines, envelope, next_commands, phases_json, report_markdown, summary

Document = dict[str, Any]
RESULTS = ("verified", "below", "failed", "parked", "needs_human", "blocked", "unverified", "skipped")
ROWS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["waiting", "queued", "running", "merging", "split", "ended"]),
        "result": st.sampled_from([*RESULTS, None]),
        "reason": st.sampled_from(["", "budget: 25 USD", "the provider is down"]),
    }
)
RUNS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["running", "stopped", "finished"]),
        "reason": st.sampled_from([None, *REASONS]),
    }
)


@given(st.dictionaries(st.sampled_from("123456789"), ROWS), RUNS)
def test_no_failing_run_exits_0(units: dict[str, Any], run: dict[str, Any]) -> None:
    """0 means that every unit was verified or skipped, and that nothing cut the run short."""
    code, reason = exit_for({"units": units, "run": run})
    met = all(row["status"] == "ended" and row["result"] in MET for row in units.values())
    cut_short = run["reason"] not in (None, "ok", "below_target", "usage", "preflight", "locked")
    assert (code == 0) == (met and not cut_short)
    assert REASONS[reason] == code


@pytest.mark.parametrize(
    ("results", "run_reason", "expected"),
    [
        (["verified", "skipped"], None, (0, "ok")),
        (["verified", "below"], None, (3, "below_target")),
        (["failed", "needs_human"], None, (4, "needs_human")),
        (["unverified"], None, (3, "below_target")),
        (["blocked"], None, (3, "below_target")),
        (["parked", "needs_human"], None, (8, "provider")),
        (["failed"], "budget", (5, "budget")),
        (["needs_human"], "budget: 25.00 USD reached", (5, "budget")),
        (["parked"], "provider", (8, "provider")),
        (["verified"], "internal", (1, "internal")),
        (["failed"], "stopped", (143, "stopped")),
        (["failed"], "interrupted", (130, "interrupted")),
        (["failed"], "terminated", (143, "terminated")),
    ],
)
def test_the_first_code_that_applies_wins(
    results: list[str], run_reason: str | None, expected: tuple[int, str]
) -> None:
    """A signal, 1, 8, 5, 4, 3, 0: in this order."""
    units = {str(n): {"status": "ended", "result": result} for n, result in enumerate(results)}
    assert exit_for({"units": units, "run": {"reason": run_reason}}) == expected


def test_exit_codes_have_the_documented_names() -> None:
    """The table of the documentation, both ways."""
    assert {name: int(code) for name, code in REASONS.items()} == {
        "ok": 0, "internal": 1, "usage": 2, "below_target": 3, "needs_human": 4, "budget": 5, "preflight": 6,
        "locked": 7, "provider": 8, "interrupted": 130, "terminated": 143, "stopped": 143,
    }  # fmt: skip
    assert Exit(3).reason == "below_target"


def test_phase_entries_have_exactly_the_promised_keys(sample: Document) -> None:
    """One entry a unit, a parent before its children, in the envelope's form."""
    entries = phases_json(sample)
    assert [entry["id"] for entry in entries] == ["18", "20", "20a", "20b", "20c", "21"]
    assert list(entries[0]) == [
        "id", "name", "parent", "result", "score", "split", "reason", "tests", "context_pct", "cost_usd", "tokens",
        "duration_s", "commit", "attempts",
    ]  # fmt: skip
    assert entries[1]["split"] == ["20a", "20b", "20c"]
    assert entries[3] | {"tokens": None} == {
        "id": "20b", "name": "empty state", "parent": "20", "result": "below", "score": 9.2, "split": [],
        "reason": "test_empty.py::test_cta red", "tests": {"fixed": 2, "still_red": 1, "broken": 0},
        "context_pct": 78.0, "cost_usd": 0.77, "tokens": None, "duration_s": 842.0,
        "commit": sample["units"]["20b"]["commit"], "attempts": 2,
    }  # fmt: skip
    assert entries[5]["context_pct"] is None


def test_usage_counts_each_request_once(sample: Document) -> None:
    """A parent includes its children; the run's total does not count them twice."""
    whole = envelope("run", document=sample, exit_code=3, reason="below_target")
    assert whole["usage"]["requests"] == 4
    assert whole["usage"]["cost_usd"] == pytest.approx(1.95)
    parents = [entry for entry in whole["phases"] if entry["parent"] is None]
    assert sum(entry["cost_usd"] for entry in parents) == pytest.approx(1.95)


def test_envelope_keeps_its_keys_without_a_run(sample: Document) -> None:
    """A failure before a run has the same keys, the run's null."""
    error = {"code": "AP641", "what": "w", "why": "y", "fix": "f"}
    failed = envelope("run", exit_code=6, reason="preflight", error=error)
    assert list(failed) == list(envelope("run", document=sample, exit_code=3, reason="below_target"))
    assert failed["phases"] is None
    assert failed["run_id"] is None
    assert failed["error"] == error


def test_completion_says_what_was_not_met_and_what_to_do(sample: Document) -> None:
    """Each unit that fell short with its reason and kept branch; each command alone on its line."""
    lines = completion_lines(sample, width=100, next_commands=next_commands(sample))
    assert "2 of 6 units met 9.5 | 2 below | 1 failed | 1 blocked | $1.95" in "\n".join(lines)
    assert "Not met: 20b  below: test_empty.py::test_cta red" in lines
    assert "         branch autopilot/2f9c/20b" in lines
    assert lines[lines.index("Next:") + 1 :][:2] == ["  git merge autopilot/2f9c", "  autopilot resume 2f9c"]
    assert lines[-1].endswith("exit 3 (below_target)")


def test_a_missing_sandbox_or_review_is_said(sample: Document) -> None:
    """No silent loss of the sandbox, no score that pretends to rest on a review."""
    sample["run"]["sandbox"] = "none"
    for text in ("\n".join(completion_lines(sample, width=90, next_commands=[])), report_markdown(sample)):
        assert "sandbox: none" in text
        assert "review: none" in text
    assert envelope("run", document=sample, exit_code=3, reason="below_target")["sandbox"] == "none"


def test_skipped_phases_are_no_part_of_the_target(sample: Document) -> None:
    """What was done before is counted apart."""
    sample["units"]["21"].update(result="skipped")
    assert summary(sample).startswith("2 of 5 units met 9.5 | 2 below | 1 failed | 1 skipped")


EVIL = "<script>alert(1)</script> | [x](javascript:1) `rm` \x1b[31m \u202e"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)


def test_no_name_becomes_markup(sample: Document) -> None:
    """Names and reasons come from roadmaps and models: they are shown, never interpreted."""
    sample["units"]["18"]["name"] = EVIL
    sample["units"]["20b"]["reason"] = EVIL
    page = report_html(sample)
    tags = _Tags()
    tags.feed(page)
    assert "script" not in tags.seen
    assert "http-equiv" in page
    assert not re.search(r"(?:src|href)=", page)
    markdown = report_markdown(sample)
    assert "<script>" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {10}
    assert "\x1b" not in page + markdown + report_csv(sample)


def test_csv_has_a_row_a_unit_and_no_formula(sample: Document) -> None:
    """A spreadsheet opens it and runs nothing."""
    sample["units"]["18"]["name"] = "=HYPERLINK(1)"
    rows = list(csv.DictReader(io.StringIO(report_csv(sample))))
    assert [row["id"] for row in rows] == ["18", "20", "20a", "20b", "20c", "21"]
    assert rows[0]["name"] == "'=HYPERLINK(1)"


def test_trace_has_a_span_a_unit_and_a_step(sample: Document) -> None:
    """Spans lie within the run, on a lane of their unit."""
    begin = sample["run"]["started_at"]
    trace = chrome_trace(sample, [(begin + 1, "18", "build"), (begin + 3, "18", "verify")])
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {span["name"] for span in spans} >= {"18 API pagination", "build", "verify"}
    build = next(span for span in spans if span["name"] == "build")
    assert (build["ts"], build["dur"]) == (1_000_000, 2_000_000)
    assert all(span["dur"] >= 0 for span in spans)
