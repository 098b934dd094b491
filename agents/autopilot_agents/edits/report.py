"""What became of each operation of a set, for the journal, the command line and the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["applied", "already", "rejected", "not_applied"]

_RENDERED = 40
"""Operations that a model is told about one by one; the others are counted."""


class OperationRejected(Exception):
    """Signal inside this package: an operation can't be done. `nearest` is real text of the file."""

    def __init__(self, reason: str, *, nearest: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.nearest = nearest


@dataclass(frozen=True)
class OperationResult:
    """What became of the operation `index` (0-based) of a set."""

    index: int
    type: str
    file_path: str
    status: Status
    reason: str = ""
    nearest: str = ""
    """Real text of the file, with line numbers, that resembles what was looked for."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "index": self.index,
            "type": self.type,
            "file_path": self.file_path,
            "status": self.status,
            "reason": self.reason,
            "nearest": self.nearest,
        }


@dataclass(frozen=True)
class EditReport:
    """What became of a set. Either all of it stands in the files, or none of it."""

    operations: tuple[OperationResult, ...] = ()
    changed_files: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    """Files put back after a write failed midway."""
    dry_run: bool = False
    """Nothing was written; `applied` and `changed_files` say what would be."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each changed file as it is now; a deleted one is missing."""

    @property
    def ok(self) -> bool:
        """Whether every operation is in the files."""
        return all(result.status in ("applied", "already") for result in self.operations)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "ok": self.ok,
            "dry_run": self.dry_run,
            "operations": [result.as_dict() for result in self.operations],
            "changed_files": list(self.changed_files),
            "restored": list(self.restored),
            "sha256": dict(self.sha256),
        }

    def render(self) -> str:
        """Return the report as text for a model: what went wrong first, each with the nearest real text."""
        counts = Counter(result.status for result in self.operations)
        told = ", ".join(
            f"{counts[s]} {s}" for s in ("applied", "already", "rejected", "not_applied") if counts[s]
        )
        lines = [f"edit set: {told or 'no operations'}"]
        if not self.ok:
            lines.append("Nothing was written: a set is applied as a whole.")
        elif self.dry_run:
            lines.append("Dry run: nothing was written.")
        if self.changed_files:
            lines.append("changed: " + ", ".join(self.changed_files[:_RENDERED]))
        if self.restored:
            lines.append("restored: " + ", ".join(self.restored[:_RENDERED]))
        problems = [result for result in self.operations if result.reason]
        problems.sort(key=lambda result: result.status != "rejected")
        for result in problems[:_RENDERED]:
            lines.append(
                f"[{result.index}] {result.type} {result.file_path}: {result.status}: {result.reason}"
            )
            lines.extend(f"    {line}" for line in result.nearest.split("\n") if line)
        if len(problems) > _RENDERED:
            lines.append(f"and {len(problems) - _RENDERED} more")
        return "\n".join(lines)
