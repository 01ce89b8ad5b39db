"""A queue over psycopg: the handler's statements and the delete of its message are one transaction."""

import inspect
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from .event_loop import EventLoop
from .message import Message
from .queue import GoneError
from .settings import Settings

if TYPE_CHECKING:
    import psycopg

C = TypeVar("C", "psycopg.Connection", "psycopg.AsyncConnection")

WAIT_SECONDS: Final = 1.0
_RECEIVE: Final = "select msg_id, read_ct, message::text, headers from queue.receive(%s, vt => %s, qty => %s)"
_EXTEND: Final = """select id from unnest(%s::bigint[]) id where queue.change_visibility(%s, id, %s) is null"""
_DELETE: Final = "select queue.ack(%s, array[%s::bigint])"
_FAIL: Final = "select queue.fail(%s, %s::bigint, %s, %s::integer)"
_GONE: Final = "QU005"
"""The SQLSTATE of queue.ack for a message that does not exist any more."""


class SqlQueue:
    """A queue by its name or ARN, in the account of the database role.

    A connection in autocommit mode receives, extends and fails. Each running handler has a connection with an open
    transaction.
    """

    system = "penstock"

    def __init__(self, queue: str, handler: Callable[..., object], settings: Settings, database: str) -> None:
        import psycopg

        self._psycopg = psycopg
        self._queue = queue
        self._handler = handler
        self._settings = settings
        self._database = database
        self._loop = EventLoop()
        self._is_async = inspect.iscoroutinefunction(handler)
        # SQL does not name the group of a message. Receives of one message keep the order of a group, because the group
        # is blocked while its message is in flight.
        self.max_messages = 1 if queue.endswith(".fifo") else 10
        self.idle_seconds = WAIT_SECONDS if settings.wait_seconds is None else settings.wait_seconds
        self._lock = threading.Lock()
        self._connection = self._connect()
        self._idle: deque[psycopg.Connection] = deque()
        self._idle_async: deque[psycopg.AsyncConnection] = deque()

    def receive(self, count: int) -> list[Message]:
        values = [self._queue, self._settings.visibility_timeout, count]
        return [
            Message(id=str(number), body=body, receive_count=received, attributes=headers)
            for number, received, body, headers in self._open_control().execute(_RECEIVE, values)
        ]

    def handle(self, message: Message) -> None:
        try:
            if self._is_async:
                self._loop.run(self._handle_async(message))
            else:
                self._handle_sync(message)
        except self._psycopg.DatabaseError as error:
            if error.sqlstate == _GONE:
                raise GoneError from error
            raise

    def _handle_sync(self, message: Message) -> None:
        connection = self._pop_living(self._idle) or self._connect()
        try:
            with connection.transaction():
                self._handler(message, connection)
                connection.execute(_DELETE, [self._queue, message.id])
        finally:
            if not connection.closed:
                self._idle.append(connection)

    async def _handle_async(self, message: Message) -> None:
        connection = self._pop_living(self._idle_async) or await self._connect_async()
        try:
            async with connection.transaction():
                await self._handler(message, connection)  # type: ignore[misc]
                await connection.execute(_DELETE, [self._queue, message.id])
        finally:
            if not connection.closed:
                self._idle_async.append(connection)

    def delete(self, message: Message) -> None:
        """Does nothing, because the transaction of `handle` has deleted the message."""

    def extend(self, messages: Sequence[Message], seconds: int) -> list[Message]:
        by_id = {int(message.id): message for message in messages}
        missing = self._open_control().execute(_EXTEND, [list(by_id), self._queue, seconds])
        return [by_id[number] for (number,) in missing]

    def fail(self, message: Message, error: str, pause_seconds: int) -> None:
        self._open_control().execute(_FAIL, [self._queue, message.id, error, pause_seconds])

    def release(self, messages: Sequence[Message]) -> None:
        self.extend(messages, 0)

    def close(self) -> None:
        self._connection.close()
        while self._idle:
            self._idle.pop().close()
        if self._idle_async:
            self._loop.run(self._close_async())
        self._loop.close()

    async def _close_async(self) -> None:
        while self._idle_async:
            await self._idle_async.pop().close()

    def _open_control(self) -> "psycopg.Connection":
        """Connects again after an error has closed the connection."""
        with self._lock:
            if self._connection.closed:
                self._connection = self._connect()
            return self._connection

    def _pop_living(self, idle: "deque[C]") -> "C | None":
        """Returns an idle connection that PostgreSQL has not closed, for example by a restart. Takes no round trip. The
        first read can find PostgreSQL's last message, and the second the end."""
        with suppress(IndexError):
            while True:
                connection = idle.pop()
                with suppress(self._psycopg.OperationalError):
                    connection.pgconn.consume_input()
                    connection.pgconn.consume_input()
                if not connection.closed:
                    return connection
        return None

    async def _connect_async(self) -> "psycopg.AsyncConnection":
        connect = self._psycopg.AsyncConnection.connect
        return await connect(self._database, autocommit=True, prepare_threshold=None)

    def _connect(self) -> "psycopg.Connection":
        """Prepares no statements, because a PgBouncer older than 1.21 refuses them."""
        return self._psycopg.connect(self._database, autocommit=True, prepare_threshold=None)
