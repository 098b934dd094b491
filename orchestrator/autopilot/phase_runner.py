"""The phase runner: prepare → assess → plan → build ⇄ verify → seal, one LangGraph graph per attempt.

The graph's checkpoints say where an attempt stands. LangGraph runs a node again after a kill (19 % of kills), so
every node is written to be run again: answers and tool results are found in the journal, commits come out the same,
a command that ran on a tree is not run on it twice. Losing the checkpoints loses nothing but the place in the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from autopilot import events
from autopilot.briefing import (
    can_be_split,
    child_contracts,
    make_brief,
    size_of,
    split_request,
    split_trigger,
)
from autopilot.cast import Cast
from autopilot.checks import CheckRun
from autopilot.job import UnitJob
from autopilot.recorder import RunRecorder
from autopilot.split import SplitLimits
from autopilot.verdict import Verdict
from autopilot.workbench import Workbench
from autopilot_agents.brief import Brief, Plan
from autopilot_agents.edits.check import EditPolicy
from autopilot_agents.edits.ndjson import parse_answer
from autopilot_playbooks.schema import Playbook
from autopilot_state.models import Evidence, Outcome, OutcomeKind, TestCounts

MAX_EDIT_TRIES = 3
"""Answers of one build whose edit set is refused before the cycle counts as without a result."""


class RunnerState(TypedDict, total=False):
    """Where an attempt stands. Plain values; whatever is large is an artifact."""

    base: str
    order_dependent: bool
    tip: str
    plan: dict[str, Any]
    output_limit: int
    feedback: str
    cycle: int
    changed: bool
    cut: bool
    green: bool
    red: int
    best_tip: str
    best_red: int
    context_pct: float | None
    outcome: dict[str, Any]


@dataclass(frozen=True)
class Kit:
    """What one attempt works with; made by the composition root."""

    bench: Workbench
    cast: Cast
    recorder: RunRecorder
    playbook: Playbook
    limits: SplitLimits
    saver: BaseCheckpointSaver[Any]
    monotonic: Callable[[], float]


class PhaseRunner:
    """One attempt of one unit."""

    def __init__(self, job: UnitJob, kit: Kit) -> None:
        self.job = job
        self._kit = kit
        self._bench = kit.bench
        self._recorder = kit.recorder

    async def run(self) -> Outcome:
        """Return the outcome, going on from the last checkpoint where there is one."""
        began = self._kit.monotonic()
        graph = self._build_graph()
        config = {"configurable": {"thread_id": self.job.thread}, "recursion_limit": 200}
        found = await graph.aget_state(config)
        start: RunnerState | None = None if found.values else {"cycle": 0, "feedback": self.job.reason}
        final = await graph.ainvoke(start, config, durability="sync")
        if "outcome" not in final:
            # Written by a step whose task was saved and whose checkpoint was not: walk it again, everything is found.
            await self._kit.saver.adelete_thread(self.job.thread)
            final = await graph.ainvoke({"cycle": 0, "feedback": self.job.reason}, config, durability="sync")
        outcome = Outcome.model_validate(final["outcome"])
        return outcome.model_copy(update={"duration_s": round(self._kit.monotonic() - began, 3)})

    def _build_graph(self) -> Any:
        graph = StateGraph(RunnerState)
        for name in ("prepare", "assess", "plan", "build", "verify", "seal"):
            graph.add_node(name, getattr(self, f"_{name}"))
        graph.add_edge(START, "prepare")
        graph.add_conditional_edges("prepare", self._after_prepare, ["assess", "plan", "build", "verify"])
        graph.add_edge("assess", "plan")
        graph.add_conditional_edges("plan", self._after_plan, ["build", "verify", END])
        graph.add_conditional_edges("build", self._after_build, ["verify", END])
        graph.add_conditional_edges("verify", self._after_verify, ["build", "seal", END])
        graph.add_edge("seal", END)
        return graph.compile(checkpointer=self._kit.saver)

    def _step(self, name: str) -> None:
        if self._recorder.document["units"][self.job.unit]["step"] != name:
            self._recorder.record(events.unit_step(self.job.unit, name))

    # -- prepare -----------------------------------------------------------------------------------------------

    async def _prepare(self, state: RunnerState) -> RunnerState:
        self._step("prepare")
        base, order_dependent = await self._bench.make_base()
        if self.job.mode == "resolve" and self.job.tips:
            base = self.job.base
            tip, conflicts = await self._bench.make_conflicted()
            feedback = f"{self.job.reason}\nFiles in conflict: {', '.join(conflicts)}"
            await self._bench.baseline(base)
            return {
                "base": base,
                "tip": tip,
                "order_dependent": True,
                "feedback": feedback,
                "plan": Plan().model_dump(),
            }
        await self._bench.baseline(base)
        return {"base": base, "tip": base, "order_dependent": order_dependent}

    def _after_prepare(self, state: RunnerState) -> str:
        if self.job.mode == "resolve":
            return "build"
        if self.job.mode == "accept":
            return "verify"
        return "assess" if self.job.contract.reports else "plan"

    # -- assess, plan ------------------------------------------------------------------------------------------

    async def _assess(self, state: RunnerState) -> RunnerState:
        """Have the reports read by a role of their own; only ids, counts and one-line summaries come back."""
        self._step("assess")
        await self._bench.checkout(state["tip"])
        summary = await self._kit.cast.assess(self.job, self._bench)
        return {"feedback": "\n\n".join(part for part in (state.get("feedback", ""), summary) if part)}

    async def _plan(self, state: RunnerState) -> RunnerState:
        self._step("plan")
        baseline = await self._bench.baseline(state["base"])
        if self._nothing_to_do(baseline):
            return {"plan": Plan().model_dump(), "output_limit": 0, "green": True}
        brief = make_brief(self.job, baseline, feedback=state.get("feedback", ""))
        planned = await self._kit.cast.plan(self.job, brief, self._bench)
        self._show_context(planned.context_pct)
        update: RunnerState = {
            "plan": planned.plan.model_dump(mode="json"),
            "output_limit": planned.output_limit,
            "context_pct": planned.context_pct,
        }
        size = size_of(self.job, planned.plan, predicted=planned.predicted, context_pct=planned.context_pct)
        reason = split_trigger(size, self._kit.playbook.split, output_limit=planned.output_limit)
        if reason is not None and self._may_split(planned.plan):
            update["outcome"] = self._split(planned.plan, reason, size, state["base"], planned.context_pct)
        return update

    def _nothing_to_do(self, baseline: dict[str, CheckRun]) -> bool:
        """Say whether the base already fulfils the contract: no reports, no issues without a check that shows them."""
        checks = self.job.contract.checks
        return (
            bool(checks)
            and all(_fulfils(check.tests, baseline[check.id]) for check in checks)
            and not (
                self.job.contract.criteria
                or self.job.contract.reports
                or self.job.contract.goal
                or self.job.contract.issues
            )
        )

    def _after_plan(self, state: RunnerState) -> str:
        if "outcome" in state:
            return END
        return "verify" if state.get("green") else "build"

    def _may_split(self, plan: Plan) -> bool:
        return (
            self.job.may_split
            and self.job.mode == "work"
            and self._kit.playbook.split.enabled
            and can_be_split(self.job, plan, self._kit.limits)
        )

    def _split(
        self, plan: Plan, reason: str, size: Any, split_base: str, context_pct: float | None
    ) -> dict[str, Any]:
        contracts = child_contracts(self.job, plan.parts)
        content = b"[" + b",".join(c.model_dump_json().encode() for c in contracts) + b"]"
        ref = self._recorder.put_artifact(self.job.unit, f"split-{self.job.attempt}.json", content)
        request = split_request(
            self.job, plan, reason=reason, size=size, split_base=split_base, contracts=ref
        )
        outcome = Outcome(
            unit=self.job.unit,
            attempt=self.job.attempt,
            mode=self.job.mode,
            kind="split",
            split=request,
            context_pct=context_pct,
        )
        return outcome.model_dump(mode="json")

    # -- build -------------------------------------------------------------------------------------------------

    async def _build(self, state: RunnerState) -> RunnerState:
        """Ask the builder for a set of edits and apply it; a refused set goes back to it with the reasons."""
        self._step("build")
        cycle, tip = state.get("cycle", 0), state["tip"]
        feedback = state.get("feedback", "")
        brief = make_brief(self.job, await self._latest(state), cycle=cycle, feedback=feedback)
        plan = Plan.model_validate(state["plan"]) if "plan" in state else Plan()
        context_pct, cut = state.get("context_pct"), False
        for attempt in range(1, MAX_EDIT_TRIES + 1):
            step = f"build{cycle}.e{attempt}"
            await self._bench.checkout(tip)
            built = await self._kit.cast.build(self.job, brief, plan, self._bench, step)
            context_pct, cut = built.context_pct, built.cut
            self._show_context(context_pct)
            parsed = parse_answer(built.text, final=not built.cut)
            if not parsed.operations:
                why = "; ".join(line.reason for line in parsed.rejected[:5]) or parsed.summary
                self._recorder.note(self.job.unit, "edit.none", {"step": step, "summary": why[:300]})
                if parsed.rejected and not built.refused:
                    brief = _with_feedback(brief, f"Your answer held no usable operation: {why}")
                    continue
                break
            policy = EditPolicy(
                touches=self.job.contract.files,
                allow_run_later=self._kit.playbook.run_later_files,
                shown=built.shown,
            )
            title = f"{self.job.unit}: {self.job.contract.name}"
            report, new_tip = await self._bench.apply(parsed.operations, policy, tip, title, step)
            self._recorder.note(
                self.job.unit,
                "edit.set",
                {"step": step, "ok": report.ok, "files": list(report.changed_files)[:40]},
            )
            if report.ok:
                return {"tip": new_tip, "changed": new_tip != tip, "cut": cut, "context_pct": context_pct}
            brief = _with_feedback(brief, report.render())
        return {"changed": False, "cut": cut, "context_pct": context_pct}

    async def _latest(self, state: RunnerState) -> dict[str, CheckRun]:
        """Return what each check said last: on the tip where it was judged, else on the base."""
        commit = state["tip"] if state.get("cycle", 0) else state["base"]
        return await self._bench.baseline(commit)

    def _after_build(self, state: RunnerState) -> str:
        return END if "outcome" in state else "verify"

    # -- verify ------------------------------------------------------------------------------------------------

    async def _verify(self, state: RunnerState) -> RunnerState:
        """Judge the tip, keep the best one, and decide whether another cycle is worth it."""
        self._step("verify")
        verdict, _ = await self._judge(state["base"], state["tip"])
        cycle = state.get("cycle", 0)
        update: RunnerState = {"green": verdict.green, "red": verdict.red_count, "cycle": cycle + 1}
        best = state.get("best_red")
        improved = best is None or verdict.red_count < best
        if improved:
            update |= {"best_tip": state["tip"], "best_red": verdict.red_count}
        if verdict.green:
            return update
        split = self._split_with_work_left(state, verdict)
        if split is not None:
            return {**update, "outcome": split}
        worth_it = self._worth_another_cycle(state, improved=improved)
        if worth_it:
            # A cycle that made it worse is rolled back: the next one starts from the best tip.
            tip = update.get("best_tip") or state["best_tip"]
            update |= {"tip": tip, "feedback": verdict.feedback(), "green": False}
        else:
            update["cycle"] = -1
        return update

    def _worth_another_cycle(self, state: RunnerState, *, improved: bool) -> bool:
        cycle = state.get("cycle", 0)
        if self.job.mode == "accept" and cycle == 0 and "changed" not in state:
            return True
        return state.get("changed", False) and improved and cycle < self._kit.playbook.max_repair_cycles

    def _split_with_work_left(self, state: RunnerState, verdict: Verdict) -> dict[str, Any] | None:
        """Return a split request when the context or the output ran out with work left; sound work goes along."""
        plan = Plan.model_validate(state["plan"]) if "plan" in state else Plan()
        context_pct = state.get("context_pct")
        size = size_of(self.job, plan, predicted=0, context_pct=context_pct)
        reason = split_trigger(
            size,
            self._kit.playbook.split,
            output_limit=state.get("output_limit", 1) or 1,
            cut=state.get("cut", False),
            work_left=True,
        )
        if reason not in ("context", "output_cut") or not self._may_split(plan):
            return None
        sound = not verdict.broken and state["tip"] != state["base"]
        return self._split(plan, reason, size, state["tip"] if sound else state["base"], context_pct)

    async def _judge(self, base: str, tip: str) -> tuple[Verdict, list[str]]:
        return await self._bench.judge(base, tip, await self._bench.baseline(base))

    def _after_verify(self, state: RunnerState) -> str:
        if "outcome" in state:
            return END
        return "seal" if state["green"] or state["cycle"] < 0 else "build"

    # -- seal --------------------------------------------------------------------------------------------------

    async def _seal(self, state: RunnerState) -> RunnerState:
        """Make the one commit of this attempt, and say what it is worth."""
        self._step("seal")
        base, tip = state["base"], state["best_tip"]
        verdict, restored = await self._judge(base, tip)
        marks = await self._bench.conflict_marks(base, tip) if self.job.mode == "resolve" else []
        commit = await self._squash(base, tip) if tip != base else None
        evidence = verdict.evidence(restored)
        score = verdict.score()
        kind: OutcomeKind
        if marks:
            kind, reason = "failed", f"conflict marks left in {marks[0]}"
        elif verdict.green:
            kind, reason = ("accepted" if self.job.mode == "accept" else "candidate"), verdict.reason()
        else:
            kind, reason = "failed", verdict.reason()
        if kind == "candidate" and commit is None:
            commit = base
        outcome = Outcome(
            unit=self.job.unit,
            attempt=self.job.attempt,
            mode=self.job.mode,
            kind=kind,
            score=score,
            commit=commit,
            base=base,
            reason=reason[:200],
            evidence=evidence,
            context_pct=state.get("context_pct"),
            order_dependent=state.get("order_dependent", False),
        )
        return {"outcome": outcome.model_dump(mode="json")}

    async def _squash(self, base: str, tip: str) -> str:
        tree = await self._bench.git.tree_of(tip)
        parents_candidate = self.job.mode == "resolve" and bool(self.job.tips)
        title = f"{self.job.unit}: {self.job.contract.name}"
        if parents_candidate:
            return await self._bench.commit_merge(tree, base, self.job.tips[0], title)
        return await self._bench.commit_tree(tree, base, title, "seal")

    def _show_context(self, pct: float | None) -> None:
        if pct is not None:
            self._recorder.record(events.unit_context(self.job.unit, pct))


def _fulfils(tests: tuple[str, ...], run: CheckRun) -> bool:
    return all(run.passed(t) for t in tests) if tests else run.exit_code == 0


def _with_feedback(brief: Brief, more: str) -> Brief:
    return brief.model_copy(update={"feedback": f"{brief.feedback}\n\n{more}".strip()})


def failed_outcome(job: UnitJob, kind: str, reason: str) -> Outcome:
    """Return the outcome of an attempt that ended outside its graph."""
    return Outcome.model_validate(
        {
            "unit": job.unit,
            "attempt": job.attempt,
            "mode": job.mode,
            "kind": kind,
            "reason": reason[:200],
            "evidence": Evidence(tests=TestCounts()),
        }
    )
