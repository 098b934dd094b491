import pytest

from shopkit.shipping import NotDeliverable, Parcel, band_price, delivery_price, missing_for_free, pack

SMALL = Parcel(weight=400, length=20, width=10, height=5)


@pytest.mark.parametrize("sides", [(50, 30, 20), (20, 50, 30), (30, 20, 50)])
def test_girth_does_not_depend_on_how_the_box_lies(sides):
    assert Parcel(1, *sides).girth == 150


@pytest.mark.parametrize(
    ("weight", "sides", "billed"),
    [(400, (20, 10, 5), 400), (400, (30, 20, 10), 1200), (1200, (30, 20, 10), 1200)],
)
def test_bulky_parcels_are_billed_by_volume(weight, sides, billed):
    assert Parcel(weight, *sides).billed_weight == billed


@pytest.mark.parametrize(
    ("weight", "price"),
    [(1, 390), (500, 390), (501, 549), (2000, 549), (2001, 799), (5000, 799), (10000, 1049)],
)
def test_band_price(weight, price):
    assert band_price(weight) == price


def test_too_heavy():
    with pytest.raises(NotDeliverable, match="heavy"):
        band_price(10_001)


@pytest.mark.parametrize(("zone", "price"), [("domestic", 390), ("europe", 990), ("world", 2190)])
def test_zones(zone, price):
    assert delivery_price(SMALL, zone, 1000) == price


def test_unknown_zone():
    with pytest.raises(NotDeliverable, match="moon"):
        delivery_price(SMALL, "moon", 1000)


def test_too_large():
    assert delivery_price(Parcel(1, 200, 45, 5), "domestic", 0) == 1049
    with pytest.raises(NotDeliverable, match="too large"):
        delivery_price(Parcel(1, 201, 45, 5), "domestic", 0)


@pytest.mark.parametrize(("total", "price"), [(4999, 390), (5000, 0), (5001, 0)])
def test_free_at_home(total, price):
    assert delivery_price(SMALL, "domestic", total) == price


def test_never_free_abroad():
    assert delivery_price(SMALL, "europe", 9000) == 990


@pytest.mark.parametrize(("zone", "price"), [("domestic", 880), ("europe", 2080)])
def test_express_is_never_free(zone, price):
    assert delivery_price(SMALL, zone, 9000, express=True) == price


@pytest.mark.parametrize(("total", "missing"), [(0, 5000), (4999, 1), (5000, 0), (6000, 0)])
def test_missing_for_free(total, missing):
    assert missing_for_free(total) == missing


@pytest.mark.parametrize(
    ("weights", "parcels"),
    [
        ([], []),
        ([3000, 7000, 6000, 4000], [[7000, 3000], [6000, 4000]]),
        ([10_000, 1], [[10_000], [1]]),
        ([5000, 5000, 5000], [[5000, 5000], [5000]]),
    ],
)
def test_pack(weights, parcels):
    assert pack(weights) == parcels


def test_pack_refuses_what_fits_nowhere():
    assert pack([200], limit=200) == [[200]]
    with pytest.raises(NotDeliverable, match="201"):
        pack([201], limit=200)
