"""What the commands show of a run, and what they change."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from autopilot.cli.stop import _signal
from autopilot.home import find_repository
from autopilot_state.store import load_state

pytestmark = pytest.mark.usefixtures("call")


def test_status_of_a_finished_run(finished: Any, call: Any) -> None:
    """It exits 0 though the run did not, and tells the run's own code."""
    found = call("status", "--json")
    assert found.code == found.json["exit_code"] == 0
    assert found.json["run_id"] == "2f9c"
    assert found.json["data"]["run"] == 3
    assert found.json["data"]["state"] == "finished"
    assert [phase["id"] for phase in found.json["phases"]] == ["18", "20", "20a", "20b", "20c", "21"]
    text = call("status").out
    assert text.startswith("autopilot 2f9c  finished (below_target)  standard (pass >= 9.5)")


def test_status_of_a_killed_run_says_so(unfinished: Any, call: Any) -> None:
    """The journal's last word was `running`, but nobody holds the lock."""
    text = call("status").out
    assert "stopped (its process is gone)" in text
    assert "  autopilot resume 2f9c" in text.splitlines()


def test_status_names_who_works_on_a_run(unfinished: Any, call: Any, hold: Any) -> None:
    """While a process holds the lock the run is running, and its pid is told."""
    holder = hold(unfinished, "2f9c")
    found = call("status", "--json")
    assert found.json["data"]["state"] == "running"
    assert found.json["data"]["holder"]["pid"] == holder.pid
    assert f"running (pid {holder.pid} on " in call("status").out


def test_status_before_the_first_run(shop: Any, call: Any) -> None:
    """No run is no error; a run of another name is."""
    assert "autopilot run" in call("status").out
    found = call("status", "beef", "--json")
    assert (found.code, found.json["error"]["code"]) == (2, "AP643")


def test_status_folds_the_journal_past_a_lost_projection(finished: Any, call: Any) -> None:
    """Without state.json, or with a damaged one, the journal tells the same."""
    whole = call("status").out
    state = finished.runs / "2f9c" / "state.json"
    state.write_bytes(state.read_bytes()[:100])
    assert call("status").out == whole
    state.unlink()
    assert call("status").out == whole
    assert not state.exists()


def test_the_newest_run_is_meant(finished: Any, call: Any, sample_run: Any) -> None:
    """Without RUN, the run that was last written to."""
    os.utime(finished.runs / "2f9c" / "journal.jsonl", (1, 1))
    sample_run(finished.runs / "beef", finish=False)
    assert call("status", "--json").json["run_id"] == "beef"
    assert call("status", "2f9c", "--json").json["run_id"] == "2f9c"
    assert call("status", "beee", "--json").json["error"]["code"] == "AP644"


@pytest.mark.parametrize("width", ["80", "20"])
def test_tables_fit_the_terminal(finished: Any, call: Any, width: str) -> None:
    """COLUMNS is obeyed down to a phone's width."""
    for command in ("status", "report"):
        table = call(command, COLUMNS=width).out.split("\n\n")[1 if command == "status" else 0]
        assert max(map(len, table.splitlines())) <= int(width)


def test_report_in_every_format(finished: Any, call: Any) -> None:
    """Each format is what its name says, with the same units."""
    assert call("report").out.splitlines()[0].startswith("Phase")
    assert call("report", "--format", "md").out.startswith("# Autopilot run 2f9c")
    assert call("report", "--format", "html").out.startswith("<!doctype html>")
    assert len(call("report", "--format", "csv").out.splitlines()) == 7
    assert len(json.loads(call("report", "--format", "json").out)["phases"]) == 6
    names = {
        event["name"] for event in json.loads(call("report", "--format", "chrome-trace").out)["traceEvents"]
    }
    assert {"18 API pagination", "build"} <= names
    assert call("report", "--format", "md", "--json").json["data"]["content"].startswith("# Autopilot")


def test_logs_show_the_output_of_checks_harmlessly(finished: Any, call: Any, tmp_path: Path) -> None:
    """Files are listed, logs printed from their end, control bytes shown; links and paths are not followed."""
    folder = finished.runs / "2f9c" / "artifacts" / "20a"
    folder.mkdir(parents=True)
    (folder / "check.log").write_text("".join(f"line {n}\n" for n in range(500)) + "\x1b[2Jgone\n")
    secret = tmp_path / "secret.log"
    secret.write_text("secret")
    (folder / "link.log").symlink_to(secret)
    found = call("logs", "20a")
    assert "\\x1b[2Jgone" in found.out
    assert "line 499" in found.out
    assert "line 100\n" not in found.out
    assert "secret" not in found.out
    assert "line 100\n" in call("logs", "20a", "--full").out
    assert call("logs", "18").out == "18 has left no files yet\n"
    for unit in ("../20a", "/etc", "99"):
        assert call("logs", unit, "--json").json["error"]["code"] == "AP659"


def test_watch_ends_with_a_finished_run(finished: Any, call: Any) -> None:
    """It shows the table and exits 0."""
    found = call("watch")
    assert found.code == 0
    assert "exit 3 (below_target)" in found.out
    assert "18 ended verified 9.6 4f2c1a9" in found.err


def test_watch_follows_until_the_run_ends(unfinished: Any, hold: Any, scribe: Any) -> None:
    """New records show up while it looks; it ends with the process that works on the run."""
    holder = hold(unfinished, "2f9c")
    with unfinished.start("watch") as watching:
        assert watching.stderr is not None
        seen = ""
        while "20b running build" not in seen:
            seen = watching.stderr.readline()
            assert seen != ""
        holder.kill()
        out, _ = watching.communicate(timeout=60)
    assert watching.returncode == 0
    assert "its process is gone" in out


def test_stop_ends_the_run_that_is_held(unfinished: Any, call: Any, hold: Any) -> None:
    """The command lies in the run's folder, the process gets SIGTERM, and stop waits for its end."""
    holder = hold(unfinished, "2f9c")
    found = call("stop", "--json")
    assert found.json["data"] == {"run": "2f9c", "ended": True, "signalled": True}
    assert holder.wait(timeout=30) == -15
    (command,) = (unfinished.runs / "2f9c" / "commands").iterdir()
    assert json.loads(command.read_bytes())["command"] == "stop"


def test_stop_never_signals_a_process_that_does_not_hold_the_lock(
    unfinished: Any, call: Any, hold: Any
) -> None:
    """A number in the lock file proves nothing: another run's holder, and a stale pid, are left alone."""
    holder = hold(unfinished, "beef")
    assert call("stop", "2f9c", "--json").json["error"]["code"] == "AP663"
    assert holder.poll() is None
    holder.kill()
    holder.wait()
    with subprocess.Popen(["sleep", "60"]) as innocent:
        about = {"pid": innocent.pid, "host": os.uname().nodename, "run": "2f9c"}
        (unfinished.root / ".git" / "autopilot.lock").write_text(json.dumps(about))
        assert call("stop", "--json").json["data"]["ended"] is True
        assert _signal(find_repository(unfinished.root), about) is False
        assert innocent.poll() is None
        innocent.kill()


def test_state_verifies_shows_and_compares(finished: Any, call: Any) -> None:
    """Any record of the past can be looked at."""
    verified = call("state", "verify", "--json").json["data"]
    assert verified["torn_bytes"] == 0
    assert verified["projection"] == "is the journal's state"
    assert call("state", "show", "--json").json["data"] == load_state(finished.runs / "2f9c")
    assert call("state", "show", "--at", "1", "--json").json["data"]["units"] == {}
    assert call("state", "show", "--at", "9999").code == 2
    patch = call("state", "diff", "3", "4", "--json").json["data"]["patch"]
    assert {"op": "replace", "path": "/units/18/status", "value": "running"} in patch
    assert call("state", "diff", "4", "4").out.endswith("the same state\n")


def test_state_rebuild_restores_the_projection(finished: Any, call: Any, hold: Any) -> None:
    """state.json comes back byte for byte; while a run lives, only that run writes."""
    state = finished.runs / "2f9c" / "state.json"
    before = state.read_bytes()
    state.write_bytes(b"{}")
    assert "damaged" in call("state", "verify").out
    assert call("state", "rebuild").code == 0
    assert state.read_bytes() == before
    hold(finished, "2f9c")
    assert call("state", "rebuild").code == 7


def test_a_damaged_journal_is_never_believed(finished: Any, call: Any) -> None:
    """A changed byte in the middle ends every reader with the record's number, and nothing is written."""
    journal = finished.runs / "2f9c" / "journal.jsonl"
    data = bytearray(journal.read_bytes())
    data[data.index(b"unit.queued")] ^= 1
    journal.write_bytes(bytes(data))
    (finished.runs / "2f9c" / "state.json").unlink()
    for words in (["status"], ["state", "verify"], ["state", "rebuild"], ["report"]):
        found = call(*words, "--json")
        assert (found.code, found.json["error"]["code"]) == (1, "AP102")
    assert journal.read_bytes() == bytes(data)


@pytest.mark.parametrize("name", ["state", "outcome", "roadmap", "playbook", "edits", "envelope"])
def test_schemas_are_printed_bare_or_in_the_envelope(call: Any, name: str) -> None:
    """Without --json the schema itself, for a validator to read."""
    bare = json.loads(call("schema", name).out)
    assert bare["$schema"].startswith("https://json-schema.org/")
    assert call("schema", name, "--json").json["data"] == bare


def test_written_schemas_say_what_is_written(finished: Any, call: Any) -> None:
    """Every key of state.json and of the envelope stands in its schema, and the other way round."""
    state = json.loads((finished.runs / "2f9c" / "state.json").read_bytes())
    schema = json.loads(call("schema", "state").out)
    assert set(state) == set(schema["required"])
    assert set(state["run"]) == set(schema["properties"]["run"]["required"])
    unit = schema["properties"]["units"]["additionalProperties"]
    assert all(set(row) == set(unit["required"]) for row in state["units"].values())
    whole = call("status", "--json").json
    schema = json.loads(call("schema", "envelope").out)
    assert set(whole) == set(schema["required"])
    assert set(whole["phases"][0]) == set(schema["properties"]["phases"]["items"]["required"])
    assert set(whole["usage"]) == set(schema["properties"]["usage"]["required"])


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"tests/test_a.py": "def test_a(): pass"}, "python -m pytest -q"),
        ({"tests/test_a.py": "import unittest"}, "python -m unittest discover"),
        ({"pyproject.toml": "[tool.pytest.ini_options]"}, "python -m pytest -q"),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "echo no test specified"}}'}, None),
        ({"Cargo.toml": "", "ROADMAP.md": ""}, "cargo test"),
        ({"go.mod": ""}, "go test ./..."),
        ({"Makefile": "all:\n\ntest:\n\ttrue\n"}, "make test"),
        ({"README.md": "x"}, None),
    ],
)
def test_init_finds_the_test_command(
    shop: Any, call: Any, files: dict[str, str], command: str | None
) -> None:
    """It writes the settings, trusts what it wrote, hides its folder from git, and asks nothing."""
    for name, text in files.items():
        (shop.root / name).parent.mkdir(exist_ok=True)
        (shop.root / name).write_text(text)
    assert call("init", "--json").json["data"]["test"] == command
    shown = call("config", "show", "--json").json["data"]
    assert shown["settings"]["checks.test"]["value"] == ([command] if command else [])
    assert shown["untrusted"] == []
    assert ".autopilot" not in subprocess.check_output(["git", "status", "--short"], cwd=shop.root, text=True)


def test_init_never_trusts_or_changes_what_was_there(shop: Any, call: Any) -> None:
    """A cloned config.toml stays untrusted until somebody trusts it."""
    config = shop.root / ".autopilot" / "config.toml"
    config.parent.mkdir()
    config.write_text('[checks]\ntest = "evil"\n')
    assert call("init", "--json").json["data"]["written"] is False
    assert config.read_text() == '[checks]\ntest = "evil"\n'
    (shop.root / "ROADMAP.md").write_text("# x")
    found = call("run", "--json")
    assert (found.code, found.json["error"]["code"]) == (6, "AP630")
    assert "checks.test count after `autopilot trust`" in call("config", "show").out
    assert 'checks.test = "evil"' in call("trust").out
    assert call("config", "show", "--json").json["data"]["untrusted"] == []
    assert call("trust", "--revoke").out == "nothing is trusted here any more\n"
    assert call("config", "show", "--json").json["data"]["untrusted"] != []


def test_config_shows_origins(shop: Any, call: Any) -> None:
    """Each value with the place that set it."""
    found = call("config", "show", "--origin", AUTOPILOT_MODEL="m")
    assert 'model           = "m"   # AUTOPILOT_MODEL' in found.out
    assert "# default" in found.out


def test_explain_tells_what_why_and_fix(call: Any) -> None:
    """In any case of letters; an unknown code is an error of use."""
    found = call("explain", "ap630")
    assert found.code == 0
    assert found.out.startswith("AP630: ")
    assert "Why: " in found.out
    assert "Fix: " in found.out
    assert call("explain", "AP000").code == 2


def test_the_end_of_a_run_elsewhere_names_the_way_there(sample: Any, call: Any, shop: Any) -> None:
    """Every command that is printed can be run as it stands: the demo's repository is not the current folder."""
    from autopilot.cli.run import ended

    call("status")
    lines = list(ended(3, sample).lines)
    assert lines[lines.index("Next:") + 1] == "  cd /srv/shop"
    sample["run"]["repository"] = str(shop.root)
    assert not any(line.startswith("  cd ") for line in ended(3, sample).lines)


@pytest.mark.parametrize("code", [0, 3, 143])
def test_the_end_of_a_run_keeps_its_exit_code(sample: Any, code: int) -> None:
    """The process ends with what the run says, and the envelope's reason is that code's name."""
    from autopilot.cli.run import ended
    from autopilot.errors import REASONS

    found = ended(code, sample)
    assert found.exit_code == code
    assert REASONS[found.reason] == code
