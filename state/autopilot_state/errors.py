"""Errors of the state layer, and the shape that every error of Autopilot has.

AutopilotError
├── UsageError            exit 2: the command line or a file of the user's is wrong
├── PreflightError        exit 6: the repository, a key or a check can't be used
├── LockedError           exit 7: another run holds this repository
├── JournalError          exit 1: the journal can't be trusted
│   ├── JournalDamaged    a record in the middle does not check
│   └── JournalMissing    state.json is there and the journal is not
├── PatchRejected         exit 1: what the writer believed is not what the state says
└── StorageError          exit 1: the disk refused a durable write

Every error says what happened, why, and what to do, with a code that `autopilot explain CODE` tells more about.
The other packages derive from the same base where they may import it; `autopilot_playbooks` keeps the same
four attributes on a base of its own, because it knows nothing of state.
"""

from __future__ import annotations

EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_PREFLIGHT = 6
EXIT_LOCKED = 7
EXIT_PROVIDER = 8


class AutopilotError(Exception):
    """Base of all errors that a user sees: `code`, `what`, `why`, `fix` and the exit code of the process."""

    exit_code = EXIT_INTERNAL

    def __init__(self, code: str, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.why = why
        self.fix = fix


class UsageError(AutopilotError):
    """Raised when the command line, a roadmap, a playbook or a configuration can't be read as it stands."""

    exit_code = EXIT_USAGE


class PreflightError(AutopilotError):
    """Raised before a run starts when the repository, a key, the sandbox or a check can't be used."""

    exit_code = EXIT_PREFLIGHT


class LockedError(AutopilotError):
    """Raised when another process holds the lock of this repository."""

    exit_code = EXIT_LOCKED


class JournalError(AutopilotError):
    """Raised when the journal can't be trusted; nothing is written after it."""


class JournalDamaged(JournalError):
    """Raised when a record before the last one does not parse, is out of sequence or breaks the hash chain."""


class JournalMissing(JournalError):
    """Raised when state.json exists without the journal that it is a projection of."""


class PatchRejected(AutopilotError):
    """Raised when a patch's `test` operation, or one of its paths, does not hold for the current state."""


class StorageError(AutopilotError):
    """Raised when a durable write or its fsync failed; a failed fsync is never retried."""
