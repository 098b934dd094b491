"""Settings: which source wins, what is refused, and what a repository may not set."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.cli.options import is_phases, split_positionals
from autopilot.config import Config, load_config, repository_layers
from autopilot.home import Repository, exclude_folder, find_repository, run_folders, state_home
from autopilot.trust import TrustBook
from autopilot.values import Wrong, amount, whole
from autopilot_state.errors import AutopilotError, PreflightError, UsageError


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user without settings."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "xc"), "XDG_STATE_HOME": str(tmp_path / "xs")}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty repository."""
    top = tmp_path / "shop"
    (top / ".git" / "info").mkdir(parents=True)
    (top / ".autopilot").mkdir()
    return find_repository(top)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def trust_all(repository: Repository, environ: dict[str, str]) -> None:
    layers = repository_layers(repository)
    TrustBook.of_user(environ).pin(repository, {layer.trust: layer.digest for layer in layers if layer.trust})


def test_the_strongest_source_wins_and_is_named(repository: Repository, environ: dict[str, str]) -> None:
    """flag > AUTOPILOT_* > config.toml > pyproject > the user's file > default."""
    user = Path(environ["XDG_CONFIG_HOME"]) / "autopilot" / "config.toml"
    write(user, 'model = "user"\nmax_agents = 2\n')
    assert load_config(repository, environ=environ).model == "user"
    write(repository.top / "pyproject.toml", '[tool.autopilot]\nmodel = "pyproject"\n')
    assert load_config(repository, environ=environ).model == "pyproject"
    write(repository.folder / "config.toml", 'model = "folder"\n')
    assert load_config(repository, environ=environ).model == "folder"
    environ["AUTOPILOT_MODEL"] = "variable"
    assert load_config(repository, environ=environ).model == "variable"
    found = load_config(repository, environ=environ, flags={"model": "flag"})
    assert found.model == "flag"
    assert found.origin["model"] == "flag"
    assert found.origin["max_agents"] == str(user)
    assert found.origin["max_usd"] == "default"
    assert found.max_usd == 25.0


def test_an_unknown_key_is_named_with_file_line_and_neighbour(
    repository: Repository, environ: dict[str, str]
) -> None:
    """A misspelt setting is never ignored."""
    write(repository.folder / "config.toml", '\nprovider = "offline"\n[checks]\ntset = "make"\n')
    with pytest.raises(UsageError) as caught:
        load_config(repository, environ=environ)
    assert caught.value.code == "AP632"
    assert "config.toml:4: unknown key checks.tset" in caught.value.what
    assert "checks.test" in caught.value.fix


@pytest.mark.parametrize(
    "text",
    ["max_usd = 0", "max_usd = -1", "max_usd = nan", "max_usd = inf", "max_parallel = 0", "max_parallel = true",
     "max_parallel = 1.5", 'model = ""', "model = 3", "threshold = 11", "max_minutes = 1e309"],
)  # fmt: skip
def test_values_out_of_bounds_are_refused(repository: Repository, environ: dict[str, str], text: str) -> None:
    """No cap of zero, less, nothing or infinity; no number that is a text."""
    write(repository.folder / "config.toml", text)
    with pytest.raises(UsageError) as caught:
        load_config(repository, environ=environ, require_trust=False)
    assert caught.value.code == "AP633"
    assert "config.toml:1" in caught.value.what


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = ", b"a = 1\na = 2", b"\0", b"[" * 5000])
def test_broken_toml_is_refused_with_its_file(
    repository: Repository, environ: dict[str, str], data: bytes
) -> None:
    """Never a traceback, whatever stands in the file."""
    (repository.folder / "config.toml").write_bytes(data)
    with pytest.raises(UsageError) as caught:
        load_config(repository, environ=environ)
    assert str(repository.folder / "config.toml") in caught.value.what


def test_a_wrong_variable_is_named(repository: Repository, environ: dict[str, str]) -> None:
    """A variable of the environment is checked like any other value."""
    with pytest.raises(UsageError) as caught:
        load_config(repository, environ={**environ, "AUTOPILOT_MAX_USD": "lots"})
    assert "AUTOPILOT_MAX_USD" in caught.value.what


@pytest.mark.parametrize(
    "text",
    ['[providers.x]\nbase_url = "http://evil"', 'api_key = "k"', 'sandbox = "none"', "[hooks]\nstop = 'x'",
     'anthropic_api_key = "k"', 'base_url = "http://evil"'],
)  # fmt: skip
def test_a_repository_cant_set_endpoints_keys_hooks_or_the_sandbox(
    repository: Repository, environ: dict[str, str], text: str
) -> None:
    """Not even with trust: such a key in a repository's file is refused."""
    write(repository.folder / "config.toml", text)
    with pytest.raises(UsageError) as caught:
        load_config(repository, environ=environ)
    assert caught.value.code == "AP634"
    assert "evil" not in caught.value.what


@pytest.mark.parametrize(
    "line", ['checks.test = "make evil"', 'checks.setup = "evil"', 'python = "./evil"', "max_usd = 9000"]
)
@pytest.mark.parametrize("file", ["pyproject.toml", ".autopilot/config.toml"])
def test_commands_of_a_repository_need_trust(
    repository: Repository, environ: dict[str, str], line: str, file: str
) -> None:
    """A cloned repository brings no command and no higher cap along; after a change it must be trusted again."""
    path, head = repository.top / file, "[tool.autopilot]\n" if file == "pyproject.toml" else ""
    write(path, head + line + "\n")
    with pytest.raises(PreflightError) as caught:
        load_config(repository, environ=environ)
    assert caught.value.code == "AP630"
    assert "autopilot trust" in caught.value.fix
    untouched = load_config(repository, environ=environ, require_trust=False)
    assert untouched.checks_test == ()
    assert untouched.max_usd == 25.0
    trust_all(repository, environ)
    assert load_config(repository, environ=environ) != untouched
    write(path, head + line.replace("evil", "worse").replace("9000", "9001") + "\n")
    with pytest.raises(PreflightError):
        load_config(repository, environ=environ)


def test_harmless_settings_of_a_repository_count_without_trust(
    repository: Repository, environ: dict[str, str]
) -> None:
    """Trust is asked for commands, not for a model's name."""
    write(repository.folder / "config.toml", 'model = "m"\nmax_parallel = 3\n')
    found = load_config(repository, environ=environ)
    assert (found.model, found.max_parallel) == ("m", 3)


def test_both_forms_of_checks_are_read(repository: Repository, environ: dict[str, str]) -> None:
    """One command as a text, several as a list."""
    write(repository.folder / "config.toml", '[checks]\ntest = "a"\nguards = ["b", "c"]\n')
    trust_all(repository, environ)
    found = load_config(repository, environ=environ)
    assert (found.checks_test, found.checks_guards) == (("a",), ("b", "c"))


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers())))
def test_readers_of_numbers_never_let_a_wrong_one_through(value: object) -> None:
    """In bounds and finite, or refused."""
    for read, low, high in ((whole(1, 64), 1.0, 64.0), (amount(64.0), 0.0, 64.0)):
        try:
            number = float(read(value))
        except Wrong:
            continue
        assert low <= number <= high


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", True), ("1-7", True), ("3,5,8", True), ("20a", True), ("6.1-7,9", True), ("all", True), ("next", True),
     ("ROADMAP.md", False), ("3,", False), ("", False), ("-3", False), ("3;rm", False), ("3\n", False)],
)  # fmt: skip
def test_grammar_of_phases(text: str, expected: bool) -> None:
    """What may follow `run` to choose phases."""
    assert is_phases(text) is expected


def test_a_lone_positional_that_is_a_file_is_the_roadmap(tmp_path: Path) -> None:
    """`run 3` means phase 3, unless a file is called so."""
    assert split_positionals("3", None, tmp_path) == (None, "3")
    write(tmp_path / "3", "x")
    assert split_positionals("3", None, tmp_path) == (tmp_path / "3", None)
    for wrong in ("no such.md", "x" * 5000, "a\0b", "$(touch evil)"):
        with pytest.raises(UsageError):
            split_positionals(wrong, None, tmp_path)


def test_linked_worktrees_share_the_folder(tmp_path: Path) -> None:
    """Runs belong to the repository, whichever worktree one stands in, at any depth."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    main = tmp_path / "main"
    subprocess.run([*git, "init", "-q", str(main)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Start"], cwd=main, check=True)
    subprocess.run([*git, "worktree", "add", "-q", "../linked"], cwd=main, check=True)
    (tmp_path / "linked" / "deep").mkdir()
    found = find_repository(tmp_path / "linked" / "deep")
    assert found.top == tmp_path / "linked"
    assert found.main == main
    assert found.common_dir == find_repository(main).common_dir


def test_a_place_without_a_repository_is_refused(tmp_path: Path) -> None:
    """The path is named, and what to run."""
    for path, code in ((tmp_path, "AP641"), (tmp_path / "missing", "AP640")):
        with pytest.raises(AutopilotError) as caught:
            find_repository(path)
        assert (caught.value.code, caught.value.exit_code) == (code, 6)
        assert str(path) in caught.value.what
    (tmp_path / ".git").write_text("nonsense")
    with pytest.raises(PreflightError):
        find_repository(tmp_path)


def test_only_folders_with_a_runs_name_are_runs(repository: Repository, tmp_path: Path) -> None:
    """A link or a stray folder is never taken for a run."""
    for name in ("2f9c", "notes", "..x"):
        write(repository.runs / name / "journal.jsonl", "")
    (repository.runs / "beef").symlink_to(repository.runs / "2f9c")
    assert [path.name for path in run_folders(repository)] == ["2f9c"]


def test_exclusion_is_added_once_and_keeps_the_file(repository: Repository) -> None:
    """The user's lines of info/exclude stay as they were."""
    path = repository.common_dir / "info" / "exclude"
    path.write_text("*.tmp")
    assert exclude_folder(repository) is True
    assert exclude_folder(repository) is False
    assert path.read_text() == "*.tmp\n/.autopilot/\n"


def test_relative_xdg_folders_are_ignored() -> None:
    """As the specification says; and without any home the variable is named."""
    assert state_home({"XDG_STATE_HOME": "rel", "HOME": "/h"}) == Path("/h/.local/state/autopilot")


def test_defaults_hold_without_any_file(repository: Repository, environ: dict[str, str]) -> None:
    """What the documentation promises when nothing is set."""
    found = load_config(repository, environ=environ)
    assert isinstance(found, Config)
    assert (found.provider, found.max_agents, found.max_split_depth, found.max_minutes) == (
        "anthropic",
        8,
        3,
        None,
    )
    assert 1 <= found.max_parallel <= 4
