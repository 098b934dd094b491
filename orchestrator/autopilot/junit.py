"""Reads pytest's JUnit XML into results by test id.

The checks compare runs test by test, and the demo's planter asks which tests a bug turns red; both need the id
that pytest itself would take on the command line, and that only the `xunit1` family (which names the file) gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

Status = Literal["passed", "failed", "error", "skipped", "xfailed"]

MAX_MESSAGE = 4_000
"""Characters kept of a failure's message; the log of the command holds all of it."""
_WORSE: tuple[Status, ...] = ("passed", "skipped", "xfailed", "failed", "error")


@dataclass(frozen=True)
class TestResult:
    """How one test ended. `file` is where the report says that the test is defined, None where it does not say."""

    __test__ = False
    status: Status
    message: str
    file: str | None
    duration_s: float


class _NoDoctype(ElementTree.TreeBuilder):
    """Refuses document types, and with them every entity that could read a file or swell the text."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("the test report declares a document type, which pytest never writes")


def parse_junit(data: bytes) -> dict[str, TestResult]:
    """Return results by test id (`tests/test_x.py::TestC::test_y[param]`), in the order of the report.

    A module that could not be collected has its path as id. A test that is reported twice (it failed, then its
    teardown failed) keeps the worse result.

    Raises:
        ValueError: the data is not a JUnit report, is cut off, or declares a document type.
    """
    parser = ElementTree.XMLParser(target=_NoDoctype())  # noqa: S314 - refuses doctypes, so nothing expands
    try:
        parser.feed(data)
        root = parser.close()
    except ElementTree.ParseError as error:
        raise ValueError(f"the test report is not well-formed XML: {error}") from error
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"the test report begins with <{root.tag}>, not with <testsuites>")
    results: dict[str, TestResult] = {}
    for case in root.iter("testcase"):
        test_id = _test_id(case.get("classname", ""), case.get("name", ""), case.get("file"))
        result = _result(case)
        known = results.get(test_id)
        if known is None or _WORSE.index(result.status) > _WORSE.index(known.status):
            results[test_id] = result
    return results


def _result(case: ElementTree.Element) -> TestResult:
    status: Status = "passed"
    message = ""
    for child in case:
        found = _status(child)
        if found is not None and _WORSE.index(found) > _WORSE.index(status):
            status = found
            message = (child.get("message") or (child.text or "").strip())[:MAX_MESSAGE]
    file = case.get("file")
    return TestResult(status, message, file.replace("\\", "/") if file else None, _seconds(case.get("time")))


def _status(child: ElementTree.Element) -> Status | None:
    match child.tag:
        case "failure":
            return "failed"
        case "error":
            return "error"
        case "skipped":
            return "xfailed" if child.get("type") == "pytest.xfail" else "skipped"
        case _:
            return None


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < float("inf") else 0.0


def _test_id(classname: str, name: str, file: str | None) -> str:
    path = file.replace("\\", "/") if file else None
    if not classname:  # a module that could not be collected: its dotted name is the name of the case
        return path or _module_path(name.split("."))
    module = _dotted(path) if path else None
    if path and module and classname == module:
        return f"{path}::{name}"
    if path and module and classname.startswith(module + "."):
        classes = classname[len(module) + 1 :].split(".")
        return "::".join([path, *classes, name])
    # No file, or the file of a base class that the test was inherited from: the class name alone says where it runs.
    return _id_from_classname(classname, name)


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _id_from_classname(classname: str, name: str) -> str:
    parts = classname.split(".")
    return "::".join([_module_path(parts[: _module_length(parts)]), *parts[_module_length(parts) :], name])


def _module_length(parts: list[str]) -> int:
    """Return how many parts of a dotted name are the module: up to the last that is named like a test module."""
    for index in range(len(parts) - 1, -1, -1):
        if parts[index].startswith("test_") or parts[index].endswith("_test"):
            return index + 1
    for index, part in enumerate(parts):
        if index and part[:1].isupper():
            return index
    return len(parts)


def _module_path(parts: list[str]) -> str:
    return "/".join(parts) + ".py"
