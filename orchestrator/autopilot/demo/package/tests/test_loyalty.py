from datetime import date, timedelta

import pytest

from shopkit.loyalty import (
    Earning,
    balance,
    is_valid,
    pay_with_points,
    points_for,
    spend,
    tier_of,
    to_next_tier,
)

TODAY = date(2026, 7, 1)
OLD = Earning(TODAY - timedelta(days=366), 500)
SPRING = Earning(TODAY - timedelta(days=90), 100)
JUNE = Earning(TODAY - timedelta(days=10), 40)


@pytest.mark.parametrize(
    ("points", "tier"),
    [(0, "bronze"), (499, "bronze"), (500, "silver"), (1999, "silver"), (2000, "gold"), (9000, "gold")],
)
def test_tier_of(points, tier):
    assert tier_of(points) == tier


def test_a_negative_balance_is_bronze():
    assert tier_of(-10) == "bronze"


@pytest.mark.parametrize(("points", "missing"), [(0, 500), (499, 1), (500, 1500), (1999, 1), (2000, None)])
def test_to_next_tier(points, missing):
    assert to_next_tier(points) == missing


@pytest.mark.parametrize(
    ("cents", "tier", "points"),
    [(1099, "bronze", 10), (1000, "silver", 12), (1000, "gold", 15), (99, "gold", 0)],
)
def test_points_for(cents, tier, points):
    assert points_for(cents, tier) == points


def test_a_birthday_doubles_the_points():
    assert points_for(1000, "silver", birthday=True) == 24


@pytest.mark.parametrize(("age", "valid"), [(-1, False), (0, True), (1, True), (365, True), (366, False)])
def test_points_are_valid_for_a_year(age, valid):
    assert is_valid(Earning(TODAY - timedelta(days=age), 1), TODAY) is valid


def test_balance_leaves_expired_points_out():
    assert balance([OLD, SPRING, JUNE], TODAY) == 140


@pytest.mark.parametrize(
    ("points", "left"),
    [
        (0, [SPRING, JUNE]),
        (30, [Earning(SPRING.day, 70), JUNE]),
        (100, [JUNE]),
        (120, [Earning(JUNE.day, 20)]),
        (140, []),
    ],
)
def test_spend_takes_the_oldest_first(points, left):
    assert spend([JUNE, OLD, SPRING], points, TODAY) == left


def test_spend_no_more_than_there_is():
    with pytest.raises(ValueError, match="not enough"):
        spend([OLD, SPRING, JUNE], 141, TODAY)


@pytest.mark.parametrize(
    ("total", "points", "expected"),
    [
        (1000, 100, (100, 800)),
        (1000, 250, (250, 500)),
        (1000, 400, (250, 500)),
        (3, 9, (0, 3)),
        (1000, 0, (0, 1000)),
    ],
)
def test_pay_with_points(total, points, expected):
    assert pay_with_points(total, points) == expected
