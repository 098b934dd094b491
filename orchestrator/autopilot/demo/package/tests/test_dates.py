from datetime import date, datetime

import pytest

from shopkit.dates import (
    add_working_days,
    age_on,
    days_between,
    delivery_day,
    format_span,
    is_working_day,
    quarter,
    quarter_bounds,
    return_deadline,
    working_days,
)

THURSDAY, FRIDAY, SATURDAY, SUNDAY, MONDAY, TUESDAY = (date(2026, 7, day) for day in (2, 3, 4, 5, 6, 7))


@pytest.mark.parametrize(
    ("day", "works"), [(FRIDAY, True), (SATURDAY, False), (SUNDAY, False), (MONDAY, True)]
)
def test_weekends_are_free(day, works):
    assert is_working_day(day) is works


def test_holidays_are_free():
    assert not is_working_day(FRIDAY, {FRIDAY})


def test_both_ends_are_between():
    assert list(days_between(FRIDAY, SUNDAY)) == [FRIDAY, SATURDAY, SUNDAY]
    assert list(days_between(FRIDAY, FRIDAY)) == [FRIDAY]
    assert list(days_between(FRIDAY, THURSDAY)) == []


def test_working_days():
    assert working_days(THURSDAY, TUESDAY) == 4
    assert working_days(THURSDAY, TUESDAY, {MONDAY}) == 3


@pytest.mark.parametrize(
    ("day", "count", "expected"),
    [
        (THURSDAY, 0, THURSDAY),
        (THURSDAY, 1, FRIDAY),
        (FRIDAY, 1, MONDAY),
        (SATURDAY, 1, MONDAY),
        (THURSDAY, 3, TUESDAY),
    ],
)
def test_add_working_days(day, count, expected):
    assert add_working_days(day, count) == expected


def test_add_working_days_over_a_holiday():
    assert add_working_days(FRIDAY, 1, {MONDAY}) == TUESDAY


@pytest.mark.parametrize(
    ("hour", "minute", "expected"), [(9, 0, FRIDAY), (13, 59, FRIDAY), (14, 0, MONDAY), (20, 0, MONDAY)]
)
def test_orders_after_two_leave_on_the_next_working_day(hour, minute, expected):
    assert delivery_day(datetime(2026, 7, 2, hour, minute), 1) == expected


def test_orders_of_the_weekend_leave_on_monday():
    assert delivery_day(datetime(2026, 7, 4, 9, 0), 1) == TUESDAY
    assert delivery_day(datetime(2026, 7, 4, 9, 0), 0, {MONDAY}) == TUESDAY


@pytest.mark.parametrize(
    ("month", "expected"), [(1, "2026-Q1"), (3, "2026-Q1"), (4, "2026-Q2"), (9, "2026-Q3"), (12, "2026-Q4")]
)
def test_quarter(month, expected):
    assert quarter(date(2026, month, 15)) == expected


@pytest.mark.parametrize(
    ("number", "first", "last"),
    [
        (1, date(2026, 1, 1), date(2026, 3, 31)),
        (2, date(2026, 4, 1), date(2026, 6, 30)),
        (3, date(2026, 7, 1), date(2026, 9, 30)),
        (4, date(2026, 10, 1), date(2026, 12, 31)),
    ],
)
def test_quarter_bounds(number, first, last):
    assert quarter_bounds(2026, number) == (first, last)


@pytest.mark.parametrize("number", [0, 5])
def test_four_quarters(number):
    with pytest.raises(ValueError, match="four quarters"):
        quarter_bounds(2026, number)


@pytest.mark.parametrize(
    ("today", "age"),
    [(date(2026, 5, 19), 35), (date(2026, 5, 20), 36), (date(2026, 4, 30), 35), (date(2026, 6, 1), 36)],
)
def test_age_on(today, age):
    assert age_on(date(1990, 5, 20), today) == age


@pytest.mark.parametrize(
    ("delivered", "deadline"),
    [
        (date(2026, 7, 3), date(2026, 7, 17)),
        (date(2026, 7, 4), date(2026, 7, 20)),
        (date(2026, 7, 5), date(2026, 7, 20)),
    ],
)
def test_return_deadline(delivered, deadline):
    assert return_deadline(delivered) == deadline


def test_return_deadline_of_other_shops():
    assert return_deadline(MONDAY, days=30) == date(2026, 8, 5)


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (date(2026, 5, 3), date(2026, 5, 3), "3 May 2026"),
        (date(2026, 5, 3), date(2026, 5, 5), "3-5 May 2026"),
        (date(2026, 4, 30), date(2026, 5, 2), "30 Apr - 2 May 2026"),
        (date(2025, 12, 30), date(2026, 1, 2), "30 Dec 2025 - 2 Jan 2026"),
        (date(2025, 5, 3), date(2026, 5, 5), "3 May 2025 - 5 May 2026"),
    ],
)
def test_format_span(first, last, text):
    assert format_span(first, last) == text
