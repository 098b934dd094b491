"""What every template gets, and small edits that templates share."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from autopilot_agents.providers.offline.scope import Scope
from autopilot_agents.providers.offline.source import Edit, SourceFile

Template = Callable[["Context", ast.AST], Iterable[Edit]]

# Kinds of nodes that read the same with an operator beside them.
_TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Tuple)


@dataclass(frozen=True)
class Context:
    """One file, what its scopes hold, and texts that the failing tests compare with."""

    source: SourceFile
    scope: Scope
    test_literals: tuple[object, ...] = ()

    def text(self, node: ast.AST) -> str:
        return self.source.segment(node)

    def operand(self, node: ast.AST) -> str:
        """Return the node's text, in parentheses where an operator beside it could bind tighter."""
        text = self.text(node)
        return text if isinstance(node, _TIGHT) else f"({text})"

    def replace(self, node: ast.AST, text: str, prior: float, kind: str) -> Edit:
        """Return the edit that puts `text` in place of `node`."""
        start, end = self.source.span(node)
        return Edit(start, end, text, prior, kind)

    def swap(self, first: ast.AST, second: ast.AST, prior: float, kind: str) -> Edit:
        """Return the edit that exchanges two nodes; `first` stands before `second`."""
        start, first_end = self.source.span(first)
        second_start, end = self.source.span(second)
        between = self.source.text[first_end:second_start]
        return Edit(start, end, self.text(second) + between + self.text(first), prior, kind)

    def token(
        self, left: ast.AST, right: ast.AST, pattern: str, text: str, prior: float, kind: str
    ) -> Iterator[Edit]:
        """Yield the edit of the operator that stands between two nodes."""
        start = self.source.span(left)[1]
        end = self.source.span(right)[0]
        found = re.search(pattern, self.source.text[start:end])
        if found:
            yield Edit(start + found.start(), start + found.end(), text, prior, kind)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.source.parents.get(node)

    def is_read(self, node: ast.AST) -> bool:
        return not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def weighted(
    kind: str, prior: float, texts: Iterable[str], decay: float = 0.95
) -> Iterator[tuple[str, float, str]]:
    """Yield `(text, prior, kind)` with a prior that falls from one text to the next."""
    for text in texts:
        yield text, prior, kind
        prior *= decay
