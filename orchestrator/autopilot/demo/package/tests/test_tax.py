import pytest

from shopkit.tax import (
    Taxed,
    divide_half_up,
    from_gross,
    from_net,
    rate_for,
    reverse_charge,
    small_business,
    tax_by_rate,
)


@pytest.mark.parametrize(
    ("country", "goods", "rate"),
    [
        ("DE", "mug", 1900),
        ("DE", "book", 700),
        ("FR", "food", 550),
        ("HU", "mug", 2700),
        ("LU", "medicine", 800),
    ],
)
def test_rate_for(country, goods, rate):
    assert rate_for(country, goods) == rate


def test_no_rate_for_an_unknown_country():
    with pytest.raises(KeyError, match="XX"):
        rate_for("XX", "mug")


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [(10, 4, 3), (9, 4, 2), (11, 4, 3), (8, 4, 2), (0, 7, 0), (7, 2, 4)],
)
def test_divide_half_up(numerator, denominator, expected):
    assert divide_half_up(numerator, denominator) == expected


@pytest.mark.parametrize(
    ("net", "rate", "tax"), [(1000, 1900, 190), (999, 1900, 190), (50, 700, 4), (49, 700, 3), (0, 1900, 0)]
)
def test_from_net(net, rate, tax):
    assert from_net(net, rate) == Taxed(net, tax)


@pytest.mark.parametrize(
    ("gross", "rate", "net"), [(1190, 1900, 1000), (1000, 1900, 840), (107, 700, 100), (550, 0, 550)]
)
def test_from_gross(gross, rate, net):
    taken_apart = from_gross(gross, rate)
    assert taken_apart.net == net
    assert taken_apart.tax == gross - net


@pytest.mark.parametrize("gross", [1, 99, 1234, 99999])
def test_net_and_tax_make_the_gross(gross):
    assert from_gross(gross, 1900).gross == gross


@pytest.mark.parametrize(
    ("seller", "buyer", "vat_id", "owed_by_buyer"),
    [
        ("DE", "FR", "FR12345678901", True),
        ("DE", "DE", "DE123456789", False),
        ("DE", "FR", None, False),
        ("DE", "FR", "DE123456789", False),
        ("DE", "FR", "FR12", False),
        ("DE", "FR", "FR123", True),
    ],
)
def test_reverse_charge(seller, buyer, vat_id, owed_by_buyer):
    assert reverse_charge(seller, buyer, vat_id) is owed_by_buyer


def test_tax_is_rounded_once_a_rate():
    assert tax_by_rate([(13, 1900), (13, 1900), (13, 1900), (50, 700)]) == {700: 4, 1900: 7}


def test_tax_of_no_lines():
    assert tax_by_rate([]) == {}


@pytest.mark.parametrize(
    ("last_year", "this_year", "small"),
    [
        (2_500_000, 10_000_000, True),
        (2_500_001, 0, False),
        (0, 10_000_001, False),
        (2_600_000, 10_100_000, False),
        (0, 0, True),
    ],
)
def test_small_business(last_year, this_year, small):
    assert small_business(last_year, this_year) is small
