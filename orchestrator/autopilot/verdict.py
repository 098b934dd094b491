"""Compares checks with their baseline, test by test: fixed, still red, broken, flaky. Pure functions.

A test that was red before and is red after is not the same as one that was broken. A baseline test that vanished,
is newly skipped, or whose file the unit changed counts by what its baseline version says (`restored`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autopilot.checks import CheckRun
from autopilot_playbooks.schema import Check, Phase
from autopilot_state.models import CheckEvidence, Evidence, TestCounts

HARNESS_FILES = ("conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
"""Files that decide which tests run and how; changed by a unit, they are tried in their baseline version too."""


@dataclass(frozen=True)
class Comparison:
    """One check against its baseline. Test ids; a check without tests stands as its own id."""

    check: Check
    run: CheckRun
    fixed: tuple[str, ...]
    still_red: tuple[str, ...]
    broken: tuple[str, ...]
    flaky: tuple[str, ...]
    green: bool


def compare(
    check: Check,
    before: CheckRun,
    now: CheckRun,
    *,
    restored: CheckRun | None = None,
    repeats: Sequence[CheckRun] = (),
    guard: bool = False,
) -> Comparison:
    """Return what changed for `check` between the baseline and now.

    `restored` is the run with the baseline's version of test and harness files that the unit changed. `repeats`
    are further runs on the same tree, made when something went red. A `guard` is green when nothing broke.
    """
    if not before.tests and not now.tests:
        return _compare_whole(check, before, now, guard=guard)
    newly_red = [t for t in now.red_tests if before.passed(t) or t not in before.tests]
    flaky = tuple(t for t in newly_red if any(r.passed(t) for r in repeats))
    judged = restored or now
    broken = tuple(t for t in before.tests if before.passed(t) and not judged.passed(t) and t not in flaky)
    weakened = tuple(
        t for t in before.red_tests if now.passed(t) and restored is not None and not restored.passed(t)
    )
    fixed = tuple(t for t in before.red_tests if now.passed(t) and t not in weakened)
    still_red = tuple(t for t in now.red_tests if t not in broken and t not in flaky)
    broken += weakened
    if guard:
        green = not broken
    elif check.tests:
        green = not broken and all(now.passed(t) and judged.passed(t) for t in check.tests)
    else:
        green = not broken and (now.exit_code == 0 or any(r.exit_code == 0 for r in repeats))
    return Comparison(check, now, fixed, still_red, broken, flaky, green)


def _compare_whole(check: Check, before: CheckRun, now: CheckRun, *, guard: bool) -> Comparison:
    was, is_ = before.exit_code == 0, now.exit_code == 0
    one = (check.id,)
    return Comparison(
        check,
        now,
        fixed=one if is_ and not was else (),
        still_red=one if not is_ and not was else (),
        broken=one if was and not is_ else (),
        flaky=(),
        green=is_ or (guard and not was),
    )


def needs_repeat(before: CheckRun, now: CheckRun) -> bool:
    """Say whether a test is newly red, so that it must be run twice more before it counts."""
    return any(before.passed(t) or t not in before.tests for t in now.red_tests)


def changed_test_files(
    phase: Phase, changed: Sequence[str], before: CheckRun, allowed: Mapping[str, bool]
) -> list[str]:
    """Return the files to put back for the baseline's version: test files and harness files that the unit changed.

    `allowed` says for each changed path whether the unit's `Files` name it.
    """
    test_files = set(before.files.values()) | {t.split("::", 1)[0] for t in before.tests if "::" in t}
    return [
        path
        for path in changed
        if not allowed.get(path, False) and (path in test_files or path.rsplit("/", 1)[-1] in HARNESS_FILES)
    ]


@dataclass(frozen=True)
class Verdict:
    """What a tree is worth: all comparisons, and the score that checks alone give."""

    checks: tuple[Comparison, ...]
    guards: tuple[Comparison, ...]
    criteria: Mapping[str, CheckRun | None]
    """Each criterion with the run of its own command; None where it has none and the checks stand for it."""

    @property
    def green(self) -> bool:
        """Own checks green and nothing broken anywhere."""
        return all(c.green for c in self.checks) and not self.broken

    @property
    def broken(self) -> tuple[str, ...]:
        return _union(c.broken for c in (*self.checks, *self.guards))

    @property
    def red_count(self) -> int:
        """How much is left, for comparing cycles: red own checks' tests, and what is broken."""
        own = sum(max(1, len(_open_tests(c))) for c in self.checks if not c.green)
        return own + len(self.broken)

    @property
    def counts(self) -> TestCounts:
        every = (*self.checks, *self.guards)
        return TestCounts(
            fixed=len(_union(c.fixed for c in every)),
            still_red=len(_union(_open_tests(c) for c in self.checks)),
            broken=len(self.broken),
            flaky=len(_union(c.flaky for c in every)),
        )

    def fulfilled(self) -> tuple[str, ...]:
        """Return the ids of checks and criteria that a green command stands behind."""
        checks = [c.check.id for c in self.checks if c.green]
        all_green = bool(self.checks) and len(checks) == len(self.checks)
        criteria = [i for i, run in self.criteria.items() if (run.exit_code == 0 if run else all_green)]
        return (*checks, *criteria)

    def score(self) -> float | None:
        """Return 10 × the share of checks and criteria fulfilled, rounded down; at most 4.0 when a test broke.

        None when nothing was checked: there is no evidence to score.
        """
        total = len(self.checks) + len(self.criteria)
        if not self.checks:
            return None
        score = math.floor(100 * len(self.fulfilled()) / total) / 10
        return min(score, 4.0) if self.broken else score

    def evidence(self, restored: Sequence[str] = ()) -> Evidence:
        """Return the evidence of an outcome."""
        fulfilled = self.fulfilled()
        every = [c.check.id for c in self.checks] + list(self.criteria)
        return Evidence(
            checks=tuple(
                CheckEvidence(
                    check=c.check.id,
                    command=c.check.command,
                    tree=c.run.tree,
                    exit_code=c.run.exit_code,
                    green=c.green,
                    duration_s=c.run.duration_s,
                    log=c.run.log,
                )
                for c in self.checks
            ),
            tests=self.counts,
            fulfilled=fulfilled,
            open=tuple(item for item in every if item not in fulfilled),
            restored_files=tuple(restored),
        )

    def reason(self) -> str:
        """Return one line on why this is not green, or what is open; empty when nothing is."""
        if self.broken:
            return f"broke {_some(self.broken)}"
        red = [c for c in self.checks if not c.green]
        if red:
            tests = _union(_open_tests(c) for c in red)
            what = _some(tests) if tests else f"`{red[0].check.command[:60]}` exit {red[0].run.exit_code}"
            return f"still red: {what}"
        open_criteria = [i for i, run in self.criteria.items() if run is not None and run.exit_code != 0]
        return f"not fulfilled: {', '.join(open_criteria)}" if open_criteria else ""

    def feedback(self) -> str:
        """Return what a builder is told for its next cycle: names of tests and capped output."""
        parts = []
        if self.broken:
            parts.append(
                "Your change broke these tests, which passed before:\n" + "\n".join(self.broken[:40])
            )
        for c in self.checks:
            if not c.green:
                parts.append(f"`{c.check.command}` ended with {c.run.exit_code}:\n{c.run.view}")
        return "\n\n".join(parts)


def _open_tests(comparison: Comparison) -> tuple[str, ...]:
    """Return the red tests that the check answers for: the named ones, or all of them."""
    if comparison.check.tests:
        return tuple(t for t in comparison.check.tests if not comparison.run.passed(t))
    return comparison.still_red


def _union(groups: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))  # type: ignore[attr-defined]


def _some(items: Sequence[str]) -> str:
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return f"{items[0]}{more}"
