"""Writes planted bugs as a roadmap, in the words of somebody who saw tests fail and does not know why."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from autopilot.demo.laboratory import file_of
from autopilot.demo.planter import PlantedBug

UAT_ISSUES = 6
UAT_FROM = 9
"""With so many bugs, six of them go into one phase, which is then large enough for a split."""
UAT_PHASE = "3"
_MAX_COMMAND = 3_500
"""Characters; a roadmap takes commands of up to 4,000."""


@dataclass(frozen=True)
class _Phase:
    """A phase to be; with `issues` it names the files, without it says what area is wrong."""

    name: str
    goal: str
    bugs: tuple[PlantedBug, ...]
    issues: bool = False
    depends_on: str = "none"


def write_roadmap(
    bugs: Sequence[PlantedBug],
    *,
    pair_bugs: Sequence[PlantedBug],
    python: str,
    title: str,
    setup: str | None = None,
    red_files: Collection[str] = (),
) -> str:
    """Return the roadmap of all bugs as Markdown: one phase a bug, but six in one phase where there are enough.

    `python` is the interpreter of the checks, quoted here where it must be. `red_files` are test files that hold
    failures of other causes; phases about them name single tests.
    """
    owners = Counter(file for bug in (*bugs, *pair_bugs) for file in _files(bug))
    shared = {file for file, count in owners.items() if count > 1} | set(red_files)
    phases = [*_phases(bugs), *(_single(bug) for bug in pair_bugs)]
    blocks = [_front_matter(python, setup), f"# {title}\n", _INTRODUCTION]
    for number, phase in enumerate(phases, start=1):
        blocks.append(_block(number, phase, python, shared))
    return "\n".join(blocks)


_INTRODUCTION = """\
Every phase below was found by failing tests. The tests are right; the code is not.
"""


def _front_matter(python: str, setup: str | None) -> str:
    lines = ["---", f"guards: [{json.dumps(_pytest(python, []))}]"]
    if setup:
        lines.append(f"setup: {json.dumps(setup)}")
    return "\n".join([*lines, "---", ""])


def _phases(bugs: Sequence[PlantedBug]) -> list[_Phase]:
    """Return the phases of bugs with one edit. The large one is the third: it waits for one, and one waits for it."""
    together = _for_one_phase(bugs)
    singles = [_single(bug) for bug in bugs if bug not in together]
    if not together:
        # A bug that is not found must not keep the others from being looked for.
        return singles
    large = _Phase("UAT fixes", "What the acceptance test found, each in another place.", together, True, "1")
    rest = [_after(phase, UAT_PHASE) if index == 0 else phase for index, phase in enumerate(singles[2:])]
    return [*singles[:2], large, *rest]


def _for_one_phase(bugs: Sequence[PlantedBug]) -> tuple[PlantedBug, ...]:
    by_file = {bug.file: bug for bug in reversed(bugs)}
    chosen = [bug for bug in bugs if by_file[bug.file] is bug][-UAT_ISSUES:]
    return tuple(chosen) if len(bugs) >= UAT_FROM and len(chosen) == UAT_ISSUES else ()


def _after(phase: _Phase, other: str) -> _Phase:
    return _Phase(phase.name, phase.goal, phase.bugs, phase.issues, other)


def _single(bug: PlantedBug) -> _Phase:
    areas = [PurePosixPath(file).stem for file in _files(bug)]
    area = " and ".join(re.sub(r"^test_|_test$", "", stem).replace("_", " ") for stem in areas[:2])
    count = len(bug.tests)
    fail = "1 test of it fails" if count == 1 else f"{count} tests of it fail"
    goal = f"What the tests say about {area} is true again: {fail}."
    return _Phase(area.capitalize()[:80], goal, (bug,))


def _block(number: int, phase: _Phase, python: str, shared: Collection[str]) -> str:
    lines = [
        f"## Phase {number}: {phase.name}",
        "",
        f"**Goal**: {phase.goal}",
        f"**Depends on**: {phase.depends_on}",
    ]
    if phase.issues:
        lines += ["", "**Issues**", *(f"- [ ] {_issue(bug)}" for bug in phase.bugs)]
    targets = [target for bug in phase.bugs for target in _targets(bug, shared)]
    lines += ["", "**Checks**", *(f"- {_code(command)}" for command in _commands(python, targets))]
    return "\n".join([*lines, ""])


def _issue(bug: PlantedBug) -> str:
    """Return a line such as: `shopkit/dates.py` misbehaves: 3 tests of `tests/test_dates.py` fail."""
    parts = []
    for file, tests in groupby(sorted(bug.tests), key=file_of):
        count = len(list(tests))
        parts.append(f"{count} {'test' if count == 1 else 'tests'} of {_code(file)}")
    verb = "fails" if len(bug.tests) == 1 else "fail"
    return f"{_code(bug.file)} misbehaves: {' and '.join(parts)} {verb}"


def _files(bug: PlantedBug) -> list[str]:
    return sorted({file_of(test) for test in bug.tests})


def _targets(bug: PlantedBug, shared: Collection[str]) -> Iterator[str]:
    """Yield the test files that this bug alone makes red, and of other files the single tests."""
    for file, tests in groupby(sorted(bug.tests), key=file_of):
        if file in shared:
            yield from tests
        else:
            yield file


def _commands(python: str, targets: Sequence[str]) -> Iterator[str]:
    """Yield one command for all targets, or several where one would be too long for a roadmap."""
    taken: list[str] = []
    for target in targets:
        if taken and len(_pytest(python, [*taken, target])) > _MAX_COMMAND:
            yield _pytest(python, taken)
            taken = []
        taken.append(target)
    yield _pytest(python, taken)


def _pytest(python: str, targets: Sequence[str]) -> str:
    return shlex.join([python, "-m", "pytest", "-q", *targets])


def _code(text: str) -> str:
    """Return a code span; its fence is longer than any row of backticks inside."""
    longest = max((len(row) for row in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"
