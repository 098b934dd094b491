"""How much output an answer will need, from the plan's deliverables and never from counting files or reading names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autopilot_agents.brief import Deliverable, DeliverableKind
from autopilot_agents.protocols import ModelLimits
from autopilot_playbooks.schema import Category, Complexity

WEIGHTS: Mapping[DeliverableKind, int] = {
    "create": 800,
    "modify": 300,
    "test": 600,
    "docs": 200,
    "config": 400,
}
"""Tokens of one deliverable on average, before calibration from a ledger."""
SAFETY_MARGIN = 1.3
"""Imports, error handling and the like, which no deliverable names."""
CATEGORY_FACTORS: Mapping[Category, float] = {"backend": 1.2, "database": 1.2, "frontend": 1.4}

BASE_BUDGETS: Mapping[Complexity | None, int] = {"low": 8192, "medium": 12288, "high": 16384, None: 8192}
BUDGET_BUFFER = 1.2
CATEGORY_FLOORS: Mapping[Category, int] = {"frontend": 16384, "deployment": 16384}
"""Categories whose answers turned out longer than their plans said: markup and manifests are verbose."""
BACKEND_FLOOR = 12000
BACKEND_FLOOR_FROM_DELIVERABLES = 3


def predict_output_tokens(deliverables: Sequence[Deliverable], category: Category | None) -> int:
    """Return the tokens that an answer with all `deliverables` is expected to have."""
    plain = sum(WEIGHTS[deliverable.kind] for deliverable in deliverables)
    factor = CATEGORY_FACTORS.get(category, 1.0) if category else 1.0
    # Cut down after each factor, in this order, as the figures that the weights were measured with were.
    return int(int(plain * SAFETY_MARGIN) * factor)


def select_budget(
    complexity: Complexity | None,
    predicted: int,
    category: Category | None,
    limits: ModelLimits,
    *,
    deliverables: int = 0,
) -> int:
    """Return `max_tokens` for the first try, within what the model can give."""
    wanted = max(BASE_BUDGETS[complexity], int(predicted * BUDGET_BUFFER), _floor(category, deliverables))
    return min(wanted, limits.max_output_tokens)


def _floor(category: Category | None, deliverables: int) -> int:
    if category == "backend" and deliverables >= BACKEND_FLOOR_FROM_DELIVERABLES:
        return BACKEND_FLOOR
    return CATEGORY_FLOORS.get(category, 0) if category else 0
