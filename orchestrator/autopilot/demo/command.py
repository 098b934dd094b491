"""`autopilot demo`: a real run without a key or a network, in a repository of its own in the user's state folder."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from autopilot.config import Config, DemoOptions, RunOptions
from autopilot.demo.prepare import DemoRepository, demo_folder, prepare_demo
from autopilot.home import find_repository, state_home, unfinished_run
from autopilot.live import View
from autopilot.version import version

MAX_SLOTS = 4


async def run_demo(options: DemoOptions, view: View) -> int:
    """Prepare the demo of this seed, or go on with an unfinished one, and run it; return the exit code."""
    from autopilot.app import run_here  # the composition root, which also names this module

    python = options.python or Path(sys.executable)
    view.line(f"autopilot {version()} demo   no model, no network, no key: a search program plays the worker")
    folder = demo_folder(state_home(os.environ), seed=options.seed, repo=options.repo)
    if folder.exists() and _is_over(folder):
        shutil.rmtree(folder)
    made = await prepare_demo(
        seed=options.seed, state_home=state_home(os.environ).parent, repo=options.repo, python=str(python),
        setup=options.setup, bugs=options.bugs, on_line=view.line,
    )  # fmt: skip
    view.line(f"repo   {made.path}")
    run = RunOptions(
        cwd=made.path, config=_config(python, options), roadmap=made.roadmap, provider="offline", python=python,
        json=options.json, plain=options.plain, debug=options.debug,
    )  # fmt: skip
    return await run_here(run, view, allow_no_sandbox=options.repo is None)


def _is_over(folder: Path) -> bool:
    """Say whether the demo in `folder` finished, so that a new one may take its place."""
    repository = find_repository(folder)
    return unfinished_run(repository) is None and any(repository.runs.glob("*/journal.jsonl"))


def _config(python: Path, options: DemoOptions) -> Config:
    return Config(
        provider="offline",
        python=str(python),
        max_parallel=min(MAX_SLOTS, os.cpu_count() or 1),
        checks_setup=options.setup,
    )


__all__ = ["DemoRepository", "run_demo"]
