"""The Anthropic provider against HTTP answers made by hand: whole, cut, refused, broken."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
import respx

from autopilot_agents.errors import AnswerIncomplete, ProviderRefused, ProviderUnavailable
from autopilot_agents.protocols import Message, Reply, Request, ToolCall, ToolResult, ToolSpec
from autopilot_agents.providers.anthropic import AnthropicProvider, require_key
from autopilot_agents.providers.http_errors import retry_after_s
from autopilot_state.errors import PreflightError, UsageError

pytestmark = pytest.mark.anyio

KEY = "sk-ant-test-0123456789-wxyz"
BASE = "https://claude.test"
MODEL = "claude-sonnet-5"


def sse(*events: dict[str, Any]) -> bytes:
    """Return `events` as the body of an event stream."""
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def start(**usage: int) -> dict[str, Any]:
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": MODEL,
        "usage": counts,
    }
    return {"type": "message_start", "message": message}


def block(
    index: int, content: dict[str, Any], *deltas: dict[str, Any], stop: bool = True
) -> list[dict[str, Any]]:
    events = [{"type": "content_block_start", "index": index, "content_block": content}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return events + ([{"type": "content_block_stop", "index": index}] if stop else [])


def text_block(index: int, *parts: str, stop: bool = True) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": part} for part in parts]
    return block(index, {"type": "text", "text": ""}, *deltas, stop=stop)


def tool_block(index: int, *parts: str, stop: bool = True) -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return block(index, {"type": "tool_use", "id": "t1", "name": "read", "input": {}}, *deltas, stop=stop)


def stop(reason: str, output_tokens: int = 7) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens}},
        {"type": "message_stop"},
    ]


def stream(*events: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=sse(*events))


def refusal(status: int, kind: str, headers: dict[str, str] | None = None, **details: str) -> httpx.Response:
    error = {"type": kind, "message": f"no, says {KEY}", "details": details}
    return httpx.Response(status, headers=headers, json={"type": "error", "error": error})


class Broken(httpx.AsyncByteStream):
    """A body that sends its bytes and then fails with `error`, or never ends when there is none."""

    def __init__(self, content: bytes, error: Exception | None) -> None:
        self._content = content
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content
        if self._error is None:
            await anyio.sleep_forever()
        else:
            raise self._error

    async def aclose(self) -> None:
        pass


def broken_stream(error: Exception | None, *events: dict[str, Any]) -> httpx.Response:
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, headers=headers, stream=Broken(sse(*events), error))


@pytest.fixture
def server() -> Iterator[respx.Router]:
    with respx.mock(using="httpcore2", base_url=BASE, assert_all_called=False) as router:
        yield router


@pytest.fixture
async def provider() -> AsyncIterator[AnthropicProvider]:
    made = AnthropicProvider(model=MODEL, api_key=KEY, base_url=BASE, stall_timeout_s=0.5)
    yield made
    await made.aclose()


def request(*messages: Message, **fields: Any) -> Request:
    return Request("a3f9", "20a", "builder", "SYSTEM", messages or (Message("user", "hello"),), **fields)


async def ask(provider: AnthropicProvider, server: respx.Router, answer: Any, *messages: Message) -> Reply:
    server.post("/v1/messages").mock(side_effect=[answer])
    return await provider.complete(request(*messages))


async def test_a_whole_stream_is_the_joined_text_with_usage_and_its_price(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """Every class of tokens is counted, and charged at its own price."""
    counted = start(cache_creation_input_tokens=1000, cache_read_input_tokens=2000)
    answer = stream(counted, {"type": "ping"}, *text_block(0, "Hel", "lo ü"), *stop("end_turn", 500))
    reply = await ask(provider, server, answer)
    assert (reply.message.text, reply.stop_reason, reply.model) == ("Hello ü", "end_turn", MODEL)
    assert reply.usage.context_tokens == 3010
    assert (reply.usage.output_tokens, reply.usage.requests) == (500, 1)
    assert reply.usage.cost_usd == pytest.approx((10 * 2 + 1000 * 2.5 + 2000 * 0.2 + 500 * 10) / 1e6)


async def test_the_request_carries_ids_tools_and_cache_marks_and_no_temperature(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """A gateway can tell run, unit and role from headers; the stable prefix is marked for the cache."""
    route = server.post("/v1/messages").mock(return_value=stream(start(), *stop("end_turn")))
    tool = ToolSpec("read", "Reads.", {"type": "object"})
    await provider.complete(request(tools=(tool,), max_tokens=4321))
    sent = route.calls.last.request
    body = json.loads(sent.content)
    headers = {name.lower(): value for name, value in sent.headers.items()}
    assert [headers[f"x-autopilot-{part}"] for part in ("run", "unit", "role")] == ["a3f9", "20a", "builder"]
    assert body["system"] == [{"type": "text", "text": "SYSTEM", "cache_control": {"type": "ephemeral"}}]
    assert body["tools"] == [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}]
    assert body["messages"][-1]["role"] == "user"
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert (body["max_tokens"], body["stream"], "temperature" in body) == (4321, True, False)


async def test_a_tool_call_comes_whole_and_its_blocks_go_back_unchanged(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """Thoughts keep their signature on the next turn, and results are tied to their calls."""
    thought = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "SIG"},
    )
    answer = stream(
        start(),
        *thought,
        *text_block(1, "I look."),
        *tool_block(2, '{"pa', 'th": "a.py"}'),
        *stop("tool_use"),
    )
    reply = await ask(provider, server, answer)
    assert reply.stop_reason == "tool_use"
    assert reply.message.tool_calls == (ToolCall("t1", "read", {"path": "a.py"}),)

    stored = json.loads(json.dumps(reply.message.raw))
    route = server.post("/v1/messages").mock(side_effect=[stream(start(), *stop("end_turn"))])
    turns = (
        Message("user", "hello"),
        Message("assistant", reply.message.text, reply.message.tool_calls, raw=stored),
        Message("user", tool_results=(ToolResult("t1", "x = 1", is_error=True),)),
    )
    await provider.complete(request(*turns))
    sent = json.loads(route.calls.last.request.content)["messages"]
    assert sent[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}},
    ]
    assert sent[2]["content"][0]["tool_use_id"] == "t1"
    assert sent[2]["content"][0]["is_error"] is True


@pytest.mark.parametrize(
    ("reason", "meant"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("pause_turn", "pause_turn"),
        ("stop_sequence", "stop_sequence"),
        ("model_context_window_exceeded", "context_exceeded"),
    ],
)
async def test_stop_reasons_are_ours(
    provider: AnthropicProvider, server: respx.Router, reason: str, meant: str
) -> None:
    """Each stop reason of the API has one of ours."""
    reply = await ask(provider, server, stream(start(), *text_block(0, "x"), *stop(reason)))
    assert reply.stop_reason == meant


async def test_a_stream_without_a_stop_reason_is_incomplete(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """A connection that closes cleanly in the middle is no answer; what arrived, and what it cost, is kept."""
    with pytest.raises(AnswerIncomplete) as caught:
        await ask(provider, server, stream(start(), *text_block(0, "one\ntw", stop=False)))
    assert (caught.value.code, caught.value.text) == ("AP305", "one\ntw")
    assert caught.value.usage is not None
    assert caught.value.usage.input_tokens == 10
    assert caught.value.usage.cost_usd > 0


async def test_an_unknown_stop_reason_is_no_whole_answer(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """A reason this version doesn't know is not taken for success."""
    with pytest.raises(AnswerIncomplete) as caught:
        await ask(provider, server, stream(start(), *text_block(0, "x"), *stop("compaction")))
    assert "compaction" in caught.value.why


@pytest.mark.parametrize("cut_input", ['{"path": "a.py"}', '{"path": "a.p'])
async def test_a_tool_call_of_a_cut_answer_is_never_acted_on(
    provider: AnthropicProvider, server: respx.Router, cut_input: str
) -> None:
    """At `max_tokens` a tool call may be half of one, even where it parses; it is neither run nor sent back."""
    events = [start(), *text_block(0, "I look."), *tool_block(1, cut_input, stop=False), *stop("max_tokens")]
    reply = await ask(provider, server, stream(*events))
    assert reply.message.tool_calls == ()
    assert reply.message.raw == {"anthropic": [{"type": "text", "text": "I look."}]}


async def test_a_whole_tool_call_that_is_no_object_is_asked_again(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """Arguments that can't be read are a broken stream, not an empty call."""
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, server, stream(start(), *tool_block(0, '{"pa'), *stop("tool_use")))
    assert caught.value.code == "AP304"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (httpx2.ConnectError("refused"), "AP302"),
        (httpx2.ConnectTimeout("slow"), "AP303"),
        (httpx2.RemoteProtocolError("reset"), "AP302"),
    ],
)
async def test_a_connection_that_fails_is_asked_again(
    provider: AnthropicProvider, server: respx.Router, error: Exception, code: str
) -> None:
    """No answer at all: waiting may help."""
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, server, error)
    assert caught.value.code == code


@pytest.mark.parametrize("error", [httpx2.RemoteProtocolError("reset"), httpx2.ReadError("gone")])
async def test_a_reset_in_the_middle_is_asked_again(
    provider: AnthropicProvider, server: respx.Router, error: Exception
) -> None:
    """The transport's own errors, which the vendor's client lets through, are ours too."""
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, server, broken_stream(error, start(), *text_block(0, "half", stop=False)))
    assert caught.value.code == "AP302"


async def test_a_reset_after_the_stop_reason_loses_nothing(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """A whole answer counts, however its connection ended; it is not paid for twice."""
    answer = broken_stream(httpx2.ReadError("gone"), start(), *text_block(0, "all"), *stop("end_turn")[:1])
    reply = await ask(provider, server, answer)
    assert (reply.message.text, reply.stop_reason) == ("all", "end_turn")


async def test_a_stall_ends_after_the_idle_time(provider: AnthropicProvider, server: respx.Router) -> None:
    """A stream that stays open and silent is given up, with pings or without."""
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, server, broken_stream(None, start(), {"type": "ping"}))
    assert caught.value.code == "AP303"


async def test_a_stream_that_can_not_be_read_is_asked_again(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """Broken JSON inside an event is the server's fault for now, not a crash."""
    content = sse(start()) + b"event: content_block_start\ndata: {oops\n\n"
    answer = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, server, answer)
    assert caught.value.code == "AP304"


@pytest.mark.parametrize(
    ("kind", "status"), [("overloaded_error", 529), ("api_error", 500), ("rate_limit_error", 429)]
)
async def test_an_error_inside_a_stream_counts_as_its_status(
    provider: AnthropicProvider, server: respx.Router, kind: str, status: int
) -> None:
    """An overload that arrives under status 200 is waited for like any other."""
    error = {"type": "error", "error": {"type": kind, "message": "busy"}}
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, server, stream(start(), *text_block(0, "ha", stop=False), error))
    assert caught.value.status == status


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_a_passing_status_names_itself_and_the_wait(
    provider: AnthropicProvider, server: respx.Router, status: int
) -> None:
    """The gate gets the status and the server's wait; the client itself did not try again."""
    route = server.post("/v1/messages").mock(return_value=refusal(status, "x", {"retry-after": "38"}))
    with pytest.raises(ProviderUnavailable) as caught:
        await provider.complete(request())
    assert (caught.value.status, caught.value.retry_after_s) == (status, 38.0)
    assert route.call_count == 1


@pytest.mark.parametrize(
    ("status", "kind", "code", "names"),
    [
        (400, "invalid_request_error", "AP315", MODEL),
        (401, "authentication_error", "AP310", "ANTHROPIC_API_KEY (…wxyz)"),
        (402, "billing_error", "AP312", "ANTHROPIC_API_KEY (…wxyz)"),
        (403, "permission_error", "AP311", MODEL),
        (404, "not_found_error", "AP313", MODEL),
        (413, "request_too_large", "AP314", MODEL),
        (307, "", "AP317", "307"),
    ],
)
async def test_a_final_status_names_what_to_change_and_hides_the_key(
    provider: AnthropicProvider, server: respx.Router, status: int, kind: str, code: str, names: str
) -> None:
    """Asking again can't help; the message says which key or model, and shows four characters of the key at most."""
    with pytest.raises(ProviderRefused) as caught:
        await ask(provider, server, refusal(status, kind))
    assert caught.value.code == code
    assert names in caught.value.what
    assert caught.value.fix
    assert KEY not in f"{caught.value.what} {caught.value.why} {caught.value.fix}"


@pytest.mark.parametrize("code", ["enforced_spend_limit_reached", "contract_spend_limit_reached"])
async def test_a_spend_limit_is_final_though_it_comes_as_429(
    provider: AnthropicProvider, server: respx.Router, code: str
) -> None:
    """Waiting doesn't raise a spend limit."""
    with pytest.raises(ProviderRefused) as caught:
        await ask(provider, server, refusal(429, "rate_limit_error", error_code=code))
    assert caught.value.code == "AP312"


async def test_a_page_in_place_of_a_stream_is_refused(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """A proxy's HTML under status 200 is not taken for an empty answer."""
    with pytest.raises(ProviderRefused) as caught:
        await ask(provider, server, httpx.Response(200, html="<h1>Log in</h1>"))
    assert (caught.value.code, "claude.test" in caught.value.what) == ("AP306", True)


async def test_a_redirect_does_not_take_the_key_along(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """The key goes to the host that was named, and nowhere else."""
    elsewhere = respx.mock(using="httpcore2", assert_all_called=False)
    with elsewhere:
        other = elsewhere.post("https://elsewhere.test/v1/messages").mock(return_value=httpx.Response(200))
        with pytest.raises(ProviderRefused):
            await ask(
                provider,
                server,
                httpx.Response(307, headers={"location": "https://elsewhere.test/v1/messages"}),
            )
        assert other.call_count == 0


NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("1e12", 1e12),
        (formatdate(NOW + 60, usegmt=True), 60.0),
        (formatdate(NOW - 60, usegmt=True), None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("120, 60", None),
        ("9" * 400, None),
    ],
)
def test_retry_after_is_read_or_ignored(value: str, meant: float | None) -> None:
    """Seconds and dates are understood; anything else counts as not said."""
    assert retry_after_s({"retry-after": value}, NOW) == meant


def test_retry_after_in_milliseconds_wins() -> None:
    """The finer form is what the server meant."""
    assert retry_after_s({"retry-after-ms": "2500", "retry-after": "9"}, time.time()) == 2.5


def model_info(**figures: int | None) -> httpx.Response:
    info = {"id": MODEL, "type": "model", "display_name": "S", "created_at": "2026-06-30T00:00:00Z"}
    return httpx.Response(200, json={**info, "lifecycle": "active", **figures})


async def test_limits_are_what_the_server_says_and_asked_once(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """The server's own figures win over the table."""
    route = server.get(f"/v1/models/{MODEL}").mock(
        return_value=model_info(max_input_tokens=555_000, max_tokens=77_000)
    )
    first, second = await provider.limits(), await provider.limits()
    assert (first.context_window, first.max_output_tokens) == (555_000, 77_000)
    assert (second, route.call_count) == (first, 1)


@pytest.mark.parametrize("answer", [httpx.Response(404), httpx.Response(529), httpx2.ConnectError("no")])
async def test_limits_come_from_the_table_where_the_server_has_none(
    provider: AnthropicProvider, server: respx.Router, answer: Any
) -> None:
    """A gateway without that endpoint, or one that is busy, doesn't stop a run."""
    server.get(f"/v1/models/{MODEL}").mock(side_effect=[answer])
    limits = await provider.limits()
    assert (limits.context_window, limits.max_output_tokens) == (1_000_000, 128_000)


async def test_a_wrong_key_shows_when_limits_are_asked(
    provider: AnthropicProvider, server: respx.Router
) -> None:
    """The first exchange says so, before any work."""
    server.get(f"/v1/models/{MODEL}").mock(return_value=refusal(401, "authentication_error"))
    with pytest.raises(ProviderRefused) as caught:
        await provider.limits()
    assert caught.value.code == "AP310"


async def test_a_model_without_figures_is_refused_before_it_costs_anything(server: respx.Router) -> None:
    """What can't be priced is not asked."""
    route = server.post("/v1/messages").mock(return_value=stream(start(), *stop("end_turn")))
    unknown = AnthropicProvider(model="claude-nova-9", api_key=KEY, base_url=BASE)
    for asked in (unknown.limits(), unknown.complete(request())):
        with pytest.raises(ProviderRefused) as caught:
            await asked
        assert (caught.value.code, "claude-nova-9" in caught.value.what) == ("AP316", True)
    assert route.call_count == 0
    await unknown.aclose()


async def test_a_file_can_add_models_to_the_table(server: respx.Router, tmp_path: Path) -> None:
    """A model of a gateway gets its figures from the user; nonsense in that file is named."""
    own = tmp_path / "models.toml"
    own.write_text(
        '[anthropic.models."gw/nova"]\ncontext_window = 5000\nmax_output_tokens = 900\ninput_usd = 1\noutput_usd = 2\n'
    )
    server.get("/v1/models/gw/nova").mock(return_value=httpx.Response(404))
    server.get("/v1/models/gw%2Fnova").mock(return_value=httpx.Response(404))
    provider = AnthropicProvider(model="gw/nova", api_key=KEY, base_url=BASE, models_file=own)
    assert (await provider.limits()).max_output_tokens == 900
    await provider.aclose()
    own.write_text("[anthropic.models.x]\nprice = 3\n")
    with pytest.raises(UsageError) as caught:
        AnthropicProvider(model="x", api_key=KEY, base_url=BASE, models_file=own)
    assert caught.value.code == "AP343"


def test_a_missing_key_is_found_before_the_run() -> None:
    """The error names both variables and the way without a key."""
    with pytest.raises(PreflightError) as caught:
        require_key({"ANTHROPIC_API_KEY": "  "})
    assert (caught.value.code, caught.value.exit_code) == ("AP620", 6)
    assert "ANTHROPIC_API_KEY" in caught.value.fix


def test_a_key_shows_its_last_four_characters_at_most() -> None:
    """A short secret shows nothing at all."""
    key = require_key({"ANTHROPIC_AUTH_TOKEN": KEY})
    assert repr(key) == "Key(ANTHROPIC_AUTH_TOKEN (…wxyz))"
    assert require_key({"ANTHROPIC_API_KEY": "short"}).hint == "ANTHROPIC_API_KEY"


async def test_a_token_is_sent_as_bearer(server: respx.Router) -> None:
    """`ANTHROPIC_AUTH_TOKEN` goes into the header that gateways read."""
    route = server.post("/v1/messages").mock(return_value=stream(start(), *stop("end_turn")))
    provider = AnthropicProvider(model=MODEL, auth_token=KEY, base_url=BASE)
    await provider.complete(request())
    assert route.calls.last.request.headers["authorization"] == f"Bearer {KEY}"
    await provider.aclose()
