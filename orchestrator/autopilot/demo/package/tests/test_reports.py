from datetime import date

import pytest

from shopkit.reports import (
    Sale,
    best_sellers,
    growth_percent,
    median,
    moving_average,
    repeat_customers,
    return_rate,
    revenue_by_month,
    share_chart,
)

MAY, JUNE_1, JUNE_2 = date(2026, 5, 31), date(2026, 6, 1), date(2026, 6, 2)
SALES = [
    Sale(JUNE_1, "mug", 3, 1250, "ann"),
    Sale(MAY, "tea", 5, 400, "bob"),
    Sale(JUNE_2, "tea", -2, 400, "bob"),
    Sale(JUNE_2, "pot", 1, 3900, "ann"),
    Sale(JUNE_1, "cup", 3, 900, "ann"),
    Sale(JUNE_2, "jar", 1, 500),
    Sale(JUNE_2, "jar", -1, 500),
]


def test_revenue_by_month():
    totals = revenue_by_month(SALES)
    assert totals == {"2026-05": 2000, "2026-06": 9550}
    assert list(totals) == ["2026-05", "2026-06"]


def test_best_sellers():
    assert best_sellers(SALES) == [("cup", 3), ("mug", 3), ("tea", 3)]
    assert best_sellers(SALES, limit=9)[3:] == [("pot", 1)]


def test_best_sellers_by_pieces():
    assert best_sellers([*SALES, Sale(MAY, "tea", 1, 400)], limit=1) == [("tea", 4)]


@pytest.mark.parametrize(
    ("before", "now", "percent"),
    [(100, 150, 50.0), (300, 200, -33.3), (100, 100, 0.0), (-50, 50, 200.0), (0, 10, None)],
)
def test_growth_percent(before, now, percent):
    assert growth_percent(before, now) == percent


@pytest.mark.parametrize(("values", "expected"), [([5], 5), ([9, 1, 5], 5), ([1, 9, 2, 4], 3), ([7, 1], 4)])
def test_median(values, expected):
    assert median(values) == expected


def test_no_median_of_nothing():
    with pytest.raises(ValueError, match="no values"):
        median([])


@pytest.mark.parametrize(("window", "expected"), [(1, [2, 4, 9, 5]), (2, [3, 6.5, 7]), (4, [5]), (5, [])])
def test_moving_average(window, expected):
    assert moving_average([2, 4, 9, 5], window) == expected


def test_a_window_of_nothing():
    with pytest.raises(ValueError, match="window"):
        moving_average([1], 0)


def test_return_rate():
    assert return_rate(SALES) == 23.1
    assert return_rate(SALES[:2]) == 0.0
    assert return_rate([]) == 0.0


def test_repeat_customers():
    assert repeat_customers(SALES) == {"ann"}


def test_buying_twice_on_one_day_is_no_repetition():
    assert repeat_customers([Sale(MAY, "tea", 1, 1, "eve"), Sale(MAY, "mug", 1, 1, "eve")]) == set()


def test_nameless_customers_do_not_count():
    assert repeat_customers([Sale(MAY, "tea", 1, 1), Sale(JUNE_1, "tea", 1, 1)]) == set()


def test_share_chart():
    assert share_chart([("mug", 100), ("tea", 50), ("jug", 1), ("pot", 0)], width=10) == [
        "mug ##########",
        "tea #####",
        "jug #",
        "pot",
    ]


def test_share_chart_aligns_labels():
    assert share_chart([("a", 3), ("long", 3)], width=2) == ["a    ##", "long ##"]
    assert share_chart([]) == []
