"""`autopilot explain CODE`."""

from __future__ import annotations

import argparse

from autopilot.catalogue import CATALOGUE
from autopilot.cli.result import Result
from autopilot_state.errors import UsageError


def explain(args: argparse.Namespace) -> Result:
    """Print what an error code means, why it exists and what to do."""
    code = str(args.code).upper()
    entry = CATALOGUE.get(code)
    if entry is None:
        import difflib

        near = difflib.get_close_matches(code, CATALOGUE, n=1)
        raise UsageError(
            "AP662",
            f"no error has the code {args.code}",
            fix=f"autopilot explain {near[0] if near else 'AP100'}",
        )
    lines = [f"{code}: {entry.what}", "", f"Why: {entry.why}", "", f"Fix: {entry.fix}"]
    return Result(lines, {"code": code, "what": entry.what, "why": entry.why, "fix": entry.fix})
