"""The ports of an agent: a model to ask, a worktree to look at, a place to record, a clock.

Each has two to five methods and a shipped fake: `providers/scripted.py`, `recorder.MemoryRecorder`,
`clock.FakeClock`. Concrete classes don't inherit from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from autopilot_state.models import ArtifactRef, Usage

StopReason = Literal[
    "end_turn", "tool_use", "max_tokens", "refusal", "context_exceeded", "pause_turn", "stop_sequence"
]


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model asked for. `arguments` are checked by the tool, never trusted."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class ToolResult:
    """What a tool gave back, as text that is already capped and redacted."""

    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Message:
    """One turn. A user turn has text or tool results; an assistant turn has text and tool calls.

    `raw` holds the provider's own content blocks of an assistant turn (thinking, signatures), which some
    providers need back unchanged; other providers ignore it.
    """

    role: Literal["user", "assistant"]
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    raw: Any = None


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One call of a model. `system` comes first and is the same for all turns of a role, so it can be cached."""

    run: str
    unit: str
    role: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_tokens: int = 8192


@dataclass(frozen=True)
class Reply:
    """A whole answer: it has a stop reason. One without is `errors.AnswerIncomplete`."""

    message: Message
    stop_reason: StopReason
    usage: Usage
    model: str = ""


@dataclass(frozen=True)
class ModelLimits:
    """What a provider's model can take, in tokens. `context_window` None: not known, so no context % is shown."""

    model: str
    context_window: int | None
    max_output_tokens: int


class Provider(Protocol):
    """A way to reach a model."""

    name: str

    async def limits(self) -> ModelLimits:
        """Return the limits of the model in use."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Return one whole answer.

        Raises:
            ProviderUnavailable: asking again later may help.
            ProviderRefused: asking again can't help.
            AnswerIncomplete: the stream ended without a stop reason.
        """
        ...


class Recorder(Protocol):
    """Durable memory of one run, handed to everything that has side effects.

    A side effect has an operation id that is the same after every restart. `found` tells what an earlier
    life of this run recorded for it, so that it is found again rather than done again.
    """

    def found(self, op: str) -> Mapping[str, Any] | None:
        """Return the data of the `done` record of `op`, or None."""
        ...

    def done(self, op: str, unit: str, kind: str, data: Mapping[str, Any]) -> None:
        """Record durably that `op` is done; returns when the record can't be lost any more."""
        ...

    def note(self, unit: str, kind: str, data: Mapping[str, Any]) -> None:
        """Record a fact that no later step relies on (a warning, a step that began)."""
        ...

    def put_artifact(self, unit: str, name: str, content: bytes) -> ArtifactRef:
        """Store `content` durably under `artifacts/<unit>/<name>` and return its reference."""
        ...

    def get_artifact(self, ref: ArtifactRef) -> bytes:
        """Return the bytes of an artifact; raises `StorageError` when their hash is another than `ref` says."""
        ...


class Clock(Protocol):
    """Time as a value that tests can turn."""

    def now(self) -> float:
        """Return seconds since the epoch, for people."""
        ...

    def monotonic(self) -> float:
        """Return seconds for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Tool(Protocol):
    """Something a role may do: looks at arguments, does it, and answers with capped text."""

    spec: ToolSpec

    async def run(self, arguments: Mapping[str, Any]) -> str:
        """Return the text for the model. Raises an `AgentError` for what the model should be told."""
        ...
