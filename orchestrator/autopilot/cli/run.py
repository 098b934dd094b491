"""`autopilot run`, `autopilot resume`, and `autopilot` alone."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from autopilot.cli.options import check_exclusions, run_options, split_positionals
from autopilot.cli.result import Result, text_width
from autopilot.config import RunOptions
from autopilot.errors import Exit
from autopilot.home import Repository, find_repository, find_run, unfinished_run
from autopilot.live import EventsView, KeepingView, View, ViewGroup, make_view
from autopilot_state.errors import PreflightError
from autopilot_state.patch import Document

HOW_TO_START = (
    "Nothing to go on with here. Start a run:",
    "  autopilot run ROADMAP.md",
    "See one without a key or a network:",
    "  autopilot demo",
    "Set a repository up, or read about all commands:",
    "  autopilot init",
    "  autopilot --help",
)


def run(args: argparse.Namespace) -> Result:
    """Run a roadmap, or go on with its unfinished run."""
    check_exclusions(args)
    cwd = Path.cwd()
    roadmap, phases = split_positionals(args.roadmap, args.phases, cwd)
    repository = find_repository(cwd)
    options = run_options(args, repository, cwd, mode="run", roadmap=roadmap, phases=phases)
    if args.dry_run:
        return _dry_run(options)
    if args.detach:
        from autopilot.cli.detach import detach

        return detach(repository)
    return perform(options)


def resume(args: argparse.Namespace) -> Result:
    """Go on with a run; of a finished one, with what was not met."""
    check_exclusions(args)
    cwd = Path.cwd()
    repository = find_repository(cwd)
    found = (unfinished_run(repository) if args.run is None else None) or find_run(repository, args.run)
    if args.detach:
        from autopilot.cli.detach import detach

        run_options(args, repository, cwd, mode="resume", run_id=found.name)  # refuse what can't work at once
        return detach(repository)
    return perform(run_options(args, repository, cwd, mode="resume", run_id=found.name))


def go_on(args: argparse.Namespace) -> Result:
    """Go on with the unfinished run of this repository, or say how to start one."""
    cwd = Path.cwd()
    repository = _repository_or_none(cwd)
    found = unfinished_run(repository) if repository is not None else None
    if repository is None or found is None:
        return Result(HOW_TO_START, {"run": None})
    return perform(run_options(args, repository, cwd, mode="resume", run_id=found.name))


def _repository_or_none(cwd: Path) -> Repository | None:
    try:
        return find_repository(cwd)
    except PreflightError:
        return None


def perform(options: RunOptions) -> Result:
    """Run to the end, and return the table, the envelope's document and the exit code."""
    from autopilot import app

    keeping = KeepingView()
    views: list[View] = [keeping, make_view(sys.stderr, plain=options.plain, environ=os.environ)]
    if options.events is not None:
        views.append(EventsView(options.events))
    view = ViewGroup(views)
    try:
        code = app.run_command(options, view)
    finally:
        view.close()
    return ended(code, keeping.document, quiet=options.events == "-")


def ended(code: int, document: Document | None, *, quiet: bool = False) -> Result:
    """Return the result of a run that ended; `quiet`: standard output belongs to the events."""
    from autopilot.errors import exit_for
    from autopilot.report import completion_lines, next_commands

    if document is None:
        return Result(exit_code=code, reason=Exit(code).reason)
    expected, reason = exit_for(document)
    commands = [*_way_to(document), *next_commands(document)]
    lines = completion_lines(document, width=text_width(sys.stdout), next_commands=commands)
    return Result(
        () if quiet else lines, None, document, code, reason if expected == code else Exit(code).reason
    )


def _way_to(document: Document) -> list[str]:
    """Return the `cd` without which the next commands would not find the run: the demo's repository is its own."""
    there = document.get("run", {}).get("repository")
    here = _repository_or_none(Path.cwd())
    if not there or (here is not None and str(here.main) == there):
        return []
    return [f"cd {shlex.quote(there)}"]


def _dry_run(options: RunOptions) -> Result:
    from autopilot import app
    from autopilot.cli.plan import plan_lines

    plan = app.dry_run(options)
    return Result(plan_lines(plan), plan)
