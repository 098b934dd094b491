"""What was looked at is trusted, byte for byte, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.home import Repository
from autopilot.trust import CONFIG, PYPROJECT, TrustBook, digest_of_file, digest_of_table


@pytest.fixture
def book(tmp_path: Path) -> TrustBook:
    """The pins of a user who trusts nothing yet."""
    return TrustBook.of_user({"XDG_STATE_HOME": str(tmp_path / "xs")})


def repository(tmp_path: Path, name: str) -> Repository:
    top = tmp_path / name
    (top / ".git").mkdir(parents=True)
    return Repository(top, top / ".git", top)


def test_a_pin_holds_for_one_content_of_one_repository(tmp_path: Path, book: TrustBook) -> None:
    """A changed file, another source or another clone is not trusted."""
    here, there = repository(tmp_path, "here"), repository(tmp_path, "there")
    book.pin(here, {CONFIG: digest_of_file(b"a")})
    assert book.is_pinned(here, CONFIG, digest_of_file(b"a"))
    assert not book.is_pinned(here, CONFIG, digest_of_file(b"a "))
    assert not book.is_pinned(here, PYPROJECT, digest_of_file(b"a"))
    assert not book.is_pinned(there, CONFIG, digest_of_file(b"a"))


def test_pins_of_other_sources_and_repositories_stay(tmp_path: Path, book: TrustBook) -> None:
    """`init` pins what it wrote and forgets nothing."""
    here, there = repository(tmp_path, "here"), repository(tmp_path, "there")
    book.pin(here, {PYPROJECT: "p"})
    book.pin(there, {CONFIG: "t"})
    book.pin(here, {CONFIG: "c"})
    assert book.is_pinned(here, PYPROJECT, "p")
    assert book.is_pinned(here, CONFIG, "c")
    assert book.revoke(here) is True
    assert book.revoke(here) is False
    assert not book.is_pinned(here, PYPROJECT, "p")
    assert book.is_pinned(there, CONFIG, "t")


def test_a_repository_is_known_by_its_real_path(tmp_path: Path, book: TrustBook) -> None:
    """A link to it is the same repository; a link swapped for another repository is another one."""
    here, there = repository(tmp_path, "here"), repository(tmp_path, "there")
    link = tmp_path / "link"
    link.symlink_to(here.common_dir)
    book.pin(here, {CONFIG: "c"})
    assert book.is_pinned(Repository(here.top, link, here.top), CONFIG, "c")
    link.unlink()
    link.symlink_to(there.common_dir)
    assert not book.is_pinned(Repository(here.top, link, here.top), CONFIG, "c")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"x": 3}', b"\xff", b"null"])
def test_a_damaged_book_trusts_nothing(tmp_path: Path, book: TrustBook, data: bytes) -> None:
    """Nothing is lost but a question: trust can be given again."""
    here = repository(tmp_path, "here")
    book.path.parent.mkdir(parents=True)
    book.path.write_bytes(data)
    assert not book.is_pinned(here, CONFIG, "c")
    book.pin(here, {CONFIG: "c"})
    assert book.is_pinned(here, CONFIG, "c")


def test_the_book_is_private(tmp_path: Path, book: TrustBook) -> None:
    """Another user of the machine can neither read nor write it."""
    book.pin(repository(tmp_path, "here"), {CONFIG: "c"})
    assert book.path.stat().st_mode & 0o077 == 0


def test_the_pyproject_pin_covers_values_only() -> None:
    """Other tables, comments and order may change; a value may not."""
    assert digest_of_table({"a": 1, "b": [2]}) == digest_of_table({"b": [2], "a": 1})
    assert digest_of_table({"a": 1}) != digest_of_table({"a": 2})
