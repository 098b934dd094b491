"""The bundled package is data; these are the promises that the demo relies on."""

import ast
import shutil

import pytest


def test_its_own_suite_passes(package, run_suite, tmp_path):
    """The package as it is shipped is green, with a suite large enough to notice small changes."""
    copy = tmp_path / "shopkit"
    shutil.copytree(package, copy)
    failing, tests = run_suite(copy)
    assert failing == set()
    assert len(tests) >= 90


def test_every_module_has_a_test_file(package):
    """Each module has a test file of its name, so that a phase can name one."""
    modules = {path.stem for path in (package / "shopkit").glob("[a-z]*.py")}
    assert len(modules) >= 11
    assert {f"test_{module}" for module in modules} == {
        path.stem for path in (package / "tests").glob("*.py")
    }


def test_it_has_no_dependencies(package):
    """Modules import the standard library and each other, so that the demo needs no installation."""
    for path in (package / "shopkit").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in {*__import__("sys").stdlib_module_names, "shopkit"}, (
                    path.name,
                    name,
                )


@pytest.mark.parametrize("name", ["README.md", "pyproject.toml", ".gitignore"])
def test_it_is_a_whole_project(package, name):
    """The files that a repository begins with are there."""
    assert (package / name).read_text().strip()
