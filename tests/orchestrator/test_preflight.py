"""What is found out before a run begins."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from autopilot.config import Config, RunOptions
from autopilot.preflight import first_word, refuse_shadowed_packages
from autopilot_agents.hands.git import Git
from autopilot_agents.hands.sandbox import Sandbox
from autopilot_state.errors import PreflightError

HOOK = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "shop":
            return importlib.util.spec_from_file_location("shop", {origin!r})
sys.meta_path.insert(0, Finder)
"""


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("pytest -q", "pytest"),
        ("A=1 B='2 3' python -m pytest", "python"),
        ("./scripts/test.sh; echo", "./scripts/test.sh"),
        ("(cd x && make)", None),
        ("$TOOL x", None),
        ("echo 'unbalanced", None),
    ],
)
def test_the_first_word_is_what_a_shell_would_start(command: str, word: str | None) -> None:
    """Assignments are skipped; what only a shell can tell is left to the shell."""
    assert first_word(command) == word


@pytest.fixture
def repo(tmp_path: Path) -> tuple[Git, str]:
    folder = tmp_path / "repo"
    (folder / "src" / "shop").mkdir(parents=True)
    (folder / "src" / "shop" / "__init__.py").write_text("")
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return Git(folder), head.stdout.strip()


@pytest.mark.anyio
async def test_a_package_from_the_worktree_passes(repo: tuple[Git, str], tmp_path: Path) -> None:
    """Without an install of another checkout the worktree comes first, and nothing is refused."""
    git, head = repo
    options = RunOptions(cwd=tmp_path, config=Config(), python=Path(sys.executable))

    await refuse_shadowed_packages(git, head, Sandbox("none"), options)


@pytest.mark.anyio
async def test_an_import_hook_of_an_editable_install_is_refused(
    repo: tuple[Git, str], tmp_path: Path
) -> None:
    """AP234 names the package and the file that the checks would really test."""
    git, head = repo
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text("")
    venv.create(tmp_path / "env", with_pip=False)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    (packages / "hook.py").write_text(HOOK.format(origin=str(elsewhere)))
    (packages / "hook.pth").write_text("import hook\n")
    options = RunOptions(cwd=tmp_path, config=Config(), python=tmp_path / "env" / "bin" / "python")

    with pytest.raises(PreflightError, match="import shop") as raised:
        await refuse_shadowed_packages(git, head, Sandbox("none"), options)

    assert raised.value.code == "AP234"
    assert str(elsewhere) in raised.value.what
