"""Proves that DATABASE_URL and DATABASE_DIRECT_URL lead to one database, for every connection to the second.

The proof is live: one session holds an advisory lock with a random key, and a session by the other address must see it
in pg_locks. Name, oid, system identifier and secrets do not tell a restored copy of a server from the server.

Without the proof requests get 503, because their messages would be divided among two databases. During a failover the
two addresses may lead to two servers for a while, so the proof is repeated until it succeeds.
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
    """Proves new direct connections. `fetch` runs a query by DATABASE_URL.

    It calls `on_division` after the first connection without a proof, and `on_reunion` after the next proof. Between
    them `is_divided` is true, and the proof is repeated every RETRY_SECONDS.
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

        Raises DividedError if it does not, and psycopg.OperationalError if it leads to a standby, or no connection by
        DATABASE_URL is available. A standby accepts no messages, so it divides none.
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
                raise psycopg.OperationalError("no connection by DATABASE_URL is available") from error
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
