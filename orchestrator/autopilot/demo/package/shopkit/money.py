"""Amounts of money as whole cents, so that sums are exact."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

_AMOUNT = re.compile(r"(-?)(\d{1,3}(?:,\d{3})*|\d+)(?:\.(\d{1,2}))?\s*([A-Z]{3})")


class CurrencyMismatch(ValueError):
    """Raised when two currencies meet in one sum."""


@dataclass(frozen=True)
class Money:
    """An amount in cents of one currency; may be negative (a refund)."""

    cents: int
    currency: str = "EUR"

    def __add__(self, other: Money) -> Money:
        self._check_currency(other)
        return Money(self.cents + other.cents, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._check_currency(other)
        return Money(self.cents - other.cents, self.currency)

    def __str__(self) -> str:
        return format_money(self)

    def times(self, factor: int | Decimal | str) -> Money:
        """Return the amount multiplied; half a cent rounds away from zero."""
        exact = Decimal(self.cents) * Decimal(factor)
        return Money(int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP)), self.currency)

    def _check_currency(self, other: Money) -> None:
        if self.currency != other.currency:
            raise CurrencyMismatch(f"{self.currency} and {other.currency} do not add up")


def allocate(total: Money, weights: list[int]) -> list[Money]:
    """Split `total` by `weights` without losing a cent; the first shares get what is left over."""
    whole = sum(weights)
    if whole <= 0:
        raise ValueError("the weights must add up to more than nothing")
    shares = [total.cents * weight // whole for weight in weights]
    left_over = total.cents - sum(shares)
    return [
        Money(share + (1 if index < left_over else 0), total.currency) for index, share in enumerate(shares)
    ]


def format_money(amount: Money) -> str:
    """Return the amount for people: `-1,234.50 EUR`."""
    sign = "-" if amount.cents < 0 else ""
    units, cents = divmod(abs(amount.cents), 100)
    return f"{sign}{units:,}.{cents:02d} {amount.currency}"


def parse_money(text: str) -> Money:
    """Return the amount that `text` writes out, as `format_money` writes it; the cents may be left out."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an amount of money: {text!r}")
    sign, units, cents, currency = match.groups()
    value = int(units.replace(",", "")) * 100 + int((cents or "0").ljust(2, "0"))
    return Money(-value if sign else value, currency)


def round_to_step(amount: Money, step: int) -> Money:
    """Return the amount rounded to a multiple of `step` cents, as cash without small coins needs it."""
    below = amount.cents // step * step
    if amount.cents - below >= step - (amount.cents - below):
        return Money(below + step, amount.currency)
    return Money(below, amount.currency)
