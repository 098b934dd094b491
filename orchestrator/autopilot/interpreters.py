"""Which Python the checks use, and what of the machine their commands must be able to read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import autopilot_agents
from autopilot.config import RunOptions


def interpreter(options: RunOptions) -> tuple[str, tuple[Path, ...]]:
    """Return the command of the interpreter that the checks use, and the folder that holds it."""
    named = options.python or options.config.python
    if named is None:
        return "python3", ()
    path = Path(named).absolute()
    return str(path), (path.parent,)


def readable_paths(python_path: Sequence[Path]) -> tuple[Path, ...]:
    """Return what commands must be able to read although it may lie in a hidden folder: us, and the interpreter."""
    ours = Path(autopilot_agents.__file__).resolve().parent.parent
    prefixes = [Path(sys.prefix), Path(sys.base_prefix)]
    return tuple(dict.fromkeys([ours, *prefixes, *(folder.parent for folder in python_path)]))
