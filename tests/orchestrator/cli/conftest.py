"""The command as a process, in a repository of its own and with folders of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autopilot.cli import main

Document = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)


@dataclass(frozen=True)
class Shop:
    """A repository, and `autopilot` in it."""

    root: Path
    home: Path

    @property
    def environ(self) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("AUTOPILOT", "XDG", "COLUMNS"))
        }
        return {
            **kept, "HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "xs"), "XDG_CONFIG_HOME": str(self.home / "xc"),
        }  # fmt: skip

    @property
    def runs(self) -> Path:
        return self.root / ".autopilot" / "runs"

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        given = {"cwd": self.root, "env": self.environ, **options}
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "autopilot", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **given,
        )  # fmt: skip

    def __call__(self, *words: str, **options: Any) -> Ended:
        with self.start(*words, **options) as process:
            out, err = process.communicate(timeout=60)
        return Ended(process.returncode, out, err)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A fresh repository."""
    root = tmp_path / "shop"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    home = tmp_path / "home"
    home.mkdir()
    return Shop(root, home)


@pytest.fixture
def call(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """`call(*words)` runs the command in this process: as true as a process of its own, and faster."""
    for name in os.environ:
        if name.startswith(("AUTOPILOT", "XDG", "COLUMNS")):
            monkeypatch.delenv(name)
    for name, value in shop.environ.items():
        monkeypatch.setenv(name, value)

    def run(*words: str, cwd: Path = shop.root, **environ: str) -> Ended:
        monkeypatch.chdir(cwd)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(words)
        found = capsys.readouterr()
        assert isinstance(done.value.code, int)
        return Ended(done.value.code, found.out, found.err)

    return run


@pytest.fixture
def finished(shop: Shop, sample_run: Callable[..., Document]) -> Shop:
    """A repository with the finished sample run 2f9c."""
    sample_run(shop.runs / "2f9c")
    return shop


@pytest.fixture
def unfinished(shop: Shop, sample_run: Callable[..., Document]) -> Shop:
    """A repository with a run that was killed."""
    sample_run(shop.runs / "2f9c", finish=False)
    return shop


_HOLDER = """
import sys, time
from pathlib import Path
from autopilot_state.lock import RepositoryLock
lock = RepositoryLock.acquire(Path(sys.argv[1]))
lock.describe({"run": sys.argv[2], "purpose": "run"})
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def hold() -> Iterator[Callable[[Shop, str], subprocess.Popen[str]]]:
    """`hold(shop, run)` starts a process that holds the repository's lock as a run does."""
    started: list[subprocess.Popen[str]] = []

    def start(shop: Shop, run: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, str(shop.root / ".git"), run], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
