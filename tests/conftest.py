"""Fixtures of all tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, the backend that the product runs on."""
    return "asyncio"
