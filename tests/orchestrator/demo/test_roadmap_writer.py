import shlex

import pytest

from autopilot.demo.planter import PlantedBug
from autopilot.demo.roadmap_writer import write_roadmap
from autopilot_playbooks.roadmap import parse_roadmap


def bug(number, tests=2, edits=1):
    file = f"tests/test_part{number}.py"
    return PlantedBug(f"shop/part{number}.py", tuple(f"{file}::test_{n}" for n in range(tests)), edits)


def written(bugs, pairs=(), python="python3", **options):
    text = write_roadmap(bugs, pair_bugs=pairs, python=python, title="Works again", **options)
    return parse_roadmap(text.encode(), name="ROADMAP.md")


def words(check):
    return shlex.split(check.command)


def test_nine_bugs_and_a_pair_make_five_phases():
    """Six bugs share one phase; the others, and the one of two edits, have a phase each."""
    roadmap = written([bug(n) for n in range(9)], [bug(9, edits=2)])
    assert roadmap.title == "Works again"
    assert [phase.id for phase in roadmap.phases] == ["1", "2", "3", "4", "5"]
    assert [phase.depends_on for phase in roadmap.phases] == [(), (), ("1",), ("3",), ()]
    assert [len(phase.issues) for phase in roadmap.phases] == [0, 0, 6, 0, 0]
    assert words(roadmap.phases[4].checks[0])[-1] == "tests/test_part9.py"


def test_the_large_phase_has_six_issues_over_six_files():
    """Each issue names its module and its test file, and the phase's check runs the six test files."""
    large = written([bug(n) for n in range(9)]).phases[2]
    assert large.name == "UAT fixes"
    assert len({issue.files[0] for issue in large.issues}) == 6
    for issue in large.issues:
        module, tests = issue.files
        assert module.replace("shop/", "tests/test_") == tests
        assert words(large.checks[0]).count(tests) == 1
    assert len(large.checks) == 1


def test_other_phases_name_no_source_file():
    """Where to look is for the worker to find out: only the area and the test file are named."""
    for phase in written([bug(n) for n in range(9)], [bug(9)]).phases:
        if not phase.issues:
            assert "shop/" not in phase.goal + phase.name
            assert len(phase.checks) == 1


def test_every_bug_is_in_exactly_one_phase():
    """No bug is left out, and none is asked for twice."""
    roadmap = written([bug(n) for n in range(12)], [bug(12), bug(13)])
    targets = [word for phase in roadmap.phases for check in phase.checks for word in words(check)[4:]]
    assert sorted(targets) == sorted(f"tests/test_part{n}.py" for n in range(14))


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_few_bugs_have_a_phase_each(count):
    """With fewer than nine bugs nothing is large enough for a split, and every bug has its own phase."""
    phases = written([bug(n) for n in range(count)]).phases
    assert len(phases) == count
    assert not any(phase.issues for phase in phases)


def test_bugs_of_one_file_do_not_pretend_to_be_six_files():
    """Nine bugs in fewer than six files stay single phases."""
    bugs = [PlantedBug("shop/one.py", (f"tests/test_one.py::test_{n}",)) for n in range(9)]
    assert len(written(bugs).phases) == 9


def test_bugs_that_share_a_test_file_are_checked_by_their_tests():
    """A check must not be red because of somebody else's bug."""
    bugs = [PlantedBug("a.py", ("t.py::one[x y]", "u.py::two")), PlantedBug("b.py", ("t.py::three",))]
    first, second = written(bugs).phases
    assert words(first.checks[0])[4:] == ["t.py::one[x y]", "u.py"]
    assert words(second.checks[0])[4:] == ["t.py::three"]


def test_files_that_were_red_before_are_checked_by_their_tests():
    """A test file with failures of other causes can't turn green as a whole."""
    (phase,) = written([bug(1)], red_files=["tests/test_part1.py"]).phases
    assert words(phase.checks[0])[4:] == ["tests/test_part1.py::test_0", "tests/test_part1.py::test_1"]


def test_long_lists_of_tests_become_several_checks():
    """A command never outgrows what a roadmap takes, and none of its tests gets lost."""
    tests = tuple(f"tests/test_x.py::test_with_a_rather_long_name_{n:04}" for n in range(300))
    (phase,) = written([PlantedBug("x.py", tests)], red_files=["tests/test_x.py"]).phases
    assert len(phase.checks) > 1
    assert tuple(word for check in phase.checks for word in words(check)[4:]) == tests


@pytest.mark.parametrize(
    "python",
    [
        "python3",
        "/opt/my pythons/bin/python",
        "/opt/it's/python",
        "/opt/`tick``s`/python",
        '/opt/"q"\\/py',
        "/ö/py",
    ],
)
def test_the_interpreter_arrives_as_it_was_given(python):
    """Whatever its path holds, checks and guards run exactly this interpreter."""
    roadmap = written([bug(1)], python=python)
    assert words(roadmap.phases[0].checks[0]) == [python, "-m", "pytest", "-q", "tests/test_part1.py"]
    assert words(roadmap.guards[0]) == [python, "-m", "pytest", "-q"]


def test_the_setup_command_is_in_the_front_matter():
    """A set-up command runs in every worktree of the run."""
    assert written([bug(1)], setup='echo "a: b" # c').setup == 'echo "a: b" # c'
    assert written([bug(1)]).setup is None
