"""`autopilot schema NAME`: the JSON schemas of what autopilot reads and writes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from autopilot.cli.result import Result

Schema = dict[str, Any]


def schema(args: argparse.Namespace) -> Result:
    """Print a format's JSON schema."""
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[args.name]()}
    return Result(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode().splitlines(), found)


def _outcome() -> Schema:
    from autopilot_state.models import Outcome

    return Outcome.model_json_schema()


def _roadmap() -> Schema:
    from autopilot_playbooks.schema import Roadmap

    return Roadmap.model_json_schema()


def _playbook() -> Schema:
    from autopilot_playbooks.schema import Playbook

    return Playbook.model_json_schema()


def _edits() -> Schema:
    """One line of an answer: an operation, or the meta or end line around them."""
    from pydantic import TypeAdapter

    from autopilot_agents.edits.operations import End, Meta, Operation

    adapter: TypeAdapter[Any] = TypeAdapter(Operation | Meta | End)
    return adapter.json_schema()


def _object(properties: Mapping[str, Any], **more: Any) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(properties), **more}


def _one_of(*types: str) -> Schema:
    return {"type": list(types)}


_TEXT, _NUMBER, _COUNT, _FLAG = (
    _one_of("string"),
    _one_of("number"),
    {"type": "integer", "minimum": 0},
    _one_of("boolean"),
)
_TEXTS = {"type": "array", "items": _TEXT}
_RESULTS = ("verified", "below", "failed", "parked", "needs_human", "blocked", "unverified", "skipped")
_RESULT = {"enum": [*_RESULTS, None]}
_SCORE = {"type": ["number", "null"], "minimum": 0, "maximum": 10}
_USAGE_FIELDS = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "requests",
)  # fmt: skip
_USAGE = {
    "type": ["object", "null"],
    "properties": {**dict.fromkeys(_USAGE_FIELDS, _COUNT), "cost_usd": _NUMBER},
}
_TOKENS = _object(dict.fromkeys(("input", "output", "cache_read", "cache_write"), _COUNT))
_TESTS = ("fixed", "still_red", "broken")


def _state() -> Schema:
    unit = {
        "name": _TEXT, "digest": _one_of("string", "null"), "logs": _TEXTS, "parent": _one_of("string", "null"), "children": _TEXTS, "deps": _TEXTS, "after": _TEXTS,
        "split_base": _one_of("string", "null"), "targeted": _FLAG, "done": _FLAG,
        "split": {"type": ["object", "null"], "properties": {"kept": _TEXTS, "contracts": {"type": "object"}}}, "attempts_before": _COUNT, "split_refusals": _COUNT,
        "status": {"enum": ["waiting", "queued", "running", "merging", "split", "ended"]}, "mode": _TEXT,
        "attempt": _COUNT, "step": _one_of("string", "null"), "result": _RESULT, "score": _SCORE, "reason": _TEXT,
        "commit": _one_of("string", "null"), "base": _one_of("string", "null"),
        "tests": {"type": ["object", "null"], "properties": dict.fromkeys((*_TESTS, "flaky"), _COUNT)},
        "context_pct": _one_of("number", "null"), "usage": _USAGE, "started_at": _one_of("number", "null"),
        "ended_at": _one_of("number", "null"), "duration_s": _NUMBER, "order_dependent": _FLAG,
    }  # fmt: skip
    run = {
        "id": _TEXT, "status": {"enum": ["running", "stopped", "finished"]}, "reason": _one_of("string", "null"),
        "exit_code": _one_of("integer", "null"), "repository": _TEXT, "base": _TEXT, "head": _TEXT, "branch": _TEXT,
        "roadmap": _one_of("string", "null"), "roadmap_digest": _TEXT,
        "roadmap_ref": {"type": "object"}, "roadmap_changes": _COUNT, "playbook": _TEXT, "provider": _TEXT,
        "model": _one_of("string", "null"), "threshold": _NUMBER, "quality": _FLAG, "review": _TEXT, "sandbox": _TEXT,
        "max_parallel": _COUNT, "slots": _COUNT, "context_window": _one_of("integer", "null"), "started_at": _NUMBER,
        "ended_at": _one_of("number", "null"), "active_s": _NUMBER, "notes": _TEXTS, "cost_known": _FLAG,
    }  # fmt: skip
    top = {
        "schema": {"const": 1}, "seq": _COUNT, "head": _TEXT, "journal_bytes": _COUNT, "hash": _TEXT, "run": _object(run),
        "order": _TEXTS, "units": {"type": "object", "additionalProperties": _object(unit)}, "usage": _USAGE,
    }  # fmt: skip
    return {"title": "state.json", **_object(top)}


def _envelope() -> Schema:
    phase = {
        "id": _TEXT, "name": _TEXT, "parent": _one_of("string", "null"), "result": _RESULT, "score": _SCORE,
        "split": _TEXTS, "reason": _TEXT,
        "tests": {"type": ["object", "null"], "properties": dict.fromkeys(_TESTS, _COUNT)},
        "context_pct": _one_of("number", "null"), "cost_usd": _NUMBER, "tokens": _TOKENS, "duration_s": _NUMBER,
        "commit": _one_of("string", "null"), "attempts": _COUNT,
    }  # fmt: skip
    usage = {
        "cost_usd": _NUMBER,
        "cost_known": _FLAG,
        "tokens": _TOKENS,
        "requests": _COUNT,
        "duration_s": _NUMBER,
    }
    error = {**_object(dict.fromkeys(("code", "what", "why", "fix"), _TEXT)), "type": ["object", "null"]}
    some = _one_of("string", "null")
    top = {
        "schema": {"const": 1}, "command": _TEXT, "run_id": some, "exit_code": _COUNT, "reason": _TEXT,
        "repository": some, "base": some, "head": some, "branch": some, "threshold": _one_of("number", "null"),
        "review": some, "sandbox": some, "notes": {"type": ["array", "null"], "items": _TEXT},
        "phases": {"type": ["array", "null"], "items": _object(phase)}, "usage": {**_object(usage), "type": ["object", "null"]},
        "resume": some, "next": {"type": ["array", "null"], "items": _TEXT}, "error": error, "data": {},
    }  # fmt: skip
    return {"title": "the document that --json prints", **_object(top, additionalProperties=False)}


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "state": _state,
    "outcome": _outcome,
    "roadmap": _roadmap,
    "playbook": _playbook,
    "edits": _edits,
    "envelope": _envelope,
}
