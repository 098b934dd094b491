"""What the view of a command's output promises: its cause is in it, its size is bounded, and nothing acts in it."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot_agents.hands.output import OutputView, sanitise


def view_of(*chunks: bytes) -> OutputView:
    view = OutputView()
    for chunk in chunks:
        view.feed(chunk)
    return view


def test_short_output_is_shown_as_it_is() -> None:
    """Up to 240 lines nothing is left out and nothing is added."""
    text = "\n".join(f"line {number}" for number in range(240))
    view = view_of(text.encode() + b"\n")
    assert view.text() == text
    assert not view.truncated


def test_a_failure_in_the_middle_of_5000_lines_shows_its_cause() -> None:
    """I1: first lines, the error in the middle with its number, the last 160, and how many were left out."""
    lines = [f"ok {number}" for number in range(1, 5001)]
    lines[2499] = "ValueError: the cause"
    view = view_of("\n".join(lines).encode() + b"\n")
    shown = view.text().splitlines()
    assert shown[:40] == lines[:40]
    assert shown[-160:] == lines[-160:]
    assert "2500: ValueError: the cause" in shown
    assert "[... 4,799 of 5,000 lines left out ...]" in shown
    assert view.truncated


def test_warnings_do_not_crowd_out_errors() -> None:
    """A thousand warnings before it don't hide an error."""
    lines = ["x"] * 50 + ["warning: old call"] * 1000 + ["FAILED test_it"] + ["x"] * 500
    assert "1051: FAILED test_it" in view_of("\n".join(lines).encode()).text()


@given(st.lists(st.binary(max_size=3000), max_size=60), st.integers(1, 5))
def test_the_view_is_bounded_for_any_bytes(chunks: list[bytes], times: int) -> None:
    """Whatever comes, the view has at most 240 lines and 16 KB, and no control characters."""
    view = view_of(*chunks * times)
    text = view.text()
    assert len(text.split("\n")) <= 240
    assert len(text.encode()) <= 16_384
    assert not any(ord(char) < 32 and char not in "\n\t" for char in text)


@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=6))
def test_where_chunks_are_cut_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    """I2: a character, line or escape that arrives in pieces is shown like one that arrives whole."""
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    pieces = [data[start:stop] for start, stop in itertools.pairwise(edges)]
    assert view_of(*pieces).text() == view_of(data).text()


def test_long_lines_are_cut_with_the_count() -> None:
    """I2: a line of 20 MB without an end is shown by its beginning, with how much is missing."""
    view = view_of(*[b"x" * 65_536] * 320)
    assert view.text().startswith("xxxx")
    assert len(view.text()) < 16_384
    assert view.truncated


def test_progress_bars_show_their_last_state() -> None:
    """I2: what was overwritten on the terminal is not shown."""
    bar = b"".join(b"\r%3d%%" % percent for percent in range(101))
    assert view_of(b"start\n", bar, b"\nend\r\n").text() == "start\n100%\nend"
    assert view_of(*[bar] * 100).text() == "100%"


def test_memory_does_not_grow_with_output() -> None:
    """R7: 10 MB of lines, then a line of 10 MB, take less than 3 MB."""
    tracemalloc.start()
    try:
        view = OutputView()
        chunk = b"some line of output\n" * 3276
        for _ in range(160):
            view.feed(chunk)
        for _ in range(160):
            view.feed(b"y" * 65_536)
        assert view.text()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]52;c;ZXZpbA==\x1b\\text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mx", "x"),
        ("a\x07b\x00c", "a\\x07b\\x00c"),
        ("abc\u202etxt", "abc\\u202etxt"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_nothing_reaches_a_terminal(raw: str, shown: str) -> None:
    """S5, I14: sequences are taken out, other control and direction characters are made visible."""
    assert sanitise(raw) == shown
