"""What is on the shelf, what is promised to customers, and when to order more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class OutOfStock(ValueError):
    """Raised when more is asked for than is available."""


@dataclass
class Shelf:
    """The pieces of one product: `on_hand` lie there, `reserved` of them are promised."""

    on_hand: int = 0
    reserved: int = 0

    @property
    def available(self) -> int:
        return self.on_hand - self.reserved


@dataclass
class Inventory:
    """Shelves by product."""

    shelves: dict[str, Shelf] = field(default_factory=dict)

    def receive(self, sku: str, quantity: int) -> None:
        """Put delivered pieces on the shelf."""
        if quantity <= 0:
            raise ValueError("nothing was delivered")
        self.shelves.setdefault(sku, Shelf()).on_hand += quantity

    def available(self, sku: str) -> int:
        shelf = self.shelves.get(sku)
        return shelf.available if shelf else 0

    def reserve(self, order: Mapping[str, int]) -> None:
        """Promise all pieces of an order, or none: a missing product leaves every shelf as it was."""
        missing = sorted(sku for sku, quantity in order.items() if quantity > self.available(sku))
        if missing:
            raise OutOfStock(", ".join(missing))
        for sku, quantity in order.items():
            self.shelves[sku].reserved += quantity

    def release(self, order: Mapping[str, int]) -> None:
        """Take promises back; never more than were made."""
        for sku, quantity in order.items():
            shelf = self.shelves[sku]
            shelf.reserved = max(shelf.reserved - quantity, 0)

    def ship(self, sku: str, quantity: int) -> None:
        """Send off promised pieces."""
        shelf = self.shelves[sku]
        if quantity > shelf.reserved:
            raise OutOfStock(sku)
        shelf.reserved -= quantity
        shelf.on_hand -= quantity


def reorder_point(daily_sales: float, lead_days: int, safety_days: int = 3) -> int:
    """Return the stock at which to order: what is sold until delivery, and for some days more."""
    return math.ceil(daily_sales * (lead_days + safety_days))


def order_quantity(available: int, target: int, pack_size: int) -> int:
    """Return how many pieces to order to reach `target`, in full packs."""
    needed = max(target - available, 0)
    return math.ceil(needed / pack_size) * pack_size


def days_of_cover(available: int, daily_sales: float) -> float:
    """Return for how many days the stock lasts; without sales for ever."""
    if daily_sales <= 0:
        return math.inf
    return available / daily_sales


def stock_status(available: int, point: int) -> str:
    """Return the word on the product's page: `sold out`, `few left` at the reorder point or under it, `in stock`."""
    if available <= 0:
        return "sold out"
    return "few left" if available <= point else "in stock"


def average_cost(batches: Sequence[tuple[int, int]]) -> int:
    """Return the cost of a piece in cents over batches of (pieces, cents a piece), rounded down."""
    pieces = sum(quantity for quantity, _ in batches)
    if pieces == 0:
        return 0
    return sum(quantity * cost for quantity, cost in batches) // pieces
