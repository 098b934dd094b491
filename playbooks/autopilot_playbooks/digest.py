"""Content keys: the SHA-256 of the canonical JSON of a phase or a playbook."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from autopilot_playbooks.schema import Phase, Playbook


def roadmap_digest(phase: Phase) -> str:
    """Return the contract key of a phase: its content, whatever line of the file it stands on."""
    return _digest(phase.model_dump(mode="json", exclude={"line"}))


def playbook_digest(p: Playbook) -> str:
    """Return the content key of a playbook, its prompts included."""
    return _digest(p.model_dump(mode="json"))


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
