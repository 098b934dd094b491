"""Durable writes happen in one module: a rule on the source, so that the crash tests speak for all of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATE = ROOT / "state" / "autopilot_state"
SOURCES = sorted([*STATE.rglob("*.py"), *(ROOT / "orchestrator" / "autopilot").rglob("*.py")])
PORT = STATE / "fs.py"
"""The one module that may sync and rename."""
LOCK = STATE / "lock.py"
"""Writes the holder's name into the locked file itself: no other file may stand in for it."""

NOT_DURABLE = {
    "orchestrator/autopilot/checkpoints.py": "puts a damaged database aside; checkpoints are disposable",
    "orchestrator/autopilot/demo/prepare.py": "makes the demo's repository, which is no state of a run",
}
"""Modules outside the state layer that rename, and why no crash test has to speak for them."""

ATOMIC = {"fsync", "fdatasync", "rename", "renames", "link_to", "hardlink_to"}
CHANGING = {
    "write_text",
    "write_bytes",
    "ftruncate",
    "truncate",
    "pwrite",
    "unlink",
    "remove",
    "mkstemp",
    "touch",
}


def is_path_replace(call):
    """`path.replace(target)` and `os.replace(a, b)`; a text's replace has two arguments and is not os's."""
    function = call.func
    of_os = isinstance(function.value, ast.Name) and function.value.id == "os"
    return function.attr == "replace" and (of_os or len(call.args) == 1) and not call.keywords


def violations(source, *, changing):
    """Return the lines of `source` that write durably; with `changing`, those that change files at all."""
    found = []
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        through_port = ast.unparse(call.func.value) in ("fs", "self.fs", "self._fs", "disk")
        forbidden = ATOMIC | CHANGING if changing else ATOMIC
        if not through_port and (call.func.attr in forbidden or is_path_replace(call)):
            found.append(f"{call.lineno}: {ast.unparse(call)}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_port_syncs_and_renames(path):
    """No other module renames a file into place or syncs one; in the state layer none changes a file at all."""
    if path != PORT and str(path.relative_to(ROOT)) not in NOT_DURABLE:
        in_state = STATE in path.parents and path != LOCK
        assert violations(path.read_text(), changing=in_state) == []


def test_the_rule_finds_what_it_forbids():
    """Each forbidden way of writing is found, and texts may still be replaced."""
    forbidden = ["os.replace(a, b)", "a.replace(b)", "os.fsync(fd)", "path.rename(b)", "os.rename(a, b)"]
    for line in forbidden:
        assert violations(line, changing=False)
    for line in ("path.write_text('x')", "os.ftruncate(fd, 0)", "path.unlink()"):
        assert violations(line, changing=True)
        assert not violations(line, changing=False)
    for line in (
        "text.replace('a', 'b')",
        "fs.replace(a, b)",
        "self._fs.truncate(fd, 0)",
        "moment.replace(hour=1)",
    ):
        assert not violations(line, changing=True)
