"""state.json: the journal's projection that people and tools read, always whole, and known to be so.

`seq`, `head` and `journal_bytes` say which record it stands at, the rest is the fold of all patches up to there,
exactly. `hash`, its last field, is BLAKE2b-128 over the bytes before it: a cut or a changed byte is found without
asking the journal, and what is found so is never believed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from autopilot_state.fs import FileSystem, read_regular, storage_error
from autopilot_state.journal import Line, Record, iterate
from autopilot_state.patch import Document

STATE_NAME = "state.json"
MAX_CORRUPT_COPIES = 3

_HASH_FIELD = b',\n  "hash": "'
_END = b'"\n}\n'
_TAIL_LENGTH = len(_HASH_FIELD) + 32 + len(_END)
_ABOUT = ("seq", "head", "journal_bytes", "hash")
_LINE_END_LENGTH = 40
"""More bytes than a record's hash and end of line take."""


@dataclass(frozen=True)
class Projection:
    """A sound state.json: the state, and the record that it stands at."""

    document: Document
    seq: int
    head: str
    journal_bytes: int

    def stands_in(self, lines: Sequence[Line] | Sequence[Record]) -> bool:
        """Say whether it is a projection of the journal that holds `lines`."""
        return 0 < self.seq <= len(lines) and lines[self.seq - 1].hash == self.head


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode()


def export(document: Document, *, seq: int, head: str, journal_bytes: int) -> bytes:
    """Return the bytes of state.json for a state that stands at record `seq`."""
    about = {"schema": document["schema"], "seq": seq, "head": head, "journal_bytes": journal_bytes}
    rest = {key: value for key, value in document.items() if key != "schema"}
    body = orjson.dumps({**about, **rest}, option=orjson.OPT_INDENT_2)[: -len("\n}")]
    return body + _HASH_FIELD + _digest(body) + _END


def parse(data: bytes) -> Projection | None:
    """Return what the bytes of a state.json hold, or None where they are damaged."""
    body, tail = data[:-_TAIL_LENGTH], data[-_TAIL_LENGTH:]
    if tail != _HASH_FIELD + _digest(body) + _END:
        return None
    try:
        document = orjson.loads(data)
        seq, head, journal_bytes, _ = (document.pop(key) for key in _ABOUT)
        return Projection(document, int(seq), str(head), int(journal_bytes)) if "schema" in document else None
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


def read_projection(run_dir: Path) -> Projection | None:
    """Return the state.json of a run, or None where it is missing or damaged."""
    try:
        return parse(read_regular(run_dir / STATE_NAME))
    except OSError:
        return None


def records_after(projected: Projection, journal: Path) -> list[Record] | None:
    """Return the records past a projection, or None when it stands at no record of this journal.

    Only those are read, so that looking at a large run costs what happened in its last second.

    Raises:
        JournalDamaged: one of them does not hold, and others follow it.
        OSError: the journal can't be read.
    """
    size = projected.journal_bytes
    with journal.open("rb") as file:
        file.seek(max(0, size - _LINE_END_LENGTH))
        before = file.read(min(size, _LINE_END_LENGTH))
        rest = file.read()
    if not before.endswith(projected.head.encode() + b'"}\n'):
        return None
    return [record for record, _ in iterate(rest, start_seq=projected.seq, start_head=projected.head)]


def keep_corrupt_copy(fs: FileSystem, run_dir: Path) -> None:
    """Put a state.json that is no projection of its journal aside before it is replaced; a few of them, no more.

    Raises:
        StorageError: the disk refused.
    """
    path = run_dir / STATE_NAME
    if not path.exists() or path.is_symlink():
        return
    copies = [run_dir / f"{STATE_NAME}.corrupt-{number}" for number in range(1, MAX_CORRUPT_COPIES + 1)]
    free = next((copy for copy in copies if not copy.exists()), None)
    if free is None:
        return
    try:
        fs.replace(path, free)
    except OSError as cause:
        raise storage_error(free, cause) from cause


def clear_temporaries(fs: FileSystem, run_dir: Path) -> None:
    """Remove what killed writers of state.json left half-written.

    Raises:
        StorageError: the disk refused.
    """
    for left in run_dir.glob(f".{STATE_NAME}.*.tmp"):
        try:
            fs.unlink(left)
        except OSError as cause:
            raise storage_error(left, cause) from cause
