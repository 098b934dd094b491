"""A run folder as the manager leaves it, made through the store and its events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autopilot import events
from autopilot_state.models import ArtifactRef, Evidence, SplitRequest, SubPhase, TestCounts, Usage
from autopilot_state.store import Store

Document = dict[str, Any]
BEGIN = 1_795_000_000.0
COMMIT = "4f2c1a9d00112233445566778899aabbccddeeff"


def run_fields(run_id: str, **more: Any) -> dict[str, Any]:
    fields = {
        "id": run_id, "status": "running", "reason": None, "exit_code": None, "repository": "/srv/shop",
        "base": "b" * 40, "head": "b" * 40, "branch": f"autopilot/{run_id}", "roadmap": "/srv/shop/ROADMAP.md",
        "roadmap_digest": "d" * 64,
        "roadmap_ref": {"path": "shared/roadmap.json", "sha256": "d" * 64}, "roadmap_changes": 0, "playbook": "standard", "provider": "anthropic", "model": "claude", "threshold": 9.5,
        "quality": True, "review": "none", "sandbox": "bwrap", "max_parallel": 4, "slots": 4, "context_window": 200_000,
        "started_at": BEGIN, "ended_at": None, "active_s": 0.0, "notes": [], "cost_known": True,
    }  # fmt: skip
    return {**fields, **more}


class Scribe:
    """Writes a run as the manager would: `unit` takes one unit through its life."""

    def __init__(self, folder: Path, **fields: Any) -> None:
        self.at = BEGIN
        self.store = Store.open(folder, now=lambda: self.at)
        self._append(events.run_started(run_fields(folder.name, **fields)))

    def _append(self, event: events.Event) -> None:
        self.at += 1
        self.store.append(event.kind, unit=event.unit, patch=event.patch, data=event.data)

    def phases(self, **names: str) -> None:
        rows = {key.lstrip("p").replace("_", "."): events.unit_row(name) for key, name in names.items()}
        self._append(events.units_added(rows, first=True))

    def start(self, unit: str, step: str = "build", *, attempt: int = 1) -> None:
        self._append(events.unit_queued(unit, before="waiting", attempt=attempt, mode="work"))
        self._append(events.unit_started(unit, at=self.at, base="b" * 40, again=False))
        self._append(events.unit_step(unit, step))

    def use(self, unit: str, *, cost: float, context: float) -> None:
        usage = Usage(input_tokens=1000, output_tokens=200, cache_read_tokens=5000, cost_usd=cost, requests=1)
        self._append(events.usage_added(unit, self.store.document, usage, f"{unit}.a1.build1.answer", {}))
        self._append(events.unit_context(unit, context))

    def end(self, unit: str, result: str, **more: Any) -> None:
        before = self.store.document["units"][unit]["status"]
        self._append(events.unit_ended(unit, before=before, result=result, at=self.at, **more))

    def split(self, unit: str, **children: str) -> None:
        rows = {key.lstrip("p"): events.unit_row(name, parent=unit) for key, name in children.items()}
        request = SplitRequest(
            reason="issues",
            sub_phases=tuple(SubPhase(name=name) for name in children.values()),
            original_issue_count=6,
            contracts=ArtifactRef(path=f"{unit}/contracts.json", sha256="0" * 64),
        )
        self._append(
            events.unit_split(unit, rows, request, before="running", split_base="b" * 40, duration_s=30.0)
        )

    def stop(self, kind: str = "run.stopped", **more: Any) -> None:
        after = "finished" if kind == "run.finished" else "stopped"
        self._append(events.run_status("running", after, kind=kind, at=self.at, **more))

    def close(self) -> Document:
        self.store.close()
        return self.store.document


def evidence(fixed: int, still_red: int = 0, broken: int = 0) -> Evidence:
    return Evidence(tests=TestCounts(fixed=fixed, still_red=still_red, broken=broken))


def write_sample(folder: Path, *, finish: bool = True, **fields: Any) -> Document:
    """Write the run of the drawings: one phase verified, one split with a child below, one blocked."""
    scribe = Scribe(folder, **fields)
    scribe.phases(p18="API pagination", p20="UAT fixes", p21="Release notes")
    scribe.start("18")
    scribe.use("18", cost=0.84, context=31.2)
    scribe.end("18", "verified", score=9.6, evidence=evidence(14), commit=COMMIT, duration_s=662.0)
    scribe.start("20")
    scribe.use("20", cost=0.10, context=22.0)
    scribe.split("20", p20a="login copy", p20b="empty state", p20c="export")
    scribe.start("20a")
    scribe.use("20a", cost=0.24, context=18.0)
    scribe.end("20a", "verified", score=9.7, evidence=evidence(3), commit="9" + COMMIT[1:], duration_s=372.0)
    scribe.start("20b", attempt=2)
    scribe.use("20b", cost=0.77, context=78.0)
    if finish:
        scribe.end("20b", "below", score=9.2, evidence=evidence(2, 1), commit="7" + COMMIT[1:],
                   reason="test_empty.py::test_cta red", duration_s=842.0)  # fmt: skip
        scribe.start("20c")
        scribe.end(
            "20c", "failed", score=4.0, evidence=evidence(0, 1, 1), reason="attempts used up", duration_s=60.0
        )
        scribe.end("20", "below", score=4.0, reason="20b is below 9.5")
        scribe.end("21", "blocked", reason="needs 20")
        scribe.stop("run.finished", reason="below_target", exit_code=3)
    return scribe.close()


@pytest.fixture
def sample_run() -> Callable[..., Document]:
    """A writer of the sample run: `sample_run(folder, finish=False, **run_fields)` returns its state."""
    return write_sample


@pytest.fixture
def sample(tmp_path: Path) -> Document:
    """The state of the finished sample run."""
    return write_sample(tmp_path / "2f9c")


@pytest.fixture
def scribe() -> type[Scribe]:
    """For runs of another course than the sample's."""
    return Scribe
