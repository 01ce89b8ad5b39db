"""Sends calls in libpq's pipeline mode, either one after another or several calls in one transaction.

For each call, psycopg creates a cursor, a query, a generator and an entry in the event loop. A pipeline connection has
one permanent entry in the event loop, writes values in binary form, and uses psycopg only to read rows.

If there is no pooler, the connection prepares each statement once, because parsing and planning take a quarter of a
call's time on the server. If there is a pooler, the next call could use another server connection, which does not have
the prepared statements.

The connection writes all calls at once, followed by a synchronization message, which ends the transaction.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from struct import Struct
from typing import Any, Final, cast

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGresult

from penstock.postgres import binary_array
from penstock.postgres.statement import Row, Statement

from .calls import RowT, StatementCall

Connection = psycopg.AsyncConnection[Row]
ResultsFuture = asyncio.Future[list[list[Row]]]

# PostgreSQL's source code defines the binary formats (functions named `…_recv`). An array argument is a list. The
# encoder turns a list that contains only nulls into a null.
BINARY_ENCODERS: Final[dict[str, Callable[[Any], bytes | None]]] = {
    **{kind: partial(binary_array.encode, kind) for kind in binary_array.TYPES},
    "text": str.encode,
    "int2": Struct(">h").pack,
    "int4": Struct(">i").pack,
    "int8": Struct(">q").pack,
    "bool": Struct(">?").pack,
    "bytea": bytes,
    "uuid": attrgetter("bytes"),
}


class PipelineConnection:
    """Runs one call, or one transaction of calls, at a time. The object owns `connection`, which must be idle.

    `prepares` says whether the connection prepares statements. `silent_seconds` is the age of the call that was
    unfinished when the connection ended.
    """

    __slots__ = (
        "_calls", "_error", "_last_watched", "_loop", "_pgconn", "_prepared", "_prepares", "_preparing",
        "_results_future", "_rows", "_socket", "_transformer", "_watched_since", "_writing", "connection", "created_at",
        "silent_seconds",
    )  # fmt: skip

    def __init__(self, connection: Connection, prepares: bool) -> None:
        self.connection = connection
        self._loop = asyncio.get_running_loop()
        self.created_at = self._loop.time()
        self._pgconn = connection.pgconn
        self._pgconn.enter_pipeline_mode()
        self._socket = self._pgconn.socket
        self._transformer = Transformer(connection)
        self._prepares = prepares
        self._prepared: dict[Statement[Row], bytes] = {}
        # Contains the statements that the current call prepares.
        self._preparing: deque[Statement[Row]] = deque()
        self._results_future: ResultsFuture | None = None
        # The following fields describe the current call.
        self._calls: list[Statement[Row]] = []
        self._rows: list[list[Row]] = []
        self._error: psycopg.Error | None = None
        self._writing = False
        # Identifies the call that was running when `count_seconds_under_way` last ran.
        self._last_watched: ResultsFuture | None = None
        self._watched_since = 0.0
        self.silent_seconds = 0.0
        self._loop.add_reader(self._socket, self._on_readable)

    async def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Returns the rows of one call. Raises the errors of `call_in_transaction`."""
        (rows,) = await self.call_in_transaction([(statement, arguments)])
        return cast("list[RowT]", rows)

    def call_in_transaction(self, calls: Sequence[StatementCall]) -> ResultsFuture:
        """Returns a future of the rows of each call. The calls form one transaction. If a call fails, the future raises
        the error.

        Raises KeyError for a type without a binary format in this module, and the encoder's error for a value of the
        wrong type.
        """
        # The connection encodes all values before it sends any data.
        values_of_calls = [
            [
                None if value is None else BINARY_ENCODERS[kind](value)
                for kind, value in zip(statement.types, arguments, strict=True)
            ]
            for statement, arguments in calls
        ]
        for (statement, _), values in zip(calls, values_of_calls, strict=True):
            formats = [Format.BINARY] * len(values)
            if self._prepares:
                name = self._prepared.get(statement) or self._prepare(statement)
                self._pgconn.send_query_prepared(name, values, formats, Format.BINARY)
            else:  # The statement's text contains the parameter types.
                text = statement.text.encode()
                self._pgconn.send_query_params(text, values, None, formats, Format.BINARY)
        self._pgconn.pipeline_sync()
        self._calls = [statement for statement, _ in calls]
        future = self._results_future = self._loop.create_future()
        self._write()
        return future

    @property
    def busy(self) -> bool:
        """Returns whether a call is running."""
        return self._results_future is not None

    def count_seconds_under_way(self) -> float:
        """Returns the seconds since this method first ran during the current call, or 0 if no call is running. A call
        therefore does not need to store its start time.
        """
        now = self._loop.time()
        if self._results_future is not self._last_watched:
            self._last_watched = self._results_future
            self._watched_since = now
        return 0.0 if self._results_future is None else now - self._watched_since

    def close(self, reason: psycopg.OperationalError | None = None) -> None:
        """Closes the connection. An unfinished call fails with `reason`, or with an OperationalError if `reason` is
        None.
        """
        if self._socket >= 0:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket = -1
        self._pgconn.finish()
        self.silent_seconds = self.count_seconds_under_way()
        future, self._results_future = self._results_future, None
        if future is not None and not future.done():
            future.set_exception(reason or psycopg.OperationalError("the connection was lost"))

    # --- sending -----------------------------------------------------------------------------------------------------
    def _prepare(self, statement: Statement[Row]) -> bytes:
        name = self._prepared[statement] = b"statement_%d" % len(self._prepared)
        self._preparing.append(statement)
        self._pgconn.send_prepare(name, statement.text.encode())
        return name

    def _write(self) -> None:
        """Sends as many bytes as the network accepts. The event loop calls this method again for the remaining
        bytes."""
        unsent = self._pgconn.flush() != 0
        if unsent is not self._writing:
            self._writing = unsent
            if unsent:
                self._loop.add_writer(self._socket, self._close_on_error, self._write)
            else:
                self._loop.remove_writer(self._socket)

    # --- receiving ---------------------------------------------------------------------------------------------------
    def _on_readable(self) -> None:
        self._close_on_error(self._read)

    def _close_on_error(self, step: Callable[[], None]) -> None:
        try:
            step()
        except psycopg.Error:
            self.close()

    def _read(self) -> None:
        pgconn = self._pgconn
        pgconn.consume_input()
        if self._writing:
            # If a server sends rows before it has read all calls, the server waits until the client reads.
            self._write()
        if self._results_future is None:
            if pgconn.status == ConnStatus.BAD:
                self.close()
            return
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is not None and self._collect(result):
                self._finish_call()
                return

    def _collect(self, result: PGresult) -> bool:
        """Collects one result. Returns whether this was the last result of the current call."""
        status = result.status
        if status == ExecStatus.TUPLES_OK:
            self._transformer.set_pgresult(result)
            build_row = self._calls[len(self._rows)].build_row
            self._rows.append(self._transformer.load_rows(0, result.ntuples, build_row))
            # The connection drops the result, because a result of several megabytes would stay in memory until the next
            # call.
            self._transformer.set_pgresult(None)
        elif status == ExecStatus.COMMAND_OK:
            self._preparing.popleft()
        elif status == ExecStatus.FATAL_ERROR:
            self._error = error_from_result(result)
        return status == ExecStatus.PIPELINE_SYNC

    def _finish_call(self) -> None:
        while self._preparing:  # An error prevented the server from preparing these statements.
            del self._prepared[self._preparing.pop()]
        rows, self._rows = self._rows, []
        error, self._error = self._error, None
        future, self._results_future = self._results_future, None
        if future is None or future.done():
            return
        if error is None:
            future.set_result(rows)
        else:
            future.set_exception(error)
