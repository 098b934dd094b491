"""Imports pytest and its plugins once, so that no child has to; nothing of the repository."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

import pytest

from .pytest_args import plugin_options


class _Options:
    """A pytest plugin that notes which options the other plugins need."""

    def __init__(self) -> None:
        self.found: tuple[str, ...] = ()

    def pytest_configure(self, config: pytest.Config) -> None:
        self.found = plugin_options(config.pluginmanager.has_plugin)


def warm_up(root: str) -> tuple[str, ...]:
    """Run pytest on an empty folder and return the options that keep its plugins quiet in the repository at `root`;
    what was imported from below `root` is forgotten again.
    """
    with tempfile.TemporaryDirectory() as empty, _nowhere():
        pytest.main(
            ["-q", "--assert=plain", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", empty, empty]
        )
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if path and os.path.realpath(path).startswith(root + os.sep) and "site-packages" not in path:
            del sys.modules[name]
    return _ask(root)


def _ask(root: str) -> tuple[str, ...]:
    """Return the options for the plugins that the repository's own configuration loads: it may switch some off.

    A child asks, because that may import the repository's conftest.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            options = _Options()
            os.chdir(root)
            with _nowhere():
                pytest.main(
                    ["-q", "--collect-only", "-p", "no:cacheprovider", "--ignore-glob=*"], plugins=[options]
                )
            os.write(writing, "\0".join(options.found).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read().decode()
    os.waitpid(child, 0)
    return tuple(answer.split("\0")) if answer else ()


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
