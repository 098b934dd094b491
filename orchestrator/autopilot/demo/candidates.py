"""The order in which a seed tries modules and their mutations."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autopilot.demo.modules import SourceModule
from autopilot.demo.mutations import KIND_WEIGHTS, Mutation, find_mutations


@dataclass(eq=False)
class Field:
    """A module with its mutations in the order in which they are tried."""

    module: SourceModule
    mutations: list[Mutation]
    pair_tried: bool = False
    _next: int = 0

    @property
    def exhausted(self) -> bool:
        return self._next >= len(self.mutations)

    def next_ones(self, most: int) -> Iterator[Mutation]:
        """Yield up to `most` mutations that were not tried yet."""
        last = min(self._next + most, len(self.mutations))
        while self._next < last:
            self._next += 1
            yield self.mutations[self._next - 1]

    def start_again(self) -> None:
        """Forget what was tried, because it is judged in another way now."""
        self._next = 0

    def by_function(self, functions: int, mutations: int) -> Iterator[Mutation]:
        """Yield some mutations of each of some functions of several lines, one function after the other."""
        grouped: defaultdict[str, list[Mutation]] = defaultdict(list)
        for mutation in self.mutations:
            grouped[mutation.function].append(mutation)
        for group in [each for each in grouped.values() if self._on_several_lines(each)][:functions]:
            yield from group[:mutations]

    def on_other_lines(self, one: Mutation, other: Mutation) -> bool:
        """Return whether two mutations stand on different lines."""
        first, second = sorted((one, other), key=lambda each: each.start)
        return b"\n" in self.module.source[first.end : second.start]

    def _on_several_lines(self, group: Sequence[Mutation]) -> bool:
        first = min(group, key=lambda each: each.end)
        return any(self.on_other_lines(first, each) for each in group)


def fields_for(modules: Sequence[SourceModule], seed: int) -> list[Field]:
    """Return the modules that have mutations, in the order of the seed; those with tests about them come first."""
    fields = []
    for module in modules:
        mutations = find_mutations(module.source)
        if mutations:
            rng = random.Random(f"{seed}:{module.path}")  # noqa: S311 - the same seed is to give the same bugs
            fields.append(Field(module, _shuffled(mutations, rng)))
    random.Random(seed).shuffle(fields)  # noqa: S311
    return sorted(fields, key=lambda field: not field.module.tests)


def _shuffled(mutations: Sequence[Mutation], rng: random.Random) -> list[Mutation]:
    """Return the mutations in random order: any function is as likely to come first as any other, and in it a kind
    by its weight, however many mutations there are of the kind. (An exponential race: the least waiting time wins.)
    """
    of_a_kind = Counter((each.function, each.kind) for each in mutations)
    whole: defaultdict[str, float] = defaultdict(float)
    for function, kind in of_a_kind:
        whole[function] += KIND_WEIGHTS[kind]
    waits = [
        rng.expovariate(KIND_WEIGHTS[each.kind] / whole[each.function] / of_a_kind[each.function, each.kind])
        for each in mutations
    ]
    return [mutations[index] for index in sorted(range(len(waits)), key=waits.__getitem__)]
