"""The bytes that the placed edits of a set come to, and what only the whole result can tell."""

from __future__ import annotations

import json
from collections.abc import Callable

from autopilot_agents.edits.nearest import numbered
from autopilot_agents.edits.plan import FileChange
from autopilot_agents.edits.splice import overlaps, splice_once
from autopilot_agents.edits.syntax import syntax_problem
from autopilot_agents.edits.text import TextFile
from autopilot_agents.edits.workspace import FileState, Workspace

Reject = Callable[[int, str, str], None]
"""Takes (index of the operation, reason, nearest text)."""


def refuse_overlaps(files: Workspace, reject: Reject) -> None:
    """Reject the later of two operations that touch the same bytes; leaves all edits sorted."""
    for state in files.table.values():
        if state is None:
            continue
        state.splices.sort(key=lambda splice: splice.order)
        for earlier, later in overlaps(state.splices):
            what = (
                f"operation {earlier.index}"
                if earlier.index != later.index
                else "another edit of the same modify"
            )
            reject(later.index, f"overlaps {what}: both change line {state.text.line_at(later.start)}", "")


def assemble(files: Workspace, *, allow_run_later: bool, reject: Reject) -> tuple[FileChange, ...]:
    """Return the changes of the files, sorted by path, rejecting what breaks one. Edits are sorted and apart."""
    changes = []
    for path, state in sorted(files.table.items()):
        old = files.on_disk.get(path)
        before = old.before if old else None
        after, placed = _content(state) if state else (None, [])
        if after == before:
            continue
        if state is not None and after is not None:
            was = before if state.origin is None else state.before
            _refuse_broken(path, was, after, state, placed, reject)
            if not allow_run_later and path.rpartition("/")[2] == "package.json":
                _refuse_new_scripts(was, after, state, reject)
        mode = state.mode if state else old.mode if old else 0o644
        changes.append(FileChange(path, before, after, mode))
    return tuple(changes)


def _content(state: FileState) -> tuple[bytes, list[tuple[int, int]]]:
    if state.origin is None:
        return b"".join(state.created), []
    if not state.splices:
        return state.before, []
    body, placed = splice_once(state.text, state.splices)
    return state.text.to_bytes(body), placed


def _refuse_broken(
    path: str,
    before: bytes | None,
    after: bytes,
    state: FileState,
    placed: list[tuple[int, int]],
    reject: Reject,
) -> None:
    """Reject the operation after which a file that parsed does not parse any more."""
    problem = syntax_problem(path, after)
    if problem is None or before is None or syntax_problem(path, before) is not None:
        return
    text = TextFile.of(after)
    index = state.touched_by or 0
    nearest = ""
    if problem.line is not None and text.line_count:
        line = min(problem.line, text.line_count)
        nearest = numbered(text, line - 2, line + 2)
        before_it = [i for offset, i in placed if offset < text.starts[line]]
        index = before_it[-1] if before_it else placed[0][1] if placed else index
    reject(index, f"{path} would not parse any more: {problem.message}", nearest)


def _refuse_new_scripts(before: bytes | None, after: bytes, state: FileState, reject: Reject) -> None:
    if _scripts(after) != _scripts(before):
        reason = "changes the scripts of package.json, which run later; the playbook does not allow it"
        reject(state.touched_by or 0, reason, "")


def _scripts(data: bytes | None) -> object:
    try:
        package = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return package.get("scripts", {}) if isinstance(package, dict) else {}
