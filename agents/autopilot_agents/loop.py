"""One agent's loop: ask the model, store what it said, act on it, until there is an answer.

Everything is stored before it is acted on, under an id that is the same after a restart. A loop that begins again
therefore goes through its first life's answers and tool results without a single call, and goes on where that ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autopilot_agents.budget import continuation
from autopilot_agents.errors import AnswerIncomplete
from autopilot_agents.gate import Gate
from autopilot_agents.protocols import Message, ModelLimits, Provider, Recorder, Request
from autopilot_agents.roles import Role
from autopilot_agents.tool_calls import ToolBox
from autopilot_agents.transcript import Heard, Transcript
from autopilot_state.models import Usage


@dataclass(frozen=True)
class RoleAnswer:
    """What a role came to. `refused`: `turns` when its turns were used up, `refusal` when the model would not.

    `cut` says that the answer still lacks its end; `text` is then what of it is complete.
    """

    text: str
    cut: bool
    usage: Usage
    context_pct: float | None
    turns: int
    refused: str | None


async def run_role(
    role: Role,
    prompt: str,
    *,
    run: str,
    unit: str,
    op: str,
    gate: Gate,
    provider: Provider,
    recorder: Recorder,
    on_context: Callable[[float], None] | None = None,
) -> RoleAnswer:
    """Return the answer of `role` to `prompt`.

    Args:
        role: prompt, tools and limits.
        prompt: the first turn.
        run: id of the run, for the provider's headers.
        unit: id of the unit, which the records belong to.
        op: id of this step, the same after every restart; all records derive theirs from it.
        gate: of the provider, shared with all other workers.
        provider: the model.
        recorder: where replies and results are stored, and found again.
        on_context: told how full the context window is after each answer, in percent.

    Raises:
        ProviderUnavailable: the gate has waited as long as it may; the unit parks.
        ProviderRefused: asking again can't help.
    """
    talk = _Talk(role, prompt, run, unit, gate, provider, await gate.limits(provider))
    transcript = Transcript(recorder, unit, op)
    tools = ToolBox(role.tools)
    turn = 0
    while True:
        turn += 1
        heard = transcript.find_reply(turn)
        if heard is None:
            heard = await talk.ask()
            transcript.keep_reply(turn, heard, max_tokens=talk.max_tokens)
        talk.hear(heard)
        if on_context is not None and talk.context_pct is not None:
            on_context(talk.context_pct)
        if heard.is_cut and talk.has_ended():
            return talk.answer(turn)
        if heard.is_cut and not talk.may_go_on(heard):
            return talk.answer(turn, cut=True)
        if heard.stop == "refusal":
            return talk.answer(turn, refused="refusal")
        if not heard.goes_on:
            return talk.answer(turn)
        if turn >= role.max_turns:
            return talk.answer(turn, cut=heard.is_cut or talk.continuations > 0, refused="turns")

        if heard.is_cut:
            talk.go_on(heard)
        elif heard.stop == "pause_turn":
            talk.messages.append(heard.message)
        else:
            await _use_tools(talk, tools, transcript, turn, heard)


async def _use_tools(talk: _Talk, tools: ToolBox, transcript: Transcript, turn: int, heard: Heard) -> None:
    results = []
    for position, call in enumerate(heard.message.tool_calls, start=1):
        result = transcript.find_result(turn, position)
        if result is None:
            result = await tools.run(call)
            transcript.keep_result(turn, position, call.name, result)
        results.append(tools.count(call, result))
    talk.messages += [heard.message, Message("user", tool_results=tuple(results))]


class _Talk:
    """The turns so far, and what of the answer is complete."""

    def __init__(
        self,
        role: Role,
        prompt: str,
        run: str,
        unit: str,
        gate: Gate,
        provider: Provider,
        limits: ModelLimits,
    ) -> None:
        self.messages = [Message("user", prompt)]
        self.continuations = 0
        self.max_tokens = min(role.max_tokens, limits.max_output_tokens)
        self.context_pct: float | None = None
        self._ids = (run, unit)
        self._role = role
        self._gate = gate
        self._provider = provider
        self._limits = limits
        self._kept = ""
        self._text = ""
        self._paused = ""
        self._usage = Usage()

    async def ask(self) -> Heard:
        run, unit = self._ids
        request = Request(
            run=run,
            unit=unit,
            role=self._role.name,
            system=self._role.system,
            messages=tuple(self.messages),
            tools=tuple(tool.spec for tool in self._role.tools),
            max_tokens=self.max_tokens,
        )
        try:
            return Heard.of_reply(await self._gate.call(self._provider, request))
        except AnswerIncomplete as incomplete:
            return Heard.of_incomplete(incomplete)

    def hear(self, heard: Heard) -> None:
        """Count `heard`, and join its text to what is kept."""
        self._usage += heard.usage
        window = self._limits.context_window
        if window and heard.usage.context_tokens:
            self.context_pct = 100 * heard.usage.context_tokens / window
        part = self._paused + heard.message.text
        self._paused = part if heard.stop == "pause_turn" else ""
        self._text = continuation.join_parts(self._kept, part, whole=not heard.is_cut)

    def has_ended(self) -> bool:
        """Say whether a cut reply lacks nothing: it was cut after its end line."""
        return continuation.has_ended(self._text)

    def may_go_on(self, heard: Heard) -> bool:
        """Say whether asking once more may bring the rest."""
        if heard.stop == "context_exceeded" and not continuation.is_edit_answer(self._text):
            return False  # the same request would fill the window in the same way
        return self.continuations < continuation.MAX_CONTINUATIONS

    def go_on(self, heard: Heard) -> None:
        """Ask for what the cut reply lacks, with more room."""
        self.continuations += 1
        self.max_tokens = continuation.next_budget(self.max_tokens, self._limits.max_output_tokens)
        if not continuation.is_edit_answer(self._text):
            self.messages.append(Message("user", continuation.ASK_AGAIN))
            return
        if heard.stop != "context_exceeded":  # what did not fit once would not fit again
            added = self._text.removeprefix(self._kept)
            self.messages += [Message("assistant", added)] if added else []
        self._kept = self._text
        self.messages.append(Message("user", continuation.ask_for_rest(self._kept)))

    def answer(self, turns: int, *, cut: bool = False, refused: str | None = None) -> RoleAnswer:
        return RoleAnswer(self._text, cut, self._usage, self.context_pct, turns, refused)
