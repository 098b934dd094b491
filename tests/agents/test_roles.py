"""Roles: a prompt of the playbook under a header that never changes."""

from __future__ import annotations

import pytest

from autopilot_agents.roles import HEADER, make_role
from autopilot_playbooks.schema import Playbook
from autopilot_state.errors import UsageError

PLAYBOOK = Playbook(name="standard", max_turns=12, prompts={"builder": "Build.\n\n", "planner": "Plan."})


def test_a_role_has_the_playbooks_prompt_and_turns() -> None:
    """The system prompt is the fixed header and the playbook's words, and nothing of a unit."""
    role = make_role("builder", PLAYBOOK, (), max_tokens=9000)
    assert role.system == f"{HEADER}\nBuild.\n"
    assert (role.name, role.tools, role.max_turns, role.max_tokens) == ("builder", (), 12, 9000)


def test_a_role_without_prompt_is_the_users_mistake() -> None:
    """The error names the playbook, the role and what there is."""
    with pytest.raises(UsageError) as caught:
        make_role("poet", PLAYBOOK, (), max_tokens=9000)
    assert caught.value.code == "AP341"
    assert "poet" in caught.value.what
    assert "builder, planner" in caught.value.why
