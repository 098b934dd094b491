from datetime import date
from decimal import Decimal

import pytest

from shopkit.csv_export import (
    column_names,
    defuse,
    export,
    is_number,
    quote,
    render_cell,
    render_row,
    with_totals,
)

ROWS = [{"sku": "mug", "sold": 3}, {"sku": "tea", "sold": 4, "note": "new"}]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (3, "3"),
        (2.5, "2.50"),
        (Decimal("1.234"), "1.234"),
        (date(2026, 7, 1), "2026-07-01"),
        ("mug", "mug"),
    ],
)
def test_render_cell(value, text):
    assert render_cell(value) == text


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "-", "+1e"])
def test_formulas_are_defused(text):
    assert defuse(text) == "'" + text
    assert render_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["-12", "+3", "-1.50", "mug=cup", "a@b.example", ""])
def test_other_text_stays(text):
    assert defuse(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", True),
        ("-12.5", True),
        ("+0", True),
        ("", False),
        ("-", False),
        ("1.", False),
        (".5", False),
        ("1.x", False),
        ("--1", False),
    ],
)
def test_is_number(text, number):
    assert is_number(text) is number


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("mug", "mug"),
        ("mug, blue", '"mug, blue"'),
        ('the "best" mug', '"the ""best"" mug"'),
        ("two\nlines", '"two\nlines"'),
        ("old\rmac", '"old\rmac"'),
        (" mug", '" mug"'),
        ("mug ", '"mug "'),
        ("a;b", "a;b"),
    ],
)
def test_quote_only_where_it_must_be(text, quoted):
    assert quote(text) == quoted


def test_another_separator():
    assert quote("a;b", ";") == '"a;b"'
    assert render_row(["a;b", 1, "c,d"], ";") == '"a;b";1;c,d'


def test_columns_in_order_of_appearance():
    assert column_names(ROWS) == ["sku", "sold", "note"]
    assert column_names([]) == []


def test_export():
    assert export(ROWS) == "sku,sold,note\r\nmug,3,\r\ntea,4,new\r\n"


def test_export_some_columns_without_a_header():
    assert export(ROWS, ["note", "sku"], header=False) == ",mug\r\nnew,tea\r\n"


def test_export_with_semicolons():
    assert export(ROWS[:1], separator=";") == "sku;sold\r\nmug;3\r\n"


def test_totals():
    assert with_totals(ROWS, "Total", ["sold"])[-1] == {"sku": "Total", "sold": 7}
    assert with_totals(ROWS, "Total", ["sold"])[:-1] == ROWS


def test_totals_skip_what_is_no_number():
    rows = [{"sku": "mug", "sold": None}, {"sku": "tea", "sold": 2}, {"sku": "pot"}]
    assert with_totals(rows, "Total", ["sold"])[-1] == {"sku": "Total", "sold": 2}
