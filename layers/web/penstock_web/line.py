"""One connection for calls one after another, on libpq itself.

psycopg makes a cursor, a query, a generator and an entry in the event loop for each call. A line watches its socket as
long as it lives, writes its values in binary form, and asks psycopg only to read rows.

Where nothing stands between it and the server, its statements are prepared once: parsing and planning are a quarter of
what a call costs the server. A pooler would give the next call to another server connection, which does not know them.
"""

import asyncio
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Final, cast

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGresult

from penstock.effects import Row
from penstock.statements import Statement

Connection = psycopg.AsyncConnection[Row]
Answer = asyncio.Future[list[Row]]

# Binary forms of plain values: PostgreSQL source, `…_recv`. Arrays come as bytes (`pgarray`).
FORMS: Final[dict[str, Callable[[Any], bytes]]] = {
    "text": str.encode,
    "int2": Struct(">h").pack,
    "int4": Struct(">i").pack,
    "int8": Struct(">q").pack,
    "bool": Struct(">?").pack,
}


class Line:
    """`connection` is idle, and belongs to the line. One call at a time. `prepares`: whether it keeps statements."""

    __slots__ = (
        "_answer", "_loop", "_next", "_pgconn", "_prepared", "_prepares", "_result", "_socket", "_transformer",
        "_writing", "connection", "made_at",
    )  # fmt: skip

    def __init__(self, connection: Connection, prepares: bool) -> None:
        self.connection = connection
        self._loop = asyncio.get_running_loop()
        self.made_at = self._loop.time()
        self._pgconn = connection.pgconn
        self._socket = self._pgconn.socket
        self._transformer = Transformer(connection)
        self._prepares = prepares
        self._prepared: dict[Statement, bytes] = {}
        self._next: tuple[bytes, list[bytes | None]] | None = None  # as soon as it is prepared
        self._answer: Answer | None = None
        self._result: PGresult | None = None
        self._writing = False
        self._loop.add_reader(self._socket, self._readable)

    def call(self, statement: Statement, arguments: Sequence[Any]) -> Answer:
        """The rows of one call, or psycopg's error.

        Raises KeyError for types that have no form here, and what values raise that are not of their type.
        """
        values = [
            value if value is None or isinstance(value, bytes) else FORMS[kind](value)
            for kind, value in zip(statement.types, arguments, strict=True)
        ]
        name = self._prepared.get(statement)
        if name is not None:
            self._execute(name, values)
        elif self._prepares:
            self._prepare(statement, values)
        else:  # the text says of which type they are
            formats = [Format.BINARY] * len(values)
            self._pgconn.send_query_params(statement.text.encode(), values, None, formats, Format.BINARY)
        answer = self._answer = self._loop.create_future()
        self._write()
        return answer

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._answer is not None

    def hang_up(self) -> None:
        """Closes the connection. Whoever waits for an answer gets OperationalError."""
        if self._socket >= 0:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket = -1
        self._pgconn.finish()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(psycopg.OperationalError("the connection was lost"))

    # --- sending -----------------------------------------------------------------------------------------------------
    def _prepare(self, statement: Statement, values: list[bytes | None]) -> None:
        name = self._prepared[statement] = b"line_%d" % len(self._prepared)
        self._next = name, values
        self._pgconn.send_prepare(name, statement.text.encode())

    def _execute(self, name: bytes, values: list[bytes | None]) -> None:
        formats = [Format.BINARY] * len(values)
        self._pgconn.send_query_prepared(name, values, formats, Format.BINARY)

    def _write(self) -> None:
        """Sends as much as the network takes; the rest when it takes more."""
        rest = self._pgconn.flush() != 0
        if rest is not self._writing:
            self._writing = rest
            if rest:
                self._loop.add_writer(self._socket, self._guarded, self._write)
            else:
                self._loop.remove_writer(self._socket)

    # --- receiving ---------------------------------------------------------------------------------------------------
    def _readable(self) -> None:
        self._guarded(self._read)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except psycopg.Error:
            self.hang_up()

    def _read(self) -> None:
        pgconn = self._pgconn
        pgconn.consume_input()
        if self._writing:  # a server that answers before it has read everything waits for us to read
            self._write()
        if self._answer is None:
            if pgconn.status == ConnStatus.BAD:
                self.hang_up()
            return
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                self._conclude()
                return
            self._result = result

    def _conclude(self) -> None:
        """The last result of what was sent is there."""
        result, self._result = cast("PGresult", self._result), None
        following, self._next = self._next, None
        if following is not None and result.status == ExecStatus.COMMAND_OK:
            self._execute(*following)
            self._write()
            return
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            return
        if result.status == ExecStatus.TUPLES_OK:
            self._transformer.set_pgresult(result)
            answer.set_result(self._transformer.load_rows(0, result.ntuples, cast("Any", tuple)))
        else:
            answer.set_exception(error_from_result(result))
