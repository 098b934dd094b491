"""Bytes to text: UTF-8 only, bounded, without secrets. Lines end in `\\n` afterwards."""

from __future__ import annotations

import codecs
import re
from importlib.resources.abc import Traversable

from autopilot_playbooks.where import Where

MAX_BYTES = 5 * 1024 * 1024
SAVE_AS_UTF8 = "save the file as UTF-8"

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)

_KNOWN_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r")|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_ASSIGNMENT = re.compile(
    r"(?:(?:api|access|secret|private|auth|signing)[_ -]?(?:access[_-]?)?(?:key|token)|password|passwd|secret|token)"
    r"[\"'`*]*\s*[:=]\s*[\"'`]?(?P<value>[A-Za-z0-9_+/=~!@#%^&-]{8,})",
    re.IGNORECASE,
)
_SNAKE_CASE = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z0-9]+)+\Z")


def read_bounded(file: Traversable, where: Where) -> bytes:
    """Return the bytes of `file`; a file over the cap is refused without being read whole."""
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise where.error("unreadable", "there is no such file", fix="check the path") from None
    except IsADirectoryError:
        raise where.error("unreadable", "is a folder, not a file", fix="name the file inside it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise where.error(
            "unreadable", f"can't be read: {reason}", fix="check the path and its rights"
        ) from error


def decode(data: bytes, where: Where) -> str:
    """Return the text of `data`, without byte order mark and with `\\n` line ends.

    Raises:
        PlaybookError: too large, another encoding than UTF-8, a NUL byte, or a value that looks like a secret.
    """
    if len(data) > MAX_BYTES:
        raise where.error("size", "is larger than 5 MB", fix="split it into several roadmaps")
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            raise where.error("encoding", f"is encoded as {encoding}", fix=SAVE_AS_UTF8)
    if b"\0" in data:
        raise _nul_error(data, where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _invalid_utf8(data, error, where) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    refuse_secrets(text, where)
    return text


def _nul_error(data: bytes, where: Where) -> Exception:
    line = data.count(b"\n", 0, data.index(b"\0")) + 1
    halves = data[:2000:2], data[1:2000:2]
    if any(len(half) > 1 and half.count(0) * 10 >= len(half) * 9 for half in halves):
        return where.error("encoding", "is encoded as UTF-16 without a byte order mark", fix=SAVE_AS_UTF8)
    return where.error(
        "encoding", "holds a NUL byte: not UTF-8 text", line=line, fix="remove it; " + SAVE_AS_UTF8
    )


def _invalid_utf8(data: bytes, error: UnicodeDecodeError, where: Where) -> Exception:
    line = data.count(b"\n", 0, error.start) + 1
    byte = data[error.start]
    return where.error(
        "encoding",
        f"is not valid UTF-8: byte 0x{byte:02x}, as in Windows-1252 or Latin-1",
        line=line,
        fix=SAVE_AS_UTF8,
    )


def refuse_secrets(text: str, where: Where) -> None:
    """Raise when a line holds what looks like a key or a password. The value itself is not repeated."""
    for number, line in enumerate(text.split("\n"), start=1):
        if _KNOWN_TOKEN.search(line) or any(_is_secret(m["value"]) for m in _ASSIGNMENT.finditer(line)):
            raise where.error(
                "secret",
                "holds what looks like a secret (not shown)",
                line=number,
                why="this file goes into prompts, reports and commits",
                fix="remove it, change that key, and name an environment variable in its place ($API_KEY)",
            )


def _is_secret(value: str) -> bool:
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and not _SNAKE_CASE.match(value)
