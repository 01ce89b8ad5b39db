"""Calls of SQL functions as the parts of the container pass them on: only the pool knows connections."""

from collections.abc import Awaitable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from penstock.effects import Row, Statement

RowT = TypeVar("RowT", bound=Row)
StatementCall: TypeAlias = tuple[Statement[Row], Sequence[object]]
"""A statement and its arguments. Arrays are lists, which the connection encodes."""


class ExecuteStatement(Protocol):
    """Makes one call, in its own transaction. Raises the errors of `pool`."""

    def __call__(
        self, statement: Statement[RowT], arguments: Sequence[object], /
    ) -> Awaitable[list[RowT]]: ...
