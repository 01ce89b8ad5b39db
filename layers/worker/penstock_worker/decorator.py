"""The decorator of a handler."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar, Unpack, overload

from .message import Message
from .queue import Queue
from .runner import Worker
from .settings import Options, Settings
from .sql import SqlQueue
from .sqs import SqsQueue

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", "Connection", "AsyncConnection")


@overload
def worker(
    queue: str, *, client: object | None = None, **options: Unpack[Options]
) -> Callable[[Callable[[Message], R]], Worker[[Message], R]]: ...


@overload
def worker(
    queue: str, *, database: str, **options: Unpack[Options]
) -> Callable[[Callable[[Message, C], R]], Worker[[Message, C], R]]: ...


def worker(
    queue: str, *, client: object | None = None, database: str | None = None, **options: Unpack[Options]
) -> Callable[[Callable[P, R]], Worker[P, R]]:
    """Makes a worker of a function, which can be asynchronous.

    Without `database`, the queue is a name or a URL, and the function gets the message. `client` is a client of boto3
    for SQS. By default, AWS's environment variables and files configure a client.

    With `database`, a connection string of libpq, the queue is a name or an ARN. The function gets the message and a
    connection of psycopg with an open transaction, which deletes the message, too. An asynchronous function gets an
    AsyncConnection.

    `Settings` has the options. Raises ValueError for an option outside of its limits, and TypeError for an unknown one.
    """
    settings = Settings(**options)

    def decorate(handler: Callable[P, R]) -> Worker[P, R]:
        def connect() -> Queue:
            if database is not None:
                return SqlQueue(queue, handler, settings, database)
            return SqsQueue(queue, handler, settings, client)

        return Worker(queue, handler, settings, connect)

    return decorate
