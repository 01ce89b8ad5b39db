"""Tests the pool, the listener, and the addresses of the database."""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple
from unittest.mock import AsyncMock

import psycopg
import pytest

from penstock.errors import ServiceUnavailable
from penstock.postgres.call_deadline import CallOverdue
from penstock.postgres.statement import Statement
from penstock.settings import Settings
from penstock_web.batching.batcher import Batcher
from penstock_web.database import listener
from penstock_web.database.activity import Activity
from penstock_web.database.connect import connect
from penstock_web.database.errors import Locked, OutcomeUnknown, RolledBack, classify_error
from penstock_web.database.listener import listen
from penstock_web.database.one_database import DividedError
from penstock_web.database.outage import Outage
from penstock_web.database.pool import WAITING_SINCE, Pool
from penstock_web.local.migrating import look_at_database
from penstock_web.local_error import LocalError
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.server import load_receipts
from penstock_web.workers.background import choose_pause
from tests.support.database import Database
from tests.support.web.fakes import FakeDatabase, RowT, entries
from tests.support.web.virtual_clock import settle


class Ear:
    """Receives the notifications as the dispatcher does."""

    def __init__(self) -> None:
        self.receives_notifications = False
        self.renewed = asyncio.Event()

    def handle_notification(self, queue_arn: str, /) -> None:
        raise AssertionError(queue_arn)

    def renew_registrations(self) -> None:
        self.renewed.set()

    def wake_workers(self) -> None:
        """Has no effect, because the test has no workers."""


@pytest.mark.parametrize(("dsn", "receives_notifications"), [("api_dsn", True), ("pooled_dsn", False)])
async def test_whether_notifications_arrive(database: Database, dsn: str, receives_notifications: bool) -> None:
    """A client that runs LISTEN through a pooler receives no notifications."""
    ear, long_polls = Ear(), LongPollDispatcher(AsyncMock())
    listening = asyncio.create_task(listen(getattr(database, dsn), ear, Activity()))
    await ear.renewed.wait()
    assert ear.receives_notifications is receives_notifications
    long_polls.receives_notifications = ear.receives_notifications
    assert choose_pause(2.0, long_polls) == (3600.0 if receives_notifications else 2.0)
    listening.cancel()
    await asyncio.wait([listening])
    assert not ear.receives_notifications


# --- pool ------------------------------------------------------------------------------------------------------------
# Tests how the pool translates database errors. SQLSTATE: PostgreSQL documentation, appendix A.


class Number(NamedTuple):
    number: int


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (psycopg.errors.DeadlockDetected(), RolledBack),
        (psycopg.errors.SerializationFailure(), RolledBack),
        (psycopg.errors.LockNotAvailable(), Locked),
        (psycopg.errors.AdminShutdown(), OutcomeUnknown),
        (psycopg.errors.ConnectionFailure(), OutcomeUnknown),
        (psycopg.OperationalError("server closed the connection unexpectedly"), OutcomeUnknown),
        (psycopg.errors.TooManyConnections(), ServiceUnavailable),
        (psycopg.errors.DiskFull(), ServiceUnavailable),
        (psycopg.errors.QueryCanceled(), ServiceUnavailable),
        (psycopg.errors.ReadOnlySqlTransaction(), ServiceUnavailable),
        (psycopg.errors.FeatureNotSupported("cannot access unlogged relations during recovery"), ServiceUnavailable),
        (psycopg.errors.CharacterNotInRepertoire(), psycopg.errors.CharacterNotInRepertoire),
        (psycopg.errors.UndefinedFunction(), psycopg.errors.UndefinedFunction),
        (psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"), psycopg.DataError),
    ],
)
def test_an_error_says_whether_the_call_took_effect(error: psycopg.Error, meaning: type[Exception]) -> None:
    assert type(classify_error(error, broken=False)) is meaning


@pytest.mark.parametrize(
    ("cause", "is_short"),
    [
        ("connection to server at 127.0.0.1, port 5432 failed: Connection refused", False),
        ("FATAL:  the database system is starting up", False),
        ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", True),
        ("FATAL:  no more connections allowed (max_client_conn)", True),
    ],
)
async def test_the_listener_returns_after_an_outage_and_leaves_connections_only_in_a_shortage(
    database: Database, monkeypatch: pytest.MonkeyPatch, cause: str, is_short: bool
) -> None:
    """The server is available again when the pool checks. A pool with one connection stops the listener during a
    shortage.
    """
    monkeypatch.setattr("penstock_web.database.listener.RECONNECT_PAUSE_SECONDS", 0)
    pool = Pool(database.api_dsn, 1, 5)
    await pool.open()
    second = await connect(database.api_dsn, 8)
    answers = AsyncMock(side_effect=[psycopg.OperationalError(cause), second])
    monkeypatch.setattr(listener, "connect", answers)
    ear, outage = Ear(), Outage()
    listening = asyncio.create_task(listen(database.api_dsn, ear, Activity(), outage=outage, pool=pool))
    while not (pool.shortage.is_very_short or ear.renewed.is_set()):  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0)
    assert (pool.shortage.is_short, ear.renewed.is_set()) == (is_short, not is_short)
    listening.cancel()
    await asyncio.wait([listening])
    await second.close()
    await pool.close()


def test_a_kept_lock_is_no_outage_of_the_database(caplog: pytest.LogCaptureFixture) -> None:
    Outage().fails("measure", psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"))
    assert caplog.messages == ["another transaction keeps a lock: trying again until it ends"]


@pytest.mark.parametrize(
    ("cause", "is_short"),
    [(None, False), ("FATAL:  pgbouncer cannot connect to server", False), ("FATAL:  query_wait_timeout", True)],
)
async def test_workers_take_turns_only_if_requests_meet_a_shortage(cause: str | None, is_short: bool) -> None:
    """The workers' connections to PgBouncer stay open while PostgreSQL is down."""
    pool = Pool("postgresql://127.0.0.1:1/none", 1, 1)
    pool.shortage.on_shortage.append(lambda: True)
    if cause is not None:
        pool._note_failure(psycopg.OperationalError(cause))
    pool._ask_for_connections(pool)
    assert pool.shortage.is_short is pool.shortage.is_very_short is is_short


@pytest.mark.parametrize(
    ("cause", "stops_listening"), [("query_wait_timeout", False), ('FATAL:  too many connections for role "a"', True)]
)
def test_a_full_pooler_does_not_stop_the_listener(cause: str, stops_listening: bool) -> None:
    """The LISTEN connection goes directly to PostgreSQL and does not use the connections of the pooler."""
    pool = Pool("postgresql://127.0.0.1:1/none", 4, 1, "postgresql://127.0.0.1:2/none")
    pool.shortage.on_shortage.append(lambda: True)
    pool._note_failure(psycopg.OperationalError(cause))
    pool._ask_for_connections(pool)
    assert (pool.shortage.is_short, pool.shortage.is_very_short) == (True, stops_listening)


async def test_the_pool_notes_why_no_connection_opens(unused_tcp_port: int) -> None:
    pool = Pool(f"postgresql://x@127.0.0.1:{unused_tcp_port}/x", 1, 0.05)
    await pool.open()
    while pool._health.last_failure is None:  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0)
    assert "onnection refused" in str(pool._health.last_failure)
    assert pool.explain_failure() == "the database does not answer"
    await pool.close()


async def test_the_pool_tells_a_full_pool_from_a_pooler_and_from_a_server_that_do_not_answer(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """If a call of a worker takes too long, the log contains the reason."""
    pool = Pool(database.pooled_dsn, 2, 5, database.api_dsn)

    def logged() -> str:
        outage = Outage(pool.explain_failure)
        outage.fails("deliver", CallOverdue(24))
        return caplog.records[-1].getMessage().partition(":")[0]

    await pool.open()
    assert await pool.fetch("select 1") == [(1,)]
    async with await connect(database.api_dsn, 8) as direct:
        await pool.hold_proof(direct)
        said = "PostgreSQL answers; the pooler of DATABASE_URL does not"
        assert pool.explain_failure() == f"{said}: its connections may all be busy"
        assert logged() == "a call through the pooler of DATABASE_URL got no answer"
        await pool.close()
        assert pool.explain_failure() == said
        pool._note_failure(psycopg.errors.ProtocolViolation("query_wait_timeout"))
        assert (pool.explain_failure(), logged()) == (
            "no database connection is free", "database has too few connections",
        )  # fmt: skip
        pool._note_failure(psycopg.OperationalError("Connection refused"))
    assert (pool.explain_failure(), logged()) == ("the database does not answer", "database unavailable")


def test_an_error_of_the_client_on_a_broken_connection_says_nothing() -> None:
    assert type(classify_error(psycopg.DataError(), broken=True)) is OutcomeUnknown


async def test_a_pool_without_a_server_is_unavailable(unused_tcp_port: int) -> None:
    pool = Pool(f"postgresql://x@127.0.0.1:{unused_tcp_port}/x", 1, 0.05)
    await pool.open()
    with pytest.raises(ServiceUnavailable):
        await pool.fetch("select 1")
    await pool.close()
    with pytest.raises(ServiceUnavailable):
        await pool.fetch("select 1")


async def test_a_call_through_pgbouncer(database: Database) -> None:
    """Two hundred calls on two connections prepare no statement."""
    pool = Pool(database.pooled_dsn, 2, 5)
    await pool.open()
    series = Statement("generate_series", ("int4", "int4"), Number)
    for number in range(200):
        assert await pool.call(series, (number, number)) == [(number,)]
    assert await pool.fetch("select count(*) from pg_prepared_statements") == [(0,)]
    await pool.close()


async def test_a_poisoned_call_leaves_a_connection_that_works(database: Database) -> None:
    pool = Pool(database.api_dsn, 1, 5)
    await pool.open()
    with pytest.raises(psycopg.errors.DivisionByZero):
        await pool.fetch("select 1 / 0")
    assert await pool.fetch("select 1") == [(1,)]
    await pool.close()


async def test_the_wait_for_a_connection_counts_from_when_the_first_request_began_to_wait(database: Database) -> None:
    """A call that waited for an earlier call can wait only for the rest of its time limit, because a second full wait
    would be too long.
    """
    pool = Pool(database.api_dsn, 1, 3600)
    await pool.open()
    async with pool._pool.connection():
        WAITING_SINCE.set(monotonic() - 3600)
        with pytest.raises(ServiceUnavailable):
            await pool.fetch("select 1")
    assert await pool.fetch("select 1") == [(1,)]
    await pool.close()


async def test_a_flush_says_since_when_its_first_request_waits() -> None:
    database = FakeDatabase()
    database.hold()
    since: list[float | None] = []

    async def call(statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        since.append(WAITING_SINCE.get())
        return await database.call(statement, arguments)

    batcher = Batcher(call, limit=10)
    before = monotonic()
    first = batcher.submit(entries(1))
    await settle()
    second = batcher.submit(entries(2))
    after = monotonic()
    await settle()
    database.release()
    await asyncio.gather(first, second)
    began, then = since
    assert before <= (began or 0) <= (then or 0) <= after
    assert began != then


async def test_addresses_of_two_databases_are_refused(database: Database, empty_database: Database) -> None:
    """If a direct connection reaches another database, the pool stops. Calls work again when both addresses lead to the
    same database.
    """
    pool = Pool(database.pooled_dsn, 4, 5, empty_database.api_dsn)
    await pool.open()
    assert await pool.fetch("select 1") == [(1,)]
    async with await connect(empty_database.api_dsn, 8) as other, await connect(database.api_dsn, 8) as same:
        with pytest.raises(DividedError):
            await pool.prove(other)
        for call in (pool.fetch, pool.fetch):
            with pytest.raises(ServiceUnavailable, match="lead to different databases"):
                await call("select 1")
        await pool.prove(same)
    assert await pool.fetch("select 1") == [(1,)]
    assert pool.lease_pipeline() is None
    assert pool._pipelines._connecting is not None
    # Every new connection reaches the other database.
    await pool._pipelines._connecting
    assert pool.is_divided
    await pool.close()


async def test_a_pooler_that_leads_to_another_database_is_found(
    database: Database, empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service opens no direct connection after the change of the pooler. The direct connection that proves the
    database's identity stays open.
    """
    monkeypatch.setattr("penstock_web.database.one_database.LOOK_SECONDS", 0)
    pool = Pool(database.pooled_dsn, 4, 5, database.api_dsn)
    await pool.open()
    async with await connect(empty_database.api_dsn, 8) as other, await connect(database.api_dsn, 8) as same:
        await pool.hold_proof(same)
        assert await pool.fetch("select 1") == [(1,)]
        await same.close()  # a lost LISTEN connection does not mean two databases
        assert await pool.fetch("select 1") == [(1,)]
        pool._one_database._direct_url = empty_database.api_dsn
        await pool.hold_proof(other)
        with pytest.raises(ServiceUnavailable, match="lead to different databases"):
            await pool.fetch("select 1")
        assert pool.is_divided
    await pool.close()


def test_the_start_refuses_addresses_of_two_databases(database: Database, empty_database: Database) -> None:
    addresses = {"DATABASE_URL": database.pooled_dsn, "DATABASE_DIRECT_URL": database.api_dsn}
    assert load_receipts(Settings.read(addresses)) is not None
    settings = Settings.read(addresses | {"DATABASE_DIRECT_URL": empty_database.api_dsn})
    for start in (load_receipts, partial(look_at_database, is_own=False)):
        with pytest.raises(LocalError, match=r"^DATABASE_URL and DATABASE_DIRECT_URL lead to different databases: "):
            start(settings)
