"""Runs the process's LISTEN connection. The connection goes directly to the server, because a pooler accepts LISTEN but
does not deliver notifications. Workers sleep while this connection works, because notifications wake them. A network
can lose notifications silently, and some changes send no notification. Therefore, the process regularly queries this
connection for due work and for changes (`queue.due_work`). An idle process makes no other queries.
"""

import asyncio
from contextlib import suppress
from typing import Protocol

import psycopg

from penstock import __version__
from penstock.postgres.network import CALL_SECONDS
from penstock.postgres.statements.installation import DUE_WORK

from .activity import Activity
from .connect import LimitedAsyncConnection, connect
from .outage import Outage, is_shortage
from .pool import Pool

CHANNEL = "penstock"
NAME = "listen"
"""Names the connection in log records."""
APPLICATION_NAME = f"penstock {__version__}"
"""Names the connection in pg_stat_activity. `penstock doctor` finds the running releases by APPLICATION_NAME."""
RECONNECT_PAUSE_SECONDS = 1.0
CHECK_SECONDS = 30.0
"""Sets the pause between two checks if no setting gives another pause."""
EXPIRY_SECONDS = 1.0
"""Sets the shortest pause before a check that runs early because the retention of a message ends."""


class NotificationHandler(Protocol):
    """Receives the notifications. The long-poll dispatcher implements this protocol.

    `receives_notifications` is false while the listener has no working connection.
    """

    receives_notifications: bool

    def handle_notification(self, queue_arn: str, /) -> None: ...

    def renew_registrations(self) -> None: ...

    def wake_workers(self) -> None: ...


async def listen(
    url: str,
    handler: NotificationHandler,
    activity: Activity,
    call_seconds: float = CALL_SECONDS,
    check_seconds: float = CHECK_SECONDS,
    outage: Outage | None = None,
    pool: Pool | None = None,
) -> None:
    """Passes notifications to the handler until the task is cancelled. The loop reconnects a second after the
    connection is lost.

    The pool checks that each new connection leads to the database of DATABASE_URL (`one_database`). The listener does
    not connect while the process has too few connections. While the listener has no connection, only the shared check
    wakes long polls, and workers run at fixed intervals. After each connect, the handler registers every queue again.
    After each connect, and every `check_seconds`, a check reports due work to the handler and changes to `activity`.
    The check runs earlier if the retention of a message ends earlier.
    """
    outage = outage or Outage()
    while True:
        if pool is not None and pool.shortage.is_very_short:
            outage.works(NAME)
            await asyncio.sleep(RECONNECT_PAUSE_SECONDS)
            continue
        try:
            await _listen_once(url, handler, activity, call_seconds, check_seconds, outage, pool)
        except psycopg.Error as error:
            outage.fails(NAME, error)
        await asyncio.sleep(RECONNECT_PAUSE_SECONDS)


async def _listen_once(
    url: str,
    handler: NotificationHandler,
    activity: Activity,
    call_seconds: float,
    check_seconds: float,
    outage: Outage,
    pool: Pool | None,
) -> None:
    try:
        connection = await connect(url, call_seconds, APPLICATION_NAME)
    except psycopg.OperationalError as error:
        if pool is not None and is_shortage(error):
            await pool.give_up_connection(NAME, error)
        raise
    # psycopg returns notifications that arrive together with a query's result.
    connection.add_notify_handler(lambda notify: handler.handle_notification(notify.payload))
    async with connection:
        if pool is not None:
            await pool.prove(connection)
            await pool.hold_proof(connection)
        await connection.execute(f"listen {CHANNEL}")
        expiry = await _check(connection, handler, activity)
        outage.works(NAME)
        handler.receives_notifications = connection.session.is_direct
        handler.renew_registrations()
        try:
            while True:
                pause = check_seconds if expiry is None else min(check_seconds, max(expiry, EXPIRY_SECONDS))
                await _forward_notifications(connection, handler, pause)
                expiry = await _check(connection, handler, activity)
        finally:
            handler.receives_notifications = False
            handler.wake_workers()


async def _check(connection: LimitedAsyncConnection, handler: NotificationHandler, activity: Activity) -> float | None:
    """Queries the due work. Returns the seconds until the retention of the next message ends, or None if no retention
    ends soon.

    Raises OperationalError if the server does not respond.
    """
    cursor = await connection.execute(DUE_WORK.text)
    (work,) = DUE_WORK.build_rows(await cursor.fetchall())
    for name in work.due:
        handler.handle_notification(name)
    activity.compare(work.changes)
    return None if work.expiry_ms is None else work.expiry_ms / 1000


async def _forward_notifications(
    connection: LimitedAsyncConnection, handler: NotificationHandler, seconds: float
) -> None:
    """Passes notifications to the handler for `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                await _wait_until_readable(connection.fileno())
                connection.pgconn.consume_input()
                while (notification := connection.pgconn.notifies()) is not None:
                    handler.handle_notification(notification.extra.decode())


async def _wait_until_readable(descriptor: int) -> None:
    """Returns when the server has sent data, or has closed the connection.

    The generator of psycopg would check ten times a second, which costs 0.2 % of a core.
    """
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
