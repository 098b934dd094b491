"""The figures of a model from `models.toml`, and what a call costs by them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import Field, ValidationError

from autopilot_state.errors import UsageError
from autopilot_state.models import Model, Usage

CACHE_WRITE_FACTOR = 1.25
CACHE_READ_FACTOR = 0.1
TOKENS_PER_PRICE = 1_000_000

_DATE = re.compile(r"-\d{8}\Z")


class ModelFigures(Model):
    """What one model takes, in tokens, and costs, in dollars per million of them."""

    context_window: int | None = Field(default=None, gt=0)
    max_output_tokens: int = Field(gt=0)
    input_usd: float = Field(ge=0)
    output_usd: float = Field(ge=0)
    long_prompt_tokens: int | None = None
    long_input_usd: float = 0.0
    long_output_usd: float = 0.0

    def cost_usd(self, usage: Usage) -> float:
        """Return what `usage` of one call costs; each class of tokens has its own price."""
        long = self.long_prompt_tokens is not None and usage.context_tokens > self.long_prompt_tokens
        input_usd = self.long_input_usd if long else self.input_usd
        output_usd = self.long_output_usd if long else self.output_usd
        at_input_price = (
            usage.input_tokens
            + CACHE_WRITE_FACTOR * usage.cache_write_tokens
            + CACHE_READ_FACTOR * usage.cache_read_tokens
        )
        return (at_input_price * input_usd + usage.output_tokens * output_usd) / TOKENS_PER_PRICE


class ProviderTable(Model):
    """One provider's part of the table. `default` is the model used where none was named."""

    default: str | None = None
    models: dict[str, ModelFigures] = Field(default_factory=dict)


class ModelTable(Model):
    """The whole file; a key is added here with each provider that charges by the token."""

    anthropic: ProviderTable = ProviderTable()


def find_figures(model: str, table: ProviderTable) -> ModelFigures | None:
    """Return the figures of `model`, also when its id ends with a date; None when the table lacks it."""
    return table.models.get(model) or table.models.get(_DATE.sub("", model))


def load_table(extra: Path | None = None) -> ModelTable:
    """Return the shipped table with the entries of the file `extra` laid over it.

    Raises:
        UsageError: AP343, `extra` can't be read as such a table.
    """
    shipped = _shipped()
    if extra is None:
        return shipped
    own = _read_extra(extra).anthropic
    laid_over = ProviderTable(
        default=own.default or shipped.anthropic.default, models={**shipped.anthropic.models, **own.models}
    )
    return ModelTable(anthropic=laid_over)


@cache
def _shipped() -> ModelTable:
    text = resources.files("autopilot_agents.providers").joinpath("models.toml").read_text("utf-8")
    return ModelTable.model_validate(tomllib.loads(text))


def _read_extra(path: Path) -> ModelTable:
    try:
        return ModelTable.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise UsageError(
            "AP343",
            f"the table of models {path.name} can't be used",
            why=str(error)[:300],
            fix="compare it with providers/models.toml, and point AUTOPILOT_MODELS at the corrected file",
        ) from error
