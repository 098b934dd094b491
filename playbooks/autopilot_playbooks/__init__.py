"""What to do, as data: roadmaps and playbooks, read strictly and explained when they can't be used."""

from autopilot_playbooks.errors import PlaybookError, PlaybookFileError, RoadmapError
from autopilot_playbooks.loader import load_playbook, playbook_digest
from autopilot_playbooks.roadmap import (
    dependency_order,
    load_roadmap,
    looks_like_phases,
    parse_roadmap,
    roadmap_digest,
    select_phases,
    suspicious_characters,
)
from autopilot_playbooks.schema import Check, Criterion, Issue, Phase, Playbook, Roadmap, SplitRule

__all__ = [
    "Check",
    "Criterion",
    "Issue",
    "Phase",
    "Playbook",
    "PlaybookError",
    "PlaybookFileError",
    "Roadmap",
    "RoadmapError",
    "SplitRule",
    "dependency_order",
    "load_playbook",
    "load_roadmap",
    "looks_like_phases",
    "parse_roadmap",
    "playbook_digest",
    "roadmap_digest",
    "select_phases",
    "suspicious_characters",
]
