"""The environment of a command: a short list of what programs need, and nothing of this process's own secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping

from autopilot_agents.hands.redact import is_secret_name

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOADED_BY_SHELLS = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "LD_PRELOAD"})
"""Variables that make a shell or the loader run something before the command."""


def scrubbed_environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return everything that a command sees of an environment: a short list, and `extra` without secrets."""
    env = {
        "PATH": os.environ.get("PATH") or DEFAULT_PATH,
        "HOME": os.environ.get("HOME") or "/",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "1",
    }
    for name, value in (extra or {}).items():
        if not is_secret_name(name) and name not in _LOADED_BY_SHELLS:
            env[name] = value
    return env
