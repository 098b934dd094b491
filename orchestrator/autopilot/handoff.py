"""What a stopped run leaves for whoever goes on: handoff.json and HANDOFF.md. Both are views; resume reads the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from autopilot.report import markdown_text, next_commands, not_met, summary, usage_json
from autopilot.statistics import Document, ordered_units, state_of
from autopilot_state.fs import FileSystem, write_atomic

JSON_NAME = "handoff.json"
MARKDOWN_NAME = "HANDOFF.md"


def write_handoff(run_dir: Path, document: Document, *, reason: str, fs: FileSystem) -> None:
    """Replace handoff.json and HANDOFF.md of a run by what its state says now.

    Raises:
        StorageError: the disk refused.
    """
    content = handoff(document, reason=reason)
    write_atomic(fs, run_dir / JSON_NAME, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    write_atomic(
        fs, run_dir / MARKDOWN_NAME, _markdown(document, content).encode("utf-8", "backslashreplace")
    )


def handoff(document: Document, *, reason: str) -> dict[str, Any]:
    """Return what is done, what was under way, what is open, and the command that goes on."""
    run = document.get("run", {})
    units = list(ordered_units(document))
    return {
        "schema": 1,
        "run_id": run.get("id"),
        "reason": reason,
        "repository": run.get("repository"),
        "branch": run.get("branch"),
        "base": run.get("base"),
        "head": run.get("head"),
        "roadmap": run.get("roadmap"),
        "roadmap_digest": run.get("roadmap_digest"),
        "finished": [
            {"id": unit, "result": row.get("result"), "score": row.get("score"), "commit": row.get("commit")}
            for unit, row, _ in units
            if row.get("status") == "ended"
        ],
        "in_progress": [
            {"id": unit, "status": row.get("status"), "step": row.get("step"), "attempt": row.get("attempt")}
            for unit, row, _ in units
            if row.get("attempt") and row.get("status") != "ended"
        ],
        "not_started": [
            unit for unit, row, _ in units if not row.get("attempt") and row.get("status") != "ended"
        ],
        "open": [{"id": unit, "reason": why, "branch": branch} for unit, why, branch in not_met(document)],
        "usage": usage_json(document),
        "next": next_commands(document) or [f"autopilot report {run.get('id')}"],
    }


def _markdown(document: Document, content: dict[str, Any]) -> str:
    names = {unit: row.get("name", "") for unit, row, _ in ordered_units(document)}
    states = {unit: state_of(row) for unit, row, _ in ordered_units(document)}

    def line(unit: str, more: str = "") -> str:
        return markdown_text(f"{unit} {names[unit]}: {states[unit]}{more}")

    finished = [line(u["id"], f", {u['commit'][:12]}" if u["commit"] else "") for u in content["finished"]]
    working = [line(u["id"], f", step {u['step']}" if u["step"] else "") for u in content["in_progress"]]
    sections = {
        "Finished": finished,
        "In progress": working,
        "Not started": [line(unit) for unit in content["not_started"]],
        "Open": [markdown_text(f"{o['id']}: {o['reason']}") for o in content["open"]],
    }
    lines = [
        f"# Run {content['run_id']}: {markdown_text(content['reason'])}",
        "",
        markdown_text(summary(document)),
    ]
    for title, items in sections.items():
        if items:
            lines += ["", f"## {title}", "", *(f"- {item}" for item in items)]
    lines += ["", "## Next", "", "```sh", *content["next"], "```", ""]
    return "\n".join(lines)
