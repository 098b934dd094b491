"""Finding products by words: a small index with a simple score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MIN_WORD = 2
TITLE_WEIGHT = 3
PREFIX_WEIGHT = 1


@dataclass(frozen=True)
class Product:
    """What can be found."""

    sku: str
    title: str
    text: str = ""
    price: int = 0


def words(text: str) -> list[str]:
    """Return the words of a text in small letters, without punctuation and single letters."""
    spaced = "".join(char if char.isalnum() else " " for char in text.lower())
    return [word for word in spaced.split() if len(word) >= MIN_WORD]


def score(product: Product, query: Sequence[str]) -> int:
    """Return how well a product matches: whole words count, in the title more; the start of a title's word counts 1."""
    title = Counter(words(product.title))
    text = Counter(words(product.text))
    points = 0
    for word in query:
        points += TITLE_WEIGHT * title[word] + text[word]
        if not title[word] and any(each.startswith(word) for each in title):
            points += PREFIX_WEIGHT
    return points


def search(products: Iterable[Product], text: str, *, limit: int = 10) -> list[Product]:
    """Return the products that match, best first; equals by price, then by title."""
    query = words(text)
    scored = [(score(product, query), product) for product in products]
    found = [(points, product) for points, product in scored if points > 0]
    found.sort(key=lambda each: (-each[0], each[1].price, each[1].title))
    return [product for _, product in found[:limit]]


def in_price_range(products: Iterable[Product], low: int | None, high: int | None) -> list[Product]:
    """Return the products from `low` to `high` cents, both included; None leaves an end open."""
    return [
        product
        for product in products
        if (low is None or product.price >= low) and (high is None or product.price <= high)
    ]


def highlight(title: str, text: str, mark: str = "*") -> str:
    """Return the title with each word that was searched for between marks."""
    query = set(words(text))
    parts = []
    for part in title.split(" "):
        hit = any(word in query for word in words(part))
        parts.append(mark + part + mark if hit else part)
    return " ".join(parts)


def excerpt(text: str, word: str, width: int = 40) -> str:
    """Return about `width` characters around the first place of a word, with dots where something is left out."""
    place = text.lower().find(word.lower())
    start = max(place - width // 2, 0) if place >= 0 else 0
    end = min(start + width, len(text))
    before = "..." if start > 0 else ""
    after = "..." if end < len(text) else ""
    return before + text[start:end] + after


def distance(left: str, right: str) -> int:
    """Return how many letters to change, add or leave out to make one word the other (Levenshtein)."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        before = row
        row = [i]
        for j, b in enumerate(right, start=1):
            changed = before[j - 1] + (a != b)
            row.append(min(before[j] + 1, row[j - 1] + 1, changed))
    return row[-1]


def did_you_mean(word: str, known: Mapping[str, int]) -> str | None:
    """Return the known word nearest to a mistyped one, of equals the more frequent; None if all are too far."""
    near = [(distance(word, each), -count, each) for each, count in known.items()]
    close = [entry for entry in near if entry[0] <= max(len(word) // 3, 1)]
    return min(close)[2] if close else None
