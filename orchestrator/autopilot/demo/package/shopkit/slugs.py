"""Addresses of products: `Große Kaffeetasse (blau)` is found at `grosse-kaffeetasse-blau`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

SPELLED_OUT = {"ß": "ss", "æ": "ae", "ø": "o", "&": " and ", "@": " at ", "%": " percent "}
STOP_WORDS = frozenset({"a", "an", "and", "of", "the"})
_RUNS = re.compile(r"[^a-z0-9]+")


def plain(text: str) -> str:
    """Return the text in small letters without accents, other signs spelled out where there is a way."""
    small = text.lower()
    for sign, spelled in SPELLED_OUT.items():
        small = small.replace(sign, spelled)
    decomposed = unicodedata.normalize("NFKD", small)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def slugify(text: str, *, max_length: int = 60) -> str:
    """Return an address for a name; a long one ends at a word."""
    slug = _RUNS.sub("-", plain(text)).strip("-")
    return shorten(slug, max_length) or "item"


def shorten(slug: str, max_length: int) -> str:
    """Return at most `max_length` characters of a slug, cut at a hyphen where there is one."""
    if len(slug) <= max_length:
        return slug
    cut = slug[:max_length]
    if slug[max_length] != "-" and "-" in cut:
        cut = cut[: cut.rindex("-")]
    return cut.rstrip("-")


def without_stop_words(slug: str) -> str:
    """Return the slug without its small words, unless nothing else would be left."""
    kept = [word for word in slug.split("-") if word not in STOP_WORDS]
    return "-".join(kept) if kept else slug


def unique(slug: str, taken: Collection[str]) -> str:
    """Return the slug, or the first of `slug-2`, `slug-3` … that is free."""
    if slug not in taken:
        return slug
    candidates = (f"{slug}-{number}" for number in range(2, len(taken) + 3))
    return next(candidate for candidate in candidates if candidate not in taken)


def is_slug(text: str) -> bool:
    """Return whether the text could be the address of a product."""
    return bool(text) and all(part and part.isalnum() and part == plain(part) for part in text.split("-"))


def initials(text: str, limit: int = 3) -> str:
    """Return the first letters of a name's words, small words left out: `Cup of Tea` gives `CT`."""
    words = without_stop_words(slugify(text)).split("-")
    return "".join(word[0] for word in words[:limit]).upper()


def path_for(*parts: str, trailing: bool = False) -> str:
    """Return an absolute path of slugs: `path_for("Tea", "Green Tea")` gives `/tea/green-tea`."""
    path = "/" + "/".join(slugify(part) for part in parts if part.strip())
    return path + "/" if trailing and path != "/" else path
