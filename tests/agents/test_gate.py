"""The gate before a provider: slots, the common wait, and giving up."""

from __future__ import annotations

import random
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from autopilot_agents.clock import FakeClock
from autopilot_agents.errors import AnswerIncomplete, ProviderRefused, ProviderUnavailable
from autopilot_agents.gate import Gate
from autopilot_agents.protocols import Message, Reply, Request
from autopilot_agents.providers.scripted import ScriptedProvider
from autopilot_state.models import Usage

pytestmark = pytest.mark.anyio

DONE = Reply(Message("assistant", "done"), "end_turn", Usage(requests=1))


def request(unit: str = "1", max_tokens: int = 8192) -> Request:
    return Request("a3f9", unit, "builder", "", (Message("user", "go"),), max_tokens=max_tokens)


def unavailable(status: int | None = 429, retry_after_s: float | None = None) -> ProviderUnavailable:
    return ProviderUnavailable("AP301", "not now", status=status, retry_after_s=retry_after_s)


class Setting:
    """A gate with four slots on a clock that stands still, and what it said."""

    def __init__(self, in_flight: int = 4, max_wait_s: float = 3600.0) -> None:
        self.clock = FakeClock()
        self.notices: list[str] = []
        self.gate = Gate(
            name="anthropic",
            in_flight=in_flight,
            clock=self.clock,
            on_notice=self.notices.append,
            max_wait_s=max_wait_s,
            rng=random.Random(7),
        )


async def test_a_rate_limit_waits_as_asked_then_halves_the_slots_and_says_so() -> None:
    """The server's wait is honoured, the notice has its exact form, and the answer comes after all."""
    at = Setting()
    provider = ScriptedProvider({"builder": [unavailable(429, 38), DONE]})
    assert await at.gate.call(provider, request()) == DONE
    assert at.notices == [
        "Rate limited by anthropic (429). Requests wait 38s, then continue with 2 of 4 slots."
    ]
    assert 38 <= sum(at.clock.slept) <= 39


@pytest.mark.parametrize(("status", "named"), [(529, "529"), (503, "503"), (None, "no connection")])
async def test_other_refusals_have_their_own_words(status: int | None, named: str) -> None:
    """An overload is not called a rate limit."""
    at = Setting()
    await at.gate.call(ScriptedProvider({"builder": [unavailable(status, 5), DONE]}), request())
    assert at.notices == [
        f"anthropic unavailable ({named}). Requests wait 5s, then continue with 2 of 4 slots."
    ]


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [(1e12, 600, 601), (0.0, 1, 1.1), (float("nan"), 1, 2.1), (float("inf"), 1, 2.1), (-5, 1, 1.1)],
)
async def test_an_absurd_wait_is_clamped(asked: float, least: float, most: float) -> None:
    """No server keeps a run for more than ten minutes at a time, or has itself asked without end."""
    at = Setting()
    await at.gate.call(ScriptedProvider({"builder": [unavailable(429, asked), DONE]}), request())
    assert least <= sum(at.clock.slept) <= most


async def test_without_a_named_wait_it_grows_up_to_a_minute() -> None:
    """Repeated refusals back off exponentially with full jitter, never beyond 60 seconds."""
    at = Setting()
    await at.gate.call(ScriptedProvider({"builder": [*[unavailable(500)] * 12, DONE]}), request())
    assert len(at.clock.slept) == 12
    assert all(1 <= slept <= 61 for slept in at.clock.slept)
    assert max(at.clock.slept[6:]) > max(at.clock.slept[:3])
    assert len(set(at.clock.slept)) > 6


async def test_each_refusal_halves_the_output_down_to_a_floor() -> None:
    """The next try asks for less, but never for less than 1024, nor for more than was wanted."""
    at = Setting()
    provider = ScriptedProvider({"builder": [*[unavailable(429, 1)] * 5, DONE]})
    await at.gate.call(provider, request(max_tokens=8192))
    assert [r.max_tokens for r in provider.requests] == [8192, 4096, 2048, 1024, 1024, 1024]
    small = ScriptedProvider({"builder": [unavailable(429, 1), DONE]})
    await at.gate.call(small, request(max_tokens=600))
    assert [r.max_tokens for r in small.requests] == [600, 600]


async def test_slots_come_back_one_by_one() -> None:
    """After two refusals one slot of four is open; each success opens one more, up to all."""
    at = Setting()
    provider = ScriptedProvider({"builder": [unavailable(429, 1), unavailable(429, 1), *[DONE] * 5]})
    seen = []
    for _ in range(5):
        await at.gate.call(provider, request())
        seen.append(at.gate.slots)
    assert seen == [2, 3, 4, 4, 4]


async def test_it_gives_up_when_the_waits_add_up_to_too_much() -> None:
    """The last refusal reaches the caller, so that the unit parks; nothing has waited longer than allowed."""
    at = Setting(max_wait_s=100)
    provider = ScriptedProvider({"builder": [unavailable(429, 40)] * 9})
    with pytest.raises(ProviderUnavailable):
        await at.gate.call(provider, request())
    assert len(provider.requests) == 3
    assert sum(at.clock.slept) <= 100


@pytest.mark.parametrize("error", [ProviderRefused("AP310", "no"), AnswerIncomplete("AP305", "half")])
async def test_what_waiting_can_not_help_passes_at_once(error: Exception) -> None:
    """A wrong key or half an answer is not asked for again here, and frees its slot."""
    at = Setting(in_flight=1)
    provider = ScriptedProvider({"builder": [error, DONE]})
    with pytest.raises(type(error)):
        await at.gate.call(provider, request())
    assert await at.gate.call(provider, request()) == DONE
    assert at.clock.slept == []


class Counting:
    """A provider that notes how many requests are inside at once; `refuse` decides whom it sends away."""

    name = "counting"

    def __init__(self, refuse: Callable[[Request], bool] = lambda _request: False) -> None:
        self.inside = 0
        self.most = 0
        self.calls = 0
        self._refuse = refuse

    async def limits(self) -> None:
        raise NotImplementedError

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            if self._refuse(request):
                raise unavailable(429, 10)
            return DONE
        finally:
            self.inside -= 1


async def test_no_more_requests_are_inside_than_there_are_slots() -> None:
    """Twenty workers share three slots, use all of them, and all are served."""
    at, provider = Setting(in_flight=3), Counting()
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(at.gate.call, provider, request(str(number)))
    assert (provider.most, provider.calls) == (3, 20)


async def test_requests_refused_together_count_as_one_refusal() -> None:
    """Four workers hit the same limit: one notice, slots halved once, and everybody waits once."""
    at = Setting(in_flight=4)
    first = {str(number) for number in range(4)}

    def refuse(asked: Request) -> bool:
        refused = asked.unit in first
        first.discard(asked.unit)
        return refused

    provider = Counting(refuse)
    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(at.gate.call, provider, request(str(number)))
    assert len(at.notices) == 1
    assert at.notices[0].endswith("2 of 4 slots.")
    assert provider.calls == 8
    assert sum(at.clock.slept) >= 10


async def test_a_new_request_waits_with_the_others() -> None:
    """The wait is common: a request that comes in the middle of it is not sent before its end."""
    at = Setting()
    opened = at.clock.monotonic() + 30
    sent: list[float] = []

    def answer(_request: Request) -> str:
        sent.append(at.clock.monotonic())
        if len(sent) == 1:
            raise unavailable(429, 30)
        return "ok"

    async with anyio.create_task_group() as group:
        group.start_soon(at.gate.call, ScriptedProvider(answer), request("1"))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(at.gate.call, ScriptedProvider(answer), request("2"))
    assert len(sent) == 3
    assert min(sent[1:]) >= opened


@pytest.mark.parametrize("noticed", [True, False])
async def test_a_cancelled_waiter_does_not_keep_its_turn(noticed: bool) -> None:
    """Whoever stands behind it is served, also when its turn came before it noticed that it was cancelled."""
    at = Setting(in_flight=1)
    entered: list[str] = []
    doomed = anyio.CancelScope()

    async def enter(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with at.gate.slot():
                entered.append(name)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group, at.gate.slot():
            group.start_soon(enter, "cancelled", doomed)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(enter, "behind", anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
            doomed.cancel()
            if noticed:
                await anyio.wait_all_tasks_blocked()
    assert entered == ["behind"]


async def test_the_wait_that_is_left_can_be_seen() -> None:
    """A supervisor can tell waiting from inactivity."""
    at = Setting()
    left: list[float] = []

    async def watch(seconds: float) -> None:
        left.append(at.gate.wait_left_s())
        at.clock.time += seconds

    at.clock.sleep = watch  # type: ignore[method-assign]
    await at.gate.call(ScriptedProvider({"builder": [unavailable(429, 20), DONE]}), request())
    assert left == [20.0]
    assert at.gate.wait_left_s() == 0.0


async def test_limits_wait_too() -> None:
    """A provider that can't be reached at the first question is waited for like at any other."""
    at = Setting()

    class Slow(ScriptedProvider):
        tries = 0

        async def limits(self):  # type: ignore[no-untyped-def]
            self.tries += 1
            if self.tries == 1:
                raise unavailable(529, 3)
            return await super().limits()

    assert (await at.gate.limits(Slow({}))).model == "scripted"
    assert sum(at.clock.slept) >= 3
