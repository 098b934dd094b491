"""What a start asks for, thought through before anything is created: roadmap, playbook, targets, threshold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autopilot.config import Config, RunOptions
from autopilot.home import Repository
from autopilot_playbooks.loader import load_playbook
from autopilot_playbooks.roadmap import load_roadmap
from autopilot_playbooks.schema import Check, Playbook, Roadmap
from autopilot_playbooks.selection import select_phases
from autopilot_state.errors import UsageError

ROADMAP_NAMES = (
    "ROADMAP.md",
    ".autopilot/roadmap.md",
    ".autopilot/roadmap.yaml",
    ".autopilot/roadmap.json",
    ".planning/ROADMAP.md",
)
LENIENT_THRESHOLD = 7.0
QUALITY_THRESHOLD = 9.5


@dataclass(frozen=True)
class Asked:
    """A new run, thought through and not begun."""

    roadmap: Roadmap
    path: Path
    targets: tuple[str, ...]
    playbook: Playbook
    threshold: float
    max_parallel: int


def think_through(options: RunOptions, repository: Repository) -> Asked:
    path = options.roadmap or _default_roadmap(repository)
    roadmap = with_config(load_roadmap(path), options.config)
    if options.force:
        roadmap = _undone(roadmap, options.phases)
    playbook = load_playbook(_playbook_name(options, roadmap), search=[repository.folder / "playbooks"])
    return Asked(
        roadmap, path, select_phases(roadmap, options.phases), playbook, _threshold(options, playbook, roadmap),
        slots_of(options),
    )  # fmt: skip


def _undone(roadmap: Roadmap, phases: str | None) -> Roadmap:
    """Return the roadmap with the phases that were asked for open again, also those marked `[x]`."""
    opened = roadmap.model_copy(
        update={"phases": tuple(p.model_copy(update={"done": False}) for p in roadmap.phases)}
    )
    again = set(select_phases(opened, phases))
    return roadmap.model_copy(
        update={
            "phases": tuple(
                p.model_copy(update={"done": p.done and p.id not in again}) for p in roadmap.phases
            )
        }
    )


def _default_roadmap(repository: Repository) -> Path:
    for name in ROADMAP_NAMES:
        if (repository.top / name).is_file():
            return repository.top / name
    raise UsageError(
        "AP232",
        "no roadmap was named and none was found",
        why=f"looked for {', '.join(ROADMAP_NAMES)} in {repository.top}",
        fix="name one: `autopilot run ROADMAP.md`; docs/roadmap-format.md shows how to write it",
    )


def with_config(roadmap: Roadmap, config: Config) -> Roadmap:
    """Return the roadmap with the configuration's checks where phases name none, its guards and its set-up."""
    phases = tuple(
        phase
        if phase.checks
        else phase.model_copy(
            update={
                "checks": tuple(
                    Check(id=f"{phase.id}.k{n}", command=command)
                    for n, command in enumerate(config.checks_test, start=1)
                )
            }
        )
        for phase in roadmap.phases
    )
    guards = roadmap.guards or tuple(
        Check(id=f"0.k{n}", command=command) for n, command in enumerate(config.checks_guards, start=1)
    )
    return roadmap.model_copy(
        update={"phases": phases, "guards": guards, "setup": roadmap.setup or config.checks_setup}
    )


def _playbook_name(options: RunOptions, roadmap: Roadmap) -> str:
    named = options.playbook or options.config.playbook or roadmap.playbook
    return named or ("quality" if options.quality else "standard")


def _threshold(options: RunOptions, playbook: Playbook, roadmap: Roadmap) -> float:
    if options.quality or options.lenient:
        return QUALITY_THRESHOLD if options.quality else LENIENT_THRESHOLD
    if options.config.threshold is not None:
        return options.config.threshold
    return roadmap.threshold if roadmap.threshold is not None else playbook.threshold


def slots_of(options: RunOptions) -> int:
    return 1 if options.sequential else options.config.max_parallel
