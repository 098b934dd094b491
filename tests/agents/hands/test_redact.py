"""What redaction promises: no known secret and no well-known key gets through, and ordinary text stays as it is."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import urllib.parse
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot_agents.hands.redact import _BATCH_BYTES, _HOLD_BYTES, Redactor, is_secret_name

SECRET = 'pa55/w0rd+with "odd" chars=&ü'
KEY_BLOCK = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join(["MIIEowIBAAKCAQEA7x" * 3] * 20)
    + "\n-----END RSA PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        base64.b64encode(SECRET.encode()).decode().rstrip("="),
        base64.b64encode(b"user:" + SECRET.encode()).decode(),
        base64.urlsafe_b64encode(b"x" + SECRET.encode() + b"tail").decode(),
        urllib.parse.quote(SECRET, safe=""),
        urllib.parse.quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
    ],
)
def test_a_known_secret_is_found_in_every_spelling(form: str) -> None:
    """Plain, base64 at any offset, URL- and JSON-escaped: the value does not get through."""
    clean = Redactor([SECRET]).text(f"before <{form}> after")
    assert clean.startswith("before <")
    assert clean.endswith("> after")
    assert form not in clean
    assert "[redacted]" in clean


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("key sk-ant-api03-AbCdEf0123456789_-AbCdEf0123456789", "AbCdEf0123456789"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"),
        ("github_pat_11ABCDEFG0123456789_abcdefghijkl", "11ABCDEFG0123456789"),
        ("aws AKIAIOSFODNN7EXAMPLE.", "IOSFODNN7"),
        ("xoxb-123456789012-abcdefABCDEF", "123456789012"),
        ("AIzaSyA-0123456789abcdefghijklmnopqrstu", "0123456789abc"),
        (f"cookie: {JWT}", "dozjgNryP4J3"),
        ("Authorization: Bearer abc123def456ghi789jkl", "abc123def456"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNz"),
        ("postgres://app:hunter2secret@db:5432/x", "hunter2secret"),
        ("https://oauth2:glpw123@host/repo.git", "glpw123"),
        ("API_KEY=a1b2c3d4e5f6", "a1b2c3d4e5f6"),
        ('"password": "hunter2!x9"', "hunter2!x9"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"),
        ("client_secret: 'q1w2e3r4t5y6'", "q1w2e3r4t5y6"),
        (KEY_BLOCK, "MIIEowIBAAK"),
        (json.dumps(KEY_BLOCK), "MIIEowIBAAK"),
    ],
)
def test_well_known_keys_are_found_without_being_known(text: str, secret: str) -> None:
    """Keys of common shapes are replaced, and doing it again changes nothing."""
    redactor = Redactor([])
    clean = redactor.text(text)
    assert secret in text
    assert secret not in clean
    assert redactor.text(clean) == clean


def test_the_name_of_a_secret_stays_readable() -> None:
    """Only the value goes: which key was printed can still be read."""
    assert Redactor([]).text("API_KEY=a1b2c3d4e5f6 next") == "API_KEY=[redacted] next"


def ordinary_lines(count: int) -> list[str]:
    """Return lines as tests, tools and source files print them, with hashes, ids and paths."""
    rng = random.Random(7)
    lines = []
    for number in range(count // 20):
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        name = rng.choice(["auth/token", "secrets", "password_reset", "api_key_store", "user"])
        identifier = uuid.UUID(int=rng.getrandbits(128))
        lines += [
            f"commit {digest[:40]}",
            f"index {digest[:7]}..{digest[7:14]} 100644",
            f"    --hash=sha256:{digest} \\",
            f'"integrity": "sha512-{base64.b64encode(bytes.fromhex(digest)).decode()}"',
            f"request {identifier} took {number} ms",
            f"/home/user/project/src/{name}/test_{number}.py:{number}: error: bad",
            f"tests/{name}/test_tokens.py::test_secret_{number} PASSED [ {number % 100}%]",
            f"max_tokens = {8192 + number}  input_tokens: {number}00000000",
            f"token = next(self.tokens_{number})",
            f"def login(user: str, password: str = DEFAULT_{number}) -> Token:",
            "self.token = self.config.token2.value",
            'raise ValueError("the secret key is missing")',
            f"password = getpass.getpass('Password {number}: ')",
            f"https://example.com:8080/path/{digest[:12]}?x=1@y",
            f"git@github.com:owner/repo{number}.git",
            "the task-force asks disk-usage and risk-assessment-of-the-whole-thing",
            f"Bearer of news number {number}, the bearer authentication-scheme",
            f"token: {name}",
            f"E   assert {number} == {number + 1}",
            f"eyJ{number} sk-{number} ghp_{number} AKIA{number}",
        ]
    return lines


def test_ordinary_text_is_not_touched() -> None:
    """Ten thousand lines with hashes, UUIDs, paths and code about tokens come back unchanged."""
    redactor = Redactor([SECRET])
    lines = ordinary_lines(10_000)
    changed = [(line, redactor.text(line)) for line in lines if redactor.text(line) != line]
    assert len(lines) == 10_000
    assert changed == []
    assert redactor.text("\n".join(lines)) == "\n".join(lines)


def test_short_values_are_not_replaced() -> None:
    """A secret shorter than eight characters would be found in ordinary words."""
    assert Redactor(["main", ""]).text("the main branch") == "the main branch"


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_chunk_edges_hide_nothing(data: st.DataObject) -> None:
    """However a stream is cut, what comes out is what the whole text gives."""
    redactor = Redactor([SECRET])
    text = (
        "x" * data.draw(st.integers(0, 70_000))
        + f" {SECRET} y\n{KEY_BLOCK}\nAPI_KEY=a1b2c3d4e5f6\n"
        + "z\n" * 30_000
    )
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    stream = redactor.stream()
    edges = [0, *cuts, len(raw)]
    out = b"".join(stream.feed(raw[start:stop]) for start, stop in itertools.pairwise(edges))
    out += stream.flush()
    assert out == redactor.bytes(raw)


@pytest.mark.parametrize("secret", [SECRET, KEY_BLOCK])
@pytest.mark.parametrize("inside", [1, 9, 25])
def test_a_secret_across_the_point_where_output_is_passed_on(secret: str, inside: int) -> None:
    """Byte by byte, wherever the stream first passes output on, a secret that began before is not cut in two."""
    redactor = Redactor([SECRET])
    for passed_on_at in (_BATCH_BYTES, _BATCH_BYTES + _HOLD_BYTES):
        text = ("a" * (passed_on_at - inside) + secret + "b" * 60_000).encode()
        stream = redactor.stream()
        out = stream.feed(text[: passed_on_at - inside])
        out += b"".join(stream.feed(text[at : at + 1]) for at in range(passed_on_at - inside, len(text)))
        out += stream.flush()
        assert out == redactor.bytes(text)
        assert secret.encode() not in out


def test_secrets_are_taken_from_the_environment_by_name() -> None:
    """Values of variables with telling names, and passwords in URLs, are secrets; folders and plain ones are not."""
    redactor = Redactor.from_environ(
        {
            "ANTHROPIC_API_KEY": "plain-looking-value",
            "DATABASE_URL": "mysql://root:correct-horse@db/x",
            "SSH_AUTH_SOCK": "/tmp/agent.sock",
            "GOOGLE_APPLICATION_CREDENTIALS": "/etc",
            "PATH": "/usr/bin:/usr/local/bin",
            "PWD": "/home/user/project",
        }
    )
    text = "plain-looking-value correct-horse /tmp/agent.sock /etc /usr/bin:/usr/local/bin /home/user/project"
    assert redactor.text(text) == (
        "[redacted] [redacted] /tmp/agent.sock /etc /usr/bin:/usr/local/bin /home/user/project"
    )


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "npm_config_token", "AWS_SECRET_ACCESS_KEY"]
)
def test_names_of_secrets_are_recognised(name: str) -> None:
    """Usual names of variables with secrets are known."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["PATH", "PYTHONPATH", "GIT_AUTHOR_NAME", "KEYBOARD", "PWD", "MONKEY", "AUTHOR"]
)
def test_other_names_are_not(name: str) -> None:
    """Names that merely contain such a word are not."""
    assert not is_secret_name(name)


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    """No text breaks redaction, and ordinary text without keys has no marks put in twice."""
    redactor = Redactor([SECRET])
    once = redactor.text(text)
    assert redactor.text(once) == once


def test_the_exact_redactor_changes_known_values_only():
    """What is read back and acted on (code, test ids, contracts) keeps whatever only looks like a secret."""
    code = b"test_url[http://wiki:pass@example.org] api_key = 'abcdefgh12345678' value-of-a-key"
    exact = Redactor(["value-of-a-key"]).exact()
    assert exact.bytes(code) == code.replace(b"value-of-a-key", b"[redacted]")
    assert Redactor().bytes(code) != code
