"""Plants bugs in a copy of a repository whose tests pass, so that its tests tell where to look and nothing else does.

A bug is a mutation that some tests notice, not too many, and none that notices another bug. The tests are the
oracle here as they are for the worker that repairs it: what was there before is written down nowhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import anyio

from autopilot.demo.candidates import Field, fields_for
from autopilot.demo.laboratory import Laboratory, file_of, open_laboratory
from autopilot.demo.modules import SourceModule, find_modules
from autopilot.demo.mutations import Mutation, apply_mutations
from autopilot.demo.runner import SubprocessRunner, TestRunner

T = TypeVar("T")

__all__ = ["PlantedBug", "SubprocessRunner", "TestRunner", "plant", "plant_in"]

TRIALS_A_TURN = 12
"""Mutations of one module that are tried before another module has its turn."""
PAIR_FUNCTIONS = 4
PAIR_SINGLES = 10
"""How many functions of a module, and mutations of each, are looked at for a bug of two edits."""


@dataclass(frozen=True)
class PlantedBug:
    """Where a bug is (a posix path) and the ids of the tests that fail because of it; not what it is."""

    file: str
    tests: tuple[str, ...]
    edits: int = 1
    """How many places have to change at once."""


async def plant(
    repo_dir: Path,
    *,
    seed: int,
    count: int,
    one_per_file: bool,
    runner: TestRunner,
    pairs: int = 0,
) -> list[PlantedBug]:
    """Return the bugs that were written into modules of `repo_dir`: `count` of one edit, then `pairs` of two.

    The same repository and seed give the same bugs. Fewer come back when the tests don't notice enough mutations;
    none does without a passing test. Tests that fail before any bug is planted are left out of account.

    Raises:
        TestsDidNotEnd: the tests of the unchanged repository hang or can't be started.
    """
    async with open_laboratory(repo_dir, runner) as laboratory:
        return await plant_in(
            laboratory, repo_dir, seed=seed, count=count, one_per_file=one_per_file, pairs=pairs
        )


async def plant_in(
    laboratory: Laboratory, repo_dir: Path, *, seed: int, count: int, one_per_file: bool, pairs: int = 0
) -> list[PlantedBug]:
    """Return what `plant` returns, with a laboratory of `repo_dir` that is open already."""
    if not laboratory.passing:
        return []
    modules = find_modules(repo_dir, {file_of(test) for test in laboratory.tests})
    search = _Search(laboratory, fields_for(modules, seed), one_per_file=one_per_file)
    bugs = await search.find(count, pairs)
    for path, text in _planted(bugs).items():
        (repo_dir / path).write_bytes(text)
    return [PlantedBug(bug.module.path, tuple(sorted(bug.tests)), len(bug.edits)) for bug in bugs]


@dataclass(frozen=True)
class _Bug:
    module: SourceModule
    edits: tuple[Mutation, ...]
    tests: frozenset[str]

    def is_separate_from(self, other: _Bug) -> bool:
        if self.tests & other.tests:
            return False
        if self.module is not other.module:
            return True
        return self.edits[0].function != other.edits[0].function


def _planted(bugs: Iterable[_Bug]) -> dict[str, bytes]:
    """Return the texts of all changed modules with all of their bugs, by path."""
    edits: dict[SourceModule, list[Mutation]] = {}
    for bug in bugs:
        edits.setdefault(bug.module, []).extend(bug.edits)
    return {module.path: apply_mutations(module.source, each) for module, each in edits.items()}


class _Care(Enum):
    """How a mutation is judged, from the quickest way to the one that takes most."""

    OWN_TESTS_ALONE = 1
    """By the tests near its module, of which only those about it may fail; of the others all bugs together tell."""
    OWN_TESTS = 2
    """By all tests, of which only those about its module may fail."""
    ALL_TESTS = 3
    """By all tests, and any may fail."""


class _Search:
    """Looks for bugs in all modules side by side; what it finds does not depend on which run ends first."""

    def __init__(self, laboratory: Laboratory, fields: Sequence[Field], *, one_per_file: bool) -> None:
        self._laboratory = laboratory
        self._fields = fields
        self._one_per_file = one_per_file
        self._bugs: list[_Bug] = []

    async def find(self, count: int, pairs: int) -> list[_Bug]:
        """Return up to `count` bugs of one edit and then up to `pairs` of two, none of which hides another."""
        for care in _Care:
            if care is _Care.ALL_TESTS:
                for field in self._fields:
                    field.start_again()
            await self._fill(count, pairs, care)
            await self._drop_what_interferes()
            if len(self._bugs) == count + pairs:
                break
        return sorted(self._bugs, key=lambda bug: len(bug.edits))

    async def _fill(self, count: int, pairs: int, care: _Care) -> None:
        """Give modules their turns until enough bugs are found or no module has a mutation left."""
        while True:
            missing_pairs = pairs - sum(len(bug.edits) == 2 for bug in self._bugs)
            missing = count - sum(len(bug.edits) == 1 for bug in self._bugs)
            free = [field for field in self._fields if self._is_free(field, care)]
            for_pairs = [field for field in free if not field.pair_tried][:missing_pairs]
            for_one = [field for field in free if field not in for_pairs and not field.exhausted][:missing]
            turns = [partial(self._two_edits, field, care) for field in for_pairs]
            turns += [partial(self._one_edit, field, care) for field in for_one]
            if not turns:
                return
            for bug in await _side_by_side(turns):
                if bug is not None and all(bug.is_separate_from(other) for other in self._bugs):
                    self._bugs.append(bug)

    def _is_free(self, field: Field, care: _Care) -> bool:
        if care is not _Care.ALL_TESTS and not field.module.tests:
            return False
        used = any(bug.module is field.module for bug in self._bugs)
        return not used or (care is _Care.ALL_TESTS and not self._one_per_file)

    async def _one_edit(self, field: Field, care: _Care) -> _Bug | None:
        taken = {bug.edits[0].function for bug in self._bugs if bug.module is field.module}
        for mutation in field.next_ones(TRIALS_A_TURN):
            if mutation.function not in taken:
                bug = await self._judged(field.module, (mutation,), care)
                if bug is not None:
                    return bug
        return None

    async def _two_edits(self, field: Field, care: _Care) -> _Bug | None:
        """Return two edits on two lines of one function, either of which is noticed without the other.

        Best is a pair where taking back one edit turns no test green: a search for one edit then sees no progress.
        """
        field.pair_tried = True
        noticed: list[_Bug] = []
        for mutation in field.by_function(PAIR_FUNCTIONS, PAIR_SINGLES):
            bug = await self._judged(field.module, (mutation,), care)
            if bug is None:
                continue
            for other in noticed:
                if bug.tests == other.tests and _fit_together(field, bug, other):
                    both = await self._judged(field.module, (*other.edits, *bug.edits), care)
                    if both is not None and both.tests <= bug.tests:
                        return both
            noticed.append(bug)
        return await self._any_pair(field, noticed, care)

    async def _any_pair(self, field: Field, noticed: Sequence[_Bug], care: _Care) -> _Bug | None:
        for bug, other in pairwise(noticed):
            if _fit_together(field, bug, other):
                both = await self._judged(bug.module, (*bug.edits, *other.edits), care)
                if both is not None:
                    return both
        return None

    async def _judged(self, module: SourceModule, edits: tuple[Mutation, ...], care: _Care) -> _Bug | None:
        """Return the bug that these edits make, or None if too few or too many tests notice them."""
        changes = {module.path: apply_mutations(module.source, edits)}
        alone = care is _Care.OWN_TESTS_ALONE
        tests = await self._laboratory.failing(changes, module.near if alone else ())
        if not tests or len(tests) > self._laboratory.most:
            return None
        if care is not _Care.ALL_TESTS and not {file_of(test) for test in tests} <= set(module.tests):
            return None
        return _Bug(module, edits, tests)

    async def _drop_what_interferes(self) -> None:
        """Keep the bugs that together make exactly those tests fail that they are known for."""
        while self._bugs:
            together = await self._laboratory.failing(_planted(self._bugs)) or frozenset()
            unexpected = together ^ frozenset().union(*(bug.tests for bug in self._bugs))
            if not unexpected:
                return
            files = {file_of(test) for test in unexpected}
            sound = await _side_by_side([partial(self._is_as_known, bug, files) for bug in self._bugs])
            kept = [bug for bug, is_sound in zip(self._bugs, sound, strict=True) if is_sound]
            self._bugs = kept if len(kept) < len(self._bugs) else self._bugs[:-1]

    async def _is_as_known(self, bug: _Bug, files: set[str]) -> bool:
        tests = await self._laboratory.failing(_planted([bug]), sorted(files))
        return tests == frozenset(test for test in bug.tests if file_of(test) in files)


def _fit_together(field: Field, bug: _Bug, other: _Bug) -> bool:
    left, right = bug.edits[0], other.edits[0]
    return left.function == right.function and field.on_other_lines(left, right)


async def _side_by_side(turns: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Return the results in the order of `turns`; how many run at a time is the laboratory's business."""
    results: dict[int, T] = {}

    async def take(index: int, turn: Callable[[], Awaitable[T]]) -> None:
        results[index] = await turn()

    async with anyio.create_task_group() as group:
        for index, turn in enumerate(turns):
            group.start_soon(take, index, turn)
    return [results[index] for index in range(len(turns))]
