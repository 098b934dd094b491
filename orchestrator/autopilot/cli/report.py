"""`autopilot report` and `autopilot logs`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autopilot.cli.result import Result, text_width
from autopilot.home import find_repository, find_run
from autopilot.report import completion_lines, envelope, next_commands, report_markdown
from autopilot_state.errors import UsageError
from autopilot_state.ids import is_unit_id
from autopilot_state.journal import scan
from autopilot_state.patch import Document
from autopilot_state.store import JOURNAL_NAME, load_state

TAIL_LINES = 160
MAX_LOG_BYTES = 4_000_000
TEXT_SUFFIXES = (".log", ".txt", ".out", ".err")


def report(args: argparse.Namespace) -> Result:
    """Print what a run came to, in one of several formats."""
    folder = find_run(find_repository(Path.cwd()), args.run)
    document = load_state(folder)
    chosen = args.format or "table"
    if chosen == "table":
        lines = completion_lines(
            document, width=text_width(sys.stdout), next_commands=next_commands(document)
        )
    else:
        lines = _formatted(chosen, folder, document).splitlines()
    code = document.get("run", {}).get("exit_code")
    return Result(lines, {"run": code, "format": chosen, **_content(chosen, lines)}, document)


def _content(chosen: str, lines: list[str]) -> dict[str, str]:
    return {"content": "\n".join(lines) + "\n"} if chosen in ("md", "html", "csv", "chrome-trace") else {}


def _formatted(chosen: str, folder: Path, document: Document) -> str:
    if chosen == "md":
        return report_markdown(document)
    import orjson

    from autopilot import export

    if chosen == "html":
        return export.report_html(document)
    if chosen == "csv":
        return export.report_csv(document)
    if chosen == "chrome-trace":
        return orjson.dumps(export.chrome_trace(document, _steps(folder))).decode()
    run = {"run": document.get("run", {}).get("exit_code")}
    return orjson.dumps(
        envelope("report", document=document, exit_code=0, reason="ok", data=run), option=orjson.OPT_INDENT_2
    ).decode()


def _steps(folder: Path) -> Iterator[tuple[float, str, str]]:
    for record in scan(folder / JOURNAL_NAME).records:
        if record.type == "unit.step" and record.unit is not None:
            step = next((op["value"] for op in record.patch if str(op["path"]).endswith("/step")), "step")
            yield record.ts, record.unit, str(step)


def logs(args: argparse.Namespace) -> Result:
    """List what a unit left in the run's folder, and print the output of its checks."""
    folder = find_run(find_repository(Path.cwd()), args.run)
    document = load_state(folder)
    if not is_unit_id(args.unit) or args.unit not in document["units"]:
        raise UsageError(
            "AP659", f"run {folder.name} has no unit {args.unit!r}", fix=f"autopilot status {folder.name}"
        )
    shared = [folder / "artifacts" / name for name in document["units"][args.unit].get("logs", [])]
    files = _files(folder / "artifacts" / args.unit) + [path for path in shared if path.is_file()]
    if not files:
        return Result([f"{args.unit} has left no files yet"], {"unit": args.unit, "artifacts": []})
    entries = [_entry(folder, path, full=args.full) for path in files]
    lines = [f"{entry['bytes']:>9}  {entry['path']}" for entry in entries]
    for entry in entries:
        if entry["tail"] is not None:
            lines += ["", f"==> {entry['path']} <==", *entry["tail"]]
    return Result(lines, {"unit": args.unit, "artifacts": entries})


def _files(folder: Path) -> list[Path]:
    """Return the regular files below a folder; links are never followed."""
    if folder.is_symlink():
        return []
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path))


def _entry(folder: Path, path: Path, *, full: bool) -> dict[str, Any]:
    size = path.stat().st_size
    tail = _tail(path, size, full=full) if path.suffix in TEXT_SUFFIXES else None
    return {"path": str(path.relative_to(folder)), "bytes": size, "tail": tail}


def _tail(path: Path, size: int, *, full: bool) -> list[str]:
    with path.open("rb") as file:
        file.seek(max(0, size - MAX_LOG_BYTES))
        lines = file.read(MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()
    if full or len(lines) <= TAIL_LINES:
        return lines
    return [f"... {len(lines) - TAIL_LINES} earlier lines (--full shows them)", *lines[-TAIL_LINES:]]
