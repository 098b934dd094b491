"""`autopilot recheck` and `autopilot gc`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from autopilot.cli.result import Result
from autopilot.config import GcOptions, RunOptions, load_config
from autopilot.errors import Exit
from autopilot.home import find_repository, find_run
from autopilot_state.store import load_state


def recheck(args: argparse.Namespace) -> Result:
    """Run every recorded check again on a clean clone of the result; exit 3 when one is red."""
    from autopilot import app

    repository = find_repository(Path.cwd())
    folder = find_run(repository, args.run)
    config = load_config(repository, environ=os.environ, require_trust=False)
    options = RunOptions(
        cwd=Path.cwd(),
        config=config,
        mode="resume",
        run_id=folder.name,
        json=args.json,
        plain=args.plain,
        debug=args.debug,
    )
    found = app.recheck_command(options)
    checks: list[dict[str, Any]] = found.get("checks", [])
    red = [check for check in checks if not check.get("green")]
    code = Exit(found.get("exit_code", Exit.BELOW_TARGET if red else Exit.OK))
    lines = [
        f"{'green' if check.get('green') else 'red  '}  {check.get('unit')}  {check.get('command')}"
        for check in checks
    ]
    lines.append(
        f"{len(checks) - len(red)} of {len(checks)} checks are green on a clean clone of {folder.name}"
    )
    return Result(lines, found, load_state(folder), int(code), code.reason)


def gc(args: argparse.Namespace) -> Result:
    """List worktrees and runs with their sizes; with --yes remove those that lose nothing."""
    from autopilot import app

    find_repository(Path.cwd())
    found = app.gc_command(GcOptions(cwd=Path.cwd(), delete=args.yes))
    items: list[dict[str, Any]] = found.get("items", [])
    lines = [_item_line(item) for item in items]
    free = sum(item.get("bytes", 0) for item in items if item.get("removable"))
    if args.yes:
        lines.append(f"removed {sum(bool(item.get('removed')) for item in items)}, {_size(free)} freed")
    else:
        lines.append(f"{_size(free)} can be freed" + ("" if not free else "; nothing was removed yet"))
        lines += ["Next:", "  autopilot gc --yes"] if free else []
    return Result(lines, found)


def _item_line(item: dict[str, Any]) -> str:
    word = "removed" if item.get("removed") else "removable" if item.get("removable") else "kept"
    why = f"  ({item['reason']})" if item.get("reason") else ""
    return f"{word:<9}  {_size(item.get('bytes', 0)):>8}  {item.get('path')}{why}"


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
