"""Tests that the pool translates database errors. SQLSTATE: PostgreSQL documentation, appendix A."""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import psycopg
import pytest

from penstock.errors import ServiceUnavailable
from penstock.postgres.statement import Statement
from penstock.settings import Settings
from penstock_web.batching.batcher import Batcher
from penstock_web.database.connect import connect
from penstock_web.database.one_database import DividedError
from penstock_web.database.pool import WAITING_SINCE, Locked, OutcomeUnknown, Pool, RolledBack, classify_error
from penstock_web.local.migrating import look_at_database
from penstock_web.server import load_receipts
from penstock_web.system_account import LocalError
from tests.support.database import Database
from tests.support.web.fakes import FakeDatabase, RowT, entries
from tests.support.web.virtual_clock import settle


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
        (psycopg.errors.CharacterNotInRepertoire(), psycopg.errors.CharacterNotInRepertoire),
        (psycopg.errors.UndefinedFunction(), psycopg.errors.UndefinedFunction),
        (psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"), psycopg.DataError),
    ],
)
def test_an_error_says_whether_the_call_took_effect(error: psycopg.Error, meaning: type[Exception]) -> None:
    assert type(classify_error(error, broken=False)) is meaning


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
    """A call that waited for an earlier call waits only for the rest of its time, because a second full wait is too
    long.
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
    """A direct connection that leads to another database stops the pool. Once the addresses agree, calls work again."""
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
    # Every new connection leads to the other database.
    await pool._pipelines._connecting
    assert pool.is_divided
    await pool.close()


async def test_a_pooler_that_leads_to_another_database_is_found(
    database: Database, empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No direct connection opens after the pooler's change. The direct connection that holds the proof stays open."""
    monkeypatch.setattr("penstock_web.database.one_database.LOOK_SECONDS", 0)
    pool = Pool(database.pooled_dsn, 4, 5, database.api_dsn)
    await pool.open()
    async with await connect(empty_database.api_dsn, 8) as other, await connect(database.api_dsn, 8) as same:
        await pool.hold_proof(same)
        assert await pool.fetch("select 1") == [(1,)]
        await same.close()  # a lost LISTEN connection is no division
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
