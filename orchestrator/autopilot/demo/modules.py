"""Finds the modules of a Python repository and the test files that are about each of them."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_NOT_SOURCE = frozenset(
    {
        "build",
        "dist",
        "node_modules",
        "venv",
        "site-packages",
        "__pycache__",
        "docs",
        "doc",
        "examples",
        "benchmarks",
    }
)
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_NEVER_PLANTED = frozenset({"conftest.py", "setup.py", "noxfile.py"})
_MAX_IMPORTERS = 5
"""A module that more test files import is not what each of them is about."""
_MAX_NEAR = 6
"""With more test files than this to run, the ones about the module are run alone."""


@dataclass(frozen=True)
class SourceModule:
    """A module that a bug can be planted in.

    `tests` are the test files about it: named after it, or importing it. `near` are these and those that reach it
    through other modules, as long as they are few.
    """

    path: str
    source: bytes
    tests: tuple[str, ...]
    near: tuple[str, ...]


def find_modules(repo_dir: Path, test_files: Collection[str]) -> list[SourceModule]:
    """Return the repository's own modules, by path; `test_files` are the files that hold tests."""
    paths = sorted(path for path in _python_files(repo_dir) if path not in test_files and not _is_test(path))
    imports = {path: _imports(repo_dir, path) for path in (*paths, *sorted(test_files))}
    modules = []
    for path in paths:
        tests = _tests_of(path, sorted(test_files), imports)
        near = sorted(set(tests) | (_reaching(path, imports) & set(test_files)))
        chosen = tuple(near) if len(near) <= _MAX_NEAR else tests
        modules.append(SourceModule(path, (repo_dir / path).read_bytes(), tests, chosen))
    return modules


def _python_files(repo_dir: Path) -> Iterator[str]:
    for folder, names, files in os.walk(repo_dir):
        names[:] = [name for name in sorted(names) if _may_hold_source(Path(folder) / name)]
        for name in files:
            if name.endswith(".py") and not (Path(folder) / name).is_symlink():
                yield (Path(folder) / name).relative_to(repo_dir).as_posix()


def _may_hold_source(folder: Path) -> bool:
    name = folder.name
    if name.startswith(".") or name in _NOT_SOURCE or folder.is_symlink():
        return False
    return not (folder / "pyvenv.cfg").exists()


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path)
    if _TEST_FOLDERS & set(parts.parts[:-1]) or parts.name in _NEVER_PLANTED:
        return True
    return parts.stem.startswith("test_") or parts.stem.endswith("_test")


def _tests_of(path: str, test_files: Sequence[str], imports: Mapping[str, set[str]]) -> tuple[str, ...]:
    stem = PurePosixPath(path).stem
    named = [test for test in test_files if PurePosixPath(test).stem in (f"test_{stem}", f"{stem}_test")]
    if named:
        return tuple(named)
    importers = [test for test in test_files if _is_imported(path, imports[test])]
    return tuple(importers) if len(importers) <= _MAX_IMPORTERS else ()


def _reaching(path: str, imports: Mapping[str, set[str]]) -> set[str]:
    """Return the files that import a module, directly or through others."""
    reached: set[str] = set()
    pending = [path]
    while pending:
        target = pending.pop()
        for importer, names in imports.items():
            if importer not in reached and _is_imported(target, names):
                reached.add(importer)
                pending.append(importer)
    return reached


def _is_imported(path: str, names: set[str]) -> bool:
    """Return whether one of the names is this module, wherever the import path begins."""
    dotted = _dotted(path)
    return any(dotted == name or dotted.endswith(f".{name}") for name in names)


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(repo_dir: Path, path: str) -> set[str]:
    """Return the dotted names that a file imports, those of `from package import module` in full.

    Of a relative import that is the part after the dots, which is enough to recognise the module.
    """
    try:
        tree = ast.parse((repo_dir / path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = f"{node.module}." if node.module else ""
            names |= {source.removesuffix("."), *(source + alias.name for alias in node.names)} - {""}
    return names
