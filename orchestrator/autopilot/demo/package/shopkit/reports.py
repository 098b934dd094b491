"""How business is: sums, ranks and trends of sales."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Sale:
    """One product sold on one day; a return has a negative quantity."""

    day: date
    sku: str
    quantity: int
    price: int
    customer: str = ""

    @property
    def revenue(self) -> int:
        return self.quantity * self.price


def revenue_by_month(sales: Iterable[Sale]) -> dict[str, int]:
    """Return cents by month as `2026-07`, in the order of time."""
    totals: defaultdict[str, int] = defaultdict(int)
    for sale in sales:
        totals[f"{sale.day:%Y-%m}"] += sale.revenue
    return dict(sorted(totals.items()))


def best_sellers(sales: Iterable[Sale], limit: int = 3) -> list[tuple[str, int]]:
    """Return products with the pieces sold, most first; equals by name, and none that came back as often."""
    pieces: Counter[str] = Counter()
    for sale in sales:
        pieces[sale.sku] += sale.quantity
    ranked = sorted(pieces.items(), key=lambda entry: (-entry[1], entry[0]))
    return [(sku, count) for sku, count in ranked if count > 0][:limit]


def growth_percent(before: int, now: int) -> float | None:
    """Return the change in percent with one decimal; None where there was nothing before."""
    if before == 0:
        return None
    return round((now - before) * 100 / abs(before), 1)


def median(values: Sequence[int]) -> float:
    """Return the middle value, or the mean of the two in the middle."""
    if not values:
        raise ValueError("no values, no median")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return float(ordered[middle])
    return (ordered[middle - 1] + ordered[middle]) / 2


def moving_average(values: Sequence[int], window: int) -> list[float]:
    """Return the mean of every `window` values in a row; shorter than the window gives nothing."""
    if window < 1:
        raise ValueError("a window holds at least one value")
    return [sum(values[end - window : end]) / window for end in range(window, len(values) + 1)]


def return_rate(sales: Iterable[Sale]) -> float:
    """Return the share of sold pieces that came back, in percent with one decimal."""
    sold = returned = 0
    for sale in sales:
        if sale.quantity > 0:
            sold += sale.quantity
        else:
            returned -= sale.quantity
    return round(100 * returned / sold, 1) if sold else 0.0


def repeat_customers(sales: Iterable[Sale]) -> set[str]:
    """Return the customers who bought on more than one day; nameless ones don't count."""
    days: defaultdict[str, set[date]] = defaultdict(set)
    for sale in sales:
        if sale.customer and sale.quantity > 0:
            days[sale.customer].add(sale.day)
    return {customer for customer, bought_on in days.items() if len(bought_on) > 1}


def share_chart(shares: Sequence[tuple[str, int]], width: int = 20) -> list[str]:
    """Return a bar of `#` for each entry, the largest `width` wide; what is not nothing shows at least one mark."""
    largest = max((value for _, value in shares), default=0)
    label_width = max((len(label) for label, _ in shares), default=0)
    lines = []
    for label, value in shares:
        marks = max(value * width // largest, 1) if value > 0 else 0
        lines.append(f"{label:<{label_width}} {'#' * marks}".rstrip())
    return lines
