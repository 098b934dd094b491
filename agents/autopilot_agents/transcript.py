"""Durable memory of one agent's talk: what a model said and what a tool gave back, found again after a restart."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from autopilot_agents.errors import AnswerIncomplete
from autopilot_agents.protocols import Message, Recorder, Reply, StopReason, ToolCall, ToolResult
from autopilot_state.models import ArtifactRef, Usage


@dataclass(frozen=True)
class Heard:
    """One answer as the loop sees it: whole ones, and those whose stream ended before its stop reason."""

    message: Message
    stop: StopReason | Literal["incomplete"]
    usage: Usage
    model: str = ""

    @property
    def is_cut(self) -> bool:
        return self.stop in ("max_tokens", "context_exceeded", "incomplete")

    @property
    def goes_on(self) -> bool:
        """There is something to do before an answer: tools to run, a pause to end, or a rest to ask for."""
        wants_tools = self.stop == "tool_use" and bool(self.message.tool_calls)
        return self.is_cut or wants_tools or self.stop == "pause_turn"

    @classmethod
    def of_reply(cls, reply: Reply) -> Heard:
        return cls(reply.message, reply.stop_reason, reply.usage, reply.model)

    @classmethod
    def of_incomplete(cls, error: AnswerIncomplete) -> Heard:
        return cls(Message("assistant", error.text), "incomplete", error.usage or Usage(requests=1))


class Transcript:
    """The records of one call of `run_role`: `<op>.t1`, its tool results `<op>.t1.r1`, `<op>.t1.r2`, `<op>.t2` …"""

    def __init__(self, recorder: Recorder, unit: str, op: str) -> None:
        self._recorder = recorder
        self._unit = unit
        self._op = op

    def find_reply(self, turn: int) -> Heard | None:
        """Return what the model answered in an earlier life, or None."""
        stored = self._find(f"{self._op}.t{turn}")
        return None if stored is None else _heard(stored)

    def keep_reply(self, turn: int, heard: Heard, *, max_tokens: int) -> None:
        """Store an answer; only then may it be acted on."""
        content = {
            "message": asdict(heard.message),
            "stop": heard.stop,
            "usage": heard.usage.model_dump(),
            "model": heard.model,
        }
        facts = {
            **heard.usage.model_dump(),
            "stop": heard.stop,
            "model": heard.model,
            "max_tokens": max_tokens,
        }
        self._keep(f"{self._op}.t{turn}", "model.reply", content, facts)

    def find_result(self, turn: int, position: int) -> ToolResult | None:
        """Return what a tool gave back in an earlier life, or None."""
        stored = self._find(f"{self._op}.t{turn}.r{position}")
        return None if stored is None else ToolResult(**stored)

    def keep_result(self, turn: int, position: int, name: str, result: ToolResult) -> None:
        """Store what a tool gave back."""
        op = f"{self._op}.t{turn}.r{position}"
        self._keep(op, "tool.result", asdict(result), {"tool": name[:80], "is_error": result.is_error})

    def _keep(self, op: str, kind: str, content: dict[str, Any], facts: dict[str, Any]) -> None:
        data = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()
        ref = self._recorder.put_artifact(self._unit, f"{op}.json", data)
        self._recorder.done(op, self._unit, kind, {"ref": ref.model_dump(), **facts})

    def _find(self, op: str) -> dict[str, Any] | None:
        found = self._recorder.found(op)
        if found is None:
            return None
        content = self._recorder.get_artifact(ArtifactRef.model_validate(found["ref"]))
        stored: dict[str, Any] = json.loads(content)
        return stored


def _heard(stored: dict[str, Any]) -> Heard:
    message = stored["message"]
    return Heard(
        message=Message(
            role=message["role"],
            text=message["text"],
            tool_calls=tuple(ToolCall(**call) for call in message["tool_calls"]),
            raw=message["raw"],
        ),
        stop=stored["stop"],
        usage=Usage.model_validate(stored["usage"]),
        model=stored["model"],
    )
