"""What a stopped run leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autopilot.handoff import write_handoff
from autopilot_state.errors import StorageError
from autopilot_state.fs import RealFileSystem

Document = dict[str, Any]


def test_handoff_names_what_is_done_under_way_and_next(
    tmp_path: Path, sample_run: Callable[..., Document]
) -> None:
    """Whoever goes on needs nothing else: units, commits, steps, open reasons, the command."""
    folder = tmp_path / "2f9c"
    document = sample_run(folder, finish=False)
    write_handoff(folder, document, reason="terminated", fs=RealFileSystem())
    found = json.loads((folder / "handoff.json").read_text())
    assert found["run_id"] == "2f9c"
    assert found["reason"] == "terminated"
    assert [unit["id"] for unit in found["finished"]] == ["18", "20a"]
    assert found["finished"][0]["commit"] == document["units"]["18"]["commit"]
    assert {unit["id"]: unit["step"] for unit in found["in_progress"]} == {"20": None, "20b": "build"}
    assert found["not_started"] == ["20c", "21"]
    assert found["next"][0] == "autopilot resume 2f9c"
    text = (folder / "HANDOFF.md").read_text()
    assert "autopilot resume 2f9c" in text.splitlines()
    assert "- 20b empty state: running, step build" in text


def test_handoff_lists_open_reasons(tmp_path: Path, sample: Document) -> None:
    """A unit that fell short says why, and where its work lies."""
    write_handoff(tmp_path, sample, reason="below_target", fs=RealFileSystem())
    found = json.loads((tmp_path / "handoff.json").read_text())
    assert {
        "id": "20b",
        "reason": "below: test_empty.py::test_cta red",
        "branch": "autopilot/2f9c/20b",
    } in found["open"]


class FullDisk(RealFileSystem):
    def write(self, fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_keeps_the_old_handoff(tmp_path: Path, sample: Document) -> None:
    """A reader sees the old files or the new, nothing between."""
    write_handoff(tmp_path, sample, reason="first", fs=RealFileSystem())
    with pytest.raises(StorageError):
        write_handoff(tmp_path, sample, reason="second", fs=FullDisk())
    assert json.loads((tmp_path / "handoff.json").read_text())["reason"] == "first"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "HANDOFF.md",
        "handoff.json",
    ]
