import math

import pytest

from shopkit.inventory import (
    Inventory,
    OutOfStock,
    Shelf,
    average_cost,
    days_of_cover,
    order_quantity,
    reorder_point,
    stock_status,
)


@pytest.fixture
def stock():
    stock = Inventory()
    stock.receive("mug", 10)
    stock.receive("tea", 3)
    return stock


def test_receive_adds_up(stock):
    stock.receive("mug", 5)
    assert stock.available("mug") == 15
    assert stock.available("pot") == 0


@pytest.mark.parametrize("quantity", [0, -1])
def test_receive_something(stock, quantity):
    with pytest.raises(ValueError, match="nothing"):
        stock.receive("mug", quantity)


def test_a_single_piece_is_a_delivery(stock):
    stock.receive("pot", 1)
    assert stock.available("pot") == 1


def test_reserved_pieces_are_not_available(stock):
    stock.reserve({"mug": 4, "tea": 3})
    stock.reserve({"mug": 1})
    assert stock.shelves == {"mug": Shelf(10, 5), "tea": Shelf(3, 3)}
    assert stock.available("mug") == 5
    assert stock.available("tea") == 0


def test_reserve_all_or_nothing(stock):
    with pytest.raises(OutOfStock, match="pot, tea"):
        stock.reserve({"mug": 1, "tea": 4, "pot": 1})
    assert stock.shelves["mug"].reserved == 0


def test_release(stock):
    stock.reserve({"mug": 4})
    stock.release({"mug": 3})
    assert stock.available("mug") == 9
    stock.release({"mug": 3})
    assert stock.available("mug") == 10


def test_ship(stock):
    stock.reserve({"mug": 4})
    stock.ship("mug", 3)
    assert stock.shelves["mug"] == Shelf(on_hand=7, reserved=1)
    stock.ship("mug", 1)
    assert stock.shelves["mug"] == Shelf(on_hand=6, reserved=0)


def test_ship_only_what_is_reserved(stock):
    stock.reserve({"mug": 4})
    with pytest.raises(OutOfStock, match="mug"):
        stock.ship("mug", 5)


@pytest.mark.parametrize(("sales", "lead", "point"), [(2.0, 7, 20), (0.3, 2, 2), (0.0, 9, 0), (1.5, 4, 11)])
def test_reorder_point(sales, lead, point):
    assert reorder_point(sales, lead) == point


def test_safety_days_count():
    assert reorder_point(2.0, 7, safety_days=0) == 14


@pytest.mark.parametrize(
    ("available", "target", "pack", "quantity"),
    [(3, 20, 6, 18), (2, 20, 6, 18), (1, 20, 6, 24), (20, 20, 6, 0), (25, 20, 6, 0)],
)
def test_order_full_packs(available, target, pack, quantity):
    assert order_quantity(available, target, pack) == quantity


@pytest.mark.parametrize(
    ("available", "sales", "days"), [(10, 2.5, 4.0), (0, 1.0, 0.0), (5, 0.0, math.inf), (6, 1.0, 6.0)]
)
def test_days_of_cover(available, sales, days):
    assert days_of_cover(available, sales) == days


@pytest.mark.parametrize(
    ("available", "status"),
    [(-1, "sold out"), (0, "sold out"), (1, "few left"), (5, "few left"), (6, "in stock")],
)
def test_stock_status(available, status):
    assert stock_status(available, 5) == status


@pytest.mark.parametrize(
    ("batches", "cost"), [([(10, 100), (5, 130)], 110), ([(1, 100), (2, 101)], 100), ([], 0)]
)
def test_average_cost(batches, cost):
    assert average_cost(batches) == cost
