"""`autopilot init`, `autopilot trust` and `autopilot config show`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from autopilot.cli.detect import detect_roadmap, detect_tests
from autopilot.cli.result import Result
from autopilot.config import KEYS, Layer, load_config, repository_layers
from autopilot.home import Repository, exclude_folder, find_repository
from autopilot.trust import CONFIG, TrustBook
from autopilot_state.fs import RealFileSystem, make_private_directory, write_atomic

_TEMPLATE = """\
# Settings of autopilot for this repository. Flags and AUTOPILOT_* win over them; `autopilot config show --origin`
# prints what holds. After a change of a command: autopilot trust

# provider = "anthropic"      # or "offline"
# model = "claude-sonnet-4-5"
# playbook = "standard"       # or "quality"
# max_parallel = 4            # units at once
# max_agents = 8              # model requests at once
# max_usd = 25.0
# threshold = 9.0

[checks]
{test}
# setup = "pip install -e ."  # runs once in each worktree
# guards = ["make lint"]      # must not break on any merged tree
"""


def init(args: argparse.Namespace) -> Result:
    """Write .autopilot/config.toml with the test command that was found, and trust what was written."""
    repository = find_repository(Path.cwd())
    command, roadmap = detect_tests(repository.main), detect_roadmap(repository.main)
    path = repository.folder / "config.toml"
    excluded = exclude_folder(repository)
    written = not path.exists()
    if written:
        make_private_directory(path.parent)
        test = f"test = {_toml_text(command)}" if command else '# test = "make test"'
        write_atomic(RealFileSystem(), path, _TEMPLATE.format(test=test).encode())
        _pin_ours(repository)
    lines = [f"wrote {path}" if written else f"{path} is there already; it was left as it is"]
    lines.append(f"checks: {command}" if command else "no test command found: name one under [checks]")
    lines.append(f"roadmap: {roadmap}" if roadmap else "no roadmap found: write ROADMAP.md")
    lines += ["Next:", "  autopilot run --dry-run" if roadmap else "  autopilot demo"]
    data = {
        "config": str(path), "written": written, "excluded": excluded, "test": command,
        "roadmap": str(roadmap) if roadmap else None,
    }  # fmt: skip
    return Result(lines, data)


def _toml_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _pin_ours(repository: Repository) -> None:
    """Pin what init wrote, and nothing that came with the repository."""
    ours = {layer.trust: layer.digest for layer in repository_layers(repository) if layer.trust == CONFIG}
    TrustBook.of_user(os.environ).pin(repository, ours)


def trust(args: argparse.Namespace) -> Result:
    """Pin this repository's settings as they stand now, or forget the pins."""
    repository = find_repository(Path.cwd())
    book = TrustBook.of_user(os.environ)
    if args.revoke:
        gone = book.revoke(repository)
        return Result(
            ["nothing is trusted here any more" if gone else "nothing was trusted here"], {"revoked": gone}
        )
    layers = repository_layers(repository)
    book.pin(repository, {layer.trust: layer.digest for layer in layers if layer.trust})
    lines = [line for layer in layers for line in _layer_lines(layer)]
    data = [{"file": layer.origin, "sha256": layer.digest, "commands": layer.to_trust} for layer in layers]
    return Result(lines or ["this repository has no settings to trust"], {"trusted": data})


def _layer_lines(layer: Layer) -> list[str]:
    values = (f"  {key} = {_shown(layer.values[key])}" for key in layer.to_trust)
    return [f"trusted {layer.origin} (sha256 {layer.digest[:12]})", *values]


def config(args: argparse.Namespace) -> Result:
    """Print the settings that hold here, with `--origin` also where each comes from."""
    repository = find_repository(Path.cwd())
    found = load_config(repository, environ=os.environ, require_trust=False)
    values = {key: getattr(found, key.replace(".", "_")) for key in KEYS}
    width = max(map(len, values))
    lines = [
        f"{key:<{width}} = {_shown(value)}" + (f"   # {found.origin[key]}" if args.origin else "")
        for key, value in values.items()
    ]
    waiting = _not_trusted(repository)
    lines += [
        f"! {layer.origin}: {', '.join(layer.to_trust)} count after `autopilot trust`" for layer in waiting
    ]
    settings = {key: {"value": value, "origin": found.origin[key]} for key, value in values.items()}
    untrusted = [{"file": layer.origin, "keys": layer.to_trust} for layer in waiting]
    return Result(lines, {"settings": settings, "untrusted": untrusted})


def _not_trusted(repository: Repository) -> list[Layer]:
    book = TrustBook.of_user(os.environ)
    return [
        layer
        for layer in repository_layers(repository)
        if layer.to_trust and layer.trust and not book.is_pinned(repository, layer.trust, layer.digest)
    ]


def _shown(value: object) -> str:
    if value is None or value == ():
        return "(not set)"
    if isinstance(value, tuple):
        return ", ".join(_toml_text(str(item)) for item in value)
    return _toml_text(value) if isinstance(value, str) else str(value)
