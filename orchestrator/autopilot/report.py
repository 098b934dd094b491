"""What a run came to, for people and for programs: completion table, envelope, report.md.

Everything is computed from the run's state, which holds what git, exit statuses and the ledger said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autopilot.errors import exit_for
from autopilot.statistics import (
    Document,
    Totals,
    Unit,
    counts,
    ordered_units,
    run_totals,
    tests_of,
    totals_by_unit,
)
from autopilot.table import COMPLETION_COLUMNS, completion_rows, money, printable, render

SCHEMA = 1
NOT_MET = ("below", "failed", "parked", "needs_human", "blocked", "unverified")
KEPT_BRANCH = ("below", "failed")
"""Results whose work stays on a branch of its own, because it was not merged."""


def duration(seconds: float) -> str:
    """Return `41m`, `18m04s`, `52s` or `2h05m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s" if whole % 60 else f"{whole // 60}m"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def token_count(tokens: int) -> str:
    """Return `812`, `188k` or `1.31M`."""
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.0f}k" if tokens < 999_500 else f"{tokens / 1_000_000:.2f}M"


def spent(document: Document) -> str:
    """Return money and tokens of the run in words."""
    totals = run_totals(document)
    priced = bool(document.get("run", {}).get("cost_known", True)) or totals.cost_usd > 0
    tokens = f"{token_count(totals.tokens)} tokens"
    if totals.cache_read_tokens:
        tokens += f" ({token_count(totals.cache_read_tokens)} cache reads)"
    return f"{money(totals.cost_usd)}, {tokens}" if priced else tokens


def summary(document: Document, *, now: float | None = None) -> str:
    """Return the one line under the table: how many units met the threshold, what the others are, what it took."""
    found = counts(document)
    skipped = found.pop("skipped", 0)
    met, total = found.pop("verified", 0), sum(counts(document).values()) - skipped
    threshold = document.get("run", {}).get("threshold", 9.0)
    order = [*NOT_MET, *sorted(word for word in found if word not in NOT_MET)]
    parts = [f"{met} of {total} units met {threshold:.1f}"]
    parts += [f"{found[word]} {word}" for word in order if found.get(word)]
    parts += [f"{skipped} skipped"] if skipped else []
    return " | ".join([*parts, spent(document), duration(run_totals(document, now=now).duration_s)])


def notes(document: Document) -> list[str]:
    """Return what a reader must know about how the results came to be: no sandbox, no review, the run's notes."""
    run = document.get("run", {})
    found = []
    if run.get("sandbox") == "none":
        found.append("sandbox: none (commands ran with the rights of this user)")
    if run.get("quality") and run.get("review") == "none":
        found.append("review: none (the score rests on checks and criteria alone)")
    return found + [str(note) for note in run.get("notes", [])]


def not_met(document: Document) -> list[tuple[str, str, str | None]]:
    """Return id, reason and kept branch of each unit that ended without meeting its target."""
    run_id = document.get("run", {}).get("id", "")
    return [
        (
            unit,
            f"{row['result']}: {row['reason']}" if row.get("reason") else str(row["result"]),
            f"autopilot/{run_id}/{unit}" if _keeps_branch(row) else None,
        )
        for unit, row, _ in ordered_units(document)
        if row.get("status") == "ended" and row.get("result") in NOT_MET
    ]


def _keeps_branch(row: Unit) -> bool:
    return row.get("result") in KEPT_BRANCH and bool(row.get("commit"))


def next_commands(document: Document) -> list[str]:
    """Return the commands that make sense now, best first, each runnable as it stands."""
    run = document.get("run", {})
    if not run.get("id"):
        return []
    merged = any(row.get("result") in ("verified", "unverified") for row in document["units"].values())
    take = [f"git merge {run['branch']}"] if merged and run.get("branch") else []
    go_on = [f"autopilot resume {run['id']}"] if exit_for(document)[0] != 0 else []
    return [*take, *go_on] if run.get("status") == "finished" else [*go_on, *take]


def completion_lines(document: Document, *, width: int, next_commands: Sequence[str]) -> list[str]:
    """Return the completion table and what follows it: summary, what was not met, notes, next commands, exit."""
    run = document.get("run", {})
    lines = [*render(COMPLETION_COLUMNS, completion_rows(document), width=width), "", summary(document)]
    for unit, reason, branch in not_met(document):
        lines.append(f"Not met: {unit}  {reason}")
        lines += [f"         branch {branch}"] if branch else []
    lines += [f"Note:    {note}" for note in notes(document)]
    if next_commands:
        lines += ["Next:", *(f"  {command}" for command in next_commands)]
    code, reason = exit_for(document)
    lines.append(f"Report:  .autopilot/runs/{run.get('id')}/report.md   exit {code} ({reason})")
    return [printable(line) for line in lines]


def phases_json(document: Document) -> list[dict[str, Any]]:
    """Return one entry a unit, a parent before its children, in the form of the envelope's `phases`."""
    totals = totals_by_unit(document)
    return [_phase_entry(document, unit, row, totals[unit]) for unit, row, _ in ordered_units(document)]


def _phase_entry(document: Document, unit: str, row: Unit, totals: Totals) -> dict[str, Any]:
    tests = tests_of(document, row)
    return {
        "id": unit,
        "name": row.get("name"),
        "parent": row.get("parent"),
        "result": row.get("result") if row.get("status") == "ended" else None,
        "score": row.get("score"),
        "split": list(row.get("children", [])),
        "reason": row.get("reason") or "",
        "tests": {key: tests.get(key, 0) for key in ("fixed", "still_red", "broken")} if tests else None,
        "context_pct": row.get("context_pct"),
        "cost_usd": round(totals.cost_usd, 6),
        "tokens": totals.tokens_by_kind(),
        "duration_s": round(totals.duration_s, 3),
        "commit": row.get("commit"),
        "attempts": row.get("attempt", 0),
    }


def usage_json(document: Document) -> dict[str, Any]:
    """Return money, tokens, requests and time of the run, each request counted once."""
    totals = run_totals(document)
    return {
        "cost_usd": round(totals.cost_usd, 6),
        "cost_known": bool(document.get("run", {}).get("cost_known", True)),
        "tokens": totals.tokens_by_kind(),
        "requests": totals.requests,
        "duration_s": round(totals.duration_s, 3),
    }


def envelope(
    command: str,
    *,
    document: Document | None = None,
    exit_code: int,
    reason: str,
    error: Mapping[str, Any] | None = None,
    data: Any = None,
) -> dict[str, Any]:
    """Return the one document that `--json` prints; without a run its keys are null."""
    run = document.get("run", {}) if document is not None else {}
    unfinished = document is not None and bool(run.get("id")) and exit_for(document)[0] != 0
    return {
        "schema": SCHEMA,
        "command": command,
        "run_id": run.get("id"),
        "exit_code": int(exit_code),
        "reason": reason,
        "repository": run.get("repository"),
        "base": run.get("base"),
        "head": run.get("head"),
        "branch": run.get("branch"),
        "threshold": run.get("threshold"),
        "review": run.get("review"),
        "sandbox": run.get("sandbox"),
        "notes": list(run.get("notes", [])) if run else None,
        "phases": phases_json(document) if document is not None else None,
        "usage": usage_json(document) if document is not None else None,
        "resume": f"autopilot resume {run['id']}" if unfinished else None,
        "next": next_commands(document) if document is not None else None,
        "error": dict(error) if error is not None else None,
        "data": data,
    }


_MARKDOWN_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~!&"})


def markdown_text(text: str) -> str:
    """Return `text` on one line so that Markdown shows it as it stands, and no HTML comes of it."""
    return printable(text.replace("\n", " ")).translate(_MARKDOWN_SPECIAL)


def report_markdown(document: Document) -> str:
    """Return report.md: the completion table as GitHub Markdown with summary, what was not met, and what is next."""
    run = document.get("run", {})
    code, reason = exit_for(document)
    lines = [f"# Autopilot run {run.get('id', '')}", "", *_facts(document), ""]
    lines += ["| " + " | ".join(column.title for column in COMPLETION_COLUMNS) + " |"]
    lines += ["|" + "|".join("---:" if column.right else "---" for column in COMPLETION_COLUMNS) + "|"]
    lines += [_markdown_row(row) for row in completion_rows(document)]
    lines += ["", markdown_text(summary(document)), ""]
    missed = not_met(document)
    if missed:
        lines += ["## Not met", ""]
        lines += [
            f"- **{unit}** {markdown_text(why)}" + (f" (branch `{branch}`)" if branch else "")
            for unit, why, branch in missed
        ]
        lines.append("")
    lines += [line for note in notes(document) for line in (f"> {markdown_text(note)}", "")]
    commands = next_commands(document)
    if commands:
        lines += ["## Next", "", "```sh", *map(printable, commands), "```", ""]
    lines.append(f"Exit {code} ({reason}).")
    return "\n".join(lines) + "\n"


def _facts(document: Document) -> list[str]:
    run = document.get("run", {})
    facts = {
        "Repository": run.get("repository"),
        "Roadmap": run.get("roadmap"),
        "Base": (run.get("base") or "")[:12],
        "Result": f"{(run.get('head') or '')[:12]} on {run.get('branch')}",
        "Playbook": f"{run.get('playbook')} (pass >= {run.get('threshold')})",
        "Model": " / ".join(str(run[key]) for key in ("provider", "model") if run.get(key)),
        "Sandbox": run.get("sandbox"),
        "Review": run.get("review"),
    }
    return [f"- {name}: {markdown_text(str(value))}" for name, value in facts.items() if value]


def _markdown_row(row: Sequence[str]) -> str:
    phase = row[0]
    indent = "&nbsp;&nbsp;" * ((len(phase) - len(phase.lstrip(" "))) // 2)
    return "| " + " | ".join([indent + markdown_text(phase.strip()), *map(markdown_text, row[1:])]) + " |"


def status_word(document: Document, *, live: bool) -> str:
    """Return running, stopped or finished; a run whose process is gone is stopped, whatever its last record says."""
    status = str(document.get("run", {}).get("status", "stopped"))
    return "stopped" if status == "running" and not live else status
