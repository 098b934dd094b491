"""Pages of a long list, and the links to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

GAP = 0
"""Stands for left-out page numbers in a list of links."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some items of a list; pages count from 1."""

    items: tuple[T, ...]
    number: int
    size: int
    total: int

    @property
    def pages(self) -> int:
        """How many pages there are: at least one, even of nothing."""
        return max((self.total + self.size - 1) // self.size, 1)

    @property
    def has_next(self) -> bool:
        return self.number < self.pages

    @property
    def has_previous(self) -> bool:
        return self.number > 1

    @property
    def first_index(self) -> int:
        """The position of the first item, from 1; 0 on an empty page."""
        return (self.number - 1) * self.size + 1 if self.items else 0

    @property
    def last_index(self) -> int:
        """The position of the last item; 0 on an empty page."""
        return self.first_index + len(self.items) - 1 if self.items else 0

    def summary(self) -> str:
        """Return the line over the list: `21-40 of 95`."""
        if not self.items:
            return f"none of {self.total}"
        return f"{self.first_index}-{self.last_index} of {self.total}"


def paginate(items: Sequence[T], number: int, size: int = 20) -> Page[T]:
    """Return one page; a number outside the list gives the nearest page."""
    if size < 1:
        raise ValueError("a page holds at least one item")
    pages = max((len(items) + size - 1) // size, 1)
    number = min(max(number, 1), pages)
    start = (number - 1) * size
    return Page(tuple(items[start : start + size]), number, size, len(items))


def page_links(current: int, pages: int, around: int = 2) -> list[int]:
    """Return the page numbers to link: first, last, and those around the current one, with `GAP` between."""
    wanted = sorted(
        {1, pages} | {n for n in range(current - around, current + around + 1) if 1 <= n <= pages}
    )
    links = wanted[:1]
    for number in wanted[1:]:
        missing = number - links[-1] - 1
        if missing == 1:
            links.append(number - 1)
        elif missing > 1:
            links.append(GAP)
        links.append(number)
    return links


def page_of(index: int, size: int) -> int:
    """Return the page that the item at `index` (from 0) is on."""
    if index < 0:
        raise IndexError("items count from 0")
    return index // size + 1


def columns(items: Sequence[T], count: int) -> list[list[T]]:
    """Return the items in `count` columns read from top to bottom; the first columns are the longer ones."""
    height, longer = divmod(len(items), count)
    result: list[list[T]] = []
    start = 0
    for column in range(count):
        end = start + height + (1 if column < longer else 0)
        result.append(list(items[start:end]))
        start = end
    return result
