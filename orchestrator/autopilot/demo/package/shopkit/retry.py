"""When to try a payment again. Times are seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

PASSING = frozenset({408, 425, 429})
"""Statuses below 500 after which a second try may succeed."""


class GaveUp(Exception):
    """Raised after the last try; the cause is its last failure."""


@dataclass(frozen=True)
class Policy:
    """How often to try, and how long to wait between: `first_delay`, then longer by `factor`, up to `longest`."""

    tries: int = 4
    first_delay: float = 0.5
    factor: float = 2.0
    longest: float = 30.0

    def delays(self) -> Iterator[float]:
        """Yield the waits between the tries: one fewer than there are tries."""
        delay = self.first_delay
        for _ in range(self.tries - 1):
            yield min(delay, self.longest)
            delay *= self.factor

    def longest_wait(self) -> float:
        """Return the sum of all waits, for a customer who looks at a spinning wheel."""
        return sum(self.delays())


def may_pass(status: int) -> bool:
    """Return whether a later try may succeed: too many requests, a timeout, an error of the server."""
    return status in PASSING or (500 <= status < 600 and status != 501)


def retry_after(header: str | None, *, ceiling: float = 120.0) -> float | None:
    """Return the wait that a server asked for, between 0 and the ceiling; None where it asked for none we read."""
    if header is None:
        return None
    text = header.strip()
    if not text.isdigit():
        return None
    return min(float(text), ceiling)


def jittered(delay: float, chance: float, *, spread: float = 0.5) -> float:
    """Return the delay moved by up to `spread` of itself; `chance` from 0 to 1 says where, 0.5 leaves it as it is."""
    if not 0 <= chance <= 1:
        raise ValueError("chance is between 0 and 1")
    return delay * (1 - spread + 2 * spread * chance)


def call(action: Callable[[], T], policy: Policy, wait: Callable[[float], None]) -> T:
    """Return what the action returns; after a ConnectionError wait and try again.

    Raises:
        GaveUp: the last try failed too.
    """
    waits = [*policy.delays(), None]
    for number, delay in enumerate(waits, start=1):
        try:
            return action()
        except ConnectionError as error:
            if delay is None:
                raise GaveUp(f"failed {number} times") from error
            wait(delay)
    raise AssertionError("a policy has at least one try")


@dataclass
class Breaker:
    """Stops calling a service that keeps failing: open after `limit` failures in a row, until `rest` has passed."""

    limit: int = 3
    rest: float = 60.0
    failures: int = 0
    opened_at: float | None = None

    def allows(self, now: float) -> bool:
        return self.opened_at is None or now - self.opened_at >= self.rest

    def succeeded(self) -> None:
        self.failures = 0
        self.opened_at = None

    def failed(self, now: float) -> None:
        self.failures += 1
        if self.failures >= self.limit:
            self.opened_at = now
