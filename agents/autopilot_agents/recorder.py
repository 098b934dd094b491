"""A recorder in memory: the shipped fake of `protocols.Recorder`. The real one is `autopilot.recorder`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from autopilot_state.errors import StorageError
from autopilot_state.models import ArtifactRef


class MemoryRecorder:
    """Keeps `done` records, notes and artifacts in dictionaries; survives nothing."""

    def __init__(self) -> None:
        self.records: dict[str, Mapping[str, Any]] = {}
        self.notes: list[tuple[str, str, Mapping[str, Any]]] = []
        self.artifacts: dict[str, bytes] = {}

    def found(self, op: str) -> Mapping[str, Any] | None:
        return self.records.get(op)

    def done(self, op: str, unit: str, kind: str, data: Mapping[str, Any]) -> None:
        self.records[op] = data
        self.notes.append((unit, kind, data))

    def note(self, unit: str, kind: str, data: Mapping[str, Any]) -> None:
        self.notes.append((unit, kind, data))

    def put_artifact(self, unit: str, name: str, content: bytes) -> ArtifactRef:
        path = f"{unit}/{name}"
        self.artifacts[path] = content
        return ArtifactRef(path=path, sha256=hashlib.sha256(content).hexdigest())

    def get_artifact(self, ref: ArtifactRef) -> bytes:
        content = self.artifacts.get(ref.path)
        if content is None or hashlib.sha256(content).hexdigest() != ref.sha256:
            raise StorageError("AP107", f"artifact {ref.path} is missing or was changed")
        return content
