"""A set of operations checked as a whole, before any of it is written.

All operations mean the files before the set. Each is placed in its file; the results are put together in memory
and looked at (overlaps, syntax); what comes out is a plan that `apply.apply_plan` only has to write.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autopilot_agents.edits.assemble import assemble, refuse_overlaps
from autopilot_agents.edits.left_out import left_out_lines
from autopilot_agents.edits.operations import (
    ContentEdit,
    Create,
    Delete,
    DeleteFile,
    InsertAfter,
    InsertBefore,
    Modify,
    Operation,
    Rename,
    ReplaceText,
)
from autopilot_agents.edits.plan import EditPlan, EditPolicy, FileChange
from autopilot_agents.edits.report import OperationRejected, OperationResult, Status
from autopilot_agents.edits.workspace import FileState, Workspace
from autopilot_agents.errors import PathRefused
from autopilot_agents.hands.paths import Root, check_relative, matches_glob, runs_later

__all__ = ["EditPlan", "EditPolicy", "FileChange", "plan_set"]

NEAREST_SEARCHES = 8
"""Failed matches of one set that are told the nearest text; each search reads a whole file."""


def plan_set(root: Root, operations: Sequence[Operation], policy: EditPolicy) -> EditPlan:
    """Return what `operations` do to the files beneath `root`; reads, and writes nothing."""
    return _Planner(root, operations, policy).plan()


@dataclass
class _Planner:
    root: Root
    operations: Sequence[Operation]
    policy: EditPolicy
    results: dict[int, OperationResult] = field(default_factory=dict)
    nearest_left: int = NEAREST_SEARCHES
    deleted: int = 0

    def __post_init__(self) -> None:
        self.files = Workspace(self.root, self._nearest_wanted, _expected_texts(self.operations))

    def plan(self) -> EditPlan:
        """Return the results of all operations, and the changes when none was rejected."""
        count = len(self.operations)
        if count > self.policy.max_operations:
            reason = f"the set has {count:,} operations, more than {self.policy.max_operations:,}"
            return EditPlan(tuple(self._result(i, "rejected", reason) for i in range(count)))
        self._take_all()
        refuse_overlaps(self.files, self._reject)
        changes: tuple[FileChange, ...] = ()
        if not self._any_rejected():
            changes = assemble(self.files, allow_run_later=self.policy.allow_run_later, reject=self._reject)
        results = tuple(self.results[i] for i in range(count))
        if self._any_rejected():
            return EditPlan(tuple(_held_back(result) for result in results))
        return EditPlan(results, changes)

    def _take_all(self) -> None:
        seen: dict[Operation, int] = {}
        for index, operation in enumerate(self.operations):
            first = seen.setdefault(operation, index)
            if first != index:
                status: Status = "not_applied" if self.results[first].status == "rejected" else "already"
                self.results[index] = self._result(index, status, f"the same as operation {first}")
                continue
            try:
                self._check_paths(operation)
                done = self._place(index, operation)
            except OperationRejected as rejected:
                self._reject(index, rejected.reason, rejected.nearest)
            except PathRefused as refused:
                self._reject(index, f"{refused.code}: {refused.what}")
            else:
                self.results[index] = self._result(index, "already" if done else "applied")

    def _nearest_wanted(self) -> bool:
        self.nearest_left -= 1
        return self.nearest_left >= 0

    def _any_rejected(self) -> bool:
        return any(result.status == "rejected" for result in self.results.values())

    def _result(self, index: int, status: Status, reason: str = "", nearest: str = "") -> OperationResult:
        operation = self.operations[index]
        return OperationResult(index, operation.type, operation.file_path, status, reason, nearest)

    def _reject(self, index: int, reason: str, nearest: str = "") -> None:
        current = self.results.get(index)
        if current is None or current.status != "rejected":  # the first reason is the cause of the others
            self.results[index] = self._result(index, "rejected", reason, nearest)

    def _check_paths(self, operation: Operation) -> None:
        paths = [operation.file_path, *([operation.new_path] if isinstance(operation, Rename) else [])]
        touches = self.policy.touches
        for path in paths:
            check_relative(path, vcs_meta=self.root.vcs_meta)
            if touches and not any(matches_glob(path, glob) for glob in touches):
                raise OperationRejected(
                    f"{path} is outside what this unit may edit: {', '.join(touches)[:300]}"
                )
            if not self.policy.allow_run_later and runs_later(path):
                raise OperationRejected(
                    f"{path} runs later by itself, and the playbook does not allow editing it"
                )

    def _place(self, index: int, operation: Operation) -> bool:
        """Place `operation` in its file; return whether its result is there already."""
        match operation:
            case Create():
                return self._create(index, operation)
            case DeleteFile():
                return self._delete_file(index, operation)
            case Rename():
                return self._rename(index, operation)
            case Modify():
                return self._modify(index, operation)
            case _:
                return self._edit(index, operation)

    def _create(self, index: int, operation: Create) -> bool:
        content = operation.content.encode()
        state = self.files.find(operation.file_path)
        if state is not None:
            if state.origin is not None and state.before == content and not state.splices:
                return True
            raise OperationRejected("the file is already there with other content; edit it in place")
        _refuse_left_out(operation.content, None)
        self.files.add(operation.file_path, content, index)
        return False

    def _delete_file(self, index: int, operation: DeleteFile) -> bool:
        path = operation.file_path
        if self.files.find(path) is None and not self.files.was_dropped(path):
            return True
        state = self.files.get(path, "")
        if state.touched_by is not None:
            raise OperationRejected(f"operation {state.touched_by} of this set edits the file")
        self._check_hash(operation, state)
        self._check_shown(state)
        self.deleted += 1
        if self.deleted > self.policy.max_deleted_files:
            raise OperationRejected(f"the set deletes more than {self.policy.max_deleted_files} files")
        self.files.drop(path, f"deleted by operation {index} of this set")
        return False

    def _rename(self, index: int, operation: Rename) -> bool:
        old, new = operation.file_path, operation.new_path
        if old == new or new.startswith(f"{old}/"):
            raise OperationRejected("new_path is the file itself or lies below it")
        target = self.files.find(new)
        if target is not None and self.files.find(old) is None and not self.files.was_dropped(old):
            return True
        state = self.files.get(old, ", and none at new_path")
        if target is not None:
            raise OperationRejected(f"{new} is already there; rename or delete it first")
        self._check_hash(operation, state)
        self.files.drop(old, f"renamed to {new} by operation {index} of this set")
        self.files.put(new, state)
        return False

    def _modify(self, index: int, operation: Modify) -> bool:
        done = []
        for position, nested in enumerate(operation.operations):
            try:
                done.append(self._edit(index, nested, operation.expected_sha256))
            except OperationRejected as rejected:
                reason = f"operation {position} inside ({nested.type}): {rejected.reason}"
                raise OperationRejected(reason, nearest=rejected.nearest) from rejected
        return all(done)

    def _edit(self, index: int, operation: ContentEdit, expected_sha256: str | None = None) -> bool:
        state = self.files.get(operation.file_path, "; use create")
        if state.origin is None:
            state.extend(operation, index)
            _refuse_left_out(_added(operation), None)
            return False
        # Before the hash: a set that is applied once more finds the file with the hash it gave it.
        if isinstance(operation, ReplaceText) and state.locator.is_done(operation):
            return True
        self._check_hash(operation, state, expected_sha256)
        self._check_shown(state)
        splice = state.locator.locate(operation, index)
        _refuse_left_out(_added(operation), state)
        state.splices.append(splice)
        state.touched_by = index
        return False

    def _check_hash(
        self, operation: ContentEdit | DeleteFile | Rename, state: FileState, inherited: str | None = None
    ) -> None:
        expected = operation.expected_sha256 or inherited
        if expected and (state.origin is None or expected != state.sha256):
            raise OperationRejected("the file's bytes have another hash than expected_sha256; read it again")

    def _check_shown(self, state: FileState) -> None:
        """Refuse an edit that was thought out for bytes nobody saw, or for others than the file has."""
        shown = self.policy.shown
        if shown is None or state.origin is None:
            return
        if state.origin not in shown:
            raise OperationRejected("the file was never shown to you; read it before you edit it")
        if shown[state.origin] != state.sha256:
            raise OperationRejected("the file changed since it was shown to you; read it again")


def _expected_texts(operations: Sequence[Operation]) -> dict[str, list[str]]:
    """Return the texts that the operations will look for, by the file they are on."""
    texts: dict[str, list[str]] = defaultdict(list)
    for operation in operations:
        for edit in operation.operations if isinstance(operation, Modify) else (operation,):
            if isinstance(edit, ReplaceText):
                texts[edit.file_path] += (edit.old_text, edit.new_text)
            elif isinstance(edit, InsertBefore | InsertAfter) and edit.anchor is not None:
                texts[edit.file_path].append(edit.anchor)
    return texts


def _held_back(result: OperationResult) -> OperationResult:
    """Return the result of an operation whose set is not written."""
    if result.status != "applied":
        return result
    return replace(result, status="not_applied", reason="another operation of the set was rejected")


def _added(operation: ContentEdit) -> str:
    if isinstance(operation, Delete):
        return ""
    return operation.new_text if isinstance(operation, ReplaceText) else operation.content


def _refuse_left_out(content: str, state: FileState | None) -> None:
    """Refuse added lines that stand for code that was not written, unless the file has them already."""
    for line in left_out_lines(content):
        if state is None or line.encode() not in state.text.body:
            raise OperationRejected(
                f"the line {line!r} stands for code that is left out; write the code itself"
            )
