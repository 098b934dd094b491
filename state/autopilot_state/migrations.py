"""How a run that an older version wrote becomes one of this version: patches, appended to its journal like any other.

A migration is a record too, so that folding the journal from its first line keeps giving the state exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autopilot_state.errors import PreflightError
from autopilot_state.patch import Document, Operation, expect, put

SCHEMA = 1
"""The shape of state.json that this version writes and reads."""

Migration = Callable[[Document], list[Operation]]

MIGRATIONS: Mapping[int, Migration] = {}
"""By the version it starts from: what leads a state to the next version. Version 1 is the first."""


def refuse_newer(version: object, *, schema: int = SCHEMA) -> None:
    """Raise `PreflightError` for the version of a state that this program can't know."""
    if isinstance(version, int) and 1 <= version <= schema:
        return
    raise PreflightError(
        "AP111",
        "this run was written by a newer version of autopilot",
        why=f"its state has version {version}; this program reads versions up to {schema}",
        fix="upgrade autopilot, or start over with `autopilot run --fresh`; nothing was changed",
    )


def next_migration(
    document: Document, *, migrations: Mapping[int, Migration] = MIGRATIONS, schema: int = SCHEMA
) -> list[Operation] | None:
    """Return the patch that leads `document` one version on, or None when it is of this version.

    Raises:
        PreflightError: a newer version wrote it.
    """
    version = document["schema"]
    refuse_newer(version, schema=schema)
    if version == schema:
        return None
    return [expect("/schema", version), *migrations[version](document), put("/schema", version + 1)]
