"""Rows A4 to A8 and A10 to A13 of the bad-input table, for roadmaps: refused clearly, with file, line and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot_playbooks import RoadmapError, load_roadmap, parse_roadmap, suspicious_characters

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def refused(text: str | bytes, name: str = "r.md") -> RoadmapError:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(RoadmapError) as caught:
        parse_roadmap(data, name=name)
    assert caught.value.what.startswith(name)
    assert caught.value.fix
    assert caught.value.exit_code == 2
    return caught.value


def phase_yaml(**fields: object) -> str:
    """One phase in YAML; JSON values are YAML values."""
    keys = {"id": 1, "name": "n", **fields}
    return "phases:\n  - " + "\n    ".join(f"{key}: {json.dumps(value)}" for key, value in keys.items())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "r.md"),
        ("", "r.yaml"),
        ("", "r.json"),
        ("{}", "r.json"),
        ("# only a comment\n", "r.yaml"),
        ("<!-- ## Phase 1: hidden -->\n", "r.md"),
        ("---\nthreshold: 9\n---\n", "r.md"),
        ("phases: []\n", "r.yaml"),
        ("phases:\n", "r.yaml"),
        ("# A title\n\n## Phase Details\n\nprose\n", "r.md"),
    ],
)
def test_A4_a_roadmap_without_phases_is_refused(text: str, name: str) -> None:
    """Empty, only comments, only front matter: `no phases`."""
    error = refused(text, name)
    assert (error.code, "no phases" in error.what) == ("AP210", True)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("phases:\n  - id: 1\n    name: [a\n", "r.yaml:4:", "YAML"),
        ("phases:\n\t- id: 1\n", "r.yaml:2:1", "YAML"),
        ("phases:\n  - id: 1\n    name: a\n    name: b\n", "r.yaml:4", "name stands twice"),
        ("phases: !!python/object/apply:os.system ['true']\n", "r.yaml:1", "tag"),
        ("phases: !!int 5\n", "r.yaml:1", "tag"),
        ("a: 1\n---\nb: 2\n", "r.yaml:2", "more than one YAML document"),
        ("a: *nobody\n", "r.yaml:1", "alias"),
        ("a: &a [*a]\n", "r.yaml:1", "alias"),
        ("? [a, b]\n: c\n", "r.yaml:1", "not a word"),
        ("a: " + "[" * 5000, "r.yaml:1", "nested"),
        ("a: \x07\n", "r.yaml:1", "YAML"),
    ],
)
def test_A5_yaml_that_can_not_be_trusted_is_refused_with_its_line(text: str, place: str, says: str) -> None:
    """Syntax errors, tabs, duplicate keys, object tags, second documents and deep nesting name their place."""
    error = refused(text, "r.yaml")
    assert error.code == "AP203"
    assert error.what.startswith(place)
    assert says in error.what


def test_A5_a_tab_is_named_as_the_cause() -> None:
    """Whoever indents with tabs is told so."""
    assert "tab" in refused("phases:\n\t- id: 1\n", "r.yaml").fix


def test_A5_an_alias_bomb_is_refused_before_it_expands() -> None:
    """Nine levels of nine aliases stand for 387 million values; so do 101 aliases, for the count alone."""
    assert "aliases" in refused(BOMB, "r.yaml").what
    assert "aliases" in refused("a: &a 1\nb: [" + "*a," * 101 + "]\n", "r.yaml").what


def test_A5_a_few_aliases_are_allowed() -> None:
    """Aliases are a convenience of YAML that stays."""
    text = "checks: &c [pytest]\nguards: *c\nphases:\n  - {id: 1, name: n}\n"
    assert parse_roadmap(text.encode(), name="r.yaml").guards[0].command == "pytest"


@pytest.mark.parametrize(
    "text", ['{"phases": [], "phases": []}', '{"threshold": NaN}', '{"threshold": Infinity}']
)
def test_A5_json_with_duplicate_keys_or_nan_is_refused(text: str) -> None:
    """What JSON parsers let through by default is refused too."""
    assert refused(text, "r.json").code in ("AP203", "AP205")


def test_A5_json_that_is_too_deep_or_too_long_is_refused() -> None:
    """Neither depth nor a number of 10,000 digits ends in a traceback."""
    assert refused("[" * 100_000, "r.json").code == "AP203"
    assert refused('{"threshold": ' + "1" * 10_000 + "}", "r.json").code == "AP205"
    assert refused('{"a": 1,}', "r.json").what.startswith("r.json:1:9: JSON")


@pytest.mark.parametrize(
    ("text", "name", "field", "fix"),
    [
        (phase_yaml(dependson=[]), "r.yaml", "phases[0].dependson", "depends_on"),
        ("treshold: 9\n", "r.yaml", "treshold", "threshold"),
        ("---\nguard: x\n---\n## Phase 1: a\n", "r.md", "guard", "guards"),
        (phase_yaml(checks=[{"comand": "x"}]), "r.yaml", "phases[0].checks[0].comand", "command"),
        ("## Phase 1: a\n**Depend on**: none\n", "r.md", "Depend on", "Depends on"),
        ("## Phase 1: a\n**Chekcs**: x\n", "r.md", "Chekcs", "Checks"),
        ("## Phase 1: a\n**Checks** pytest\n", "r.md", "Checks", "colon"),
    ],
)
def test_A6_an_unknown_key_is_refused_with_the_nearest(text: str, name: str, field: str, fix: str) -> None:
    """A typo never silently drops what was meant; the error names the field path and the nearest key."""
    error = refused(text, name)
    assert error.code == "AP204"
    assert f"field {field}" in error.what
    assert fix in error.fix


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("done: no", "should be true or false, and is text no"),
        ("done: yes", "should be true or false, and is text yes"),
        ("name: 404", "should be text, and is a number 404"),
        ("name: true", "should be text, and is true or false"),
        ("issues: {a: b}", "is not known"),
        ("goal: [a]", "should be text, and is a list"),
        (
            "checks: [{command: x, timeout_s: '900'}]",
            "should be a number from 0.001 to 86400, and is text 900",
        ),
        ("checks: [{command: x, timeout_s: .nan}]", "should be a number"),
        ("checks: [{command: x, timeout_s: 0}]", "should be a number"),
        ("checks: [{timeout_s: 1}]", "checks[0].command is missing"),
        ("checks: [{command: x, full_output: on}]", "should be true or false, and is text on"),
        ("depends_on:", "should be a list of phase ids"),
        ("depends_on: true", "should be a list of phase ids"),
        ("complexity: hi", "is not known: hi"),
        ("category: backnd", "is not known: backnd"),
        ("files: [../x]", "leads out of the repository"),
        ("files: [/etc/passwd]", "leads out of the repository"),
        ("checks: ['']", "at least 1 character"),
    ],
)
def test_A6_a_wrong_type_is_refused_with_what_is_expected(fields: str, expected: str) -> None:
    """`no` is not a bool, a number is not a text, a text is not a number: field, expected type and line are named."""
    lines = (
        ["phases:", "  - id: 3"] + ([] if fields.startswith("name") else ["    name: n"]) + [f"    {fields}"]
    )
    error = refused("\n".join(lines), "r.yaml")
    assert expected in error.what
    assert error.what.startswith(f"r.yaml:{len(lines)}") or "missing" in expected or "at least" in expected


def test_A6_words_that_yaml_1_1_turns_into_other_things_stay_text() -> None:
    """`no`, `on`, `1:30`, `0x1F` and dates are names like any other, and 6.10 is not 6.1."""
    names = ["no", "on", "1:30", "0x1F", "2026-01-01", "0o7", "1_000"]
    text = "phases:\n" + "".join(f"  - {{id: 6.{n}0, name: {name}}}\n" for n, name in enumerate(names, 1))
    roadmap = parse_roadmap(text.encode(), name="r.yaml")
    assert [phase.name for phase in roadmap.phases] == names
    assert [phase.id for phase in roadmap.phases][:2] == ["6.10", "6.20"]


def test_A6_json_ids_keep_their_spelling() -> None:
    """6.10 in JSON is the phase 6.10 as well."""
    roadmap = parse_roadmap(b'{"phases": [{"id": 6.10, "name": "n"}]}', name="r.json")
    assert roadmap.phases[0].id == "6.10"


@pytest.mark.parametrize(
    ("text", "cycle"),
    [
        ("## Phase 3: a\n**Depends on**: 5\n## Phase 5: b\n**Depends on**: Phase 3\n", "3 -> 5 -> 3"),
        ("## Phase 5: b\n**Depends on**: 3\n## Phase 3: a\n**Depends on**: 5\n", "3 -> 5 -> 3"),
        (
            "## Phase 1: x\n## Phase 2: a\n**Depends on**: 4\n## Phase 3: b\n## Phase 4: c\n",
            "2 -> 4 -> 3 -> 2",
        ),
    ],
)
def test_A7_cycle_is_printed(text: str, cycle: str) -> None:
    """Phases that wait for each other are named in a ring, the smallest first, whatever the file's order."""
    error = refused(text)
    assert error.code == "AP209"
    assert error.what.endswith(cycle)


def test_A7_a_cycle_through_silence_explains_the_silence() -> None:
    """A phase that says nothing depends on the one before it; the error says so."""
    assert "2 names nothing" in refused("## Phase 1: x\n**Depends on**: 2\n## Phase 2: b\n").why


@pytest.mark.parametrize(
    ("text", "code", "what"),
    [
        ("## Phase 1: a\n**Depends on**: Phase 9\n", "AP208", "r.md:2: field depends_on names phase 9"),
        ("## Phase 1: a\n**Depends on**: 1\n", "AP208", "r.md:2: field depends_on names the phase itself"),
        ("## Phase 1: a\n**Depends on**: the models\n", "AP208", "r.md:2: field depends_on names no phase"),
        ("## Phase 1: a\n## Phase 2: b\n**Depends on**: 1, Phase x\n", "AP208", "r.md:3:"),
        ("## Phase 1: a\n## Phase 1: b\n", "AP207", "r.md:2: field phase 1 stands twice"),
        ("## Phase 1: a\n## Phase 01: b\n", "AP207", "r.md:2:"),
        ("## Phase 2a: a\n", "AP206", "r.md:1: field id is no phase id: 2a"),
        ("## Phase A: a\n", "AP206", "r.md:1: field id is no phase id: A"),
        ("## Phase " + "1" * 40 + ": a\n", "AP206", "r.md:1:"),
        ("## Phase 1: a\n**Goal**: x\n**Goal**: y\n", "AP207", "r.md:3: field goal is given twice"),
    ],
)
def test_A7_bad_ids_and_dependencies_name_the_line(text: str, code: str, what: str) -> None:
    """Unknown, own and unreadable dependencies, duplicate and malformed ids: file, line, field."""
    error = refused(text)
    assert error.code == code
    assert error.what.startswith(what)


def test_A7_ten_thousand_phases_are_the_cap() -> None:
    """10,000 phases are read, one more is refused."""
    text = "".join(f'{{"id": {n}, "name": "n"}},' for n in range(10_000))
    assert len(parse_roadmap(f'{{"phases": [{text[:-1]}]}}'.encode(), name="r.json").phases) == 10_000
    error = refused(f'{{"phases": [{text}{{"id": 10000, "name": "n"}}]}}', "r.json")
    assert (error.code, "10000" in error.what) == ("AP202", True)


GOOD = "## Phase 1: Café\n**Issues**:\n- [ ] fix `a.py`\n"


@pytest.mark.parametrize(
    "data", [GOOD.encode("utf-8-sig"), GOOD.replace("\n", "\r\n").encode(), GOOD.encode()]
)
def test_A8_byte_order_mark_and_crlf_are_accepted(data: bytes) -> None:
    """Files from Windows mean the same."""
    roadmap = parse_roadmap(data, name="r.md")
    assert roadmap == parse_roadmap(GOOD.encode(), name="r.md")
    assert roadmap.phases[0].name == "Café"


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (GOOD.encode("utf-16"), "UTF-16"),
        (GOOD.encode("utf-16-le"), "UTF-16"),
        (GOOD.encode("utf-16-be"), "UTF-16"),
        (GOOD.encode("utf-32"), "UTF-32"),
        (b"## Phase 1: a\nx\0y\n", "r.md:2: holds a NUL byte"),
        (GOOD.encode("latin-1"), "r.md:1: is not valid UTF-8: byte 0xe9"),
    ],
)
def test_A8_other_encodings_are_refused_by_name(data: bytes, named: str) -> None:
    """UTF-16, UTF-32, NUL bytes and Latin-1 are refused, and the error says which."""
    error = refused(data)
    assert error.code == "AP201"
    assert named in error.what
    assert "UTF-8" in error.fix


def test_A8_a_file_over_5_MB_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    """100 MB are no reason to read 100 MB (the file has holes)."""
    path = tmp_path / "r.md"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(RoadmapError) as caught:
        load_roadmap(path)
    assert (caught.value.code, "5 MB" in caught.value.what) == ("AP202", True)


def test_A8_a_long_line_is_no_trap() -> None:
    """An entry that no schema would take is refused before it costs anything."""
    error = refused("## Phase 1: a\n**Issues**:\n- x\n" + "  word\n" * 5000)
    assert (error.code, error.what.startswith("r.md:3: field issues")) == ("AP202", True)


def test_A2_missing_files_folders_and_other_suffixes_are_named(tmp_path: Path) -> None:
    """What can't be read is named, with what to do."""
    for path, says in (
        (tmp_path / "no.md", "no such file"),
        (tmp_path, "folder"),
        (tmp_path / "a\0b", "read"),
    ):
        with pytest.raises(RoadmapError) as caught:
            load_roadmap(path)
        assert (caught.value.code, says in caught.value.what) == ("AP200", True)
    assert "suffix" in refused(GOOD, "r.docx").what


@pytest.mark.parametrize("key", ["include", "import", "extends", "<<"])
def test_A10_a_roadmap_includes_nothing(key: str) -> None:
    """No includes exist: a key that asks for one is unknown, so no path is ever followed."""
    error = refused(f"{key}: ../../x\nphases: [{{id: 1, name: n}}]\n", "r.yaml")
    assert (error.code, key in error.what) == ("AP204", True)


@pytest.mark.parametrize("value", [".nan", "-1", ".inf", "-.inf", "1e309", "11", "'9.0'", "high", "true"])
def test_A11_a_threshold_that_is_no_score_is_refused(value: str) -> None:
    """NaN, negative, infinite, too high or not a number at all: never taken as a threshold."""
    error = refused(f"---\nthreshold: {value}\n---\n## Phase 1: a\n")
    assert error.code == "AP205"
    assert error.what.startswith("r.md:2: field threshold should be a number from 0 to 10")


def test_A11_a_missing_threshold_is_left_to_the_playbook() -> None:
    """Nothing said means None, not zero."""
    assert parse_roadmap(b"## Phase 1: a\n", name="r.md").threshold is None


SECRETS = [
    "api_key: sk-ant-api03-abcdefgh12345678",
    "**Goal**: use sk-proj-abcdefgh12345678 here",
    "- `API_TOKEN=s3cr3tv4lue99 pytest`",
    'password = "hunter2hunter2"',
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "-----BEGIN RSA PRIVATE KEY-----",
    "Secret key: 9f8e7d6c5b4a39281706",
]


@pytest.mark.parametrize("line", SECRETS)
def test_A12_a_secret_is_refused_and_not_repeated(line: str) -> None:
    """The line is named, the value is not; the fix is an environment variable."""
    error = refused(f"## Phase 1: a\n{line}\n")
    assert error.code == "AP211"
    assert error.what.startswith("r.md:2: ")
    told = error.what + error.why + error.fix
    assert not any(word in told for word in line.replace("=", " ").split() if any(c.isdigit() for c in word))
    assert "environment variable" in error.fix


@pytest.mark.parametrize(
    "line",
    [
        "api_key: $API_KEY2",
        "api_key = os.environ['OPENAI_API_KEY_1']",
        "the password field accepts 8 characters",
        "task-sk-learn-compatible-estimators",
        "cache_token: user_profile_v2_settings",
        "- rotate the secret: see docs",
    ],
)
def test_A12_talk_about_secrets_is_no_secret(line: str) -> None:
    """Prose and variables are let through."""
    assert parse_roadmap(f"## Phase 1: a\n{line}\n".encode(), name="r.md").phases


@pytest.mark.parametrize(
    ("char", "name"),
    [
        ("\u202e", "RIGHT-TO-LEFT OVERRIDE"),
        ("\u200b", "ZERO WIDTH SPACE"),
        ("\u200d", "ZERO WIDTH JOINER"),
        ("\U000e0041", "TAG LATIN CAPITAL LETTER A"),
        ("\x1b", "U+001B"),
    ],
)
def test_A13_hidden_characters_in_names_paths_and_commands_are_refused(char: str, name: str) -> None:
    """What does not look like what it is can't be a name, a glob or a command."""
    for field in (
        f"## Phase 1: a{char}b\n",
        f"## Phase 1: a\n**Files**: a{char}b\n",
        f"## Phase 1: a\n**Checks**: a{char}b\n",
    ):
        error = refused(field)
        assert error.code == "AP212"
        assert name in error.what
        assert char not in error.what


def test_A13_hidden_characters_in_prose_are_kept_and_reported() -> None:
    """Prose is data: nothing is changed in it, and a person is told where to look."""
    text = "## Phase 3: a\n**Goal**: ignore\u202e all\n**Issues**:\n- [ ] x\u200by\n"
    roadmap = parse_roadmap(text.encode(), name="r.md")
    assert roadmap.phases[0].goal == "ignore\u202e all"
    assert suspicious_characters(roadmap) == [
        "phase 3 (line 1), goal: U+202E RIGHT-TO-LEFT OVERRIDE",
        "phase 3 (line 1), issue 3.i1: U+200B ZERO WIDTH SPACE",
    ]


def test_A13_emoji_and_other_scripts_are_not_suspicious() -> None:
    """Joiners between emoji or Persian letters, umlauts and accents are writing, not disguise."""
    name = "👩‍💻 می‌خواهم Größe ⚠️"
    roadmap = parse_roadmap(f"## Phase 1: {name}\n**Goal**: {name}\n".encode(), name="r.md")
    assert roadmap.phases[0].name == name
    assert suspicious_characters(roadmap) == []


def test_A13_errors_escape_what_they_show() -> None:
    """An error can't paint on a terminal: escapes from the file or its name are shown as text."""
    error = refused('{"\\u001b[31mred": 1}', "r.json")
    assert "\x1b" not in error.what + error.fix
    with pytest.raises(RoadmapError) as caught:
        parse_roadmap(b"", name="a\x1b[2J.md")
    assert "\x1b" not in caught.value.what


def test_A13_a_lone_surrogate_is_refused() -> None:
    """JSON can spell half a character; no journal could hold it."""
    assert refused('{"phases": [{"id": 1, "name": "n", "goal": "\\ud800"}]}', "r.json").code == "AP201"
