import pytest

from shopkit.slugs import initials, is_slug, path_for, plain, shorten, slugify, unique, without_stop_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Große", "grosse"), ("Crème Brûlée", "creme brulee"), ("Smørrebrød", "smorrebrod"), ("Æ", "ae")],
)
def test_plain(text, expected):
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Große Kaffeetasse (blau)", "grosse-kaffeetasse-blau"),
        ("Salt & Pepper", "salt-and-pepper"),
        ("  --Mug--  ", "mug"),
        ("50% off", "50-percent-off"),
        ("???", "item"),
        ("", "item"),
    ],
)
def test_slugify(text, slug):
    assert slugify(text) == slug


@pytest.mark.parametrize(
    ("length", "slug"),
    [
        (4, "blue"),
        (5, "blue"),
        (6, "blue"),
        (11, "blue-coffee"),
        (12, "blue-coffee"),
        (15, "blue-coffee-mug"),
        (16, "blue-coffee-mug"),
    ],
)
def test_long_slugs_end_at_a_word(length, slug):
    assert shorten("blue-coffee-mug", length) == slug
    assert slugify("Blue coffee mug", max_length=length) == slug


def test_a_single_long_word_is_cut():
    assert shorten("kaffeetasse", 6) == "kaffee"


@pytest.mark.parametrize(
    ("slug", "kept"),
    [("cup-of-tea", "cup-tea"), ("the-mug", "mug"), ("of-the", "of-the"), ("theory", "theory")],
)
def test_without_stop_words(slug, kept):
    assert without_stop_words(slug) == kept


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([], "mug"),
        (["tea"], "mug"),
        (["mug"], "mug-2"),
        (["mug", "mug-2"], "mug-3"),
        (["mug", "mug-3"], "mug-2"),
        (["mug", "mug-2", "mug-3", "mug-4"], "mug-5"),
    ],
)
def test_unique(taken, expected):
    assert unique("mug", taken) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mug", True),
        ("blue-mug-2", True),
        ("", False),
        ("-mug", False),
        ("a--b", False),
        ("Mug", False),
        ("b!", False),
        ("é", False),
    ],
)
def test_is_slug(text, expected):
    assert is_slug(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Cup of Tea", "CT"), ("blue coffee mug", "BCM"), ("one two three four", "OTT"), ("The", "T")],
)
def test_initials(text, expected):
    assert initials(text) == expected


def test_fewer_initials():
    assert initials("blue coffee mug", limit=2) == "BC"


def test_path_for():
    assert path_for("Tea", "Green Tea") == "/tea/green-tea"
    assert path_for("Tea", " ", "Oolong") == "/tea/oolong"
    assert path_for() == "/"


def test_trailing_slash():
    assert path_for("Tea", trailing=True) == "/tea/"
    assert path_for(trailing=True) == "/"
