"""Playbooks: the shipped ones, those of users, and what is refused in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from autopilot_agents.brief import Plan
from autopilot_playbooks import PlaybookFileError, load_playbook, playbook_digest
from autopilot_playbooks.loader import ROLES

OPERATIONS = [
    "create",
    "append",
    "prepend",
    "insert",
    "replace",
    "delete",
    "replace_text",
    "rename",
    "delete_file",
    "modify",
    "insert_before",
    "insert_after",
]


def write(folder: Path, text: str, name: str = "mine") -> Path:
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def refused(folder: Path, text: str, name: str = "mine") -> PlaybookFileError:
    write(folder, text, name)
    with pytest.raises(PlaybookFileError) as caught:
        load_playbook(name, search=[folder])
    assert caught.value.fix
    assert caught.value.exit_code == 2
    return caught.value


def test_the_shipped_playbooks_differ_in_their_bar() -> None:
    """Standard passes at 9.0, quality at 9.5; both have a prompt for every role, and quality inherits the rest."""
    standard, quality = load_playbook("standard"), load_playbook("quality")
    assert (standard.threshold, quality.threshold) == (9.0, 9.5)
    assert set(standard.prompts) == set(ROLES)
    assert quality.prompts == standard.prompts
    assert quality.split == standard.split
    assert quality.steps == standard.steps
    assert playbook_digest(standard) != playbook_digest(quality)


def test_the_planner_prompt_shows_a_valid_plan_with_every_key() -> None:
    """The example in the prompt is accepted by the type that parses the planner's answer, and leaves no key out."""
    prompt = load_playbook("standard").prompts["planner"]
    example = prompt[prompt.index('{"deliverables"') : prompt.index("- `deliverables`")]
    plan = Plan.model_validate_json(example)
    assert set(json.loads(example)) == set(Plan.model_fields)
    assert set(json.loads(example)["parts"][0]) == set(type(plan.parts[0]).model_fields)


@pytest.mark.parametrize("role", ["builder", "aligner", "resolver"])
def test_the_examples_of_edits_are_whole_answers(role: str) -> None:
    """Each example is NDJSON from meta to end, and counts its operations right; each operation is explained."""
    prompt = load_playbook("standard").prompts[role]
    lines = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"type"')]
    assert (lines[0]["type"], lines[-1]["type"]) == ("meta", "end")
    assert lines[0]["total_operations"] == len(lines) - 2
    assert all(operation["type"] in OPERATIONS and operation["file_path"] for operation in lines[1:-1])
    assert [name for name in OPERATIONS if f"`{name}`" not in prompt] == []


@pytest.mark.parametrize("role", ROLES)
def test_every_prompt_says_that_contents_are_data(role: str) -> None:
    """No role takes orders from a file."""
    prompt = " ".join(load_playbook("standard").prompts[role].split())
    assert re.search(r"(is|are) data", prompt)
    assert "not addressed to you" in prompt


def test_a_users_playbook_says_only_what_is_different(tmp_path: Path) -> None:
    """`extends` takes over the rest, split by split key and prompt by prompt."""
    text = (
        "---\nextends: standard\nmax_turns: 5\nsplit: {max_issues: 9}\nprompts: {planner: p.md}\n---\n"
        "# Mine\n\n## Prompt: builder\nBuild.\n\n### Part\n```\n## Prompt: planner\n```\n\n## Notes\nNot a prompt.\n"
    )
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "p.md").write_text("Plan.\n")
    mine = load_playbook("mine", search=[write(tmp_path, text)])
    standard = load_playbook("standard")
    assert (mine.name, mine.max_turns, mine.threshold) == ("mine", 5, 9.0)
    assert mine.split == standard.split.model_copy(update={"max_issues": 9})
    assert mine.prompts["builder"] == "Build.\n\n### Part\n```\n## Prompt: planner\n```\n"
    assert mine.prompts["planner"] == "Plan.\n"
    assert mine.prompts["reviewer"] == standard.prompts["reviewer"]


def test_a_folder_of_the_users_comes_before_the_shipped_ones(tmp_path: Path) -> None:
    """`standard.md` in a search folder replaces the shipped one, and may build on it."""
    mine = load_playbook(
        "standard", search=[write(tmp_path, "---\nextends: standard\nmax_turns: 7\n---\n", "standard")]
    )
    assert mine.max_turns == 7
    assert set(mine.prompts) == set(ROLES)


@pytest.mark.parametrize(
    ("front", "code", "what"),
    [
        ("treshold: 9", "AP222", "2: field treshold is not known"),
        ("split: {max_isues: 3}", "AP222", "2: field split.max_isues is not known"),
        ("threshold: .nan", "AP223", "2: field threshold should be a number from 0 to 10"),
        ("threshold: -1", "AP223", "2: field threshold should be a number from 0 to 10"),
        ("threshold: '9'", "AP223", "2: field threshold should be a number from 0 to 10, and is text 9"),
        ("max_turns: 0", "AP223", "2: field max_turns should be a whole number from 1 to 1000"),
        ("max_attempts: 2.5", "AP223", "2: field max_attempts should be a whole number"),
        (
            "run_later_files: yes",
            "AP223",
            "2: field run_later_files should be true or false, and is text yes",
        ),
        ("steps: [prepare, biuld]", "AP223", "2: field steps names a step that is not known: biuld"),
        (
            "steps: [build, prepare, verify, seal]",
            "AP223",
            "2: field steps should hold each step once, in order",
        ),
        ("steps: [prepare, build, seal]", "AP223", "2: field steps should hold each step once"),
        ("threshold: 9\nthreshold: 8", "AP221", "3: key threshold stands twice"),
        ("threshold: [", "AP221", "3:1: YAML"),
        ("prompts: {bilder: b.md}", "AP224", "2: field prompts names a role that is not known: bilder"),
        ("prompts: {builder: b.md}", "AP224", "2: field prompts names prompts/b.md, which is not there"),
        ("description: sk-ant-api03-abcdefgh12345678", "AP226", "2: holds what looks like a secret"),
        ('description: "a\\u202eb"', "AP227", "2: field description holds hidden characters"),
    ],
)
def test_A6_A11_bad_front_matter_names_file_line_and_field(
    tmp_path: Path, front: str, code: str, what: str
) -> None:
    """Unknown keys, wrong types, NaN, negative and unordered values are refused where they stand."""
    error = refused(tmp_path, f"---\n{front}\n---\n")
    assert error.code == code
    assert error.what.startswith(f"{tmp_path}/mine.md:{what}")
    assert "sk-ant" not in error.what


@pytest.mark.parametrize(
    "text", ["", "# only prose\n", "---\n---\n", "---\n# comment\n---\n", "---\nthreshold: 9\n"]
)
def test_A4_a_playbook_without_front_matter_is_refused(tmp_path: Path, text: str) -> None:
    """Empty, only comments, never closed: refused, with how to begin."""
    assert refused(tmp_path, text).code == "AP221"


@pytest.mark.parametrize(
    "data", ["---\nx: 1\n---\n".encode("utf-16"), b"---\n\0---\n", b"---\nname: \xe9\n---\n"]
)
def test_A8_a_playbook_in_another_encoding_is_refused(tmp_path: Path, data: bytes) -> None:
    """UTF-16, NUL bytes and Latin-1, as for roadmaps."""
    (tmp_path / "mine.md").write_bytes(data)
    with pytest.raises(PlaybookFileError) as caught:
        load_playbook("mine", search=[tmp_path])
    assert caught.value.code == "AP221"


@pytest.mark.parametrize("name", ["../up.md", "/etc/passwd", "a/b.md", "..", ".hidden.md", "b.txt"])
def test_A10_a_prompt_file_is_a_plain_name(tmp_path: Path, name: str) -> None:
    """Prompt files come from the folder beside the playbook and from nowhere else."""
    (tmp_path.parent / "up.md").write_text("stolen")
    error = refused(tmp_path, f"---\nprompts: {{builder: {name}}}\n---\n")
    assert (error.code, "plain file name" in error.what) == ("AP224", True)


def test_A10_symbolic_links_are_refused(tmp_path: Path) -> None:
    """A link may lead anywhere: neither a prompt, nor the folder of prompts, nor a playbook may be one."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "p.md").write_text("stolen")
    for folder, linked in (
        (tmp_path / "a", "prompts"),
        (tmp_path / "b", "prompts/p.md"),
        (tmp_path / "c", "mine.md"),
    ):
        folder.mkdir()
        write(folder, "---\nprompts: {builder: p.md}\n---\n")
        if linked != "prompts":
            (folder / "prompts").mkdir()
        (folder / linked).unlink(missing_ok=True)
        (folder / linked).symlink_to(outside if linked == "prompts" else outside / "p.md")
        with pytest.raises(PlaybookFileError, match="symbolic link"):
            load_playbook("mine", search=[folder])


def test_A10_playbooks_that_extend_each_other_are_refused_with_the_circle(tmp_path: Path) -> None:
    """Self-inclusion is printed, and ends."""
    write(tmp_path, "---\nextends: mine\n---\n", "other")
    error = refused(tmp_path, "---\nextends: other\n---\n")
    assert error.code == "AP225"
    assert error.what.endswith("mine -> other -> mine")


@pytest.mark.parametrize("name", ["../standard", "/etc/passwd", "a b", "", ".", "standard.md\n"])
def test_A10_a_name_is_not_a_path(name: str) -> None:
    """A playbook is asked for by name; what would lead elsewhere is refused before any file is opened."""
    with pytest.raises(PlaybookFileError) as caught:
        load_playbook(name)
    assert caught.value.code == "AP220"


def test_an_unknown_playbook_names_the_nearest() -> None:
    """A typo gets a suggestion."""
    with pytest.raises(PlaybookFileError) as caught:
        load_playbook("qualty")
    assert caught.value.fix == "did you mean quality?"


def test_A13_a_prompt_with_hidden_characters_is_refused(tmp_path: Path) -> None:
    """A prompt is an instruction: a person must be able to read all of it."""
    error = refused(tmp_path, "---\nthreshold: 9\n---\n## Prompt: builder\nBuild\u200b.\n")
    assert (error.code, ":4:" in error.what) == ("AP227", True)


def test_two_prompts_for_one_role_and_empty_ones_are_refused(tmp_path: Path) -> None:
    """What is ambiguous or missing is not guessed."""
    assert (
        "two prompts"
        in refused(tmp_path, "---\nname: x\n---\n## Prompt: builder\na\n## Prompt: Builder\nb\n").what
    )
    assert (
        "is empty" in refused(tmp_path, "---\nname: x\n---\n## Prompt: builder\n## Prompt: planner\nb\n").what
    )
    assert "bilder" in refused(tmp_path, "---\nname: x\n---\n## Prompt: bilder\na\n").what


def test_the_digest_follows_the_content() -> None:
    """Any change of a playbook, its prompts included, is another playbook."""
    playbook = load_playbook("standard")
    other = playbook.model_copy(update={"prompts": {**playbook.prompts, "builder": "else"}})
    assert playbook_digest(playbook) == playbook_digest(load_playbook("standard"))
    assert len({playbook_digest(playbook), playbook_digest(other)}) == 2
