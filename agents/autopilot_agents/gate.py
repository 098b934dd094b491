"""The gate before one provider, shared by all workers: how many requests at once, and the common wait.

When a provider refuses for now, everybody waits, once: Retry-After where it was named, else a random time that
grows. Then half of the slots are open, and each success opens one more. The next try of a refused request asks for
half of the output. Waiting is neither a failure nor inactivity; only when it has gone on too long does the error
reach the caller, and the unit parks.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import anyio

from autopilot_agents.errors import ProviderUnavailable
from autopilot_agents.protocols import Clock, ModelLimits, Provider, Reply, Request

LONGEST_WAIT_S = 600.0
FIRST_BACKOFF_S = 1.0
LONGEST_BACKOFF_S = 60.0
SPREAD = 0.05
LONGEST_SPREAD_S = 1.0
MIN_OUTPUT_TOKENS = 1024

T = TypeVar("T")


class Gate:
    """Lets at most `in_flight` requests through, fewer after a refusal, none during a common wait.

    Args:
        name: of the provider, for notices.
        in_flight: slots when all is well.
        clock: the only source of time.
        on_notice: gets one line for each common wait.
        max_wait_s: how long one request is willing to wait in all.
        rng: source of the random part of waits.
    """

    def __init__(
        self,
        *,
        name: str,
        in_flight: int,
        clock: Clock,
        on_notice: Callable[[str], None],
        max_wait_s: float = 3600.0,
        rng: random.Random | None = None,
    ) -> None:
        if in_flight < 1:
            raise ValueError("a gate needs at least one slot")
        self._name = name
        self._clock = clock
        self._on_notice = on_notice
        self._max_wait_s = max_wait_s
        self._rng = rng or random.Random()  # noqa: S311  # spreads load, guards nothing
        self._all_slots = in_flight
        self._slots = in_flight
        self._busy = 0
        self._queue: deque[anyio.Event] = deque()
        self._open_at = -math.inf
        self._incident = 0
        self._refusals_in_a_row = 0

    @property
    def slots(self) -> int:
        """How many requests may be in flight now."""
        return self._slots

    def wait_left_s(self) -> float:
        """Return how long the common wait still lasts; 0 when there is none. A supervisor reads it as activity."""
        return max(0.0, self._open_at - self._clock.monotonic())

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one slot; first come, first served, after the common wait."""
        await self._acquire()
        try:
            yield
        finally:
            self._busy -= 1
            self._wake()

    async def call(self, provider: Provider, request: Request) -> Reply:
        """Return the provider's answer to `request`, however often it has to be asked.

        Raises:
            ProviderUnavailable: the waits would come to more than `max_wait_s`.
            ProviderRefused: as the provider raised it.
            AnswerIncomplete: as the provider raised it.
        """
        return await self._patiently(lambda refusals: provider.complete(_smaller(request, refusals)))

    async def limits(self, provider: Provider) -> ModelLimits:
        """Return the limits of the provider's model, waiting like `call`."""
        return await self._patiently(lambda _refusals: provider.limits())

    async def _patiently(self, ask: Callable[[int], Awaitable[T]]) -> T:
        refusals, since = 0, 0.0
        while True:
            async with self.slot():
                incident = self._incident
                try:
                    answer = await ask(refusals)
                except ProviderUnavailable as error:
                    refusals += 1
                    since = since if refusals > 1 else self._clock.monotonic()
                    self._refused(error, incident)
                    if self._open_at - since > self._max_wait_s:
                        raise
                else:
                    self._succeeded(incident)
                    return answer

    def _refused(self, error: ProviderUnavailable, incident: int) -> None:
        """Open a common wait. Requests that were under way together are refused together, and count as one."""
        is_new = incident == self._incident
        if is_new:
            self._incident += 1
            self._refusals_in_a_row += 1
            self._slots = max(1, self._slots // 2)
        elif error.retry_after_s is None:
            return
        wait_s = self._wait_s(error.retry_after_s)
        self._open_at = max(self._open_at, self._clock.monotonic() + wait_s)
        if is_new:
            self._on_notice(self._notice(error.status, wait_s))

    def _wait_s(self, retry_after_s: float | None) -> float:
        if retry_after_s is not None and math.isfinite(retry_after_s):
            # Never under a second: a server that says 0 and means no would be asked without end.
            return min(LONGEST_WAIT_S, max(FIRST_BACKOFF_S, retry_after_s))
        ceiling = min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(self._refusals_in_a_row, 16))
        return max(FIRST_BACKOFF_S, self._rng.uniform(0.0, ceiling))

    def _notice(self, status: int | None, wait_s: float) -> str:
        if status == 429:
            first = f"Rate limited by {self._name} (429)."
        else:
            first = f"{self._name} unavailable ({status or 'no connection'})."
        then = f"then continue with {self._slots} of {self._all_slots} slots"
        return f"{first} Requests wait {round(wait_s)}s, {then}."

    def _succeeded(self, incident: int) -> None:
        """Open one more slot; an answer that was under way before the last refusal says nothing about it."""
        if incident != self._incident:
            return
        self._refusals_in_a_row = 0
        if self._slots < self._all_slots:
            self._slots += 1
            self._wake()

    async def _acquire(self) -> None:
        await self._common_wait()
        while self._busy >= self._slots:
            await self._turn()
            await self._common_wait()
        self._busy += 1

    async def _turn(self) -> None:
        turn = anyio.Event()
        self._queue.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn in self._queue:
                self._queue.remove(turn)
            else:
                self._wake()  # cancelled after its turn came: the next in line gets it
            raise

    def _wake(self) -> None:
        for _ in range(min(len(self._queue), self._slots - self._busy)):
            self._queue.popleft().set()

    async def _common_wait(self) -> None:
        """Sleep until the gate opens. Each sleeper adds a little of its own, so that not all start at once."""
        while (left := self.wait_left_s()) > 0:
            await self._clock.sleep(left + self._rng.uniform(0.0, min(LONGEST_SPREAD_S, SPREAD * left)))


def _smaller(request: Request, refusals: int) -> Request:
    floor = min(request.max_tokens, MIN_OUTPUT_TOKENS)
    return replace(request, max_tokens=max(floor, request.max_tokens >> refusals))
