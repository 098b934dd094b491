"""RFC 6902 patches on the run's state: checked whole, applied in place, undone when one operation fails.

The jsonpatch library does each operation. Its `in_place` mode costs 0.007 ms where the default copies 4.8 MB
(99 ms), but leaves the operations before a failed one applied; so each operation's inverse is kept until the
last one has gone through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jsonpatch
from jsonpointer import JsonPointer, JsonPointerException

from autopilot_state.errors import PatchRejected

Operation = dict[str, Any]
Document = dict[str, Any]

_MISSING = object()


def pointer(*parts: str | int) -> str:
    """Return the JSON pointer (RFC 6901) to nested `parts`, escaped."""
    return str(JsonPointer.from_parts(parts).path)


def expect(path: str, value: Any) -> Operation:
    """Return the `test` operation that a patch begins with: what its writer believed."""
    return {"op": "test", "path": path, "value": value}


def put(path: str, value: Any) -> Operation:
    """Return an operation that adds `path` or replaces what stands there."""
    return {"op": "add", "path": path, "value": value}


def check_form(operations: Sequence[Operation]) -> None:
    """Raise `PatchRejected` unless the patch is empty or is led by a `test` operation."""
    if operations and operations[0].get("op") != "test":
        raise PatchRejected("AP103", "a patch must begin with a test operation", why="compare-and-swap")


def apply_patch(document: Document, operations: Sequence[Operation]) -> None:
    """Apply `operations` to `document` in place, all or none.

    Raises:
        PatchRejected: a `test` or a path does not hold; `document` is as it was.
    """
    check_form(operations)
    undo: list[Callable[[], None]] = []
    operation: Operation = {}
    try:
        for operation in operations:
            inverse = _inverse(document, operation)
            jsonpatch.JsonPatch([operation]).apply(document, in_place=True)
            undo.append(inverse)
    except (jsonpatch.JsonPatchException, JsonPointerException, KeyError, TypeError, IndexError) as cause:
        for step in reversed(undo):
            step()
        raise PatchRejected(
            "AP104",
            "the state is not what the writer believed",
            why=f"{operation.get('path')}: {cause}"[:300],
        ) from cause


def _inverse(document: Document, operation: Operation) -> Callable[[], None]:
    """Return what undoes `operation`; only the operations that the journal uses are known."""
    kind = operation.get("op")
    if kind == "test":
        return lambda: None
    if kind not in ("add", "replace", "remove"):
        raise PatchRejected("AP105", f"operation {kind!r} is not used in a journal")
    parent, key = JsonPointer(operation["path"]).to_last(document)
    if isinstance(parent, list):
        before = list(parent)

        def restore_list() -> None:
            parent[:] = before

        return restore_list
    old = parent.get(key, _MISSING)

    def restore() -> None:
        if old is _MISSING:
            parent.pop(key, None)
        else:
            parent[key] = old

    return restore


def diff(before: Document, after: Document) -> list[Operation]:
    """Return the operations that lead from one state to another, for people; never used to write (O(size))."""
    return list(jsonpatch.make_patch(before, after).patch)
