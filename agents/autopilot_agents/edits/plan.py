"""What an edit set may touch, and what it comes to: values that check, apply and their callers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autopilot_agents.edits.report import OperationResult


@dataclass(frozen=True)
class EditPolicy:
    """What an edit set may touch."""

    touches: tuple[str, ...] = ()
    """Globs of what may be edited; empty means everything."""
    allow_run_later: bool = False
    shown: Mapping[str, str] | None = None
    """Path → SHA-256 of the bytes as last shown to who writes the edits; None: not required."""
    max_operations: int = 10_000
    max_deleted_files: int = 20


@dataclass(frozen=True)
class FileChange:
    """A file's bytes before and after; None where there is no file. `mode`: permission bits, kept as they were."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o644


@dataclass(frozen=True)
class EditPlan:
    """What a set does to the files. `changes` is empty when an operation was rejected."""

    results: tuple[OperationResult, ...]
    changes: tuple[FileChange, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the plan may be applied."""
        return all(result.status in ("applied", "already") for result in self.results)
