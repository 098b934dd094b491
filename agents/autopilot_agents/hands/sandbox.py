"""The border around every command: what it may write, see and reach.

Level `bwrap`: all of the disk is read-only but the worktree; the user's home, /tmp and /run are empty; there is no
network; other processes are not visible. Run as root, bubblewrap is no border without `--cap-drop ALL` and
`--unshare-user`: the root file system could be mounted writable again. Level `none` is no border at all, has to be
asked for, and is printed in every report.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from autopilot_agents.errors import CommandRefused, SandboxUnavailable

Level = Literal["bwrap", "none"]

_TOOLCHAINS = (
    ".pyenv",
    ".rustup",
    ".nvm",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
)
"""Folders of the home folder that hold programs; masking them would silently change which python3 runs.

Not the whole of `.cargo` and `.local`: they also hold credentials and key rings.
"""
_HIDDEN_FILES = ("/etc/shadow", "/etc/gshadow")
_TMP_BYTES = 1 << 30
_SMALL_TMPFS_BYTES = 256 << 20
_NAMESPACES = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--unshare-net",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
)
_SELF_TEST = """
echo inside > inside/file && echo can-write-inside
if echo x > outside/file; then echo WROTE-OUTSIDE; fi
if [ -w / ] || [ -w /etc ]; then echo WROTE-OUTSIDE; fi
if mount -o remount,rw / && echo x > outside/file; then echo WROTE-OUTSIDE; fi
echo "net=$(readlink /proc/self/ns/net)"
while read -r name _; do case $name in *:*) echo "interface=${name%%:*}";; esac; done < /proc/net/dev
"""


@dataclass(frozen=True)
class Sandbox:
    """How commands are confined. Made by `detect_sandbox`, which proves that it holds."""

    level: Level

    def argv(
        self,
        *,
        root: Path,
        command_argv: Sequence[str],
        env: Mapping[str, str],
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        cwd: Path | None = None,
    ) -> list[str]:
        """Return what to execute so that `command_argv` can write to `root` and `writable` only.

        `env` is all that the command sees of an environment. The caller has to start the result with nothing secret
        in its own environment: bubblewrap's is readable inside, whatever `--clearenv` says.
        `readable` are paths that would be hidden because they lie in the home folder, /tmp or /run.
        A path of `readable` inside `root` is made read-only. `.git` in `root` is read-only always.
        """
        if self.level == "none":
            return list(command_argv)
        root = root.resolve()
        hidden = _hidden_folders()
        _refuse_wide_roots([root, *writable], hidden)
        argv = ["bwrap", *_NAMESPACES, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for folder in hidden:
            size = _TMP_BYTES if folder == Path("/tmp") else _SMALL_TMPFS_BYTES  # noqa: S108 - masked, not used
            argv += ["--size", str(size), "--tmpfs", str(folder)]
        argv += _hide_files()
        argv += _binds(
            root, hidden, [path.resolve() for path in writable], [path.resolve() for path in readable]
        )
        argv.append("--clearenv")
        for name, value in env.items():
            argv += ["--setenv", name, value]
        return [*argv, "--chdir", str(cwd.resolve() if cwd else root), "--", *command_argv]


async def detect_sandbox(*, allow_none: bool = False) -> Sandbox:
    """Return the strongest sandbox that was just shown to hold on this machine.

    Shown means: a write outside failed, also after trying to mount the disk writable; a write inside succeeded; the
    network is a private one without interfaces. Exit codes alone are not believed.

    Raises:
        SandboxUnavailable: AP501, none holds and `allow_none` is False.
    """
    if not sys.platform.startswith("linux"):
        reason = "bubblewrap needs Linux"
    elif shutil.which("bwrap") is None:
        reason = "the program bwrap is not installed"
    else:
        sandbox = Sandbox("bwrap")
        reason = await self_test(sandbox)
        if not reason:
            return sandbox
    if allow_none:
        return Sandbox("none")
    raise SandboxUnavailable(
        "AP501",
        "commands can't be confined on this machine",
        why=reason,
        fix="install bubblewrap 0.8 or later (apt install bubblewrap), or accept the risk with --unsafe-no-sandbox",
    )


async def self_test(sandbox: Sandbox) -> str:
    """Return why `sandbox` does not hold, or an empty string when every part of it was shown to work."""
    # The shell function runs everything, the probe of its own border too; it imports this module.
    from autopilot_agents.hands.shell import ShellLimits, run_shell

    with tempfile.TemporaryDirectory(prefix="autopilot-sandbox-") as name:
        base = Path(name).resolve()
        inside, outside = base / "inside", base / "outside"
        inside.mkdir()
        outside.mkdir()
        (outside / "file").write_text("untouched")
        script = _SELF_TEST.replace("inside/", f"{inside}/").replace("outside/", f"{outside}/")
        try:
            result = await run_shell(
                script, root=inside, sandbox=sandbox, readable=[outside], limits=ShellLimits(timeout_s=20.0)
            )
        except SandboxUnavailable as cause:
            return cause.why or cause.what
        return _verdict(result.view, inside / "file", outside / "file")


def _verdict(output: str, inside: Path, outside: Path) -> str:
    lines = output.splitlines()
    if "can-write-inside" not in lines or not inside.is_file():
        return "a write inside the worktree failed: " + " ".join(output.split())[:300]
    if "WROTE-OUTSIDE" in lines or outside.read_text() != "untouched":
        return "a write outside the worktree succeeded"
    network = [line.removeprefix("net=") for line in lines if line.startswith("net=")]
    if network in ([], [""], [os.readlink("/proc/self/ns/net")]):  # noqa: PTH115 - a magic link, no path
        return "the network is not a private one"
    if any(line.startswith("interface=") and line != "interface=lo" for line in lines):
        return "the network has interfaces"
    return ""


def _hidden_folders() -> list[Path]:
    """Return what is replaced by empty folders, parents first: /tmp, /run and the user's home."""
    homes = [os.environ.get("HOME", ""), pwd.getpwuid(os.getuid()).pw_dir]
    folders = {Path(home).resolve() for home in homes if Path(home).is_absolute()}
    folders |= {Path("/tmp"), Path("/run")}  # noqa: S108 - masked, not used
    return sorted((path for path in folders if path.is_dir() and path != Path("/")), key=_depth)


def _refuse_wide_roots(folders: Sequence[Path], hidden: Sequence[Path]) -> None:
    for folder in folders:
        if any(home.is_relative_to(folder.resolve()) for home in hidden):
            raise CommandRefused(
                "AP455",
                f"{folder} can't be opened for writing",
                why="it holds the home folder, /tmp or /run, which are hidden from commands",
                fix="work in a folder below it",
            )


def _hide_files() -> list[str]:
    argv = []
    for name in _HIDDEN_FILES:
        if Path(name).exists():
            argv += ["--ro-bind", "/dev/null", name]
    return argv


def _binds(root: Path, hidden: list[Path], writable: list[Path], readable: list[Path]) -> list[str]:
    """Return the binds in the order in which they must be made: a parent would cover what was bound below it."""
    open_folders = [root, *writable]
    binds: dict[Path, str] = {}
    for path in _programs(hidden):
        if not any(path.is_relative_to(folder) for folder in open_folders):
            binds[path] = "--ro-bind-try"
    for path in (*readable, *_git_folders(root)):
        binds[path] = "--ro-bind-try"
    for path in open_folders:
        binds[path] = "--bind"
    if (root / ".git").exists():
        binds[(root / ".git").resolve()] = "--ro-bind"
    ordered = sorted(binds.items(), key=lambda item: _depth(item[0]))
    return [word for path, kind in ordered for word in (kind, str(path), str(path))]


def _programs(hidden: list[Path]) -> Iterable[Path]:
    """Yield what lies in a hidden folder but is needed to run programs: toolchains, and this interpreter's code.

    A hidden folder itself, or a parent of one, is never opened again.
    """
    for folder in hidden:
        for name in _TOOLCHAINS:
            if (folder / name).exists():
                yield folder / name
    for name in (sys.prefix, sys.base_prefix, *sys.path):
        path = Path(name)
        if not path.is_absolute() or not path.exists():
            continue
        for place in {path, path.resolve()}:
            inside = any(place.is_relative_to(folder) for folder in hidden)
            if inside and not any(folder.is_relative_to(place) for folder in hidden):
                yield place


def _git_folders(root: Path) -> list[Path]:
    """Return the git folders that a linked worktree points to, so that reading git commands work in it."""
    pointer = root / ".git"
    if not pointer.is_file():
        return []
    try:
        target = pointer.read_text().removeprefix("gitdir:").strip()
        git_dir = (root / target).resolve()
        common = (git_dir / (git_dir / "commondir").read_text().strip()).resolve()
    except (OSError, UnicodeDecodeError):
        return []
    # A pointer that was tampered with must not open a folder that is no git folder.
    return [common] if (common / "objects").is_dir() and git_dir.parent == common / "worktrees" else []


def _depth(path: Path) -> tuple[int, str]:
    return len(path.parts), str(path)
