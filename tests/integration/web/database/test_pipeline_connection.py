"""Tests pipeline connections, whose calls use libpq directly. Also tests prepared statements and pooling: PgBouncer's
documentation, "features".
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from unittest.mock import Mock
from uuid import UUID, uuid4

import psycopg
import pytest

from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements import messages
from penstock.postgres.statements.access import READ_POLICIES
from penstock.postgres.statements.installation import SHARED_SECRET
from penstock_web.database import pipeline_pool
from penstock_web.database.errors import OutcomeUnknown, RolledBack
from penstock_web.database.pipeline_connection import BINARY_ENCODERS, PipelineConnection
from penstock_web.database.pipeline_pool import PipelinePool
from penstock_web.database.pool import Pool
from tests.support.database import Database, end_sessions


class Value(NamedTuple):
    """Selects the single column of a built-in PostgreSQL function."""

    value: Any


SERIES = Statement("generate_series", ("int4", "int4"), Value)
REPEAT = Statement("repeat", ("text", "int4"), Value)
UNNEST = Statement("unnest", ("text[]",), Value)


@asynccontextmanager
async def a_pipeline(dsn: str) -> AsyncIterator[PipelineConnection]:
    pipelines = PipelinePool(dsn, 1)
    pipeline = await taken(pipelines)
    yield pipeline
    pipelines.release(pipeline)
    await pipelines.close()
    assert pipeline.connection.closed


async def taken(pipelines: PipelinePool) -> PipelineConnection:
    """Returns a pipeline connection when the connection is open."""
    while (pipeline := pipelines.acquire()) is None:  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0)
    return pipeline


async def statements_of(pipeline: PipelineConnection) -> int:
    """Returns the number of prepared statements on the server connection."""
    count = Statement(
        "(select count(*)::int as n from pg_prepared_statements where name like 'statement%') c --", (), Value
    )
    ((number,),) = await pipeline.call(count, [])
    return int(number)


async def test_an_outage_is_logged_when_it_begins_and_when_it_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    attempts = iter([psycopg.OperationalError("Connection\nrefused")] * 3 + [None])

    async def open_connection(*_: object) -> Mock:
        if (error := next(attempts)) is not None:
            raise error
        return Mock(count_seconds_under_way=lambda: 0.0)

    monkeypatch.setattr(pipeline_pool, "open_pipeline_connection", open_connection)
    monkeypatch.setattr(pipeline_pool, "RECONNECT_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(pipeline_pool, "is_stale", lambda _connection: False)
    caplog.set_level("INFO")
    pipelines = PipelinePool("", 1)
    await taken(pipelines)
    await pipelines.close()
    began, ended = (record for record in caplog.records if record.name == pipeline_pool.__name__)
    assert began.getMessage() == "no pipeline connection could be opened; calls go through the pool"
    assert (vars(began)["cause"], ended.getMessage()) == (
        "Connection refused", "pipeline connections can be opened again",
    )  # fmt: skip


async def test_without_a_pooler_statements_are_prepared_once(database: Database) -> None:
    async with a_pipeline(database.api_dsn) as pipeline:
        for number in range(3):
            assert await pipeline.call(SERIES, [number, number + 1]) == [(number,), (number + 1,)]
        assert await pipeline.call(REPEAT, ["ä", 2]) == [("ää",)]
        assert await statements_of(pipeline) == 3


async def test_through_a_pooler_none_is(database: Database) -> None:
    async with a_pipeline(database.pooled_dsn) as pipeline:
        assert await pipeline.call(SERIES, [1, 1]) == [(1,)]
        assert await statements_of(pipeline) == 0


WATCHER = Statement("current_setting", ("text", "bool"), Value)


async def watcher_of(dsn: str, watcher: UUID) -> object:
    pipelines = PipelinePool(dsn, 1, watcher)
    pipeline = await taken(pipelines)
    ((named,),) = await pipeline.call(WATCHER, ["queue.watcher", True])
    pipelines.release(pipeline)
    await pipelines.close()
    return named


async def test_a_pipeline_connection_names_who_waits_in_its_process(database: Database) -> None:
    """The test connects directly, because a pooler could apply the setting to a server connection of another client."""
    watcher = uuid4()
    assert await watcher_of(database.api_dsn, watcher) == str(watcher)
    assert not await watcher_of(database.pooled_dsn, watcher)


async def test_large_calls_and_responses(database: Database) -> None:
    """The request and the result are larger than the buffer of a socket."""
    texts = ["x" * 1_000_000] * 20
    async with a_pipeline(database.api_dsn) as pipeline:
        rows = await pipeline.call(UNNEST, [texts])
        assert [row[0] for row in rows] == texts


async def test_an_error_leaves_a_connection_that_works(database: Database) -> None:
    async with a_pipeline(database.api_dsn) as pipeline:
        with pytest.raises(psycopg.errors.UndefinedFunction):
            await pipeline.call(Statement("no_such_function", ("int4",), Value), [1])
        assert await pipeline.call(SERIES, [1, None]) == []
        assert await pipeline.call(SERIES, [1, 1]) == [(1,)]


async def test_calls_together_are_one_transaction(database: Database) -> None:
    number = Statement("txid_current", (), Value)
    async with a_pipeline(database.dsn) as pipeline:
        first, second = await pipeline.call_in_transaction([(number, []), (number, [])])
        assert first == second
        (later,) = await pipeline.call(number, [])
        assert later > first[0]


@pytest.mark.parametrize("pooled", [True, False])
async def test_of_calls_together_all_fail_with_one(database: Database, pooled: bool) -> None:
    """Statements that were prepared before the error stay prepared. Later statements are prepared again."""
    made = SHARED_SECRET
    count = Statement("(select count(*)::int as n from queue.secret) c --", (), Value)
    dsn = database.pooled_dsn if pooled else database.dsn
    async with a_pipeline(dsn) as pipeline:
        ((before,),) = await pipeline.call(count, [])
        for _ in range(2):
            with pytest.raises(psycopg.errors.ProgramLimitExceeded):
                await pipeline.call_in_transaction(
                    [(made, ["new", b"x"]), (REPEAT, ["x" * 1000, 2**31 - 1]), (SERIES, [1, 2])]
                )
        assert await pipeline.call_in_transaction([(SERIES, [1, 2]), (count, [])]) == [[(1,), (2,)], [(before,)]]


async def test_calls_go_through_the_pool_until_there_is_a_pipeline_connection(database: Database) -> None:
    pool = Pool(database.pooled_dsn, 4, 5, database.api_dsn)
    await pool.open()
    calls = 0
    # The loop ends when a call has used a pipeline connection instead of the pool.
    while pool.stats().get("requests_num", 0) == calls:
        assert await pool.call_pipelined(SERIES, [1, 1]) == [(1,)]
        calls += 1
    assert pool.stats()["pool_size"] == 3
    await pool.close()


async def test_calls_go_through_the_pool_when_lines_cannot_be_made(database: Database, unused_tcp_port: int) -> None:
    pool = Pool(database.pooled_dsn, 4, 5, f"postgresql://x@127.0.0.1:{unused_tcp_port}/x")
    await pool.open()
    for _ in range(5):
        assert await pool.call_pipelined(SERIES, [1, 1]) == [(1,)]
    await pool.close()


async def pool_with_a_connection(database: Database) -> Pool:
    pool = Pool(database.api_dsn, 2, 5, database.api_dsn)
    await pool.open()
    while not pool._pipelines.counts[1]:
        await pool.call_pipelined(SERIES, [1, 1])
    return pool


def ended(database: Database) -> None:
    """Makes the server close every connection from the service."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        end_sessions(connection)


async def test_a_pipeline_connection_that_broke_while_idle_is_not_used(database: Database) -> None:
    pool = await pool_with_a_connection(database)
    ended(database)
    assert await pool.call_pipelined(SERIES, [1, 1]) == [(1,)]
    await pool.close()


async def test_a_pipeline_connection_that_breaks_during_a_call_is_lost(database: Database) -> None:
    pool = await pool_with_a_connection(database)
    sleeping = asyncio.ensure_future(pool.call_pipelined(Statement("pg_sleep", ("int4",), Value), [60]))
    await asyncio.sleep(0)
    await asyncio.to_thread(ended, database)
    with pytest.raises(OutcomeUnknown):
        await sleeping
    assert await pool.call_pipelined(SERIES, [1, 1]) == [(1,)]
    await pool.close()


def create_changing(database: Database, columns: str, values: str) -> None:
    """Replaces a function with a function whose result has the given columns."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("drop function if exists queue.changing()")
        connection.execute(
            f"create function queue.changing() returns table ({columns}) language sql as 'select {values}'"
        )
        connection.execute("grant execute on function queue.changing() to public")


async def test_a_function_with_other_columns_is_prepared_anew(database: Database) -> None:
    """PostgreSQL: "cached plan must not change result type" (0A000). The call does not name a single column."""
    changing: Statement[Row] = Statement("queue.changing", (), Value)
    create_changing(database, "a int, b int", "1, 2")
    pool = await pool_with_a_connection(database)
    assert await pool.call_pipelined(changing, []) == [(1, 2)]
    create_changing(database, "a int, b int, c int", "1, 2, 3")
    with pytest.raises(RolledBack):  # The pool reconnects once.
        await pool.call_pipelined(changing, [])
    assert await pool.call_pipelined(changing, []) == [(1, 2, 3)]
    await pool.close()


class Pair(NamedTuple):
    """The call names two columns."""

    a: int
    b: int


async def test_a_function_may_get_a_column_while_it_is_called(database: Database) -> None:
    """The migration of the next release can add a column to the result of a function. A caller that does not name the
    new column does not receive its values.
    """
    changing = Statement("queue.changing", (), Pair)
    create_changing(database, "a int, b int", "1, 2")
    pool = await pool_with_a_connection(database)
    assert await pool.call_pipelined(changing, []) == [Pair(1, 2)]
    create_changing(database, "a int, b int, c int", "1, 2, 3")
    assert await pool.call_pipelined(changing, []) == [Pair(1, 2)]
    await pool.close()


async def test_a_caller_that_is_cancelled_breaks_its_line(database: Database) -> None:
    pool = await pool_with_a_connection(database)
    sleeping = asyncio.ensure_future(pool.call_pipelined(Statement("pg_sleep", ("int4",), Value), [60]))
    await asyncio.sleep(0)
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping
    assert pool._pipelines.counts == (0, 0)
    assert await pool.call_pipelined(SERIES, [1, 1]) == [(1,)]
    await pool.close()


@pytest.mark.parametrize(
    "statement",
    [
        messages.SEND_MESSAGES,
        messages.RECEIVE_MESSAGES,
        messages.RECEIVE_ATTEMPT,
        messages.DELETE_MESSAGES,
        messages.CHANGE_VISIBILITIES,
        READ_POLICIES,
        messages.TRANSACT,
    ],
    ids=lambda statement: str(statement.name),
)
def test_every_merged_call_has_a_binary_form(statement: Statement[Row]) -> None:
    assert all(kind in BINARY_ENCODERS for kind in statement.types)


@pytest.mark.parametrize(("kind", "value"), [("text", "ä"), ("int2", -2), ("int4", 7), ("int8", 2**40), ("bool", True)])
async def test_binary_forms(database: Database, kind: str, value: Any) -> None:
    """The values have formats that PostgreSQL can read."""
    async with a_pipeline(database.api_dsn) as pipeline:
        same = Statement("coalesce", (kind, kind), Value)
        assert await pipeline.call(same, [None, value]) == [(value,)]
