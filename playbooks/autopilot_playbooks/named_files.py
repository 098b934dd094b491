"""The files that a text names in backticks: `src/a.py`, `tests/test_a.py::test_x`, `src/a.py:42`."""

from __future__ import annotations

import re

from autopilot_playbooks.inline import code_spans, span_text

_SOURCE_FILE = re.compile(
    r".+\.(?:"
    r"py|pyi|pyx|js|jsx|ts|tsx|mjs|cjs|vue|svelte|go|rs|java|kt|kts|c"
    r"|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|sql|html|css|scss|less|json"
    r"|yaml|yml|toml|ini|cfg|md|rst|txt|proto|graphql|tf|lock|xml|gradle|ex|exs|erl"
    r"|hs|lua|r|jl|dart|zig|ipynb"
    r")\Z",
    re.IGNORECASE,
)
_FILE_NAMES = frozenset({"Dockerfile", "Makefile"})
_NO_PATH = re.compile(r"[\s'\"<>|;,=()$*?]|://")


def named_files(text: str) -> tuple[str, ...]:
    """Return the paths that `text` names in backticks, each once: `a/b.py`, `tests/t.py::test_x`, `a.py:42`."""
    found = (path_in(span_text(match).strip()) for match in code_spans(text))
    return tuple(dict.fromkeys(path for path in found if path))


def path_in(span: str) -> str | None:
    """Return the path that a code span names, or None where it names something else."""
    path = re.sub(r":[0-9]+(?:[:-][0-9]+)?\Z", "", span.split("::")[0]).removeprefix("./")
    if not path or _NO_PATH.search(path) or path.startswith(("/", "~", "-")) or ".." in path.split("/"):
        return None
    name = path.rsplit("/", 1)[-1]
    return path if "/" in path or name in _FILE_NAMES or _SOURCE_FILE.match(name) else None
