"""The offline provider: what it plans, which command it asks for, what it answers, what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autopilot_agents.brief import Brief, BriefCheck, BriefItem, Plan
from autopilot_agents.errors import ProviderRefused
from autopilot_agents.protocols import Message, Reply, Request, ToolResult, ToolSpec
from autopilot_agents.providers.offline.planning import plan_for
from autopilot_agents.providers.offline.provider import OfflineProvider, search_command
from autopilot_agents.providers.offline.pytest_args import parse
from autopilot_agents.providers.offline.spec import Spec, decode

pytestmark = pytest.mark.anyio

SHELL = ToolSpec("shell", "", {})
READ = ToolSpec("read_file", "", {})
CHECK = BriefCheck(
    id="20.k1",
    command="python -m pytest tests -q",
    failing=(
        "tests/test_slug.py::test_cut",
        "tests/test_money.py::test_round[2]",
        "tests/test_money.py::test_sign",
    ),
)
ISSUES = (
    BriefItem(id="20.i1", text="`slug.py` cuts one character too early, see tests/test_slug.py"),
    BriefItem(id="20.i2", text="test_round fails", files=("pkg/money.py",)),
    BriefItem(id="20.i3", text="The sign of amounts is lost (tests/test_money.py::test_sign)"),
)


def brief(**changes: object) -> Brief:
    fields = {"unit": "20", "name": "Repairs", "issues": ISSUES, "checks": (CHECK,), "python": "python"}
    return Brief.model_validate({**fields, **changes})


def request(role: str, text: str, *later: Message, tools: tuple[ToolSpec, ...] = (SHELL, READ)) -> Request:
    return Request("2f9c", "20", role, "system", (Message("user", text), *later), tools)


async def ask(role: str, given: Brief, *later: Message, tools: tuple[ToolSpec, ...] = (SHELL, READ)) -> Reply:
    prompt = f"Do it.\n{given.render()}\n"
    return await OfflineProvider(workers=2).complete(request(role, prompt, *later, tools=tools))


async def test_plan_gives_each_issue_the_red_tests_that_it_names() -> None:
    """An issue gets the tests that it names by file, by function or by id; the most exact name wins."""
    plan = Plan.model_validate_json((await ask("planner", brief())).message.text)
    tests = [[check.tests for check in part.own_checks] for part in plan.parts]
    assert tests == [
        [("tests/test_slug.py::test_cut",)],
        [("tests/test_money.py::test_round[2]",)],
        [("tests/test_money.py::test_sign",)],
    ]
    assert [part.issues for part in plan.parts] == [("20.i1",), ("20.i2",), ("20.i3",)]
    assert [part.files for part in plan.parts] == [("slug.py",), ("pkg/money.py",), ()]
    assert "`" not in plan.parts[0].name
    assert len(plan.parts[0].name) <= 60


async def test_issues_that_claim_the_same_tests_get_none() -> None:
    """Tests that two issues name alike belong to neither, so that no part claims the other's work."""
    issues = (
        BriefItem(id="20.i1", text="see tests/test_money.py"),
        BriefItem(id="20.i2", text="tests/test_money.py again"),
    )
    plan = Plan.model_validate_json((await ask("planner", brief(issues=issues))).message.text)
    assert [part.own_checks for part in plan.parts] == [(), ()]


async def test_one_issue_is_not_divided() -> None:
    """A unit with a single issue has no parts."""
    plan = Plan.model_validate_json((await ask("planner", brief(issues=ISSUES[1:2]))).message.text)
    assert plan.parts == ()
    assert [item.path for item in plan.deliverables] == ["pkg/money.py"]


async def test_builder_asks_for_the_search_as_one_command() -> None:
    """The first answer is a tool call whose spec holds the unit's red tests, its globs and its limits."""
    narrowed = CHECK.model_copy(update={"tests": CHECK.failing[:1]})
    reply = await ask("builder", brief(checks=(narrowed,), touches=("pkg/*.py",), cycle=1))
    assert reply.stop_reason == "tool_use"
    (call,) = reply.message.tool_calls
    assert call.name == "shell"
    words = call.arguments["command"].split()
    assert words[-5:-1] == ["python", "-m", "autopilot_agents.providers.offline.search", "--spec"]
    assert decode(words[-1]) == Spec(
        command=CHECK.command,
        commands=(CHECK.command,),
        failing=CHECK.failing[:1],
        touches=("pkg/*.py",),
        workers=2,
        skip_accepted=1,
    )


def test_the_command_works_where_nothing_but_pytest_is_installed(tmp_path: Path) -> None:
    """The search starts in an interpreter that sees none of the packages that Autopilot itself depends on."""
    import_pytest_only = (
        "import sys; sys.modules.update(dict.fromkeys(('pydantic', 'anyio', 'autopilot_state')));"
        "import runpy; sys.argv[1:] = sys.argv[1:];"
        "runpy.run_module('autopilot_agents.providers.offline.search', run_name='__main__')"
    )
    (tmp_path / "test_red.py").write_text("def test_red(): assert False\n")
    command = search_command(
        brief(checks=(BriefCheck(id="20.k1", command="pytest -q", failing=("test_red.py::test_red",)),)),
        workers=1,
    )
    assert command is not None
    root = Path(__file__).parents[3] / "agents"
    done = subprocess.run(
        [sys.executable, "-c", import_pytest_only, "--spec", command.split()[-1]],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["total_operations"] == 0


OUTPUT = """\
search: 3 suspicious lines
{"type": "meta", "summary": "comparison at pkg/mod.py:3", "total_operations": 1}
{"type": "replace", "file_path": "pkg/mod.py", "start_line": 3, "end_line": 3, "content": "x\\n"}
{"type": "end"}
[exit code 0]"""


async def test_builder_shows_itself_the_lines_and_answers_with_the_operations() -> None:
    """After the search the edited lines are read, because no file is edited unseen; then the operations follow."""
    searched = Message("user", tool_results=(ToolResult("search-1", OUTPUT),))
    reading = await ask("builder", brief(), searched)
    (call,) = reading.message.tool_calls
    assert (call.name, dict(call.arguments)) == ("read_file", {"path": "pkg/mod.py", "start": 3, "end": 3})
    read = Message("user", tool_results=(ToolResult("read-1", "     3\tx"),))
    reply = await ask("builder", brief(), searched, read)
    assert reply.stop_reason == "end_turn"
    assert reply.message.text.splitlines() == OUTPUT.splitlines()[1:4]
    assert (await ask("builder", brief(), searched, tools=(SHELL,))).message.text == reply.message.text


async def test_a_search_that_died_is_an_empty_set_with_its_last_words() -> None:
    """Output without an answer becomes an answer without operations that quotes how it ended."""
    died = Message("user", tool_results=(ToolResult("search-1", "Killed\n[exit code 137]"),))
    meta = json.loads((await ask("builder", brief(), died)).message.text.splitlines()[0])
    assert meta["total_operations"] == 0
    assert "137" in meta["summary"]


@pytest.mark.parametrize("changes", [{"checks": ()}, {"python": ""}], ids=["no-red-check", "no-python"])
async def test_without_python_tests_the_builder_says_so(changes: dict[str, object]) -> None:
    """A unit that has nothing to search with gets an empty set and the reason, and no command is run."""
    reply = await ask("builder", brief(**changes))
    meta = json.loads(reply.message.text.splitlines()[0])
    assert meta["total_operations"] == 0
    assert "tests" in meta["summary"]


async def test_aligner_has_nothing_to_do() -> None:
    """The aligner's answer is an explicit empty set, and needs no brief."""
    reply = await OfflineProvider(workers=1).complete(request("aligner", "Align."))
    assert [json.loads(line)["type"] for line in reply.message.text.splitlines()] == ["meta", "end"]


@pytest.mark.parametrize("role", ["assessor", "reviewer", "resolver"])
async def test_roles_that_need_a_model_are_refused(role: str) -> None:
    """Roles that judge are not played at all."""
    with pytest.raises(ProviderRefused) as refused:
        await ask(role, brief())
    assert refused.value.code == "AP320"


async def test_usage_counts_text_and_costs_nothing() -> None:
    """Each answer is one request with estimated tokens and no money."""
    usage = (await ask("planner", brief())).usage
    assert usage.requests == 1
    assert usage.cost_usd == 0
    assert usage.input_tokens > 50
    assert usage.output_tokens > 10


@pytest.mark.parametrize(
    ("command", "options", "paths"),
    [
        ("pytest", (), ()),
        ("python -m pytest tests/a.py -q -x", (), ("tests/a.py",)),
        ("CI=1 python3.11 -m pytest -k 'a and b' -n 4 --cov=pkg tests", ("-k", "a and b"), ("tests",)),
        ("ruff check . && .venv/bin/pytest --maxfail=1 -W error t::x[a-b]", ("-W", "error"), ("t::x[a-b]",)),
    ],
)
def test_commands_are_understood(command: str, options: tuple[str, ...], paths: tuple[str, ...]) -> None:
    """Paths and the options that decide about results are kept; output, order and processes are not."""
    parsed = parse(command)
    assert parsed is not None
    assert (parsed.options, parsed.paths) == (options, paths)


@pytest.mark.parametrize(
    "command", ["make test", "cd sub && pytest", "python -m unittest", "pytest 'unclosed"]
)
def test_other_commands_are_not_taken_for_pytest(command: str) -> None:
    """A command that runs something else, or elsewhere, is left alone."""
    assert parse(command) is None


def test_parts_have_names_of_their_own_whatever_the_issues_say():
    """Equal headlines, equal texts and long texts still give names that no two parts share."""
    issues = [
        BriefItem(id="1.i1", text="`a.py` misbehaves: 3 tests fail"),
        BriefItem(id="1.i2", text="`a.py` misbehaves: 4 tests fail"),
        BriefItem(id="1.i3", text="same"),
        BriefItem(id="1.i4", text="same"),
        BriefItem(id="1.i5", text="`b.py` misbehaves: 4 tests fail"),
    ]
    names = [part.name for part in plan_for(Brief(unit="1", name="x", issues=tuple(issues))).parts]
    assert names[4] == "b.py misbehaves"
    assert len({name.casefold() for name in names}) == 5
