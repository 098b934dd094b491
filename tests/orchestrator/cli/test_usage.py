"""Help, errors of use, and what every command has in common."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autopilot.cli.commands import COMMANDS

HEAVY = ("pydantic", "rich", "anthropic", "langgraph", "autopilot_agents", "anyio")
_WHICH = f"""
import sys
from autopilot.cli import main
try:
    main(sys.argv[1:])
finally:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "words", [("--help",), ("--version",), ("status",), ("status", "--json"), ("run", "--help")]
)
def test_fast_commands_import_nothing_heavy(finished: Any, words: tuple[str, ...]) -> None:
    """Neither models nor graphs nor rich before they are needed."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", _WHICH, *words],
        cwd=finished.root, env=finished.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "[]"


def test_help_lists_the_commands_that_exist(shop: Any) -> None:
    """What is listed works, and what does not exist yet is not listed."""
    found = shop("--help")
    assert found.code == 0
    for name in (
        "run", "resume", "stop", "status", "watch", "report", "recheck", "logs", "demo", "init", "trust", "state",
        "schema", "explain", "config", "gc",
    ):  # fmt: skip
        assert f"\n    {name} " in found.out
    for name in ("dashboard", "mcp", "inbox", "answer", "budget", "doctor", "import", "shell"):
        assert f"\n    {name} " not in found.out


def test_every_command_of_the_table_can_be_loaded() -> None:
    """No command that names a module or function that is not there."""
    import importlib

    for command in COMMANDS:
        assert callable(getattr(importlib.import_module(f"autopilot.cli.{command.module}"), command.function))


def test_version_is_the_distributions(call: Any) -> None:
    """One line, the same number in JSON."""
    assert call("--version").out.startswith("autopilot ")
    assert call("--version", "--json").json["data"]["version"] in call("--version").out


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["stauts"], "status"), (["run", "--qualty"], "--quality"), (["--jsn"], "--json"),
        (["report", "--format", "pdf"], "--format"), (["state"], "ACTION"), (["state", "veryfy"], "verify"),
        (["schema", "nothing"], "outcome"), (["run", "--max-parallel", "0"], "1 to 256"), (["run", "--max-usd", "nan"], "above 0"),
        (["run", "--max-usd", "1e309"], "above 0"), (["run", "--max-minutes", "-5"], ""), (["run", "a.md", "3", "4"], "4"),
    ],
)  # fmt: skip
def test_errors_of_use_exit_2_and_create_nothing(shop: Any, call: Any, words: list[str], near: str) -> None:
    """A typo is answered with the nearest match and the usage; nothing is done."""
    before = sorted(path for path in shop.root.rglob("*"))
    found = call(*words)
    assert found.code == 2
    assert found.out == ""
    assert near in found.err
    assert "usage:" in found.err or "one argument too many" in found.err
    assert "Traceback" not in found.err
    assert sorted(path for path in shop.root.rglob("*")) == before
    assert list(shop.home.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--quality", "--lenient"], ["--sequential", "--max-parallel", "3"], ["--no-split", "--max-split-depth", "1"],
        ["--json", "--events", "-"], ["--dry-run", "--detach"], ["--dry-run", "--fresh"], ["--detach", "--events", "x"],
    ],
)  # fmt: skip
def test_flags_that_contradict_each_other_are_refused(call: Any, words: list[str]) -> None:
    """Both are named, what they mean, and what to do, before any work."""
    found = call("run", *words)
    assert found.code == 2
    assert "AP654" in found.err
    assert all(word in found.err for word in words if word.startswith("--"))


@pytest.mark.parametrize(
    "words",
    [["status"], ["report", "ffff"], ["logs", "18"], ["stop"], ["bogus"], ["run", "--bogus"], ["explain", "AP999"],
     ["state", "verify"], ["watch"], ["trust", "x"]],
)  # fmt: skip
def test_json_is_one_document_also_on_failure(tmp_path: Path, call: Any, words: list[str]) -> None:
    """The same keys with the error in them, and the exit code of the process."""
    outside = tmp_path / "outside"
    outside.mkdir()
    found = call(*words, "--json", cwd=outside)
    assert found.code == found.json["exit_code"] != 0
    assert found.json["command"] == words[0]
    assert set(found.json["error"]) == {"code", "what", "why", "fix"}
    assert found.json["phases"] is None


def test_an_error_has_four_labelled_lines(tmp_path: Path, shop: Any) -> None:
    """What, why, what to do, and where more is said."""
    found = shop("status", cwd=tmp_path)
    assert found.code == 6
    lines = found.err.splitlines()
    assert lines[0] == f"error AP641: {tmp_path} is not in a git repository"
    assert [line[:6] for line in lines[1:]] == ["  why ", "  fix ", "  more"]
    assert lines[-1] == "  more  autopilot explain AP641"


def test_alone_it_says_how_to_start(shop: Any, call: Any, tmp_path: Path) -> None:
    """Without an unfinished run, in a repository or outside, it tells the commands and does nothing."""
    for cwd in (shop.root, tmp_path):
        found = call(cwd=cwd)
        assert found.code == 0
        assert "  autopilot run ROADMAP.md" in found.out.splitlines()
    assert call("--json").json["data"] == {"run": None}


def test_a_bug_leaves_a_report_and_no_traceback(shop: Any, call: Any, sample_run: Any) -> None:
    """Exit 1, the report's path on standard error; the traceback is shown with --debug only."""
    sample_run(shop.runs / "2f9c", threshold="not a number")
    found = call("status", "--json")
    assert (found.code, found.json["reason"], found.json["error"]["code"]) == (1, "internal", "AP100")
    assert "Traceback" not in found.err
    (report,) = (shop.home / "xs" / "autopilot" / "crashes").iterdir()
    assert str(report) in found.err
    assert "Traceback" in report.read_text()
    assert report.stat().st_mode & 0o077 == 0
    assert "Traceback" in call("status", "--debug").err


def test_a_reader_that_left_is_no_error(finished: Any) -> None:
    """`autopilot report | head -1` ends without a message."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "autopilot", "report"],
        cwd=finished.root, env=finished.environ, stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(finished: Any, streams: str) -> None:
    """Started by a daemon without streams, nothing breaks."""
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -P -m autopilot status {streams}'],
        cwd=finished.root, env=finished.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_an_ascii_locale_still_gives_utf_8(finished: Any) -> None:
    """Output does not depend on the locale."""
    found = finished(
        "status", env={**finished.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    )
    assert found.code == 0
    assert "─" in found.out


def test_a_module_of_the_repository_is_never_imported(finished: Any) -> None:
    """A repository that holds an `autopilot.py` or `json.py` does not become part of the program."""
    for name in ("autopilot.py", "orjson.py", "jsonpatch.py", "argparse.py"):
        (finished.root / name).write_text("raise SystemExit('imported')\n")
    assert finished("status").code == 0
