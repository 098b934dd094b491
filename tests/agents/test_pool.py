"""Which provider a name gives, and what a script file may say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autopilot_agents.errors import AnswerIncomplete, ProviderRefused, ProviderUnavailable
from autopilot_agents.pool import make_provider
from autopilot_agents.protocols import Message, Reply, Request
from autopilot_state.errors import PreflightError, UsageError

pytestmark = pytest.mark.anyio

KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789"}


def request(role: str = "builder") -> Request:
    return Request("a3f9", "1", role, "", (Message("user", "go"),))


@pytest.mark.parametrize("name", ["gpt", "", "scripted"])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    """`scripted` is unknown too as long as no script is named."""
    with pytest.raises(UsageError) as caught:
        make_provider(name, model=None, environ={}, workers=1)
    assert caught.value.code == "AP340"
    assert "anthropic, offline" in caught.value.fix


def test_anthropic_without_a_key_is_found_before_the_run() -> None:
    """A preflight error, exit 6."""
    with pytest.raises(PreflightError) as caught:
        make_provider("anthropic", model=None, environ={}, workers=1)
    assert caught.value.code == "AP620"


@pytest.mark.parametrize(
    ("model", "environ", "chosen"),
    [
        ("claude-opus-5", {"ANTHROPIC_MODEL": "claude-haiku-4-5"}, "claude-opus-5"),
        (None, {"ANTHROPIC_MODEL": "claude-haiku-4-5"}, "claude-haiku-4-5"),
        (None, {}, "claude-sonnet-5-5"),
    ],
)
async def test_the_model_is_the_named_one_then_the_environments_then_the_default(
    model: str | None, environ: dict[str, str], chosen: str
) -> None:
    """What was said closest to the command wins. Nothing listens at the address, so the table gives the limits."""
    provider = make_provider(
        "anthropic",
        model=model,
        environ={**KEY, **environ, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
        workers=1,
    )
    assert provider.name == "anthropic"
    assert (await provider.limits()).model == chosen


def test_no_vendor_package_is_imported_before_it_is_needed() -> None:
    """A command that needs no model doesn't pay the seconds of that import."""
    code = "import sys, autopilot_agents.pool, autopilot_agents.loop; sys.exit('anthropic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ})
    assert done.returncode == 0


def script(tmp_path: Path, content: Any) -> dict[str, str]:
    path = tmp_path / "script.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return {"AUTOPILOT_SCRIPT": str(path)}


async def test_a_script_file_answers_calls_tools_and_refuses(tmp_path: Path) -> None:
    """Texts, tool calls, cut answers, incomplete ones and refusals, as the module says."""
    calls = {"text": "I look.", "tool_calls": [{"name": "read", "arguments": {"path": "a"}}, {"name": "ls"}]}
    answers = [
        {"text": "hello", "usage": {"input_tokens": 9}},
        calls,
        {"text": "half", "stop_reason": "max_tokens"},
    ]
    provider = make_provider(
        "scripted", model=None, environ=script(tmp_path, {"builder": answers}), workers=1
    )
    plain, tools, cut = [await provider.complete(request()) for _ in range(3)]
    assert (plain.message.text, plain.stop_reason, plain.usage.input_tokens) == ("hello", "end_turn", 9)
    assert (tools.stop_reason, [c.name for c in tools.message.tool_calls]) == ("tool_use", ["read", "ls"])
    assert tools.message.tool_calls[0].arguments == {"path": "a"}
    assert len({c.id for c in tools.message.tool_calls}) == 2
    assert isinstance(cut, Reply)
    assert cut.stop_reason == "max_tokens"


async def test_a_script_file_can_fail_in_every_way(tmp_path: Path) -> None:
    """The errors are those that the real provider raises."""
    answers = [
        {"error": {"status": 429, "retry_after_s": 1}},
        {"error": {"status": 401}},
        {"error": {"status": 429, "code": "enforced_spend_limit_reached"}},
        {"text": "half", "stop_reason": None},
    ]
    provider = make_provider(
        "scripted", model=None, environ=script(tmp_path, {"builder": answers}), workers=1
    )
    with pytest.raises(ProviderUnavailable) as busy:
        await provider.complete(request())
    assert (busy.value.status, busy.value.retry_after_s) == (429, 1)
    codes = []
    for _ in range(2):
        with pytest.raises(ProviderRefused) as refused:
            await provider.complete(request())
        codes.append(refused.value.code)
    assert codes == ["AP310", "AP312"]
    with pytest.raises(AnswerIncomplete) as incomplete:
        await provider.complete(request())
    assert incomplete.value.text == "half"


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        {"builder": [{}]},
        {"builder": [7]},
        {"builder": [{"tool_calls": [{}]}]},
        {"builder": [{"text": "x", "usage": {"tokens": 1}}]},
        {"builder": 3},
    ],
)
def test_a_script_that_can_not_be_read_is_named(tmp_path: Path, content: Any) -> None:
    """Before the run, not in its middle."""
    with pytest.raises(UsageError) as caught:
        make_provider("scripted", model=None, environ=script(tmp_path, content), workers=1)
    assert (caught.value.code, "script.json" in caught.value.what) == ("AP342", True)
