"""Proves for every connection to DATABASE_DIRECT_URL that it leads to the database of DATABASE_URL.

One session holds an advisory lock with a random key, and a session at the other address must see this lock in pg_locks.
Name, oid, system identifier and secrets would not distinguish a restored copy from the original server.

Requests get 503 until the proof succeeds, because their messages could be divided among two databases. The process
repeats the proof, because the two addresses may lead to two servers for a while during a failover.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import psycopg

from penstock.errors import ServiceUnavailable
from penstock.postgres.server_check import DIVIDED, HOLD_LOCK, IN_RECOVERY, SEE_LOCK, choose_key
from penstock.postgres.statement import Row

from .connect import LimitedAsyncConnection, connect

RETRY_SECONDS = 1.0

_log = logging.getLogger(__name__)

Fetch = Callable[[str, Sequence[object]], Awaitable[list[Row]]]


class DividedError(psycopg.OperationalError):
    """A direct connection does not lead to the database of DATABASE_URL."""

    def __init__(self) -> None:
        super().__init__(DIVIDED)


class OneDatabase:
    """Proves new direct connections. `fetch` runs a query at DATABASE_URL. The object calls `on_division` after the
    first failed proof, and `on_reunion` after the next successful one. Between these calls, `is_divided` is true, and
    the process repeats the proof every RETRY_SECONDS.
    """

    def __init__(
        self,
        direct_url: str,
        call_seconds: float,
        fetch: Fetch,
        on_division: Callable[[], None],
        on_reunion: Callable[[], None],
    ) -> None:
        self.is_divided = False
        self._direct_url = direct_url
        self._call_seconds = call_seconds
        self._fetch = fetch
        self._on_division = on_division
        self._on_reunion = on_reunion
        self._retries: asyncio.Task[None] | None = None

    async def prove(self, connection: LimitedAsyncConnection) -> None:
        """Returns if the direct connection leads to the database of DATABASE_URL.

        Raises DividedError if the connection leads to another database, and psycopg.OperationalError if it leads to a
        standby or if no connection to DATABASE_URL is available. A standby accepts no messages, so messages cannot be
        divided.
        """
        cursor = await connection.execute(IN_RECOVERY)
        if await cursor.fetchone() == (True,):
            raise psycopg.OperationalError("DATABASE_DIRECT_URL leads to a standby")
        key = choose_key()
        async with connection.transaction():
            await connection.execute(HOLD_LOCK, [key])
            try:
                rows = await self._fetch(SEE_LOCK, [key])
            except ServiceUnavailable as error:
                raise psycopg.OperationalError("no connection to DATABASE_URL is available") from error
        is_one = rows == [(True,)]
        if is_one and self.is_divided:
            self.is_divided = False
            _log.warning("DATABASE_URL and DATABASE_DIRECT_URL lead to one database again")
            self._on_reunion()
        elif not is_one:
            self._divide()
            raise DividedError

    async def close(self) -> None:
        """Ends the retries."""
        if self._retries is not None:
            self._retries.cancel()
            await asyncio.wait([self._retries])

    def _divide(self) -> None:
        if self.is_divided:
            return
        self.is_divided = True
        _log.error("DATABASE_URL and DATABASE_DIRECT_URL lead to two databases: requests get 503")
        self._on_division()
        self._retries = asyncio.get_running_loop().create_task(self._retry())

    async def _retry(self) -> None:
        while self.is_divided:
            await asyncio.sleep(RETRY_SECONDS)
            with suppress(psycopg.Error):
                connection = await connect(self._direct_url, self._call_seconds)
                try:
                    await self.prove(connection)
                finally:
                    await connection.close()
