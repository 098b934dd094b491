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
from pathlib import Path
from typing import Any

import orjson

from autopilot_state.errors import JournalDamaged, StorageError
from autopilot_state.fs import FileSystem, append_durably, sync_directory
from autopilot_state.patch import Operation

GENESIS = "0" * 32
_HASH_FIELD = b',"hash":"'
_TAIL_LENGTH = len(_HASH_FIELD) + 32 + len(b'"}')
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
    body, tail = line[:-_TAIL_LENGTH], line[-_TAIL_LENGTH:]
    if not tail.startswith(_HASH_FIELD) or not tail.endswith(b'"}'):
        return None
    if _digest(body) != tail[len(_HASH_FIELD) : -2].decode(errors="replace"):
        return None
    try:
        return Record(**orjson.loads(line))
    except (ValueError, TypeError):
        return None


@dataclass(frozen=True)
class Scan:
    """What reading a journal found. `torn_bytes` at the end were never acknowledged."""

    records: tuple[Record, ...]
    good_bytes: int
    torn_bytes: int


def iterate(
    data: bytes, *, name: str = "journal.jsonl", start_seq: int = 0, start_head: str = GENESIS
) -> Iterator[tuple[Record, int]]:
    """Yield each record of `data` with the offset of its end; stops before a torn last line.

    `start_seq` and `start_head` belong to the record before `data`, for a reader that begins in the middle.

    Raises:
        JournalDamaged: a record that is followed by others does not hold.
    """
    offset, seq, prev = 0, start_seq, start_head
    while offset < len(data):
        end = data.find(b"\n", offset)
        record = decode(data[offset:end]) if end >= 0 else None
        if record is None:
            if _is_torn_tail(data, offset, end):
                return
            raise _damaged(name, seq + 1, offset, "its hash or form does not hold")
        if record.seq != seq + 1 or record.prev != prev:
            raise _damaged(name, seq + 1, offset, f"found record {record.seq}, or a broken chain")
        seq, prev, offset = record.seq, record.hash, end + 1
        yield record, offset


def _is_torn_tail(data: bytes, offset: int, end: int) -> bool:
    """A torn write is the last line: cut, or zeroed by delayed allocation (ext4)."""
    rest = data[offset:]
    return end < 0 or end == len(data) - 1 or not rest.strip(b"\0\n")


def _damaged(name: str, seq: int, offset: int, why: str) -> JournalDamaged:
    return JournalDamaged(
        "AP102",
        f"{name}: record {seq} at byte {offset} is damaged, and records follow it",
        why=why,
        fix="nothing was written; restore the file from a backup, or start over with `autopilot run --fresh`",
    )


def scan(path: Path) -> Scan:
    """Read and verify a whole journal.

    Raises:
        JournalDamaged: a record before the last one does not hold.
    """
    data = path.read_bytes()
    records, good = [], 0
    for record, end in iterate(data, name=path.name):
        records.append(record)
        good = end
    return Scan(tuple(records), good, len(data) - good)


class Journal:
    """The open journal of the one writer. Not safe for two: the lock of the repository sees to that."""

    def __init__(self, path: Path, fs: FileSystem, *, seq: int, head: str, size: int) -> None:
        self.path = path
        self.seq = seq
        self.head = head
        self.size = size
        self._fs = fs
        self._failed = False
        created = not path.exists()
        self._fd = fs.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        if created:
            sync_directory(fs, path.parent)

    @classmethod
    def open(cls, path: Path, fs: FileSystem) -> tuple[Journal, Scan]:
        """Open an existing or new journal, cut off a torn last line, and return it with what it held."""
        found = scan(path) if path.exists() else Scan((), 0, 0)
        last = found.records[-1] if found.records else None
        journal = cls(
            path, fs, seq=last.seq if last else 0, head=last.hash if last else GENESIS, size=found.good_bytes
        )
        if found.torn_bytes:
            os.ftruncate(journal._fd, found.good_bytes)
            fs.sync(journal._fd)
        return journal, found

    def append(
        self, ts: float, kind: str, unit: str | None, patch: Sequence[Operation], data: dict[str, Any]
    ) -> Record:
        """Write one record and return it when it can't be lost any more.

        Raises:
            StorageError: the disk refused. Nothing may be appended afterwards: reopen and verify.
        """
        if self._failed:
            raise StorageError("AP106", "the journal refused an earlier record; start again to go on")
        line, digest = encode(self.seq + 1, ts, kind, unit, patch, data, self.head)
        if len(line) > MAX_RECORD_BYTES:
            raise StorageError("AP108", f"a {kind} record of {len(line)} bytes is too large for the journal")
        self._failed = True
        append_durably(self._fs, self._fd, self.path, line)
        self._failed = False
        record = Record(self.seq + 1, ts, kind, unit, list(patch), data, self.head, digest)
        self.seq, self.head, self.size = record.seq, digest, self.size + len(line)
        return record

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)
