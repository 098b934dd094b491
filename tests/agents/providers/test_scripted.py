"""The scripted provider: the answers that were written down, in their order, for their key."""

from __future__ import annotations

import pytest

from autopilot_agents.errors import ProviderRefused, ProviderUnavailable
from autopilot_agents.protocols import Message, Reply, Request
from autopilot_agents.providers.scripted import ScriptedProvider
from autopilot_state.models import Usage

pytestmark = pytest.mark.anyio


def request(unit: str = "1", role: str = "builder") -> Request:
    return Request("a3f9", unit, role, "system", (Message("user", "go"),))


async def test_a_units_own_key_comes_before_the_roles() -> None:
    """`20a/builder` answers unit 20a; all others share `builder`, in order."""
    provider = ScriptedProvider({"20a/builder": ["own"], "builder": ["first", "second"]})
    asked = [request("1"), request("20a"), request("2")]
    assert [(await provider.complete(r)).message.text for r in asked] == ["first", "own", "second"]
    assert provider.requests == asked


async def test_a_text_is_a_whole_answer_with_a_usage() -> None:
    """It ends its turn, and the same question always costs the same."""
    first, second = ScriptedProvider({"builder": ["x" * 40]}), ScriptedProvider({"builder": ["x" * 40]})
    reply = await first.complete(request())
    assert (reply.stop_reason, reply.usage.requests, reply.usage.output_tokens) == ("end_turn", 1, 11)
    assert await second.complete(request()) == reply


async def test_replies_errors_and_functions_are_taken_as_they_are() -> None:
    """Every kind of answer can stand in one script."""
    cut = Reply(Message("assistant", "half"), "max_tokens", Usage())
    error = ProviderUnavailable("AP301", "busy", status=529)
    provider = ScriptedProvider({"builder": [cut, error, lambda r: f"for {r.unit}", lambda _r: cut]})
    assert await provider.complete(request()) is cut
    with pytest.raises(ProviderUnavailable):
        await provider.complete(request())
    assert (await provider.complete(request("7"))).message.text == "for 7"
    assert await provider.complete(request()) is cut


async def test_one_function_can_answer_everything() -> None:
    """A whole mind in place of lists."""
    provider = ScriptedProvider(lambda r: f"{r.unit}/{r.role}")
    assert [(await provider.complete(request("9"))).message.text for _ in range(3)] == ["9/builder"] * 3


@pytest.mark.parametrize("script", [{}, {"builder": []}, {"planner": ["x"]}])
async def test_an_exhausted_script_names_its_key(script: dict[str, list[str]]) -> None:
    """It is an error, never an empty answer."""
    with pytest.raises(ProviderRefused) as caught:
        await ScriptedProvider(script).complete(request("20a"))
    assert caught.value.code == "AP399"
    assert "20a/builder" in caught.value.what
