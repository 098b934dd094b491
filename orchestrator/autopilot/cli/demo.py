"""`autopilot demo`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from autopilot.cli.result import Result
from autopilot.cli.run import ended
from autopilot.config import DemoOptions
from autopilot.live import KeepingView, ViewGroup, make_view
from autopilot_state.errors import UsageError


def demo(args: argparse.Namespace) -> Result:
    """Plant bugs in a copy of a package, and run a roadmap that repairs them, without a key or a network."""
    if args.repo is None and (args.setup or args.python):
        raise UsageError(
            "AP654",
            "--setup and --python belong to --repo DIR",
            why="the bundled package needs neither",
            fix="add --repo DIR",
        )
    if args.repo is not None and not args.repo.is_dir():
        raise UsageError("AP658", f"--repo {args.repo} is no directory", fix="name a git repository")
    from autopilot import app

    options = DemoOptions(
        cwd=Path.cwd(), seed=args.seed, repo=args.repo and args.repo.resolve(), python=args.python, setup=args.setup,
        bugs=args.bugs, plain=args.plain, json=args.json, debug=args.debug,
    )  # fmt: skip
    keeping = KeepingView()
    view = ViewGroup([keeping, make_view(sys.stderr, plain=args.plain, environ=os.environ)])
    try:
        code = app.demo_command(options, view)
    finally:
        view.close()
    return ended(code, keeping.document)
