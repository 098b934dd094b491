"""The documentation's examples are roadmaps."""

from __future__ import annotations

import re
from pathlib import Path

from autopilot_playbooks import parse_roadmap

PAGE = Path(__file__).parents[2] / "docs" / "roadmap-format.md"


def examples(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def test_the_documented_roadmaps_are_read() -> None:
    """Each example of a whole roadmap parses, and the Markdown one uses every field."""
    phase = parse_roadmap(examples("markdown")[0].encode(), name="r.md").phases[-1]
    unset = [name for name, value in phase if name not in ("done", "parent") and value in (None, (), "")]
    assert unset == []
    whole = [text for text in examples("yaml") if "phases:" in text]
    assert parse_roadmap(whole[0].encode(), name="r.yaml").phases[0].name == "UAT fixes"


def test_the_documented_check_options_are_read() -> None:
    """The example of checks is the beginning of a roadmap."""
    text = examples("yaml")[0] + "phases: [{id: 1, name: n}]\n"
    checks = parse_roadmap(text.encode(), name="r.yaml").phases[0].checks
    assert [(check.command, check.timeout_s, len(check.tests)) for check in checks] == [
        ("ruff check .", 600, 0),
        ("pytest -q", 900, 1),
    ]
