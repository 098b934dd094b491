"""What a check's command line means to pytest: its paths, and the options that decide about results."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SEPARATORS = frozenset({"&&", ";", "|", "||", "&"})
_TAKES_VALUE = frozenset(
    [
        "-k",
        "-m",
        "-p",
        "-o",
        "-c",
        "-W",
        "-n",
        "-r",
        "--rootdir",
        "--import-mode",
        "--ignore",
        "--ignore-glob",
        "--deselect",
        "--tb",
        "--junitxml",
        "--junit-xml",
        "--maxfail",
        "--durations",
        "--override-ini",
        "--confcutdir",
        "--basetemp",
        "--timeout",
        "--color",
        "--cov",
        "--cov-report",
        "--cov-config",
        "--numprocesses",
        "--dist",
        "--pythonwarnings",
        "--log-level",
        "--durations-min",
        "--timeout-method",
        "--config-file",
        "--reruns",
        "--verbosity",
        "--capture",
        "--show-capture",
    ]
)
_DROPPED = frozenset(
    # Output, order and processes are the search's business; everything that decides about results is kept.
    [
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "--verbosity",
        "-x",
        "--exitfirst",
        "--maxfail",
        "-n",
        "--numprocesses",
        "--dist",
        "--lf",
        "--ff",
        "--nf",
        "--sw",
        "--last-failed",
        "--failed-first",
        "--new-first",
        "--stepwise",
        "--stepwise-skip",
        "--pdb",
        "--trace",
        "-r",
        "--tb",
        "--color",
        "--junitxml",
        "--junit-xml",
        "--durations",
        "--durations-min",
        "--basetemp",
        "--no-cov",
        "--cov-append",
        "--cov-branch",
        "-s",
        "--capture",
        "--show-capture",
        "--reruns",
        "--no-header",
        "--no-summary",
    ]
)
_QUIET = (
    "-q",
    "--tb=no",
    "--assert=plain",
    "--capture=sys",
    "--continue-on-collection-errors",
    "-p",
    "no:cacheprovider",
)
_PLUGIN_OPTIONS = {"xdist": ("-n", "0"), "pytest_cov": ("--no-cov",), "randomly": ("-p", "no:randomly")}


@dataclass(frozen=True)
class PytestCommand:
    """A command that runs pytest, taken apart."""

    options: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    module_form: bool = True
    """`python -m pytest` puts the current folder on the path, the bare `pytest` does not."""

    def arguments(self, paths: tuple[str, ...] | None, plugin_options: tuple[str, ...]) -> list[str]:
        """Return the arguments for `pytest.main`, with `paths` in place of the command's own if given."""
        return [*_QUIET, *plugin_options, *self.options, *(self.paths if paths is None else paths)]


def parse(command: str) -> PytestCommand | None:
    """Return what `command` gives to pytest, or None when it runs something else or changes the folder."""
    segments = _segments(command)
    if any(words and words[0] == "cd" for words in segments):
        return None
    for words in segments:
        start = _pytest_at(words)
        if start is not None:
            return _parse_words(words, start)
    return None


def _segments(command: str) -> list[list[str]]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    segments: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in _SEPARATORS:
                segments.append([])
            else:
                segments[-1].append(word)
    except ValueError:
        return []
    return segments


def _pytest_at(words: list[str]) -> int | None:
    for index, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name in ("pytest", "py.test") and not _ASSIGNMENT.match(word):
            return index
    return None


def _parse_words(words: list[str], start: int) -> PytestCommand:
    before, after = words[:start], words[start + 1 :]
    environment = {}
    for word in before:
        if _ASSIGNMENT.match(word):
            name, _, value = word.partition("=")
            environment[name] = os.path.expandvars(value)
    options, paths = _split(after)
    return PytestCommand(
        options=tuple(options),
        paths=tuple(paths),
        environment=environment,
        module_form=bool(before) and before[-1] == "-m",
    )


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    options: list[str] = []
    paths: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            paths.append(word)
            continue
        name = word.split("=", 1)[0]
        group = [word]
        if name == word and name in _TAKES_VALUE:
            group.extend(value for value in [next(rest, None)] if value is not None)
        if not _is_dropped(name):
            options.extend(group)
    return options, paths


def _is_dropped(name: str) -> bool:
    letters_only = re.fullmatch(r"-[qvsx]+", name) is not None
    return (
        letters_only or name in _DROPPED or name.startswith("--cov") or bool(re.fullmatch(r"-[nr]\w+", name))
    )


def plugin_options(loaded: Callable[[str], bool]) -> tuple[str, ...]:
    """Return what keeps those plugins that are loaded from starting processes, shuffling or measuring."""
    options: list[str] = []
    for name, wanted in _PLUGIN_OPTIONS.items():
        if loaded(name):
            options += wanted
    return tuple(options)
