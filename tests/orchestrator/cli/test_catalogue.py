"""Every error that a user may see can be explained."""

from __future__ import annotations

import re
from pathlib import Path

from autopilot.catalogue import CATALOGUE

ROOT = Path(__file__).parents[3]


def codes_in_source() -> dict[str, str]:
    """Return each code that stands in the product's source, with a file that holds it."""
    found = {}
    for package in ("orchestrator", "agents", "playbooks", "state"):
        for path in (ROOT / package).rglob("*.py"):
            if path.name != "catalogue.py" and "demo/package" not in path.as_posix():
                found.update(dict.fromkeys(re.findall(r"\bAP\d{3}\b", path.read_text()), path.name))
    return found


def test_every_code_is_explained() -> None:
    """`more  autopilot explain CODE` under an error always leads somewhere."""
    missing = {code: path for code, path in codes_in_source().items() if code not in CATALOGUE}
    assert missing == {}


def test_no_entry_is_left_over() -> None:
    """An explanation of an error that nobody raises would mislead its reader."""
    assert set(CATALOGUE) - set(codes_in_source()) == set()


def test_every_entry_says_what_why_and_what_to_do() -> None:
    """Three whole sentences each."""
    for code, entry in CATALOGUE.items():
        for text in (entry.what, entry.why, entry.fix):
            assert len(text) > 8, code
        assert entry.what.endswith("."), code
