"""What each form of a roadmap says, and that all three say the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot_playbooks import Check, Criterion, Issue, Phase, Roadmap, RoadmapError, parse_roadmap
from autopilot_playbooks.named_files import named_files


def markdown(text: str) -> Roadmap:
    return parse_roadmap(text.encode(), name="ROADMAP.md")


def only(text: str) -> Phase:
    return markdown(text).phases[-1]


FULL = """\
---
checks: [pytest -q]
guards:
  - command: pytest -q tests/smoke
    timeout_s: 60
setup: pip install -e .
playbook: quality
threshold: 9.5
---
# Shop

## Phase 19: Ground

## Phase 20: UAT fixes
**Goal**: The shop works.
**Depends on**: Phase 19 (ground)
**Success Criteria** (what must be TRUE):
1. Nothing crashes (check: `pytest -q tests/crash`)
2. The log is clean
**Issues**:
- [x] done long ago
- [ ] `src/cart.py` divides by zero, see `tests/test_cart.py::test_empty`
**Checks**:
- `pytest -q tests/shop` (timeout 900s) (full output)
- ruff check .
**Files**: `src/**`, tests/{a,b}.py
**Reports**:
- uat/20.md
**Complexity**: High
**Category**: backend
**Format**: `ruff format`
"""


def test_every_field_of_markdown_is_read() -> None:
    """The documented example means what the documentation says, ids and lines included."""
    roadmap = markdown(FULL)
    assert roadmap.title == "Shop"
    assert roadmap.guards == (Check(id="0guard.k1", command="pytest -q tests/smoke", timeout_s=60),)
    assert (roadmap.setup, roadmap.playbook, roadmap.threshold) == ("pip install -e .", "quality", 9.5)
    assert roadmap.phases[0].checks == (Check(id="19.k1", command="pytest -q"),)
    assert roadmap.phases[1] == Phase(
        id="20",
        name="UAT fixes",
        goal="The shop works.",
        depends_on=("19",),
        criteria=(
            Criterion(id="20.c1", text="Nothing crashes", command="pytest -q tests/crash"),
            Criterion(id="20.c2", text="The log is clean"),
        ),
        issues=(
            Issue(
                id="20.i2",
                text="`src/cart.py` divides by zero, see `tests/test_cart.py::test_empty`",
                files=("src/cart.py", "tests/test_cart.py"),
            ),
        ),
        checks=(
            Check(id="20.k1", command="pytest -q tests/shop", timeout_s=900, full_output=True),
            Check(id="20.k2", command="ruff check ."),
        ),
        files=("src/**", "tests/{a,b}.py"),
        reports=("uat/20.md",),
        complexity="high",
        category="backend",
        format_command="ruff format",
        line=14,
    )


GSD = """\
# Roadmap: Shop

## Overview
A shop. **Note**: nothing here is a field.

## Phases

**Phase Numbering:**
- Integer phases (1, 2, 3): planned
- Decimal phases (2.1): urgent (marked INSERTED)

- [x] **Phase 1: Foundation** - Set up
- [x] **Phase 2: Old** - gone (completed 2026-01-01)
- [ ] **Phase 2.1: Hotfix (INSERTED)** - Fix it
- [ ] **Phase 3: Auth** - log in
- [ ] **Phase 4: Mail** - send mails

<details>
<summary>✅ v1.0 MVP (Phases 1-2) - SHIPPED</summary>

### Phase 1: Foundation
**Goal**: It starts
Plans:
- [x] 01-01: scaffold
</details>

### 🚧 v1.1 (In Progress)

#### Phase 2.1: Hotfix (INSERTED)
**Goal**: Crashes stop
**Depends on**: Phase 2
**Requirements**: [REQ-04, REQ-05]
**Success Criteria** (what must be TRUE):
  1. No crash on an empty cart
     even twice
  2. Log is clean
**Plans**: 2 plans

Plans:
- [ ] 02.1-01: do it

#### 🚧 Phase 3: Auth
**Goal**: Users log in.
**Depends on**: Phase 1, Phase 2.1 (needs the cart, really)
**Issues**
* [ ] `src/auth.py` crashes
  - only sometimes
**Checks**:
- `pytest -q`

```
**Goal**: not this
## Phase 99: nor this
```
**Research**: Unlikely
---

## Progress
| Phase | Plans Complete | Status |
|---|---|---|
| 1. Foundation | 1/1 | Complete |
"""


def test_a_sloppy_planning_roadmap_is_understood() -> None:
    """Milestones, emoji, details, a list of phases, prose, fences and other tools' fields don't disturb."""
    phases = {phase.id: phase for phase in markdown(GSD).phases}
    assert list(phases) == ["1", "2", "2.1", "3", "4"]
    assert [p.id for p in phases.values() if p.done] == ["1", "2"]
    assert phases["2.1"].name == "Hotfix"
    assert [c.text for c in phases["2.1"].criteria] == [
        "No crash on an empty cart even twice",
        "Log is clean",
    ]
    assert (phases["2.1"].goal, phases["2.1"].depends_on, phases["2.1"].issues) == (
        "Crashes stop",
        ("2",),
        (),
    )
    assert phases["3"].depends_on == ("1", "2.1")
    assert phases["3"].issues[0].text == "`src/auth.py` crashes\n- only sometimes"
    assert [check.command for check in phases["3"].checks] == ["pytest -q"]
    assert (phases["4"].goal, phases["4"].depends_on) == ("send mails", ("3",))


@pytest.mark.parametrize(
    ("heading", "phase", "name", "done"),
    [
        ("# Phase 1: A", "1", "A", False),
        ("###### Phase 6.1: A b", "6.1", "A b", False),
        ("### [x] Phase 2: A", "2", "A", True),
        ("### Phase 2: A [X]", "2", "A", True),
        ("### [ ] Phase 2: A", "2", "A", False),
        ("### ✅ Phase 2 - A - b", "2", "A - b", False),
        ("### 🚧 v1.1 Phase 5: A", "5", "A", False),
        ("## **Phase 3: A**", "3", "A", False),
        ("## PHASE 3 — A", "3", "A", False),
        ("## phase 3: A (INSERTED)", "3", "A", False),
        ("## Phase 20", "20", "Phase 20", False),
        ("Phase 3: A\n---", "3", "A", False),
        ("## Phase 4: A: b (c)", "4", "A: b (c)", False),
    ],
)
def test_headings_of_phases_are_tolerant(heading: str, phase: str, name: str, done: bool) -> None:
    """Any level, prefixes, boxes, bold and dashes are headings of phases."""
    found = only(heading + "\n")
    assert (found.id, found.name, found.done) == (phase, name, done)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", ("2",)),
        ("**Depends on**: none\n", ()),
        ("**Depends on**: -\n", ()),
        ("**Depends on**: Nothing (first phase)\n", ()),
        ("**Depends on:** Phase 1\n", ("1",)),
        ("**DEPENDS ON** : 1 and 2\n", ("1", "2")),
        ("__Depends on__: Phase 1 (logging, mails), Phase 2\n", ("1", "2")),
        ("**Depends on**: Phases 1-2\n", ("1", "2")),
        ("**Depends on**: Phase 1 for its logging, of course\n", ("1",)),
        ("**Depends on**:\n- Phase 1\n- Phase 2: Name\n", ("1", "2")),
        ("**Goal**: x | **Depends on**: Phase 1\n", ("1",)),
        ("- **Goal**: x\n- **Depends on**: Phase 1\n", ("1",)),
        ("#### Depends on\nignored prose\n", ()),
    ],
)
def test_dependencies_are_read_as_people_write_them(written: str, expected: tuple[str, ...]) -> None:
    """None, lists, ranges and remarks; saying nothing means the phase before."""
    text = f"## Phase 1: a\n## Phase 2: b\n## Phase 3: c\n{written}"
    assert only(text).depends_on == expected
    assert markdown(text).phases[0].depends_on == ()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("**Checks**: `pytest -k 'a, b'`, `ruff check`\n", ["pytest -k 'a, b'", "ruff check"]),
        ("**Checks**: pytest -q, ruff check\n", ["pytest -q", "ruff check"]),
        ("**Checks**: none\n", []),
        ("**Checks**:\n- Unit tests: `pytest`\n- [ ] `make` - all (see `Makefile`)\n", ["pytest", "make"]),
        ("**Checks**:\n- echo `date`, twice\n", ["echo `date`, twice"]),
        ("**Checks**:\n```sh\n# all\npytest\nruff check\n```\n", ["pytest", "ruff check"]),
        ("#### Checks\n- `pytest`\n", ["pytest"]),
        ("- **Checks**:\n  - `pytest`\n  - `ruff`\n- **Files**: a.py\n", ["pytest", "ruff"]),
        ("**Issues**:\n- a\n**Checks**: `pytest`\n", ["pytest"]),
        ("**Issues**:\n- **Checks**: are too slow\n", ["default"]),
        ("> **Checks**: quoted\n", ["default"]),
        ("```\n**Checks**: fenced\n```\n", ["default"]),
        ("    **Checks**: indented code\n", ["default"]),
    ],
)
def test_checks_are_commands_wherever_they_are_written(written: str, expected: list[str]) -> None:
    """On the line, in lists, in a fence right below; never from quotations, code or entries of other lists."""
    phase = only(f"---\nchecks: default\n---\n## Phase 1: a\n{written}")
    assert [check.command for check in phase.checks] == expected


@pytest.mark.parametrize(("suffix", "seconds"), [("90", 90), ("900s", 900), ("15 min", 900), ("2h", 7200)])
def test_a_time_limit_may_stand_after_a_command(suffix: str, seconds: float) -> None:
    """`(timeout 15 min)` is a limit, and no part of the command."""
    check = only(f"## Phase 1: a\n**Checks**:\n- pytest (timeout {suffix}, full output)\n").checks[0]
    assert check == Check(id="1.k1", command="pytest", timeout_s=seconds, full_output=True)


def test_prose_of_a_phase_is_its_goal() -> None:
    """Text under a heading is not lost where nobody wrote **Goal**; a bare check list is the issues."""
    phase = only("## Phase 1: a\nMake it work.\n\n- [ ] one\n- [x] two\n- [ ] three\n")
    assert phase.goal == "Make it work."
    assert [(issue.id, issue.text) for issue in phase.issues] == [("1.i1", "one"), ("1.i3", "three")]


def test_unknown_labels_that_are_no_typo_are_prose() -> None:
    """Fields of other tools end the field before them and are otherwise left alone."""
    phase = only("## Phase 1: a\n**Issues**:\n- [ ] one\n**Requirements**: [R1]\n- not an issue\n")
    assert [issue.text for issue in phase.issues] == ["one"]


def test_a_phase_listed_twice_under_two_names_is_refused() -> None:
    """Two entries for one number are a mistake that only a person can settle."""
    text = "- [ ] **Phase 1: a**\n- [ ] **Phase 1: b**\n"
    with pytest.raises(Exception, match=r"ROADMAP.md:2: field phase 1 is listed twice"):
        markdown(text)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("`src/a.py:12` and `./src/a.py`", ("src/a.py",)),
        ("`tests/t.py::T::test_x[1]`", ("tests/t.py",)),
        ("`Makefile`, `conf.toml`, `Cart.total`, `x = 1`", ("Makefile", "conf.toml")),
        ("src/a.py without backticks", ()),
        ("`/api/users` `../up.py` `https://x.org/a.py` `--flag/x`", ()),
        ("``src/odd`name.py``", ("src/odd`name.py",)),
        ("`app/[id]/page.tsx`", ("app/[id]/page.tsx",)),
    ],
)
def test_issues_name_their_files_in_backticks(text: str, files: tuple[str, ...]) -> None:
    """Paths and test ids count, routes, flags and code do not."""
    assert named_files(text) == files


# One roadmap in three forms ------------------------------------------------------------------------------------

WORD = st.sampled_from(
    [
        "no",
        "on",
        "yes",
        "null",
        "true",
        "größe",
        "x1",
        "1e5",
        "fix",
        "the-cart",
        "a_b",
        "c++",
        "it's",
        "50%",
        "$HOME",
        "~",
        "&",
        "|",
        "(maybe)",
        "key:",
    ]
)
WORDS = st.builds(
    lambda first, rest: " ".join([first, *rest]),
    st.sampled_from(["fix", "größe", "no", "on"]),
    st.lists(WORD, max_size=3),
)
PATH = st.builds(
    "{}/{}.py".format, st.sampled_from(["src", "no", "tests/größe"]), st.sampled_from(["a", "on", "b-c_1"])
)
CHECK = st.builds(
    lambda command, limit, full: {"command": command, "timeout_s": limit, "full_output": full},
    WORDS.map(lambda t: f"run {t}"),
    st.sampled_from([30.0, 600.0, 900.5]),
    st.booleans(),
)
ISSUE = st.builds(
    lambda text, path, done: {"text": f"{text} in `{path}`", "done": done}, WORDS, PATH, st.booleans()
)
CRITERION = st.one_of(
    WORDS.map(lambda t: {"text": t}), st.builds(lambda t, c: {"text": t, "command": f"run {c}"}, WORDS, WORDS)
)
PHASE = st.fixed_dictionaries(
    {
        "name": WORDS,
        "done": st.booleans(),
        "goal": st.one_of(st.just(""), WORDS),
        "criteria": st.lists(CRITERION, max_size=3),
        "issues": st.lists(ISSUE, max_size=3),
        "checks": st.lists(CHECK, max_size=2),
        "files": st.lists(PATH, max_size=2),
        "reports": st.lists(PATH, max_size=2),
        "depends_on": st.one_of(st.none(), st.integers(0, 15)),
    },
    optional={
        "complexity": st.sampled_from(["low", "medium", "high"]),
        "category": st.sampled_from(["backend", "docs"]),
        "format": WORDS,
    },
)


def numbered(phases: list[dict]) -> list[dict]:
    """Give ids, and turn the bits of `depends_on` into ids of earlier phases."""
    ids = [f"{n}" if n % 3 else f"{n}.10" for n in range(1, len(phases) + 1)]
    result = []
    for index, phase in enumerate(phases):
        bits = phase.pop("depends_on")
        numbered_phase = {"id": ids[index], **phase}
        if bits is not None:
            numbered_phase["depends_on"] = [ids[k] for k in range(index) if bits >> k & 1]
        result.append(numbered_phase)
    return result


def render_markdown(phases: list[dict]) -> str:
    return "\n".join(line for phase in phases for line in markdown_lines(phase))


def markdown_lines(phase: dict) -> list[str]:
    box = "[x] " if phase["done"] else ""
    lines = [f"## {box}Phase {phase['id']}: {phase['name']}"]
    if phase["goal"]:
        lines.append(f"**Goal**: {phase['goal']}")
    if "depends_on" in phase:
        lines.append("**Depends on**: " + (", ".join(f"Phase {d}" for d in phase["depends_on"]) or "none"))
    lines.append("**Success Criteria**:")
    for number, item in enumerate(phase["criteria"], 1):
        command = f" (check: `{item['command']}`)" if "command" in item else ""
        lines.append(f"{number}. {item['text']}{command}")
    lines.append("**Issues**:")
    lines += [f"- [{'x' if item['done'] else ' '}] {item['text']}" for item in phase["issues"]]
    lines.append("**Checks**:")
    for check in phase["checks"]:
        full = " (full output)" if check["full_output"] else ""
        lines.append(f"- `{check['command']}` (timeout {check['timeout_s']}s){full}")
    lines.append("**Files**: " + (", ".join(f"`{f}`" for f in phase["files"]) or "none"))
    lines += ["**Reports**:", *(f"- {report}" for report in phase["reports"])]
    for key in ("complexity", "category", "format"):
        if key in phase:
            lines.append(f"**{key.capitalize()}**: {phase[key]}")
    return lines


def render_yaml(phases: list[dict]) -> str:
    """Block style for the phases, JSON (which is YAML) for their values; ids bare, as people write them."""
    lines = ["phases:"]
    for phase in phases:
        lines.append(f"  - id: {phase['id']}")
        lines += [f"    {key}: {json.dumps(value)}" for key, value in phase.items() if key != "id"]
    return "\n".join(lines)


def without_lines(roadmap: Roadmap) -> list[Phase]:
    return [phase.model_copy(update={"line": None}) for phase in roadmap.phases]


@settings(max_examples=40, deadline=None)
@given(st.lists(PHASE, min_size=1, max_size=4).map(numbered))
def test_the_three_forms_say_the_same(phases: list[dict]) -> None:
    """A roadmap written as Markdown, YAML and JSON is parsed to the same phases, and these hold what was written."""
    from_json = without_lines(parse_roadmap(json.dumps({"phases": phases}).encode(), name="r.json"))
    assert without_lines(parse_roadmap(render_yaml(phases).encode(), name="r.yaml")) == from_json
    assert without_lines(markdown(render_markdown(phases))) == from_json
    for written, read in zip(phases, from_json, strict=True):
        assert (read.id, read.name, read.done, read.goal) == tuple(
            written[k] for k in ("id", "name", "done", "goal")
        )
        assert [check.command for check in read.checks] == [check["command"] for check in written["checks"]]
        assert [issue.text for issue in read.issues] == [
            i["text"] for i in written["issues"] if not i["done"]
        ]
        assert [(c.text, c.command) for c in read.criteria] == [
            (c["text"], c.get("command")) for c in written["criteria"]
        ]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["r.md", "r.yaml", "r.json"]))
def test_any_text_is_read_or_refused(text: str, name: str) -> None:
    """Whatever the text, the answer is a roadmap or a RoadmapError that can be printed."""
    data = ("## Phase 1: a\n" * (name == "r.md") + text).encode("utf-8", "surrogatepass")
    try:
        told = "".join(phase.id for phase in parse_roadmap(data, name=name).phases)
    except RoadmapError as error:
        told = error.what + error.fix
    assert told
    assert told.isprintable()
