"""Markdown to a flat row of headings, lines and fences, each with its line number. Code is never a label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAG_LINE = re.compile(r"\s*(?:</?details[^<>]*>|</?summary[^<>]*>[^<>]*|\s)+\Z", re.IGNORECASE)
_INLINE_LABEL = re.compile(r"\s*(?:\*\*|__)")


@dataclass(frozen=True)
class Block:
    """A heading, the first line of a list item, any other line of text, a fence, or the end of a paragraph.

    `depth` is the level of a heading and the nesting of an item or line (0: in no list).
    """

    kind: Literal["heading", "item", "line", "fence", "paragraph"]
    text: str
    line: int
    depth: int
    lazy: bool = False
    """A line that belongs to a list item by Markdown's rules, though it starts at the margin."""


def read_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of `text` in order. HTML comments, quotations and indented code are left out."""
    lines = ["" if _is_folding(row) else row for row in text.split("\n")]
    depth = quotes = 0
    first_of_item = False
    tokens = _parser().parse("\n".join(lines))
    for index, token in enumerate(tokens):
        if token.type in ("list_item_open", "list_item_close"):
            depth += token.nesting
            first_of_item = token.nesting == 1
        elif token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        elif token.type == "fence" and not quotes and token.map:
            yield Block("fence", token.content, token.map[0] + 2, depth)
        elif token.type == "inline" and not quotes and token.map:
            yield from _text_blocks(tokens[index - 1], token, depth, first_of_item, lines)
            first_of_item = False


def _is_folding(row: str) -> bool:
    return len(row) < 500 and row.lstrip()[:1] == "<" and _TAG_LINE.match(row) is not None


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])  # the text inside of blocks is read by inline.py
    return parser.disable("reference")  # `[x]: …` is a line like any other


def _text_blocks(
    opening: Token, inline: Token, depth: int, first_of_item: bool, lines: list[str]
) -> Iterator[Block]:
    line = (inline.map or [0])[0]
    rows = inline.content.split("\n")
    is_heading = opening.type == "heading_open" and depth == 0
    if is_heading and (opening.markup.startswith("#") or not (len(rows) > 1 or _INLINE_LABEL.match(rows[0]))):
        yield Block("heading", rows[0].strip(), line + 1, int(opening.tag[1:]))
        return  # a label over a --- line is a heading for Markdown, and a field with a rule under it for people
    yield Block("paragraph", "", line + 1, depth)
    for offset, row in enumerate(rows):
        at_margin = lines[line + offset][:1] not in ("", " ", "\t")
        kind: Literal["item", "line"] = "item" if first_of_item and offset == 0 else "line"
        yield Block(kind, row.strip(), line + offset + 1, depth, lazy=depth > 0 and offset > 0 and at_margin)
