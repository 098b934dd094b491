"""`autopilot state`: the journal and its projection, looked at and repaired."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import orjson

from autopilot.cli.result import Result
from autopilot.home import Repository, find_repository, find_run
from autopilot_state.errors import JournalMissing, UsageError
from autopilot_state.journal import Record, Scan, scan
from autopilot_state.lock import RepositoryLock
from autopilot_state.patch import diff
from autopilot_state.projection import STATE_NAME, read_projection
from autopilot_state.store import JOURNAL_NAME, Store, fold, load_state


def state(args: argparse.Namespace) -> Result:
    """Verify, rebuild, show or compare states of a run."""
    repository = find_repository(Path.cwd())
    folder = find_run(repository, args.run)
    if args.action == "verify":
        return _verify(folder)
    if args.action == "rebuild":
        return _rebuild(repository, folder)
    if args.action == "show":
        return _show(folder, args.at)
    return _diff(folder, args.a, args.b)


def _scan(folder: Path) -> Scan:
    path = folder / JOURNAL_NAME
    if not path.is_file():
        raise JournalMissing("AP109", f"{folder.name}: no journal", fix="autopilot status")
    return scan(path)


def _verify(folder: Path) -> Result:
    found = _scan(folder)
    seq = found.records[-1].seq if found.records else 0
    projection = _projection(folder, found.records)
    data = {
        "run": folder.name,
        "records": seq,
        "bytes": found.good_bytes,
        "torn_bytes": found.torn_bytes,
        "head": found.records[-1].hash if found.records else None,
        "projection": projection,
    }
    lines = [f"journal of {folder.name}: {seq} records hold, {found.good_bytes} bytes"]
    if found.torn_bytes:
        lines.append(
            f"torn last record of {found.torn_bytes} bytes: never acknowledged, the next start drops it"
        )
    return Result([*lines, f"{STATE_NAME}: {projection}"], data)


def _projection(folder: Path, records: Sequence[Record]) -> str:
    """Return what state.json is worth: the journal's state, behind it (a run lives), damaged or missing."""
    remedy = "rebuild it with `autopilot state rebuild`"
    if not (folder / STATE_NAME).exists():
        return f"missing; {remedy}"
    found = read_projection(folder)
    if found is None or not found.stands_in(records) or fold(records[: found.seq]) != found.document:
        return f"damaged; {remedy}"
    behind = len(records) - found.seq
    return f"{behind} records behind the journal" if behind else "is the journal's state"


def _rebuild(repository: Repository, folder: Path) -> Result:
    """Write state.json anew. Takes the repository's lock: a run that lives writes it itself."""
    _scan(folder)
    lock = RepositoryLock.acquire(repository.common_dir, purpose="state rebuild")
    try:
        store = Store.open(folder)
        seq, torn = store.seq, store.torn_bytes
        store.close()
    finally:
        lock.release()
    return Result(
        [f"{STATE_NAME} of {folder.name} stands at record {seq}"], {"records": seq, "torn_bytes": torn}
    )


def _show(folder: Path, at: int | None) -> Result:
    document = load_state(folder) if at is None else fold(_up_to(folder, at))
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    return Result(text.splitlines(), document)


def _diff(folder: Path, a: int, b: int) -> Result:
    patch = diff(fold(_up_to(folder, a)), fold(_up_to(folder, b)))
    lines = [orjson.dumps(operation).decode() for operation in patch]
    return Result(lines or [f"records {a} and {b} lead to the same state"], {"a": a, "b": b, "patch": patch})


def _up_to(folder: Path, seq: int) -> Sequence[Record]:
    records = _scan(folder).records
    if seq > len(records):
        raise UsageError(
            "AP661",
            f"run {folder.name} has no record {seq}",
            why=f"its journal ends with record {len(records)}",
            fix="name one of them",
        )
    return records[:seq]
