"""From parsed arguments to `RunOptions`: which flags exclude each other, what a lone positional means."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from autopilot.config import RunOptions, load_config
from autopilot.home import Repository
from autopilot_state.errors import UsageError

PASS_QUALITY, PASS_LENIENT = 9.5, 7.0
_UNIT = r"\d+(?:\.\d+)*[a-z0-9]*"
_PHASES = re.compile(rf"(?:all|next|{_UNIT}(?:-{_UNIT})?(?:,{_UNIT}(?:-{_UNIT})?)*)\Z")

EXCLUSIONS = (
    ("quality", "lenient", "--quality passes at 9.5, --lenient at 7.0", "use one of them"),
    ("sequential", "max_parallel", "--sequential is --max-parallel 1", "use one of them"),
    ("no_split", "max_split_depth", "--no-split is --max-split-depth 0", "use one of them"),
    ("dry_run", "detach", "--dry-run prints a plan and ends", "leave out --detach"),
    ("dry_run", "fresh", "--dry-run starts nothing, --fresh archives a run", "leave out one of them"),
    ("dry_run", "events", "--dry-run writes no records", "leave out --events"),
    ("detach", "events", "a detached run has no output to write events to", "autopilot watch"),
)
"""First flag, second flag, what they mean, what to do."""


def check_exclusions(args: argparse.Namespace) -> None:
    """Refuse flags that contradict each other, before anything is done.

    Raises:
        UsageError: names both and which one to use.
    """
    for one, other, why, fix in EXCLUSIONS:
        if _given(args, one) and _given(args, other):
            raise UsageError("AP654", f"{_flag(one)} and {_flag(other)} exclude each other", why=why, fix=fix)
    if args.json and args.events == "-":
        raise UsageError(
            "AP654",
            "--json and --events - both write to standard output",
            why="--json promises exactly one document there",
            fix="use --events FILE",
        )


def _given(args: argparse.Namespace, name: str) -> bool:
    return getattr(args, name, None) not in (None, False)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def is_phases(text: str) -> bool:
    """Say whether `text` is a choice of phases: `3`, `1-7`, `3,5,8`, `20a`, `next`, `all`."""
    return len(text) <= 4000 and _PHASES.match(text) is not None


def split_positionals(roadmap: str | None, phases: str | None, cwd: Path) -> tuple[Path | None, str | None]:
    """Return the roadmap's path and the phases; a lone positional that is no file may be phases.

    Raises:
        UsageError: the phases are none, or the roadmap is no file.
    """
    if roadmap is not None and phases is None and is_phases(roadmap) and not _is_file(cwd, roadmap):
        return None, roadmap
    if phases is not None and not is_phases(phases):
        raise UsageError(
            "AP655",
            f"PHASES can't be {phases!r}",
            why="PHASES is 3, 1-7, 3,5,8, next or all",
            fix="autopilot run --help",
        )
    if roadmap is not None and not _is_file(cwd, roadmap):
        raise UsageError(
            "AP656",
            f"the roadmap {roadmap} is no readable file",
            why=f"looked in {cwd}",
            fix="name an existing file",
        )
    return (None if roadmap is None else cwd / roadmap), phases


def _is_file(cwd: Path, name: str) -> bool:
    try:
        return (cwd / name).is_file()
    except (OSError, ValueError):  # a name of 4 kB, a NUL byte
        return False


def run_options(
    args: argparse.Namespace,
    repository: Repository,
    cwd: Path,
    *,
    mode: Literal["run", "resume"],
    run_id: str | None = None,
    roadmap: Path | None = None,
    phases: str | None = None,
) -> RunOptions:
    """Return what was asked for, with the settings resolved.

    Raises:
        UsageError: a settings file or variable can't be used.
        PreflightError: the repository's files name commands that nobody trusted.
    """
    given = vars(args)
    names = (
        "quality", "lenient", "sequential", "max_parallel", "max_agents", "max_split_depth", "no_split", "force",
        "provider", "model", "playbook", "python", "fresh", "dry_run", "detach", "events", "unsafe_no_sandbox",
        "max_minutes", "max_usd", "json", "plain", "debug",
    )  # fmt: skip
    chosen = {name: given[name] for name in names if given.get(name) is not None}
    if "python" in chosen:
        chosen["python"] = _interpreter(chosen["python"], cwd)
    config = load_config(repository, environ=os.environ, flags=_flags(chosen))
    return RunOptions(
        cwd=cwd, config=config, mode=mode, run_id=run_id, roadmap=roadmap, phases=phases, **chosen
    )


def _flags(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that flags set, by the keys of the configuration."""
    keys = (
        "provider",
        "model",
        "playbook",
        "max_parallel",
        "max_agents",
        "max_split_depth",
        "max_usd",
        "max_minutes",
    )
    flags = {key: chosen[key] for key in keys if key in chosen}
    if chosen.get("python"):
        flags["python"] = str(chosen["python"])
    if chosen.get("sequential"):
        flags["max_parallel"] = 1
    if chosen.get("no_split"):
        flags["max_split_depth"] = 0
    if chosen.get("quality") or chosen.get("lenient"):
        flags["threshold"] = PASS_QUALITY if chosen.get("quality") else PASS_LENIENT
    return flags


def _interpreter(path: Path, cwd: Path) -> Path:
    """Return the absolute path; never resolved, because a venv's python is a symlink that must stay one."""
    found = Path(os.path.abspath(cwd / path))  # noqa: PTH100 - resolve() would follow the venv's link
    if not found.is_file() or not os.access(found, os.X_OK):
        raise UsageError("AP657", f"--python {path} is no program", fix="name a Python interpreter")
    return found


def without(words: Sequence[str], *flags: str) -> list[str]:
    """Return the words of a command line without some flags that take no value."""
    return [word for word in words if word not in flags]
