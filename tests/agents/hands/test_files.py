"""A role sees slices, hits and lists, never a whole repository, and what it saw is on record."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot_agents.errors import AgentError, PathRefused, ReadRefused
from autopilot_agents.hands.files import FileTools, ListFilesTool, ReadFileTool, SearchTool
from autopilot_agents.hands.paths import Root
from autopilot_agents.protocols import Tool

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as root:
        root.write("a.py", b"import os\n\ndef f():\n    return 1\n")
        root.write("src/long.py", "".join(f"line {i}\n" for i in range(1, 1001)).encode())
        root.write("docs/b.md", "Grüße\r\nund mehr".encode())
        root.write("bin.dat", b"\0\1return\n")
        yield root


def test_a_slice_is_numbered_and_says_what_is_left_out(root: Root) -> None:
    """Lines carry the numbers that edits use; the rest of the file is named, and how to go on."""
    text = FileTools(root).read_slice("src/long.py", 3, 5)
    assert text.split("\n") == [
        "src/long.py (1000 lines)",
        "     3\tline 3",
        "     4\tline 4",
        "     5\tline 5",
        "(left out of src/long.py: lines 1-2 and 6-1000; go on with start=6)",
    ]


def test_a_slice_is_never_longer_than_allowed(root: Root) -> None:
    """Asking for everything gives one slice; a file comes whole only when it is approved and short enough."""
    tools = FileTools(root, slice_lines=50, whole_file_lines=1000, whole_files=["src/long.py"])
    assert "left out" not in tools.read_slice("src/long.py")
    assert "lines 51-1000" in FileTools(root, slice_lines=50).read_slice("src/long.py", 1, 1000)
    short = FileTools(root, slice_lines=50, whole_file_lines=500, whole_files=["src/long.py"])
    assert "lines 51-1000" in short.read_slice("src/long.py")
    assert "lines 1-990" in FileTools(root).read_slice("src/long.py", 991)


def test_ingesting_a_repository_is_refused(root: Root) -> None:
    """All that a role reads and finds comes out of one budget of lines; past it, reading is refused."""
    tools = FileTools(root, max_lines_total=450)
    tools.read_slice("src/long.py", 1, 200)
    tools.read_slice("src/long.py", 201, 400)
    tools.search("line", max_hits=40)
    with pytest.raises(ReadRefused) as caught:
        tools.read_slice("src/long.py", 401, 600)
    assert caught.value.code == "AP410"
    assert caught.value.fix
    assert "line 410" in tools.read_slice("src/long.py", 401, 410)
    with pytest.raises(ReadRefused):
        tools.search("line 1")


def test_what_was_shown_is_recorded_with_its_hash(root: Root) -> None:
    """Only a file that was really shown counts, with the bytes it had then."""
    tools = FileTools(root, max_lines_total=4)
    tools.search("return")
    tools.list_files()
    assert tools.shown == {}
    with pytest.raises(ReadRefused):
        tools.read_slice("src/long.py", 1, 4)
    assert tools.shown == {}
    tools.read_slice("a.py", 1, 1)
    assert tools.shown == {"a.py": hashlib.sha256(root.read("a.py")).hexdigest()}


def test_odd_files_are_shown_for_what_they_are(root: Root) -> None:
    """Encodings, line ends and a missing final newline are named; a binary file is described, not shown."""
    root.write("wide.txt", "é\n".encode("utf-16"))
    root.write("old.txt", b"caf\xe9\n")
    root.write("min.js", b"x" * 5000)
    root.write("empty", b"")
    tools = FileTools(root)
    assert "(2 lines, CRLF line ends, no final newline)\n     1\tGrüße\n" in tools.read_slice("docs/b.md")
    assert tools.read_slice("wide.txt") == "wide.txt (1 lines, utf-16-le, byte order mark)\n     1\té"
    assert "latin-1)\n     1\tcafé" in tools.read_slice("old.txt")
    assert "[+4000 characters]" in tools.read_slice("min.js")
    assert tools.read_slice("empty") == "empty (0 lines)"
    assert "binary" in tools.read_slice("bin.dat")


@pytest.mark.parametrize(("start", "end"), [(0, None), (-1, 2), (5, 4), (1001, None)])
def test_ranges_that_make_no_sense_are_refused(root: Root, start: int, end: int | None) -> None:
    """The answer names the file's real length."""
    with pytest.raises(ReadRefused) as caught:
        FileTools(root).read_slice("src/long.py", start, end)
    assert caught.value.code == "AP411"


def test_search_gives_places_in_text_files(root: Root) -> None:
    """Hits are `path:line: text`, by expression or literally, narrowed by glob, binary files aside."""
    tools = FileTools(root)
    assert tools.search(r"ret\w+ 1$") == "a.py:4:     return 1"
    assert tools.search("def f():") == "a.py:3: def f():"
    assert "plain text" in tools.search("f(")
    assert "a.py:3: def f():" in tools.search("f(")
    assert tools.search("line 10$", "*.py") == "src/long.py:10: line 10"
    assert tools.search("line 10$", "docs/**") == "no line matches 'line 10$'"
    assert tools.search("und") == "docs/b.md:2: und mehr"
    capped = tools.search("line", max_hits=3).split("\n")
    assert len(capped) == 4
    assert "more than 3" in capped[3]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a*)*c", "a*a*a*a*a*b", "(.*){9}x"])
def test_expressions_that_could_take_for_ever_are_not_run(root: Root, pattern: str) -> None:
    """A pattern that backtracks without end is looked for as plain text, and the answer says so."""
    root.write("evil.txt", b"a" * 5000 + b"!\n" + pattern.encode() + b"\n")
    answer = FileTools(root).search(pattern)
    assert f"evil.txt:2: {pattern}" in answer
    assert "plain text" in answer


def test_lists_are_capped_and_leave_out_what_is_no_source(root: Root) -> None:
    """A glob without a slash means the name in any folder; folders of tools are not listed."""
    root.write("node_modules/x.py", b"")
    (root.path / ".git").mkdir()
    (root.path / ".git" / "x.py").write_text("")
    tools = FileTools(root)
    assert tools.list_files("*.py") == "a.py\nsrc/long.py"
    assert tools.list_files() == "a.py\nbin.dat\ndocs/b.md\nsrc/long.py"
    assert tools.list_files(max=1) == "a.py\n(3 more: give a narrower glob)"
    assert tools.list_files("*.rs") == "no such files"


async def test_the_tools_answer_and_refuse(root: Root) -> None:
    """Each tool has a schema, does what it says, and refuses arguments that don't fit it."""
    os.symlink("/etc/passwd", root.path / "link")
    files = FileTools(root)
    tools: dict[str, Tool] = {
        t.spec.name: t for t in (ReadFileTool(files), SearchTool(files), ListFilesTool(files))
    }
    assert set(tools) == {"read_file", "search", "list_files"}
    assert tools["read_file"].spec.schema["required"] == ["path"]
    assert "line 7" in await tools["read_file"].run({"path": "src/long.py", "start": 7, "end": 7})
    assert await tools["search"].run({"pattern": "import"}) == "a.py:1: import os"
    assert await tools["list_files"].run({"glob": "docs/**"}) == "docs/b.md"
    bad = [
        ("read_file", {}),
        ("read_file", {"path": 1}),
        ("search", {"pattern": ""}),
        ("list_files", {"x": 1}),
    ]
    for name, arguments in bad:
        with pytest.raises(AgentError) as caught:
            await tools[name].run(arguments)
        assert caught.value.code == "AP411"
    for path in ("link", "../x", ".git/config", "missing.py"):
        with pytest.raises(PathRefused):
            await tools["read_file"].run({"path": path})
