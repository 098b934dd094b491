"""The demo's repository is made for real, once, and looked at from several sides."""

import functools
import shlex
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from autopilot.demo.prepare import demo_folder, prepare_demo
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_playbooks.roadmap import load_roadmap
from autopilot_state.errors import PreflightError

SEED = 1


def prepare(state_home, lines=None, **options):
    options.setdefault("on_line", (lines if lines is not None else []).append)
    return anyio.run(functools.partial(prepare_demo, state_home=state_home, **options))


def git(folder, *words):
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The bundled demo of a seed, and the lines that its making printed."""
    lines = []
    return prepare(tmp_path_factory.mktemp("state"), lines, seed=SEED), lines


def test_it_lives_by_seed_in_the_users_folder_of_state(demo):
    """The demo's folder says package and seed, and nothing else is left beside it."""
    made, _ = demo
    home = made.path.parent.parent
    assert made.path == home / "demo" / f"shopkit-{SEED}" == demo_folder(home, seed=SEED)
    assert [path.name for path in made.path.parent.iterdir()] == [made.path.name]
    assert not made.reused


def test_it_is_a_clean_repository_of_one_commit(demo):
    """The branch is main, everything is committed, and the commit is the base of a run."""
    made, _ = demo
    assert git(made.path, "status", "--porcelain") == ""
    assert git(made.path, "branch", "--show-current").strip() == "main"
    assert git(made.path, "rev-list", "--all").split() == [made.base_commit]


def test_the_answers_are_in_no_object_of_git(demo, package):
    """Every object and file of the repository is searched for the lines that the bugs replaced: none is there."""
    made, _ = demo
    planted = {path: path.read_bytes() for path in (made.path / "shopkit").glob("*.py")}
    answers = set()
    for path, text in planted.items():
        original = (package / "shopkit" / path.name).read_bytes()
        answers |= set(original.split(b"\n")) - set(text.split(b"\n"))
    assert len(answers) >= 9
    objects = git(made.path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    stored = [git(made.path, "cat-file", "-p", name).encode() for name in objects]
    stored += [path.read_bytes() for path in made.path.rglob("*") if path.is_file() and path not in planted]
    lines = {line for text in stored for line in text.split(b"\n")}
    assert not answers & lines


def test_the_roadmap_asks_for_what_fails_and_for_nothing_else(demo, run_suite):
    """Each failing test file is in the checks of one phase, and each check names files that fail."""
    made, _ = demo
    roadmap = load_roadmap(made.roadmap)
    failing, _ = run_suite(made.path)
    targets = [
        word for phase in roadmap.phases for check in phase.checks for word in shlex.split(check.command)[4:]
    ]
    assert sorted(targets) == sorted({test.split("::")[0] for test in failing})


def test_the_roadmap_has_a_phase_to_split(demo):
    """There are at least four phases, and one of them has six issues over six files."""
    phases = load_roadmap(demo[0].roadmap).phases
    assert len(phases) >= 4
    (large,) = [phase for phase in phases if len(phase.issues) == 6]
    assert len({issue.files[0] for issue in large.issues}) == 6


def test_an_existing_demo_goes_on(demo, texts):
    """Preparing the same seed again changes nothing and says so."""
    made, _ = demo
    before = texts(made.path)
    again = prepare(made.path.parent.parent.parent, seed=SEED)
    assert again.reused
    assert (again.path, again.base_commit) == (made.path, made.base_commit)
    assert texts(made.path) == before


def test_nothing_half_made_is_left(tmp_path):
    """A preparation that is broken off leaves no demo, and the next one removes what killed ones left."""
    place = tmp_path / "autopilot" / "demo"
    stale = place / f".new-shopkit-{SEED}-999999999"
    stale.mkdir(parents=True)

    def break_off(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path, seed=SEED, on_line=break_off)
    assert list(place.iterdir()) == []


def test_a_foreign_folder_is_not_touched(tmp_path):
    """Something else at the demo's place is refused, with the way out."""
    place = demo_folder(tmp_path / "autopilot", seed=SEED)
    place.mkdir(parents=True)
    (place / "mine").write_text("precious")
    with pytest.raises(PreflightError) as caught:
        prepare(tmp_path, seed=SEED)
    assert caught.value.code == "AP714"
    assert (place / "mine").read_text() == "precious"


RED = "from shopkit.tax import rate_for\ndef test_red(): assert rate_for('DE', 'mug') == 1\n"


@pytest.fixture
def repository(tmp_path, package_with):
    """A user's repository with some modules, a test that fails, an untracked file and settings of its own."""
    folder = package_with(tmp_path / "Phase 9: shop", "tax", "slugs")
    (folder / "tests" / "test_zzz.py").write_text(RED)
    (folder / ".autopilot").mkdir()
    (folder / ".autopilot" / "config.toml").write_text("[checks]\n")
    git(folder, "init", "-q", "-b", "trunk")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-q", "-m", "Mine")
    (folder / "notes.txt").write_text("not tracked")
    return folder


def test_a_users_repository_is_copied_and_left_alone(repository, tmp_path, run_suite, texts):
    """With `repo`, bugs go into a copy of its tracked files; what failed before is told and left out."""
    before, head, lines = texts(repository), git(repository, "rev-parse", "HEAD"), []
    made = prepare(
        tmp_path / "state", lines, seed=1, repo=repository, bugs=2, setup="touch made_by_setup",
        sandbox=Sandbox(level="none"),
    )  # fmt: skip
    assert texts(repository) == before
    assert git(repository, "rev-parse", "HEAD") == head
    copied = texts(made.path)
    assert not {"notes.txt", "made_by_setup", ".autopilot/config.toml"} & set(copied)
    roadmap = load_roadmap(made.roadmap)
    assert roadmap.setup == "touch made_by_setup"
    assert [phase.id for phase in roadmap.phases] == ["1", "2"]
    assert any("1 tests fail before" in line for line in lines)
    failing, _ = run_suite(made.path)
    named = [
        word for phase in roadmap.phases for check in phase.checks for word in shlex.split(check.command)[4:]
    ]
    assert {test.split("::")[0] for test in failing} == {*named, "tests/test_zzz.py"}


@pytest.mark.parametrize(
    ("text", "code"), [("def test_red(): assert 0\n", "AP710"), ("import os; os._exit(1)\n", "AP711")]
)
def test_a_repository_whose_tests_tell_nothing_is_refused(tmp_path, text, code):
    """Without a passing test there is no demo, no folder of one, and an error that names the way out."""
    folder = tmp_path / "hopeless"
    folder.mkdir()
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --disable-plugin-autoload\n")
    with pytest.raises(PreflightError) as caught:
        prepare(tmp_path / "state", seed=1, repo=folder, sandbox=Sandbox(level="none"), python=sys.executable)
    assert caught.value.code == code
    assert "--python" in caught.value.fix
    assert list(Path(tmp_path / "state" / "autopilot" / "demo").iterdir()) == []
