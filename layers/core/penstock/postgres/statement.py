"""The SQL functions that Python calls, with the types of their parameters and rows."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

Row: TypeAlias = tuple[Any, ...]
"""A row of any statement, for code that only passes on rows."""
JsonObject: TypeAlias = dict[str, Any]
"""A JSON object from the database, decoded by the driver."""

RowT_co = TypeVar("RowT_co", bound=Row, covariant=True)
EntryT_co = TypeVar("EntryT_co", bound=Row, covariant=True)


class Statement(Struct, Generic[RowT_co], frozen=True, eq=False):
    """A SQL function that returns a table, with the types of its parameters, in order, and of its rows.

    `row` is a NamedTuple whose fields are the function's columns. A test compares the fields with PostgreSQL's
    catalogue. The call names the columns, so the next release can add columns. The call does not name the column of a
    row with only one column, so the next release can rename that column. `named` are the last parameters, which the
    call names. The next release can insert other parameters, with defaults, before the named parameters.
    """

    name: str
    types: tuple[str, ...]
    row: type[RowT_co]
    named: tuple[str, ...] = ()
    is_audited: bool = False
    """Whether the function changes data, and the audit records its call."""
    changed: str = ""
    """The column that is false if the function made no change. If the name is empty, a row without an error means a
    change."""
    stores_messages: bool = False
    """Whether the entries are messages (SendEntry)."""
    takes_handles: bool = False
    """Whether the entries begin with the fields of a ReceiptHandle. The call locks their leases."""
    is_idempotent: bool = False
    """Whether a repetition of the call changes nothing, so that the batcher can repeat a call with unknown outcome."""
    is_prepared: bool = False
    """Whether a connection prepares the statement, because its text is long."""
    is_idle_without_rows: bool = False
    """Whether a call that returns no rows has found nothing to do."""
    text: str = ""  # the query that calls the function; this field and `build_row` are computed
    # Makes a row from its values, three times as fast as row._make.
    build_row: Callable[[Iterable[Any]], Any] = tuple

    def __post_init__(self) -> None:
        force_setattr(self, "text", self.build_text())
        force_setattr(self, "build_row", partial(tuple.__new__, self.row))

    def build_text(self) -> str:
        """Returns the query that calls the function."""
        prefixes = [""] * (len(self.types) - len(self.named)) + [f"{name} => " for name in self.named]
        marks = (f"{prefixes[n]}${n + 1}::{kind}" for n, kind in enumerate(self.types))
        fields = self.row.__annotations__
        columns = ", ".join(f'"{field}"' for field in fields) if len(fields) > 1 else "*"
        return f"select {columns} from {self.name}({', '.join(marks)})"  # noqa: S608 - constants only

    def build_rows(self, rows: Iterable[Iterable[Any]]) -> list[RowT_co]:
        """Returns the rows of a result as NamedTuples."""
        return list(map(self.build_row, rows))


class BatchStatement(Statement[RowT_co], Generic[EntryT_co, RowT_co], frozen=True, eq=False, kw_only=True):
    """A statement whose first parameters are arrays, which are the columns of its entries."""

    entry: type[EntryT_co]

    @property
    def width(self) -> int:
        return len(self.entry.__annotations__)
