"""What a repository is tested with, and where its roadmap is: from file names and a few lines, nothing is run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import orjson

ROADMAPS = (
    "ROADMAP.md", ".autopilot/roadmap.md", ".autopilot/roadmap.yaml", ".autopilot/roadmap.json", ".planning/ROADMAP.md",
)  # fmt: skip
MAX_READ = 200_000


def detect_roadmap(root: Path) -> Path | None:
    """Return the roadmap that `autopilot run` would take, or None."""
    return next((root / name for name in ROADMAPS if (root / name).is_file()), None)


def detect_tests(root: Path) -> str | None:
    """Return the command that runs the tests of a repository, or None where none is evident."""
    tests = list(islice(_python_tests(root), 50))
    if _mentions_pytest(root) or any("pytest" in _text(path) for path in tests):
        return "python -m pytest -q"
    if tests:
        unittest = all("unittest" in _text(path) for path in tests)
        return "python -m unittest discover" if unittest else "python -m pytest -q"
    if _npm_test(root):
        return "npm test"
    for name, command in (("Cargo.toml", "cargo test"), ("go.mod", "go test ./...")):
        if (root / name).is_file():
            return command
    makefile = _text(root / "Makefile")
    return "make test" if makefile.startswith("test:") or "\ntest:" in makefile else None


def _python_tests(root: Path) -> Iterator[Path]:
    for folder in (root, root / "tests", root / "test"):
        for pattern in ("test_*.py", "*_test.py"):
            yield from sorted(folder.glob(pattern))
    yield from sorted((root / "tests").glob("*/**/test_*.py"))


def _mentions_pytest(root: Path) -> bool:
    if any((root / name).is_file() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")):
        return True
    return "[tool.pytest" in _text(root / "pyproject.toml") or "[tool:pytest]" in _text(root / "setup.cfg")


def _npm_test(root: Path) -> bool:
    try:
        script = orjson.loads(_text(root / "package.json"))["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(script, str) and "no test specified" not in script


def _text(path: Path) -> str:
    """Return the beginning of a file; empty where there is none."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_READ).decode("utf-8", "replace")
    except OSError:
        return ""
