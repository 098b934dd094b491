"""Which commands of an agent are refused: those that edit files behind the edit engine's back.

This is a rule of conduct with a helpful answer, no border: the border is the sandbox, and what a command changed is
seen in the worktree's tree anyway. So it looks at the usual ways of editing and does not try to be complete.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_MAX_DEPTH = 4
_SEPARATORS = frozenset(";|&()\n")
_WRAPPERS = frozenset(
    {
        "sudo",
        "env",
        "command",
        "builtin",
        "exec",
        "time",
        "nohup",
        "nice",
        "timeout",
        "xargs",
        "stdbuf",
        "setsid",
    }
)
_KEYWORDS = frozenset({"then", "do", "else", "if", "while", "until", "elif", "{", "!"})
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_INTERPRETERS = re.compile(r"(?:python|pypy|node|deno|bun|ruby|perl|php)[\d.]*$")
_EDITORS = frozenset({"ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "pico", "patch"})
_WRITERS = frozenset({"cat", "echo", "printf", "", ":"})
_SCRATCH = re.compile(r"(?:/dev/|/tmp/|/var/tmp/|\$\{?TMPDIR)|&?\d+$|-$")
_HEREDOC = re.compile(r"(?<!<)<<-?\s*(?P<quote>['\"]?)(?P<word>[\w.-]+)(?P=quote)")
_CODE_WRITES = re.compile(
    r"open\s*\([^)\n]*,\s*(?:mode\s*=\s*)?['\"][rb]*[wax+]"
    r"|\.write_(?:text|bytes)\s*\(|writeFile|createWriteStream|File\.write|file_put_contents|shutil\.(?:copy|move)"
)

_ADVICE = {
    "replace": 'use the edit operation "replace_text" (exact old_text and new_text) or "replace" (line range)',
    "create": 'use the edit operation "create" for a new file, "append" or "replace_text" for an existing one',
    "diff": "give the change as edit operations; a unified diff is also taken there",
}


@dataclass(frozen=True)
class _Simple:
    """One simple command: its words, and the files that its output is redirected to."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    heredoc: bool


def banned_edit(command: str) -> str | None:
    """Return why an agent may not run `command`, naming the edit operation to use, or None if it may."""
    return _banned(command, 0)


def _banned(command: str, depth: int) -> str | None:
    if depth > _MAX_DEPTH:
        return None
    text, bodies = _without_heredocs(command)
    for simple in _simple_commands(text):
        reason = _banned_simple(simple, "\n".join(bodies), depth)
        if reason:
            return reason
    for inner in re.findall(r"\$\(([^()]*)\)|`([^`]*)`", text):
        reason = _banned("".join(inner), depth + 1)
        if reason:
            return reason
    return None


def _banned_simple(simple: _Simple, body: str, depth: int) -> str | None:
    files = [name for name in simple.outputs if not _SCRATCH.match(name)]
    programs = list(_programs(simple.words))
    names = {name for name, _ in programs} or {""}
    if files and simple.heredoc:
        return _refusal(f"a here-document into {files[0]}", "create")
    if files and names & _WRITERS:
        return _refusal(f"writing {files[0]} by redirection", "create")
    for name, arguments in programs:
        reason = _banned_program(name, arguments, body if simple.heredoc else "", depth)
        if reason:
            return reason
    return None


def _banned_program(name: str, arguments: tuple[str, ...], body: str, depth: int) -> str | None:
    if name in ("sed", "gsed") and _has_option(arguments, r"-[a-zA-Z]*i|--in-place"):
        return _refusal("`sed -i`", "replace")
    if name in ("perl", "ruby") and _has_option(arguments, r"-(?![MIe])[a-zA-Z0-9]*i"):
        return _refusal(f"`{name} -i`", "replace")
    if name in ("awk", "gawk") and "inplace" in " ".join(arguments):
        return _refusal("`awk -i inplace`", "replace")
    if name in _EDITORS or (name == "git" and {"apply", "am"} & set(arguments[:1])):
        return _refusal(f"`{name}`", "diff")
    if name == "tee":
        files = [word for word in arguments if not word.startswith("-") and not _SCRATCH.match(word)]
        return _refusal(f"`tee` into {files[0]}", "create") if files else None
    if name in ("truncate", "sponge") or (name == "dd" and _dd_writes(arguments)):
        return _refusal(f"`{name}`", "replace")
    if _INTERPRETERS.match(name) and _CODE_WRITES.search("\n".join((*arguments, body))):
        return _refusal(f"a `{name}` one-off that writes files", "replace")
    if name in _SHELLS or name == "eval":
        for word in (*arguments, body):
            if reason := _banned(word, depth + 1):
                return reason
    return None


def _dd_writes(arguments: tuple[str, ...]) -> bool:
    return any(word.startswith("of=") and not _SCRATCH.match(word[3:]) for word in arguments)


def _has_option(arguments: tuple[str, ...], pattern: str) -> bool:
    return any(re.match(pattern, word) for word in arguments)


def _refusal(what: str, operation: str) -> str:
    return f"refused: {what} changes files behind the edit engine; {_ADVICE[operation]}"


def _programs(words: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each program that the words of a simple command start, with its arguments."""
    at_program = True
    for index, word in enumerate(words):
        if at_program and not re.match(r"\w+=", word) and word not in _KEYWORDS:
            name = word.rsplit("/", 1)[-1]
            if name in _WRAPPERS:
                continue
            if word.startswith("-") or re.fullmatch(r"\d+[smh]?", word):
                continue
            yield name, words[index + 1 :]
            at_program = False
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            at_program = True


def _without_heredocs(command: str) -> tuple[str, list[str]]:
    """Return the command with the bodies of its here-documents taken out, and the bodies."""
    kept: list[str] = []
    bodies: list[str] = []
    waiting: list[str] = []
    for line in command.split("\n"):
        if waiting:
            if line.strip() == waiting[0]:
                waiting.pop(0)
            else:
                bodies.append(line)
            continue
        kept.append(line)
        waiting = [match["word"] for match in _HEREDOC.finditer(line)]
    return "\n".join(kept), bodies


def _simple_commands(text: str) -> Iterator[_Simple]:
    words: list[str] = []
    outputs: list[str] = []
    heredoc = False
    expects: list[str] | None = None
    for part in [*_parts(text), ";"]:
        if expects is not None and part[0] not in "<>;|()\n":
            expects.append(part.lstrip("&"))
            expects = None
        elif set(part) <= _SEPARATORS:
            if words or outputs:
                yield _Simple(tuple(words), tuple(outputs), heredoc)
            words, outputs, heredoc, expects = [], [], False, None
        elif set(part) <= set("<>&|"):
            expects = outputs if ">" in part and not part.startswith("<") else []
            heredoc = heredoc or part in ("<<", "<<<", "<<-")
            if part.endswith(">&") or part == "<&":
                expects = []
            if ">" in part and words and words[-1].isdigit():
                words.pop()  # the 2 of 2>
        else:
            words.append(part)


def _parts(text: str) -> list[str]:
    """Return words and operators; text that no shell would take is split at blanks, which is enough here."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return re.findall(r"[;|&()\n]+|[<>]+|[^\s;|&()<>]+", text)
