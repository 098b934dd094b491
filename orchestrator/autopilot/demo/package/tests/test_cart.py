import pytest

from shopkit.cart import MAX_QUANTITY, Cart, CartError, merge
from shopkit.money import Money

MUG = Money(1250)
TEA = Money(400)


def quantities(cart):
    return {line.sku: line.quantity for line in cart.lines}


@pytest.fixture
def cart():
    cart = Cart("EUR")
    cart.add("mug", MUG, 2)
    cart.add("tea", TEA)
    return cart


def test_subtotal_and_count(cart):
    assert cart.subtotal() == Money(2900)
    assert cart.count() == 3


def test_an_empty_basket_costs_nothing():
    assert Cart("USD").subtotal() == Money(0, "USD")
    assert Cart("USD").most_expensive() is None


def test_adding_again_adds_up_at_the_latest_price(cart):
    line = cart.add("mug", Money(1000), 3)
    assert line.quantity == 5
    assert line.total == Money(5000)
    assert [each.sku for each in cart.lines] == ["mug", "tea"]


@pytest.mark.parametrize("quantity", [0, -1])
def test_at_least_one(cart, quantity):
    with pytest.raises(CartError, match="at least one"):
        cart.add("mug", MUG, quantity)


def test_at_most_the_limit_of_one_product(cart):
    cart.add("mug", MUG, MAX_QUANTITY - 2)
    assert quantities(cart)["mug"] == MAX_QUANTITY
    with pytest.raises(CartError, match="at most"):
        cart.add("mug", MUG)


def test_one_currency(cart):
    with pytest.raises(CartError, match="EUR"):
        cart.add("mug", Money(1, "USD"))


def test_remove_some(cart):
    cart.remove("mug", 1)
    assert quantities(cart) == {"mug": 1, "tea": 1}


@pytest.mark.parametrize("quantity", [None, 2, 3])
def test_remove_all(cart, quantity):
    cart.remove("mug", quantity)
    assert quantities(cart) == {"tea": 1}


def test_remove_what_is_not_there(cart):
    with pytest.raises(CartError, match="pot is not"):
        cart.remove("pot")


@pytest.mark.parametrize(("wrapped", "fee"), [(0, 0), (1, 250), (3, 750), (4, 750)])
def test_wrapping_is_paid_for_three_lines(wrapped, fee):
    cart = Cart("EUR")
    for number in range(5):
        cart.add(f"sku{number}", TEA, 2, gift_wrap=number < wrapped)
    assert cart.wrapping() == Money(fee)


def test_a_wrapped_line_stays_wrapped(cart):
    cart.add("tea", TEA, gift_wrap=True)
    assert cart.add("tea", TEA).gift_wrap
    cart.remove("tea", 1)
    assert cart.wrapping() == Money(250)
    assert not cart.add("mug", MUG).gift_wrap


def test_most_expensive(cart):
    cart.add("pot", MUG)
    assert cart.most_expensive().sku == "mug"


def test_merge_adds_up(cart):
    other = Cart("EUR")
    other.add("mug", MUG, 3)
    other.add("pot", MUG, gift_wrap=True)
    assert merge(cart, other) == []
    assert quantities(cart) == {"mug": 5, "tea": 1, "pot": 1}
    assert cart.lines[-1].gift_wrap


def test_merge_cuts_to_the_limit(cart):
    cart.add("pot", MUG, MAX_QUANTITY)
    other = Cart("EUR")
    other.add("mug", MUG, MAX_QUANTITY - 2)
    other.add("tea", TEA, MAX_QUANTITY)
    other.add("pot", MUG, 1)
    assert merge(cart, other) == ["tea", "pot"]
    assert quantities(cart) == {"mug": MAX_QUANTITY, "tea": MAX_QUANTITY, "pot": MAX_QUANTITY}
