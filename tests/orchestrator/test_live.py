"""What is seen while a run lives."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autopilot.live import (
    EventsView,
    KeepingView,
    NullView,
    PlainView,
    ViewGroup,
    live_lines,
    make_view,
    status_lines,
)
from autopilot.table import display_width
from autopilot_state.errors import UsageError
from autopilot_state.journal import scan
from autopilot_state.store import empty_document, fold

Document = dict[str, Any]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def test_notification_lines_stay_exactly_what_they_are() -> None:
    """People search logs for these lines: nothing before them, nothing after."""
    out = io.StringIO()
    text = "Phase 20 too large (6 issues). Splitting into 6 sub-phases, launching in parallel..."
    PlainView(out).line(text)
    assert out.getvalue() == f"{text}\n"


def test_control_bytes_never_reach_the_terminal() -> None:
    """A model's text can't move the cursor or rename the window."""
    out = Terminal()
    PlainView(out).line("a\x1b]0;evil\x07b\nc")
    assert out.getvalue() == "a\\x1b]0;evil\\x07b\\x0ac\n"


@pytest.mark.parametrize("with_records", [True, False])
def test_plain_view_says_each_change_once(
    tmp_path: Path, sample_run: Callable[..., Document], with_records: bool
) -> None:
    """One line a step, off a terminal with its time first, whether or not records come along."""
    sample_run(tmp_path / "2f9c")
    out, document = io.StringIO(), empty_document()
    view = PlainView(out, now=lambda: 1_795_000_000.0)
    for record in scan(tmp_path / "2f9c" / "journal.jsonl").records:
        fold([record], document)
        if with_records:
            view.record(record)
        view.update(document)
    view.close()
    lines = out.getvalue().splitlines()
    assert all(line.startswith("2026-11-18T") for line in lines)
    said = [line.split(" ", 1)[1] for line in lines]
    assert said.count("18 queued") == 1
    assert said.count("18 running build") == 1
    assert said.count("18 ended verified 9.6 4f2c1a9") == 1
    assert "20 split" in said
    assert any(text.startswith("20b ended below 9.2") and text.endswith("test_cta red") for text in said)
    assert len(said) == len(set(said))


def test_quiet_run_gives_a_heartbeat_each_minute(tmp_path: Path, sample_run: Callable[..., Document]) -> None:
    """An hour without news still shows that the run lives."""
    document = sample_run(tmp_path / "2f9c", finish=False)
    clock = [1000.0]
    out = io.StringIO()
    view = PlainView(out, now=lambda: clock[0])
    for _ in range(5):
        view.update(document)
        clock[0] += 30
    beats = [line for line in out.getvalue().splitlines() if "heartbeat" in line]
    assert len(beats) == 2
    assert beats[0].endswith("heartbeat run=2f9c running=20b done=2/6 verified=2 cost=1.95")


def test_a_reader_that_left_changes_nothing(sample: Document) -> None:
    """The run goes on when only its viewer died."""
    view = PlainView(Broken())
    view.line("x")
    view.update(sample)
    view.close()
    closed = io.StringIO()
    view = PlainView(closed)
    closed.close()
    view.line("x")


@pytest.mark.parametrize(
    ("stream", "plain", "environ", "kind"),
    [
        (Terminal(), False, {"TERM": "xterm"}, "RichView"),
        (Terminal(), True, {"TERM": "xterm"}, "PlainView"),
        (Terminal(), False, {"TERM": "dumb"}, "PlainView"),
        (Terminal(), False, {"TERM": "xterm", "NO_COLOR": "1"}, "PlainView"),
        (Terminal(), False, {"TERM": "xterm", "CI": "true"}, "PlainView"),
        (io.StringIO(), False, {}, "PlainView"),
        (None, False, {}, "NullView"),
    ],
)
def test_the_view_fits_the_stream(stream: Any, plain: bool, environ: dict[str, str], kind: str) -> None:
    """Only a capable terminal gets a table that redraws itself."""
    assert type(make_view(stream, plain=plain, environ=environ)).__name__ == kind


def test_rich_view_draws_the_table_and_lets_lines_pass(
    sample: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines stay in the scrollback as they are; the table shows every unit at work."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    out = Terminal()
    view = make_view(out, plain=False, environ={"TERM": "xterm"})
    view.update(sample)
    line = (
        "Phase 20 too large (6 issues). [bold]Splitting[/bold] into 6 sub-phases, launching in parallel..."
        * 2
    )
    view.line(line)
    view.close()
    assert "20b empty state" in out.getvalue()
    assert line in out.getvalue()


def test_pinned_table_keeps_to_12_lines(tmp_path: Path, scribe: Any) -> None:
    """With a hundred phases, those at work are seen and the others counted."""
    writer = scribe(tmp_path / "beef")
    writer.phases(**{f"p{number}": f"phase {number}" for number in range(1, 101)})
    writer.start("97")
    lines = live_lines(writer.close(), width=80, now=writer.at)
    assert len(lines) == 12
    assert any(line.startswith("97 phase 97") for line in lines)
    assert "… 92 more" in lines
    assert max(map(display_width, lines)) <= 80


def test_status_warns_of_a_full_context(tmp_path: Path, sample_run: Callable[..., Document]) -> None:
    """Context is shown and warned about, and stops nothing."""
    document = sample_run(tmp_path / "2f9c", finish=False)
    lines = status_lines(document, width=80, now=None, state="running (pid 7 on here)")
    assert lines[0].startswith("autopilot 2f9c  running (pid 7 on here)  standard (pass >= 9.5)")
    assert "! 20b context 78% (warning only, work continues)" in lines
    assert any(line.startswith("20 UAT fixes") and "split 1/3" in line for line in lines)


def test_events_are_the_records_of_the_journal(tmp_path: Path, sample_run: Callable[..., Document]) -> None:
    """Each line is one record, whole, in order."""
    sample_run(tmp_path / "2f9c")
    journal = tmp_path / "2f9c" / "journal.jsonl"
    view = EventsView(str(tmp_path / "events.ndjson"))
    for record in scan(journal).records:
        view.record(record)
    view.close()
    written = [json.loads(line) for line in (tmp_path / "events.ndjson").read_text().splitlines()]
    assert written == [json.loads(line) for line in journal.read_text().splitlines()]


def test_events_into_nowhere_are_refused_before_the_run(tmp_path: Path) -> None:
    """A path that can't be written is an error of use, not a silent loss."""
    with pytest.raises(UsageError) as caught:
        EventsView(str(tmp_path / "missing" / "events"))
    assert caught.value.code == "AP650"


def test_a_full_disk_for_events_does_not_end_the_run(sample: Document, tmp_path: Path) -> None:
    """Views never raise."""
    record = scan(tmp_path / "2f9c" / "journal.jsonl").records[0]
    view = EventsView("/dev/full")
    view.record(record)
    view.record(record)
    view.close()


def test_a_group_shows_to_all_and_keeps_the_last_state(sample: Document) -> None:
    """What the envelope is made of at the end is what the views were told last."""
    keeping, out = KeepingView(), io.StringIO()
    group = ViewGroup([keeping, NullView(), PlainView(out)])
    group.update(sample)
    group.line("x")
    group.close()
    assert keeping.document is sample
    assert out.getvalue().endswith("x\n")
