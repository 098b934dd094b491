"""What the sandbox promises: commands can't write, see or reach anything outside, tried in every way known here."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autopilot_agents.errors import CommandRefused, SandboxUnavailable
from autopilot_agents.hands.sandbox import Sandbox, detect_sandbox
from autopilot_agents.hands.shell import ShellLimits, ShellResult, run_shell

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox]

REQUIRED = os.environ.get("AUTOPILOT_REQUIRE_SANDBOX") == "1"
LIMITS = ShellLimits(timeout_s=30.0, term_grace_s=0.2)
CANARY = "canary-value-9f8e7d6c"


def bubblewrap_starts() -> bool:
    """Return whether bubblewrap can make namespaces here at all; whether they confine is what is tested."""
    probe = ["bwrap", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true"]
    return shutil.which("bwrap") is not None and subprocess.run(probe, check=False).returncode == 0


@pytest.fixture
async def sandbox() -> Sandbox:
    if not REQUIRED and not bubblewrap_starts():
        pytest.skip("bubblewrap 0.8 is not installed, or can't make namespaces here")
    return await detect_sandbox()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a worktree with a .git folder; a file beside it stands for the rest of the disk."""
    (tmp_path / "outside").write_text("untouched")
    folder = tmp_path / "root"
    folder.mkdir()
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", "init", "-q", "."], cwd=folder, env=env, check=True)
    return folder


async def run(command: str, root: Path, sandbox: Sandbox, **options: object) -> ShellResult:
    return await run_shell(command, root=root, sandbox=sandbox, limits=LIMITS, **options)  # type: ignore[arg-type]


WRITES = {
    "write": "echo x > {outside}",
    "append": "echo x >> {outside}",
    "relative": "echo x > ../outside",
    "symlink": "ln -s {outside} link && echo x > link",
    "symlinked folder": "ln -s {parent} up && echo x > up/outside",
    "hard link": "ln {outside} hard && echo x > hard",
    "move": "mv {outside} moved",
    "delete": "rm -f {outside}",
    "replace": "cp /etc/hostname {outside}",
    "truncate": "truncate -s 0 {outside}",
    "change mode": "chmod 777 {outside}",
    "change time": "touch -d 2001-01-01 {outside}",
    "remount": "mount -o remount,rw / && echo x > {outside}",
    "remount place": "mount -o remount,rw,bind {parent} && echo x > {outside}",
    "bind over": "mount --bind . {parent} && echo x > {outside}",
    "unmount": "umount {parent}; umount -l {parent}; umount -l /tmp; echo x > {outside}",
    "user namespace": "unshare -Urm sh -c 'mount -o remount,rw / && echo x > {outside}'",
    "mount namespace": "unshare -m sh -c 'mount -o remount,rw / && echo x > {outside}'",
    "nsenter": "nsenter -t 1 -m sh -c 'echo x > {outside}'",
    "root of init": "echo x > /proc/1/root{outside}",
    "own root": "echo x > /proc/self/root{outside}",
    "chroot": "chroot /proc/1/root sh -c 'echo x > {outside}'",
    "device": "mknod disk b 254 0 && echo x > disk",
    "pivot": "mkdir -p n/old && pivot_root n n/old",
}


@pytest.mark.parametrize("attempt", WRITES)
async def test_nothing_outside_can_be_written(attempt: str, root: Path, sandbox: Sandbox) -> None:
    """S1, I9: each way out fails with an error, and the file outside is the same afterwards, with its times."""
    outside = root.parent / "outside"
    before = (
        outside.read_bytes(),
        outside.stat().st_mode,
        outside.stat().st_mtime_ns,
        outside.stat().st_nlink,
    )
    command = WRITES[attempt].format(outside=outside, parent=outside.parent)
    # The file is opened for reading, so that the attempt meets it and not the empty /tmp.
    result = await run(command, root, sandbox, readable=[outside])
    assert result.exit_code != 0, result.view
    after = (
        outside.read_bytes(),
        outside.stat().st_mode,
        outside.stat().st_mtime_ns,
        outside.stat().st_nlink,
    )
    assert after == before


@pytest.mark.parametrize(
    "command",
    [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "git config core.fsmonitor 'touch x'",
        "mv .git gone",
        "rm -rf .git",
        "umount .git && echo x >> .git/config",
        "ln -s /tmp .git/new",
    ],
)
async def test_the_git_folder_is_read_only(command: str, root: Path, sandbox: Sandbox) -> None:
    """T-GIT-1: hooks and configuration, which git runs later, can't be written, moved or deleted."""
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    result = await run(command, root, sandbox)
    assert result.exit_code != 0, result.view
    assert {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()} == before


async def test_a_linked_worktree_can_be_read_by_git_but_not_committed_to(
    root: Path, sandbox: Sandbox
) -> None:
    """In a linked worktree under a hidden folder git status works, its pointer is read-only, and commits fail."""
    user = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
    who = ["-c", "user.name=u", "-c", "user.email=u@example.com"]
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "x"], cwd=root, env=user, check=True)
    tree = root.parent / "wt"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree)], cwd=root, env=user, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tree, env=user, check=True, capture_output=True
    ).stdout
    result = await run("touch new; git status --porcelain", tree, sandbox)
    assert (result.exit_code, result.view) == (0, "?? new")
    for command in ("git add new", "echo gitdir: /tmp > .git", "rm .git", f"echo x > {root}/.git/config"):
        assert (await run(command, tree, sandbox)).exit_code != 0
    assert (
        subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=tree, env=user, check=True, capture_output=True
        ).stdout
        == head
    )


async def test_commands_hold_no_capability(root: Path, sandbox: Sandbox) -> None:
    """KF3: also as root nothing is left of root's powers, nor can new ones be had; no new namespace can be made."""
    result = await run(
        "grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status; unshare -U true", root, sandbox
    )
    values = dict(line.split(":\t") for line in result.view.splitlines() if ":\t" in line)
    assert values.pop("NoNewPrivs") == "1"
    assert set(values.values()) == {"0" * 16}
    assert result.exit_code != 0


async def test_work_inside_is_possible(root: Path, sandbox: Sandbox) -> None:
    """The worktree, further writable folders and a scratch /tmp can be written; the first two stay."""
    more = root.parent / "more"
    more.mkdir()
    command = f"echo a > inside && echo b > {more}/file && echo c > /tmp/scratch && cat /tmp/scratch"
    result = await run(command, root, sandbox, writable=[more])
    assert (result.exit_code, result.view) == (0, "c")
    assert ((root / "inside").read_text(), (more / "file").read_text()) == ("a\n", "b\n")
    assert not Path("/tmp/scratch").exists()


async def test_a_readable_path_inside_the_root_is_read_only(root: Path, sandbox: Sandbox) -> None:
    """What is only to be read can be carved out of the writable root."""
    (root / "protected").mkdir()
    assert (await run("echo x > protected/file", root, sandbox, readable=[root / "protected"])).exit_code != 0


async def test_home_is_hidden_but_its_programs_are_not(
    root: Path, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I8: keys and credential files of the home folder are not there, the toolchains in it are."""
    home = tmp_path / "home"
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".cargo/credentials.toml",
        ".local/share/keyrings/k",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(CANARY)
    (home / ".local" / "bin").mkdir()
    (home / ".local" / "bin" / "tool").write_text("#!/bin/sh\necho tool works\n")
    (home / ".local" / "bin" / "tool").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    result = await run("grep -r canary ~; ~/.local/bin/tool; ls -A ~; echo x > ~/.bashrc", root, sandbox)
    assert (
        result.view.split("\n") == ["tool works", ".cargo", ".local"] or result.view == "tool works\n.local"
    )
    assert not (home / ".bashrc").exists()


async def test_this_interpreter_runs_inside(root: Path, sandbox: Sandbox) -> None:
    """The running Python is the same inside as outside, and so are its packages, wherever they are installed."""
    code = "import sys, anyio, autopilot_agents; print(sys.prefix)"
    result = await run(f'"{sys.executable}" -I -c "{code}"', root, sandbox)
    assert result.view == sys.prefix


async def test_no_secret_of_this_process_can_be_seen(
    root: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2, I8: neither the command's environment nor that of any process it can see holds the caller's key."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("HARMLESS_LOOKING", CANARY)
    result = await run(
        "env; for f in /proc/*/environ /proc/*/cmdline; do tr '\\0' '\\n' < $f 2>/dev/null; done; ls /proc | grep -c '^[0-9]'",
        root,
        sandbox,
        env={"MY_TOKEN": CANARY, "PYTHONPATH": "src"},
    )
    assert CANARY not in result.view
    assert "PYTHONPATH=src" in result.view
    assert int(result.view.splitlines()[-1]) < 10


async def test_there_is_no_network(root: Path, sandbox: Sandbox) -> None:
    """S3, I10: a server on this machine's loopback can't be reached over TCP or by name, nor any other address."""
    reached = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def accept() -> None:
            try:
                server.accept()[0].close()
                reached.set()
            except OSError:
                return

        listener = threading.Thread(target=accept)
        listener.start()
        port = server.getsockname()[1]
        for target in (f"127.0.0.1/{port}", f"localhost/{port}", "192.0.2.1/80", "169.254.169.254/80"):
            assert (await run(f"exec 3<>/dev/tcp/{target}", root, sandbox)).exit_code != 0
        assert (await run("exec 3<>/dev/udp/192.0.2.1/53 && echo x >&3", root, sandbox)).exit_code != 0
        assert not reached.is_set()
        socket.create_connection(("127.0.0.1", port)).close()
        listener.join()
    assert reached.is_set(), "the server itself works"


async def test_sockets_of_services_are_hidden(root: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    """I5: a service's socket in /run or /tmp, as docker's is, is not there."""
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(tmp_path / "s.sock"))
        result = await run(f"ls /run /var/run | grep -v : ; test -S {tmp_path}/s.sock", root, sandbox)
    assert (result.exit_code, result.view) == (1, "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root could read it anyway")
async def test_password_hashes_are_hidden_from_root(root: Path, sandbox: Sandbox) -> None:
    """Files that only root may read are hidden although commands of root run as root."""
    assert (await run("cat /etc/shadow", root, sandbox)).exit_code != 0


async def test_wide_folders_are_no_roots(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk, the home folder and what holds it can't be opened for writing, as root or as a further folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (Path("/"), Path("/tmp"), tmp_path, tmp_path.parent):
        with pytest.raises(CommandRefused) as caught:
            sandbox.argv(root=folder, command_argv=["true"], env={})
        assert caught.value.code == "AP455"


async def test_a_machine_without_bubblewrap_is_refused_or_waived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S7, I17: without bubblewrap the refusal says what to install; only a waiver gives level none."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable) as caught:
        await detect_sandbox()
    assert caught.value.code == "AP501"
    assert "apt install bubblewrap" in caught.value.fix
    assert await detect_sandbox(allow_none=True) == Sandbox("none")


@pytest.mark.parametrize(
    "fake",
    [
        'exec sh -c "$(eval echo \\"\\${$#}\\")"',
        "exit 0",
        "echo can-write-inside; exit 0",
        "echo bwrap: No permissions to create new namespace; exit 1",
    ],
)
async def test_a_bubblewrap_that_does_not_confine_is_not_believed(
    fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S7: a program of that name that runs commands unconfined, does nothing, or fails, is seen through."""
    (tmp_path / "bwrap").write_text(f"#!/bin/bash\n{fake}\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SandboxUnavailable) as caught:
        await detect_sandbox()
    assert caught.value.why


async def test_a_sandbox_that_can_not_be_set_up_runs_nothing(root: Path, sandbox: Sandbox) -> None:
    """S7: when bubblewrap fails to start a command, that is an error of its own, never the command's exit code."""
    with pytest.raises(SandboxUnavailable) as caught:
        await run("touch ran", root, sandbox, writable=[root / "missing"])
    assert caught.value.code == "AP502"
    assert "missing" in caught.value.why
    assert not (root / "ran").exists()
    assert (await run("echo 'bwrap: fake'; exit 1", root, sandbox)).exit_code == 1


def test_level_none_changes_nothing() -> None:
    """Level none gives the command back as it is."""
    assert Sandbox("none").argv(root=Path("/"), command_argv=["a", "b"], env={}) == ["a", "b"]


def test_bubblewrap_is_here_where_it_is_required() -> None:
    """Where a sandbox is required, a machine without bubblewrap is a failure and no skip."""
    assert not REQUIRED or shutil.which("bwrap")
