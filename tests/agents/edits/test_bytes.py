"""Bytes beside an edit never change, whatever the encoding, the line ends and the end of the file."""

from __future__ import annotations

import codecs
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot_agents.edits.apply import apply_operations
from autopilot_agents.edits.check import EditPolicy
from autopilot_agents.edits.operations import parse_operation
from autopilot_agents.hands.paths import Root

ODD = "\x0b\x0c\x1c\x85\u2028\u2029"  # line ends to str.splitlines, and to nobody else

texts = st.text(st.sampled_from("ab \té𝄞" + ODD), max_size=6)
eols = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw: st.DrawFn) -> tuple[list[bytes], bytes, str]:
    """Draw (lines with their ends as bytes, mark, codec); the last line may have no end."""
    mark, codec = draw(
        st.sampled_from(
            [
                (b"", "utf-8"),
                (codecs.BOM_UTF8, "utf-8"),
                (codecs.BOM_UTF16_LE, "utf-16-le"),
                (codecs.BOM_UTF16_BE, "utf-16-be"),
                (b"", "latin-1"),
            ]
        )
    )
    lines = [line + draw(eols) for line in draw(st.lists(texts, min_size=1, max_size=8))]
    if draw(st.booleans()):
        lines[-1] = lines[-1].rstrip("\r\n") or "z"
    if codec == "latin-1":
        odd = (
            draw(st.binary(max_size=5))
            .replace(b"\0", b"\xff")
            .replace(b"\n", b"\xfe")
            .replace(b"\r", b"\xfd")
        )
        return [odd + b"\xe9" + line.encode("latin-1", "ignore") for line in lines], mark, codec
    return [line.encode(codec) for line in lines], mark, codec


def run(path: str, data: bytes, *operations: dict[str, Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path).write_bytes(data)
        with Root(folder) as root:
            parsed = [parse_operation({"file_path": path, **operation}) for operation in operations]
            report = apply_operations(root, parsed, EditPolicy())
            assert report.ok, report.render()
        return (Path(folder) / path).read_bytes()


@settings(max_examples=120, deadline=None)
@given(files(), st.data())
def test_G15_bytes_beside_line_edits_are_identical(
    file: tuple[list[bytes], bytes, str], data: st.DataObject
) -> None:
    """Any set of line edits leaves every other line, the mark and the final newline as they were."""
    lines, mark, codec = file
    kept: list[list[bytes]] = [[]]
    operations: list[dict[str, Any]] = []
    number = 1
    while number <= len(lines):
        action = data.draw(st.sampled_from(["keep", "replace", "delete", "insert"]))
        content = f"<<{len(operations)}>>" + data.draw(st.sampled_from(["", "\n", "\r\n"]))
        if action in ("keep", "insert"):
            if action == "insert":
                operations.append({"type": "insert", "line": number, "content": content})
                kept.append([])
            kept[-1].append(lines[number - 1])
            number += 1
            continue
        last = data.draw(st.integers(number, len(lines)))
        operations.append({"type": action, "start_line": number, "end_line": last})
        if action == "replace":
            operations[-1]["content"] = content
            kept.append([])
        number = last + 1
    after = run("f.txt", mark + b"".join(lines), *operations)
    assert after.startswith(mark)
    parts = re.split("<<\\d+>>(?:\r?\n)?", after[len(mark) :].decode(codec))
    assert [part.encode(codec) for part in parts] == [b"".join(part) for part in kept]
    newline = "\n".encode(codec)
    if (
        not lines[-1].endswith(newline)
        and kept[-1] == []
        and operations
        and operations[-1]["type"] == "replace"
    ):
        assert not after.endswith(newline)
    elif lines[-1].endswith(newline) and len(after) > len(mark):
        assert after.endswith(newline)


@settings(max_examples=60, deadline=None)
@given(files(), st.data())
def test_G15_bytes_beside_a_replaced_text_are_identical(
    file: tuple[list[bytes], bytes, str], data: st.DataObject
) -> None:
    """An exact text is replaced in any encoding, across line ends of either kind, and nothing else moves."""
    lines, mark, codec = file
    at = data.draw(st.integers(0, len(lines)))
    wanted = "[[one\ntwo]]"
    eol = data.draw(eols)
    before, after = b"".join(lines[:at]), b"".join(lines[at:])
    if before and not before.endswith("\n".encode(codec)):
        before += eol.encode(codec)
    planted = wanted.replace("\n", eol).encode(codec) + eol.encode(codec)
    result = run(
        "f.txt",
        mark + before + planted + after,
        {"type": "replace_text", "old_text": wanted, "new_text": "1\n2\n3"},
    )
    new = "1\n2\n3\n".replace("\n", eol).encode(codec)
    assert result == mark + before + new + after


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        (b"a\r\nb\r\n", {"type": "insert", "line": 2, "content": "x\ny"}, b"a\r\nx\r\ny\r\nb\r\n"),
        (b"a\nb\n", {"type": "append", "content": "x\r\ny\r\n"}, b"a\nb\nx\ny\n"),
        (b"a\r\nb\nc\n", {"type": "replace", "start_line": 1, "end_line": 1, "content": "x"}, b"x\r\nb\nc\n"),
        (b"a\r\nb\nc\n", {"type": "insert", "line": 3, "content": "x"}, b"a\r\nb\nx\nc\n"),
        (b"a", {"type": "append", "content": "b\n"}, b"a\nb"),
        (b"a\r\nb", {"type": "append", "content": "c\n"}, b"a\r\nb\r\nc"),
        (b"a\nb", {"type": "replace", "start_line": 2, "end_line": 2, "content": "c\n"}, b"a\nc"),
        (b"a\nb\n", {"type": "replace", "start_line": 2, "end_line": 2, "content": "c"}, b"a\nc\n"),
        (b"a\nb", {"type": "delete", "start_line": 2, "end_line": 2}, b"a\n"),
        (b"a\nb", {"type": "insert", "line": 3, "content": "c"}, b"a\nb\nc"),
        (b"\xef\xbb\xbfa\n", {"type": "prepend", "content": "x"}, b"\xef\xbb\xbfx\na\n"),
        (b"\xef\xbb\xbf", {"type": "append", "content": "x\n"}, b"\xef\xbb\xbfx\n"),
        (b"", {"type": "prepend", "content": "x"}, b"x"),
        (b"caf\xe9\n", {"type": "append", "content": "th\u00e9"}, b"caf\xe9\nth\xe9\n"),
        (b"a\x0cb\nc\n", {"type": "replace", "start_line": 2, "end_line": 2, "content": "x"}, b"a\x0cb\nx\n"),
        (b"a\rb\nc\n", {"type": "delete", "start_line": 2, "end_line": 2}, b"a\rb\n"),
        (b"a\r\nb\r\n", {"type": "replace_text", "old_text": "\nb", "new_text": "\nc"}, b"a\r\nc\r\n"),
        (b"a\r\nb\r\n", {"type": "replace_text", "old_text": "a\r\nb", "new_text": "c"}, b"c\r\n"),
    ],
)
def test_G15_line_ends_marks_and_final_newlines(
    before: bytes, operation: dict[str, Any], after: bytes
) -> None:
    """Inserted lines end like their neighbours; the final newline is there when it was."""
    assert run("f.txt", before, operation) == after


def test_G15_deleting_and_adding_at_an_end_without_newline() -> None:
    """Two edits that meet at the end of a file leave it without a final newline, and no empty line."""
    delete = {"type": "delete", "start_line": 2, "end_line": 2}
    assert run("f.txt", b"a\nb", delete, {"type": "append", "content": "c\n"}) == b"a\nc"
    assert run("f.txt", b"a\nb", {"type": "insert", "line": 2, "content": "x\n"}, delete) == b"a\nx"


@pytest.mark.parametrize(
    ("data", "content", "told"),
    [
        (b"caf\xe9\n", "\u2192", "Latin-1"),
        (b"\xff\xfea\x00\x00\xd8", "x", "UTF-16"),
        (b"\xff\xfe\x00\x00a\x00\x00\x00", "x", "UTF-32"),
    ],
)
def test_G15_what_can_not_be_kept_is_rejected(tmp_path: Path, data: bytes, content: str, told: str) -> None:
    """A character that the file's encoding has not, or an invalid file, is refused and left alone."""
    (tmp_path / "f.txt").write_bytes(data)
    with Root(tmp_path) as root:
        operation = parse_operation({"type": "append", "file_path": "f.txt", "content": content})
        report = apply_operations(root, [operation], EditPolicy())
    assert told in report.operations[0].reason
    assert (tmp_path / "f.txt").read_bytes() == data


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_texts_are_found_alike_one_by_one_and_many_at_once(seed: int) -> None:
    """Noting places beforehand gives the same places, counts and order as reading the file for each text."""
    import random

    from autopilot_agents.edits.search import TextSearch
    from autopilot_agents.edits.text import TextFile

    rng = random.Random(seed)
    words = ["return x", "    if a:", "value_1 = 2", "aaaaaaaaaaaaaaaa", "é", "def f():"]
    body = "".join(rng.choice(words) + rng.choice(["\n", "\r\n", " "]) for _ in range(12_000)).encode()
    text = TextFile.of(body)
    lf = body.replace(b"\r\n", b"\n")
    wanted = []
    for _ in range(60):
        at = rng.randrange(len(lf) - 80)
        wanted.append(lf[at : at + rng.randint(1, 60)])
    wanted += [b"nowhere to be found", b"a" * 20]
    many, single = TextSearch(text, wanted), TextSearch(text)
    for one in wanted:
        found = many.places(one)
        assert found == single.places(one)
        assert all(body[start:end].replace(b"\r\n", b"\n") == one for start, end in found if end - start)
