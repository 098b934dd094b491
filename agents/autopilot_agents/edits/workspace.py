"""The files as an edit set leaves them, kept in memory while the set is checked."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from autopilot_agents.edits.locate import Locator
from autopilot_agents.edits.operations import Append, ContentEdit
from autopilot_agents.edits.report import OperationRejected
from autopilot_agents.edits.splice import Splice
from autopilot_agents.edits.text import TextFile
from autopilot_agents.errors import PathRefused
from autopilot_agents.hands.paths import Root

MAX_EDITED_BYTES = 20_000_000


@dataclass
class FileState:
    """One file: where it was, its bytes before the set, and the edits placed in it so far."""

    origin: str | None
    """Path before the set; None when the set creates it."""
    before: bytes
    """Empty when the set creates it."""
    mode: int = 0o644
    splices: list[Splice] = field(default_factory=list)
    created: list[bytes] = field(default_factory=list)
    touched_by: int | None = None
    """The last operation that edits or creates it."""
    nearest_wanted: Callable[[], bool] = lambda: True
    expected: Collection[str] = ()

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.before).hexdigest()

    @cached_property
    def text(self) -> TextFile:
        """The file as text; raises `OperationRejected` when it is none."""
        return TextFile.of(self.before)

    @cached_property
    def locator(self) -> Locator:
        return Locator(self.origin or "", self.text, self.nearest_wanted, self.expected)

    def extend(self, operation: ContentEdit, index: int) -> None:
        """Add to a file that this set creates: what does not fit one operation comes in several."""
        if not isinstance(operation, Append):
            raise OperationRejected(
                f"operation {self.touched_by} of this set creates the file: it can only be appended to, "
                "because line numbers and texts mean the files before the set"
            )
        if self.created[-1] and not self.created[-1].endswith(b"\n"):
            self.created.append(b"\n")
        self.created.append(operation.content.encode())
        self.touched_by = index


@dataclass
class Workspace:
    """All files that a set names, read when they are first named."""

    root: Root
    nearest_wanted: Callable[[], bool]
    expected: Mapping[str, Collection[str]]
    """Path → texts that operations will look for in the file."""
    table: dict[str, FileState | None] = field(default_factory=dict)
    """Path → the file as the set leaves it; None: no file."""
    on_disk: dict[str, FileState] = field(default_factory=dict)
    _gone: dict[str, str] = field(default_factory=dict)
    _new_folders: set[str] = field(default_factory=set)
    _names: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    def find(self, path: str) -> FileState | None:
        """Return the file at `path` as the set leaves it so far, or None."""
        if path not in self.table:
            self.table[path] = self._load(path)
        return self.table[path]

    def get(self, path: str, advice: str) -> FileState:
        """Return the file at `path`; raises `OperationRejected` with `advice` when there is none."""
        state = self.find(path)
        if state is None:
            reason = self._gone.get(path)
            raise OperationRejected(f"the file was {reason}" if reason else f"there is no such file{advice}")
        return state

    def was_dropped(self, path: str) -> bool:
        """Say whether this set deleted the file at `path` or renamed it."""
        return path in self._gone

    def add(self, path: str, content: bytes, index: int) -> None:
        """Put a new file at `path`, where nothing stands."""
        self.put(path, FileState(None, b"", created=[content], touched_by=index))

    def put(self, path: str, state: FileState) -> None:
        """Put a file at `path`, where nothing stands.

        Raises:
            OperationRejected: a file stands where a folder is needed, or the name differs from one by case only.
        """
        self._refuse_case_twin(path)
        folders = ["/".join(path.split("/")[:i]) for i in range(1, path.count("/") + 1)]
        in_the_way = next((folder for folder in folders if self.table.get(folder)), None)
        if in_the_way or path in self._new_folders:
            raise OperationRejected(f"{in_the_way or path} would be a file and a folder")
        self._new_folders.update(folders)
        self._gone.pop(path, None)
        self.table[path] = state

    def drop(self, path: str, how: str) -> None:
        """Take the file at `path` away; `how` tells later operations why it is gone."""
        self.table[path] = None
        self._gone[path] = how

    def _load(self, path: str) -> FileState | None:
        try:
            mode = self.root.stat_mode(path)
        except PathRefused as refused:
            if refused.code == "AP404":
                return None
            raise
        if stat.S_ISDIR(mode):
            raise OperationRejected("this is a folder; operations are on files")
        before = self.root.read(path, max_bytes=MAX_EDITED_BYTES)
        state = FileState(
            path,
            before,
            mode & 0o777,
            nearest_wanted=self.nearest_wanted,
            expected=self.expected.get(path, ()),
        )
        self.on_disk[path] = state
        return state

    def _refuse_case_twin(self, path: str) -> None:
        """Refuse a new name that a file system which ignores case would take for another one."""
        parts = path.split("/")
        for depth, part in enumerate(parts):
            folder = "/".join(parts[:depth])
            alike = self._folded_names(folder).setdefault(part.casefold(), set())
            twins = {f"{folder}/{name}".lstrip("/") for name in alike if name != part}
            if part not in alike and twins - self._gone.keys():
                raise OperationRejected(f"{min(twins)} is already there and differs in case only")
            alike.add(part)

    def _folded_names(self, folder: str) -> dict[str, set[str]]:
        if folder not in self._names:
            names: dict[str, set[str]] = {}
            for name in self.root.names(folder):
                names.setdefault(name.casefold(), set()).add(name)
            self._names[folder] = names
        return self._names[folder]
