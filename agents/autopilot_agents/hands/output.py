"""What a model sees of a command's output: the first lines, the lines that look like errors, and the last ones.

The memory it takes does not grow with the output: lines beyond the view are counted and dropped, and a line without
an end is cut while it arrives.
"""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from autopilot_agents.hands.redact import Redactor

HEAD_LINES = 40
ERROR_LINES = 40
TAIL_LINES = 160
LINE_BYTES = 2_000
"""What is kept of one line; the view shows less of it when there are many."""
_WARNINGS = 10
_SEARCH_BYTES = 400
"""How far into a line the words of an error are looked for."""

_ERROR_WORDS = (
    *(b"error", b"fail", b"traceback", b"assert", b"panic", b"fatal", b"exception", b"segmentation fault"),
    *(b"killed", b"cannot ", b"can't ", b"not found", b"no such file"),
)
_WARNING_WORDS = (b"warning",)

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movement
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # titles, links, clipboard: up to their end
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]",
    re.MULTILINE,
)
# C0 but tab and newline, DEL, C1, and the characters that turn the reading direction or hide.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def sanitise(text: str) -> str:
    """Return `text` without terminal sequences; other control characters become visible escapes."""
    return _CONTROL.sub(_visible, _ANSI.sub("", text))


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class OutputView:
    """Takes bytes as they come and gives back at most `max_lines` lines and `max_bytes` bytes of text."""

    def __init__(self, max_lines: int = 240, max_bytes: int = 16_384) -> None:
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._head_lines = min(HEAD_LINES, max_lines // 4)
        self._tail_lines = max_lines - self._head_lines
        self._shown_tail = max(TAIL_LINES, max_lines - HEAD_LINES - ERROR_LINES)
        """Of a long output; a short one is shown whole, with more lines at its end."""
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque(maxlen=self._tail_lines)
        self._tail_bytes = 0
        self._errors: list[tuple[int, bytes]] = []
        self._warnings: list[tuple[int, bytes]] = []
        self._line = bytearray()
        self._line_cut = 0
        self.lines = 0
        """Complete lines so far."""
        self.bytes_in = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes, cut anywhere."""
        self.bytes_in += len(data)
        first, newline, rest = data.partition(b"\n")
        self._extend_line(first)
        if not newline:
            return
        self._finish_line()
        *whole, last = rest.split(b"\n")
        self._add_lines(whole)
        self._extend_line(last)

    def text(self) -> str:
        """Return the view of what came so far, with a note wherever something was left out."""
        head, tail = list(self._head), list(self._tail)
        if self._line or self._line_cut:
            tail.append(self._shown(bytes(self._line), self._line_cut))
        total = self.lines + (1 if self._line or self._line_cut else 0)
        shown = [_decode(line) for line in (*head, *tail)]
        if len(shown) == total <= self._max_lines and _size(shown) <= self._max_bytes:
            return "\n".join(shown)
        return self._shortened(head, tail, total)

    @property
    def truncated(self) -> bool:
        """True if `text()` shows less than everything that came."""
        unfinished = 1 if self._line or self._line_cut else 0
        kept = len(self._head) + len(self._tail)
        if self._line_cut or kept < self.lines or kept + unfinished > self._max_lines:
            return True
        return sum(map(len, (*self._head, *self._tail))) + kept + len(self._line) > self._max_bytes

    def _extend_line(self, part: bytes) -> None:
        self._line += part
        if len(self._line) <= LINE_BYTES:
            return
        if b"\r" in self._line[:-1]:  # a progress bar: only its last state is worth showing
            last = self._line.rfind(b"\r", 0, len(self._line) - 1)
            del self._line[: last + 1]
            self._line_cut = 0
        self._line_cut += max(0, len(self._line) - LINE_BYTES)
        del self._line[LINE_BYTES:]

    def _finish_line(self) -> None:
        line, cut = bytes(self._line), self._line_cut
        self._line.clear()
        self._line_cut = 0
        self._add_line(self._shown(line, cut))

    def _shown(self, line: bytes, cut: int) -> bytes:
        """Return one line as it is shown: progress bars at their last state, long ones cut with the count."""
        if b"\r" in line:
            line = line.rstrip(b"\r").rpartition(b"\r")[2]
        if len(line) > LINE_BYTES:
            cut += len(line) - LINE_BYTES
            line = line[:LINE_BYTES]
        return line + b" ... [%d bytes of this line left out]" % cut if cut else line

    def _add_lines(self, lines: list[bytes]) -> None:
        """Add whole lines; those that can't be shown are only counted, which keeps endless output cheap."""
        start = 0
        while start < len(lines) and len(self._head) < self._head_lines:
            self._add_line(self._shown(lines[start], 0))
            start += 1
        skip = max(start, len(lines) - self._tail_lines)
        # One search over all of them: almost always there is nothing to note.
        noting = self._wants_errors() and _has(b"\n".join(lines[start:]), _ERROR_WORDS + _WARNING_WORDS)
        if noting:
            for line in lines[start:skip]:
                self.lines += 1
                self._note_error(line)
        else:
            self.lines += skip - start
        for line in lines[skip:]:
            self._add_line(self._shown(line, 0), noting=noting)

    def _add_line(self, line: bytes, *, noting: bool = True) -> None:
        self.lines += 1
        if len(self._head) < self._head_lines:
            self._head.append(line)
            return
        if noting:
            self._note_error(line)
        if len(self._tail) == self._tail_lines:
            self._tail_bytes -= len(self._tail[0])
        self._tail.append(line)
        self._tail_bytes += len(line)
        while self._tail_bytes > self._max_bytes and len(self._tail) > 1:
            self._tail_bytes -= len(self._tail.popleft())

    def _wants_errors(self) -> bool:
        return len(self._errors) < ERROR_LINES or len(self._warnings) < _WARNINGS

    def _note_error(self, line: bytes) -> None:
        part = line[:_SEARCH_BYTES]
        if len(self._errors) < ERROR_LINES and _has(part, _ERROR_WORDS):
            self._errors.append((self.lines, line[:LINE_BYTES]))
        elif len(self._warnings) < _WARNINGS and _has(part, _WARNING_WORDS):
            self._warnings.append((self.lines, line[:LINE_BYTES]))

    def _shortened(self, head: list[bytes], tail: list[bytes], total: int) -> str:
        """Return head, error lines and tail within both limits, with counts of what is left out."""
        budget = max(200, self._max_bytes - 300)  # the notes take the rest
        tail = tail[-self._shown_tail :]
        room = max(0, self._max_lines - 3 - self._head_lines)
        first = _take([_decode(line) for line in head], budget // 4)
        last = _take([_decode(line) for line in tail[-room:]] if room else [], budget // 2, from_end=True)
        gap = range(len(first) + 1, total - len(last) + 1)
        found = sorted((self._errors + self._warnings)[:ERROR_LINES])
        errors = [f"{number}: {_decode(line)}" for number, line in found if number in gap]
        spare = self._max_lines - len(first) - len(last) - 3
        errors = _take(errors[: max(0, spare)], budget // 4)
        parts = [*first, f"[... {len(gap) - len(errors):,} of {total:,} lines left out ...]"]
        if errors:
            parts += ["[lines among them that look like errors, with their numbers:]", *errors]
            parts.append(f"[the last {len(last)} lines:]")
        return "\n".join(parts + last)


def _has(data: bytes, words: tuple[bytes, ...]) -> bool:
    lowered = data.lower()
    return any(word in lowered for word in words)


def _decode(line: bytes) -> str:
    return sanitise(line.decode("utf-8", "replace"))


def _size(lines: list[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _take(lines: list[str], budget: int, *, from_end: bool = False) -> list[str]:
    """Return as many lines as fit into `budget` bytes; a line that alone is too long for a fair share is cut."""
    share = max(80, budget // 3)
    taken: list[str] = []
    for line in reversed(lines) if from_end else lines:
        data = line.encode("utf-8", "replace")
        if len(data) > share:
            line = data[:share].decode("utf-8", "ignore") + f" ... [{len(data) - share} bytes more]"
        budget -= len(line.encode("utf-8", "replace")) + 1
        if budget < 0:
            break
        taken.append(line)
    return taken[::-1] if from_end else taken


@dataclass
class OutputSink:
    """Where output goes: redacted first, then to the log up to its cap and to the view."""

    view: OutputView
    redactor: Redactor
    log: BinaryIO | None
    log_bytes: int
    output_bytes: int = 0

    def __post_init__(self) -> None:
        self._stream = self.redactor.stream()
        self._logged = 0

    def take(self, data: bytes) -> None:
        self.output_bytes += len(data)
        self._pass_on(self._stream.feed(data))

    def finish(self) -> None:
        self._pass_on(self._stream.flush())
        if self.log is not None and self._logged > self.log_bytes:
            self.log.write(b"\n[log cut: %d bytes in all]\n" % self._logged)

    def _pass_on(self, data: bytes) -> None:
        self.view.feed(data)
        if self.log is not None:
            self.log.write(data[: max(0, self.log_bytes - self._logged)])
            self._logged += len(data)


def open_log(path: Path) -> BinaryIO:
    """Return `path` opened for writing, private to the user and never through a symlink."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(fd, "wb")
