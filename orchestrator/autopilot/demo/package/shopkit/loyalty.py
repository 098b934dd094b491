"""Points for faithful customers: one for every full unit of money spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

TIERS = (("bronze", 0), ("silver", 500), ("gold", 2_000))
"""From so many points in a year on."""
FACTOR_PERCENT = {"bronze": 100, "silver": 125, "gold": 150}
VALID_DAYS = 365
POINT_VALUE = 2
"""Cents that a point is worth when it is spent."""


@dataclass(frozen=True)
class Earning:
    """Points that were earned on one day and not spent yet."""

    day: date
    points: int


def tier_of(points: int) -> str:
    """Return the tier that so many points in a year reach."""
    reached = [name for name, needed in TIERS if points >= needed]
    return reached[-1] if reached else TIERS[0][0]


def to_next_tier(points: int) -> int | None:
    """Return how many points are missing for the next tier, None at the top."""
    return min((needed - points for _, needed in TIERS if needed > points), default=None)


def points_for(cents: int, tier: str, *, birthday: bool = False) -> int:
    """Return the points of a purchase; higher tiers earn more, a birthday doubles it."""
    points = cents // 100 * FACTOR_PERCENT[tier] // 100
    return points * 2 if birthday else points


def is_valid(earning: Earning, today: date) -> bool:
    """Return whether points can still be spent: for a year, the last day included."""
    return 0 <= (today - earning.day).days <= VALID_DAYS


def balance(earnings: Sequence[Earning], today: date) -> int:
    """Return the points that can be spent today."""
    return sum(earning.points for earning in earnings if is_valid(earning, today))


def spend(earnings: Sequence[Earning], points: int, today: date) -> list[Earning]:
    """Return what is left after spending points, the oldest first; expired points are dropped."""
    if points > balance(earnings, today):
        raise ValueError("not enough points")
    left: list[Earning] = []
    for earning in sorted(earnings, key=lambda each: each.day):
        if not is_valid(earning, today):
            continue
        used = min(points, earning.points)
        points -= used
        if earning.points > used:
            left.append(Earning(earning.day, earning.points - used))
    return left


def pay_with_points(order_total: int, points: int) -> tuple[int, int]:
    """Return the points used and the cents left to pay; at most half of an order is paid with points."""
    most = order_total // 2 // POINT_VALUE
    used = min(points, most)
    return used, order_total - used * POINT_VALUE
