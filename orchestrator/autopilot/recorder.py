"""The agents' durable memory of a run: journal records, artifacts by content, the ledger.

Everything that reaches the disk here has gone through the redactor first: this is one of the choke points.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from autopilot import events
from autopilot.events import Event
from autopilot_agents.hands.redact import Redactor
from autopilot_playbooks.schema import Roadmap
from autopilot_state.errors import StorageError
from autopilot_state.fs import make_private_directory, write_atomic
from autopilot_state.journal import Record
from autopilot_state.ledger import Ledger
from autopilot_state.models import ArtifactRef, Usage
from autopilot_state.store import Store, load_state

SHARED = ""
"""Operations that belong to no unit: a command on a tree, whoever asked for it."""


class RunRecorder:
    """`Recorder` of the agents and `Journal` of the manager, on the one store of a run."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        redactor: Redactor,
        *,
        on_record: Callable[[Record], None] = lambda _: None,
    ) -> None:
        self.document = store.document
        self._store = store
        self._ledger = ledger
        self._redactor = redactor
        self._exact = redactor.exact()
        self._on_record = on_record
        self._artifacts = make_private_directory(store.run_dir / "artifacts")

    # -- Journal -----------------------------------------------------------------------------------------------

    def record(self, event: Event) -> None:
        """Append the event and show it."""
        record = self._store.append(
            event.kind, unit=event.unit, patch=event.patch, data=self._clean(event.data)
        )
        self._on_record(record)

    # -- Recorder ----------------------------------------------------------------------------------------------

    def found(self, op: str) -> Mapping[str, Any] | None:
        return self._store.found(_unit_of(op), op)

    def done(self, op: str, unit: str, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "model.reply":
            usage = Usage(**{name: data[name] for name in Usage.model_fields if name in data})
            self._ledger.append({"run": self.document["run"]["id"], "unit": unit, "op": op, **data})
            self.record(events.usage_added(unit, self.document, usage, op, {"kind": kind, **data}))
            return
        self.record(Event("op.done", [], {"op": op, "kind": kind, **data}, unit or None))

    def note(self, unit: str, kind: str, data: Mapping[str, Any]) -> None:
        self.record(Event(kind, [], data, unit or None))

    def put_artifact(self, unit: str, name: str, content: bytes) -> ArtifactRef:
        # Read back and acted on after a restart, so only known values are replaced: a pattern would change code.
        clean = self._exact.bytes(content)
        folder = make_private_directory(self._artifacts / (unit or "shared"))
        write_atomic(self._store.fs, folder / name, clean)
        return ArtifactRef(path=f"{folder.name}/{name}", sha256=hashlib.sha256(clean).hexdigest())

    def get_artifact(self, ref: ArtifactRef) -> bytes:
        return read_artifact(self._artifacts, ref)

    # -- more --------------------------------------------------------------------------------------------------

    def log_path(self, unit: str, name: str) -> Path:
        """Return a path below the artifacts that a command's full output may be written to."""
        return make_private_directory(self._artifacts / (unit or "shared")) / name

    def _clean(self, data: Mapping[str, Any]) -> dict[str, Any]:
        cleaned: dict[str, Any] = orjson.loads(self._redactor.bytes(orjson.dumps(dict(data))))
        return cleaned


def _unit_of(op: str) -> str:
    """Return the unit that an operation belongs to: `20a.a1.build` → `20a`; shared ones start with a dot."""
    return op.split(".a", 1)[0] if not op.startswith(".") else SHARED


class ReadOnlyRun:
    """A run as its folder tells it, for views that need contracts: nothing is written, nothing is locked."""

    def __init__(self, folder: Path) -> None:
        self.document = load_state(folder)
        self._artifacts = folder / "artifacts"

    def get_artifact(self, ref: ArtifactRef) -> bytes:
        """Return the bytes of an artifact; raises `StorageError` when they are missing or were changed."""
        return read_artifact(self._artifacts, ref)

    def roadmap(self) -> Roadmap:
        """Return the roadmap that the run works on."""
        return Roadmap.model_validate_json(
            self.get_artifact(ArtifactRef(**self.document["run"]["roadmap_ref"]))
        )


def read_artifact(folder: Path, ref: ArtifactRef) -> bytes:
    """Return the bytes of an artifact of the folder.

    Raises:
        StorageError: AP107, it is missing, or its hash is another than the journal says.
    """
    try:
        content = (folder / ref.path).read_bytes()
    except OSError as cause:
        raise StorageError("AP107", f"artifact {ref.path} is missing", why=str(cause)) from cause
    if hashlib.sha256(content).hexdigest() != ref.sha256:
        raise StorageError(
            "AP107", f"artifact {ref.path} was changed", why="its hash is another than the journal says"
        )
    return content
