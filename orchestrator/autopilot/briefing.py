"""Turns a job and its baseline into a brief for the roles, and a planner's answer into a plan or a split request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from autopilot.checks import CheckRun
from autopilot.job import UnitJob
from autopilot.split import ParentItems, SplitLimits, contract_breach
from autopilot_agents.brief import Brief, BriefCheck, BriefItem, Plan, PlanChild
from autopilot_playbooks.schema import Check, Phase, SplitRule
from autopilot_state.ids import UnitId, child_id
from autopilot_state.models import ArtifactRef, SplitEvidence, SplitRequest, SubPhase

MAX_OUTPUT_IN_BRIEF = 6_000
MAX_FAILING_IN_BRIEF = 200


def make_brief(
    job: UnitJob,
    runs: Mapping[str, CheckRun],
    *,
    cycle: int = 0,
    feedback: str = "",
    extra_issues: Sequence[BriefItem] = (),
) -> Brief:
    """Return what a role is told: ids, texts, commands, and what each check said last."""
    phase = job.contract
    return Brief(
        unit=job.unit,
        mode=job.mode,
        name=phase.name,
        goal=phase.goal,
        criteria=tuple(BriefItem(id=c.id, text=c.text) for c in phase.criteria),
        issues=(*(BriefItem(id=i.id, text=i.text, files=i.files) for i in phase.issues), *extra_issues),
        checks=tuple(_brief_check(check, runs.get(check.id)) for check in phase.checks),
        touches=phase.files,
        complexity=phase.complexity,
        may_split=job.may_split,
        cycle=cycle,
        feedback=feedback,
        python=job.python,
    )


def _brief_check(check: Check, run: CheckRun | None) -> BriefCheck:
    if run is None:
        return BriefCheck(id=check.id, command=check.command, tests=check.tests)
    failing = [t for t in run.red_tests if not check.tests or t in check.tests]
    return BriefCheck(
        id=check.id,
        command=check.command,
        tests=check.tests,
        failing=tuple(failing[:MAX_FAILING_IN_BRIEF]),
        passing=sum(1 for status in run.tests.values() if status == "passed"),
        exit_code=run.exit_code,
        output="" if run.exit_code == 0 else run.view[-MAX_OUTPUT_IN_BRIEF:],
    )


def parse_json_answer(text: str) -> dict[str, Any] | None:
    """Return the one JSON object of an answer, a code fence around it allowed; None when there is none."""
    lines = [line for line in text.split("\n") if not line.strip().startswith("```")]
    body = "\n".join(lines).strip()
    start = body.find("{")
    if start < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(body[start:])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def parse_plan(text: str) -> tuple[Plan | None, str]:
    """Return the plan of a planner's answer, or None and what is wrong with it."""
    found = parse_json_answer(text)
    if found is None:
        return None, "the answer holds no JSON object"
    try:
        return Plan.model_validate(found), ""
    except ValidationError as error:
        first = error.errors()[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def open_items(phase: Phase) -> ParentItems:
    """Return the ids of what a unit has open, which a split must divide without a rest."""
    return ParentItems(
        criteria=frozenset(c.id for c in phase.criteria),
        issues=frozenset(i.id for i in phase.issues),
        checks=frozenset(c.id for c in phase.checks),
    )


def size_of(
    job: UnitJob, plan: Plan, *, predicted: int, context_pct: float | None = None, tokens_used: int = 0
) -> SplitEvidence:
    """Return the figures that the split triggers look at."""
    files = {path for issue in job.contract.issues for path in issue.files}
    files |= {d.path for d in plan.deliverables} | {f for part in plan.parts for f in part.files}
    return SplitEvidence(
        issues=len(job.contract.issues),
        files=len(files),
        files_to_read=len(set(plan.files_to_read)),
        complex_deliverables=sum(1 for d in plan.deliverables if d.complex),
        predicted_output_tokens=predicted,
        context_pct=context_pct,
        tokens_used=tokens_used,
    )


def split_trigger(
    size: SplitEvidence, rule: SplitRule, *, output_limit: int, cut: bool = False, work_left: bool = False
) -> str | None:
    """Return the name of the trigger that asks for a split, or None. The order is that of the playbook."""
    batch = int(output_limit * 0.8)
    if size.predicted_output_tokens > batch * rule.max_batches:
        return "predicted_output"
    if size.issues > rule.max_issues and size.files >= rule.min_files:
        return "issues"
    if size.complex_deliverables > rule.max_complex_deliverables:
        return "complex_deliverables"
    if size.files_to_read > rule.max_files_to_read:
        return "files_to_read"
    if work_left and size.context_pct is not None and size.context_pct > rule.context_pct:
        return "context"
    return "output_cut" if cut else None


def child_contracts(job: UnitJob, parts: Sequence[PlanChild]) -> list[Phase]:
    """Return the children's contracts in the order of the parts; items keep the parent's ids."""
    return [_child(job, part, child_id(UnitId(job.unit), index)) for index, part in enumerate(parts)]


def _child(job: UnitJob, part: PlanChild, unit: str) -> Phase:
    parent = job.contract
    moved = [check for check in parent.checks if check.id in part.checks]
    own = [
        Check(id=f"{unit}.k{n}", command=c.command, tests=c.tests, timeout_s=c.timeout_s)
        for n, c in enumerate(part.own_checks, start=1)
    ]
    return Phase(
        id=unit,
        name=part.name,
        goal=part.scope or parent.goal,
        criteria=tuple(c for c in parent.criteria if c.id in part.criteria),
        issues=tuple(i for i in parent.issues if i.id in part.issues),
        checks=(*moved, *own),
        files=part.files,
        complexity=part.complexity or parent.complexity,
        category=parent.category,
        format_command=parent.format_command,
        parent=job.unit,
    )


def split_request(
    job: UnitJob,
    plan: Plan,
    *,
    reason: str,
    size: SplitEvidence,
    split_base: str | None,
    contracts: ArtifactRef,
) -> SplitRequest:
    """Return the typed request: ids, counts and globs; the texts are in the artifact `contracts`."""
    taken = {item for part in plan.parts for item in (*part.criteria, *part.issues, *part.checks)}
    kept = sorted(open_items(job.contract).all - taken)
    children = tuple(
        SubPhase(
            name=part.name,
            scope=part.scope,
            criteria=part.criteria,
            issues=part.issues,
            checks=part.checks,
            own_checks=len(part.own_checks),
            files=part.files,
            depends_on=part.depends_on,
            complexity=part.complexity,
        )
        for part in plan.parts
    )
    return SplitRequest.model_validate(
        {
            "reason": reason,
            "rationale": plan.rationale[:200],
            "sub_phases": children,
            "kept": tuple(kept),
            "original_issue_count": len(job.contract.issues),
            "evidence": size,
            "split_base": split_base,
            "contracts": contracts,
        }
    )


def can_be_split(job: UnitJob, plan: Plan, limits: SplitLimits) -> bool:
    """Say whether the plan's parts would hold as a split; a unit that can't be split goes on."""
    if len(plan.parts) < 2:
        return False
    nowhere = ArtifactRef(path="-", sha256="-")
    try:
        request = split_request(
            job, plan, reason="issues", size=SplitEvidence(), split_base=None, contracts=nowhere
        )
    except ValidationError:
        return False
    return contract_breach(job.unit, open_items(job.contract), request, limits) is None
