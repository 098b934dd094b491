"""The pinned table of a capable terminal. Apart, because only this view needs rich."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from autopilot.live import REDRAW_INTERVAL_S, View, live_lines
from autopilot.table import printable
from autopilot_state.patch import Document


class RichView(View):
    """Notification lines scroll by above; the table below them is redrawn at most four times a second.

    There is no refresh thread: one writer, the run's own, so nothing flickers and nothing races.
    """

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
        self._drawn_at = -REDRAW_INTERVAL_S
        self._gone = False
        self._started = False

    def line(self, text: str) -> None:
        self._safely(lambda: self._console.print(Text(printable(text))))

    def update(self, document: Document) -> None:
        at = time.monotonic()
        if self._gone or at - self._drawn_at < REDRAW_INTERVAL_S:
            return
        self._drawn_at = at
        self._safely(lambda: self._draw(document))

    def close(self) -> None:
        if self._started:
            self._safely(self._live.stop)

    def _draw(self, document: Document) -> None:
        if not self._started:
            self._live.start()
            self._started = True
        lines = live_lines(document, width=self._console.width, now=time.time())
        self._live.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)

    def _safely(self, show: Callable[[], None]) -> None:
        if self._gone:
            return
        try:
            show()
        except (OSError, ValueError):  # the terminal has gone; the run goes on
            self._gone = True
