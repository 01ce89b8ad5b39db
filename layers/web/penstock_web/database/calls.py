"""Defines types for calls of SQL functions. Only the pool uses connections."""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from penstock.postgres.statement import Row, Statement

RowT = TypeVar("RowT", bound=Row)
StatementCall: TypeAlias = tuple[Statement[Row], Sequence[object]]
"""Holds a statement and its arguments. Arrays are lists in the arguments, and the connection encodes the lists."""


class SettingRow(NamedTuple):
    """The new value of a setting."""

    set_config: str


class ProcessRow(NamedTuple):
    """The id of the server's process."""

    pg_backend_pid: int


PROCESS = Statement("pg_catalog.pg_backend_pid", (), ProcessRow)
SET_CONFIG = Statement("set_config", ("text", "text", "bool"), SettingRow)


class ExecuteStatement(Protocol):
    """Makes one call in a separate transaction. Raises the errors of `errors`."""

    def __call__(self, statement: Statement[RowT], arguments: Sequence[object], /) -> Awaitable[list[RowT]]: ...
