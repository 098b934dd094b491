"""Cuts the YAML front matter off a Markdown file, keeping the line numbers of the rest."""

from __future__ import annotations

from autopilot_playbooks.strict_yaml import Node, parse_yaml
from autopilot_playbooks.where import Where


def split_front_matter(text: str, where: Where) -> tuple[Node | None, str]:
    """Return the front matter's node, or None, and the Markdown with the front matter blanked out."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return None, text
    for end in range(1, len(lines)):
        if lines[end].rstrip() in ("---", "..."):
            node = parse_yaml("\n".join(lines[1:end]), where, first_line=2)
            return node, "\n".join([""] * (end + 1) + lines[end + 1 :])
    raise where.error(
        "syntax",
        "front matter begins and does not end",
        line=1,
        fix="close it with a line ---, or remove the first line",
    )
