"""What delivery costs. Weights are grams, lengths centimetres, prices cents."""

from __future__ import annotations

from dataclasses import dataclass

BANDS = ((500, 390), (2_000, 549), (5_000, 799), (10_000, 1_049))
"""Up to so many grams, so many cents."""
ZONE_SURCHARGE = {"domestic": 0, "europe": 600, "world": 1_800}
VOLUMETRIC_DIVISOR = 5
"""A litre of parcel counts as 200 grams at least."""
FREE_FROM = 5_000


class NotDeliverable(ValueError):
    """Raised when a parcel is too heavy, too large, or goes where nobody delivers."""


@dataclass(frozen=True)
class Parcel:
    """A box and what it weighs."""

    weight: int
    length: int
    width: int
    height: int

    @property
    def girth(self) -> int:
        """The longest side plus the way around the other two."""
        longest, middle, shortest = sorted((self.length, self.width, self.height), reverse=True)
        return longest + 2 * (middle + shortest)

    @property
    def billed_weight(self) -> int:
        """The weight, or what the volume counts as if that is more."""
        return max(self.weight, self.length * self.width * self.height // VOLUMETRIC_DIVISOR)


def band_price(weight: int) -> int:
    """Return the price of a weight."""
    for limit, price in BANDS:
        if weight <= limit:
            return price
    raise NotDeliverable(f"{weight} g is too heavy")


def delivery_price(parcel: Parcel, zone: str, order_total: int, *, express: bool = False) -> int:
    """Return what the customer pays; standard delivery at home is free from an order of 50.00 on."""
    if zone not in ZONE_SURCHARGE:
        raise NotDeliverable(f"no delivery to {zone}")
    if parcel.girth > 300:
        raise NotDeliverable("the parcel is too large")
    price = band_price(parcel.billed_weight) + ZONE_SURCHARGE[zone]
    if express:
        return price * 2 + 100
    if zone == "domestic" and order_total >= FREE_FROM:
        return 0
    return price


def missing_for_free(order_total: int) -> int:
    """Return how much more to order until delivery is free."""
    return max(FREE_FROM - order_total, 0)


def pack(weights: list[int], limit: int = 10_000) -> list[list[int]]:
    """Return the weights put into parcels, the heaviest first, each into the first parcel with room."""
    parcels: list[list[int]] = []
    for weight in sorted(weights, reverse=True):
        if weight > limit:
            raise NotDeliverable(f"{weight} g is too heavy")
        for parcel in parcels:
            if sum(parcel) + weight <= limit:
                parcel.append(weight)
                break
        else:
            parcels.append([weight])
    return parcels
