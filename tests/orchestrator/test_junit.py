import subprocess
import sys

import pytest

from autopilot.junit import MAX_MESSAGE, parse_junit

SUITE = """
import pytest

class Base:
    def test_inherited(self): pass

class TestOuter(Base):
    class TestInner:
        @pytest.mark.parametrize("text", ["a::b", "c.d/e", "[x]"])
        def test_param(self, text): pass
    def test_bad(self): assert 1 == 2, "boo"

@pytest.mark.xfail(reason="known")
def test_known(): assert 0

@pytest.mark.skip(reason="not here")
def test_skipped(): pass

@pytest.fixture
def breaks(): raise RuntimeError("no set-up")

@pytest.fixture
def leaves():
    yield
    raise RuntimeError("no teardown")

def test_setup(breaks): pass
def test_teardown(leaves): pass
def test_both(leaves): assert 0
"""


def report(folder, *args):
    target = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "--disable-plugin-autoload", "-p", "no:cacheprovider"]
    command += [f"--junitxml={target}", "-o", "junit_family=xunit1", *args]
    subprocess.run(command, cwd=folder, check=False, capture_output=True)
    return parse_junit(target.read_bytes())


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "tests" / "deep").mkdir(parents=True)
    (folder / "tests" / "deep" / "test_x.py").write_text(SUITE)
    (folder / "tests" / "test_gone.py").write_text("import there_is_no_such_module\n")
    (folder / "tests" / "shared.py").write_text("class Shared:\n    def test_shared(self): pass\n")
    heir = "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n"
    heir += "from shared import Shared\nclass TestHeir(Shared): pass\n"
    (folder / "tests" / "test_heir.py").write_text(heir)
    return report(folder, "--continue-on-collection-errors")


def test_ids_are_those_that_pytest_takes(results):
    """Each id names file, classes and parameters as pytest's command line does, whatever the parameters hold."""
    x = "tests/deep/test_x.py"
    assert set(results) == {
        f"{x}::TestOuter::test_inherited",
        f"{x}::TestOuter::TestInner::test_param[a::b]",
        f"{x}::TestOuter::TestInner::test_param[c.d/e]",
        f"{x}::TestOuter::TestInner::test_param[[x]]",
        f"{x}::TestOuter::test_bad",
        f"{x}::test_known",
        f"{x}::test_skipped",
        f"{x}::test_setup",
        f"{x}::test_teardown",
        f"{x}::test_both",
        "tests/test_gone.py",
        "tests/test_heir.py::TestHeir::test_shared",
    }


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("TestOuter::test_inherited", "passed", ""),
        ("TestOuter::test_bad", "failed", "boo"),
        ("test_known", "xfailed", "known"),
        ("test_skipped", "skipped", "not here"),
        ("test_setup", "error", "no set-up"),
        ("test_teardown", "error", "no teardown"),
        ("test_both", "error", "no teardown"),
    ],
)
def test_results_say_how_a_test_ended(results, name, status, message):
    """A test has the worst of what was reported for it, and the message that belongs to that."""
    result = results[f"tests/deep/test_x.py::{name}"]
    assert result.status == status
    assert message in result.message
    assert result.file == "tests/deep/test_x.py"
    assert result.duration_s >= 0


def test_a_module_that_can_not_be_imported_is_an_error_by_its_path(results):
    """A collection error is found under the path of the module, with what went wrong."""
    assert results["tests/test_gone.py"].status == "error"
    assert "collection failure" in results["tests/test_gone.py"].message


@pytest.mark.parametrize(
    ("classname", "name", "test_id"),
    [
        ("tests.test_x", "test_y", "tests/test_x.py::test_y"),
        ("tests.test_x.TestC.TestD", "test_y[1.5]", "tests/test_x.py::TestC::TestD::test_y[1.5]"),
        ("test_unit.test_x.TestC", "test_y", "test_unit/test_x.py::TestC::test_y"),
        ("pkg.checks.TestC", "test_y", "pkg/checks.py::TestC::test_y"),
        ("checks", "test_y", "checks.py::test_y"),
        ("", "tests.test_x", "tests/test_x.py"),
    ],
)
def test_without_a_file_the_class_name_says_where(classname, name, test_id):
    """A report of another family, without the `file` attribute, still gives usable ids."""
    xml = f'<testsuite><testcase classname="{classname}" name="{name}" time="oops"/></testsuite>'
    results = parse_junit(xml.encode())
    assert list(results) == [test_id]
    assert results[test_id].file is None
    assert results[test_id].duration_s == 0.0


def test_windows_paths_become_posix_paths():
    """Backslashes in the report do not reach the ids."""
    xml = rb'<testsuite><testcase classname="tests.test_x" name="test_y" file="tests\test_x.py"/></testsuite>'
    assert list(parse_junit(xml)) == ["tests/test_x.py::test_y"]


def test_messages_are_bounded():
    """A failure of any length gives a message of bounded length."""
    xml = f'<testsuite><testcase classname="t" name="n"><failure message="{"x" * 50_000}"/></testcase></testsuite>'
    assert len(parse_junit(xml.encode())["t.py::n"].message) == MAX_MESSAGE


BOMB = b"""<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>
<testsuites><testcase classname="t" name="&b;"/></testsuites>"""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no xml",
        b"<testsuites><testsuite>",
        b"<html/>",
        b"\xff\xfe\x00",
        BOMB,
        b'<!DOCTYPE t SYSTEM "file:///etc/hostname"><testsuites/>',
    ],
)
def test_what_is_no_report_is_refused(data):
    """Cut, foreign or hostile data is a ValueError, never a result."""
    with pytest.raises(ValueError, match="report"):
        parse_junit(data)
