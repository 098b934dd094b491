from decimal import Decimal

import pytest

from shopkit.money import CurrencyMismatch, Money, allocate, format_money, parse_money, round_to_step


def test_add():
    assert Money(250) + Money(199) == Money(449)


def test_subtract():
    assert Money(250) - Money(300) == Money(-50)


def test_currencies_do_not_mix():
    with pytest.raises(CurrencyMismatch):
        Money(1, "EUR") + Money(1, "USD")
    with pytest.raises(CurrencyMismatch):
        Money(1, "EUR") - Money(1, "USD")


@pytest.mark.parametrize(
    ("cents", "factor", "expected"),
    [(100, 3, 300), (333, "0.5", 167), (-333, "0.5", -167), (101, Decimal("0.25"), 25)],
)
def test_times_rounds_half_away_from_zero(cents, factor, expected):
    assert Money(cents).times(factor) == Money(expected)


def test_times_keeps_the_currency():
    assert Money(5, "USD").times(2).currency == "USD"


@pytest.mark.parametrize(
    ("cents", "weights", "expected"),
    [
        (100, [1, 1, 1], [34, 33, 33]),
        (101, [1, 1, 1], [34, 34, 33]),
        (1000, [7, 3], [700, 300]),
        (5, [0, 1], [0, 5]),
        (0, [1, 2], [0, 0]),
    ],
)
def test_allocate(cents, weights, expected):
    assert [share.cents for share in allocate(Money(cents), weights)] == expected


@pytest.mark.parametrize("weights", [[], [0, 0]])
def test_allocate_needs_weights(weights):
    with pytest.raises(ValueError, match="weights"):
        allocate(Money(100), weights)


@pytest.mark.parametrize(
    ("cents", "expected"),
    [(0, "0.00 EUR"), (5, "0.05 EUR"), (123450, "1,234.50 EUR"), (-99, "-0.99 EUR"), (100, "1.00 EUR")],
)
def test_format(cents, expected):
    assert format_money(Money(cents)) == expected
    assert str(Money(cents)) == expected


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("12.50 EUR", 1250),
        ("12.5 EUR", 1250),
        ("12 EUR", 1200),
        ("-0.99 EUR", -99),
        (" 1,234,567.01EUR ", 123456701),
    ],
)
def test_parse(text, cents):
    assert parse_money(text) == Money(cents)


@pytest.mark.parametrize("text", ["", "EUR", "12.505 EUR", "1,23 EUR", "12 euro"])
def test_parse_refuses_what_is_no_amount(text):
    with pytest.raises(ValueError, match="not an amount"):
        parse_money(text)


@pytest.mark.parametrize(
    ("cents", "expected"), [(102, 100), (103, 105), (105, 105), (-102, -100), (-103, -105)]
)
def test_round_to_step(cents, expected):
    assert round_to_step(Money(cents), 5) == Money(expected)


def test_half_a_step_rounds_up():
    assert round_to_step(Money(105), 10) == Money(110)
    assert round_to_step(Money(104), 10) == Money(100)
