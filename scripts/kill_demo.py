"""kill -9 at random moments of a demo run, resume each time, and compare with a run that was never killed.

    .venv/bin/python scripts/kill_demo.py [KILLS] [--seed N]

Prints one line a run and a summary; exits 1 when the final tree or the table differs, when a unit that was recorded
as ended was started again, an edit was applied twice, or something is left locked. Takes about eight seconds a kill.
A life must be able to outlast the demo's preparation (some 12 s), or no unit is ever reached: see --longest.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any


class Demo:
    """The demo of one seed, in a state folder of its own."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        self.seed = seed
        self.repo = home / "autopilot" / "demo" / f"shopkit-{seed}"

    def start(self) -> subprocess.Popen[str]:
        """Start or resume the demo; the process leads a group of its own."""
        command = [sys.executable, "-m", "autopilot", "demo", "--seed", str(self.seed), "--plain"]
        environ = {**os.environ, "XDG_STATE_HOME": str(self.home)}
        return subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip

    def report(self) -> dict[str, Any]:
        """Return the document of the run."""
        done = subprocess.run(
            [sys.executable, "-m", "autopilot", "report", "--json"],
            cwd=self.repo,
            capture_output=True,
            text=True,
            check=False,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def tree(self) -> str:
        """Return the tree of the result."""
        branch = self.report()["branch"]
        done = subprocess.run(
            ["git", "rev-parse", f"{branch}^{{tree}}"],
            cwd=self.repo,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def table(self) -> list[tuple[Any, ...]]:
        """Return what the table says, without times."""
        return [
            (p["id"], p["result"], p["score"], p["split"], p["tests"], p["reason"])
            for p in self.report()["phases"]
        ]

    def finished(self) -> bool:
        """Say whether the run has its last record."""
        journals = list(self.repo.glob(".autopilot/runs/*/journal.jsonl"))
        return bool(journals) and b'"type":"run.finished"' in journals[0].read_bytes()

    def faults(self) -> list[str]:
        """Return what the journal shows to have been done twice, and what is left locked."""
        (journal,) = self.repo.glob(".autopilot/runs/*/journal.jsonl")
        records = [json.loads(line) for line in journal.read_bytes().splitlines()]
        ends = Counter(r["unit"] for r in records if r["type"] == "unit.ended")
        found = [f"unit {unit} ended {count} times" for unit, count in ends.items() if count > 1]
        operations = Counter(r["data"]["op"] for r in records if "op" in r["data"])
        found += [f"operation {op} done {count} times" for op, count in operations.items() if count > 1]
        ended: set[str] = set()
        for record in records:
            if record["type"] == "unit.ended":
                ended.add(record["unit"])
            elif record["type"] == "unit.started" and record["unit"] in ended:
                found.append(f"unit {record['unit']} was started after it had ended")
        return found + [
            f"left locked: {path}"
            for path in self.repo.glob(".git/**/*.lock")
            if path.name != "autopilot.lock"
        ]


def kill_after(demo: Demo, seconds: float) -> bool:
    """Start the demo and kill its whole group after `seconds`; return False when it had ended by itself."""
    process = demo.start()
    try:
        process.communicate(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True


def main() -> int:
    """Kill, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=15.0, help="seconds a life lasts at most")
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="autopilot-kills-", dir=Path.cwd()) as folder:
        calm = Demo(Path(folder) / "calm", asked.seed)
        calm.start().communicate()
        expected_tree, expected_table = calm.tree(), calm.table()
        print(f"unkilled: tree {expected_tree}, {len(expected_table)} units")
        kills, rounds, bad = 0, 0, 0
        while kills < asked.kills:
            rounds += 1
            demo = Demo(Path(folder) / f"round-{rounds}", asked.seed)
            while not demo.finished() and kills < asked.kills:
                kills += kill_after(demo, rng.uniform(0.3, asked.longest))
            if not demo.finished():
                demo.start().communicate()
            faults = demo.faults()
            if demo.tree() != expected_tree:
                faults.append(f"tree {demo.tree()}")
            if demo.table() != expected_table:
                faults.append(f"table {demo.table()}")
            bad += bool(faults)
            print(
                f"round {rounds}: {kills} kills so far, {'; '.join(faults) or 'same tree, same table, nothing twice'}",
                flush=True,
            )
    print(f"{kills} kills in {rounds} runs, {bad} runs with faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
