"""Errors of agents, models and hands.

AgentError (AutopilotError)
├── ProviderError             a model could not be asked, or its answer can't be used
│   ├── ProviderUnavailable   passing: wait (`retry_after_s`), then ask again; waiting is no failure
│   ├── ProviderRefused       permanent: wrong key, spend limit, request refused; the run parks or ends
│   └── AnswerIncomplete      the stream ended without a stop reason; what arrived whole is kept
├── PathRefused               a path leads out of the worktree, into `.git`, or through a link
├── ReadRefused               a role asks to read more than it may, or what is no text
├── CommandRefused            the shell function won't run this command
├── SandboxUnavailable        exit 6: no sandbox on this machine, and none was waived
└── GitError                  git ended with another status than it should
"""

from __future__ import annotations

from autopilot_state.errors import EXIT_PREFLIGHT, EXIT_PROVIDER, AutopilotError
from autopilot_state.models import Usage


class AgentError(AutopilotError):
    """Base of what goes wrong below the orchestrator."""


class ProviderError(AgentError):
    """Raised when a model could not be asked, or its answer can't be used."""

    exit_code = EXIT_PROVIDER


class ProviderUnavailable(ProviderError):
    """Raised on 408/409/429/5xx/529, resets and stalls. `retry_after_s` is None where the server named none."""

    def __init__(
        self,
        code: str,
        what: str,
        *,
        why: str = "",
        fix: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(code, what, why=why, fix=fix)
        self.status = status
        self.retry_after_s = retry_after_s


class ProviderRefused(ProviderError):
    """Raised when asking again can't help: a key, a spend limit, a request that is too large or malformed."""


class AnswerIncomplete(ProviderError):
    """Raised when a stream ended without a stop reason; `text` holds what arrived, and its last line is not whole.

    `usage` is what it cost all the same, None where the provider can't tell.
    """

    def __init__(
        self,
        code: str,
        what: str,
        *,
        text: str = "",
        why: str = "",
        fix: str = "",
        usage: Usage | None = None,
    ) -> None:
        super().__init__(code, what, why=why, fix=fix)
        self.text = text
        self.usage = usage


class PathRefused(AgentError):
    """Raised when a path leads out of the worktree, into `.git` in any spelling, or through a symlink."""


class ReadRefused(AgentError):
    """Raised when a role asks to read more than its budget, or asks in a way that makes no sense."""


class CommandRefused(AgentError):
    """Raised when the shell function refuses a command before it is started."""


class SandboxUnavailable(AgentError):
    """Raised when no sandbox works on this machine and the user did not waive it."""

    exit_code = EXIT_PREFLIGHT


class GitError(AgentError):
    """Raised when git ended with another status than it should; `stderr` is bounded."""

    def __init__(
        self, code: str, what: str, *, stderr: str = "", exit_status: int = 1, why: str = "", fix: str = ""
    ) -> None:
        super().__init__(code, what, why=why or stderr.strip()[-500:], fix=fix)
        self.stderr = stderr
        self.exit_status = exit_status
