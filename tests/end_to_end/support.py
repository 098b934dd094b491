"""A user's repository, the command as a process, and scripts that play the model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

GIT = ["git", "-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "init.defaultBranch=main"]


def git(repo: Path, *args: str) -> str:
    """Run git as the user would and return what it prints."""
    done = subprocess.run([*GIT, *args], cwd=repo, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def replace_text(path: str, old: str, new: str) -> dict[str, Any]:
    return {"type": "replace_text", "file_path": path, "old_text": old, "new_text": new}


def edits(*operations: dict[str, Any]) -> dict[str, Any]:
    """Return a builder's answer that holds these operations."""
    meta = {"type": "meta", "summary": "edit", "total_operations": len(operations)}
    lines = [json.dumps(line) for line in (meta, *operations, {"type": "end"})]
    return {"text": "\n".join(lines) + "\n"}


def read(*paths: str) -> dict[str, Any]:
    """Return a builder's turn that looks at files before it edits them."""
    return {"tool_calls": [{"name": "read_file", "arguments": {"path": path}} for path in paths]}


def plan(**fields: Any) -> dict[str, Any]:
    return {"text": json.dumps(fields)}


class Project:
    """A repository, and `autopilot` started in it as a process of its own."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.path = folder
        self.home = home
        self.script = home / "script.json"

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def commit(self, message: str = "Work") -> str:
        git(self.path, "add", "-A")
        git(self.path, "commit", "-q", "-m", message)
        return git(self.path, "rev-parse", "HEAD")

    def play(self, answers: Mapping[str, list[dict[str, Any]]]) -> None:
        self.script.write_text(json.dumps(answers))

    @property
    def environ(self) -> dict[str, str]:
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {
            **keep,
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "AUTOPILOT_SCRIPT": str(self.script),
            "PYTHONWARNINGS": "error::ResourceWarning",
        }

    def start(self, *args: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "autopilot", *args]
        return subprocess.Popen(
            command, cwd=self.path, env=self.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def autopilot(self, *args: str, expect: int | None = None) -> subprocess.CompletedProcess[str]:
        process = self.start(*args)
        out, err = process.communicate(timeout=110)
        done = subprocess.CompletedProcess(args, process.returncode, out, err)
        if expect is not None:
            assert done.returncode == expect, f"exit {done.returncode}\n{out}\n{err}"
        return done

    def run(self, *args: str, expect: int | None = None) -> dict[str, Any]:
        """Run with --json and the scripted provider, and return the document."""
        done = self.autopilot(
            "run", *args, "--provider", "scripted", "--python", sys.executable, "--json", expect=expect
        )
        document: dict[str, Any] = json.loads(done.stdout)
        return {**document, "stderr": done.stderr}

    python = sys.executable

    def report(self) -> dict[str, Any]:
        """Return the document of the newest run."""
        document: dict[str, Any] = json.loads(self.autopilot("report", "--json").stdout)
        return document

    def results(self, document: Mapping[str, Any]) -> dict[str, str]:
        return {phase["id"]: phase["result"] for phase in document["phases"]}

    def show(self, commit: str, path: str) -> str:
        return git(self.path, "show", f"{commit}:{path}")


def wait_for(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Return when `condition` holds; fail loudly when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.02)


def kill_tree(process: subprocess.Popen[str]) -> None:
    """SIGKILL, as a crash would: nothing of the process gets to clean up."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A small Python package with two defects that its tests show."""
    folder, home = tmp_path / "repo", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    made = Project(folder, home)
    git(folder, "init", "-q", "-b", "main")
    made.write(
        {
            "calc/__init__.py": "",
            "calc/add.py": "def add(a, b):\n    return a - b\n",
            "calc/mul.py": "def mul(a, b):\n    return a + b\n",
            "tests/test_add.py": "from calc.add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\ndef test_zero():\n    assert add(2, 0) == 2\n",
            "tests/test_mul.py": "from calc.mul import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n",
            # Plugins that happen to be installed beside us take longer to load than these tests take.
            "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--disable-plugin-autoload"]\n',
            ".gitignore": "__pycache__/\n.pytest_cache/\n",
        }
    )
    made.commit("Start")
    return made
