"""A plan computed from a brief: one part per issue, with the red tests that the issue names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from autopilot_agents.brief import Brief, BriefItem, ChildCheck, Deliverable, Plan, PlanChild

NAME_CHARS = 60
_PATH = re.compile(r"[\w./-]*\w\.(?:py|pyi|toml|cfg|md|rst|txt|json|ya?ml)\b")


def plan_for(brief: Brief) -> Plan:
    """Return the plan: parts where there are two issues or more, and a deliverable per named file."""
    files = sorted({file for item in (*brief.issues, *brief.criteria) for file in named_files(item)})
    claims = _claims(brief)
    names = _names(brief.issues)
    parts = [_part(brief, issue, names[issue.id], claims[issue.id]) for issue in brief.issues]
    if len(parts) == 1:
        parts = []
    return Plan(
        deliverables=tuple(Deliverable(path=file) for file in files),
        files_to_read=tuple(files),
        parts=tuple(parts),
        rationale="One part for each issue; the repair search works on one cause at a time."[:200],
    )


def named_files(item: BriefItem) -> list[str]:
    """Return the files that an issue or criterion names, without tests: those are not repaired."""
    found = [*item.files, *_PATH.findall(item.text)]
    paths = (path.removeprefix("./") for path in found if not set(path) & set("*?["))
    return [path for path in dict.fromkeys(paths) if not _is_test(path)]


def _part(brief: Brief, issue: BriefItem, name: str, tests: frozenset[str]) -> PlanChild:
    checks = []
    for check in brief.checks:
        own = tuple(test for test in check.failing if test in tests)
        if own:
            checks.append(ChildCheck(command=check.command, tests=own))
    return PlanChild(
        name=name,
        scope=issue.text[:200],
        issues=(issue.id,),
        own_checks=tuple(checks),
        files=tuple(named_files(issue)),
    )


def _names(issues: Sequence[BriefItem]) -> dict[str, str]:
    """Return a short name for each issue, no two the same: its headline, its text, or its text with its id."""
    names: dict[str, str] = {}
    for candidate in (_headline, _text, lambda issue: f"{issue.id} {_text(issue)}"):
        left = [issue for issue in issues if issue.id not in names]
        count = Counter(
            [*(name.casefold() for name in names.values()), *(candidate(i).casefold() for i in left)]
        )
        names |= {issue.id: candidate(issue) for issue in left if count[candidate(issue).casefold()] == 1}
    return {issue.id: _shortened(names.get(issue.id, issue.id)) for issue in issues}


def _text(issue: BriefItem) -> str:
    return _shortened(" ".join(issue.text.replace("`", "").split())) or issue.id


def _headline(issue: BriefItem) -> str:
    """Return what stands before the first colon, when that is more than a word: the rest is detail."""
    first = " ".join(issue.text.replace("`", "").split()).split(": ", 1)[0]
    return _shortened(first) if len(first.split()) > 1 else _text(issue)


def _shortened(text: str) -> str:
    if len(text) <= NAME_CHARS:
        return text
    return text[: NAME_CHARS - 3].rsplit(" ", 1)[0].rstrip(" ,;:.-") + "..."


def _claims(brief: Brief) -> dict[str, frozenset[str]]:
    """Return the red tests of each issue. Naming a test outranks naming its file, which outranks naming the
    module it is about; tests that two issues claim equally belong to neither.
    """
    failing = list(dict.fromkeys(test for check in brief.checks for test in check.failing))
    ranked = {issue.id: {test: _closeness(issue, test) for test in failing} for issue in brief.issues}
    claims: dict[str, frozenset[str]] = {}
    for issue in brief.issues:
        others = [ranked[other.id] for other in brief.issues if other.id != issue.id]
        own = ranked[issue.id]
        claims[issue.id] = frozenset(
            test for test in failing if own[test] and all(own[test] > other[test] for other in others)
        )
    return claims


def _closeness(issue: BriefItem, test: str) -> int:
    file, *names = test.split("::")
    bare = re.sub(r"\[.*", "", names[-1], flags=re.DOTALL) if names else ""
    texts = (issue.text, *issue.files)
    if _names_any(texts, [test]):
        return 5
    if bare and _names_any(texts, [bare]):
        return 4
    if len(names) > 1 and _names_any(texts, names[:-1]):
        return 3
    if _names_any(texts, [file, PurePosixPath(file).name]):
        return 2
    subject = PurePosixPath(file).stem.removeprefix("test_").removesuffix("_test")
    return 1 if any(PurePosixPath(path).stem == subject for path in named_files(issue)) else 0


def _names_any(texts: Sequence[str], words: Iterable[str]) -> bool:
    patterns = [rf"(?<![\w.]){re.escape(word)}(?![\w\[])" for word in words if word]
    return any(re.search(pattern, text) for pattern in patterns for text in texts)


def _is_test(path: str) -> bool:
    pure = PurePosixPath(path)
    in_tests = bool({"tests", "test"} & set(pure.parts[:-1]))
    return (
        in_tests or pure.name.startswith("test_") or pure.stem.endswith("_test") or pure.name == "conftest.py"
    )
