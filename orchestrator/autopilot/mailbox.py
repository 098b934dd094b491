"""A queue without a bound on purpose: what arrives is one small value a unit, and its senders never wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Mailbox(Generic[T]):
    """Many senders, one reader that takes everything that is there."""

    def __init__(self) -> None:
        self._items: list[T] = []
        self._arrived = anyio.Event()

    def put(self, item: T) -> None:
        """Add an item; never waits."""
        self._items.append(item)
        self._arrived.set()

    async def take_all(self) -> Sequence[T]:
        """Wait for at least one item and return all that are there, oldest first."""
        while not self._items:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        items, self._items = self._items, []
        return items
