"""Settings of a run with the origin of each: flag, AUTOPILOT_*, the repository's files, the user's file, default.

The repository's files are untrusted (trust.py): keys that name a command or raise a cap count only when pinned, and
endpoints, keys, hooks and the sandbox can't be set there at all. An unknown key is an error that names file and line.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autopilot.home import Repository, config_home
from autopilot.trust import CONFIG, PYPROJECT, TrustBook, digest_of_file, digest_of_table, untrusted
from autopilot.values import Wrong, amount, commands, short_text, whole
from autopilot_state.errors import UsageError

MAX_CONFIG_BYTES = 1_000_000
MAX_USD = 1_000_000.0
NEVER_IN_REPOSITORY = (
    "providers",
    "provider_url",
    "base_url",
    "endpoint",
    "api_key",
    "keys",
    "sandbox",
    "hooks",
)


@dataclass(frozen=True)
class Config:
    """The resolved settings. `threshold` None: the playbook's; `max_minutes` None: no time limit."""

    provider: str = "anthropic"
    model: str | None = None
    playbook: str | None = None
    max_parallel: int = 1
    max_agents: int = 8
    max_split_depth: int = 3
    threshold: float | None = None
    python: str | None = None
    checks_test: tuple[str, ...] = ()
    checks_setup: str | None = None
    checks_guards: tuple[str, ...] = ()
    max_usd: float = 25.0
    max_minutes: float | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    """Where each value comes from, by dotted key: `flag`, `AUTOPILOT_MODEL`, a path, `default`."""


@dataclass(frozen=True)
class RunOptions:
    """What `run` and `resume` were asked for; None means that it was not given. `config` has it all resolved."""

    cwd: Path
    config: Config
    roadmap: Path | None = None
    phases: str | None = None
    mode: Literal["run", "resume"] = "run"
    run_id: str | None = None
    quality: bool = False
    lenient: bool = False
    sequential: bool = False
    max_parallel: int | None = None
    max_agents: int | None = None
    max_split_depth: int | None = None
    no_split: bool = False
    force: bool = False
    provider: str | None = None
    model: str | None = None
    playbook: str | None = None
    python: Path | None = None
    fresh: bool = False
    dry_run: bool = False
    detach: bool = False
    json: bool = False
    plain: bool = False
    events: str | None = None
    unsafe_no_sandbox: bool = False
    debug: bool = False
    max_minutes: float | None = None
    max_usd: float | None = None


@dataclass(frozen=True)
class DemoOptions:
    """What `demo` was asked for. `repo` None: the bundled package."""

    cwd: Path
    seed: int = 1
    repo: Path | None = None
    python: Path | None = None
    setup: str | None = None
    bugs: int | None = None
    plain: bool = False
    json: bool = False
    debug: bool = False


@dataclass(frozen=True)
class GcOptions:
    """What `gc` was asked for: list, or with `delete` remove what is on a durable ref."""

    cwd: Path
    delete: bool = False


@dataclass(frozen=True)
class _Key:
    read: Callable[[object], Any]
    needs_trust: bool = False
    """Names a command or raises a cap, so a repository's file must be pinned to set it."""


KEYS: Mapping[str, _Key] = {
    "provider": _Key(short_text),
    "model": _Key(short_text),
    "playbook": _Key(short_text, needs_trust=True),
    "max_parallel": _Key(whole(1, 256)),
    "max_agents": _Key(whole(1, 1024)),
    "max_split_depth": _Key(whole(0, 10)),
    "threshold": _Key(amount(10.0, zero=True)),
    "python": _Key(short_text, needs_trust=True),
    "checks.test": _Key(commands, needs_trust=True),
    "checks.setup": _Key(short_text, needs_trust=True),
    "checks.guards": _Key(commands, needs_trust=True),
    "max_usd": _Key(amount(MAX_USD), needs_trust=True),
    "max_minutes": _Key(amount(1_000_000.0), needs_trust=True),
}


@dataclass(frozen=True)
class Layer:
    """One source of settings, read: `values` by dotted key, `trust` the source's name in the trust book."""

    origin: str
    values: Mapping[str, Any]
    trust: str | None = None
    digest: str = ""
    path: Path | None = None

    @property
    def to_trust(self) -> list[str]:
        """The keys that count only when this source is pinned."""
        return [key for key in self.values if KEYS[key].needs_trust] if self.trust else []


def load_config(
    repository: Repository,
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    require_trust: bool = True,
) -> Config:
    """Return the settings for a repository; `flags` holds those that were given, by dotted key.

    Raises:
        UsageError: a file or variable can't be read as it stands; names file, line and key.
        PreflightError: the repository's files set commands that were not trusted (unless not required).
    """
    book = TrustBook.of_user(environ)
    layers = [_user_layer(environ)]
    for layer in repository_layers(repository):
        pinned = book.is_pinned(repository, layer.trust or "", layer.digest)
        if layer.to_trust and not pinned and require_trust:
            raise untrusted(layer.path or repository.top, layer.to_trust)
        layers.append(layer if pinned else _without(layer, layer.to_trust))
    layers += [_environment_layer(environ), Layer("flag", dict(flags or {}))]
    values: dict[str, Any] = {"max_parallel": min(4, os.cpu_count() or 1)}
    origin = dict.fromkeys(KEYS, "default")
    for layer in layers:
        for key, value in layer.values.items():
            values[key.replace(".", "_")] = value
            origin[key] = f"AUTOPILOT_{_variable(key)}" if layer.origin == "environment" else layer.origin
    return Config(**values, origin=origin)


def _without(layer: Layer, keys: Sequence[str]) -> Layer:
    return Layer(layer.origin, {key: value for key, value in layer.values.items() if key not in keys})


def repository_layers(repository: Repository) -> list[Layer]:
    """Return what pyproject.toml and .autopilot/config.toml of a repository set, the weaker first.

    Raises:
        UsageError: one of them can't be used as it stands.
    """
    found = []
    pyproject = repository.top / "pyproject.toml"
    data = _read(pyproject)
    if data is not None and b"autopilot" in data:
        text, parsed = _parse(pyproject, data)
        table = parsed.get("tool", {}).get("autopilot")
        if isinstance(table, dict):
            values = _values(pyproject, text, table, "tool.autopilot.", ours=False)
            found.append(Layer(str(pyproject), values, PYPROJECT, digest_of_table(table), pyproject))
    config = repository.folder / "config.toml"
    data = _read(config)
    if data is not None:
        text, parsed = _parse(config, data)
        values = _values(config, text, parsed, "", ours=False)
        found.append(Layer(str(config), values, CONFIG, digest_of_file(data), config))
    return found


def _user_layer(environ: Mapping[str, str]) -> Layer:
    path = config_home(environ) / "config.toml"
    data = _read(path)
    if data is None:
        return Layer(str(path), {})
    text, parsed = _parse(path, data)
    return Layer(str(path), _values(path, text, parsed, "", ours=True))


def _environment_layer(environ: Mapping[str, str]) -> Layer:
    """Other AUTOPILOT_* variables belong to other parts, so unknown ones are no error here."""
    values = {}
    for key, about in KEYS.items():
        variable = f"AUTOPILOT_{_variable(key)}"
        if environ.get(variable):
            try:
                values[key] = about.read(environ[variable])
            except Wrong as wrong:
                raise UsageError("AP633", f"{variable}: {wrong}", fix=f"unset {variable}") from None
    return Layer("environment", values)


def _variable(key: str) -> str:
    return key.upper().replace(".", "_")


def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as cause:
        raise UsageError(
            "AP631", f"{path} can't be read", why=str(cause), fix="make it a readable file"
        ) from None
    if len(data) > MAX_CONFIG_BYTES:
        raise UsageError("AP631", f"{path} is {len(data)} bytes", fix=f"keep it below {MAX_CONFIG_BYTES}")
    return data


def _parse(path: Path, data: bytes) -> tuple[str, dict[str, Any]]:
    try:
        text = data.decode("utf-8-sig")
        return text, tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as cause:
        raise UsageError(
            "AP631", f"{path} is no valid TOML", why=str(cause), fix="repair or remove it"
        ) from None


def _values(path: Path, text: str, table: Mapping[str, Any], prefix: str, *, ours: bool) -> dict[str, Any]:
    """Return the settings of one parsed file by dotted key, each checked."""
    values = {}
    for key, value in _flatten(table):
        where = f"{path}:{_line_of(text, prefix + key)}"
        if key not in KEYS:
            raise _unknown(where, key, ours=ours)
        try:
            values[key] = KEYS[key].read(value)
        except Wrong as wrong:
            raise UsageError("AP633", f"{where}: {key}: {wrong}", fix="correct the value") from None
    return values


def _flatten(table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return dotted keys and values; one level of tables is all that settings have."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict) and key not in KEYS:
            found += [(f"{key}.{inner}", item) for inner, item in value.items()]
            if not value and not any(known.startswith(f"{key}.") for known in KEYS):
                found.append((key, value))
        else:
            found.append((key, value))
    return found


def _unknown(where: str, key: str, *, ours: bool) -> UsageError:
    head = key.split(".", 1)[0]
    if not ours and (head in NEVER_IN_REPOSITORY or head.endswith("api_key")):
        return UsageError(
            "AP634",
            f"{where}: {key} can't be set by a file of the repository",
            why="whoever writes the repository could send your keys elsewhere, or open the sandbox",
            fix="remove the line",
        )
    near = difflib.get_close_matches(key, KEYS, n=1)
    return UsageError(
        "AP632",
        f"{where}: unknown key {key}",
        why="a misspelt setting that is silently ignored is worse than an error",
        fix=f"did you mean {near[0]}?" if near else f"known keys: {', '.join(KEYS)}",
    )


def _line_of(text: str, dotted: str) -> int:
    """Return the 1-based line on which a key stands; tomllib keeps no positions, so the text is looked through."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+([^\]]+)\]", line)
        name = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if header:
            section = header[1].replace(" ", "") + "."
            if dotted == section[:-1] or (dotted.startswith(section) and dotted.removeprefix(section) == ""):
                return number
        elif name and section + name[1].strip("\"'") == dotted:
            return number
    parent = dotted.rpartition(".")[0]
    return _line_of(text, parent) if parent else 1
