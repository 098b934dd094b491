"""Rules of the layout that no linter knows: who may start processes, who may rename, where packages begin."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("state", "playbooks", "agents", "orchestrator")

MAY_IMPORT = {
    "subprocess": {
        "agents/autopilot_agents/hands/shell.py",
        "agents/autopilot_agents/hands/processes.py",
        "agents/autopilot_agents/hands/git.py",
        "agents/autopilot_agents/hands/git_process.py",
        "orchestrator/autopilot/cli/detach.py",
    },
    "anthropic": {
        "agents/autopilot_agents/providers/anthropic.py",
        "agents/autopilot_agents/providers/anthropic_messages.py",
    },
}
MAY_SYNC = {"state/autopilot_state/fs.py"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield every module of ours with its path; the demo's package and the repair search are data and a program."""
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if "/demo/package/" not in name:
                yield name, ast.parse(path.read_text(), name)


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield the first word of every module that is imported, at the top or inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0]


def calls_of_os(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions of `os` that are called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            value = node.func.value
            if isinstance(value, ast.Name) and value.id == "os":
                yield node.func.attr


def breaches() -> Iterator[str]:
    """Yield one line for each broken rule."""
    for name, tree in modules():
        found = set(imports(tree))
        for module, allowed in MAY_IMPORT.items():
            if module in found and name not in allowed:
                yield f"{name}: imports {module}; only {', '.join(sorted(allowed))} may"
        if "langgraph" in found and not name.startswith("orchestrator/"):
            yield f"{name}: imports langgraph; only the orchestrator may"
        if name not in MAY_SYNC and {"fsync", "fdatasync"} & set(calls_of_os(tree)):
            yield f"{name}: syncs by itself; durable writes go through autopilot_state.fs"
    for source in (*SOURCES, "tests"):
        if (ROOT / source / "__init__.py").exists():
            yield f"{source}/__init__.py: this folder is a source root, not a package"
    for path in sorted((ROOT / "tests").rglob("__init__.py")):
        yield f"{path.relative_to(ROOT)}: tests are imported by path, without packages"


def main() -> int:
    """Print what is broken; exit 1 when something is."""
    found = list(breaches())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
