"""`autopilot watch`: a reader of the journal that comes and goes as it likes."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from autopilot.cli.result import Result, text_width
from autopilot.cli.status import holder_of, shown_status, status_data
from autopilot.home import find_repository, find_run
from autopilot.live import make_view
from autopilot.report import completion_lines, next_commands
from autopilot_state.errors import JournalMissing
from autopilot_state.journal import GENESIS, iterate
from autopilot_state.patch import Document
from autopilot_state.store import JOURNAL_NAME, empty_document, fold

POLL_S = 0.25


class JournalFollower:
    """The state of a run that somebody else writes, kept up with record by record."""

    def __init__(self, run_dir: Path) -> None:
        self.document: Document = empty_document()
        self._path = run_dir / JOURNAL_NAME
        self._offset = 0
        self._seq = 0
        self._head = GENESIS

    def catch_up(self) -> bool:
        """Fold what is new; return whether anything was.

        Raises:
            JournalDamaged: a record before the last one does not hold.
            JournalMissing: the journal has gone.
        """
        try:
            if self._path.stat().st_size <= self._offset:
                return False
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            raise JournalMissing(
                "AP109", f"{self._path.parent.name}: the journal is gone", fix="autopilot status"
            ) from None
        begin = self._offset
        for record, end in iterate(data, start_seq=self._seq, start_head=self._head):
            fold([record], self.document)
            self._seq, self._head, self._offset = record.seq, record.hash, begin + end
        return self._offset > begin


def watch(args: argparse.Namespace) -> Result:
    """Show a run until it ends or has nobody who works on it; Ctrl-C ends the watching, never the run."""
    repository = find_repository(Path.cwd())
    folder = find_run(repository, args.run)
    follower = JournalFollower(folder)
    view = make_view(sys.stderr, plain=args.plain, environ=os.environ)
    try:
        while True:
            holder = holder_of(repository, folder.name)
            if follower.catch_up():
                view.update(follower.document)
            if holder is None or follower.document["run"].get("status") != "running":
                follower.catch_up()
                break
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        holder = holder_of(repository, folder.name)
    finally:
        view.close()
    document = follower.document
    if document["run"].get("status") == "finished":
        lines = completion_lines(
            document, width=text_width(sys.stdout), next_commands=next_commands(document)
        )
    else:
        lines = shown_status(document, holder)
        lines += ["Next:", *(f"  {command}" for command in next_commands(document))] if holder is None else []
    return Result(lines, status_data(document, holder), document)
