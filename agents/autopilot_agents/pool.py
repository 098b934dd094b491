"""Which provider a run uses, by name. Each is imported when it is asked for: some imports cost seconds.

The name `scripted` is for end-to-end tests that run the command as a process. It is accepted only with
`AUTOPILOT_SCRIPT`, the path of a JSON file that maps keys (`unit/role`, else `role`) to lists of answers:

    {"text": "…", "stop_reason": "max_tokens"}        stop_reason is `end_turn` where it is left out;
                                                      null means that the stream ended without one
    {"tool_calls": [{"name": "…", "arguments": {}}]}  may have a `text` too
    {"error": {"status": 429, "retry_after_s": 1}}    as if the server had refused; 400 to 404, 413 are final

Any answer may have a `usage` with fields of `Usage`. The lists begin anew in each process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autopilot_agents.errors import AnswerIncomplete, ProviderError
from autopilot_agents.protocols import Message, Provider, Reply, ToolCall
from autopilot_agents.providers.http_errors import Caller, Refusal, provider_error
from autopilot_agents.providers.model_table import load_table
from autopilot_agents.providers.scripted import Answer, ScriptedProvider
from autopilot_state.errors import UsageError
from autopilot_state.models import Usage

NAMES = ("anthropic", "offline")
SCRIPT_VARIABLE = "AUTOPILOT_SCRIPT"
MODELS_VARIABLE = "AUTOPILOT_MODELS"


def make_provider(
    name: str, *, model: str | None, environ: Mapping[str, str], workers: int, max_candidates: int = 4000
) -> Provider:
    """Return the provider `name`, ready to be asked.

    Args:
        name: `anthropic` or `offline`.
        model: its model; without it `ANTHROPIC_MODEL`, else the table's default.
        environ: where keys and addresses are looked up.
        workers: processes that the offline provider may use.
        max_candidates: edits that the offline provider tries at most.

    Raises:
        UsageError: AP340, there is no such provider.
        PreflightError: AP620, there is no key.
    """
    if name == "anthropic":
        return _anthropic(model, environ)
    if name == "offline":
        return _offline(workers, max_candidates)
    if name == "scripted" and environ.get(SCRIPT_VARIABLE):
        return ScriptedProvider(read_script(Path(environ[SCRIPT_VARIABLE])))
    raise UsageError(
        "AP340",
        f"there is no provider named {name}",
        why=f"the providers are: {', '.join(NAMES)}",
        fix=f"use one of {', '.join(NAMES)}",
    )


def _anthropic(model: str | None, environ: Mapping[str, str]) -> Provider:
    from autopilot_agents.providers.anthropic import AnthropicProvider, require_key

    key = require_key(environ)
    models_file = Path(environ[MODELS_VARIABLE]) if environ.get(MODELS_VARIABLE) else None
    chosen = model or environ.get("ANTHROPIC_MODEL") or load_table(models_file).anthropic.default
    if not chosen:
        raise UsageError("AP344", "no model is named", fix="set ANTHROPIC_MODEL or pass --model")
    by_key = key.variable == "ANTHROPIC_API_KEY"
    return AnthropicProvider(
        model=chosen,
        api_key=key.value if by_key else None,
        auth_token=None if by_key else key.value,
        base_url=environ.get("ANTHROPIC_BASE_URL"),
        models_file=models_file,
    )


def _offline(workers: int, max_candidates: int) -> Provider:
    from autopilot_agents.providers.offline.provider import OfflineProvider

    return OfflineProvider(workers=workers, max_candidates=max_candidates)


def read_script(path: Path) -> Mapping[str, Sequence[Answer]]:
    """Return the answers of the script file `path`.

    Raises:
        UsageError: AP342, it can't be read as a script.
    """
    try:
        script = json.loads(path.read_text("utf-8"))
        return {
            key: [_answer(key, at, entry) for at, entry in enumerate(list_)] for key, list_ in script.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "AP342",
            f"the script {path.name} can't be used",
            why=f"{type(error).__name__}: {error}"[:300],
            fix="write a JSON object of lists, as the documentation of autopilot_agents.pool shows",
        ) from error


def _answer(key: str, at: int, entry: Mapping[str, Any]) -> Answer:
    if "error" in entry:
        return _error(entry["error"])
    text, usage = entry.get("text", ""), Usage(**{"requests": 1, **entry.get("usage", {})})
    calls = tuple(
        ToolCall(f"{key}-{at}-{position}", call["name"], call.get("arguments", {}))
        for position, call in enumerate(entry.get("tool_calls", ()))
    )
    if not text and not calls:
        raise ValueError(f"answer {at} of {key} has neither text, tool_calls nor error")
    stop_reason = entry.get("stop_reason", "tool_use" if calls else "end_turn")
    if stop_reason is None:
        return AnswerIncomplete("AP305", "an answer of the script is not whole", text=text, usage=usage)
    return Reply(Message("assistant", text, calls), stop_reason, usage, model="scripted")


def _error(error: Mapping[str, Any]) -> ProviderError:
    refusal = Refusal(
        status=int(error["status"]),
        kind="",
        code=str(error.get("code", "")),
        message=str(error.get("message", "as the script says")),
        retry_after_s=error.get("retry_after_s"),
    )
    return provider_error(refusal, Caller("scripted", "scripted", SCRIPT_VARIABLE, SCRIPT_VARIABLE))
