"""One tool call from its arguments to a text for the model. What goes wrong is told to the model, never raised."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from autopilot_agents.errors import AgentError, ProviderError, SandboxUnavailable
from autopilot_agents.protocols import Tool, ToolCall, ToolResult

MAX_SAME_FAILURES = 3
REPLAN = (
    f"This same call has now failed {MAX_SAME_FAILURES} times. Stop: it is not run again. "
    "Say what you have learned from it, and take another way."
)

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


class ToolBox:
    """Runs the tools of one role, and refuses a call that failed the same way too often."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._failures: Counter[str] = Counter()

    async def run(self, call: ToolCall) -> ToolResult:
        """Return the result of `call`, an error result included.

        Raises:
            ProviderError: a tool that asks a model itself could not.
            SandboxUnavailable: no command can run at all.
        """
        if self._failures[_fingerprint(call)] >= MAX_SAME_FAILURES:
            return ToolResult(call.id, REPLAN, is_error=True)
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            return ToolResult(
                call.id, f"There is no tool {call.name}. The tools are: {known}.", is_error=True
            )
        problem = argument_problem(tool.spec.schema, call.arguments)
        if problem:
            return ToolResult(call.id, f"{call.name} was not run: {problem}.", is_error=True)
        return await _run(tool, call)

    def count(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return `result`, with the advice to plan anew when this call has failed too often. Also for found results."""
        key = _fingerprint(call)
        if not result.is_error:
            del self._failures[key]
            return result
        self._failures[key] += 1
        if self._failures[key] != MAX_SAME_FAILURES:
            return result
        return ToolResult(result.call_id, f"{result.text}\n\n{REPLAN}", is_error=True)


async def _run(tool: Tool, call: ToolCall) -> ToolResult:
    try:
        return ToolResult(call.id, await tool.run(call.arguments))
    except (ProviderError, SandboxUnavailable):
        raise  # nothing that the model could do about it
    except AgentError as error:
        parts = (f"{error.code} {error.what}", error.why, error.fix)
        return ToolResult(call.id, "\n".join(part for part in parts if part), is_error=True)
    except ValueError as error:  # a tool's own check of its arguments
        return ToolResult(call.id, f"{call.name} can't use these arguments: {error}"[:2000], is_error=True)


def argument_problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with the names and plain types of `arguments`, or nothing; values are the tool's to judge."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        return f"the argument {missing[0]} is missing"
    for name, value in arguments.items():
        if name not in properties:
            if schema.get("additionalProperties", True) is False:
                return f"there is no argument {name}; there are {', '.join(properties) or 'none'}"
            continue
        wanted = properties[name].get("type")
        if isinstance(wanted, str) and wanted in _TYPES and not _is(value, wanted):
            return f"the argument {name} must be of type {wanted}"
    return ""


def _is(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _fingerprint(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, default=str)}"
