"""LangGraph's checkpoints of the phase runners: disposable, they say where a graph stands and nothing else does."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

# Checkpoint rows must never rebuild Python objects (CVE-2026-28277); read when langgraph is imported.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
os.environ.setdefault("LANGSMITH_TRACING", "false")

import aiosqlite
import anyio
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

NAME = "checkpoints.sqlite"


@asynccontextmanager
async def open_checkpoints(run_dir: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Yield the one saver of this process; a damaged database is put aside, units then start from the journal."""
    path = run_dir / NAME
    if path.exists() and not _is_whole(path):
        for suffix in ("", "-wal", "-shm"):
            part = run_dir / f"{NAME}{suffix}"
            if part.exists():
                part.replace(run_dir / f"{NAME}.damaged{suffix}")
    connection = await aiosqlite.connect(path)
    try:
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        path.chmod(0o600)
        yield saver
    finally:
        # Also when the run is being stopped: an open connection's thread would outlive the event loop.
        with anyio.CancelScope(shield=True):
            await connection.close()


def _is_whole(path: Path) -> bool:
    try:
        connection = sqlite3.connect(path)
        try:
            return bool(connection.execute("PRAGMA quick_check").fetchone() == ("ok",))
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return False
