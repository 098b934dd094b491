"""Copies what belongs to a repository and leaves behind what only lies in its folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from autopilot_agents.hands.git import Git, discover
from autopilot_state.errors import PreflightError

_NOT_SOURCE = frozenset({".git", ".hg", ".svn", ".tox", ".nox", "node_modules", "__pycache__"})
_OF_A_RUN = ".autopilot"
"""Settings and runs of the original have no say over its copy."""


async def copy_repository(source: Path, target: Path) -> int:
    """Return how many files were copied: those that git tracks, or all but caches where git knows nothing of it."""
    count = 0
    for name in await _files(source):
        path = source / name
        if Path(name).parts[0] == _OF_A_RUN or not (path.is_file() or path.is_symlink()):
            continue
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)
        count += 1
    return count


async def _files(source: Path) -> list[str]:
    try:
        repository = await discover(source)
    except PreflightError:
        return sorted(_walk(source))
    listing = (await Git(repository).run("ls-files", "-z", cwd=source)).stdout
    return [os.fsdecode(name) for name in listing.split(b"\0") if name]


def _walk(source: Path) -> Iterator[str]:
    for folder, names, files in os.walk(source):
        here = Path(folder)
        names[:] = [
            name for name in names if name not in _NOT_SOURCE and not (here / name / "pyvenv.cfg").exists()
        ]
        for name in files:
            yield (here / name).relative_to(source).as_posix()
