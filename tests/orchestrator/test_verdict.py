"""The comparison with the baseline, test by test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.checks import CheckRun
from autopilot.verdict import Verdict, changed_test_files, compare, needs_repeat
from autopilot_playbooks.schema import Check, Phase

CHECK = Check(id="1.k1", command="pytest")
STATUSES = ("passed", "failed", "error", "skipped", "xfailed")


def run(exit_code: int | None = None, **tests: str) -> CheckRun:
    red = any(status in ("failed", "error") for status in tests.values())
    code = exit_code if exit_code is not None else int(red)
    files = dict.fromkeys(tests, "tests/test_a.py")
    return CheckRun("pytest", "tree", code, 0.1, "output", tests, files)


def test_red_before_and_red_after_is_not_broken() -> None:
    """A test that was red and stays red is still red; one that was green and turns red is broken."""
    found = compare(CHECK, run(a="failed", b="passed"), run(a="failed", b="failed"))

    assert (found.fixed, found.still_red, found.broken) == ((), ("a",), ("b",))
    assert not found.green


@pytest.mark.parametrize("ending", ["skipped", "xfailed", None])
def test_a_baseline_test_that_no_longer_passes_is_broken(ending: str | None) -> None:
    """Skipping, expecting to fail or removing a green test is breaking it, even when the command exits 0."""
    after = run(b="passed") if ending is None else run(a=ending, b="passed")

    found = compare(CHECK, run(a="passed", b="passed"), after)

    assert found.broken == ("a",)
    assert not found.green


def test_a_test_turned_green_by_changing_it_counts_as_broken() -> None:
    """Red at the base, green now, red in its baseline version: the test was weakened."""
    found = compare(CHECK, run(a="failed"), run(a="passed"), restored=run(a="failed"))

    assert (found.fixed, found.broken, found.green) == ((), ("a",), False)


def test_a_legitimate_change_of_a_test_file_passes() -> None:
    """A unit may change a test file when the baseline's version of its tests is green as well."""
    found = compare(CHECK, run(a="failed"), run(a="passed", new="passed"), restored=run(a="passed"))

    assert (found.fixed, found.broken, found.green) == (("a",), (), True)


def test_a_test_that_disagrees_with_itself_is_flaky_and_not_broken() -> None:
    """Newly red, and green in one of two repeats: flaky, listed, neither fixed nor broken."""
    before, now = run(a="passed"), run(a="failed")
    assert needs_repeat(before, now)

    found = compare(CHECK, before, now, repeats=[run(a="failed"), run(a="passed")])

    assert (found.flaky, found.broken, found.fixed) == (("a",), (), ())


def test_a_check_with_named_tests_ignores_other_red_ones() -> None:
    """A child's narrowed check is green when its own tests pass, although its siblings' are still red."""
    check = Check(id="1a.k1", command="pytest", tests=("a",))

    assert compare(check, run(a="failed", b="failed"), run(a="passed", b="failed")).green
    assert not compare(check, run(a="failed", b="failed"), run(a="failed", b="passed")).green


def test_a_guard_is_green_when_nothing_broke() -> None:
    """A guard may stay red; it only must not get worse."""
    before = run(a="failed", b="passed")

    assert compare(CHECK, before, run(a="failed", b="passed"), guard=True).green
    assert not compare(CHECK, before, run(a="passed", b="failed"), guard=True).green


def test_a_command_without_tests_is_one_test() -> None:
    """A command that reports no tests is fixed, broken or still red as a whole."""
    assert compare(CHECK, run(exit_code=1), run(exit_code=0)).fixed == ("1.k1",)
    assert compare(CHECK, run(exit_code=0), run(exit_code=1)).broken == ("1.k1",)
    assert compare(CHECK, run(exit_code=1), run(exit_code=2)).still_red == ("1.k1",)


@given(
    before=st.dictionaries(st.sampled_from("abcde"), st.sampled_from(STATUSES), min_size=1),
    after=st.dictionaries(st.sampled_from("abcde"), st.sampled_from(STATUSES), min_size=1),
)
def test_no_green_verdict_loses_a_passing_test(before: dict[str, str], after: dict[str, str]) -> None:
    """Whatever happened, a green comparison means that every test that passed before passes now."""
    found = compare(CHECK, run(**before), run(**after))

    if found.green:
        assert all(after.get(t) == "passed" for t, status in before.items() if status == "passed")
    assert not set(found.fixed) & (set(found.broken) | set(found.still_red))


def verdict(
    *greens: bool, broken: bool = False, criteria: dict[str, CheckRun | None] | None = None
) -> Verdict:
    comparisons = []
    for number, green in enumerate(greens, start=1):
        check = Check(id=f"1.k{number}", command="x")
        before = run(exit_code=0 if broken else 1)
        comparisons.append(compare(check, before, run(exit_code=0 if green else 1)))
    return Verdict(tuple(comparisons), (), criteria or {})


def test_the_score_is_the_share_fulfilled_rounded_down() -> None:
    """Two of three checks give 6.6; a criterion without a command of its own counts with all checks green."""
    assert verdict(True, True, False).score() == 6.6
    assert verdict(True, criteria={"1.c1": None}).score() == 10.0
    assert verdict(True, criteria={"1.c1": run(exit_code=1)}).score() == 5.0


def test_a_broken_test_caps_the_score_and_no_checks_give_none() -> None:
    """Broken caps at 4.0; without a check there is no evidence and no score."""
    assert verdict(True, True, True, True, False, broken=True).score() == 4.0
    assert verdict().score() is None


def test_only_files_that_the_unit_was_not_asked_to_change_are_put_back() -> None:
    """Test files and harness files are tried in their old version, unless the unit's Files name them."""
    changed = ["src/a.py", "tests/test_a.py", "conftest.py", "tests/test_b.py"]
    phase = Phase(id="1", name="x")

    found = changed_test_files(phase, changed, run(a="passed"), {"conftest.py": False})

    assert found == ["tests/test_a.py", "conftest.py"]
    assert changed_test_files(phase, changed, run(a="passed"), dict.fromkeys(changed, True)) == []
