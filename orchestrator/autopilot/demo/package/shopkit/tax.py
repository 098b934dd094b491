"""Value added tax. Amounts are cents, rates are basis points: 1900 is 19 %."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

STANDARD: Mapping[str, int] = {"DE": 1900, "FR": 2000, "HU": 2700, "LU": 1700}
REDUCED: Mapping[str, int] = {"DE": 700, "FR": 550, "HU": 500, "LU": 800}
REDUCED_GOODS = frozenset({"book", "food", "medicine"})


@dataclass(frozen=True)
class Taxed:
    """A price taken apart: `net + tax == gross`."""

    net: int
    tax: int

    @property
    def gross(self) -> int:
        return self.net + self.tax


def rate_for(country: str, goods: str) -> int:
    """Return the rate of these goods in this country; books, food and medicine have the reduced one."""
    table = REDUCED if goods in REDUCED_GOODS else STANDARD
    if country not in table:
        raise KeyError(f"no tax rate known for {country}")
    return table[country]


def divide_half_up(numerator: int, denominator: int) -> int:
    """Return the quotient of two positive numbers, rounded; exactly half rounds up."""
    return (2 * numerator + denominator) // (2 * denominator)


def from_net(net: int, rate: int) -> Taxed:
    """Return a net price with the tax that is added to it."""
    return Taxed(net, divide_half_up(net * rate, 10_000))


def from_gross(gross: int, rate: int) -> Taxed:
    """Return a shelf price taken apart into net and tax."""
    net = divide_half_up(gross * 10_000, 10_000 + rate)
    return Taxed(net, gross - net)


def reverse_charge(seller: str, buyer: str, vat_id: str | None) -> bool:
    """Return whether the buyer owes the tax: a business in another country, known by its VAT number."""
    return seller != buyer and vat_id is not None and vat_id.startswith(buyer) and len(vat_id) > 4


def tax_by_rate(lines: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the tax of an invoice by rate, for lines of (net, rate); rounded once a rate, not once a line."""
    net_by_rate: dict[int, int] = {}
    for net, rate in lines:
        net_by_rate[rate] = net_by_rate.get(rate, 0) + net
    return {rate: from_net(net, rate).tax for rate, net in sorted(net_by_rate.items())}


def small_business(turnover_last_year: int, turnover_this_year: int) -> bool:
    """Return whether a shop need not charge tax at all: up to 25,000.00 last year and 100,000.00 this year."""
    return turnover_last_year <= 2_500_000 and turnover_this_year <= 10_000_000
