"""Every command: its name, its line in `--help`, its arguments, and where it lives."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autopilot.cli.parser import Parser, reader, run_argument
from autopilot.values import amount, short_text, whole

SCHEMAS = ("state", "outcome", "roadmap", "playbook", "edits", "envelope")
FORMATS = ("md", "html", "json", "csv", "chrome-trace")
MAX_USD = 1_000_000.0


@dataclass(frozen=True)
class Command:
    """A command as the parser needs it."""

    name: str
    help: str
    module: str
    function: str
    add: Callable[[Parser], None]


def _nothing(parser: Parser) -> None:
    pass


def _settings(parser: Parser) -> None:
    group = parser.add_argument_group("how well")
    group.add_argument("--quality", action="store_true", help="pass at 9.5, up to 3 repair cycles")
    group.add_argument("--lenient", action="store_true", help="pass at 7.0")
    group.add_argument("--playbook", metavar="NAME", type=reader(short_text), help="the playbook to follow")
    group = parser.add_argument_group("how much at once")
    group.add_argument("--sequential", action="store_true", help="one unit after the other")
    group.add_argument("--max-parallel", metavar="N", type=reader(whole(1, 256)), help="units at once")
    group.add_argument(
        "--max-agents", metavar="N", type=reader(whole(1, 1024)), help="model requests at once"
    )
    group.add_argument(
        "--max-split-depth", metavar="N", type=reader(whole(0, 10)), help="splits below a phase"
    )
    group.add_argument("--no-split", action="store_true", help="never split a phase")
    group = parser.add_argument_group("with what")
    group.add_argument("--provider", metavar="NAME", type=reader(short_text), help="anthropic, offline")
    group.add_argument("--model", metavar="NAME", type=reader(short_text), help="the provider's model")
    group.add_argument("--python", metavar="PATH", type=Path, help="interpreter that runs the checks")
    group.add_argument("--max-usd", metavar="X", type=reader(amount(MAX_USD)), help="money cap (default 25)")
    group.add_argument("--max-minutes", metavar="N", type=reader(amount(1e6)), help="time cap")
    group.add_argument("--unsafe-no-sandbox", action="store_true", help="run commands without a sandbox")
    group = parser.add_argument_group("what is shown")
    group.add_argument("--detach", action="store_true", help="go on in the background")
    group.add_argument("--events", metavar="FILE|-", help="write every journal record as a line of JSON")


def _run(parser: Parser) -> None:
    parser.add_argument(
        "roadmap", nargs="?", metavar="ROADMAP", help="default: ROADMAP.md, .autopilot/roadmap.*"
    )
    parser.add_argument("phases", nargs="?", metavar="PHASES", help="3, 1-7, 3,5,8, next, all (default: all)")
    parser.add_argument("--force", action="store_true", help="run the PHASES even where they are done")
    parser.add_argument("--fresh", action="store_true", help="archive the unfinished run and start over")
    parser.add_argument("--dry-run", action="store_true", help="print the plan, start nothing")
    _settings(parser)


def _resume(parser: Parser) -> None:
    run_argument(parser)
    _settings(parser)


def _report(parser: Parser) -> None:
    run_argument(parser)
    parser.add_argument("--format", choices=FORMATS, help="default: the table")


def _logs(parser: Parser) -> None:
    parser.add_argument("unit", metavar="UNIT", help="id of a phase or sub-phase")
    run_argument(parser)
    parser.add_argument("--full", action="store_true", help="whole logs, not their last 160 lines")


def _state(parser: Parser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    for name, text in (
        ("verify", "check every record of the journal, and state.json against it"),
        ("rebuild", "write state.json anew from the journal"),
        ("show", "print the state, now or after record SEQ"),
        ("diff", "print what changed between two records"),
    ):
        child = actions.add_parser(name, help=text, description=text)
        if name == "diff":
            child.add_argument("a", metavar="A", type=reader(whole(0, 10**9)), help="number of a record")
            child.add_argument("b", metavar="B", type=reader(whole(0, 10**9)), help="number of a record")
        run_argument(child)
        if name == "show":
            child.add_argument("--at", metavar="SEQ", type=reader(whole(0, 10**9)), help="number of a record")
        for flag in ("--json", "--debug", "--plain"):
            child.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help="as everywhere")


def _schema(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", choices=SCHEMAS, help=", ".join(SCHEMAS))


def _explain(parser: Parser) -> None:
    parser.add_argument("code", metavar="CODE", help="AP231")


def _config(parser: Parser) -> None:
    parser.add_argument("action", metavar="show", choices=("show",), help="print the settings")
    parser.add_argument("--origin", action="store_true", help="say where each value comes from")


def _trust(parser: Parser) -> None:
    parser.add_argument("--revoke", action="store_true", help="forget what was trusted here")


def _gc(parser: Parser) -> None:
    parser.add_argument("--yes", action="store_true", help="remove what is listed")


def _demo(parser: Parser) -> None:
    parser.add_argument(
        "--seed", metavar="N", type=reader(whole(0, 2**31)), default=1, help="which bugs (default 1)"
    )
    parser.add_argument("--repo", metavar="DIR", type=Path, help="use a copy of this repository")
    parser.add_argument("--python", metavar="PATH", type=Path, help="interpreter that runs the checks of DIR")
    parser.add_argument(
        "--setup", metavar="CMD", type=reader(short_text), help="command that prepares a worktree"
    )
    parser.add_argument("--bugs", metavar="N", type=reader(whole(1, 26)), help="how many bugs to plant")


COMMANDS = (
    Command("run", "run a roadmap, or go on with its unfinished run", "run", "run", _run),
    Command("resume", "go on with a run; of a finished one, with what was not met", "run", "resume", _resume),
    Command("stop", "stop a run; nothing is lost", "stop", "stop", run_argument),
    Command("status", "show where a run stands", "status", "status", run_argument),
    Command("watch", "follow a run until it ends", "watch", "watch", run_argument),
    Command("report", "print what a run came to", "report", "report", _report),
    Command("recheck", "run every recorded check again on a clean clone", "upkeep", "recheck", run_argument),
    Command("logs", "print the check output of a unit", "report", "logs", _logs),
    Command("demo", "a real run without a key or a network", "demo", "demo", _demo),
    Command("init", "write .autopilot/config.toml for this repository", "setup", "init", _nothing),
    Command("trust", "let this repository's settings name commands", "setup", "trust", _trust),
    Command("state", "verify, rebuild, show or compare states", "state", "state", _state),
    Command("schema", "print the JSON schema of a format", "schema", "schema", _schema),
    Command("explain", "explain an error code", "explain", "explain", _explain),
    Command("config", "show the settings and where they come from", "setup", "config", _config),
    Command("gc", "list worktrees and runs with their sizes; --yes removes", "upkeep", "gc", _gc),
)
