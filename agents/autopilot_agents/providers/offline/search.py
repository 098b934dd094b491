"""Finds a repair and prints it: `python -m autopilot_agents.providers.offline.search --spec SPEC`.

Runs in the worktree, in the interpreter of its tests, inside the sandbox. Standard output gets the edit
operations, standard error a few lines about the search. Nothing in the worktree is written.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from pathlib import Path

from . import operations
from . import spec as specs


def main(argv: list[str] | None = None) -> int:
    """Print the operations of a repair, or an empty set that says why; returns 0 unless the spec is unusable."""
    parser = argparse.ArgumentParser(prog="search", description=__doc__)
    parser.add_argument("--spec", required=True)
    try:
        spec = specs.decode(parser.parse_args(argv).spec)
    except ValueError as error:
        sys.stderr.write(f"search: the spec can't be read: {error}\n")
        return 2
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore", SyntaxWarning)  # candidates that compare with a literal by `is`
    _leave_own_path()
    sys.stdout.write(_answer(spec))
    sys.stdout.flush()
    return 0


def _answer(spec: specs.Spec) -> str:
    try:
        # Imported late, because pytest must come from the repository's path and not from ours.
        repair = importlib.import_module(f"{__package__}.repair")
    except ModuleNotFoundError as error:
        return operations.answer(f"no repair: {error}", [])
    return str(repair.answer(spec, os.path.realpath(os.curdir), _log))


def _log(text: str) -> None:
    sys.stderr.write(f"search: {text}"[:200] + "\n")


def _leave_own_path() -> None:
    """Take this package's folder, and the one that `-m` put first, off the path: what else lies there is none
    of the repository's business, and each command says itself whether the current folder is on its path.
    """
    own = {str(Path(__file__).resolve().parents[3]), os.path.realpath(os.curdir)}
    inherited = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    kept = [
        entry for entry in inherited if os.path.realpath(entry) != str(Path(__file__).resolve().parents[3])
    ]
    wanted = {os.path.realpath(entry) for entry in kept}
    sys.path[:] = [e for e in sys.path if os.path.realpath(e or os.curdir) not in own - wanted]
    os.environ["PYTHONPATH"] = os.pathsep.join(kept)


if __name__ == "__main__":
    sys.exit(main())
