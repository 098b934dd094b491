"""Claude over the Messages API: the only module that speaks to the vendor's client.

Always streams: the client refuses long answers otherwise, and a stall shows. The client itself never retries:
waiting is the gate's, which all workers share. A stream counts only when a stop reason came, because the client
ends without an error when a connection closes cleanly in the middle.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from autopilot_agents.errors import AnswerIncomplete, ProviderError, ProviderRefused, ProviderUnavailable
from autopilot_agents.protocols import ModelLimits, Reply, Request
from autopilot_agents.providers import http_errors
from autopilot_agents.providers.anthropic_messages import STOP_REASONS, StreamedAnswer, request_body
from autopilot_agents.providers.model_table import ModelFigures, find_figures, load_table
from autopilot_state.errors import PreflightError
from autopilot_state.models import Usage

CONNECT_TIMEOUT_S = 10.0
LONGEST_ANSWER_S = 3600.0
DRAIN_TIMEOUT_S = 1.0
KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
DEFAULT_BASE_URL = "https://api.anthropic.com"


@dataclass(frozen=True)
class Key:
    """A credential and where it came from; its value stays out of every message."""

    variable: str
    value: str

    @property
    def hint(self) -> str:
        """The variable and the last four characters, as far as the rest stays secret."""
        return f"{self.variable} (…{self.value[-4:]})" if len(self.value) >= 12 else self.variable

    def __repr__(self) -> str:
        return f"Key({self.hint})"


def require_key(environ: Mapping[str, str]) -> Key:
    """Return the key that `environ` holds.

    Raises:
        PreflightError: AP620, there is none.
    """
    for variable in KEY_VARIABLES:
        value = environ.get(variable, "").strip()
        if value:
            return Key(variable, value)
    raise PreflightError(
        "AP620",
        "there is no key for Anthropic",
        why=f"neither {KEY_VARIABLES[0]} nor {KEY_VARIABLES[1]} is set",
        fix=f"export {KEY_VARIABLES[0]}=…, or use the offline provider, which needs none",
    )


class AnthropicProvider:
    """One model behind one key.

    Args:
        model: the model's id.
        api_key: without it and without `auth_token`, the environment is asked.
        base_url: of a gateway or another server that speaks this API.
        max_retries: of the client; 0, because the gate waits for all workers together.
        stall_timeout_s: how long no content may arrive; keep-alive pings don't count.
        http_client: an `httpx2.AsyncClient` to use instead of our own.
        auth_token: a bearer token in place of a key.
        models_file: figures of further models, laid over the shipped table.
    """

    name = "anthropic"

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        max_retries: int = 0,
        stall_timeout_s: float = 90.0,
        http_client: Any = None,
        auth_token: str | None = None,
        models_file: Path | None = None,
    ) -> None:
        import anthropic  # costs two seconds, which `--help` and `status` must not pay
        import httpx2

        self._sdk: Any = anthropic
        self._http: Any = httpx2
        self._key = _chosen_key(api_key, auth_token)
        self._table = load_table(models_file).anthropic
        self._model = model
        self._stall_timeout_s = stall_timeout_s
        self._limits: ModelLimits | None = None
        by_key = self._key.variable == KEY_VARIABLES[0]
        self._client = anthropic.AsyncAnthropic(
            api_key=self._key.value if by_key else None,
            auth_token=None if by_key else self._key.value,
            base_url=base_url or os.environ.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL,
            max_retries=max_retries,
            timeout=anthropic.Timeout(stall_timeout_s, connect=CONNECT_TIMEOUT_S),
            # A redirect to another host would take the key along in its header.
            http_client=http_client or anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
        )

    async def limits(self) -> ModelLimits:
        """Return the model's limits: what the server says, else the table."""
        if self._limits is None:
            self._limits = await self._find_limits()
        return self._limits

    async def complete(self, request: Request) -> Reply:
        self._figures()  # a model without a price is refused before it costs anything
        answer = StreamedAnswer()
        try:
            with anyio.fail_after(LONGEST_ANSWER_S):
                await self._read(request, answer)
        except Exception as error:
            # After the stop reason nothing is missing, however the connection ended.
            if answer.stop_reason is None:
                raise self._explained(error) from error
        return self._reply(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _read(self, request: Request, answer: StreamedAnswer) -> None:
        with anyio.fail_after(self._stall_timeout_s):
            stream: Any = await self._client.messages.create(
                **request_body(request, self._model),
                stream=True,
                extra_headers={
                    "x-autopilot-run": request.run,
                    "x-autopilot-unit": request.unit,
                    "x-autopilot-role": request.role,
                },
            )
        async with stream:
            self._check_is_stream(stream.response.headers)
            events = aiter(stream)
            while True:
                # Read on to the end after the last event, or the connection can't be used again.
                with anyio.fail_after(DRAIN_TIMEOUT_S if answer.ended else self._stall_timeout_s):
                    event = await anext(events, None)
                if event is None:
                    break
                answer.add(event.to_dict(mode="json", warnings=False))

    def _check_is_stream(self, headers: Mapping[str, str]) -> None:
        kind = headers.get("content-type", "")
        if "text/event-stream" not in kind:
            raise ProviderRefused(
                "AP306",
                f"{self._client.base_url.host} does not answer as the Messages API does",
                why=f"a stream was asked for, and {kind or 'no content type'} came",
                fix="check ANTHROPIC_BASE_URL, and whether a proxy answers in its place",
            )

    def _reply(self, answer: StreamedAnswer) -> Reply:
        usage = self._priced(answer.usage(), answer.model)
        stop_reason = STOP_REASONS.get(answer.stop_reason or "")
        if stop_reason is None:
            why = (
                f"unknown stop reason {answer.stop_reason!r}" if answer.stop_reason else "no stop reason came"
            )
            raise AnswerIncomplete(
                "AP305", f"an answer of {self._model} is not whole", text=answer.text, why=why, usage=usage
            )
        try:
            message = answer.message()
        except ValueError as error:
            raise self._explained(error) from error
        return Reply(message, stop_reason, usage, model=answer.model or self._model)

    def _priced(self, usage: Usage, answered_by: str) -> Usage:
        figures = find_figures(answered_by, self._table) or self._figures()
        return usage.model_copy(update={"cost_usd": figures.cost_usd(usage)})

    def _figures(self) -> ModelFigures:
        figures = find_figures(self._model, self._table)
        if figures is None:
            raise ProviderRefused(
                "AP316",
                f"the price of model {self._model} is not known",
                why="a run whose cost can't be counted can't be kept under a limit either",
                fix="add the model to a table like providers/models.toml and name it in AUTOPILOT_MODELS",
            )
        return figures

    async def _find_limits(self) -> ModelLimits:
        figures = self._figures()
        try:
            with anyio.fail_after(self._stall_timeout_s):
                info = await self._client.models.retrieve(self._model)
        except Exception as error:
            explained = self._explained(error)
            if explained.code in ("AP310", "AP311", "AP312"):
                raise explained from error
            # Gateways often lack this endpoint, and a passing refusal is the gate's business at the first request.
            return ModelLimits(self._model, figures.context_window, figures.max_output_tokens)
        return ModelLimits(
            self._model,
            info.max_input_tokens or figures.context_window,
            info.max_tokens or figures.max_output_tokens,
        )

    def _explained(self, error: Exception) -> ProviderError:
        """Return `error` as one of ours; what is no error of the exchange is raised as it is."""
        if isinstance(error, ProviderError):
            return error
        if isinstance(error, self._sdk.APIStatusError):
            return http_errors.provider_error(self._refusal(error), self._caller())
        if isinstance(error, TimeoutError | self._sdk.APITimeoutError | self._http.TimeoutException):
            return self._unavailable(
                "AP303", f"{self.name} sent nothing for {self._stall_timeout_s:g} s", error
            )
        if isinstance(error, self._sdk.APIError | self._http.HTTPError | self._http.StreamError | OSError):
            return self._unavailable("AP302", f"the connection to {self.name} failed", error)
        if isinstance(error, ValueError | KeyError | AttributeError | TypeError):
            return self._unavailable("AP304", f"{self.name} sent a stream that can't be read", error)
        raise error

    def _unavailable(self, code: str, what: str, error: Exception) -> ProviderUnavailable:
        return ProviderUnavailable(
            code,
            what,
            why=self._without_key(f"{type(error).__name__}: {error}"),
            fix="nothing: it is asked again",
        )

    def _refusal(self, error: Any) -> http_errors.Refusal:
        return http_errors.Refusal(
            status=error.status_code,
            kind=str(error.type or ""),
            code=str(error.error_code or ""),
            message=self._without_key(str(error.api_message or error.message)),
            retry_after_s=http_errors.retry_after_s(error.response.headers, time.time()),
        )

    def _without_key(self, text: str) -> str:
        return text.replace(self._key.value, "…")[: http_errors.WHY_LIMIT]

    def _caller(self) -> http_errors.Caller:
        return http_errors.Caller(self.name, self._model, self._key.hint, self._key.variable)


def _chosen_key(api_key: str | None, auth_token: str | None) -> Key:
    if api_key:
        return Key(KEY_VARIABLES[0], api_key)
    if auth_token:
        return Key(KEY_VARIABLES[1], auth_token)
    return require_key(os.environ)
