"""Which commands of a repository's own settings the user has looked at: their hashes, pinned outside the repository.

A cloned repository must not bring commands that run by themselves. `.autopilot/config.toml` and `[tool.autopilot]`
of pyproject.toml may therefore name commands only while they are byte for byte (for pyproject: value for value)
what `autopilot trust` saw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from autopilot.home import Repository, state_home
from autopilot_state.errors import PreflightError
from autopilot_state.fs import RealFileSystem, make_private_directory, write_atomic

FILE_NAME = "trust.json"
CONFIG = "config"
PYPROJECT = "pyproject"


def digest_of_file(data: bytes) -> str:
    """Return the hash that pins `.autopilot/config.toml`: of its bytes."""
    return hashlib.sha256(data).hexdigest()


def digest_of_table(table: Mapping[str, Any]) -> str:
    """Return the hash that pins `[tool.autopilot]`: of its values, so that other tables may change."""
    return hashlib.sha256(
        orjson.dumps(table, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    ).hexdigest()


class TrustBook:
    """The pins of all repositories of this user, keyed by the real path of the git common directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> TrustBook:
        """Return the book in `$XDG_STATE_HOME/autopilot`."""
        return cls(state_home(environ) / FILE_NAME)

    def is_pinned(self, repository: Repository, source: str, digest: str) -> bool:
        """Say whether the user trusted exactly this content."""
        return self._read().get(_key(repository), {}).get(source) == digest

    def pin(self, repository: Repository, digests: Mapping[str, str]) -> None:
        """Trust these contents of a repository, each in place of what was trusted of its source before.

        Raises:
            StorageError: the disk refused.
        """
        pins = self._read()
        self._write({**pins, _key(repository): {**pins.get(_key(repository), {}), **digests}})

    def revoke(self, repository: Repository) -> bool:
        """Forget what was trusted of a repository; return whether there was anything.

        Raises:
            StorageError: the disk refused.
        """
        pins = self._read()
        if _key(repository) not in pins:
            return False
        del pins[_key(repository)]
        self._write(pins)
        return True

    def _read(self) -> dict[str, dict[str, str]]:
        """Return all pins; what can't be read pins nothing."""
        try:
            found = orjson.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {key: value for key, value in found.items() if isinstance(value, dict)}

    def _write(self, pins: Mapping[str, Mapping[str, str]]) -> None:
        make_private_directory(self.path.parent)
        write_atomic(RealFileSystem(), self.path, orjson.dumps(pins, option=orjson.OPT_INDENT_2) + b"\n")


def _key(repository: Repository) -> str:
    return str(repository.common_dir.resolve())


def untrusted(file: Path, keys: list[str]) -> PreflightError:
    """Return the error for a repository's file that names commands nobody has trusted."""
    return PreflightError(
        "AP630",
        f"{file} sets {', '.join(keys)}, which nobody on this machine has trusted",
        why="a repository's own files could run any command that way; they count only after you looked at them",
        fix="read the file, then: autopilot trust",
    )
