"""The planter works on real files with pytest in real processes; plantings that several tests look at are shared."""

import functools
import sys
from itertools import combinations

import anyio
import pytest

from autopilot.demo.candidates import fields_for
from autopilot.demo.modules import find_modules
from autopilot.demo.mutations import apply_mutations, find_mutations
from autopilot.demo.planter import SubprocessRunner, plant
from autopilot.demo.runner import TestsDidNotEnd as DidNotEnd

MODULES = ("loyalty", "slugs", "tax")
SEED = 4


def plant_now(folder, seed, count, pairs=0, one_per_file=True):
    runner = SubprocessRunner(sys.executable, 60.0, memory_mib=1024)
    call = functools.partial(
        plant, folder, seed=seed, count=count, one_per_file=one_per_file, runner=runner, pairs=pairs
    )
    return anyio.run(call)


@pytest.fixture(scope="module")
def planted(tmp_path_factory, package_with):
    """A repository with two bugs of one edit and one of two."""
    folder = package_with(tmp_path_factory.mktemp("planted") / "shop", *MODULES)
    return folder, plant_now(folder, seed=SEED, count=2, pairs=1)


def test_as_many_bugs_as_asked_for_in_files_of_their_own(planted):
    """Single edits come first, then the pair; no file has two."""
    _, bugs = planted
    assert [bug.edits for bug in bugs] == [1, 1, 2]
    assert len({bug.file for bug in bugs}) == 3


def test_each_bug_makes_its_own_tests_fail_and_no_others(planted, run_suite):
    """What fails in the planted repository is what the bugs are said to break, and no test belongs to two bugs."""
    folder, bugs = planted
    failing, _ = run_suite(folder)
    claimed = [test for bug in bugs for test in bug.tests]
    assert sorted(claimed) == sorted(failing)
    assert all(1 <= len(bug.tests) <= 25 for bug in bugs)


def test_only_the_planted_files_change_and_only_a_little(planted, package, texts):
    """Nothing but the modules of the bugs is touched, and each keeps nearly all of its lines."""
    folder, bugs = planted
    changed = {name: text for name, text in texts(folder).items() if text != (package / name).read_bytes()}
    assert set(changed) == {bug.file for bug in bugs}
    for name, text in changed.items():
        kept = set(text.split(b"\n"))
        assert sum(line not in kept for line in (package / name).read_bytes().split(b"\n")) <= 2


def test_the_same_seed_plants_the_same_bugs(planted, tmp_path, package_with, texts):
    """Seed and repository decide everything; which of the parallel test runs ends first decides nothing."""
    folder, bugs = planted
    again = package_with(tmp_path / "shop", *MODULES)
    assert plant_now(again, seed=SEED, count=2, pairs=1) == bugs
    assert texts(again) == texts(folder)


def test_another_seed_tries_other_mistakes_first(package, tmp_path, package_with):
    """Seeds differ in the order of modules and in what they try in a module."""
    modules = find_modules(package_with(tmp_path / "shop", *MODULES), ["tests/test_tax.py"])
    orders = [fields_for(modules, seed) for seed in range(6)]
    assert len({tuple(field.module.path for field in order) for order in orders}) > 1
    first = {
        field.mutations[0] for order in orders for field in order if field.module.path.endswith("slugs.py")
    }
    assert len(first) > 1


def test_a_pair_needs_both_edits(planted, package, run_suite, tmp_path, package_with):
    """Taking back one edit of a pair, whichever it is, leaves tests of it red."""
    folder, bugs = planted
    pair = bugs[-1]
    original = (package / pair.file).read_bytes()
    edits = edits_between(original, (folder / pair.file).read_bytes())
    assert edits is not None
    half = package_with(tmp_path / "half", *MODULES)
    for edit in edits:
        (half / pair.file).write_bytes(apply_mutations(original, [edit]))
        failing, _ = run_suite(half, f"tests/test_{pair.file[8:-3]}.py")
        assert failing


def edits_between(original, text):
    """Return the two mutations of one function that lead from one text to the other."""
    for one, two in combinations(find_mutations(original), 2):
        if one.function != two.function or one.end > two.start:
            continue
        if apply_mutations(original, [one, two]) == text:
            return one, two
    return None


SMALL = "def double(n):\n    return n + n\n\n\ndef next_one(n):\n    return n + 1\n"
SMALL_TESTS = """
from small import double, next_one
def test_double(): assert double(2) == 4
def test_zero(): assert double(0) == 0
def test_next(): assert next_one(1) == 2
def test_red(): assert next_one(1) == 30
"""


@pytest.fixture
def small(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "small.py").write_text(SMALL)
    (folder / "test_small.py").write_text(SMALL_TESTS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --disable-plugin-autoload\n")
    return folder


def test_one_file_may_take_several_bugs(small, run_suite):
    """Where one bug a file is not asked for, a small repository still gets separate bugs, in separate functions."""
    bugs = plant_now(small, seed=1, count=2, one_per_file=False)
    assert [bug.file for bug in bugs] == ["small.py", "small.py"]
    assert not set(bugs[0].tests) & set(bugs[1].tests)
    failing, _ = run_suite(small)
    assert failing == {*bugs[0].tests, *bugs[1].tests, "test_small.py::test_red"}


def test_bugs_that_one_test_notices_are_not_planted_together(small):
    """Where every test sees both functions, the second bug would hide behind the first, so it is not planted."""
    (small / "test_small.py").write_text(
        "from small import double, next_one\ndef test_both(): assert double(next_one(1)) == 4\n"
    )
    assert len(plant_now(small, seed=1, count=2, one_per_file=False)) == 1


def test_a_repository_without_passing_tests_gets_no_bugs(small):
    """Without an oracle nothing is planted and nothing is changed."""
    (small / "test_small.py").write_text("def test_red(): assert 0\n")
    assert plant_now(small, seed=1, count=2) == []
    assert (small / "small.py").read_text() == SMALL


@pytest.mark.parametrize(
    ("text", "reason"), [("while True: pass", "time limit"), ("import os; os._exit(3)", "no report")]
)
def test_tests_that_do_not_end_are_told_from_tests_that_fail(small, text, reason):
    """A hang or a crash of the test run is no result."""
    (small / "test_small.py").write_text(text)
    runner = SubprocessRunner(sys.executable, 3.0)
    with pytest.raises(DidNotEnd, match=reason):
        anyio.run(runner.run, small, [])
