"""What a customer saves. All amounts are cents; a saving is never more than the price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

Rule = Callable[[int, int], int]
"""Takes the price a piece in cents and the quantity, and returns the saving in cents."""


def percent_off(percent: int) -> Rule:
    """Return a rule that takes a percentage off; parts of a cent go to the shop."""
    if not 0 < percent <= 100:
        raise ValueError("a discount is between 1 and 100 percent")

    def saving(price: int, quantity: int) -> int:
        return price * quantity * percent // 100

    return saving


def buy_n_get_free(paid: int, free: int) -> Rule:
    """Return a rule that gives `free` pieces with every `paid` pieces."""

    def saving(price: int, quantity: int) -> int:
        rounds, rest = divmod(quantity, paid + free)
        return price * (rounds * free + max(rest - paid, 0))

    return saving


def tiered(tiers: Sequence[tuple[int, int]]) -> Rule:
    """Return a rule with percentages by quantity: `[(10, 5), (50, 12)]` is 5 % from 10 pieces, 12 % from 50."""

    def saving(price: int, quantity: int) -> int:
        percent = 0
        for from_quantity, tier_percent in sorted(tiers):
            if quantity >= from_quantity:
                percent = tier_percent
        return price * quantity * percent // 100

    return saving


def best_of(rules: Sequence[Rule]) -> Rule:
    """Return a rule that grants the largest saving of all rules, and only that one."""

    def saving(price: int, quantity: int) -> int:
        return max((rule(price, quantity) for rule in rules), default=0)

    return saving


@dataclass(frozen=True)
class Voucher:
    """A code worth some cents from a minimum order on, between two days (both included)."""

    code: str
    value: int
    minimum: int
    first_day: date
    last_day: date

    def applies(self, order_total: int, today: date) -> bool:
        return order_total >= self.minimum and self.first_day <= today <= self.last_day

    def saving(self, order_total: int, today: date) -> int:
        """Return what the voucher takes off this order today."""
        if not self.applies(order_total, today):
            return 0
        return min(self.value, order_total)


def redeem(vouchers: Sequence[Voucher], order_total: int, today: date, *, limit: int = 2) -> list[str]:
    """Return the codes to use, the most valuable first; each must still apply to what is left to pay."""
    used: list[str] = []
    for voucher in sorted(vouchers, key=lambda each: (-each.value, each.code)):
        if len(used) < limit and voucher.applies(order_total, today):
            used.append(voucher.code)
            order_total -= voucher.saving(order_total, today)
    return used
