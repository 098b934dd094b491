"""Templates of edits, by kind. Each looks at one node and yields the edits that it knows for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autopilot_agents.providers.offline.source import Edit

from . import calls, constants, names, operators, statements, subscripts
from .base import Context as Context
from .base import Template

ALL: tuple[Template, ...] = (
    *operators.TEMPLATES,
    *constants.TEMPLATES,
    *names.TEMPLATES,
    *calls.TEMPLATES,
    *subscripts.TEMPLATES,
    *statements.TEMPLATES,
)


def edits_of(context: Context, node: ast.AST) -> Iterator[Edit]:
    """Yield every edit that a template knows for `node`."""
    for template in ALL:
        yield from template(context, node)
