"""The provider that needs no model: it plans by rule and builds by a search, run as one command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.lowlevel

import autopilot_agents
from autopilot_agents.brief import Brief, BriefCheck
from autopilot_agents.errors import ProviderRefused
from autopilot_agents.protocols import Message, ModelLimits, Reply, Request, StopReason, ToolCall
from autopilot_state.models import Usage

from .operations import answer
from .planning import plan_for
from .spec import MAX_CANDIDATES, Spec, encode

MODEL = "repair-search"
BYTES_PER_TOKEN = 4
MAX_SPEC_CHARS = 60_000
_LIMITS = ModelLimits(model=MODEL, context_window=None, max_output_tokens=64_000)
_SEARCH_MODULE = "autopilot_agents.providers.offline.search"


class OfflineProvider:
    """Plays planner, builder and aligner. Without a brief, or in another role, it refuses."""

    name = "offline"

    def __init__(self, *, workers: int, max_candidates: int = MAX_CANDIDATES) -> None:
        self._workers = workers
        self._max_candidates = max_candidates

    async def limits(self) -> ModelLimits:
        """Return the limits: no context window, because nothing is kept in one."""
        return _LIMITS

    async def complete(self, request: Request) -> Reply:
        """Return the plan, the next tool call, or the edit operations.

        Raises:
            ProviderRefused: AP320, the role needs a model; AP321, there is no brief to work from.
        """
        await anyio.lowlevel.checkpoint()
        if request.role == "aligner":
            return _text(request, answer("nothing to align: the search edits one cause at a time", []))
        if request.role not in ("planner", "builder"):
            raise ProviderRefused(
                "AP320",
                f"the offline provider can't play the role {request.role}",
                why="offline plays planner and builder only",
                fix="configure a provider with a model, or a playbook without this role",
            )
        brief = _brief_of(request)
        if request.role == "planner":
            return _text(request, plan_for(brief).model_dump_json(exclude_defaults=True))
        return self._build(request, brief)

    def _build(self, request: Request, brief: Brief) -> Reply:
        results = [result.text for message in request.messages for result in message.tool_results]
        if not results:
            command = search_command(brief, workers=self._workers, max_candidates=self._max_candidates)
            if command is None:
                return _text(request, answer(f"no repair: {_why_not(brief)}", []))
            return _call(request, [ToolCall("search-1", "shell", {"command": command})])
        found = _operations_in(results)
        if found is None:
            return _text(request, answer(f"no repair: {_last_line(results[0])}", []))
        unread = _to_read(found) if len(results) == 1 and _has_tool(request, "read_file") else []
        return _call(request, unread) if unread else _text(request, "\n".join(found) + "\n")


def search_command(brief: Brief, *, workers: int, max_candidates: int = MAX_CANDIDATES) -> str | None:
    """Return the shell command that searches for a repair of the brief's red checks, or None if it can't."""
    red = [check for check in brief.checks if _is_red(check)]
    if not red or not brief.python:
        return None
    failing = tuple(dict.fromkeys(test for check in red for test in _goal_of(check)))
    if any(not check.failing for check in red):
        failing = ()  # one of them names no tests: all that is red in the commands is searched for
    spec = _spec(brief, red, failing, workers, max_candidates)
    if len(encode(spec)) > MAX_SPEC_CHARS:
        spec = _spec(brief, red, (), workers, max_candidates)
    root = Path(autopilot_agents.__file__).resolve().parent.parent
    # Hash order may decide about a test; a fixed seed finds the same repair again.
    return (
        f"PYTHONHASHSEED=0 PYTHONPATH='{root}'${{PYTHONPATH:+:$PYTHONPATH}} "
        f"{brief.python} -m {_SEARCH_MODULE} --spec {encode(spec)}"
    )


def _spec(
    brief: Brief, red: list[BriefCheck], failing: tuple[str, ...], workers: int, max_candidates: int
) -> Spec:
    return Spec(
        command=red[0].command,
        commands=tuple(dict.fromkeys(check.command for check in (*red[1:], *brief.checks))),
        failing=failing,
        touches=brief.touches,
        max_candidates=max_candidates,
        workers=workers,
        skip_accepted=brief.cycle,
    )


def _is_red(check: BriefCheck) -> bool:
    return bool(_goal_of(check)) or (not check.tests and not check.failing and bool(check.exit_code))


def _goal_of(check: BriefCheck) -> list[str]:
    """Return the red tests that this unit answers for; the others may belong to a sibling."""
    return [test for test in check.failing if not check.tests or test in check.tests]


def _why_not(brief: Brief) -> str:
    if not brief.python:
        return "the checks are no Python tests, and the offline provider repairs only by Python tests"
    return "no check of this unit is red, so there are no tests to search with"


def _brief_of(request: Request) -> Brief:
    for message in reversed(request.messages):
        brief = Brief.find(message.text) if message.role == "user" else None
        if brief is not None:
            return brief
    raise ProviderRefused(
        "AP321",
        "the request holds no brief",
        why="the offline provider works from the brief alone",
        fix="this is a bug of Autopilot's; please report it",
    )


def _operations_in(results: list[str]) -> list[str] | None:
    """Return the lines of the answer in a tool result, from the one that introduces it to its end."""
    for text in results:
        lines = text.splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith('{"type": "meta"')]
        ends = [i for i, line in enumerate(lines) if line == '{"type": "end"}']
        if starts and ends and ends[-1] > starts[-1]:
            return [line for line in lines[starts[-1] : ends[-1] + 1] if line.startswith("{")]
    return None


def _to_read(lines: list[str]) -> list[ToolCall]:
    """Return the calls that show the lines which are edited: a file is edited only after it was shown."""
    calls = []
    for number, operation in enumerate(_replacements(lines), start=1):
        place = {
            "path": operation["file_path"],
            "start": operation["start_line"],
            "end": operation["end_line"],
        }
        calls.append(ToolCall(f"read-{number}", "read_file", place))
    return calls


def _replacements(lines: list[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        operation = json.loads(line)
        if operation["type"] == "replace":
            yield operation


def _has_tool(request: Request, name: str) -> bool:
    return any(tool.name == name for tool in request.tools)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f"the search ended without an answer: {lines[-1][:160]}" if lines else "the search said nothing"


def _call(request: Request, calls: list[ToolCall]) -> Reply:
    return _reply(request, Message("assistant", tool_calls=tuple(calls)), "tool_use")


def _text(request: Request, text: str) -> Reply:
    return _reply(request, Message("assistant", text), "end_turn")


def _reply(request: Request, message: Message, stop_reason: StopReason) -> Reply:
    given = len(request.system) + sum(_size(item) for item in request.messages)
    usage = Usage(
        input_tokens=-(-given // BYTES_PER_TOKEN),
        output_tokens=-(-_size(message) // BYTES_PER_TOKEN),
        requests=1,
    )
    return Reply(message, stop_reason, usage, MODEL)


def _size(message: Message) -> int:
    calls = sum(len(json.dumps(dict(call.arguments))) for call in message.tool_calls)
    return len(message.text) + calls + sum(len(result.text) for result in message.tool_results)
