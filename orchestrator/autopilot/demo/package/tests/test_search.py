import pytest

from shopkit.search import (
    Product,
    did_you_mean,
    distance,
    excerpt,
    highlight,
    in_price_range,
    score,
    search,
    words,
)

MUG = Product("m", "Blue coffee mug", "A mug of stoneware.", 1250)
POT = Product("p", "Coffee pot", "Goes with the blue mug.", 3900)
TEA = Product("t", "Green tea", "From Japan.", 890)
SHOP = [TEA, POT, MUG]


def titles(products):
    return [product.title for product in products]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Blue MUG!", ["blue", "mug"]), ("a b cd", ["cd"]), ("tea-pot 42", ["tea", "pot", "42"]), ("", [])],
)
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("product", "query", "points"),
    [
        (MUG, ["mug"], 4),
        (POT, ["mug"], 1),
        (TEA, ["mug"], 0),
        (MUG, ["coffee", "blue"], 6),
        (MUG, ["cof"], 1),
        (MUG, ["stone"], 0),
        (POT, ["pot", "mug"], 4),
        (Product("d", "Tea, tea, tea"), ["tea"], 9),
    ],
)
def test_score(product, query, points):
    assert score(product, query) == points


def test_best_match_first():
    assert titles(search(SHOP, "blue mug")) == ["Blue coffee mug", "Coffee pot"]


def test_equals_by_price_then_title():
    twins = [Product("1", "Tea C", price=5), Product("2", "Tea B", price=5), Product("3", "Tea A", price=9)]
    assert titles(search(twins, "tea")) == ["Tea B", "Tea C", "Tea A"]


def test_no_match():
    assert search(SHOP, "spoon") == []
    assert search(SHOP, "") == []


def test_limit():
    assert titles(search(SHOP, "coffee", limit=1)) == ["Blue coffee mug"]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (None, None, "tpm"),
        (890, 1250, "tm"),
        (891, None, "pm"),
        (None, 1249, "t"),
        (4000, None, ""),
        (1250, 1250, "m"),
    ],
)
def test_in_price_range(low, high, expected):
    assert "".join(product.sku for product in in_price_range(SHOP, low, high)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [("coffee", "Blue *coffee* mug"), ("mug BLUE", "*Blue* coffee *mug*"), ("tea", "Blue coffee mug")],
)
def test_highlight(query, expected):
    assert highlight("Blue coffee mug", query) == expected


def test_highlight_with_other_marks():
    assert highlight("Tea, green", "tea", "_") == "_Tea,_ green"


@pytest.mark.parametrize(
    ("word", "width", "expected"),
    [
        ("fox", 8, "...own fox ..."),
        ("the", 8, "the quic..."),
        ("dog", 10, "...lazy dog"),
        ("cat", 9, "the quick..."),
        ("LAZY", 99, "the quick brown fox sees the lazy dog"),
        ("quick", 8, "the quic..."),
    ],
)
def test_excerpt(word, width, expected):
    assert excerpt("the quick brown fox sees the lazy dog", word, width) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("mug", "mug", 0),
        ("mug", "mag", 1),
        ("mug", "mugs", 1),
        ("tea", "", 3),
        ("", "tea", 3),
        ("kitten", "sitting", 3),
    ],
)
def test_distance(left, right, expected):
    assert distance(left, right) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [("cofee", "coffee"), ("tae", None), ("teaa", "tea"), ("mup", "mug"), ("spoon", None)],
)
def test_did_you_mean(word, expected):
    assert did_you_mean(word, {"coffee": 9, "tea": 7, "mug": 5, "mud": 2}) == expected


def test_did_you_mean_the_frequent_word():
    assert did_you_mean("mux", {"mud": 2, "mug": 5}) == "mug"
