"""Changed source for the importer: a module of an overlaid file is built from text, the file stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from os.path import realpath
from types import CodeType, ModuleType


class _TextLoader(SourceFileLoader):
    """Loads a module from text; `inspect` and `linecache` see that text as well."""

    def __init__(self, fullname: str, path: str, text: str) -> None:
        super().__init__(fullname, path)
        self._text = text

    def get_data(self, path: str) -> bytes:
        return self._text.encode() if path == self.path else super().get_data(path)

    def get_code(self, fullname: str) -> CodeType:
        # Without the base class's look at cached bytecode, which belongs to the file's own text.
        return compile(self._text, self.path, "exec", dont_inherit=True)


class Overlay(MetaPathFinder):
    """Finds modules whose file is overlaid, asking the other finders where the file is."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = {realpath(path): text for path, text in texts.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is None:
                continue
            text = self.texts.get(realpath(spec.origin)) if spec.origin else None
            if text is not None:
                spec.loader = _TextLoader(fullname, str(spec.origin), text)
            return spec
        return None


def install(texts: dict[str, str]) -> None:
    """Make imports from now on see `texts` (absolute path to text)."""
    if texts:
        sys.meta_path.insert(0, Overlay(texts))
