"""The operations of an edit set, as a model writes them: one JSON object a line.

Lines are 1-based and inclusive and mean the file before the set. What only the files can tell (a range, a path,
a match) is checked by `check.plan_set`, not here: a well-formed operation that fails there rejects its whole set,
while a line that is not well-formed was never an operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds half of a surrogate pair") from error
    return text


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Text = Annotated[str, AfterValidator(_encodable)]
SomeText = Annotated[Text, Field(min_length=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _FileOperation(_Strict):
    file_path: Text
    expected_sha256: Sha256 | None = None
    """SHA-256 of the file's bytes that the edit was thought out for."""


class _WithContext(_FileOperation):
    context_before: Text | None = None
    context_after: Text | None = None


class Create(_FileOperation):
    """A new file with exactly this content."""

    type: Literal["create"] = "create"
    content: Text


class Append(_FileOperation):
    """Lines after the last one."""

    type: Literal["append"] = "append"
    content: SomeText


class Prepend(_FileOperation):
    """Lines before the first one, after a byte order mark."""

    type: Literal["prepend"] = "prepend"
    content: SomeText


class Insert(_WithContext):
    """Lines before `line`; one more than the last line appends."""

    type: Literal["insert"] = "insert"
    line: int
    content: SomeText


class _Range(_WithContext):
    start_line: int | None = None
    end_line: int | None = None
    symbol: SomeText | None = None
    """Python only: `Class.method`, its whole lines with decorators are the range."""

    @model_validator(mode="after")
    def _one_range(self) -> Self:
        lines = (self.start_line is not None) + (self.end_line is not None)
        if lines != (0 if self.symbol else 2):
            raise ValueError("needs start_line and end_line, or symbol in their place")
        return self


class Replace(_Range):
    """Other lines in place of a range; empty content removes it."""

    type: Literal["replace"] = "replace"
    content: Text


class Delete(_Range):
    """No lines in place of a range."""

    type: Literal["delete"] = "delete"


class ReplaceText(_FileOperation):
    """`new_text` in place of `old_text`, which must stand in the file exactly once."""

    type: Literal["replace_text"] = "replace_text"
    old_text: Text
    new_text: Text


class _Anchored(_FileOperation):
    content: SomeText
    anchor: SomeText | None = None
    """Text that stands in the file exactly once; whole lines are inserted beside its lines."""
    symbol: SomeText | None = None

    @model_validator(mode="after")
    def _one_anchor(self) -> Self:
        if (self.anchor is None) == (self.symbol is None):
            raise ValueError("needs anchor, or symbol in its place")
        return self


class InsertBefore(_Anchored):
    """Lines before the line where the anchor begins."""

    type: Literal["insert_before"] = "insert_before"


class InsertAfter(_Anchored):
    """Lines after the line where the anchor ends."""

    type: Literal["insert_after"] = "insert_after"


class Rename(_FileOperation):
    """The same file at a path where nothing stands."""

    type: Literal["rename"] = "rename"
    new_path: Text


class DeleteFile(_FileOperation):
    """The file is gone."""

    type: Literal["delete_file"] = "delete_file"


ContentEdit: TypeAlias = (
    Append | Prepend | Insert | Replace | Delete | ReplaceText | InsertBefore | InsertAfter
)


class Modify(_FileOperation):
    """Several edits of one file; each inherits `file_path`, and they count as one operation."""

    type: Literal["modify"] = "modify"
    operations: Annotated[
        tuple[Annotated[ContentEdit, Field(discriminator="type")], ...],
        BeforeValidator(_as_tuple),
        Field(min_length=1),
    ]

    @model_validator(mode="before")
    @classmethod
    def _inherit_path(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("operations"), list | tuple):
            return data
        path = data.get("file_path")
        nested = [{"file_path": path, **op} if isinstance(op, Mapping) else op for op in data["operations"]]
        return {**data, "operations": nested}

    @model_validator(mode="after")
    def _one_file(self) -> Self:
        if any(operation.file_path != self.file_path for operation in self.operations):
            raise ValueError("an operation inside names another file_path")
        return self


Operation: TypeAlias = (
    Create
    | Append
    | Prepend
    | Insert
    | Replace
    | Delete
    | ReplaceText
    | InsertBefore
    | InsertAfter
    | Rename
    | DeleteFile
    | Modify
)


class Meta(_Strict):
    """The line before the operations: what they are for and how many there will be."""

    type: Literal["meta"] = "meta"
    summary: Text = ""
    total_operations: Annotated[int, Field(ge=0)] | None = None


class End(_Strict):
    """The line after the operations."""

    type: Literal["end"] = "end"


_OPERATION: TypeAdapter[Operation] = TypeAdapter(Annotated[Operation, Field(discriminator="type")])
_LINE: TypeAdapter[Operation | Meta | End] = TypeAdapter(
    Annotated[Operation | Meta | End, Field(discriminator="type")]
)


def parse_operation(data: Mapping[str, Any]) -> Operation:
    """Return the operation that `data` is.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return _OPERATION.validate_python(data)


def parse_line(data: Mapping[str, Any]) -> Operation | Meta | End:
    """Return the operation, meta or end line that `data` is.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return _LINE.validate_python(data)


def describe_problem(error: ValidationError) -> str:
    """Return the first problems of a failed validation in one short line."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    named = [
        f"{'.'.join(str(part) for part in p['loc']) or 'operation'}: {p['msg'].removeprefix('Value error, ')}"
        for p in problems[:3]
    ]
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    return ("; ".join(named) + more)[:400]
