"""Manages the container's database connections. The pool limits the number of connections, replaces broken connections
and classifies errors (`errors`).

Most calls carry merged effects, and use separate connections (`pipeline_pool`) through `call_pipelined`.

The pool's timeout limits the wait for a connection. The pool does not wrap calls in `wait_for`, because the server can
still carry out a cancelled call. In a test with 200 cancelled inserts, 41 raised an error, but the server stored all
200.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import cast
from uuid import UUID
from weakref import WeakSet

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from penstock.errors import ServiceUnavailable
from penstock.postgres.binary_array import encode_arguments
from penstock.postgres.call_deadline import CallOverdue
from penstock.postgres.network import CALL_SECONDS, CONNECT_SECONDS
from penstock.postgres.psycopg_connection import WrongSettingsError
from penstock.postgres.server_check import DIVIDED
from penstock.postgres.session_settings import describe_wrong_settings
from penstock.postgres.sqlstates import Meaning, find_error_meaning
from penstock.postgres.statement import Row, Statement

from .calls import PROCESS, SET_CONFIG, RowT
from .connect import LimitedAsyncConnection, build_connection_options, build_reporting_class, connect, is_stale
from .errors import classify_error, classify_pipeline_error
from .one_database import OneDatabase
from .outage import explain_failure, is_full_pooler, is_shortage
from .pipeline_connection import PipelineConnection
from .pipeline_pool import PipelinePool
from .shortage import SHORTAGE_SECONDS, Shortage

MIN_CONNECTIONS = 2
HURRIED_LOCK_TIMEOUT = "100ms"
# One connection serves sends, another connection serves deletes, and the other two serve receives. More connections
# would not help on two cores.
MAX_PIPELINE_CONNECTIONS = 4
# A request waits at least this long for a free connection, even if it has already waited for other calls.
SHORTEST_WAIT_SECONDS = 0.1
# With a backoff of several minutes, requests would still get 503 for minutes after the database is available again.
# Therefore, the pool gives up early, and connects again when a request needs a connection.
RECONNECT_SECONDS = 2.0  # After a failover, the next connection may reach the new primary.

# If a connection ends after SILENCE_SECONDS without a response, the pool assumes that the server's host is down. The
# pool's other connections lead to the host that is down, too.
SILENCE_SECONDS = 2.0

WAITING_SINCE: ContextVar[float | None] = ContextVar("waiting_since", default=None)
"""Holds the time when the first request of a merged call began to wait. The time limit for getting a connection counts
from WAITING_SINCE.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of pooled and pipeline connections, the longest wait for a connection and the longest call."""

    max_pooled: int
    max_pipelines: int
    timeout_seconds: float
    call_seconds: float


@dataclass(slots=True)
class Health:
    """What the last connections showed. The pool closes connections from before `renewed_at`. `wrong_settings` is about
    the last checked session, and `last_failure` is the error of the last attempt to connect to DATABASE_URL.
    """

    renewed_at: float = 0.0
    wrong_settings: str = ""
    last_failure: BaseException | None = None


class Pool:
    """Calls SQL functions on pooled connections. `timeout_seconds` is the longest wait for a free connection.

    `direct_url` is the address of the database without a pooler. Up to four connections, but at most half of all
    connections, are pipeline connections to this address. All connections are pooled if `direct_url` is empty.
    `watcher` is the process's id for queue registrations. Sends on pipeline connections do not notify this process,
    because the process wakes the waiting long polls directly.

    If a call takes longer than `call_seconds`, the pool ends the call's connection and raises OutcomeUnknown. The pool
    also closes the idle connections after an overdue call, because they lead to the same server. The pool also closes
    the idle connections if the server is read-only, or if a connection breaks after a call has waited SILENCE_SECONDS.
    """

    def __init__(
        self,
        url: str,
        max_connections: int,
        timeout_seconds: float,
        direct_url: str = "",
        watcher: UUID | None = None,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        max_pipelines = min(MAX_PIPELINE_CONNECTIONS, max_connections // 2) if direct_url else 0
        max_connections -= max_pipelines
        self._limits = Limits(max_connections, max_pipelines, timeout_seconds, call_seconds)
        self._health = Health()
        self.shortage = Shortage()
        self._pipelines = PipelinePool(direct_url, max_pipelines, watcher, call_seconds, self._renew, self.prove)
        self._one_database = OneDatabase(direct_url, call_seconds, self._fetch_anyway, self._divide, self._reunite)
        self._opened: WeakSet[LimitedAsyncConnection] = WeakSet()
        self._enlargements: set[asyncio.Task[None]] = set()
        self._has_two_addresses = direct_url not in ("", url)
        self._url = url
        # The running calls on pooled connections, and the times when the calls began.
        self._calls: dict[LimitedAsyncConnection, float] = {}
        self._waiting_calls = asyncio.Semaphore(max(1, max_connections // 4))
        self.timeouts = 0
        """Counts the calls that got no connection in time."""
        self._pool = self._build_pool()

    def _build_pool(self) -> AsyncConnectionPool[LimitedAsyncConnection]:
        return AsyncConnectionPool(
            connection_class=build_reporting_class(self._note_failure),
            kwargs=build_connection_options(self._url),
            configure=self._configure,
            min_size=min(MIN_CONNECTIONS, self._limits.max_pooled),
            max_size=self._limits.max_pooled,
            timeout=self._limits.timeout_seconds,
            reconnect_timeout=RECONNECT_SECONDS,
            reconnect_failed=self._ask_for_connections,
            open=False,
            name="penstock",
        )

    async def _configure(self, connection: LimitedAsyncConnection) -> None:
        connection.call_seconds = self._limits.call_seconds
        connection.opened_at = monotonic()
        self._opened.add(connection)
        try:
            await self._check(connection.apply_settings)
        except psycopg.Error as error:
            self._note_failure(error)
            raise
        self._health.last_failure = None

    def _note_failure(self, error: BaseException) -> None:
        self._health.last_failure = error

    async def _check(self, apply: Callable[[], Awaitable[None]]) -> None:
        """Applies the settings to a new connection. If the settings are wrong, the pool also stops using its other
        connections."""
        try:
            await apply()
        except WrongSettingsError as error:
            self._health.wrong_settings = error.wrong
            self._health.renewed_at = monotonic()
            raise
        self._health.wrong_settings = ""

    def _renew(self) -> None:
        """Makes all later calls use new connections."""
        self._health.renewed_at = monotonic()
        self._pipelines.discard_idle()

    @property
    def is_divided(self) -> bool:
        """Returns whether the two addresses lead to different databases. If the databases differ, calls get
        ServiceUnavailable."""
        return self._one_database.is_divided

    async def prove(self, connection: LimitedAsyncConnection) -> None:
        """Raises psycopg.OperationalError unless the direct connection leads to the database of the pool's address."""
        if self._has_two_addresses:
            await self._one_database.prove(connection)

    async def hold_proof(self, connection: LimitedAsyncConnection) -> None:
        """Lets calls check that the pool's address and this direct connection lead to the same database."""
        if self._has_two_addresses and connection.session.is_direct:
            await self._one_database.hold_lock(connection)

    def _divide(self) -> None:
        self._pipelines.change_size(-self._limits.max_pipelines)
        self._renew()

    def _reunite(self) -> None:
        self._pipelines.change_size(self._limits.max_pipelines)

    async def give_up_connection(self, name: str, cause: BaseException) -> None:
        """Reduces the requests' connections by one for SHORTAGE_SECONDS, because the part of the process called `name`
        got no connection.

        Does nothing if the requests' connections do not work either, because the database is then unavailable. Requests
        always keep at least one connection.
        """
        if not await self._works():
            return
        self.shortage.note(name, cause)
        pipelines, pooled = self._pipelines.open_count, sum(not each.closed for each in self._opened)
        loop = asyncio.get_running_loop()
        if pipelines + pooled <= 1:
            self.shortage.note_last_connection()
        elif pipelines:
            self._pipelines.change_size(-1)
            loop.call_later(SHORTAGE_SECONDS, self._pipelines.change_size, 1)
        else:
            await self._give_up_pooled(pooled - 1)

    async def _give_up_pooled(self, left: int) -> None:
        """Closes a pooled connection. The closed connection still counts in the pool, so at most `left` connections
        stay open.
        """
        try:
            connection = await self._pool.getconn(self._limits.timeout_seconds)
        except (PoolTimeout, PoolClosed):
            return
        await connection.close()
        self.shortage.given_up.append(connection)
        await self._pool.resize(1, left + len(self.shortage.given_up))
        asyncio.get_running_loop().call_later(SHORTAGE_SECONDS, self._take_back)

    def _ask_for_connections(self, _pool: object) -> None:
        """If workers have connections but requests get no connection, makes the workers take turns.

        While PostgreSQL is down, PgBouncer keeps the workers' connections, so only the error shows a shortage.
        """
        cause = self._health.last_failure
        if cause is not None and is_shortage(cause) and sum(close() for close in self.shortage.on_shortage):
            self.shortage.note("requests", cause)
            # The LISTEN connection does not go through the pooler.
            if not (self._has_two_addresses and is_full_pooler(cause)):
                self.shortage.note_last_connection()

    def _take_back(self) -> None:
        task = asyncio.get_running_loop().create_task(self._enlarge())
        self._enlargements.add(task)
        task.add_done_callback(self._enlargements.discard)

    async def _enlarge(self) -> None:
        with suppress(PoolClosed):
            await self._pool.putconn(self.shortage.given_up.pop())
            if not self.shortage.given_up:
                await self._pool.resize(min(MIN_CONNECTIONS, self._limits.max_pooled), self._limits.max_pooled)

    async def _works(self) -> bool:
        """Returns whether the server answers on a connection that requests use."""
        try:
            if self._pipelines.counts[0]:
                await self.call_pipelined(PROCESS, ())
            else:
                await self._fetch_anyway(PROCESS.text, ())
        except (ServiceUnavailable, psycopg.Error):
            return False
        return True

    def explain_failure(self) -> str:
        """Returns the probable reason why a call got no result."""
        if self.is_divided:
            return DIVIDED
        if self._health.wrong_settings:
            return describe_wrong_settings(self._health.wrong_settings)
        is_pooled = any(not is_stale(each) for each in self._opened)
        return explain_failure(self._health.last_failure, is_listening=self._one_database.is_held, is_pooled=is_pooled)

    async def is_stuck(self) -> bool:
        """Returns whether overdue calls hang although the database accepts new connections."""
        now = monotonic()
        longest = max((now - began for began in self._calls.values()), default=0.0)
        if max(longest, self._pipelines.find_longest_call()) <= 2 * self._limits.call_seconds:
            return False
        try:
            await (await connect(self._url, CONNECT_SECONDS)).close()
        except psycopg.Error:
            return False
        return True

    async def open(self) -> None:
        """Begins to connect. If the database is unreachable, does not raise an error."""
        await self._pool.open()

    async def close(self) -> None:
        """Closes every connection. Waiting calls get ServiceUnavailable."""
        await self._one_database.close()
        await self._pipelines.close()
        await self._pool.close()

    def stats(self) -> dict[str, int]:
        """Returns the counters of psycopg_pool ("Pool stats" in its documentation), which include the pipeline
        connections.
        """
        stats = self._pool.get_stats()
        pipelines, idle = self._pipelines.counts
        stats["pool_size"] = stats.get("pool_size", 0) + pipelines
        stats["pool_available"] = stats.get("pool_available", 0) + idle
        return stats

    async def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Returns the rows of one call of a SQL function in a separate transaction. Arrays are lists."""
        encoded = encode_arguments(statement.types, arguments)
        return statement.build_rows(await self.fetch(statement.text, encoded))

    async def call_pipelined(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Makes a call for merged effects, on a pipeline connection if one is free. Cancelling the call closes the
        connection.
        """
        lease = self.lease_pipeline()
        if lease is None:
            return await self.call(statement, arguments)
        with lease as pipeline:
            (rows,) = await pipeline.call_in_transaction([(statement, arguments)])
        return cast("list[RowT]", rows)

    async def call_hurriedly(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Works like `call_pipelined`, but uses HURRIED_LOCK_TIMEOUT if a connection is free."""
        lease = self.lease_pipeline()
        if lease is None:
            return await self.call(statement, arguments)
        hurry = (SET_CONFIG, ["lock_timeout", HURRIED_LOCK_TIMEOUT, True])
        with lease as pipeline:
            _, rows = await pipeline.call_in_transaction([hurry, (statement, arguments)])
        return cast("list[RowT]", rows)

    async def call_waiting(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Works like `call`, for calls that will probably wait for a lock. Calls that wait for a lock use at most a
        quarter of the connections.
        """
        try:
            async with asyncio.timeout(self._limits.timeout_seconds):
                await self._waiting_calls.acquire()
        except TimeoutError:
            self.timeouts += 1
            raise ServiceUnavailable from None
        try:
            return await self.call(statement, arguments)
        finally:
            self._waiting_calls.release()

    def lease_pipeline(self) -> "PipelineLease | None":
        """Returns a pipeline connection for one transaction, or None if no pipeline connection is free."""
        pipeline = self._pipelines.acquire()
        return None if pipeline is None else PipelineLease(self._pipelines, pipeline, self._renew)

    async def fetch(self, text: str, arguments: Sequence[object] = ()) -> list[Row]:
        """Returns the rows of one query that uses `$1` marks for parameters. Raises the errors that the module's
        docstring lists."""
        if self._one_database.is_divided:
            raise ServiceUnavailable(f"{DIVIDED}.")
        return await self._fetch_anyway(text, arguments)

    async def _fetch_anyway(self, text: str, arguments: Sequence[object]) -> list[Row]:
        connection = await self._acquire()
        self._calls[connection] = monotonic()
        try:
            cursor = await connection.execute(text, arguments)
            return await cursor.fetchall()
        except psycopg.Error as error:
            classified = classify_error(error, broken=connection.closed)
            if connection.closed:
                self._note_failure(error)
            if find_error_meaning(error) is Meaning.READ_ONLY:
                await connection.close()
                self._renew()
            elif isinstance(error, CallOverdue) or self._was_silent(connection):
                self._renew()
            raise classified from error
        finally:
            del self._calls[connection]
            await self._pool.putconn(connection)

    async def _acquire(self, looks: bool = True) -> LimitedAsyncConnection:
        now = monotonic()
        deadline = max((WAITING_SINCE.get() or now) + self._limits.timeout_seconds, now + SHORTEST_WAIT_SECONDS)
        try:
            while self._is_useless(connection := await self._pool.getconn(deadline - monotonic())):
                await connection.close()
                await self._pool.putconn(connection)
        except (PoolTimeout, PoolClosed) as error:
            self.timeouts += isinstance(error, PoolTimeout)
            raise self._unavailable() from error
        try:
            if connection.needs_check(now):
                await self._check(connection.pin_settings)
            looks_divided = looks and await self._one_database.looks_divided(connection)
        except psycopg.Error as error:
            await self._pool.putconn(connection)
            raise self._unavailable() from error
        if looks_divided:
            await self._pool.putconn(connection)
            await self._one_database.verify_for_call()
            return await self._acquire(looks=False)
        return connection

    def _unavailable(self) -> ServiceUnavailable:
        if not self._health.wrong_settings:
            return ServiceUnavailable()
        return ServiceUnavailable(describe_wrong_settings(self._health.wrong_settings))

    def _was_silent(self, connection: LimitedAsyncConnection) -> bool:
        return connection.closed and monotonic() - self._calls[connection] > SILENCE_SECONDS

    def _is_useless(self, connection: LimitedAsyncConnection) -> bool:
        return connection.opened_at < self._health.renewed_at or is_stale(connection)


class PipelineLease:
    """Provides a `with` block with a pipeline connection, and classifies psycopg's errors. The lease calls `renew` if
    the open connections lead to an unusable server.
    """

    __slots__ = ("_pipeline", "_pipelines", "_renew")

    def __init__(self, pipelines: PipelinePool, pipeline: PipelineConnection, renew: Callable[[], None]) -> None:
        self._pipelines = pipelines
        self._pipeline = pipeline
        self._renew = renew

    def __enter__(self) -> PipelineConnection:
        return self._pipeline

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        pipeline = self._pipeline
        try:
            if isinstance(error, psycopg.Error):
                if find_error_meaning(error) is Meaning.READ_ONLY or pipeline.silent_seconds > SILENCE_SECONDS:
                    self._renew()
                raise classify_pipeline_error(error, pipeline) from error
        finally:
            self._pipelines.release(pipeline)
