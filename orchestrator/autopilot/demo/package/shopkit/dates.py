"""Working days, delivery days, quarters."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date, datetime, time, timedelta

ONE_DAY = timedelta(days=1)
CUT_OFF = time(14, 0)
SATURDAY = 5


def is_working_day(day: date, holidays: Collection[date] = ()) -> bool:
    """Return whether parcels move on this day."""
    return day.weekday() < SATURDAY and day not in holidays


def days_between(first: date, last: date) -> Iterator[date]:
    """Yield every day from `first` to `last`, both included."""
    for offset in range((last - first).days + 1):
        yield first + timedelta(days=offset)


def working_days(first: date, last: date, holidays: Collection[date] = ()) -> int:
    """Return the number of working days from `first` to `last`, both included."""
    return sum(is_working_day(day, holidays) for day in days_between(first, last))


def add_working_days(day: date, count: int, holidays: Collection[date] = ()) -> date:
    """Return the day that is `count` working days later; 0 leaves a day as it is."""
    for _ in range(count):
        day += ONE_DAY
        while not is_working_day(day, holidays):
            day += ONE_DAY
    return day


def delivery_day(ordered: datetime, transit_days: int, holidays: Collection[date] = ()) -> date:
    """Return when an order arrives. It leaves on the same working day if it was placed before two o'clock."""
    leaves = ordered.date()
    if not is_working_day(leaves, holidays) or ordered.time() >= CUT_OFF:
        leaves = add_working_days(leaves, 1, holidays)
    return add_working_days(leaves, transit_days, holidays)


def quarter(day: date) -> str:
    """Return the quarter of a day as `2026-Q3`."""
    return f"{day.year}-Q{(day.month - 1) // 3 + 1}"


def quarter_bounds(year: int, number: int) -> tuple[date, date]:
    """Return the first and the last day of a quarter."""
    if not 1 <= number <= 4:
        raise ValueError("a year has four quarters")
    first = date(year, 3 * number - 2, 1)
    after = date(year + 1, 1, 1) if number == 4 else date(year, 3 * number + 1, 1)
    return first, after - ONE_DAY


def age_on(birthday: date, today: date) -> int:
    """Return a person's age in full years."""
    had_birthday = (today.month, today.day) >= (birthday.month, birthday.day)
    return today.year - birthday.year - (0 if had_birthday else 1)


def return_deadline(delivered: date, *, days: int = 14) -> date:
    """Return the last day to send something back; on a weekend it is the Monday after."""
    deadline = delivered + timedelta(days=days)
    if deadline.weekday() >= SATURDAY:
        deadline += timedelta(days=7 - deadline.weekday())
    return deadline


def format_span(first: date, last: date) -> str:
    """Return two days as short as they can be said: `3-5 May 2026`, `30 Apr - 2 May 2026`."""
    if first == last:
        return f"{first.day} {first:%b %Y}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}-{last.day} {first:%b %Y}"
    if first.year == last.year:
        return f"{first.day} {first:%b} - {last.day} {last:%b %Y}"
    return f"{first.day} {first:%b %Y} - {last.day} {last:%b %Y}"
