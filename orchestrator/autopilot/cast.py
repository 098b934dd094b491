"""The roles of one attempt: who is asked, with which tools, and what comes back as a value."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from autopilot import events
from autopilot.briefing import make_brief, parse_json_answer, parse_plan
from autopilot.checks import python_environment
from autopilot.job import UnitJob
from autopilot.recorder import RunRecorder
from autopilot.workbench import Workbench
from autopilot_agents.brief import Brief, Plan
from autopilot_agents.budget.predictor import predict_output_tokens, select_budget
from autopilot_agents.gate import Gate
from autopilot_agents.hands.files import FileTools, ListFilesTool, ReadFileTool, SearchTool
from autopilot_agents.hands.paths import Root
from autopilot_agents.hands.shell import ShellTool
from autopilot_agents.loop import RoleAnswer, run_role
from autopilot_agents.protocols import Provider, Tool
from autopilot_agents.roles import make_role
from autopilot_playbooks.schema import Playbook
from autopilot_state.models import ArtifactRef

PLANNER_TOKENS = 8_192
PLAN_TRIES = 2
MAX_FINDING = 400


@dataclass(frozen=True)
class Planned:
    """A plan and the figures that decide on a split. `output_limit` is the model's, in tokens."""

    plan: Plan
    predicted: int
    output_limit: int
    context_pct: float | None


@dataclass(frozen=True)
class Built:
    """A builder's answer. `shown`: path → SHA-256 of each file that it has seen; None: nothing is required."""

    text: str
    cut: bool
    refused: str | None
    context_pct: float | None
    shown: Mapping[str, str] | None


@dataclass(frozen=True)
class Cast:
    """Asks the roles of a unit through the shared gate."""

    provider: Provider
    gate: Gate
    playbook: Playbook
    recorder: RunRecorder
    warn: Callable[[str], None]

    async def plan(self, job: UnitJob, brief: Brief, bench: Workbench) -> Planned:
        """Return the planner's plan; an answer that is none is asked for once more, then an empty plan stands."""
        limits = await self.gate.limits(self.provider)
        prompt, plan, answer = brief.render(), None, None
        await bench.checkout(job.base)
        for number in range(1, PLAN_TRIES + 1):
            with Root(bench.path) as root:
                tools = self._looking(root, bench)
                answer = await self._ask("planner", prompt, tools, job, f"plan.e{number}", PLANNER_TOKENS)
            plan, wrong = parse_plan(answer.text)
            if plan is not None:
                break
            prompt = f"{brief.render()}\n\nYour last answer was no plan: {wrong}. Answer with the JSON object alone."
        found = plan or Plan()
        predicted = predict_output_tokens(found.deliverables, job.contract.category)
        return Planned(found, predicted, limits.max_output_tokens, answer.context_pct if answer else None)

    async def build(self, job: UnitJob, brief: Brief, plan: Plan, bench: Workbench, step: str) -> Built:
        """Return the builder's (or the resolver's) edit answer; the worktree stands at the tip it works on."""
        limits = await self.gate.limits(self.provider)
        predicted = predict_output_tokens(plan.deliverables, job.contract.category)
        budget = select_budget(job.contract.complexity, predicted, job.contract.category, limits)
        notes = f"\n\nThe planner's notes:\n{plan.notes}" if plan.notes else ""
        role = "resolver" if job.mode == "resolve" else "builder"
        with Root(bench.path) as root:
            files = self._files(root)
            tools = [*self._file_tools(files), self._shell(bench)]
            answer = await self._ask(role, brief.render() + notes, tools, job, step, budget)
            shown = {**self._shown_before(root, job.op(step)), **files.shown}
        return Built(answer.text, answer.cut, answer.refused, answer.context_pct, shown)

    async def assess(self, job: UnitJob, bench: Workbench) -> str:
        """Return one line for each open finding of the phase's reports, with its id."""
        reports = "\n".join(f"- {path}" for path in job.contract.reports)
        with Root(bench.path) as root:
            prompt = f"{make_brief(job, {}).render()}\n\nThe reports of this phase:\n{reports}"
            answer = await self._ask(
                "assessor", prompt, self._looking(root, bench), job, "assess", PLANNER_TOKENS
            )
        found = parse_json_answer(answer.text) or {}
        texts = [str(i["text"]) for i in found.get("issues", []) if isinstance(i, dict) and i.get("text")]
        lines = [f"{job.unit}.r{n} {text[:MAX_FINDING]}" for n, text in enumerate(texts, start=1)]
        self.recorder.note(job.unit, "reports.assessed", {"findings": len(lines)})
        return "Open findings of the reports:\n" + "\n".join(lines) if lines else ""

    # -- asking ------------------------------------------------------------------------------------------------

    async def _ask(
        self, name: str, prompt: str, tools: list[Tool], job: UnitJob, step: str, max_tokens: int
    ) -> RoleAnswer:
        role = make_role(name, self.playbook, tools, max_tokens=max_tokens)
        return await run_role(
            role,
            prompt,
            run=job.run,
            unit=job.unit,
            op=job.op(step),
            gate=self.gate,
            provider=self.provider,
            recorder=self.recorder,
            on_context=lambda pct: self._on_context(job.unit, pct),
        )

    def _on_context(self, unit: str, pct: float) -> None:
        """Show the context, and warn once at each threshold; it never stops work."""
        before = self.recorder.document["units"][unit]["context_pct"] or 0.0
        self.recorder.record(events.unit_context(unit, pct))
        window = self.recorder.document["run"]["context_window"]
        for threshold in self.playbook.context_warn_pct:
            if before < threshold <= pct:
                size = f" of {round(window / 1000)}k" if window else ""
                self.warn(f"Phase {unit}: context {pct:.0f}%{size} (warning only).")
                return

    # -- tools -------------------------------------------------------------------------------------------------

    def _files(self, root: Root) -> FileTools:
        return FileTools(
            root, slice_lines=self.playbook.slice_lines, whole_file_lines=self.playbook.whole_file_lines
        )

    def _file_tools(self, files: FileTools) -> list[Tool]:
        return [ReadFileTool(files), SearchTool(files), ListFilesTool(files)]

    def _looking(self, root: Root, bench: Workbench) -> list[Tool]:
        return self._file_tools(self._files(root))

    def _shell(self, bench: Workbench) -> ShellTool:
        runner = bench.runner
        env = python_environment(bench.path, runner.python_path)
        return ShellTool(bench.path, runner.sandbox, runner.redactor, env=env, readable=runner.readable)

    def _shown_before(self, root: Root, op: str) -> dict[str, str]:
        """Return the files that an earlier life of this step was shown: its tool calls are not run again.

        The worktree stands where it stood then, so what the file holds now is what was shown.
        """
        shown: dict[str, str] = {}
        turn = 1
        while (done := self.recorder.found(f"{op}.t{turn}")) is not None:
            message = orjson.loads(self.recorder.get_artifact(ArtifactRef(**done["ref"])))["message"]
            for call in message.get("tool_calls", []):
                path = call["arguments"].get("path")
                if call["name"] == "read_file" and isinstance(path, str) and root.exists(path):
                    shown[path] = hashlib.sha256(root.read(path)).hexdigest()
            turn += 1
        return shown
