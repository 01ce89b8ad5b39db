"""The one LISTEN connection of a process: direct, since a pooler accepts LISTEN and delivers nothing."""

import asyncio
import logging
from typing import Protocol

import psycopg

from penstock.effects import Row

from .connect import connection_options
from .pipeline_pool import is_direct

CHANNEL = "penstock"
PAUSE_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Listener(Protocol):
    """Who is told: the hub. `hears`: whether notifications arrive, as far as one can know."""

    hears: bool

    def notified(self, queue_arn: str, /) -> None: ...

    def renew(self) -> None: ...


async def listen(url: str, hub: Listener) -> None:
    """Passes notifications on until it is cancelled; connects again, a second later, when the connection is lost.

    Meanwhile long polls live by the shared look alone. After each connect everybody registers anew.
    """
    while True:
        try:
            await _listen_once(url, hub)
        except psycopg.Error as error:
            cause = " ".join(str(error).split())
            _log.warning("no notifications for a moment", extra={"cause": cause})
        await asyncio.sleep(PAUSE_SECONDS)


async def _listen_once(url: str, hub: Listener) -> None:
    connection: psycopg.AsyncConnection[Row] = await psycopg.AsyncConnection.connect(
        **connection_options(url)
    )
    # Of those that come together with an answer psycopg tells by itself.
    connection.add_notify_handler(lambda notify: hub.notified(notify.payload))
    async with connection:
        direct = await is_direct(connection)
        await connection.execute(f"listen {CHANNEL}")
        hub.hears = direct
        hub.renew()
        try:
            await _pass_on(connection, hub)
        finally:
            hub.hears = False


async def _pass_on(connection: psycopg.AsyncConnection[Row], hub: Listener) -> None:
    while True:
        await _readable(connection.fileno())
        connection.pgconn.consume_input()
        while (notification := connection.pgconn.notifies()) is not None:
            hub.notified(notification.extra.decode())


async def _readable(descriptor: int) -> None:
    """The server has said something, or hung up. Without psycopg's own look, ten times a second: 0.2 % of a core."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
