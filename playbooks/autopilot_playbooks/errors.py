"""Errors of roadmaps and playbooks.

PlaybookError             exit 2; the attributes of every Autopilot error: code, what, why, fix
├── RoadmapError          a roadmap can't be used: names file, line and field
└── PlaybookFileError     a playbook can't be used: names file, line and field

This package knows nothing of `autopilot_state`, so the base stands here once more.
"""

from __future__ import annotations


class PlaybookError(Exception):
    """Base: what the user wrote can't be used, and `fix` says what to write in place of it."""

    exit_code = 2

    def __init__(self, code: str, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.why = why
        self.fix = fix


class RoadmapError(PlaybookError):
    """Raised when a roadmap can't be used; `what` begins with `file:line`."""


class PlaybookFileError(PlaybookError):
    """Raised when a playbook can't be used; `what` begins with `file:line`."""
