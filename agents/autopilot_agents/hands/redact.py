"""The one place that takes secrets out of text before it reaches a journal, log, prompt, report or terminal.

Two ways at once: the exact values that this process knows (plain, base64, URL- and JSON-escaped), and patterns of
well-known keys. A pattern asks for more than a name, so that hashes, UUIDs and paths stay as they are.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

MARK = b"[redacted]"
MIN_SECRET_CHARS = 8
"""Shorter values would be found in ordinary text."""
_HOLD_BYTES = 20_000
"""Longer than any match of a pattern (a private key of 16,384 bytes), so that a match is never cut in two."""
_BATCH_BYTES = 32_768

Octets = bytes
Span = tuple[int, int]


@dataclass(frozen=True)
class _Pattern:
    """`regex` is tried where one of `hints` stands in the lower-cased text, and only there; group `s` is the secret.

    Looking for fixed words first is ten times as fast on text that has none.
    """

    hints: tuple[bytes, ...]
    regex: re.Pattern[bytes]
    accept: Callable[[re.Match[bytes]], bool] = lambda match: True


def _has_digit(match: re.Match[bytes]) -> bool:
    return re.search(rb"\d", match["s"]) is not None


def _looks_random(match: re.Match[bytes]) -> bool:
    """True unless the value after `token =` is code, a word or a path rather than a secret."""
    value = match["s"]
    if not re.search(rb"\d", value) or not re.search(rb"[A-Za-z]", value) or b"://" in value:
        return False
    if re.fullmatch(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value) or re.match(
        rb"(?:\.{0,2}/|~/)[\w.-]+/", value
    ):
        return False
    as_in_code = b" " in match["sep"] and not match["q"]
    if as_in_code and re.fullmatch(rb"[A-Za-z_]\w*", value):
        return len(value) >= 20 and b"_" not in value
    return True


def _compile(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![A-Za-z0-9])" + pattern)


_PATTERNS = (
    _Pattern(
        (b"-----begin ",),
        re.compile(
            rb"(?P<s>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rb"(?:[\s\S]{0,16384}?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\\\r\n:, -]{0,16384}))"
        ),
    ),
    _Pattern((b"sk-", b"sk_"), _compile(rb"(?P<s>sk[-_][A-Za-z0-9_-]{20,1024})"), _has_digit),
    _Pattern((b"gh",), _compile(rb"(?P<s>gh[opsur]_[A-Za-z0-9]{20,255})")),
    _Pattern((b"github_pat_",), _compile(rb"(?P<s>github_pat_[A-Za-z0-9_]{20,255})")),
    _Pattern((b"glpat-",), _compile(rb"(?P<s>glpat-[A-Za-z0-9_-]{20,255})")),
    _Pattern((b"xox",), _compile(rb"(?P<s>xox[abprs]-[A-Za-z0-9-]{10,255})"), _has_digit),
    _Pattern((b"akia", b"asia"), _compile(rb"(?P<s>A(?:KIA|SIA)[0-9A-Z]{16})(?![A-Za-z0-9])"), _has_digit),
    _Pattern((b"aiza",), _compile(rb"(?P<s>AIza[A-Za-z0-9_-]{35})")),
    _Pattern(
        (b"eyj",),
        _compile(rb"(?P<s>eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{4,8192}\.[A-Za-z0-9_-]{8,2048})"),
    ),
    _Pattern((b"bearer",), re.compile(rb"(?i:bearer)[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{16,4096})"), _has_digit),
    _Pattern(
        (b"authorization",),
        re.compile(rb"(?i:authorization)[\"']?[:=][ \t]*[\"']?(?i:basic)[ \t]+(?P<s>[A-Za-z0-9+/=]{8,4096})"),
    ),
    _Pattern((b"://",), re.compile(rb"://[^\s/:@'\"<>]{0,255}:(?P<s>[^\s/@'\"<>]{3,255})@")),
    _Pattern(
        (b"api", b"token", b"secret", b"passw", b"access"),
        re.compile(
            rb"(?i:api[_-]?key|token|secret(?:[_-]?(?:access[_-]?)?key)?|access[_-]?key|passw(?:or)?d|passphrase)"
            rb"[\"']?(?P<sep>[ \t]{0,8}[=:][ \t]{0,8})(?P<q>[\"']?)"
            rb"(?P<s>[A-Za-z0-9_\-./+=~!@#$%^&*]{8,512})(?![A-Za-z0-9(\[.])"
        ),
        _looks_random,
    ),
)

_SECRET_NAME = re.compile(
    r"(?:^|[_\W])(?:api_?keys?|keys?|tokens?|secrets?|passw(?:or)?ds?|passwd|pwd|passphrase|credentials?|auth|cookie|pat)"
    r"(?:$|[_\W\d])|(?:apikey|token|secret|password|passwd)s?\d*$",
    re.IGNORECASE,
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY"})
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_URL_PASSWORD = re.compile(r"^[A-Za-z][\w+.-]*://[^\s/:@]*:([^\s/@]+)@")


def is_secret_name(name: str) -> bool:
    """True if an environment variable of this name holds a secret by its name."""
    return name.upper() not in _NOT_SECRET and _SECRET_NAME.search(name) is not None


class Redactor:
    """Replaces secrets by `[redacted]`. Applying it twice changes nothing more."""

    def __init__(self, secrets: Iterable[str] = (), *, patterns: bool = True) -> None:
        self._patterns = _PATTERNS if patterns else ()
        forms = {form for secret in secrets if len(secret) >= MIN_SECRET_CHARS for form in _forms(secret)}
        self._exact = sorted(forms, key=lambda form: (-len(form), form))
        self._hold = max([_HOLD_BYTES, *map(len, self._exact)])

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Redactor:
        """Return a redactor of the values whose variables' names look secret, and of passwords in URLs."""
        secrets = set()
        for name, value in environ.items():
            if is_secret_name(name) and not (value.startswith("/") and Path(value).exists()):
                secrets.add(value)
            if match := _URL_PASSWORD.match(value):
                secrets.add(match[1])
        return cls(secrets)

    def text(self, s: str) -> str:
        """Return `s` with every secret replaced."""
        return self.bytes(s.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def bytes(self, b: Octets) -> Octets:
        """Return `b` with every secret replaced."""
        return _replaced(b, self.spans(b))

    def exact(self) -> Redactor:
        """Return a redactor of the known values alone, for what is read back and acted on: code, plans, contracts."""
        other = Redactor(patterns=False)
        other._exact, other._hold = self._exact, self._hold
        return other

    def stream(self) -> RedactionStream:
        """Return a redactor of one stream, whose chunks may be cut anywhere."""
        return RedactionStream(self, self._hold)

    def spans(self, data: Octets, start: int = 0) -> list[Span]:
        """Return where secrets stand in `data` from `start` on, in order and without overlaps."""
        found: list[Span] = []
        for value in self._exact:
            at = data.find(value, start)
            while at >= 0:
                found.append((at, at + len(value)))
                at = data.find(value, at + 1)
        lowered = data.lower()
        for pattern in self._patterns:
            for hint in pattern.hints:
                found += _matches(pattern, hint, data, lowered, start)
        return _merged(found)


class RedactionStream:
    """Gives back what is safe to pass on; the end of the stream is held back until `flush`."""

    def __init__(self, redactor: Redactor, hold_bytes: int) -> None:
        self._redactor = redactor
        self._hold = hold_bytes
        self._context = b""
        """What was passed on just before, which a pattern looks back at."""
        self._buffer = b""

    def feed(self, data: Octets) -> Octets:
        """Take the next chunk and return, redacted, what can't become part of a secret any more."""
        self._buffer += data
        if len(self._buffer) < self._hold + _BATCH_BYTES:
            return b""
        return self._emit(len(self._buffer) - self._hold)

    def flush(self) -> Octets:
        """Return the rest, redacted."""
        return self._emit(len(self._buffer))

    def _emit(self, end: int) -> Octets:
        offset = len(self._context)
        data = self._context + self._buffer
        spans = self._redactor.spans(data, offset)
        cut = end + offset
        for start, stop in spans:
            if start < cut < stop:
                cut = stop  # the match is whole: it began before the part that is held back
        ready = [span for span in spans if span[1] <= cut]
        result = _replaced(data[:cut], ready)[offset:]
        self._context, self._buffer = data[max(0, cut - 64) : cut], data[cut:]
        return result


def _matches(pattern: _Pattern, hint: bytes, data: bytes, lowered: bytes, start: int) -> list[Span]:
    found: list[Span] = []
    at = lowered.find(hint, start)
    while at >= 0:
        match = pattern.regex.match(data, at)
        if match and pattern.accept(match):
            found.append(match.span("s"))
        at = lowered.find(hint, match.end() if match else at + 1)
    return found


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _replaced(data: bytes, spans: list[Span]) -> bytes:
    parts, at = [], 0
    for start, stop in spans:
        parts += [data[at:start], MARK]
        at = stop
    return b"".join([*parts, data[at:]]) if spans else data


def _forms(secret: str) -> set[bytes]:
    """Return the ways in which a secret appears in text."""
    raw = secret.encode("utf-8", "surrogatepass")
    forms = {raw, *_base64_forms(raw)}
    for quoted in (urllib.parse.quote(raw, safe=""), urllib.parse.quote(raw), urllib.parse.quote_plus(raw)):
        forms |= {
            quoted.encode(),
            _ESCAPE.sub(lambda hexadecimal: hexadecimal.group().lower(), quoted).encode(),
        }
    for ascii_only in (True, False):
        forms.add(json.dumps(secret, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogatepass"))
    return {form for form in forms if len(form) >= MIN_SECRET_CHARS}


def _base64_forms(raw: bytes) -> set[bytes]:
    """Return what base64 makes of `raw` at each of the three positions inside a longer text.

    Characters that also depend on the neighbours are left off at both ends.
    """
    forms: set[bytes] = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            bits = 8 * shift
            coded = encode(b"\0" * shift + raw).rstrip(b"=")
            first = -(-bits // 6)
            last = (bits + 8 * len(raw)) // 6
            forms.add(coded[first:last])
    return {form for form in forms if len(form) >= MIN_SECRET_CHARS}
