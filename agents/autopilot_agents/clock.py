"""The real clock, and the fake that tests turn by hand."""

from __future__ import annotations

import time

import anyio


class SystemClock:
    """Wall time for people, monotonic time for durations."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class FakeClock:
    """Stands still until `sleep` moves it; `slept` lists every wait in seconds."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self.time = start
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await anyio.lowlevel.checkpoint()
