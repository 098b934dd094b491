"""What a search is asked for, as one argument of a command line."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass

MAX_CANDIDATES = 4000


@dataclass(frozen=True)
class Spec:
    """Tests that must turn green, and the limits of the search. Limits are counts, so that a slow machine
    finds the same repair as a fast one.
    """

    command: str
    failing: tuple[str, ...] = ()
    """Test ids to turn green; empty: every test of the commands that is red."""
    touches: tuple[str, ...] = ()
    max_candidates: int = MAX_CANDIDATES
    workers: int = 2
    commands: tuple[str, ...] = ()
    """Further commands whose tests must not break."""
    skip_accepted: int = 0
    """How many acceptable repairs to pass over, because they were not enough before."""

    @property
    def all_commands(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.command, *self.commands)))


def encode(spec: Spec) -> str:
    """Return `spec` as base64url JSON: safe in any shell without quotes."""
    return base64.urlsafe_b64encode(json.dumps(asdict(spec)).encode()).decode()


def decode(text: str) -> Spec:
    """Return the spec in `text`; raises `ValueError` when it is none."""
    data = json.loads(base64.urlsafe_b64decode(text))
    if not isinstance(data, dict) or not isinstance(data.get("command"), str):
        raise ValueError("a spec is a JSON object with a command")
    return Spec(
        command=data["command"],
        failing=tuple(data.get("failing", ())),
        touches=tuple(data.get("touches", ())),
        max_candidates=int(data.get("max_candidates", MAX_CANDIDATES)),
        workers=max(1, int(data.get("workers", 2))),
        commands=tuple(data.get("commands", ())),
        skip_accepted=int(data.get("skip_accepted", 0)),
    )
