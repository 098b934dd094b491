"""A provider whose answers are written down beforehand: the shipped fake of `protocols.Provider`.

The answers of one key come in their order, whatever else runs beside it, so a test with many workers stays
deterministic. A script that has run out is an error which names its key, never an empty answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import anyio.lowlevel

from autopilot_agents.errors import ProviderRefused
from autopilot_agents.protocols import Message, ModelLimits, Reply, Request
from autopilot_state.models import Usage

Answer = Reply | str | Exception | Callable[[Request], Reply | str]
Script = Mapping[str, Sequence[Answer]] | Callable[[Request], Reply | str]

SCRIPTED_LIMITS = ModelLimits(model="scripted", context_window=200_000, max_output_tokens=64_000)
BYTES_PER_TOKEN = 4


class ScriptedProvider:
    """Answers from a script with a list for each key: `unit/role`, else `role`; or by calling a function.

    A `str` is a whole answer with the stop reason `end_turn`; an exception is raised. `requests` keeps what was asked.
    """

    name = "scripted"

    def __init__(self, answers: Script, *, limits: ModelLimits = SCRIPTED_LIMITS) -> None:
        self.requests: list[Request] = []
        self._answers = answers
        self._limits = limits
        self._used: Counter[str] = Counter()

    async def limits(self) -> ModelLimits:
        return self._limits

    async def complete(self, request: Request) -> Reply:
        await anyio.lowlevel.checkpoint()
        self.requests.append(request)
        answer = self._next(request)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
        return whole_answer(answer, request) if isinstance(answer, str) else answer

    def _next(self, request: Request) -> Answer:
        if callable(self._answers):
            return self._answers
        key = _key(self._answers, request)
        script, at = self._answers.get(key, ()), self._used[key]
        if at >= len(script):
            raise ProviderRefused(
                "AP399",
                f"the script has no answer left for {request.unit}/{request.role}",
                why=f"key {key!r} holds {len(script)} answers, and all were given",
                fix=f"add an answer to the script under {request.unit}/{request.role} or {request.role}",
            )
        self._used[key] += 1
        return script[at]


def whole_answer(text: str, request: Request) -> Reply:
    """Return `text` as a finished answer, with a usage that follows from the lengths alone."""
    asked = len(request.system) + sum(_length(message) for message in request.messages)
    usage = Usage(
        input_tokens=asked // BYTES_PER_TOKEN + 1, output_tokens=len(text) // BYTES_PER_TOKEN + 1, requests=1
    )
    return Reply(Message("assistant", text), "end_turn", usage, model="scripted")


def _key(answers: Mapping[str, Sequence[Answer]], request: Request) -> str:
    exact = f"{request.unit}/{request.role}"
    return exact if exact in answers else request.role


def _length(message: Message) -> int:
    return len(message.text) + sum(len(result.text) for result in message.tool_results)
