"""The append-only record of a run: one JSON record a line, hash-chained, synced before it is acknowledged.

A record is `{"seq","ts","type","unit","patch","data","prev","hash"}`. `hash` is BLAKE2b-128 over the line up to
its own field, and `prev` repeats the hash before it, so that any changed byte, gap or swap is found, also in the
last record. A last line that is not whole was never acknowledged: it is cut off when the journal is opened.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from autopilot_state.errors import JournalDamaged, StorageError
from autopilot_state.fs import FileSystem, append_durably, read_regular, storage_error, sync_directory
from autopilot_state.patch import Operation

GENESIS = "0" * 32
_HASH_FIELD = b',"hash":"'
_TAIL_LENGTH = len(_HASH_FIELD) + 32 + len(b'"}')
_PREV_LENGTH = len(b',"prev":""') + 32
_NO_DATA = b',"data":{}'
MAX_RECORD_BYTES = 4_000_000
"""A split's record holds all its children; nothing else comes near."""


@dataclass(frozen=True)
class Record:
    """One line of the journal."""

    seq: int
    ts: float
    type: str
    unit: str | None
    patch: list[Operation]
    data: dict[str, Any]
    prev: str
    hash: str


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def encode(
    seq: int,
    ts: float,
    kind: str,
    unit: str | None,
    patch: Sequence[Operation],
    data: dict[str, Any],
    prev: str,
) -> tuple[bytes, str]:
    """Return the line of a record, newline included, and its hash."""
    body = orjson.dumps(
        {"seq": seq, "ts": ts, "type": kind, "unit": unit, "patch": list(patch), "data": data, "prev": prev}
    )[:-1]
    digest = _digest(body)
    return body + _HASH_FIELD + digest.encode() + b'"}\n', digest


def decode(line: bytes) -> Record | None:
    """Return the record of a whole line without its newline, or None where its hash or form doesn't hold."""
    return None if _sealed(line, len(line)) is None else _parse(line)


@dataclass(frozen=True, slots=True)
class Line:
    """A verified line, not parsed yet: most of a large journal need not be. `end` is the offset behind it."""

    text: bytes
    hash: str
    end: int

    def record(self) -> Record:
        """Return what the line holds.

        Raises:
            JournalDamaged: its form does not hold, so it was never written by a journal.
        """
        found = _parse(self.text)
        if found is None:
            raise _damaged(
                "journal.jsonl", "a record", self.end - len(self.text) - 1, "its form does not hold"
            )
        return found

    @property
    def has_data(self) -> bool:
        """Say whether the record's `data` holds anything; most status updates have none."""
        before = len(self.text) - _TAIL_LENGTH - _PREV_LENGTH
        return not self.text.startswith(_NO_DATA, before - len(_NO_DATA))

    def follows(self, seq: int, prev: str) -> bool:
        """Say whether this is record `seq` + 1, written after the one whose hash is `prev`."""
        if not self.text.startswith(b'{"seq":%d,' % (seq + 1)):
            return False
        return self.text.startswith(
            b',"prev":"%s"' % prev.encode(), len(self.text) - _TAIL_LENGTH - _PREV_LENGTH
        )


@dataclass(frozen=True)
class Scan:
    """What reading a journal found. `torn_bytes` at the end were never acknowledged."""

    lines: tuple[Line, ...]
    good_bytes: int
    torn_bytes: int

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All records, parsed.

        Raises:
            JournalDamaged: the form of one does not hold.
        """
        return tuple(line.record() for line in self.lines)


def iterate(
    data: bytes, *, name: str = "journal.jsonl", start_seq: int = 0, start_head: str = GENESIS
) -> Iterator[tuple[Record, int]]:
    """Yield each record of `data` with the offset of its end; stops before a torn last line.

    `start_seq` and `start_head` belong to the record before `data`, for a reader that begins in the middle.

    Raises:
        JournalDamaged: a record that is followed by others does not hold.
    """
    for line in verify(data, name=name, start_seq=start_seq, start_head=start_head):
        yield line.record(), line.end


def verify(
    data: bytes, *, name: str = "journal.jsonl", start_seq: int = 0, start_head: str = GENESIS
) -> Iterator[Line]:
    """Yield each line of `data` whose hash, number and chain hold; see `iterate`."""
    offset, seq, prev = 0, start_seq, start_head
    while offset < len(data):
        end = data.find(b"\n", offset)
        line = _sealed(data[offset:end], end + 1) if end >= 0 else None
        if line is None:
            if _is_torn_tail(data, offset, end, seq + 1):
                return
            raise _damaged(name, f"record {seq + 1}", offset, "its hash or form does not hold")
        repeated = line.hash == prev  # as a copied file may have it: it says nothing new
        if not repeated and not line.follows(seq, prev):
            raise _damaged(
                name, f"record {seq + 1}", offset, "another record is there, or the chain is broken"
            )
        offset = line.end
        if not repeated:
            seq, prev = seq + 1, line.hash
            yield line


def _sealed(text: bytes, end: int) -> Line | None:
    """Return the line whose hash holds, or None."""
    body, tail = text[:-_TAIL_LENGTH], text[-_TAIL_LENGTH:]
    digest = _digest(body)
    return Line(text, digest, end) if tail == _HASH_FIELD + digest.encode() + b'"}' else None


def _parse(text: bytes) -> Record | None:
    try:
        return Record(**orjson.loads(text))
    except (ValueError, TypeError):
        return None


def _is_torn_tail(data: bytes, offset: int, end: int, seq: int) -> bool:
    """A torn write is the last line: cut, or zeroed by delayed allocation (ext4).

    A line that swallowed the record after its own lost its newline to damage: it had been acknowledged.
    """
    rest = data[offset:]
    if b'{"seq":%d,"ts":' % (seq + 1) in rest:
        return False
    return end < 0 or end == len(data) - 1 or not rest.strip(b"\0\n")


def _damaged(name: str, what: str, offset: int, why: str) -> JournalDamaged:
    return JournalDamaged(
        "AP102",
        f"{name}: {what} at byte {offset} is damaged, and records follow it",
        why=why,
        fix="nothing was written; restore the file from a backup, or start over with `autopilot run --fresh`",
    )


def scan(path: Path) -> Scan:
    """Read and verify a whole journal.

    Raises:
        JournalDamaged: a record before the last one does not hold.
        StorageError: it is no regular file, or can't be read.
    """
    try:
        data = read_regular(path)
    except OSError as cause:
        raise StorageError(
            "AP112",
            f"{path.name} could not be read",
            why=f"{cause.strerror or cause} ({path})",
            fix="give this user access to the file, or restore it from a backup",
        ) from cause
    lines = tuple(verify(data, name=path.name))
    good = lines[-1].end if lines else 0
    return Scan(lines, good, len(data) - good)


class Journal:
    """The open journal of the one writer. Not safe for two: the lock of the repository sees to that."""

    def __init__(self, path: Path, fs: FileSystem, *, seq: int, head: str, size: int) -> None:
        self.path = path
        self.seq = seq
        self.head = head
        self.size = size
        self.failed = False
        """The disk refused a record: what the file ends with is unknown until it is opened again."""
        self._fs = fs
        try:
            self._fd = fs.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as cause:
            raise storage_error(path, cause) from cause

    @classmethod
    def open(cls, path: Path, fs: FileSystem) -> tuple[Journal, Scan]:
        """Open an existing or new journal, cut off a torn last line, and return it with what it held.

        Raises:
            JournalDamaged: a record before the last one does not hold; nothing was written.
            StorageError: the disk refused.
        """
        found = scan(path) if os.path.lexists(path) else Scan((), 0, 0)
        head = found.lines[-1].hash if found.lines else GENESIS
        journal = cls(path, fs, seq=len(found.lines), head=head, size=found.good_bytes)
        try:
            journal._settle(found.torn_bytes)
        except BaseException:
            journal.close()
            raise
        return journal, found

    def _settle(self, torn_bytes: int) -> None:
        """Return when the file and its name can't be lost: an earlier process may have died before its syncs."""
        try:
            if torn_bytes:
                self._fs.truncate(self._fd, self.size)
            self._fs.sync(self._fd)
            sync_directory(self._fs, self.path.parent)
        except OSError as cause:
            raise storage_error(self.path, cause) from cause

    def prepare(
        self, ts: float, kind: str, unit: str | None, patch: Sequence[Operation], data: dict[str, Any]
    ) -> tuple[bytes, Record]:
        """Return the next record and its line, without writing anything.

        Raises:
            StorageError: it is too large, or the disk refused an earlier one.
        """
        if self.failed:
            raise StorageError("AP106", "the journal refused an earlier record; start again to go on")
        seq = self.seq + 1
        line, digest = encode(seq, ts, kind, unit, patch, data, self.head)
        if len(line) > MAX_RECORD_BYTES:
            raise StorageError("AP108", f"a {kind} record of {len(line)} bytes is too large for the journal")
        return line, Record(seq, ts, kind, unit, list(patch), data, self.head, digest)

    def write(self, line: bytes, record: Record) -> None:
        """Append what `prepare` returned, and return when it can't be lost any more.

        Raises:
            StorageError: the disk refused. Nothing may be appended afterwards: reopen and verify.
        """
        self.failed = True
        append_durably(self._fs, self._fd, self.path, line)
        self.failed = False
        self.seq, self.head, self.size = record.seq, record.hash, self.size + len(line)

    def append(
        self, ts: float, kind: str, unit: str | None, patch: Sequence[Operation], data: dict[str, Any]
    ) -> Record:
        """Write one record and return it when it can't be lost any more.

        Raises:
            StorageError: the disk refused. Nothing may be appended afterwards: reopen and verify.
        """
        line, record = self.prepare(ts, kind, unit, patch, data)
        self.write(line, record)
        return record

    def close(self) -> None:
        """Give the descriptor back; a closed journal takes no records."""
        self.failed = True
        if self._fd >= 0:
            # The number may soon belong to another file, so it is forgotten before it is given back.
            fd, self._fd = self._fd, -1
            os.close(fd)
