"""The parser of the command line, and the commands with what they do. Importing it imports nothing heavy."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from autopilot.cli.result import Result
from autopilot.values import Wrong
from autopilot_state.errors import UsageError

Run = Callable[[argparse.Namespace], Result]
Adder = Callable[["Parser"], None]


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError` with the nearest match in place of exiting."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            "AP651",
            f"{self.prog}: {message}",
            why=" ".join(self.format_usage().split()),
            fix=f"{self.prog} --help",
        )

    def flags(self) -> list[str]:
        """Return all long and short flags of this command."""
        return [flag for action in self._actions for flag in action.option_strings]


def reader(read: Callable[[object], Any]) -> Callable[[str], Any]:
    """Return a value reader as argparse wants it, its message kept."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except Wrong as wrong:
            raise argparse.ArgumentTypeError(str(wrong)) from None

    return checked


def run_argument(parser: Parser) -> None:
    """Add the optional RUN of most commands."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="id of a run (default: the newest)")


def late(module: str, function: str) -> Run:
    """Return a command whose module is imported when it is run."""

    def run(args: argparse.Namespace) -> Result:
        command: Run = getattr(importlib.import_module(f"autopilot.cli.{module}"), function)
        return command(args)

    return run


def build() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of `autopilot` and the parsers of its commands."""
    from autopilot.cli.commands import COMMANDS

    parser = Parser(
        prog="autopilot",
        description="Runs a roadmap of phases on a git repository, unattended, and gives back a verified branch.",
        epilog="Without a command: go on with the unfinished run of this repository, or say how to start one.",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    _common(parser, default=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser, title="commands")
    found = {}
    for command in COMMANDS:
        child = commands.add_parser(command.name, help=command.help, description=command.help)
        command.add(child)
        _common(child, default=argparse.SUPPRESS)
        child.set_defaults(run_command=late(command.module, command.function))
        found[command.name] = child
    return parser, found


def _common(parser: Parser, *, default: Any) -> None:
    parser.add_argument(
        "--json", action="store_true", default=default, help="print exactly one JSON document"
    )
    parser.add_argument("--plain", action="store_true", default=default, help="labelled lines, no redraw")
    parser.add_argument("--debug", action="store_true", default=default, help="show tracebacks")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line.

    Raises:
        UsageError: it can't be used; names the nearest command or flag.
    """
    parser, commands = build()
    first = next((word for word in arguments if not word.startswith("-")), None)
    if first is not None and first not in commands:
        raise _unknown("command", first, list(commands), parser)
    args, rest = parser.parse_known_args(arguments)
    if rest:
        known = commands[args.command] if args.command else parser
        flag = rest[0].split("=", 1)[0]
        if flag.startswith("-"):
            raise _unknown("flag", flag, known.flags(), known)
        raise UsageError(
            "AP653", f"{known.prog}: one argument too many: {rest[0]}", fix=f"{known.prog} --help"
        )
    return args


def _unknown(kind: str, word: str, known: list[str], parser: Parser) -> UsageError:
    import difflib

    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return UsageError(
        "AP652",
        f"no such {kind}: {word}",
        why=" ".join(parser.format_usage().split()),
        fix=(f"did you mean {near[0]}? See: " if near else "see: ") + f"{parser.prog} --help",
    )
