"""Readers of single values, the same for flags, variables and TOML: the value, or what was expected in its place."""

from __future__ import annotations

import math
from collections.abc import Callable


class Wrong(ValueError):
    """The value doesn't fit its key; the text says what would."""


def whole(low: int, high: int) -> Callable[[object], int]:
    """Return a reader of whole numbers from `low` to `high`, as TOML values or as text."""

    def read(value: object) -> int:
        try:
            if isinstance(value, bool | float):
                raise ValueError
            number = int(str(value))
        except ValueError:
            raise Wrong(f"expected a whole number from {low} to {high}, got {value!r}") from None
        if not low <= number <= high:
            raise Wrong(f"expected a whole number from {low} to {high}, got {number}")
        return number

    return read


def amount(high: float, *, zero: bool = False) -> Callable[[object], float]:
    """Return a reader of finite numbers above 0 (or from 0) up to `high`, as TOML values or as text."""

    def read(value: object) -> float:
        low = "from 0" if zero else "above 0"
        try:
            number = math.nan if isinstance(value, bool) else float(str(value))
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number > high or number < 0 or (number == 0 and not zero):
            raise Wrong(f"expected a number {low} up to {high:g}, got {value!r}")
        return number

    return read


def short_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value or len(value) > 4000:
        raise Wrong(f"expected a text of 1 to 4000 characters, got {str(value)[:40]!r}")
    return value


def commands(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(short_text(item) for item in value)
    return (short_text(value),)
