"""Which path texts an edit or a read may name, which of them run later, and what a glob means.

Only text is looked at here; `paths.Root` resolves it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from autopilot_agents.errors import PathRefused

MAX_PATH_CHARS = 1024
TEMP_PREFIX = ".autopilot-tmp-"

_DRIVE = re.compile(r"[A-Za-z]:")
_GIT_KEYS = re.compile(r"\.git|git~\d+")
_META_KEYS = re.compile(r"\.gitmodules|\.gitattributes|(gitmod|gitatt)~\d+")
_SPECIAL_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Code points that HFS+ or renderers ignore and that are not in category Cf.
_IGNORABLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | {
    chr(c) for c in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}

_LATER_FOLDERS = frozenset(
    {
        ".vscode",
        ".idea",
        ".claude",
        ".cursor",
        ".devcontainer",
        ".circleci",
        ".husky",
        ".buildkite",
        ".githooks",
    }
)
_LATER_PAIRS = frozenset({(".github", "workflows"), (".github", "actions"), (".gitlab", "ci")})
_LATER_FILES = frozenset(
    [
        ".appveyor.yml",
        ".bash_aliases",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".cshrc",
        ".drone.yml",
        ".envrc",
        ".gitlab-ci.yaml",
        ".gitlab-ci.yml",
        ".inputrc",
        ".justfile",
        ".kshrc",
        ".lefthook.yml",
        ".login",
        ".logout",
        ".mcp.json",
        ".mcp.yaml",
        ".npmrc",
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
        ".profile",
        ".tcshrc",
        ".travis.yml",
        ".yarnrc",
        ".yarnrc.yml",
        ".zlogin",
        ".zlogout",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        "appveyor.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "build.gradle",
        "build.gradle.kts",
        "build.rs",
        "gnumakefile",
        "gruntfile.js",
        "gulpfile.js",
        "jenkinsfile",
        "justfile",
        "lefthook.yml",
        "makefile",
        "makefile.am",
        "noxfile.py",
        "rakefile",
        "setup.py",
        "sitecustomize.py",
        "taskfile.yaml",
        "taskfile.yml",
        "usercustomize.py",
    ]
)


def check_relative(path: str, *, vcs_meta: bool = False) -> str:
    """Return `path` unchanged when it is a plain path relative to a worktree.

    `vcs_meta` lets `.gitmodules` and `.gitattributes` pass, which are files of the project that steer git.

    Raises:
        PathRefused: AP401 or AP402.
    """
    problem = spelling_problem(path)
    if problem:
        raise PathRefused(
            "AP401",
            f"path {shown(path)} {problem}",
            why="Edits and reads name files relative to the top of the worktree.",
            fix="Write the path as `git ls-files` would, for example `src/calc.py`.",
        )
    owner = owner_of(path, vcs_meta)
    if owner:
        raise PathRefused(
            "AP402",
            f"path {shown(path)} belongs to {owner}",
            why="Git runs what stands in these files, and a run's own files are its evidence.",
            fix="Leave it alone; use git through the harness.",
        )
    return path


@lru_cache(maxsize=4096)
def spelling_problem(path: str) -> str:
    """Return what makes `path` no plain relative path, or an empty string."""
    if not path:
        return "is empty"
    if len(path) > MAX_PATH_CHARS:
        return f"has {len(path)} characters, more than {MAX_PATH_CHARS}"
    if any(unicodedata.category(c) in _SPECIAL_CATEGORIES for c in path):
        return "holds a control character"
    if "\\" in path:
        return "holds a backslash"
    if path[0] in "/~" or _DRIVE.match(path):
        return "is not relative to the worktree"
    parts = path.split("/")
    if "" in parts:
        return "ends with a slash or holds an empty component"
    if "." in parts or ".." in parts:
        return "holds a `.` or `..` component"
    return "" if unicodedata.is_normalized("NFC", path) else "is not in Unicode normal form C"


@lru_cache(maxsize=4096)
def owner_of(path: str, vcs_meta: bool) -> str:
    """Return who owns `path`, or an empty string when it is an ordinary file."""
    keys = [_key(part) for part in path.split("/")]
    if any(_GIT_KEYS.fullmatch(key) for key in keys):
        return "git"
    if keys[0] == ".autopilot" or any(key.startswith(TEMP_PREFIX) for key in keys):
        return "Autopilot"
    if not vcs_meta and any(_META_KEYS.fullmatch(key) for key in keys):
        return "git's settings of this project"
    return ""


def _key(name: str) -> str:
    """Return `name` as the most forgiving file system would compare it."""
    folded = unicodedata.normalize("NFKC", name)
    visible = "".join(c for c in folded if unicodedata.category(c) != "Cf" and c not in _IGNORABLE)
    # NTFS opens `.git::$INDEX_ALLOCATION` and `.git. ` as `.git`.
    return visible.casefold().split(":")[0].rstrip(" .")


@lru_cache(maxsize=4096)
def runs_later(path: str) -> bool:
    """Say whether something runs `path` by itself later: CI, hooks, build scripts, editors, shells.

    `conftest.py` is not among them: it is part of the test harness, which is judged elsewhere.
    """
    *folders, name = [_key(part) for part in path.split("/")]
    if any(folder in _LATER_FOLDERS for folder in folders):
        return True
    if any(pair in _LATER_PAIRS for pair in pairwise([*folders, name])):
        return True
    return name in _LATER_FILES or name in _LATER_FOLDERS or name.endswith(".pth")


def matches_glob(path: str, glob: str) -> bool:
    """Say whether `path` is what `glob` means: `*` and `?` stay within a component, `**` crosses them.

    A glob that names a folder (`src`, `src/`) means everything below it.
    """
    return _glob_regex(glob).fullmatch(path) is not None


@lru_cache(maxsize=1024)
def _glob_regex(glob: str) -> re.Pattern[str]:
    out = []
    pattern = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^]/]*\]|.", re.DOTALL)
    for piece in pattern.findall(glob.rstrip("/")):
        if piece == "**/":
            out.append("(?:[^/]+/)*")
        elif piece == "**":
            out.append(".*")
        elif piece in ("*", "?"):
            out.append("[^/]*" if piece == "*" else "[^/]")
        elif len(piece) > 1:
            inside = piece[1:-1].replace("\\", r"\\").replace("[", r"\[")
            out.append(f"(?!/)[{'^' + inside[1:] if inside.startswith('!') else inside}]")
        else:
            out.append(re.escape(piece))
    try:
        return re.compile("".join(out) + "(?:/.*)?", re.DOTALL)
    except re.error:  # a class such as [z-a]: only the literal text matches
        return re.compile(re.escape(glob))


def shown(path: str) -> str:
    """Return `path` quoted, escaped and short enough for a message."""
    return ascii(path if len(path) <= 120 else path[:117] + "...")
