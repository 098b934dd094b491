"""What a refusal over HTTP means for us, from plain values: no client library is needed to read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from autopilot_agents.errors import ProviderError, ProviderRefused, ProviderUnavailable

PASSING = frozenset({408, 409, 425, 429, 499})
SPEND_LIMITS = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
    }
)
STATUS_OF_STREAMED_ERROR = {
    "overloaded_error": 529,
    "api_error": 500,
    "timeout_error": 504,
    "rate_limit_error": 429,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
}
"""An error event inside a stream arrives under status 200, so its type has to say which status was meant."""

WHY_LIMIT = 300
LONGEST_NUMBER = 32


@dataclass(frozen=True)
class Caller:
    """Who asked, as error messages name it. `key_hint` is the variable and at most four characters of the key."""

    provider: str
    model: str
    key_hint: str
    key_variable: str


@dataclass(frozen=True)
class Refusal:
    """An error response. `kind` is the error's type in the body, `code` the stable cause where one was given."""

    status: int
    kind: str
    code: str
    message: str
    retry_after_s: float | None


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait that the server asks for, or None when it names none that makes sense.

    Args:
        headers: of the response; names in lower case.
        now: seconds since the epoch, for the form with a date.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _seconds(value)
    return seconds if seconds is not None else _until(value, now)


def provider_error(refusal: Refusal, caller: Caller) -> ProviderError:
    """Return the error that `refusal` is: one to wait for, or one that waiting can't help."""
    status = refusal.status
    if 200 <= status < 300:
        status = STATUS_OF_STREAMED_ERROR.get(refusal.kind, 400)
    if refusal.code in SPEND_LIMITS or status == 402 or refusal.kind == "billing_error":
        return _refused("AP312", refusal, caller)
    if status in PASSING or status >= 500:
        return ProviderUnavailable(
            "AP301",
            f"{caller.provider} can't answer now (status {status})",
            why=refusal.message[:WHY_LIMIT],
            fix="nothing: the requests wait and are sent again",
            status=status,
            retry_after_s=refusal.retry_after_s,
        )
    return _refused(_CODES.get(status, "AP317"), refusal, caller)


_CODES = {400: "AP315", 401: "AP310", 403: "AP311", 404: "AP313", 413: "AP314"}


def _refused(code: str, refusal: Refusal, caller: Caller) -> ProviderRefused:
    what, fix = _words(code, refusal, caller)
    return ProviderRefused(code, what, why=refusal.message[:WHY_LIMIT], fix=fix)


def _words(code: str, refusal: Refusal, caller: Caller) -> tuple[str, str]:
    words = {
        "AP310": (
            f"{caller.provider} does not accept the key in {caller.key_hint}",
            f"set {caller.key_variable} to a valid key, then resume the run",
        ),
        "AP311": (
            f"the key in {caller.key_hint} may not use model {caller.model}",
            f"give the key access to {caller.model}, or name another model, then resume the run",
        ),
        "AP312": (
            f"the spend limit of the key in {caller.key_hint} is reached",
            f"raise the limit or add credit at {caller.provider}, then resume the run",
        ),
        "AP313": (
            f"{caller.provider} does not know model {caller.model}",
            "name a model that the key can use (ANTHROPIC_MODEL or --model), then resume the run",
        ),
        "AP314": (
            f"a request to {caller.model} was too large for {caller.provider}",
            "make the phase smaller or name fewer files to read, then resume the run",
        ),
        "AP315": (
            f"{caller.provider} refused a request to {caller.model} as invalid",
            "read the reason; if the prompt is too long, make the phase smaller, then resume the run",
        ),
    }
    otherwise = (
        f"{caller.provider} refused a request to {caller.model} (status {refusal.status})",
        f"check the address in ANTHROPIC_BASE_URL and the key in {caller.key_variable}, then resume the run",
    )
    return words.get(code, otherwise)


def _seconds(value: str) -> float | None:
    """Return a finite number of seconds that is not negative; `float` alone would let -5, nan and inf through."""
    if len(value) > LONGEST_NUMBER:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(value: str, now: float) -> float | None:
    try:
        then = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return then - now if then >= now else None
