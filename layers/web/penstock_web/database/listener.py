"""The LISTEN connection of a process. It goes directly to the server: a pooler accepts LISTEN and delivers nothing."""

import asyncio
import logging
from typing import Protocol

import psycopg

from penstock.postgres.network import CALL_SECONDS

from .connect import LimitedConnection, connect

CHANNEL = "penstock"
RECONNECT_PAUSE_SECONDS = 1.0
# After so long without a notification the listener asks whether the server still answers.
CHECK_SECONDS = 15.0

_log = logging.getLogger(__name__)


class NotificationHandler(Protocol):
    """Receives the notifications: the dispatcher of long polls.

    `receives_notifications`: whether notifications arrive, as far as the listener can know.
    """

    receives_notifications: bool

    def handle_notification(self, queue_arn: str, /) -> None: ...

    def renew_registrations(self) -> None: ...


async def listen(url: str, handler: NotificationHandler, call_seconds: float = CALL_SECONDS) -> None:
    """Passes notifications to the handler until it is cancelled, and reconnects a second after a lost connection.

    Meanwhile long polls depend on the shared check alone. After each connect the handler registers every queue anew.
    """
    while True:
        try:
            await _listen_once(url, handler, call_seconds)
        except psycopg.Error as error:
            cause = " ".join(str(error).split())
            _log.warning(
                "the LISTEN connection was lost; notifications pause until it is open again",
                extra={"cause": cause},
            )
        await asyncio.sleep(RECONNECT_PAUSE_SECONDS)


async def _listen_once(url: str, handler: NotificationHandler, call_seconds: float) -> None:
    connection = await connect(url, call_seconds)
    # psycopg itself passes on the notifications that arrive together with the result of a query.
    connection.add_notify_handler(lambda notify: handler.handle_notification(notify.payload))
    async with connection:
        await connection.execute(f"listen {CHANNEL}")
        handler.receives_notifications = connection.session.is_direct
        handler.renew_registrations()
        try:
            await _forward_notifications(connection, handler)
        finally:
            handler.receives_notifications = False


async def _forward_notifications(connection: LimitedConnection, handler: NotificationHandler) -> None:
    while True:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await _wait_until_readable(connection.fileno())
        except TimeoutError:
            await connection.execute("select 1")
            continue
        connection.pgconn.consume_input()
        while (notification := connection.pgconn.notifies()) is not None:
            handler.handle_notification(notification.extra.decode())


async def _wait_until_readable(descriptor: int) -> None:
    """Returns when the server has sent something, or has closed the connection.

    psycopg's own generator would check ten times a second, which costs 0.2 % of a core.
    """
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
