"""The cap: reserved before a call, settled after, never passed."""

from __future__ import annotations

import anyio
import pytest

from autopilot_agents.errors import ProviderRefused
from autopilot_agents.metered import Metered, most_usd
from autopilot_agents.protocols import Message, Reply, Request
from autopilot_agents.providers.model_table import ModelFigures
from autopilot_agents.providers.scripted import ScriptedProvider
from autopilot_state.models import Usage

pytestmark = pytest.mark.anyio
FIGURES = ModelFigures(context_window=200_000, max_output_tokens=64_000, input_usd=3.0, output_usd=15.0)


def request(text: str = "x", max_tokens: int = 1000) -> Request:
    return Request(
        run="r",
        unit="1",
        role="builder",
        system="s",
        messages=(Message("user", text),),
        max_tokens=max_tokens,
    )


def reply(output: int) -> Reply:
    usage = Usage(input_tokens=10, output_tokens=output, requests=1)
    return Reply(
        Message("assistant", "ok"), "end_turn", usage.model_copy(update={"cost_usd": FIGURES.cost_usd(usage)})
    )


async def test_parallel_workers_never_spend_more_than_the_cap() -> None:
    """However many ask at once, what was recorded plus what is under way stays within the cap."""
    spent = 0.0
    worst = 0.0

    class Slow(ScriptedProvider):
        async def complete(self, request: Request) -> Reply:
            await anyio.sleep(0)
            return await super().complete(request)

    cap = 10 * most_usd(request(), FIGURES)
    provider = Metered(Slow(lambda _: reply(1000)), FIGURES, cap_usd=cap, spent_usd=0.0)
    refused = 0

    async def worker() -> None:
        nonlocal spent, worst, refused
        for _ in range(5):
            try:
                answer = await provider.complete(request())
            except ProviderRefused:
                refused += 1
                return
            spent += FIGURES.cost_usd(answer.usage)
            worst = max(worst, spent + provider._reserved_usd)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(worker)

    assert worst <= cap
    assert refused > 0


async def test_a_call_that_does_not_fit_is_not_made() -> None:
    """Nothing reaches the provider when the upper bound of the call is over what is left."""
    inner = ScriptedProvider(lambda _: reply(1))
    provider = Metered(inner, FIGURES, cap_usd=0.001, spent_usd=0.0)

    with pytest.raises(ProviderRefused, match="the cap"):
        await provider.complete(request(max_tokens=64_000))

    assert inner.requests == []


def test_the_bound_grows_with_text_and_output() -> None:
    """A request's upper bound counts every byte of its text and all of its output budget."""
    assert most_usd(request("x" * 1_000_000), FIGURES) > 3.0
    assert most_usd(request(max_tokens=64_000), FIGURES) > 64_000 * 15 / 1e6
