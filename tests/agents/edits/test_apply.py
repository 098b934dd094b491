"""A set of edits is applied as a whole or not at all, and says why."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autopilot_agents.edits.apply import EditReport, apply_operations, apply_plan
from autopilot_agents.edits.check import EditPolicy, plan_set
from autopilot_agents.edits.operations import parse_operation
from autopilot_agents.hands.paths import Root

SOURCE = "import os\n\n\ndef add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    tree = tmp_path / "repo"
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "calc.py").write_text(SOURCE)
    (tree / "notes.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    with Root(tree) as root:
        yield root


def snapshot(root: Root) -> dict[str, tuple[bytes, int]]:
    return {
        str(p.relative_to(root.path)): (p.read_bytes(), p.stat().st_mode)
        for p in root.path.rglob("*")
        if p.is_file() and not p.is_symlink()
    }


def apply(root: Root, *operations: dict[str, Any], **policy: Any) -> EditReport:
    return apply_operations(root, [parse_operation(o) for o in operations], EditPolicy(**policy))


def rejected(root: Root, *operations: dict[str, Any], **policy: Any) -> str:
    """Return the first reason, having checked that nothing was written and the rest is held back."""
    before = snapshot(root)
    report = apply(root, *operations, **policy)
    assert not report.ok
    assert report.changed_files == ()
    assert snapshot(root) == before
    reasons = [r for r in report.operations if r.status == "rejected"]
    assert reasons
    assert all(r.reason for r in reasons)
    assert not [r for r in report.operations if r.status == "applied"]
    return f"{reasons[0].reason} || {reasons[0].nearest}"


def edit(kind: str, path: str = "notes.txt", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "file_path": path, **fields}


def notes(root: Root) -> str:
    return root.read("notes.txt").decode()


def test_every_kind_of_operation_does_what_it_says(root: Root) -> None:
    """One set with all kinds; line numbers mean the files before the set."""
    report = apply(
        root,
        edit("create", "src/new/deep.py", content="x = 1\n"),
        edit("prepend", content="zero\n"),
        edit("insert", line=2, content="one and a half"),
        edit("replace", start_line=3, end_line=3, content="THREE\n", context_before="two", context_after="four"),
        edit("delete", start_line=4, end_line=4),
        edit("append", content="six\n"),
        edit("replace_text", "src/calc.py", old_text="def add(a, b):\n    return a - b", new_text="def add(a, b):\n    return a + b"),
        edit("insert_before", "src/calc.py", anchor="def sub", content="# difference\n"),
        edit("insert_after", "src/calc.py", anchor="import os", content="import re\n"),
    )  # fmt: skip
    assert report.ok, report.render()
    assert notes(root) == "zero\none\none and a half\ntwo\nTHREE\nfive\nsix\n"
    calc = root.read("src/calc.py").decode()
    assert calc == SOURCE.replace("os\n", "os\nimport re\n").replace("a - b", "a + b", 1).replace(
        "def sub", "# difference\ndef sub"
    )
    assert report.changed_files == ("notes.txt", "src/calc.py", "src/new/deep.py")
    assert report.sha256["notes.txt"] == hashlib.sha256(root.read("notes.txt")).hexdigest()
    assert report.as_dict()["operations"][0] == {
        "index": 0, "type": "create", "file_path": "src/new/deep.py", "status": "applied", "reason": "", "nearest": "",
    }  # fmt: skip


def test_modify_rename_and_delete_file(root: Root) -> None:
    """Several edits of one file count as one operation, and go along when the file is renamed."""
    root.write("run.sh", b"a\nb\n", 0o755)
    report = apply(
        root,
        edit("modify", "run.sh", operations=[{"type": "delete", "start_line": 1, "end_line": 1}, {"type": "append", "content": "c"}]),
        edit("rename", "run.sh", new_path="bin/run.sh"),
        edit("replace_text", "bin/run.sh", old_text="b", new_text="B"),
        edit("delete_file"),
    )  # fmt: skip
    assert report.ok, report.render()
    assert root.read("bin/run.sh") == b"B\nc\n"
    assert stat.S_IMODE(root.stat_mode("bin/run.sh")) == 0o755
    assert root.list_files() == ["bin/run.sh", "src/calc.py"]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"type": "replace", "content": "    def b(self):\n        return 2\n", "symbol": "A.b"}, "class A:\n    x = 1\n\n    def b(self):\n        return 2\n\ntail = 1\n"),
        ({"type": "delete", "symbol": "A"}, "tail = 1\n"),
        ({"type": "insert_before", "symbol": "A.b", "content": "    y = 2\n"}, "class A:\n    x = 1\n\n    y = 2\n    @dec\n    def b(self):\n        return 1\n\ntail = 1\n"),
        ({"type": "insert_after", "symbol": "A.b", "content": "    y = 2\n"}, "class A:\n    x = 1\n\n    @dec\n    def b(self):\n        return 1\n    y = 2\n\ntail = 1\n"),
    ],
    ids=["replace", "delete", "before", "after"],
)  # fmt: skip
def test_symbols_mean_their_lines_with_decorators(
    root: Root, operation: dict[str, Any], expected: str
) -> None:
    """`Class.method` stands for whole lines, decorators included."""
    root.write("m.py", b"class A:\n    x = 1\n\n    @dec\n    def b(self):\n        return 1\n\ntail = 1\n")
    report = apply(root, {"file_path": "m.py", **operation})
    assert report.ok, report.render()
    result = root.read("m.py").decode()
    assert result == (expected if operation.get("type") != "delete" else "\ntail = 1\n")


def test_symbols_that_are_not_one_place_are_rejected(root: Root) -> None:
    """An unknown symbol is answered with the known ones, a double one with its lines, and another language with a no."""
    root.write("m.py", b"if x:\n    def f(): pass\nelse:\n    def f(): pass\n\ndef g(): pass\n")
    assert "on lines 2, 4" in rejected(root, edit("delete", "m.py", symbol="f"))
    assert "g (line 6)" in rejected(root, edit("delete", "m.py", symbol="h"))
    assert "Python" in rejected(root, edit("delete", symbol="f"))
    root.write("bad.py", b"def f(:\n")
    assert "does not parse" in rejected(root, edit("delete", "bad.py", symbol="f"))


def test_all_or_nothing(root: Root) -> None:
    """One rejected operation keeps the whole set from being written, and the others are told so."""
    report = apply(
        root, edit("append", content="x"), edit("create", "n.py", content=""), edit("delete_file", "src")
    )
    assert [r.status for r in report.operations] == ["not_applied", "not_applied", "rejected"]
    assert "Nothing was written" in report.render()
    assert "folder" in report.operations[2].reason
    assert not root.exists("n.py")


def test_a_dry_run_writes_nothing_and_says_the_same(root: Root) -> None:
    """`dry_run` reports what would be, from the same check."""
    before = snapshot(root)
    operations = [parse_operation(edit("append", content="six\n"))]
    report = apply_operations(root, operations, EditPolicy(), dry_run=True)
    assert (report.ok, report.dry_run, report.changed_files) == (True, True, ("notes.txt",))
    assert snapshot(root) == before


def test_a_name_taken_between_check_and_write_stops_the_set(root: Root) -> None:
    """What was free at the check and is not at the write leaves every file as it is."""
    operations = [edit("append", content="six\n"), edit("create", "b/new.py", content="x = 1\n")]
    plan = plan_set(root, [parse_operation(o) for o in operations], EditPolicy())
    assert plan.ok
    (root.path / "b").write_text("")
    before = snapshot(root)
    report = apply_plan(root, plan)
    assert {r.status for r in report.operations} == {"not_applied"}
    assert snapshot(root) == before


def test_a_full_disk_midway_is_taken_back(root: Root) -> None:
    """A file size limit stops the second write; the first file gets its bytes back and is named."""
    import resource
    import signal

    before = snapshot(root)
    operations = [
        parse_operation(edit("append", content="six\n")),
        parse_operation(edit("create", "z.txt", content="z" * 200_000)),
    ]
    plan = plan_set(root, operations, EditPolicy())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        report = apply_plan(root, plan)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert not report.ok
    assert report.restored == ("notes.txt",)
    assert "could not be written" in report.operations[0].reason
    assert snapshot(root) == before
    assert not root.exists("z.txt")


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "~/x", "C:\\x", "a\\b", ".", "", "a\0b", "x" * 5000, "a/"]
)
def test_G6_paths_outside_reject_the_set(root: Root, path: str) -> None:
    """A path that leads out fails the set, in `file_path` and in `new_path`."""
    assert "AP401" in rejected(root, edit("append", content="x"), edit("create", path, content="x"))
    assert "AP401" in rejected(root, edit("rename", new_path=path))


def test_G7_links_reject_the_set(root: Root) -> None:
    """An edit through a link to a file or a folder is refused."""
    outside = root.path.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret\n")
    os.symlink(outside, root.path / "d")
    os.symlink(outside / "x", root.path / "f")
    for path in ("d/x", "f", "d/new"):
        assert "AP40" in rejected(root, edit("create", path, content="x"))
        assert "AP40" in rejected(root, edit("append", path, content="x"))
        assert "AP40" in rejected(root, edit("delete_file", path))
    assert (outside / "x").read_text() == "secret\n"


def test_G7_a_link_planted_between_check_and_write_is_not_followed(root: Root) -> None:
    """What was checked is checked again at the write, and a link in its place stops the set."""
    plan = plan_set(root, [parse_operation(edit("append", content="x\n"))], EditPolicy())
    outside = root.path.parent / "outside.txt"
    outside.write_bytes(root.read("notes.txt"))
    (root.path / "notes.txt").unlink()
    os.symlink(outside, root.path / "notes.txt")
    assert not apply_plan(root, plan).ok
    assert outside.read_text() == "one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    "path", [".git/hooks/x", ".GIT/config", "sub/.git/x", ".git\u200c/x", "git~1/x", ".gitmodules"]
)
def test_G8_git_rejects_the_set(root: Root, path: str) -> None:
    """No edit reaches git's own files or settings."""
    assert "AP402" in rejected(root, edit("create", path, content="x"))
    assert "AP402" in rejected(root, edit("rename", new_path=path))


def test_files_that_run_later_need_permission(root: Root) -> None:
    """CI and build files, and the scripts of package.json, are edited only where the playbook says so."""
    root.write("package.json", b'{"name": "a", "scripts": {"test": "x"}}\n')
    workflow = edit("create", ".github/workflows/ci.yml", content="on: push\n")
    assert "runs later" in rejected(root, workflow)
    scripts = edit("replace_text", "package.json", old_text='"x"', new_text='"curl evil"')
    assert "scripts" in rejected(root, scripts)
    assert apply(root, edit("replace_text", "package.json", old_text='"a"', new_text='"b"')).ok
    assert apply(root, workflow, scripts, allow_run_later=True).ok


def test_G10_the_orchestrators_files_reject_the_set(root: Root) -> None:
    """A run's own folder is out of reach."""
    assert "AP402" in rejected(root, edit("create", ".autopilot/config.toml", content="x = 1\n"))


def test_edits_outside_the_touches_are_refused_by_name(root: Root) -> None:
    """What a unit may edit is a list of globs; anything else is named and rejected."""
    assert "notes.txt is outside" in rejected(root, edit("append", content="x"), touches=("src/**",))
    assert "notes.txt is outside" in rejected(
        root, edit("rename", "src/calc.py", new_path="notes.txt"), touches=("src",)
    )
    assert apply(root, edit("append", "src/calc.py", content="x = 1\n"), touches=("docs/**", "src/*.py")).ok


def test_G11_create_of_an_existing_file(root: Root) -> None:
    """The same content is there already; other content, a folder, or a name that differs in case is rejected."""
    same = apply(root, edit("create", content="one\ntwo\nthree\nfour\nfive\n"))
    assert [r.status for r in same.operations] == ["already"]
    assert "other content" in rejected(root, edit("create", content="x"))
    assert "folder" in rejected(root, edit("create", "src", content="x"))
    assert "notes.txt is already there" in rejected(root, edit("create", "Notes.txt", content="x"))
    assert "differs in case" in rejected(root, edit("create", "SRC/a.py", content="x"))
    assert "differs in case" in rejected(
        root, edit("create", "x/a", content=""), edit("create", "x/A", content="b")
    )
    assert "AP403" in rejected(root, edit("create", "notes.txt/x", content="x"))
    assert "file and a folder" in rejected(
        root, edit("create", "n", content="x"), edit("create", "n/x", content="x")
    )


def test_G12_text_that_does_not_match_once_is_rejected_with_the_real_text(root: Root) -> None:
    """Without a match the nearest text comes back with its line; with several, their count and places."""
    near = rejected(
        root, edit("replace_text", "src/calc.py", old_text="def add(a,b):\n  return a-b", new_text="x")
    )
    assert "0 times" in near
    assert "4: def add(a, b):\n5:     return a - b" in near
    double = rejected(
        root, edit("replace_text", "src/calc.py", old_text="return a - b", new_text="return a + b")
    )
    assert "2 times" in double
    assert "5:     return a - b\n9:     return a - b" in double
    root.write("t.txt", b"aaa\n")
    assert "2 times" in rejected(root, edit("replace_text", "t.txt", old_text="aa", new_text="b"))
    root.write("s.txt", b"a b\n")
    for blank in ("", " "):
        assert "0 times" in rejected(root, edit("replace_text", "s.txt", old_text="zz", new_text=blank))


def test_G12_overlaps_of_all_kinds_reject_the_set(root: Root) -> None:
    """Edits of the same bytes are refused, an insertion inside a replaced range and a nested modify included."""
    base = edit("replace", start_line=2, end_line=4, content="x\n")
    for other in (
        edit("replace", start_line=4, end_line=5, content="y\n"),
        edit("delete", start_line=2, end_line=4),
        edit("insert", line=3, content="y\n"),
        edit("insert_after", anchor="two", content="y\n"),
        edit("replace_text", old_text="three", new_text="3"),
        edit("replace_text", old_text="e\nfour", new_text="3"),
        edit("modify", operations=[{"type": "delete", "start_line": 3, "end_line": 3}]),
    ):
        assert "overlaps operation 0" in rejected(root, base, other)
        assert "overlaps operation 0" in rejected(root, other, base)
    both = edit("modify", operations=[dict(base), {"type": "delete", "start_line": 3, "end_line": 3}])
    assert "same modify" in rejected(root, both)
    report = apply(
        root, base, edit("insert", line=2, content="before\n"), edit("insert", line=5, content="after\n")
    )
    assert report.ok, report.render()
    assert notes(root) == "one\nbefore\nx\nafter\nfive\n"


def test_G12_edits_that_say_nothing_or_come_too_late(root: Root) -> None:
    """An empty or equal text, an edit after a deletion or under the old name, is rejected."""
    assert "empty" in rejected(root, edit("replace_text", old_text="", new_text="x"))
    assert "same" in rejected(root, edit("replace_text", old_text="one", new_text="one"))
    assert "deleted by operation 0" in rejected(root, edit("delete_file"), edit("append", content="x"))
    assert "operation 0" in rejected(root, edit("append", content="x"), edit("delete_file"))
    assert "renamed to b.txt by operation 0" in rejected(
        root, edit("rename", new_path="b.txt"), edit("append", content="x")
    )
    assert "only be appended to" in rejected(
        root, edit("create", "n.txt", content="x\n"), edit("insert", "n.txt", line=1, content="y")
    )
    assert "use create" in rejected(root, edit("append", "missing.txt", content="x"))


def test_a_file_created_in_pieces(root: Root) -> None:
    """What does not fit one operation is created and appended to in the same set."""
    report = apply(root, edit("create", "n.txt", content="1\n2"), edit("append", "n.txt", content="3\n"))
    assert report.ok
    assert root.read("n.txt") == b"1\n2\n3\n"


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "replace", "start_line": 0, "end_line": 1, "content": "x"},
        {"type": "replace", "start_line": -1, "end_line": 1, "content": "x"},
        {"type": "replace", "start_line": 1, "end_line": 6, "content": "x"},
        {"type": "replace", "start_line": 3, "end_line": 2, "content": "x"},
        {"type": "delete", "start_line": 10**18, "end_line": 10**18},
        {"type": "insert", "line": 0, "content": "x"},
        {"type": "insert", "line": 7, "content": "x"},
        {"type": "insert", "line": 10**30, "content": "x"},
    ],
)
def test_G13_lines_that_the_file_has_not_are_rejected(root: Root, fields: dict[str, Any]) -> None:
    """Zero, negative, huge, reversed and beyond the end."""
    rejected(root, edit("append", content="x"), {"file_path": "notes.txt", **fields})


def test_G13_context_tells_an_off_by_one(root: Root) -> None:
    """Context must stand, spaces aside, within three lines of the range, for replace, delete and insert."""
    root.write("long.txt", "".join(f"  line {i}\n" for i in range(1, 21)).encode())
    for kind, where in (("replace", {"content": "x"}), ("delete", {})):
        at = {"start_line": 10, "end_line": 11, **where}
        assert apply(root, edit(kind, "long.txt", **at, context_before="line 7", context_after="line 14")).ok
        root.write("long.txt", "".join(f"  line {i}\n" for i in range(1, 21)).encode())
        assert "context_before" in rejected(root, edit(kind, "long.txt", **at, context_before="line 6"))
        assert "context_after" in rejected(root, edit(kind, "long.txt", **at, context_after="line 15"))
        assert "context_before" in rejected(root, edit(kind, "long.txt", **at, context_before="line 10"))
    assert "9:   line 9" in rejected(
        root, edit("insert", "long.txt", line=10, content="x", context_after="line 9")
    )
    two = "line 8\n  line 9\n"
    assert apply(
        root, edit("insert", "long.txt", line=10, content="x", context_before=two, context_after="line 10")
    ).ok


def test_G14_a_file_that_changed_since_it_was_shown_is_rejected(root: Root) -> None:
    """Edits are tied to the bytes that were shown, or to the hash they name; a file nobody saw is not edited."""
    digest = hashlib.sha256(root.read("notes.txt")).hexdigest()
    good = edit("append", content="six\n")
    assert "never shown" in rejected(root, good, shown={})
    assert "never shown" in rejected(root, edit("delete_file"), shown={})
    assert "changed since" in rejected(root, good, shown={"notes.txt": "0" * 64})
    assert "expected_sha256" in rejected(root, {**good, "expected_sha256": "0" * 64})
    nested = edit("modify", expected_sha256="0" * 64, operations=[{"type": "append", "content": "x"}])
    assert "expected_sha256" in rejected(root, nested)
    assert apply(root, edit("create", "new.txt", content=""), shown={}).ok
    assert apply(root, {**good, "expected_sha256": digest}, shown={"notes.txt": digest}).ok


def test_G14_a_file_that_changes_between_check_and_write_is_rejected(root: Root) -> None:
    """A formatter or a user in between is never overwritten."""
    plan = plan_set(root, [parse_operation(edit("append", content="x\n"))], EditPolicy())
    (root.path / "notes.txt").write_text("mine\n")
    report = apply_plan(root, plan)
    assert [r.status for r in report.operations] == ["not_applied"]
    assert notes(root) == "mine\n"


def test_G16_what_is_no_text_is_not_edited(root: Root) -> None:
    """Binary and oversized files and FIFOs are rejected; a huge line and an empty file are edited."""
    root.write("b.bin", b"a\0b\n")
    os.mkfifo(root.path / "fifo")
    root.write("empty.txt", b"")
    assert "binary" in rejected(root, edit("append", "b.bin", content="x"))
    assert "AP405" in rejected(root, edit("append", "fifo", content="x"))
    (root.path / "fifo").unlink()
    with open(root.path / "huge.txt", "wb") as file:
        file.truncate(200_000_000)
    huge = apply(root, edit("append", "huge.txt", content="x"))
    assert "AP406" in huge.operations[0].reason
    (root.path / "huge.txt").unlink()
    root.write("min.js", b"x" * 5_000_000)
    assert apply(root, edit("append", "min.js", content="y\n"), edit("append", "empty.txt", content="z\n")).ok
    assert root.read("min.js") == b"x" * 5_000_000 + b"\ny"
    assert root.read("empty.txt") == b"z\n"
    assert apply(root, edit("rename", "b.bin", new_path="c.bin")).ok
    assert root.read("c.bin") == b"a\0b\n"


def test_deletions_are_few(root: Root) -> None:
    """A set deletes no more files than the policy says, and no folder."""
    for i in range(4):
        root.write(f"d/{i}", b"x")
    deletions = [edit("delete_file", f"d/{i}") for i in range(4)]
    assert "more than 3" in rejected(root, *deletions, max_deleted_files=3)
    assert "folder" in rejected(root, edit("delete_file", "d"))
    assert apply(root, *deletions, max_deleted_files=4).ok
    assert not root.exists("d")


def test_G18_renames(root: Root) -> None:
    """Onto another file, into itself or below itself is rejected; in a circle through a free name, and by case, works."""
    assert "already there" in rejected(root, edit("rename", new_path="src/calc.py"))
    assert "itself" in rejected(root, edit("rename", new_path="notes.txt"))
    assert "below" in rejected(root, edit("rename", new_path="notes.txt/x"))
    assert "folder" in rejected(root, edit("rename", "src", new_path="lib"))
    assert "no such file" in rejected(root, edit("rename", "no.txt", new_path="yes.txt"))
    root.write("a", b"A\n")
    root.write("b", b"B\n")
    swap = [
        edit("rename", "a", new_path="t"),
        edit("rename", "b", new_path="a"),
        edit("rename", "t", new_path="b"),
    ]
    assert apply(root, *swap).ok
    assert (root.read("a"), root.read("b"), root.exists("t")) == (b"B\n", b"A\n", False)
    assert apply(root, edit("rename", new_path="NOTES.txt")).ok
    assert not (root.path / "notes.txt").exists()
    shim = [
        edit("rename", "NOTES.txt", new_path="docs/notes.txt"),
        edit("create", "NOTES.txt", content="moved\n"),
    ]
    assert apply(root, *shim).ok
    assert root.read("NOTES.txt") == b"moved\n"


def test_G20_a_set_applied_twice_changes_nothing_the_second_time(root: Root) -> None:
    """Created, replaced, deleted and renamed things are found done, with the hash of what was shown before."""
    root.write("old.txt", b"x\n")
    root.write("gone.txt", b"x\n")
    shown = {p: hashlib.sha256(root.read(p)).hexdigest() for p in root.list_files()}
    operations = [
        edit("create", "n.txt", content="n\n"),
        edit("replace_text", old_text="two", new_text="TWO"),
        edit("delete_file", "gone.txt"),
        edit("rename", "old.txt", new_path="new.txt"),
        edit("modify", "src/calc.py", operations=[{"type": "replace_text", "old_text": "import os", "new_text": "import re"}]),
    ]  # fmt: skip
    assert apply(root, *operations, shown=shown).ok
    before = snapshot(root)
    again = apply(root, *operations, shown=shown)
    assert {r.status for r in again.operations} == {"already"}
    assert again.changed_files == ()
    assert snapshot(root) == before


def test_G20_a_stuttered_operation_is_done_once(root: Root) -> None:
    """The very same operation twice in a set is done once and reported."""
    report = apply(root, edit("append", content="six\n"), edit("append", content="six\n"))
    assert [r.status for r in report.operations] == ["applied", "already"]
    assert notes(root).count("six") == 1


def test_G20_lines_are_not_applied_twice(root: Root) -> None:
    """A line edit that was done can't be told from one that was not, so the hash of what was shown stops it."""
    shown = {"notes.txt": hashlib.sha256(root.read("notes.txt")).hexdigest()}
    operation = edit("insert", line=1, content="zero\n")
    assert apply(root, operation, shown=shown).ok
    assert "changed since" in rejected(root, operation, shown=shown)


@pytest.mark.parametrize(
    ("path", "good", "old", "new", "line"),
    [
        ("a.py", "x = 1\n\n\ndef f():\n    return 1\n", "    return 1", "return 1", "5: return 1"),
        ("a.json", '{\n "a": 1\n}\n', "1\n", "1,\n", "3: }"),
        ("a.toml", "a = 1\nb = 2\n", "b = 2", "b = ", "2: b = "),
    ],
)
def test_a_file_that_parsed_must_parse_after(
    root: Root, path: str, good: str, old: str, new: str, line: str
) -> None:
    """The set is rejected with the parser's message and the line; the operation that broke it is the one blamed."""
    root.write(path, good.encode())
    told = rejected(root, edit("append", content="x"), edit("replace_text", path, old_text=old, new_text=new))
    assert "would not parse any more" in told
    assert line in told
    root.write(path, b"{{{ not parsing\n")
    assert apply(root, edit("append", path, content="}}}}\n")).ok


def test_the_operation_that_broke_a_file_is_blamed(root: Root) -> None:
    """Among several edits of one file, the one at the error is rejected and the others are not applied."""
    report = apply(
        root,
        edit("append", "src/calc.py", content="x = 1\n"),
        edit("replace_text", "src/calc.py", old_text="def add(a, b):", new_text="def add(a, b:"),
        edit("prepend", "src/calc.py", content="import re\n"),
    )
    assert [r.status for r in report.operations] == ["not_applied", "rejected", "not_applied"]


@pytest.mark.parametrize(
    "line",
    [
        "# ... existing code ...", "    # rest of code unchanged", "// ... rest of the function ...", "... existing code ...",
        "/* ... other methods ... */", "<!-- rest of file unchanged -->", "# (rest of the class remains the same)",
        "# … keep existing implementation", "// existing imports remain unchanged", "# remaining methods unchanged",
        "# ... (unchanged) ...", "-- rest of the file is unchanged",
    ],
)  # fmt: skip
def test_lines_that_stand_for_code_are_rejected(root: Root, line: str) -> None:
    """An added line in place of code that was not written would delete that code."""
    assert "stands for code" in rejected(
        root, edit("replace", start_line=1, end_line=5, content=f"one\n{line}\n")
    )
    assert "stands for code" in rejected(root, edit("create", "n.txt", content=f"a\n{line}\nb\n"))
    root.write("has.txt", f"{line}\nx\n".encode())
    assert apply(root, edit("replace", "has.txt", start_line=1, end_line=2, content=f"{line}\ny\n")).ok


@pytest.mark.parametrize(
    "line",
    [
        "    ...", "...", "  ...existing,", "  ...previous,", "... for x in remaining:", "# other methods", "# the remaining tests",
        "The rest of the code is unchanged.", "x = rest  # ... existing", "# Existing users keep their rest", "... and the rest",
        "# same as above", "print('... existing code ...')",
    ],
)  # fmt: skip
def test_ordinary_lines_are_no_placeholders(root: Root, line: str) -> None:
    """An ellipsis body, a spread, a doctest, a heading and prose are code or text like any other."""
    assert apply(root, edit("append", content=f"{line}\n")).ok


def test_the_report_for_the_model_is_short_and_names_the_problem(root: Root) -> None:
    """Ten thousand rejected operations don't fill a prompt."""
    operations = [edit("replace_text", old_text=f"absent {i}", new_text="x") for i in range(500)]
    text = apply(root, *operations).render()
    assert len(text) < 20_000
    assert "500 rejected" in text
    assert "[0] replace_text notes.txt: rejected" in text


def test_too_many_operations_are_rejected(root: Root) -> None:
    """The policy's cap holds for the set."""
    assert "more than 2" in rejected(
        root, *[edit("insert", line=i, content="x") for i in (1, 2, 3)], max_operations=2
    )


def test_ten_thousand_operations_on_a_large_file(root: Root) -> None:
    """A set at the cap is placed right, line numbers and exact texts alike."""
    lines = [f"line number {i}" for i in range(1, 100_001)]
    root.write("big.txt", ("\n".join(lines) + "\n").encode())
    operations: list[dict[str, Any]] = []
    expected = list(lines)
    for i in range(9_999, -1, -1):
        at = i * 10
        match i % 3:
            case 0:
                operations.append(
                    edit("replace", "big.txt", start_line=at + 1, end_line=at + 2, content=f"new {i}\n")
                )
                expected[at : at + 2] = [f"new {i}"]
            case 1:
                operations.append(edit("insert", "big.txt", line=at + 5, content=f"more {i}"))
                expected.insert(at + 4, f"more {i}")
            case _:
                old = f"{lines[at + 4]}\n"
                operations.append(edit("replace_text", "big.txt", old_text=old, new_text=f"other {i}\n"))
                expected[at + 4] = f"other {i}"
    report = apply(root, *operations)
    assert report.ok, report.render()
    assert root.read("big.txt").decode().split("\n")[:-1] == expected
