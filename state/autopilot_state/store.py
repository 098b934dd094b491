"""The one writer of a run: a record goes into the journal, its patch into the state, and both agree for ever.

The journal is the authority. `state.json` is its projection for people and tools, see `projection.py`. It is
replaced at most once a second and at every stop, so it may lag while a run lives; `load_state` folds the journal
past it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from autopilot_state.errors import JournalDamaged, JournalMissing, PatchRejected
from autopilot_state.fs import FileSystem, RealFileSystem, make_private_directory, write_atomic
from autopilot_state.journal import Journal, Line, Record, scan
from autopilot_state.migrations import SCHEMA, next_migration, refuse_newer
from autopilot_state.patch import Document, Operation, apply_patch
from autopilot_state.projection import (
    STATE_NAME,
    Projection,
    clear_temporaries,
    export,
    keep_corrupt_copy,
    read_projection,
    records_after,
)

__all__ = ["JOURNAL_NAME", "SCHEMA", "STATE_NAME", "Store", "empty_document", "export", "fold", "load_state"]

JOURNAL_NAME = "journal.jsonl"
PROJECTION_INTERVAL_S = 1.0
PROJECTION_SHARE = 0.05
"""The share of the time that writing state.json may take: a large one is replaced less often."""


def empty_document() -> Document:
    """Return the state before the first record."""
    return {"schema": SCHEMA, "run": {}, "order": [], "units": {}, "usage": {}}


def fold(records: Iterable[Record], document: Document | None = None) -> Document:
    """Return the state after `records`, starting from `document` (changed in place) or from nothing.

    Raises:
        JournalDamaged: a record's patch does not hold, so it was never written by a store.
    """
    state = empty_document() if document is None else document
    for record in records:
        try:
            apply_patch(state, record.patch)
        except PatchRejected as cause:
            raise JournalDamaged(
                "AP102", f"{JOURNAL_NAME}: the patch of record {record.seq} does not hold", why=cause.why,
                fix="restore the file from a backup, or start over with `autopilot run --fresh`",
            ) from cause  # fmt: skip
    return state


class Store:
    """Open run folder of the one writer."""

    def __init__(
        self, run_dir: Path, fs: FileSystem, journal: Journal, document: Document, now: Callable[[], float]
    ) -> None:
        self.run_dir = run_dir
        self.document = document
        self.fs = fs
        self.torn_bytes = 0
        self._journal = journal
        self._now = now
        self._project_from = 0.0
        self._operations: dict[str, dict[str, dict[str, Any]]] = {}

    @classmethod
    def open(
        cls, run_dir: Path, *, fs: FileSystem | None = None, now: Callable[[], float] = time.time
    ) -> Store:
        """Open a run folder, new or old: verify its journal, cut off a torn last line, fold it, rewrite state.json.

        Every record is verified; the fold starts from state.json where that is a sound projection of this journal.

        Raises:
            JournalDamaged: a record before the last one does not hold.
            JournalMissing: state.json is there without a journal.
            PreflightError: a newer version of autopilot wrote this run.
            StorageError: the disk refused.
        """
        disk = fs or RealFileSystem()
        make_private_directory(run_dir, disk)
        path = run_dir / JOURNAL_NAME
        if not os.path.lexists(path) and (run_dir / STATE_NAME).exists():
            raise JournalMissing(
                "AP109", f"{run_dir.name}: state.json is there, but the journal is gone", why="evidence is missing",
                fix="restore journal.jsonl from a backup, or start over with `autopilot run --fresh`",
            )  # fmt: skip
        projected = read_projection(run_dir)
        if projected is not None:
            refuse_newer(projected.document["schema"])
        journal, found = Journal.open(path, disk)
        try:
            store = cls(run_dir, disk, journal, _present(found.lines, projected), now)
            store.torn_bytes = found.torn_bytes
            store._settle(found.lines, projected)
        except BaseException:
            journal.close()
            raise
        return store

    def _settle(self, lines: Sequence[Line], projected: Projection | None) -> None:
        """Take up what the journal holds: operations, pending migrations, a fresh state.json."""
        for line in lines:
            if line.has_data:
                self._index(line.record())
        clear_temporaries(self.fs, self.run_dir)
        if not lines:
            return
        if projected is None or not projected.stands_in(lines):
            keep_corrupt_copy(self.fs, self.run_dir)
        while (patch := next_migration(self.document)) is not None:
            self.append("state.migrated", patch=patch)
        self.project(force=True)

    @property
    def seq(self) -> int:
        """The number of the last record."""
        return self._journal.seq

    def append(
        self,
        kind: str,
        *,
        unit: str | None = None,
        patch: Sequence[Operation] = (),
        data: Mapping[str, Any] | None = None,
    ) -> Record:
        """Apply `patch`, write the record, and return it when it can't be lost.

        The line is made and the patch is tried first: what does not hold never reaches the journal. When the
        disk refuses the record the state in memory is ahead of it, so the store must be reopened: it takes no
        further record and writes no state.json.

        Raises:
            PatchRejected: the state is not what the patch's `test` says; nothing happened.
            StorageError: the disk refused. Whether the record is there shows when the store is opened again.
        """
        # Through JSON, so that live values are those a later start reads, and none is shared with the caller.
        clean_patch, clean_data = orjson.loads(orjson.dumps([list(patch), dict(data or {})]))
        ts = round(self._now(), 3)
        line, record = self._journal.prepare(ts, kind, unit, clean_patch, clean_data)
        apply_patch(self.document, clean_patch)
        self._journal.write(line, record)
        self._index(record)
        self.project()
        return record

    def found(self, unit: str, op: str) -> Mapping[str, Any] | None:
        """Return what the `done` record of operation `op` holds, or None.

        A record whose data has `forget` drops the operations of those units: nothing asks for them any more.
        """
        return self._operations.get(unit, {}).get(op)

    def _index(self, record: Record) -> None:
        op = record.data.get("op")
        if op is not None:
            self._operations.setdefault(record.unit or "", {})[op] = record.data
        for unit in record.data.get("forget", ()):
            self._operations.pop(unit, None)

    def project(self, *, force: bool = False) -> None:
        """Replace state.json, at most once a second unless forced; never by what the journal does not hold."""
        began = time.monotonic()
        if self._journal.failed or (began < self._project_from and not force):
            return
        self._project_from = began + PROJECTION_INTERVAL_S
        journal = self._journal
        data = export(self.document, seq=journal.seq, head=journal.head, journal_bytes=journal.size)
        write_atomic(self.fs, self.run_dir / STATE_NAME, data)
        took = time.monotonic() - began
        self._project_from = max(self._project_from, began + took / PROJECTION_SHARE)

    def close(self) -> None:
        """Write state.json a last time and give the journal back."""
        try:
            self.project(force=True)
        finally:
            self._journal.close()


def load_state(run_dir: Path) -> Document:
    """Return the present state of a run without writing anything: state.json, folded past where it lags.

    Falls back to the whole journal where state.json is missing, damaged or not of this journal.

    Raises:
        JournalDamaged: a record before the last one does not hold.
        JournalMissing: there is no journal.
        PreflightError: a newer version of autopilot wrote this run.
    """
    path = run_dir / JOURNAL_NAME
    if not os.path.lexists(path):
        raise JournalMissing(
            "AP109", f"{run_dir}: no journal", fix="name another run: `autopilot status RUN`"
        )
    projected = read_projection(run_dir)
    document: Document | None = None
    if projected is not None:
        refuse_newer(projected.document["schema"])
        tail = records_after(projected, path)
        document = None if tail is None else fold(tail, projected.document)
    if document is None:
        document = fold(scan(path).records)
    while (patch := next_migration(document)) is not None:
        apply_patch(document, patch)
    return document


def _present(lines: Sequence[Line], projected: Projection | None) -> Document:
    """Return the state after `lines`, by the shortest sound way."""
    start, document = 0, empty_document()
    if projected is not None and projected.stands_in(lines):
        start, document = projected.seq, projected.document
    fold((line.record() for line in lines[start:]), document)
    refuse_newer(document["schema"])
    return document
