"""Repositories to plant bugs in, and pytest itself as the judge of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import autopilot.demo
from autopilot.junit import parse_junit


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the bundled package."""
    return Path(autopilot.demo.__file__).parent / "package"


@pytest.fixture(scope="session")
def run_suite():
    """A function from a folder to the ids of its failing tests and of all its tests."""

    def run(folder: Path, *args: str) -> tuple[set[str], set[str]]:
        report = folder.parent / f"{folder.name}.xml"
        command = [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-q",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
        ]
        subprocess.run(
            [*command, "-o", "junit_family=xunit1", *args], cwd=folder, check=False, capture_output=True
        )
        results = parse_junit(report.read_bytes())
        return {test for test, result in results.items() if result.status in ("failed", "error")}, set(
            results
        )

    return run


@pytest.fixture(scope="session")
def package_with(package):
    """A function that makes a repository of some modules of the bundled package and their tests."""

    def make(target: Path, *modules: str) -> Path:
        (target / "shopkit").mkdir(parents=True)
        (target / "tests").mkdir()
        for name in ("pyproject.toml", "shopkit/__init__.py"):
            shutil.copy(package / name, target / name)
        for module in modules:
            shutil.copy(package / f"shopkit/{module}.py", target / "shopkit")
            shutil.copy(package / f"tests/test_{module}.py", target / "tests")
        return target

    return make


@pytest.fixture(scope="session")
def texts():
    """A function from a folder to its files with their bytes, git's own left out."""

    def read(folder: Path) -> dict[str, bytes]:
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(folder).parts
        }

    return read
