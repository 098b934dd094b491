"""What the shell function promises: every command ends, with all it started, and leaves a bounded, clean view."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import pytest

from autopilot_agents.errors import CommandRefused, SandboxUnavailable
from autopilot_agents.hands.redact import Redactor
from autopilot_agents.hands.sandbox import Sandbox, detect_sandbox
from autopilot_agents.hands.shell import (
    ShellLimits,
    ShellResult,
    ShellTool,
    banned_edit,
    run_agent_shell,
    run_shell,
)
from autopilot_agents.protocols import Tool

pytestmark = pytest.mark.anyio

SHORT = ShellLimits(timeout_s=1.0, term_grace_s=0.2)
LONG = ShellLimits(timeout_s=60.0, term_grace_s=0.2)


@pytest.fixture(params=["bwrap", "none"])
async def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Return each level in turn: what is promised here holds with and without a sandbox."""
    if request.param == "none":
        return Sandbox("none")
    try:
        return await detect_sandbox()
    except SandboxUnavailable as missing:
        if os.environ.get("AUTOPILOT_REQUIRE_SANDBOX") == "1":
            pytest.fail(f"a sandbox is required here: {missing.why}")
        pytest.skip(f"no sandbox: {missing.why}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def processes_with(mark: str) -> list[int]:
    """Return the living processes that have `mark` among their arguments."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("command", "code", "view"),
    [
        ("echo out; echo err >&2; exit 3", 3, "out\nerr"),
        ("false | true", 1, ""),
        ("kill -9 $$", 137, ""),
        ("kill -TERM $$", 143, ""),
        ("", 0, ""),
        ("no-such-program-here", 127, None),
        ('cat; read x; echo "read: $?"', 0, "read: 1"),
        ("cat <<'END'\nhere $x\nEND", 0, "here $x"),
        ("pwd -P; ulimit -c", 0, None),
    ],
)
async def test_status_and_output_come_back(
    command: str, code: int, view: str | None, root: Path, sandbox: Sandbox
) -> None:
    """I3, I7, I12: exit status, signals as 128 + n, failures in pipes, both streams in order, no input."""
    result = await run_shell(command, root=root, sandbox=sandbox, limits=LONG)
    assert (result.exit_code, result.timed_out) == (code, False)
    assert view is None or result.view == view


async def test_every_command_is_fresh(root: Path, sandbox: Sandbox) -> None:
    """I12: nothing that one command set (variables, functions, folder) is there for the next."""
    await run_shell(
        "cd /; export GIT_DIR=x; git() { echo fake; }; export -f git", root=root, sandbox=sandbox, limits=LONG
    )
    result = await run_shell(
        'echo "[$GIT_DIR]"; type -t git; pwd -P', root=root, sandbox=sandbox, limits=LONG
    )
    assert result.view == f"[]\nfile\n{root.resolve()}"


@pytest.mark.parametrize(
    "command",
    [
        "echo begun; sleep 7654",
        "echo begun; trap '' TERM; sleep 7654; sleep 7654",
        "echo begun; sleep 7654 & kill -STOP $$",
    ],
)
async def test_the_time_limit_ends_the_whole_tree(command: str, root: Path, sandbox: Sandbox) -> None:
    """I3, I7: at the limit it is 124, what was printed is kept, and nothing is left, whoever ignores or stops."""
    mark = "7654.5" if sandbox.level == "bwrap" else "7654.25"
    result = await run_shell(command.replace("7654", mark), root=root, sandbox=sandbox, limits=SHORT)
    assert (result.exit_code, result.timed_out, result.view) == (124, True, "begun")
    assert processes_with(mark) == []


async def test_commands_are_asked_to_end_before_they_are_killed(root: Path, sandbox: Sandbox) -> None:
    """I3: a command that handles TERM gets the time to clean up."""
    command = "trap 'echo cleaned > up; exit 0' TERM; sleep 7655 & wait"
    await run_shell(command, root=root, sandbox=sandbox, limits=ShellLimits(timeout_s=2.5, term_grace_s=20))
    assert (root / "up").read_text() == "cleaned\n"


@pytest.mark.parametrize(
    "start",
    [
        "sleep {mark} &",
        "nohup sleep {mark} >/dev/null 2>&1 & disown",
        "setsid sleep {mark} &",
        "(setsid setsid nohup sleep {mark} &) &",
        "python3 -c \"import os; os.fork() or (os.setsid(), os.fork() or os.execvp('sleep', ['sleep', '{mark}']))\"",
    ],
)
async def test_what_stays_in_the_background_is_ended(start: str, root: Path, sandbox: Sandbox) -> None:
    """I4, I5: the call returns when the shell does, though the pipe is held open, and daemons are dead then."""
    mark = f"8765.{os.getpid()}"
    result = await run_shell(start.format(mark=mark) + "\necho done", root=root, sandbox=sandbox, limits=LONG)
    assert (result.exit_code, result.view) == (0, "done")
    assert processes_with(mark) == []


async def test_cancelling_ends_the_whole_tree(root: Path, sandbox: Sandbox) -> None:
    """A cancelled call leaves no process behind, also none that left its session."""
    mark = f"9876.{os.getpid()}"
    with anyio.move_on_after(30) as scope:
        async with anyio.create_task_group() as group:

            async def cancel_when_started() -> None:
                while len(processes_with(mark)) < 2 or not (root / "started").exists():
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()

            group.start_soon(cancel_when_started)
            await run_shell(
                f"sleep {mark} & setsid sleep {mark} & touch started; wait",
                root=root,
                sandbox=sandbox,
                limits=LONG,
            )
    assert not scope.cancelled_caught
    assert processes_with(mark) == []


async def test_many_lines_are_kept_on_disk_and_shortened_for_the_model(
    root: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    """I1: the log has all lines, the view its limits, and the cause of a failure is in it."""
    log = tmp_path / "logs" / "command.log"
    command = "seq 1 3000; echo 'ValueError: the cause'; seq 3002 6000; exit 1"
    result = await run_shell(command, root=root, sandbox=sandbox, limits=LONG, log_path=log)
    assert "3001: ValueError: the cause" in result.view
    assert len(result.view.splitlines()) <= 240
    assert len(log.read_text().splitlines()) == 6000
    assert result.truncated
    assert result.output_bytes == log.stat().st_size
    full = await run_shell(command, root=root, sandbox=sandbox, limits=LONG, full_output=True)
    assert len(full.view.splitlines()) == 6000
    assert not full.truncated


async def test_endless_output_is_bounded(root: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    """I1: `yes` runs into the time limit, with the log at its cap and a view as small as any."""
    log = tmp_path / "log"
    limits = ShellLimits(timeout_s=0.7, term_grace_s=0.1, log_bytes=100_000)
    result = await run_shell("yes", root=root, sandbox=sandbox, limits=limits, log_path=log)
    assert result.exit_code == 124
    assert result.output_bytes > 100_000
    assert log.stat().st_size < 100_100
    assert len(result.view) < 16_384


async def test_a_log_is_never_written_through_a_symlink(root: Path, tmp_path: Path) -> None:
    """A log whose name was made a symlink is refused before the command runs."""
    (tmp_path / "log").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic"):
        await run_shell("touch ran", root=root, sandbox=Sandbox("none"), log_path=tmp_path / "log")
    assert not (tmp_path / "victim").exists()
    assert not (root / "ran").exists()


async def test_secrets_are_in_neither_view_nor_log(root: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    """S2, I8: a secret is taken out of view and log, also when colours or slow printing split it."""
    secret = "hunter2-hunter2"
    command = (
        "printf hunter2; sleep 0.05; echo -hunter2; printf 'hunter2-\\033[0mhunter2\\n'; "
        f"echo {secret} | base64; echo API_KEY=abcdef123456"
    )
    log = tmp_path / "log"
    redactor = Redactor([secret])
    result = await run_shell(
        command, root=root, sandbox=sandbox, limits=LONG, log_path=log, redactor=redactor
    )
    for text in (result.view, log.read_text(), result.command):
        assert secret not in text
        assert "abcdef123456" not in text
    assert result.view.splitlines()[:2] == ["[redacted]", "[redacted]"]


async def test_the_environment_is_a_short_list(
    root: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2, I12: of the caller's environment only the usual few variables pass, and given ones without secrets."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-canary")
    monkeypatch.setenv("GIT_DIR", "canary-canary")
    monkeypatch.setenv("BASH_ENV", "/nonexistent/canary")
    given = {"PYTHONPATH": "src", "NPM_TOKEN": "canary-canary", "BASH_ENV": "canary-canary"}
    result = await run_shell("env", root=root, sandbox=sandbox, limits=LONG, env=given)
    env = dict(line.split("=", 1) for line in result.view.splitlines())
    assert "canary" not in result.view
    assert set(env) - {"PATH", "HOME", "LANG", "TERM", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS",
        "PYTHONDONTWRITEBYTECODE", "CI", "PYTHONPATH", "AUTOPILOT_COMMAND_ID", "PWD", "SHLVL", "_", "OLDPWD"} == set()  # fmt: skip
    assert (env["LANG"], env["TERM"], env["CI"], env["PYTHONPATH"]) == ("C.UTF-8", "dumb", "1", "src")


async def test_a_command_of_two_megabytes_runs(root: Path, sandbox: Sandbox) -> None:
    """I12: a command longer than an argument may be still runs, with its status."""
    result = await run_shell(
        f": '{'x' * 2_000_000}'\necho long; exit 5", root=root, sandbox=sandbox, limits=LONG
    )
    assert (result.exit_code, result.view) == (5, "long")


@pytest.mark.parametrize(("command", "code"), [("a\0b", "AP452"), ("a\ud800b", "AP452")])
async def test_text_that_no_shell_takes_is_refused(command: str, code: str, root: Path) -> None:
    """I12: a NUL or broken text is refused before anything is started."""
    with pytest.raises(CommandRefused) as caught:
        await run_shell(command, root=root, sandbox=Sandbox("none"))
    assert caught.value.code == code


async def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    """A worktree that is gone is an error of its own, not a failed command."""
    with pytest.raises(CommandRefused) as caught:
        await run_shell("true", root=tmp_path / "gone", sandbox=Sandbox("none"))
    assert caught.value.code == "AP454"


async def test_no_core_is_dumped(root: Path, sandbox: Sandbox) -> None:
    """I7: a crash is its signal, and leaves no core file in the worktree."""
    result = await run_shell("sleep 0.05; sh -c 'kill -SEGV $$'", root=root, sandbox=sandbox, limits=LONG)
    assert result.exit_code == 128 + signal.SIGSEGV
    assert list(root.iterdir()) == []


async def test_no_descriptor_is_left_open(root: Path, sandbox: Sandbox) -> None:
    """R7: after many commands this process has as many open files as before."""
    await run_shell("true", root=root, sandbox=sandbox, limits=LONG)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await run_shell("true", root=root, sandbox=sandbox, limits=LONG)
    assert len(os.listdir("/proc/self/fd")) == before


BANNED = [
    "sed -i s/a/b/ x.py", "sed -Ei.bak 's/a/b/' x.py", "sed --in-place s/a/b/ x", "find . -name '*.py' -exec sed -i s/a/b/ {} +",
    "grep -l a . | xargs sed -i s/a/b/", "perl -pi -e s/a/b/ x", "perl -i.bak -pe s/a/b/ x", "gawk -i inplace 1 x",
    "cat > x.py <<'EOF'\nprint(1)\nEOF", "cat <<EOF > x.py\nprint(1)\nEOF", "cat > x.py", "echo 'a' >> x.py", "printf 'a' > src/x.py",
    "> x.py", "echo a | tee x.py", "cd src && echo a > x.py", "cat <<EOF | tee x.py\na\nEOF", "patch -p1 < fix.diff", "git apply fix.diff",
    "ed x.py", "vim -c wq x.py", "bash -c 'echo a > x.py'", "sh -c \"sed -i s/a/b/ x\"", "truncate -s 0 x.py", "dd if=a of=x.py",
    "python -c \"open('x.py', 'w').write('a')\"", "python3 - <<'EOF'\nfrom pathlib import Path\nPath('x').write_text('a')\nEOF",
    "true $(sed -i s/a/b/ x)", "if true; then echo a > x.py; fi", "FOO=1 sudo sed -i s/a/b/ x", "echo 'unfinished > x.py && sed -i s/a/b/ x",
    "node -e \"require('fs').writeFileSync('x', 'a')\"", "bash <<'EOF'\nsed -i s/a/b/ x\nEOF",
]  # fmt: skip
ALLOWED = [
    "pytest -q 2>&1 | tail -20", "pytest -x > /tmp/out.txt 2>&1", "sed -n 1,20p x.py", "sed 's/-i/x/' x", "grep -rn 'sed -i' docs",
    "cat x.py", "echo done", "echo 'a > b'", "ls >/dev/null 2>&1", "git diff HEAD", "python -c 'print(open(\"x\").read())'", "perl -ne print x",
    "python -m build", "cat <<'EOF'\na > b\nEOF", "python3 - <<'EOF'\nprint(1 > 0)\nEOF", "make -j2 && ./run --flag", "perl -Mstrict -e 1",
    "find . -name '*.py' | xargs wc -l", "echo a | tee /dev/stderr", "echo a >&2", "awk '$1 > 3' x", "test 3 -gt 2 && echo ok", "", "'",
    "git log --format='%h <%ae>'", "[[ a < b ]]",
]  # fmt: skip


@pytest.mark.parametrize("command", BANNED)
def test_editing_by_shell_is_refused_with_the_operation_to_use(command: str) -> None:
    """Each usual way of writing a file from the shell is refused, and the refusal says what to do."""
    reason = banned_edit(command)
    assert reason is not None
    assert "edit operation" in reason


@pytest.mark.parametrize("command", ALLOWED)
def test_ordinary_commands_are_not_refused(command: str) -> None:
    """Running, reading, searching, and writing to scratch places is no edit."""
    assert banned_edit(command) is None


async def test_an_agents_edit_is_not_run(root: Path) -> None:
    """A refused command has not been started; the refusal is an error with a code that the model is told."""
    with pytest.raises(CommandRefused) as caught:
        await run_agent_shell("echo x > file", root=root, sandbox=Sandbox("none"))
    assert caught.value.code == "AP451"
    assert not (root / "file").exists()


async def test_the_tool_answers_with_view_and_status(root: Path, sandbox: Sandbox) -> None:
    """A role gets the view and the exit code as text; the caller gets the result for its journal."""
    results: list[ShellResult] = []
    tool: Tool = ShellTool(root, sandbox, Redactor(), results.append, limits=LONG)
    assert await tool.run({"command": "echo hello; exit 2"}) == "hello\n[exit code 2]"
    assert await tool.run({"command": "echo a; sleep 60", "timeout_s": 0.5}) == (
        "a\n[ended at the time limit of 0.5 s; exit code 124]"
    )
    assert [result.exit_code for result in results] == [2, 124]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": ""},
        {"command": 3},
        {"command": "ls", "timeout_s": 601},
        {"command": "ls", "timeout_s": True},
        {"command": "ls", "timeout_s": -1},
    ],
)
async def test_the_tool_checks_its_arguments(arguments: dict[str, object], root: Path) -> None:
    """Arguments of a model are not trusted: wrong types and limits are refused with a reason."""
    with pytest.raises(CommandRefused) as caught:
        await ShellTool(root, Sandbox("none")).run(arguments)
    assert caught.value.code == "AP453"


async def test_commands_can_run_side_by_side(root: Path, sandbox: Sandbox) -> None:
    """Several at once each get their own output and status."""
    codes: dict[int, tuple[int, str]] = {}

    async def one(number: int) -> None:
        result = await run_shell(f"echo {number}; exit {number}", root=root, sandbox=sandbox, limits=LONG)
        codes[number] = (result.exit_code, result.view)

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(one, number)
    assert codes == {number: (number, str(number)) for number in range(6)}
