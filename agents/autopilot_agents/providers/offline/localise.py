"""Which lines are suspicious: those that failing tests run and passing tests don't (Ochiai)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Line = tuple[str, int]

FRAME_BOOST = 1.25
DEEPEST_FRAME_BOOST = 1.6


@dataclass(frozen=True)
class Trace:
    """What one test ran: its lines by file, and the lines at which a failure passed through."""

    test: str
    passed: bool
    lines: frozenset[Line]
    frames: tuple[Line, ...] = ()
    events: int = 0


@dataclass
class Suspicion:
    """How suspicious each line is, 0 to about 1."""

    lines: dict[Line, float] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        return sorted({path for path, _ in self.lines})

    def of_lines(self, path: str, first: int, last: int) -> float:
        """Return the suspicion of the worst line in a range."""
        return max((self.lines.get((path, number), 0.0) for number in range(first, last + 1)), default=0.0)


def rank(target: Trace, traces: Iterable[Trace]) -> Suspicion:
    """Return the suspicion of the lines that `target` ran: no other line can turn it green."""
    others = [trace for trace in traces if trace.test != target.test]
    failing = [target, *(trace for trace in others if not trace.passed)]
    passing = [trace for trace in others if trace.passed]
    boost = dict.fromkeys(target.frames, FRAME_BOOST)
    if target.frames:
        boost[target.frames[-1]] = DEEPEST_FRAME_BOOST
    scores = {}
    for line in target.lines:
        failed = sum(line in trace.lines for trace in failing)
        passed = sum(line in trace.lines for trace in passing)
        score = failed / math.sqrt(len(failing) * (failed + passed))
        scores[line] = score * boost.get(line, 1.0)
    return Suspicion(scores)


def nearest(test: str, tests: Sequence[str], without: Iterable[str], limit: int) -> list[str]:
    """Return up to `limit` of `tests` that were collected nearest to `test`: first the same function with other
    parameters, then the same class, then the same file.
    """
    position = tests.index(test)
    left_out = {test, *without}
    ranked = sorted(
        (abs(index - position), index) for index, other in enumerate(tests) if other not in left_out
    )
    return [tests[index] for _, index in ranked[:limit]]
