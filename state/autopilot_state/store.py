"""The one writer of a run: a record goes into the journal, its patch into the state, and both agree for ever.

The journal is the authority. `state.json` is its projection for people and tools: `seq`, `head` and `journal_bytes`
say which record it stands at, the rest is the fold of all patches up to there, exactly. It is replaced at most once
a second and at every stop, so it may lag while a run lives; `load_state` folds the journal past it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from autopilot_state.errors import JournalMissing
from autopilot_state.fs import FileSystem, RealFileSystem, make_private_directory, write_atomic
from autopilot_state.journal import Journal, Record, iterate, scan
from autopilot_state.patch import Document, Operation, apply_patch

SCHEMA = 1
JOURNAL_NAME = "journal.jsonl"
STATE_NAME = "state.json"
PROJECTION_INTERVAL_S = 1.0
MAX_CORRUPT_COPIES = 3


def empty_document() -> Document:
    """Return the state before the first record."""
    return {"schema": SCHEMA, "run": {}, "order": [], "units": {}, "usage": {}}


def fold(records: Iterable[Record], document: Document | None = None) -> Document:
    """Return the state after `records`, starting from `document` (changed in place) or from nothing."""
    state = empty_document() if document is None else document
    for record in records:
        apply_patch(state, record.patch)
    return state


def export(document: Document, *, seq: int, head: str, journal_bytes: int) -> bytes:
    """Return the bytes of state.json for a state that stands at record `seq`."""
    about = {"schema": document["schema"], "seq": seq, "head": head, "journal_bytes": journal_bytes}
    rest = {key: value for key, value in document.items() if key != "schema"}
    return orjson.dumps({**about, **rest}, option=orjson.OPT_INDENT_2) + b"\n"


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
        self._projected_at = -PROJECTION_INTERVAL_S
        self._operations: dict[str, dict[str, dict[str, Any]]] = {}

    @classmethod
    def open(
        cls, run_dir: Path, *, fs: FileSystem | None = None, now: Callable[[], float] = time.time
    ) -> Store:
        """Open a run folder, new or old: verify its journal, cut off a torn last line, fold it, rewrite state.json.

        Raises:
            JournalDamaged: a record before the last one does not hold.
            JournalMissing: state.json is there without a journal.
            StorageError: the disk refused.
        """
        disk = fs or RealFileSystem()
        make_private_directory(run_dir)
        path = run_dir / JOURNAL_NAME
        if not path.exists() and (run_dir / STATE_NAME).exists():
            raise JournalMissing(
                "AP109", f"{run_dir.name}: state.json is there, but the journal is gone", why="evidence is missing",
                fix="restore journal.jsonl from a backup, or start over with `autopilot run --fresh`",
            )  # fmt: skip
        journal, found = Journal.open(path, disk)
        store = cls(run_dir, disk, journal, fold(found.records), now)
        store.torn_bytes = found.torn_bytes
        for record in found.records:
            store._index(record)
        if found.records:
            _keep_corrupt_copy(run_dir, found.records)
            store.project(force=True)
        return store

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

        The patch is tried first: one that does not hold never reaches the journal. When the disk refuses the
        record the state in memory is ahead of it, so the store must be reopened; the journal sees to that.

        Raises:
            PatchRejected: the state is not what the patch's `test` says.
            StorageError: the disk refused.
        """
        # The patch goes through JSON so that the state never shares an object with its caller.
        clean: list[Operation] = orjson.loads(orjson.dumps(list(patch)))
        apply_patch(self.document, clean)
        record = self._journal.append(self._now(), kind, unit, clean, dict(data or {}))
        self._index(record)
        self.project()
        return record

    def found(self, unit: str, op: str) -> Mapping[str, Any] | None:
        """Return what the `done` record of operation `op` holds, or None; ended units are forgotten."""
        return self._operations.get(unit, {}).get(op)

    def forget_operations(self, unit: str) -> None:
        """Drop the operations of a unit that has ended: they can't be asked for again."""
        self._operations.pop(unit, None)

    def _index(self, record: Record) -> None:
        op = record.data.get("op")
        if op is not None and record.unit is not None:
            self._operations.setdefault(record.unit, {})[op] = record.data

    def project(self, *, force: bool = False) -> None:
        """Replace state.json, at most once a second unless forced."""
        now = time.monotonic()
        if not force and now - self._projected_at < PROJECTION_INTERVAL_S:
            return
        self._projected_at = now
        journal = self._journal
        data = export(self.document, seq=journal.seq, head=journal.head, journal_bytes=journal.size)
        write_atomic(self.fs, self.run_dir / STATE_NAME, data)

    def close(self) -> None:
        """Write state.json a last time and give the journal back."""
        self.project(force=True)
        self._journal.close()


def load_state(run_dir: Path) -> Document:
    """Return the present state of a run without writing anything: state.json, folded past where it lags.

    Falls back to the whole journal where state.json is missing, damaged or not of this journal.

    Raises:
        JournalDamaged: a record before the last one does not hold.
        JournalMissing: there is no journal.
    """
    path = run_dir / JOURNAL_NAME
    if not path.exists():
        raise JournalMissing(
            "AP109", f"{run_dir}: no journal", fix="name another run: `autopilot status RUN`"
        )
    projected = _read_projection(run_dir)
    if projected is not None:
        document, seq, head, size = projected
        tail = _tail_records(path, seq, head, size)
        if tail is not None:
            return fold(tail, document)
    return fold(scan(path).records)


def _read_projection(run_dir: Path) -> tuple[Document, int, str, int] | None:
    try:
        found = orjson.loads((run_dir / STATE_NAME).read_bytes())
        seq, head, size = found.pop("seq"), found.pop("head"), found.pop("journal_bytes")
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    if found.get("schema") != SCHEMA or not all(key in found for key in empty_document()):
        return None
    return found, seq, head, size


def _tail_records(path: Path, seq: int, head: str, size: int) -> list[Record] | None:
    """Return the records after byte `size`, or None when state.json stands at no record of this journal."""
    with path.open("rb") as file:
        file.seek(max(0, size - 40))
        before = file.read(min(size, 40))
        rest = file.read()
    if not before.endswith(head.encode() + b'"}\n'):
        return None
    return [record for record, _ in iterate(rest, start_seq=seq, start_head=head)]


def _keep_corrupt_copy(run_dir: Path, records: Sequence[Record]) -> None:
    """Keep a state.json that is no projection of this journal aside, a few of them, before it is replaced."""
    path = run_dir / STATE_NAME
    if not path.exists() or path.is_symlink():
        return
    projected = _read_projection(run_dir)
    if projected is not None:
        document, seq, head, _ = projected
        if 0 < seq <= len(records) and records[seq - 1].hash == head and fold(records[:seq]) == document:
            return
    copies = sorted(run_dir.glob(f"{STATE_NAME}.corrupt-*"))
    if len(copies) < MAX_CORRUPT_COPIES:
        path.replace(run_dir / f"{STATE_NAME}.corrupt-{len(copies) + 1}")
