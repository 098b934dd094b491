"""Runs units in this process, as many at once as there are slots. One unit never takes down another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType

import anyio
import anyio.abc

from autopilot import events
from autopilot.bridge import run_cancellable
from autopilot.job import UnitJob
from autopilot.mailbox import Mailbox
from autopilot.phase_runner import failed_outcome
from autopilot.protocols import Journal, Ticket
from autopilot_agents.errors import ProviderError
from autopilot_state.errors import AutopilotError, StorageError
from autopilot_state.models import Outcome

RunUnit = Callable[[UnitJob], Awaitable[Outcome]]


class LocalEngine:
    """`async with` it: units live as long as the block, and end with it."""

    def __init__(
        self,
        *,
        slots: int,
        journal: Journal,
        load: Callable[[Ticket], UnitJob],
        run: RunUnit,
        now: Callable[[], float],
        on_crash: Callable[[str, Exception], None],
    ) -> None:
        self._slots = anyio.CapacityLimiter(slots)
        self._journal = journal
        self._load = load
        self._run = run
        self._now = now
        self._on_crash = on_crash
        self._mail: Mailbox[Outcome] = Mailbox()
        self._tasks: anyio.abc.TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> LocalEngine:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, traceback)

    async def submit(self, ticket: Ticket) -> None:
        self._tasks.start_soon(self._one, ticket, name=f"unit {ticket.unit}")

    async def outcomes(self) -> Sequence[Outcome]:
        return await self._mail.take_all()

    async def cancel(self) -> None:
        self._tasks.cancel_scope.cancel()

    async def _one(self, ticket: Ticket) -> None:
        async with self._slots:
            job = self._load(ticket)
            again = self._journal.document["units"][ticket.unit]["started_at"] is not None
            self._journal.record(
                events.unit_started(ticket.unit, at=self._now(), base=ticket.base, again=again)
            )
            self._mail.put(await self._outcome_of(job))

    async def _outcome_of(self, job: UnitJob) -> Outcome:
        """Return what the unit's graph returns, or why it could not: nothing but a disk that refuses goes further."""

        async def work() -> Outcome:
            return await self._run(job)

        try:
            return await run_cancellable(work())
        except StorageError:
            raise
        except ProviderError as error:
            # Not the unit's fault, and nothing is lost: it goes on when the provider or the budget allows.
            prefix = "budget: " if error.code == "AP330" else ""
            kind = "failed" if error.code == "AP320" else "parked"
            return failed_outcome(job, kind, f"{prefix}{error.what}")
        except AutopilotError as error:
            return failed_outcome(
                job, "failed", f"{error.code}: {error.what}" + (f" ({error.why})" if error.why else "")
            )
        except Exception as error:  # noqa: BLE001 - a bug in one unit's graph must not end the others
            self._on_crash(job.unit, error)
            return failed_outcome(job, "failed", f"internal error: {type(error).__name__}: {error}")
