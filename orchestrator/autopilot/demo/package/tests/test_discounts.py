from datetime import date

import pytest

from shopkit.discounts import Voucher, best_of, buy_n_get_free, percent_off, redeem, tiered

JUNE_1, JUNE_15, JUNE_30 = date(2026, 6, 1), date(2026, 6, 15), date(2026, 6, 30)


def voucher(code="TEN", value=1000, minimum=2000):
    return Voucher(code, value, minimum, JUNE_1, JUNE_30)


@pytest.mark.parametrize(
    ("percent", "price", "quantity", "saving"),
    [(10, 1000, 3, 300), (15, 99, 1, 14), (100, 250, 2, 500), (1, 99, 1, 0)],
)
def test_percent_off(percent, price, quantity, saving):
    assert percent_off(percent)(price, quantity) == saving


@pytest.mark.parametrize("percent", [-5, 0, 101])
def test_percent_out_of_range(percent):
    with pytest.raises(ValueError, match="between 1 and 100"):
        percent_off(percent)


@pytest.mark.parametrize(
    ("quantity", "saving"), [(1, 0), (2, 0), (3, 500), (4, 500), (5, 500), (6, 1000), (9, 1500), (0, 0)]
)
def test_three_for_two(quantity, saving):
    assert buy_n_get_free(2, 1)(500, quantity) == saving


@pytest.mark.parametrize(("quantity", "saving"), [(3, 0), (4, 100), (5, 200), (8, 200), (9, 300)])
def test_a_started_round_gives_what_it_reached(quantity, saving):
    assert buy_n_get_free(3, 2)(100, quantity) == saving


@pytest.mark.parametrize(("quantity", "saving"), [(1, 0), (9, 0), (10, 50), (49, 245), (50, 600), (51, 612)])
def test_tiers_start_at_their_quantity(quantity, saving):
    assert tiered([(50, 12), (10, 5)])(100, quantity) == saving


def test_best_of_takes_the_largest():
    rule = best_of([percent_off(10), buy_n_get_free(2, 1)])
    assert rule(100, 3) == 100
    assert rule(100, 2) == 20


def test_best_of_nothing_saves_nothing():
    assert best_of([])(100, 3) == 0


@pytest.mark.parametrize(
    ("today", "applies"),
    [(date(2026, 5, 31), False), (JUNE_1, True), (JUNE_15, True), (JUNE_30, True), (date(2026, 7, 1), False)],
)
def test_voucher_days(today, applies):
    assert voucher().applies(2000, today) is applies
    assert voucher().saving(2000, today) == (1000 if applies else 0)


@pytest.mark.parametrize(("total", "saving"), [(1999, 0), (2000, 1000), (5000, 1000)])
def test_voucher_minimum(total, saving):
    assert voucher().saving(total, JUNE_15) == saving


def test_a_voucher_saves_no_more_than_the_order():
    assert voucher(value=3000, minimum=0).saving(2500, JUNE_15) == 2500


def test_redeem_takes_the_most_valuable_first():
    vouchers = [voucher("A", 100, 0), voucher("B", 500, 0), voucher("C", 300, 0)]
    assert redeem(vouchers, 5000, JUNE_15) == ["B", "C"]
    assert redeem(vouchers, 5000, JUNE_15, limit=3) == ["B", "C", "A"]


def test_redeem_looks_at_what_is_left():
    vouchers = [voucher("A", 1000, 2000), voucher("B", 800, 1500), voucher("C", 700, 1000)]
    assert redeem(vouchers, 2400, JUNE_15) == ["A", "C"]


def test_equal_vouchers_go_by_code():
    assert redeem([voucher("Z", 100, 0), voucher("A", 100, 0)], 500, JUNE_15, limit=1) == ["A"]
