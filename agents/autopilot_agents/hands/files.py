"""What a role may see of a worktree: slices of files, search hits and lists, within a budget of lines.

A file counts as shown once any slice of it was; edits are checked against the hash it had then.

Codes: AP410 the budget is used up, AP411 the request makes no sense.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autopilot_agents.edits.operations import describe_problem
from autopilot_agents.edits.report import OperationRejected
from autopilot_agents.edits.text import TextFile
from autopilot_agents.errors import PathRefused, ReadRefused
from autopilot_agents.hands.paths import Root, matches_glob
from autopilot_agents.protocols import ToolSpec

MAX_LINES_TOTAL = 20_000
MAX_LINE_CHARS = 1_000
MAX_REGEX_CHARS = 20_000
"""Characters of a line that a regular expression is tried on; fewer when it has several open repeats."""
MAX_HITS = 100
MAX_LISTED_FILES = 500
MAX_SEARCHED_BYTES = 5_000_000
MAX_SEARCH_S = 20.0
MAX_PATTERN_CHARS = 400
SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "node_modules", ".venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
"""Folders of tools, which hold no source of the project."""

_REPEATED_GROUP = re.compile(r"(?<!\\)\)\s*[*+{]")
_UNBOUNDED = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\d*\})")
_MAX_UNBOUNDED = 3


class FileTools:
    """Reads for one role. `shown` maps each file that was shown to the SHA-256 of its bytes then."""

    def __init__(
        self,
        root: Root,
        *,
        slice_lines: int = 200,
        whole_file_lines: int = 500,
        whole_files: Collection[str] = (),
        max_lines_total: int = MAX_LINES_TOTAL,
    ) -> None:
        self.root = root
        self.shown: dict[str, str] = {}
        self._slice_lines = slice_lines
        self._whole_file_lines = whole_file_lines
        self._whole_files = frozenset(whole_files)
        self._lines_left = max_lines_total
        self._max_lines_total = max_lines_total

    def read_slice(self, path: str, start: int = 1, end: int | None = None) -> str:
        """Return lines `start` to `end` of a file, numbered, and what is left out.

        A slice has at most `slice_lines` lines. A file in `whole_files` of at most `whole_file_lines` lines comes whole.
        """
        if start < 1 or (end is not None and end < start):
            raise _senseless(f"lines {start} to {end} are no range")
        data = self.root.read(path)
        digest = hashlib.sha256(data).hexdigest()
        try:
            text = TextFile.of(data)
        except OperationRejected as rejected:
            self.shown[path] = digest
            return f"{path}: {rejected.reason}, {len(data):,} bytes; it can be renamed or deleted, not edited"
        count = text.line_count
        if start > max(count, 1):
            raise _senseless(f"{path} has {count} lines, none at {start}")
        last = min(count if end is None else end, count, start + self._longest(path, count) - 1)
        self._spend(last - start + 1)
        self.shown[path] = digest
        numbered = [f"{n:>6}\t{_clip(text.line(n))}" for n in range(start, last + 1)]
        return "\n".join([_heading(path, text), *numbered, *_left_out(path, start, last, count)])

    def search(self, pattern: str, glob: str | None = None, max_hits: int = MAX_HITS) -> str:
        """Return `path:line: text` of the lines where `pattern` is found, as a regular expression or as it stands.

        One that could take for ever is searched for as it stands only.
        """
        if not pattern or len(pattern) > MAX_PATTERN_CHARS:
            raise _senseless(f"a pattern has 1 to {MAX_PATTERN_CHARS} characters")
        limit = max(1, min(max_hits, MAX_HITS))
        find, note = _matcher(pattern)
        notes = [note] if note else []
        hits: list[str] = []
        deadline = time.monotonic() + MAX_SEARCH_S
        for path in self._files(glob):
            hits += _hits_in(self._searchable(path), path, find, limit + 1 - len(hits))
            if len(hits) > limit:
                notes.append(f"(more than {limit} hits: narrow the pattern or give a glob)")
                break
            if time.monotonic() > deadline:
                notes.append(f"(stopped after {MAX_SEARCH_S:.0f} s at {path}: narrow the glob)")
                break
        self._spend(min(len(hits), limit))
        return "\n".join([*hits[:limit], *notes]) or f"no line matches {pattern!r}"

    def list_files(self, glob: str | None = None, max: int = MAX_LISTED_FILES) -> str:
        """Return the paths that `glob` means, one a line, and how many were left out."""
        paths = self._files(glob)
        limit = min(max, MAX_LISTED_FILES) if max > 0 else MAX_LISTED_FILES
        more = [f"({len(paths) - limit} more: give a narrower glob)"] if len(paths) > limit else []
        return "\n".join([*paths[:limit], *more]) or "no such files"

    def _longest(self, path: str, count: int) -> int:
        """Return how many lines one slice of `path` may have."""
        whole = path in self._whole_files and count <= self._whole_file_lines
        return count if whole and count else self._slice_lines

    def _spend(self, lines: int) -> None:
        if lines > self._lines_left:
            raise ReadRefused(
                "AP410",
                f"this would show {lines} lines, and {self._lines_left} of {self._max_lines_total} are left",
                why="A role reads what its task needs; a whole repository is never read into a model.",
                fix="Search for the lines you need, or go on with what you have seen.",
            )
        self._lines_left -= lines

    def _files(self, glob: str | None) -> list[str]:
        """Return the files that `glob` means; one without a slash means the name in any folder."""
        paths = self.root.list_files(skip=SKIPPED_FOLDERS)
        if not glob:
            return paths
        anywhere = glob if "/" in glob.rstrip("/") else f"**/{glob}"
        return [path for path in paths if matches_glob(path, anywhere)]

    def _searchable(self, path: str) -> TextFile | None:
        """Return a file as text, or None when it is binary, too large, or was just swapped for a link."""
        try:
            return TextFile.of(self.root.read(path, max_bytes=MAX_SEARCHED_BYTES))
        except (OperationRejected, PathRefused):
            return None


def _heading(path: str, text: TextFile) -> str:
    facts = [f"{text.line_count} lines"]
    if text.encoding != "utf-8":
        facts.append(text.encoding)
    if text.mark:
        facts.append("byte order mark")
    if b"\r\n" in text.body:
        facts.append("CRLF line ends")
    if text.body and not text.ends_with_newline:
        facts.append("no final newline")
    return f"{path} ({', '.join(facts)})"


def _left_out(path: str, start: int, last: int, count: int) -> list[str]:
    parts = []
    if start > 1:
        parts.append(f"1-{start - 1}")
    if last < count:
        parts.append(f"{last + 1}-{count}")
    if not parts:
        return []
    more = f"; go on with start={last + 1}" if last < count else ""
    return [f"(left out of {path}: lines {' and '.join(parts)}{more})"]


def _clip(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    return f"{line[:MAX_LINE_CHARS]} [+{len(line) - MAX_LINE_CHARS} characters]"


def _matcher(pattern: str) -> tuple[Callable[[str], object], str]:
    """Return what finds `pattern` in a line, and a note when it is not searched for as an expression.

    Nothing can stop a running expression, so those whose time explodes are not started: a repeated group, and
    more than a few unbounded repeats.
    """
    repeats = len(_UNBOUNDED.findall(pattern))
    reach = MAX_REGEX_CHARS if repeats < 2 else MAX_LINE_CHARS
    if _REPEATED_GROUP.search(pattern) or repeats > _MAX_UNBOUNDED:
        reason = "a repeated group or more than three open repeats"
    else:
        try:
            compiled = re.compile(pattern)
            # `f(x)` is meant as it stands more often than as a group.
            return (lambda line: compiled.search(line, 0, reach) or pattern in line), ""
        except (re.error, OverflowError, RecursionError) as error:
            reason = str(error)
    return (lambda line: pattern in line), f"(searched as plain text: {reason})"


def _hits_in(text: TextFile | None, path: str, find: Callable[[str], object], limit: int) -> list[str]:
    hits: list[str] = []
    lines = text.decode(text.body).split("\n") if text else []
    for number, line in enumerate(lines, start=1):
        if find(line):
            hits.append(f"{path}:{number}: {_clip(line.removesuffix(chr(13)))}")
            if len(hits) == limit:
                break
    return hits


def _senseless(what: str) -> ReadRefused:
    return ReadRefused("AP411", what, fix="Correct the arguments and ask again.")


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _ReadArguments(_Arguments):
    path: Annotated[str, Field(description="Path from the top of the repository, such as src/calc.py.")]
    start: Annotated[int, Field(ge=1, description="First line, from 1.")] = 1
    end: Annotated[int | None, Field(description="Last line; without it, as many as one slice has.")] = None


class _SearchArguments(_Arguments):
    pattern: Annotated[str, Field(min_length=1, description="Regular expression, matched line by line.")]
    glob: Annotated[str | None, Field(description="Only these files, such as src/**/*.py or *.md.")] = None
    max_hits: Annotated[int, Field(ge=1, le=MAX_HITS)] = MAX_HITS


class _ListArguments(_Arguments):
    glob: Annotated[str | None, Field(description="Only these files, such as src/**/*.py or *.md.")] = None


_A = TypeVar("_A", bound=_Arguments)


def _checked(model: type[_A], arguments: Mapping[str, Any]) -> _A:
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        raise _senseless(f"the arguments are not usable: {describe_problem(error)}") from error


class ReadFileTool:
    """Shows a slice of a file."""

    def __init__(self, files: FileTools) -> None:
        self._files = files
        self.spec = ToolSpec(
            "read_file",
            "Show numbered lines of a file, a slice at a time. Read a file before you edit it.",
            _ReadArguments.model_json_schema(),
        )

    async def run(self, arguments: Mapping[str, Any]) -> str:
        """Return the slice."""
        asked = _checked(_ReadArguments, arguments)
        return await anyio.to_thread.run_sync(self._files.read_slice, asked.path, asked.start, asked.end)


class SearchTool:
    """Finds lines in the worktree."""

    def __init__(self, files: FileTools) -> None:
        self._files = files
        self.spec = ToolSpec(
            "search",
            "Find lines by regular expression in all text files; answers path:line: text.",
            _SearchArguments.model_json_schema(),
        )

    async def run(self, arguments: Mapping[str, Any]) -> str:
        """Return the hits."""
        asked = _checked(_SearchArguments, arguments)
        return await anyio.to_thread.run_sync(self._files.search, asked.pattern, asked.glob, asked.max_hits)


class ListFilesTool:
    """Lists files of the worktree."""

    def __init__(self, files: FileTools) -> None:
        self._files = files
        self.spec = ToolSpec(
            "list_files",
            f"List the paths of files, at most {MAX_LISTED_FILES}.",
            _ListArguments.model_json_schema(),
        )

    async def run(self, arguments: Mapping[str, Any]) -> str:
        """Return the paths."""
        asked = _checked(_ListArguments, arguments)
        return await anyio.to_thread.run_sync(partial(self._files.list_files, asked.glob))
