"""Proves that every connection to DATABASE_DIRECT_URL leads to the database of DATABASE_URL.

A session at one address holds an advisory lock with a random key, and a session at the other address must see this lock
in pg_locks. Name, oid, system identifier and secrets cannot distinguish a restored copy from the original server.

A pooler can switch to another database at any time without telling its clients. Therefore, the open LISTEN connection
holds a lock with a random key. A call through the pooler looks for the lock of the LISTEN connection if no call has
looked in the last LOOK_SECONDS. If a call does not see the lock, the process starts a proof, because the LISTEN
connection could also have ended.

Requests get 503 until the proof succeeds, because two databases could each store a part of the messages. The process
repeats a failed proof, because the two addresses can lead to two servers for a while during a failover.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import monotonic

import psycopg

from penstock.errors import ServiceUnavailable
from penstock.postgres.server_check import DIVIDED, HOLD_LOCK, HOLD_LOCK_OF_SESSION, IN_RECOVERY, SEE_LOCK, choose_key
from penstock.postgres.statement import Row

from .connect import LimitedAsyncConnection, connect

RETRY_SECONDS = 1.0
LOOK_SECONDS = 2.0
"""Sets the shortest pause between two checks of the LISTEN connection's lock."""

_log = logging.getLogger(__name__)

Fetch = Callable[[str, Sequence[object]], Awaitable[list[Row]]]


class DividedError(psycopg.OperationalError):
    """A direct connection does not lead to the database of DATABASE_URL."""

    def __init__(self) -> None:
        super().__init__(DIVIDED)


class OneDatabase:
    """Proves that new direct connections lead to the database of DATABASE_URL. `fetch` runs a query at DATABASE_URL.
    The object calls `on_division` after the first failed proof, and calls `on_reunion` after the next successful proof.
    Between the calls of `on_division` and `on_reunion`, `is_divided` is true, and the process repeats the proof every
    RETRY_SECONDS.
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
        self._held_key = 0
        self._holder: LimitedAsyncConnection | None = None  # the LISTEN connection
        self._looked_at = 0.0  # from time.monotonic()
        self._is_verifying = False

    async def prove(self, connection: LimitedAsyncConnection) -> None:
        """Checks that the direct connection leads to the database of DATABASE_URL. Raises DividedError if the
        connection leads to another database. Raises psycopg.OperationalError if the connection leads to a standby,
        which cannot store messages, or if no connection to DATABASE_URL is available.
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

    async def hold_lock(self, connection: LimitedAsyncConnection) -> None:
        """Takes a lock on a direct connection, and holds the lock until the connection ends."""
        key = choose_key()
        await connection.execute(HOLD_LOCK_OF_SESSION, [key])
        self._held_key, self._holder = key, connection

    @property
    def is_held(self) -> bool:
        """Returns whether the LISTEN connection is open."""
        return self._holder is not None and not self._holder.closed

    async def looks_divided(self, connection: LimitedAsyncConnection) -> bool:
        """Returns whether this connection to DATABASE_URL fails to see the lock of the LISTEN connection. Returns false
        without a query if a call has looked for the lock in the last LOOK_SECONDS. Raises psycopg's errors.
        """
        now = monotonic()
        is_known = self.is_divided or self._is_verifying or now - self._looked_at < LOOK_SECONDS
        if is_known or not self.is_held:
            return False
        self._looked_at = now
        cursor = await connection.execute(SEE_LOCK, [self._held_key])
        return await cursor.fetchall() != [(True,)]

    async def verify(self) -> None:
        """Proves that a new direct connection leads to the right database. Raises the errors of `prove`."""
        self._is_verifying = True
        try:
            connection = await connect(self._direct_url, self._call_seconds)
            try:
                await self.prove(connection)
            finally:
                await connection.close()
        finally:
            self._is_verifying = False

    async def verify_for_call(self) -> None:
        """Proves that a new direct connection leads to the right database. Raises ServiceUnavailable if the proof
        fails. If no proof is possible, the LISTEN connection has also ended, so the function returns, and a proof
        follows the reconnect.
        """
        try:
            await self.verify()
        except DividedError as error:
            raise ServiceUnavailable(f"{DIVIDED}.") from error
        except psycopg.Error as error:
            _log.debug("no proof that the addresses lead to one database", extra={"cause": str(error)})

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
                await self.verify()
