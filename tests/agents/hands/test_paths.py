"""Worktree files are reached only beneath the worktree, whatever a path says or points to."""

from __future__ import annotations

import os
import socket
import stat
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot_agents.errors import PathRefused
from autopilot_agents.hands.paths import TEMP_PREFIX, Root, check_relative, matches_glob, runs_later


@pytest.fixture(params=[False, True], ids=["openat2", "walk"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Root]:
    tree = tmp_path / "repo"
    tree.mkdir()
    with Root(tree, walk_only=request.param) as root:
        yield root


def code(path: str, *, vcs_meta: bool = False) -> str:
    with pytest.raises(PathRefused) as caught:
        check_relative(path, vcs_meta=vcs_meta)
    assert caught.value.what
    return caught.value.code


@pytest.mark.parametrize(
    "path",
    [
        "../x", "a/../x", "a/..", "..", "/etc/x", "~/x", "~root/x", "C:\\x", "C:/x", "c:x", "\\\\srv\\x", "a\\b",
        ".", "./x", "a/./b", "", "a\0b", "a\nb", "a\rb", "a\x1b[0m", "x" * 5000, "a/", "a//b", "/", "\ud800",
        "a\u2028b", unicodedata.normalize("NFD", "é.py"),
    ],
)  # fmt: skip
def test_G6_path_texts_that_leave_the_tree_are_refused(path: str) -> None:
    """No spelling of a path outside, nor an ambiguous one, gets as far as the file system."""
    assert code(path) == "AP401"


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".git", ".GIT/hooks/x", ".Git", ".g\u200cit/config", ".git\u200c/config", "\ufeff.git/x", "git~1/config",
        "GIT~2/x", "sub/.git/hooks/x", "sub/.git", ".git./config", ".git /config", ".git::$INDEX_ALLOCATION/x",
        "．git/config", ".ｇｉｔ/config", ".gi\u034ft/x", ".g\u00adit/x", ".git\ufe0f/x",
    ],
)  # fmt: skip
def test_G8_git_is_refused_in_every_spelling(path: str) -> None:
    """What any file system would take for `.git` is refused, also with the permission for its settings."""
    assert code(path) == "AP402"
    assert code(path, vcs_meta=True) == "AP402"


@pytest.mark.parametrize("path", [".gitmodules", ".gitattributes", "sub/.GitAttributes", "gitmod~1"])
def test_G8_settings_of_git_need_a_permission(root: Root, path: str) -> None:
    """`.gitmodules` and `.gitattributes` are written only where that was allowed, and may always be read."""
    assert code(path) == "AP402"
    assert check_relative(path, vcs_meta=True) == path
    with pytest.raises(PathRefused):
        root.write(path, b"x")
    with Root(root.path, vcs_meta=True) as allowed:
        allowed.write(path, b"x")
    assert root.read(path) == b"x"


@pytest.mark.parametrize(
    "path", [".autopilot/runs/1/journal.jsonl", ".Autopilot/x", ".autopilot", f"a/{TEMP_PREFIX}1"]
)
def test_G10_the_orchestrators_own_files_are_refused(path: str) -> None:
    """A run's evidence and settings can't be edited from inside it."""
    assert code(path) == "AP402"


@pytest.mark.parametrize(
    "path",
    [
        ".github/CODEOWNERS",
        "src/git.py",
        "a/.gitignore",
        "git/x",
        ".gitkeep",
        "a b/ü.py",
        "docs/.autopilot/x",
        "ab:c.txt",
    ],
)
def test_ordinary_paths_pass(path: str) -> None:
    """A path of an ordinary project file is returned as it is."""
    assert check_relative(path) == path


@given(st.text(max_size=30))
def test_an_accepted_path_stays_beneath_any_folder(path: str) -> None:
    """Whatever text passes is relative, normal, and has no component that moves up or names git."""
    try:
        check_relative(path)
    except PathRefused:
        return
    assert os.path.normpath(path) == path
    assert not os.path.isabs(path)
    assert not {"..", ".", "", ".git"} & set(path.casefold().split("/"))


def test_T_PATH_1_a_sibling_with_the_same_prefix_is_outside(root: Root) -> None:
    """`repo-evil` beside `repo` can't be reached, by text or by link."""
    evil = root.path.parent / "repo-evil"
    evil.mkdir()
    (evil / "x").write_text("secret")
    os.symlink(evil, root.path / "in")
    for path in ("../repo-evil/x", "in/x", str(evil / "x")):
        with pytest.raises(PathRefused):
            root.read(path)
        with pytest.raises(PathRefused):
            root.write(path, b"overwritten")
    assert (evil / "x").read_text() == "secret"


@pytest.mark.parametrize("kind", ["file", "folder", "dangling", "loop", "inside"])
def test_T_PATH_2_a_planted_link_is_never_followed(root: Root, kind: str) -> None:
    """A link planted in the worktree, wherever it points, makes every operation on it a refusal."""
    outside = root.path.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret")
    (root.path / "real").write_text("real")
    target = {
        "file": outside / "x",
        "folder": outside,
        "dangling": outside / "no",
        "loop": "link",
        "inside": "real",
    }
    os.symlink(target[kind], root.path / "link")
    for path in ("link", "link/x", "link/new/x"):
        for act in (
            lambda: root.read(path),  # noqa: B023
            lambda: root.write(path, b"!"),  # noqa: B023
            lambda: root.remove(path),  # noqa: B023
            lambda: root.rename(path, "free"),  # noqa: B023
            lambda: root.rename("real", path),  # noqa: B023
        ):
            with pytest.raises(PathRefused):
                act()
    with pytest.raises(PathRefused):
        root.exists("link")
    assert (outside / "x").read_text() == "secret"
    assert sorted(p.name for p in outside.iterdir()) == ["x"]
    assert (root.path / "real").read_text() == "real"
    assert root.list_files() == ["real"]


def test_T_PATH_2_a_race_between_link_and_folder_never_leads_out(root: Root) -> None:
    """While another process swaps a folder for a link outside, no read returns what lies outside."""
    outside = root.path.parent / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"outside")
    (root.path / "d").mkdir()
    (root.path / "d" / "x").write_bytes(b"inside")
    os.symlink(outside, root.path / "l")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(root.path / "d", root.path / "t")
            os.rename(root.path / "l", root.path / "d")
            os.rename(root.path / "d", root.path / "l")
            os.rename(root.path / "t", root.path / "d")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    try:
        for _ in range(2000):
            try:
                seen.add(root.read("d/x"))
            except PathRefused:
                seen.add(b"refused")
    finally:
        stop.set()
        swapper.join()
    assert b"outside" not in seen


def test_T_PATH_3_every_error_of_a_resolution_refuses(root: Root) -> None:
    """A name that is too long, a file used as a folder, a missing file: each is a refusal, none a fallback."""
    (root.path / "file").write_text("x")
    for path in ("n" * 300, "file/x", "file/x/y"):
        for act in (root.read, root.remove, root.stat_mode):
            with pytest.raises(PathRefused) as caught:
                act(path)
            assert caught.value.code == "AP403"
        with pytest.raises(PathRefused):
            root.write(path, b"x")
    with pytest.raises(PathRefused) as caught:
        root.read("missing")
    assert caught.value.code == "AP404"
    assert not root.exists("missing/deeper")


def test_T_PATH_4_a_refused_name_stays_refused_behind_a_link(root: Root) -> None:
    """A link with a harmless name to `.git` opens nothing: what counts is what it leads to."""
    (root.path / ".git").mkdir()
    (root.path / ".git" / "config").write_text("secret")
    os.symlink(".git", root.path / "docs")
    os.symlink(".git/config", root.path / "notes.txt")
    for path in ("docs/config", "notes.txt", ".git/config"):
        with pytest.raises(PathRefused):
            root.read(path)
        with pytest.raises(PathRefused):
            root.write(path, b"x")
    assert root.list_files() == []
    assert (root.path / ".git" / "config").read_text() == "secret"


def test_T_PATH_5_names_are_compared_as_forgiving_file_systems_do() -> None:
    """Case, width, ignorable code points and trailing dots hide neither git nor a file that runs later."""
    assert code(".ＧＩＴ\u200d/config") == "AP402"
    for path in (".VSCode/Tasks.json", "MAKEFILE", "Setup.PY", ".vsc\u200bode/x", ".ｅｎｖrc", ".mcp.json."):
        assert runs_later(path), path


def test_T_PATH_6_a_patch_can_not_climb_out(root: Root) -> None:
    """Deep and mixed climbs are refused, and nothing is made on the way."""
    for path in ("a/b/../../../x", "a/../../x", "..\\x", "a/..\\..\\x"):
        with pytest.raises(PathRefused):
            root.write(path, b"x")
    assert list(root.path.iterdir()) == []


def test_G16_only_regular_files_are_read_and_none_blocks(root: Root) -> None:
    """A FIFO, a socket and a folder are refused at once; a file over the cap is refused unread."""
    os.mkfifo(root.path / "fifo")
    (root.path / "folder").mkdir()
    (root.path / "empty").write_bytes(b"")
    (root.path / "big").write_bytes(b"x" * 101)
    here = os.getcwd()
    os.chdir(root.path)  # a socket's path has to be short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
    finally:
        os.chdir(here)
    for path in ("fifo", "folder", "socket"):
        with pytest.raises(PathRefused) as caught:
            root.read(path)
        assert caught.value.code == "AP405"
        with pytest.raises(PathRefused):
            root.write(path, b"x")
        with pytest.raises(PathRefused):
            root.remove(path)
    assert root.read("empty") == b""
    assert len(root.read("big", max_bytes=101)) == 101
    with pytest.raises(PathRefused) as caught:
        root.read("big", max_bytes=100)
    assert caught.value.code == "AP406"


def test_write_replaces_whole_and_keeps_modes_plain(root: Root) -> None:
    """A write makes folders, sets plain permission bits only, breaks hard links and leaves no temporary file."""
    root.write("a/b/c.txt", b"one", 0o4755)
    assert stat.S_IMODE(root.stat_mode("a/b/c.txt")) == 0o755
    os.link(root.path / "a/b/c.txt", root.path / "twin")
    root.write("a/b/c.txt", b"two")
    assert root.read("a/b/c.txt") == b"two"
    assert root.read("twin") == b"one"
    assert root.list_files() == ["a/b/c.txt", "twin"]
    assert [p.name for p in (root.path / "a/b").iterdir()] == ["c.txt"]


def test_remove_and_rename_prune_empty_folders(root: Root) -> None:
    """Folders that are empty without the file go with it; a rename never lands on another file."""
    root.write("a/b/c.txt", b"c")
    root.write("a/d.txt", b"d")
    root.rename("a/b/c.txt", "x/y/c.txt")
    assert not root.exists("a/b")
    with pytest.raises(PathRefused):
        root.rename("a/d.txt", "x/y/c.txt")
    root.remove("x/y/c.txt")
    assert not root.exists("x")
    assert root.list_files() == ["a/d.txt"]
    with pytest.raises(PathRefused) as caught:
        root.remove("x/y/c.txt")
    assert caught.value.code == "AP404"


def test_leftovers_of_a_killed_write_are_unseen_and_swept(root: Root) -> None:
    """A temporary file that a kill left behind is never listed, and `sweep` removes it."""
    root.write("a/b.txt", b"b")
    (root.path / "a" / f"{TEMP_PREFIX}00").write_bytes(b"half")
    assert root.list_files() == ["a/b.txt"]
    assert root.sweep() == 1
    assert [p.name for p in (root.path / "a").iterdir()] == ["b.txt"]


def test_list_files_narrows_by_glob_and_skips_folders(root: Root) -> None:
    """A list holds what the glob means, without git's files and skipped folders."""
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.md", "node_modules/e.py"):
        root.write(path, b"")
    (root.path / ".git").write_text("gitdir: elsewhere")
    assert root.list_files("**/*.py", skip={"node_modules"}) == ["a.py", "src/b.py", "src/deep/c.py"]
    assert root.list_files("src/*.py") == ["src/b.py"]


@pytest.mark.parametrize(
    ("path", "glob", "means"),
    [
        ("src/a.py", "src/*.py", True), ("src/x/a.py", "src/*.py", False), ("src/x/a.py", "src/**/*.py", True),
        ("src/a.py", "src/**/*.py", True), ("src/x/a.py", "src", True), ("src/x/a.py", "src/", True),
        ("srcs/a.py", "src", False), ("a.py", "?.py", True), ("a/b", "a?b", False), ("b.py", "[ab].py", True),
        ("b.py", "[!ab].py", False), ("a+b.py", "a+b.py", True), ("x", "**", True), ("a]b", "a]b", True), ("z", "[z-a]", False),
    ],
)  # fmt: skip
def test_globs(path: str, glob: str, means: bool) -> None:
    """`*` stays within a component, `**` crosses them, a folder means what is below it."""
    assert matches_glob(path, glob) is means


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile", ".pre-commit-config.yaml", "setup.py", "sub/setup.py",
        "Makefile", ".envrc", ".vscode/tasks.json", ".claude/settings.json", ".mcp.json", ".bashrc", "x/site.pth", ".husky/pre-push",
    ],
)  # fmt: skip
def test_files_that_run_later_are_known(path: str) -> None:
    """CI, hooks, build scripts, editor and shell settings are told apart."""
    assert runs_later(path)


@pytest.mark.parametrize(
    "path", ["conftest.py", "src/app.py", ".github/ISSUE_TEMPLATE.md", "docs/setup.md", "makefile.txt"]
)
def test_ordinary_files_do_not_run_later(path: str) -> None:
    """A test harness file and ordinary sources are not in that class."""
    assert not runs_later(path)
