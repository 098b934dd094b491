"""The repair search, run as the command that it is, on small packages with planted bugs."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autopilot_agents.providers.offline.spec import Spec, encode

AGENTS = Path(__file__).parents[3] / "agents"
COMMAND = "python -m pytest tests -q"


@dataclass(frozen=True)
class Bug:
    """A module, the text in it that is wrong, and what a test says."""

    kind: str
    good: str
    right: str
    wrong: str
    test: str

    @property
    def code(self) -> str:
        assert self.good.count(self.right) == 1, self.kind
        return self.good.replace(self.right, self.wrong)


CLAMP = """\
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value
"""
CLAMP_TESTS = """\
from pkg.mod import clamp
def test_low(): assert clamp(1, 2, 5) == 2
def test_mid(): assert clamp(3, 2, 5) == 3
def test_high(): assert clamp(9, 2, 5) == 5
def test_negative(): assert clamp(-9, -5, -2) == -5
"""
PAGES = """\
LIMIT = 10


def pages(items, size=3):
    result = []
    index = 0
    while index < len(items):
        result.append(items[index:index + size])
        index += size
    return result


def is_full(items):
    return len(items) >= LIMIT


def positive(numbers):
    found = []
    for number in numbers:
        if number <= 0:
            continue
        found.append(number)
    return sorted(found, reverse=True)
"""
PAGES_TESTS = """\
from pkg.mod import is_full, pages, positive
def test_pages(): assert pages([1, 2, 3, 4]) == [[1, 2, 3], [4]]
def test_no_pages(): assert pages([]) == []
def test_size(): assert pages([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]
def test_full(): assert is_full(range(10)) and not is_full(range(9))
def test_positive(): assert positive([1, -2, 0, 3, -4, 5]) == [5, 3, 1]
def test_no_positive(): assert positive([-1]) == []
"""
BOX = """\
class Box:
    def __init__(self, width, height):
        self.width = width
        self.height = height

    def area(self):
        return self.width * self.height

    def is_square(self):
        return self.width == self.height and self.width != 0

    def label(self):
        return "-".join([str(self.width), str(self.height)]).lower()

    def look_up(self, name):
        try:
            return {"w": self.width, "h": self.height}[name]
        except KeyError:
            return None
"""
BOX_TESTS = """\
from pkg.mod import Box
def test_area(): assert Box(2, 3).area() == 6
def test_unit_area(): assert Box(1, 1).area() == 1
def test_square(): assert Box(2, 2).is_square() and not Box(2, 3).is_square()
def test_empty(): assert not Box(0, 0).is_square()
def test_label(): assert Box(2, 3).label() == "2-3"
def test_look_up(): assert Box(2, 3).look_up("h") == 3
def test_unknown(): assert Box(2, 3).look_up("x") is None
"""

BUGS = [
    Bug("comparison", CLAMP, "value > high", "value <= high", CLAMP_TESTS),
    Bug("variable", CLAMP, "value > high", "value > low", CLAMP_TESTS),
    Bug("default", PAGES, "size=3", "size=2", PAGES_TESTS),
    Bug("module constant", PAGES, "LIMIT = 10", "LIMIT = 11", PAGES_TESTS),
    Bug("assignment operator", PAGES, "index += size", "index = size", PAGES_TESTS),  # goes round without end
    Bug("loop control", PAGES, "continue", "break", PAGES_TESTS),
    Bug("missing argument", PAGES, ", reverse=True", "", PAGES_TESTS),
    Bug("negated condition", PAGES, "if number <= 0", "if not number <= 0", PAGES_TESTS),
    Bug("arithmetic operator", BOX, "self.width * self.height", "self.width + self.height", BOX_TESTS),
    Bug("attribute", BOX, "self.width * self.height", "self.width * self.width", BOX_TESTS),
    Bug("boolean operator", BOX, "and self.width", "or self.width", BOX_TESTS),
    Bug("exception type", BOX, "KeyError", "ValueError", BOX_TESTS),
    Bug("missing return", BOX, "return self.width * ", "self.width * ", BOX_TESTS),
]


def make_package(root: Path, code: str, test: str) -> Path:
    (root / "pkg").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pkg" / "__init__.py").write_text("")
    (root / "pkg" / "mod.py").write_text(code)
    (root / "tests" / "test_mod.py").write_text(test)
    return root


def search(root: Path, spec: Spec) -> list[dict[str, Any]]:
    """Run the search as a command and return the lines of its answer."""
    environment = {**os.environ, "PYTHONPATH": str(AGENTS), "PYTHONHASHSEED": "0"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    module = "autopilot_agents.providers.offline.search"
    done = subprocess.run(
        [sys.executable, "-m", module, "--spec", encode(spec)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def apply(root: Path, answer: list[dict[str, Any]]) -> dict[str, str]:
    """Return the texts with the operations applied: lines are replaced as numbered in the file as it is."""
    texts: dict[str, list[str]] = {}
    for operation in reversed(answer):
        if operation["type"] == "replace":
            path = operation["file_path"]
            lines = texts.setdefault(path, (root / path).read_text().splitlines(keepends=True))
            lines[operation["start_line"] - 1 : operation["end_line"]] = [operation["content"]]
    return {path: "".join(lines) for path, lines in texts.items()}


def repaired(bug: Bug, root: Path) -> str:
    """Return the module's text after a search for the bug."""
    make_package(root, bug.code, bug.test)
    endless = bug.kind == "assignment operator"
    red = ("tests/test_mod.py::test_pages", "tests/test_mod.py::test_size") if endless else ()
    texts = apply(root, search(root, Spec(COMMAND, failing=red, workers=2)))
    return texts.get("pkg/mod.py", "")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.kind.replace(" ", "-"))
def test_planted_bug_is_repaired(bug: Bug, tmp_path: Path) -> None:
    """Each kind of bug is repaired so that the module does what it did before."""
    text = repaired(bug, tmp_path)
    assert text, "no repair was found"
    scope: dict[str, Any] = {}
    exec(compile(text, "mod", "exec"), scope)
    for line in bug.test.splitlines():
        if line.startswith("def "):
            exec(line, scope)
            scope[line.split("(")[0].removeprefix("def ")]()


def tree(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with a bug in each of two functions."""
    code = CLAMP.replace("value < low", "value > low") + PAGES.replace("index += size", "index += 1")
    test = CLAMP_TESTS + PAGES_TESTS.replace("test_size", "test_other_size")
    return make_package(tmp_path_factory.mktemp("spoiled"), code, test)


def test_two_causes_are_repaired_together_and_alike_with_any_number_of_workers(spoiled: Path) -> None:
    """Failing tests with different causes get one answer, the same whether one candidate is tried at a time or
    several; and the search leaves every file of the worktree as it was.
    """
    before = tree(spoiled)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda n: search(spoiled, Spec(COMMAND, workers=n)), (1, 2))
    assert one == two
    text = apply(spoiled, one)["pkg/mod.py"]
    assert "value < low" in text
    assert "index += size" in text
    assert tree(spoiled) == before


def test_a_repair_that_breaks_another_command_is_rejected(tmp_path: Path) -> None:
    """What satisfies the searched test but breaks a test of another command is passed over for a sound one."""
    code = "def scale(number):\n    return number + 2\n"
    make_package(tmp_path, code, "from pkg.mod import scale\ndef test_three(): assert scale(3) == 6\n")
    (tmp_path / "tests" / "test_more.py").write_text(
        "from pkg.mod import scale\ndef test_two(): assert scale(2) == 4\n"
    )
    first = "python -m pytest tests/test_mod.py -q"
    alone = apply(tmp_path, search(tmp_path, Spec(first, workers=1, touches=("pkg/*",), max_candidates=2)))
    assert alone == {}, "number + 3 satisfies the first command and breaks the other test file"
    both = Spec(first, commands=("python -m pytest tests/test_more.py -q",), workers=1)
    texts = apply(tmp_path, search(tmp_path, both))
    assert texts["pkg/mod.py"].endswith("number * 2\n")


def test_an_impossible_repair_is_an_empty_set_that_says_so(tmp_path: Path) -> None:
    """Where no edit helps, the answer has no operations, names the number of candidates and ends properly."""
    code = "def secret(number):\n    return number\n"
    tests = "from pkg.mod import secret\ndef test_hash(): assert hash(str(secret(3)) * 3) == object()\n"
    make_package(tmp_path, code, tests)
    meta, end = search(tmp_path, Spec(COMMAND, workers=1, max_candidates=60))
    assert meta["total_operations"] == 0
    assert meta["summary"].startswith("no repair found after ")
    assert end == {"type": "end"}


def test_only_touched_files_are_edited_and_never_a_test(tmp_path: Path) -> None:
    """With globs that leave the faulty file out there is no repair, although an edit of it, or of the test, would
    turn the test green.
    """
    make_package(
        tmp_path, "def one():\n    return 2\n", "from pkg.mod import one\ndef test(): assert one() == 1\n"
    )
    meta, _ = search(tmp_path, Spec(COMMAND, workers=1, touches=("other/*.py", "tests/**")))
    assert meta["total_operations"] == 0


def test_the_next_repair_is_another_one(tmp_path: Path) -> None:
    """A repair that was not enough is passed over when the search is asked again."""
    code = "def three(number):\n    return number + 2\n"
    make_package(tmp_path, code, "from pkg.mod import three\ndef test(): assert three(1) == 2\n")
    first = apply(tmp_path, search(tmp_path, Spec(COMMAND, workers=1)))
    second = apply(tmp_path, search(tmp_path, Spec(COMMAND, workers=1, skip_accepted=1)))
    assert first != second
    assert second


def test_a_command_that_is_not_pytest_is_declined(tmp_path: Path) -> None:
    """Without tests to search with, the answer is an empty set and the reason."""
    meta, _ = search(tmp_path, Spec("make test"))
    assert meta["total_operations"] == 0
    assert "pytest" in meta["summary"]


def test_a_repository_that_switches_plugins_off_is_searched(tmp_path: Path) -> None:
    """Options for an installed plugin are not given where the repository's own configuration does not load it."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "mod.py").write_text(CLAMP.replace("value > high", "value < high"))
    (tmp_path / "tests" / "test_mod.py").write_text(CLAMP_TESTS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = ["--disable-plugin-autoload"]\n'
    )
    spec = encode(
        Spec(command=COMMAND, failing=("tests/test_mod.py::test_mid", "tests/test_mod.py::test_high"))
    )
    command = [sys.executable, "-m", "autopilot_agents.providers.offline.search", "--spec", spec]
    environ = {**os.environ, "PYTHONPATH": str(AGENTS)}

    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)

    assert "value > high" in done.stdout
