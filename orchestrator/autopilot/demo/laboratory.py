"""Scratch copies of a repository, in which changes are tried and nothing is kept."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio

from autopilot.demo.runner import Ending, TestRunner, TestsDidNotEnd

AT_ONCE = 2
"""Test runs at the same time, each in a copy of its own."""
MOST_TESTS = 25
MOST_SHARE = 0.3
"""A change that makes more tests fail than this is a broken program rather than a bug."""


class Laboratory:
    """Tells which tests a change makes fail. `passing` and `red` are those that pass and fail without any."""

    def __init__(self, runner: TestRunner, copies: Sequence[Path], before: Mapping[str, Ending]) -> None:
        self.tests = frozenset(before)
        self.passing = frozenset(test for test, ending in before.items() if ending == "passed")
        self.red = sorted(test for test, ending in before.items() if ending in ("failed", "error"))
        self.most = max(3, min(MOST_TESTS, int(len(self.passing) * MOST_SHARE)))
        self._runner = runner
        self._copies = list(copies)
        self._slots = anyio.Semaphore(len(copies))

    async def failing(self, changes: Mapping[str, bytes], files: Sequence[str] = ()) -> frozenset[str] | None:
        """Return the tests that fail with these texts in place of the modules', of some test files or of all.

        None: the tests hang, or some no longer exist or are skipped, as when a module can't be imported.
        """
        expected = [test for test in self.passing if not files or file_of(test) in files]
        try:
            results = await self._run(changes, files)
        except TestsDidNotEnd:
            return None
        if any(results.get(test, "skipped") == "skipped" for test in expected):
            return None
        return frozenset(test for test in expected if results[test] != "passed")

    async def _run(self, changes: Mapping[str, bytes], files: Sequence[str]) -> dict[str, Ending]:
        async with self._slots:
            copy = self._copies.pop()
            try:
                with _changed(copy, changes):
                    return await self._runner.run(copy, list(files))
            finally:
                self._copies.append(copy)


@asynccontextmanager
async def open_laboratory(repo_dir: Path, runner: TestRunner) -> AsyncIterator[Laboratory]:
    """Yield a laboratory whose copies are gone afterwards; the repository itself is never run or changed.

    Raises:
        TestsDidNotEnd: the tests of the unchanged repository hang or can't be started.
    """
    with tempfile.TemporaryDirectory(prefix="autopilot-planter-", ignore_cleanup_errors=True) as folder:
        copies = [Path(folder) / str(number) / repo_dir.name for number in range(AT_ONCE)]
        for copy in copies:
            shutil.copytree(repo_dir, copy, symlinks=True, ignore=_not_copied)
        before = await runner.run(copies[0], [])
        yield Laboratory(runner, copies, before)


def file_of(test: str) -> str:
    """Return the file of a test id."""
    return test.split("::", 1)[0]


def _not_copied(folder: str, names: list[str]) -> list[str]:
    # Compiled files would be taken for current ones when a mutant has the size and the second of the original.
    return [name for name in names if name in (".git", "__pycache__")]


@contextmanager
def _changed(copy: Path, changes: Mapping[str, bytes]) -> Iterator[None]:
    originals = {path: (copy / path).read_bytes() for path in changes}
    try:
        for path, text in changes.items():
            (copy / path).write_bytes(text)
        yield
    finally:
        for path, text in originals.items():
            (copy / path).write_bytes(text)
