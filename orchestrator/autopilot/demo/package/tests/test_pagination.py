import pytest

from shopkit.pagination import GAP, Page, columns, page_links, page_of, paginate

NINETY_FIVE = list(range(95))


@pytest.mark.parametrize(
    ("number", "items"), [(1, list(range(20))), (2, list(range(20, 40))), (5, list(range(80, 95)))]
)
def test_items_of_a_page(number, items):
    assert list(paginate(NINETY_FIVE, number).items) == items


@pytest.mark.parametrize(("asked", "given"), [(-3, 1), (0, 1), (1, 1), (5, 5), (6, 5), (99, 5)])
def test_numbers_outside_give_the_nearest_page(asked, given):
    assert paginate(NINETY_FIVE, asked).number == given


def test_a_page_holds_something():
    assert paginate("abc", 2, 1).items == ("b",)
    with pytest.raises(ValueError, match="at least one"):
        paginate("abc", 1, 0)


@pytest.mark.parametrize(("total", "pages"), [(0, 1), (1, 1), (20, 1), (21, 2), (40, 2), (95, 5)])
def test_pages(total, pages):
    assert Page((), 1, 20, total).pages == pages
    assert paginate(range(total), 99).number == pages


@pytest.mark.parametrize(
    ("number", "previous", "following"), [(1, False, True), (2, True, True), (5, True, False)]
)
def test_neighbours(number, previous, following):
    page = paginate(NINETY_FIVE, number)
    assert page.has_previous is previous
    assert page.has_next is following


@pytest.mark.parametrize(("number", "summary"), [(1, "1-20 of 95"), (2, "21-40 of 95"), (5, "81-95 of 95")])
def test_summary(number, summary):
    assert paginate(NINETY_FIVE, number).summary() == summary


def test_an_empty_page():
    page = paginate([], 1)
    assert (page.first_index, page.last_index) == (0, 0)
    assert page.summary() == "none of 0"


@pytest.mark.parametrize(
    ("current", "pages", "links"),
    [
        (1, 1, [1]),
        (1, 3, [1, 2, 3]),
        (1, 10, [1, 2, 3, GAP, 10]),
        (4, 10, [1, 2, 3, 4, 5, 6, GAP, 10]),
        (5, 10, [1, 2, 3, 4, 5, 6, 7, GAP, 10]),
        (6, 11, [1, GAP, 4, 5, 6, 7, 8, GAP, 11]),
        (7, 10, [1, GAP, 5, 6, 7, 8, 9, 10]),
        (10, 10, [1, GAP, 8, 9, 10]),
    ],
)
def test_page_links(current, pages, links):
    assert page_links(current, pages) == links


def test_fewer_links_around():
    assert page_links(5, 9, around=0) == [1, GAP, 5, GAP, 9]


@pytest.mark.parametrize(("index", "page"), [(0, 1), (19, 1), (20, 2), (39, 2), (40, 3)])
def test_page_of(index, page):
    assert page_of(index, 20) == page


def test_page_of_nothing():
    with pytest.raises(IndexError):
        page_of(-1, 20)


@pytest.mark.parametrize(
    ("items", "count", "expected"),
    [
        ("abcdef", 3, [["a", "b"], ["c", "d"], ["e", "f"]]),
        ("abcdefg", 3, [["a", "b", "c"], ["d", "e"], ["f", "g"]]),
        ("abcdefgh", 3, [["a", "b", "c"], ["d", "e", "f"], ["g", "h"]]),
        ("ab", 3, [["a"], ["b"], []]),
    ],
)
def test_columns(items, count, expected):
    assert columns(items, count) == expected
