"""One agent's loop: answers, tools, cut answers, and going on after a restart."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autopilot_agents.clock import FakeClock
from autopilot_agents.edits.ndjson import parse_answer
from autopilot_agents.errors import (
    AnswerIncomplete,
    CommandRefused,
    ProviderRefused,
    ProviderUnavailable,
    SandboxUnavailable,
)
from autopilot_agents.gate import Gate
from autopilot_agents.loop import RoleAnswer, run_role
from autopilot_agents.protocols import Message, ModelLimits, Reply, Request, ToolCall, ToolSpec
from autopilot_agents.providers.scripted import ScriptedProvider
from autopilot_agents.recorder import MemoryRecorder
from autopilot_agents.roles import Role
from autopilot_state.models import Usage

pytestmark = pytest.mark.anyio

USAGE = Usage(input_tokens=100, output_tokens=10, cache_read_tokens=400, requests=1)
LIMITS = ModelLimits("m", 1000, 20_000)


READ = ToolSpec(
    "read",
    "Reads a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    },
)


class Died(BaseException):
    """Stands for a process that ends at this point."""


@dataclass
class Reader:
    """A tool that reads `files`, counts how often it ran, and can die before it answers."""

    files: Mapping[str, str]
    ran: list[str] = field(default_factory=list)
    dies_on: str | None = None
    spec: ToolSpec = READ

    async def run(self, arguments: Mapping[str, Any]) -> str:
        path = arguments["path"]
        self.ran.append(path)
        if path == self.dies_on:
            raise Died
        if path == "value":
            raise ValueError("lines must be at most 200")
        if path not in self.files:
            raise CommandRefused("AP330", f"{path} is not there", why="never was", fix="look elsewhere")
        return self.files[path]


def says(text: str, stop: str = "end_turn", usage: Usage = USAGE) -> Reply:
    return Reply(Message("assistant", text), stop, usage, "m")  # type: ignore[arg-type]


def calls(*wanted: Mapping[str, Any], name: str = "read", text: str = "") -> Reply:
    made = tuple(ToolCall(f"c{n}", name, arguments) for n, arguments in enumerate(wanted))
    raw = {"anthropic": [{"type": "tool_use", "id": call.id} for call in made]}
    return Reply(Message("assistant", text, made, raw=raw), "tool_use", USAGE, "m")


def role(*tools: Any, max_turns: int = 20, max_tokens: int = 4000) -> Role:
    return Role("builder", "SYSTEM", tools, max_turns, max_tokens)


async def go(
    provider: ScriptedProvider,
    recorder: MemoryRecorder | None = None,
    *tools: Any,
    seen: list[float] | None = None,
    **fields: Any,
) -> RoleAnswer:
    gate = Gate(
        name="scripted", in_flight=1, clock=FakeClock(), on_notice=lambda _line: None, rng=random.Random(1)
    )
    return await run_role(
        role(*tools, **fields),
        "PROMPT",
        run="a3f9",
        unit="20a",
        op="20a.a1.build1",
        gate=gate,
        provider=provider,
        recorder=recorder or MemoryRecorder(),
        on_context=None if seen is None else seen.append,
    )


def scripted(*answers: Any, limits: ModelLimits = LIMITS) -> ScriptedProvider:
    return ScriptedProvider({"builder": answers}, limits=limits)


def results(provider: ScriptedProvider, request: int) -> Sequence[Any]:
    return provider.requests[request].messages[-1].tool_results


async def test_an_answer_at_once_is_the_answer() -> None:
    """Text, usage, turns, and how full the window is: cache reads count."""
    seen: list[float] = []
    provider = scripted(says("all done"))
    answer = await go(provider, seen=seen)
    assert answer == RoleAnswer("all done", False, USAGE, 50.0, 1, None)
    assert seen == [50.0]
    [asked] = provider.requests
    assert (asked.run, asked.unit, asked.role, asked.system, asked.max_tokens) == (
        "a3f9",
        "20a",
        "builder",
        "SYSTEM",
        4000,
    )
    assert asked.messages == (Message("user", "PROMPT"),)


async def test_without_a_known_window_there_is_no_percentage() -> None:
    """It is not guessed."""
    seen: list[float] = []
    answer = await go(scripted(says("x"), limits=ModelLimits("m", None, 9000)), seen=seen)
    assert (answer.context_pct, seen) == (None, [])


async def test_the_output_never_exceeds_what_the_model_can_give() -> None:
    """A role may ask for more than the model has."""
    provider = scripted(says("x"))
    await go(provider, max_tokens=90_000)
    assert provider.requests[0].max_tokens == 20_000


async def test_tools_run_in_order_and_their_results_go_back() -> None:
    """The assistant's own blocks come back unchanged, and one turn holds all results."""
    reader = Reader({"a": "A", "b": "B"})
    provider = scripted(calls({"path": "a"}, {"path": "b"}), says("done"))
    answer = await go(provider, None, reader)
    assert (answer.text, answer.turns, answer.usage.requests) == ("done", 2, 2)
    assert reader.ran == ["a", "b"]
    assistant = provider.requests[1].messages[1]
    assert assistant.raw == {
        "anthropic": [{"type": "tool_use", "id": "c0"}, {"type": "tool_use", "id": "c1"}]
    }
    assert [(r.call_id, r.text, r.is_error) for r in results(provider, 1)] == [
        ("c0", "A", False),
        ("c1", "B", False),
    ]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (calls({"path": "a"}, name="rm"), "There is no tool rm. The tools are: read."),
        (calls({}), "read was not run: the argument path is missing."),
        (calls({"path": 3}), "read was not run: the argument path must be of type string."),
        (
            calls({"path": "a", "lines": True}),
            "read was not run: the argument lines must be of type integer.",
        ),
        (calls({"path": "a", "x": 1}), "read was not run: there is no argument x; there are path, lines."),
        (calls({"path": "gone"}), "AP330 gone is not there\nnever was\nlook elsewhere"),
        (calls({"path": "value"}), "read can't use these arguments: lines must be at most 200"),
    ],
)
async def test_a_call_that_can_not_be_run_is_told_to_the_model(reply: Reply, told: str) -> None:
    """A wrong tool, wrong arguments and a tool's own refusal are results, and the talk goes on."""
    provider = scripted(reply, says("then not"))
    assert (await go(provider, None, Reader({"a": "A"}))).text == "then not"
    [result] = results(provider, 1)
    assert (result.text, result.is_error) == (told, True)


async def test_what_the_model_can_not_help_ends_the_role() -> None:
    """Without a sandbox no command runs at all; that is for a person."""

    class Boxed(Reader):
        async def run(self, arguments: Mapping[str, Any]) -> str:
            raise SandboxUnavailable("AP610", "no sandbox")

    with pytest.raises(SandboxUnavailable):
        await go(scripted(calls({"path": "a"})), None, Boxed({}))


async def test_the_same_failing_call_is_stopped_at_the_third_time() -> None:
    """The model is told to plan anew, and a fourth time the tool isn't run at all."""
    reader = Reader({"a": "A"})
    provider = scripted(*[calls({"path": "gone"})] * 5, calls({"path": "a"}), says("ok"))
    await go(provider, None, reader)
    assert reader.ran == ["gone"] * 3 + ["a"]
    told = ["has now failed 3 times" in results(provider, n)[0].text for n in range(1, 7)]
    assert told == [False, False, True, True, True, False]


async def test_a_call_that_worked_in_between_begins_its_count_anew() -> None:
    """Only failures in a row count."""
    files = {"late": ""}
    reader = Reader(files)

    class Flaky(Reader):
        async def run(self, arguments: Mapping[str, Any]) -> str:
            if len(reader.ran) in (0, 1, 3, 4):
                reader.ran.append("late")
                raise CommandRefused("AP330", "not yet")
            return await reader.run(arguments)

    provider = scripted(*[calls({"path": "late"})] * 5, says("ok"))
    await go(provider, None, Flaky(files))
    assert not any("has now failed" in results(provider, n)[0].text for n in range(1, 6))
    assert len(reader.ran) == 5


async def test_turns_are_capped_and_what_there_is_comes_back() -> None:
    """The tools of the last turn are not run: nobody would read what they say."""
    reader = Reader({"a": "A"})
    answer = await go(scripted(*[calls({"path": "a"}, text="looking")] * 9), None, reader, max_turns=3)
    assert (answer.refused, answer.turns, answer.text, answer.cut) == ("turns", 3, "looking", False)
    assert len(reader.ran) == 2


async def test_a_refusal_of_the_model_is_an_answer_of_its_own_kind() -> None:
    """It is not taken for a result."""
    answer = await go(scripted(says("I can't", "refusal")))
    assert (answer.refused, answer.text) == ("refusal", "I can't")


async def test_a_pause_goes_on_and_loses_no_text() -> None:
    """What was said before the pause belongs to the answer."""
    provider = scripted(says("one ", "pause_turn"), says("two"))
    assert (await go(provider)).text == "one two"
    assert provider.requests[1].messages[-1].text == "one "


@pytest.mark.parametrize(
    "error", [ProviderRefused("AP310", "no"), ProviderUnavailable("AP302", "no", retry_after_s=1)]
)
async def test_a_provider_that_stays_away_reaches_the_caller(error: Exception) -> None:
    """The unit parks; nothing was recorded as an answer."""
    recorder = MemoryRecorder()
    with pytest.raises(type(error)):
        await go(scripted(*[error] * 3700), recorder)
    assert recorder.records == {}


# Restarts


async def test_everything_is_stored_before_it_is_acted_on() -> None:
    """When the tool dies, the reply that asked for it is there already, with its figures."""
    recorder = MemoryRecorder()
    with pytest.raises(Died):
        await go(scripted(calls({"path": "a"})), recorder, Reader({}, dies_on="a"))
    [(op, data)] = recorder.records.items()
    assert op == "20a.a1.build1.t1"
    assert (data["stop"], data["input_tokens"], data["cache_read_tokens"]) == ("tool_use", 100, 400)
    assert recorder.notes == [("20a", "model.reply", data)]


STORY = (
    calls({"path": "a"}, {"path": "b"}, text="I look."),
    calls({"path": "gone"}),
    says('{"type":"meta","total_operations":2}\n{"type":"delete_file","file_path":"a"}\n{"ty', "max_tokens"),
    AnswerIncomplete("AP305", "half", text='{"type":"del', usage=USAGE),
    says('{"type":"delete_file","file_path":"b"}\n{"type":"end"}\n'),
)


class Mortal(MemoryRecorder):
    """A recorder whose process dies right after record number `lives`."""

    def __init__(self, lives: int) -> None:
        super().__init__()
        self.lives = lives

    def done(self, op: str, unit: str, kind: str, data: Mapping[str, Any]) -> None:
        super().done(op, unit, kind, json.loads(json.dumps(data)))
        if len(self.records) == self.lives:
            raise Died


@pytest.mark.parametrize("lives", range(1, 9))
async def test_a_restart_pays_for_nothing_twice(lives: int) -> None:
    """Wherever it dies after a record, the next life asks only what is missing and gives the same answer."""
    unbroken = await go(scripted(*STORY), None, Reader({"a": "A", "b": "B"}))
    recorder, reader = Mortal(lives), Reader({"a": "A", "b": "B"})
    first = scripted(*STORY)
    with pytest.raises(Died):
        await go(first, recorder, reader)
    second = scripted(*STORY[len(first.requests) :])
    assert await go(second, recorder, reader) == unbroken
    assert len(first.requests) + len(second.requests) == len(STORY)
    assert reader.ran == ["a", "b", "gone"]
    unbroken_provider = scripted(*STORY)
    await go(unbroken_provider, None, Reader({"a": "A", "b": "B"}))
    assert [r.messages for r in [*first.requests, *second.requests]] == [
        r.messages for r in unbroken_provider.requests
    ]


async def test_a_finished_role_is_told_again_without_a_call() -> None:
    """The answer comes from the records alone."""
    recorder, reader = MemoryRecorder(), Reader({"a": "A", "b": "B"})
    answer = await go(scripted(*STORY), recorder, reader)
    assert await go(scripted(), recorder, reader) == answer
    assert len(reader.ran) == 3


# Cut answers

META = '{"type":"meta","summary":"s","total_operations":3}\n'
END = '{"type":"end"}\n'


def delete(name: str) -> str:
    return json.dumps({"type": "delete_file", "file_path": name}) + "\n"


async def test_the_rest_of_a_cut_answer_is_asked_for_in_a_new_turn_with_more_room() -> None:
    """No prefill: the complete lines stand in the model's turn, the request in the user's."""
    provider = scripted(
        says(META + delete("a") + '{"type":"del', "max_tokens"), says(delete("b") + delete("c") + END)
    )
    answer = await go(provider)
    assert answer.text == META + delete("a") + delete("b") + delete("c") + END
    assert (answer.cut, answer.turns) == (False, 2)
    assistant, user = provider.requests[1].messages[-2:]
    assert (assistant.role, assistant.text) == ("assistant", META + delete("a"))
    assert user.role == "user"
    assert "1 of 3 done, go on with operation 2.\nDone:\n1 delete_file a\n" in user.text
    assert [r.max_tokens for r in provider.requests] == [4000, 6000]


async def test_a_full_window_is_not_filled_further() -> None:
    """What is done is named, not repeated in full."""
    provider = scripted(says(META + delete("a"), "context_exceeded"), says(delete("b") + delete("c") + END))
    assert (await go(provider)).cut is False
    assert [m.role for m in provider.requests[1].messages] == ["user", "user"]


async def test_a_full_window_without_any_operation_is_not_tried_again() -> None:
    """The same request would end in the same way."""
    answer = await go(scripted(says("thinking aloud", "context_exceeded")))
    assert (answer.cut, answer.turns) == (True, 1)


async def test_an_incomplete_stream_is_continued_and_its_cost_counts() -> None:
    """What arrived whole is kept; what it cost is not forgotten."""
    half = AnswerIncomplete("AP305", "half", text=META + delete("a") + '{"type"', usage=USAGE)
    answer = await go(scripted(half, says(delete("b") + delete("c") + END)))
    assert len(parse_answer(answer.text, final=True).operations) == 3
    assert answer.usage.requests == 2


async def test_after_three_continuations_it_is_cut() -> None:
    """What is complete comes back, and the caller takes the next rung."""
    provider = scripted(*[says(META + delete(n) + '{"ty', "max_tokens") for n in "abcd"])
    answer = await go(provider)
    assert (answer.cut, answer.turns, answer.refused) == (True, 4, None)
    assert answer.text == META + "".join(delete(n) for n in "abcd")
    assert [r.max_tokens for r in provider.requests] == [4000, 6000, 9000, 13_500]


async def test_a_cut_behind_the_end_line_is_no_cut() -> None:
    """Nothing is missing, so nothing is asked."""
    answer = await go(scripted(says(META + delete("a") + END + "And so", "max_tokens")))
    assert (answer.cut, answer.turns) == (False, 1)


async def test_a_cut_answer_of_another_form_is_asked_for_again_as_a_whole() -> None:
    """Half a plan is no plan; the second answer stands alone."""
    plan = '{"deliverables": []}'
    provider = scripted(says('{"deliverables": [', "max_tokens"), says(plan))
    answer = await go(provider)
    assert (answer.text, answer.cut) == (plan, False)
    assert "from the beginning" in provider.requests[1].messages[-1].text


async def test_tools_between_the_parts_lose_nothing() -> None:
    """A model may look again before it goes on."""
    provider = scripted(
        says(META + delete("a"), "max_tokens"),
        calls({"path": "a"}, text="Let me look.\n"),
        says(delete("b") + delete("c") + END),
    )
    answer = await go(provider, None, Reader({"a": "A"}))
    assert answer.text == META + delete("a") + delete("b") + delete("c") + END


async def test_a_cut_answer_at_the_last_turn_is_still_cut() -> None:
    """Turns and continuations have separate limits; both are said."""
    answer = await go(scripted(says(META + delete("a"), "max_tokens")), max_turns=1)
    assert (answer.cut, answer.refused) == (True, "turns")


class CuttingModel:
    """Means `lines`, goes on where it is asked to, and is cut at the given bytes of its answers."""

    def __init__(self, lines: Sequence[str], cuts: Sequence[int], repeats_meta: bool) -> None:
        self.lines = lines
        self.cuts = list(cuts)
        self.repeats_meta = repeats_meta

    def __call__(self, request: Request) -> Reply:
        asked = request.messages[-1].text
        begins_anew = " done, go on with operation " not in asked
        at = 0 if begins_anew else int(asked.split("go on with operation ")[1].split(".")[0]) - 1
        total = json.dumps({"type": "meta", "total_operations": len(self.lines)}) + "\n"
        head = total if begins_anew or self.repeats_meta else ""
        answer = (head + "".join(self.lines[at:]) + END).encode()
        if not self.cuts:
            return says(answer.decode())
        cut = self.cuts.pop(0) % len(answer)
        return says(answer[:cut].decode(errors="ignore"), "max_tokens")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.lists(st.text(max_size=30), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 2000), max_size=3),
    repeats_meta=st.booleans(),
)
async def test_no_cut_loses_duplicates_or_invents_an_operation(
    contents: list[str], cuts: list[int], repeats_meta: bool
) -> None:
    """Cut at any bytes up to three times, the set that arrives is the set that was meant."""
    lines = [
        json.dumps({"type": "create", "file_path": f"f{n}", "content": text}) + "\n"
        for n, text in enumerate(contents)
    ]
    provider = ScriptedProvider(CuttingModel(lines, cuts, repeats_meta), limits=LIMITS)
    answer = await go(provider)
    parsed = parse_answer(answer.text, final=True)
    assert list(parsed.raw_lines) == [line.strip() for line in lines]
    assert (parsed.total, parsed.rejected, answer.cut) == (len(lines), (), False)
