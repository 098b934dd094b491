"""Runs a LangGraph graph so that an anyio cancellation ends its nodes.

anyio's repeated cancellation kills LangGraph's exit task before it starts, and every running node goes on and
spends (measured: 6 of 6 variants). So the graph gets an asyncio task of its own, shielded from anyio, cancelled
once and awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; when cancelled, return only after `work` has ended."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
        raise
