"""Imports pytest and its plugins once, so that no child has to; nothing of the repository."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

import pytest


def warm_up(root: str) -> None:
    """Run pytest on an empty folder; what it imported from below `root` is forgotten again."""
    with tempfile.TemporaryDirectory() as empty, _nowhere():
        pytest.main(
            ["-q", "--assert=plain", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", empty, empty]
        )
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if path and os.path.realpath(path).startswith(root + os.sep) and "site-packages" not in path:
            del sys.modules[name]


@contextlib.contextmanager
def _nowhere() -> Iterator[None]:
    """Send the standard streams of this process nowhere for a while."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for saved, descriptor in zip(kept, (1, 2), strict=True):
            os.dup2(saved, descriptor)
            os.close(saved)
        os.close(null)
