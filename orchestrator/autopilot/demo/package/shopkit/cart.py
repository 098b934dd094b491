"""A basket of products."""

from __future__ import annotations

from dataclasses import dataclass

from shopkit.money import Money

MAX_QUANTITY = 99


class CartError(ValueError):
    """Raised when the basket can't be changed as asked."""


@dataclass(frozen=True)
class Line:
    """One product in the basket."""

    sku: str
    price: Money
    quantity: int
    gift_wrap: bool = False

    @property
    def total(self) -> Money:
        return self.price.times(self.quantity)


class Cart:
    """Lines by product, in the order in which the customer put them in."""

    def __init__(self, currency: str, *, wrap_fee: int = 250) -> None:
        self.currency = currency
        self.wrap_fee = wrap_fee
        self._lines: dict[str, Line] = {}

    @property
    def lines(self) -> list[Line]:
        return list(self._lines.values())

    def add(self, sku: str, price: Money, quantity: int = 1, *, gift_wrap: bool = False) -> Line:
        """Put in more of a product and return its line; the latest price counts for all of it."""
        if quantity < 1:
            raise CartError("add at least one")
        if price.currency != self.currency:
            raise CartError(f"this basket is in {self.currency}")
        before = self._lines.get(sku)
        wanted = quantity + (before.quantity if before else 0)
        if wanted > MAX_QUANTITY:
            raise CartError(f"at most {MAX_QUANTITY} of one product")
        wrapped = gift_wrap or (before is not None and before.gift_wrap)
        self._lines[sku] = Line(sku, price, wanted, wrapped)
        return self._lines[sku]

    def remove(self, sku: str, quantity: int | None = None) -> None:
        """Take out `quantity` of a product, or all of it."""
        line = self._lines.get(sku)
        if line is None:
            raise CartError(f"{sku} is not in the basket")
        if quantity is None or quantity >= line.quantity:
            del self._lines[sku]
        else:
            self._lines[sku] = Line(sku, line.price, line.quantity - quantity, line.gift_wrap)

    def subtotal(self) -> Money:
        """Return the sum of all lines, without wrapping."""
        return sum((line.total for line in self.lines), Money(0, self.currency))

    def wrapping(self) -> Money:
        """Return the fee for gift wrapping: once a line, free from the fourth wrapped line on."""
        wrapped = [line for line in self.lines if line.gift_wrap]
        return Money(self.wrap_fee, self.currency).times(min(len(wrapped), 3))

    def count(self) -> int:
        """Return the number of pieces."""
        return sum(line.quantity for line in self.lines)

    def most_expensive(self) -> Line | None:
        """Return the line with the highest price a piece; of equals the first one."""
        return max(self.lines, key=lambda line: line.price.cents, default=None)


def merge(kept: Cart, other: Cart) -> list[str]:
    """Add the lines of `other` to `kept`, as after a log-in; return the products that were cut to the limit."""
    cut = []
    for line in other.lines:
        held = next((each.quantity for each in kept.lines if each.sku == line.sku), 0)
        room = MAX_QUANTITY - held
        if line.quantity > room:
            cut.append(line.sku)
        if room > 0:
            kept.add(line.sku, line.price, min(line.quantity, room), gift_wrap=line.gift_wrap)
    return cut
