"""The Messages API's own shapes: our turns as its blocks, and its stream of events as one answer. Plain values only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from autopilot_agents.protocols import Message, Request, StopReason, ToolCall
from autopilot_state.models import Usage

RAW_KEY = "anthropic"
"""`Message.raw` says whose blocks it holds, so that another provider's are never sent."""

STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_exceeded",
}

EPHEMERAL = {"type": "ephemeral"}
BYTES_PER_TOKEN = 4

Block = dict[str, Any]


def request_body(request: Request, model: str) -> dict[str, Any]:
    """Return the body of `request`. Cache breakpoints stand behind the system prompt and behind the last turn.

    No `temperature` and no prefilled answer: current models reject both.
    """
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": _turns(request.messages),
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": EPHEMERAL}]
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
    return body


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    written = [(message.role, _blocks(message)) for message in messages]
    turns = [(role, blocks) for role, blocks in written if blocks]  # the API refuses a turn without content
    if turns and turns[-1][0] == "user":
        *before, last = turns[-1][1]
        turns[-1] = ("user", [*before, {**last, "cache_control": EPHEMERAL}])
    return [{"role": role, "content": blocks} for role, blocks in turns]


def _blocks(message: Message) -> list[Block]:
    if isinstance(message.raw, Mapping) and RAW_KEY in message.raw:
        return list(message.raw[RAW_KEY])
    blocks: list[Block] = [
        {
            "type": "tool_result",
            "tool_use_id": result.call_id,
            "content": result.text or "(no output)",
            "is_error": result.is_error,
        }
        for result in message.tool_results
    ]
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        for call in message.tool_calls
    ]
    return blocks


class StreamedAnswer:
    """Collects the events of one stream. `stop_reason` is None until the server said why it stopped."""

    def __init__(self) -> None:
        self.stop_reason: str | None = None
        self.model = ""
        self.started = False
        self.ended = False
        self._blocks: dict[int, Block] = {}
        self._inputs: dict[int, str] = {}
        self._usage: dict[str, int] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event; kinds that are not known are ignored, as the API asks of its clients."""
        kind = event.get("type")
        if kind == "message_start":
            self.started = True
            message = event.get("message") or {}
            self.model = str(message.get("model") or "")
            self._count(message.get("usage"))
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._add_delta(event["index"], event["delta"])
        elif kind == "message_delta":
            self.stop_reason = (event.get("delta") or {}).get("stop_reason") or self.stop_reason
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.ended = True

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks[index]
        kind = delta.get("type")
        if kind == "text_delta":
            block["text"] = block.get("text", "") + delta["text"]
        elif kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
        elif kind == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
        elif kind == "signature_delta":
            block["signature"] = block.get("signature", "") + delta["signature"]
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        counts = {key: value for key, value in (usage or {}).items() if isinstance(value, int)}
        self._usage |= {key: max(0, value) for key, value in counts.items()}

    @property
    def text(self) -> str:
        """All text that arrived, in the order of the blocks."""
        return "".join(str(block.get("text") or "") for _, block in sorted(self._blocks.items()))

    def usage(self) -> Usage:
        """Return the tokens counted by the server; output that it did not count is estimated from its length."""
        output = self._usage.get("output_tokens", 0)
        if self.stop_reason is None or "output_tokens" not in self._usage:
            output = max(output, len(self.text.encode()) // BYTES_PER_TOKEN)
        return Usage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=output,
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
            requests=1,
        )

    def message(self) -> Message:
        """Return the assistant's turn. Only a stop for `tool_use` makes its tool calls whole, so only then has it any.

        Raises:
            ValueError: the arguments of a finished tool call are no JSON object.
        """
        blocks, calls = [], []
        for index, block in sorted(self._blocks.items()):
            if block.get("type") == "tool_use":
                if self.stop_reason != "tool_use":
                    continue
                block["input"] = self._arguments(index, block)
                calls.append(ToolCall(block["id"], block["name"], block["input"]))
            if _can_be_sent_back(block):
                blocks.append(block)
        return Message("assistant", self.text, tuple(calls), raw={RAW_KEY: blocks})

    def _arguments(self, index: int, block: Block) -> dict[str, Any]:
        written = self._inputs.get(index, "")
        arguments = json.loads(written) if written.strip() else block.get("input") or {}
        if not isinstance(arguments, dict):
            raise ValueError(f"the arguments of the tool call {block.get('name')} are no JSON object")
        return arguments


def _can_be_sent_back(block: Block) -> bool:
    """The API refuses blank text and thoughts without their signature; a cut answer can end with either."""
    if block.get("type") == "text":
        return bool(str(block.get("text") or "").strip())
    if block.get("type") == "thinking":
        return bool(block.get("signature"))
    return True
