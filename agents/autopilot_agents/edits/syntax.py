"""Whether a file parses, for the languages that Python brings a parser for."""

from __future__ import annotations

import ast
import json
import re
import symtable
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass

MAX_CHECKED_BYTES = 8_000_000
"""A larger file is not parsed: its syntax tree would take gigabytes."""


@dataclass(frozen=True)
class SyntaxProblem:
    """Why a file does not parse. `line` is 1-based, None when the parser names none."""

    message: str
    line: int | None = None


def parse_python(data: bytes) -> ast.Module:
    """Return the syntax tree of `data`; raises SyntaxError or ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in somebody's string is no concern of ours
        try:
            return ast.parse(data)
        except (RecursionError, MemoryError) as error:
            raise ValueError("nested too deeply") from error


def _check_python(data: bytes) -> object:
    """Parse `data` without making its tree, which costs more than the parsing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return symtable.symtable(data, "<edited>", "exec")  # type: ignore[arg-type]  # takes bytes as compile does
        except (RecursionError, MemoryError) as error:
            raise ValueError("nested too deeply") from error


def syntax_problem(path: str, data: bytes) -> SyntaxProblem | None:
    """Return why `data` does not parse as the language of `path`; None when it does, or no parser is known."""
    parse = _PARSERS.get("." + path.rpartition(".")[2].lower())
    if parse is None or len(data) > MAX_CHECKED_BYTES:
        return None
    try:
        parse(data)
    except SyntaxError as error:
        return SyntaxProblem(f"{error.msg} (line {error.lineno})", error.lineno)
    except json.JSONDecodeError as error:
        return SyntaxProblem(f"{error.msg} (line {error.lineno} column {error.colno})", error.lineno)
    except (ValueError, RecursionError) as error:
        found = re.search(r"\(at line (\d+)", str(error))
        return SyntaxProblem(str(error)[:300] or "nested too deeply", int(found[1]) if found else None)
    return None


def _parse_toml(data: bytes) -> object:
    return tomllib.loads(data.decode())


def _parse_json(data: bytes) -> object:
    return json.loads(data.decode("utf-8-sig"))


_PARSERS: dict[str, Callable[[bytes], object]] = {
    ".py": _check_python,
    ".pyi": _check_python,
    ".json": _parse_json,
    ".toml": _parse_toml,
}
