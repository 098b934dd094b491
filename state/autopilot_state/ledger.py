"""The account of tokens and money: `usage.jsonl`, one line a request, never a prompt text."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from autopilot_state.fs import FileSystem, append_durably, sync_directory

LEDGER_NAME = "usage.jsonl"


class Ledger:
    """Append-only; opened by the one writer of the run."""

    def __init__(self, run_dir: Path, fs: FileSystem, now: Callable[[], float] = time.time) -> None:
        self._path = run_dir / LEDGER_NAME
        self._fs = fs
        self._now = now
        self._fd = fs.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        sync_directory(fs, run_dir)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write one request's account and return when it can't be lost.

        Raises:
            StorageError: the disk refused.
        """
        line = orjson.dumps({"ts": round(self._now(), 3), **entry}) + b"\n"
        append_durably(self._fs, self._fd, self._path, line)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)
