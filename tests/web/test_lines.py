"""Lines: calls on libpq itself. Prepared statements and pooling: PgBouncer's documentation, "features"."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID, uuid4

import psycopg
import pytest

from penstock.effects import Statement
from penstock.postgres import binary_array, statements
from penstock_web.background import longest_pause
from penstock_web.database.listener import listen
from penstock_web.database.pipeline_connection import FORMS, Line
from penstock_web.database.pipeline_pool import Lines
from penstock_web.database.pool import Lost, Pool, Undone
from penstock_web.long_poll.dispatcher import Hub
from tests.database import Database, end_sessions

SERIES = Statement("generate_series", ("int4", "int4"))
REPEAT = Statement("repeat", ("text", "int4"))
UNNEST = Statement("unnest", ("text[]",))


@asynccontextmanager
async def a_line(dsn: str) -> AsyncIterator[Line]:
    lines = Lines(dsn, 1)
    line = await taken(lines)
    yield line
    lines.give_back(line)
    await lines.close()
    assert line.connection.closed


async def taken(lines: Lines) -> Line:
    """A line, as soon as it is made."""
    while (line := lines.take()) is None:  # noqa: ASYNC110 - nobody is told
        await asyncio.sleep(0)
    return line


async def statements_of(line: Line) -> int:
    """How many statements its server connection keeps."""
    count = Statement(
        "(select count(*)::int as n from pg_prepared_statements where name like 'line%') c --", ()
    )
    ((number,),) = await line.call(count, [])
    return int(number)


async def test_without_a_pooler_statements_are_prepared_once(database: Database) -> None:
    async with a_line(database.api_dsn) as line:
        for number in range(3):
            assert await line.call(SERIES, [number, number + 1]) == [(number,), (number + 1,)]
        assert await line.call(REPEAT, ["ä", 2]) == [("ää",)]
        assert await statements_of(line) == 3


async def test_through_a_pooler_none_is(database: Database) -> None:
    async with a_line(database.pooled_dsn) as line:
        assert await line.call(SERIES, [1, 1]) == [(1,)]
        assert await statements_of(line) == 0


WATCHER = Statement("current_setting", ("text", "bool"))


async def watcher_of(dsn: str, watcher: UUID) -> object:
    lines = Lines(dsn, 1, watcher)
    line = await taken(lines)
    ((named,),) = await line.call(WATCHER, ["queue.watcher", True])
    lines.give_back(line)
    await lines.close()
    return named


async def test_a_line_names_who_waits_in_its_process(database: Database) -> None:
    """Not through a pooler, which would tell it to the server for somebody else."""
    watcher = uuid4()
    assert await watcher_of(database.api_dsn, watcher) == str(watcher)
    assert not await watcher_of(database.pooled_dsn, watcher)


class Ear:
    """Is told what a hub is told."""

    def __init__(self) -> None:
        self.hears = False
        self.renewed = asyncio.Event()

    def notified(self, queue_arn: str, /) -> None:
        raise AssertionError(queue_arn)

    def renew(self) -> None:
        self.renewed.set()


@pytest.mark.parametrize(("dsn", "hears"), [("api_dsn", True), ("pooled_dsn", False)])
async def test_whether_notifications_arrive(database: Database, dsn: str, hears: bool) -> None:
    """Of LISTEN through a pooler one hears nothing."""
    ear, hub = Ear(), Hub(AsyncMock())
    listening = asyncio.create_task(listen(getattr(database, dsn), ear))
    await ear.renewed.wait()
    assert ear.hears is hears
    hub.hears = ear.hears
    assert longest_pause(2.0, hub) == (10.0 if hears else 2.0)
    listening.cancel()
    await asyncio.wait([listening])
    assert not ear.hears


async def test_large_calls_and_answers(database: Database) -> None:
    """More than a socket takes at once, in both directions."""
    texts = ["x" * 1_000_000] * 20
    async with a_line(database.api_dsn) as line:
        rows = await line.call(UNNEST, [binary_array.encode("text[]", texts)])
        assert [row[0] for row in rows] == texts


async def test_an_error_leaves_a_line_that_works(database: Database) -> None:
    async with a_line(database.api_dsn) as line:
        with pytest.raises(psycopg.errors.UndefinedFunction):
            await line.call(Statement("no_such_function", ("int4",)), [1])
        assert await line.call(SERIES, [1, None]) == []
        assert await line.call(SERIES, [1, 1]) == [(1,)]


async def test_calls_together_are_one_transaction(database: Database) -> None:
    number = Statement("txid_current", ())
    async with a_line(database.dsn) as line:
        first, second = await line.call_together([(number, []), (number, [])])
        assert first == second
        assert await line.call(number, []) > first


@pytest.mark.parametrize("pooled", [True, False])
async def test_of_calls_together_all_fail_with_one(database: Database, pooled: bool) -> None:
    """Statements that were prepared before the error stay, those after it are prepared anew."""
    made = Statement("queue.shared_secret", ("text", "bytea"))
    count = Statement("(select count(*)::int as n from queue.secret) c --", ())
    dsn = database.pooled_dsn if pooled else database.dsn
    async with a_line(dsn) as line:
        ((before,),) = await line.call(count, [])
        for _ in range(2):
            with pytest.raises(psycopg.errors.ProgramLimitExceeded):
                await line.call_together(
                    [(made, ["new", b"x"]), (REPEAT, ["x" * 1000, 2**31 - 1]), (SERIES, [1, 2])]
                )
        assert await line.call_together([(SERIES, [1, 2]), (count, [])]) == [[(1,), (2,)], [(before,)]]


async def test_calls_go_through_the_pool_until_there_is_a_line(database: Database) -> None:
    pool = Pool(database.pooled_dsn, 4, 5, database.api_dsn)
    await pool.open()
    for _ in range(50):
        assert await pool.flush(SERIES, [1, 1]) == [(1,)]
    assert pool.stats()["pool_size"] == 3
    assert pool.stats()["requests_num"] < 50
    await pool.close()


async def test_calls_go_through_the_pool_when_lines_cannot_be_made(
    database: Database, unused_tcp_port: int
) -> None:
    pool = Pool(database.pooled_dsn, 4, 5, f"postgresql://x@127.0.0.1:{unused_tcp_port}/x")
    await pool.open()
    for _ in range(5):
        assert await pool.flush(SERIES, [1, 1]) == [(1,)]
    await pool.close()


async def pool_with_a_line(database: Database) -> Pool:
    pool = Pool(database.api_dsn, 2, 5, database.api_dsn)
    await pool.open()
    while not pool._lines.counts[1]:
        await pool.flush(SERIES, [1, 1])
    return pool


def ended(database: Database) -> None:
    """The server closes every connection of the service."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        end_sessions(connection)


async def test_a_line_that_broke_while_idle_is_not_used(database: Database) -> None:
    pool = await pool_with_a_line(database)
    ended(database)
    assert await pool.flush(SERIES, [1, 1]) == [(1,)]
    await pool.close()


async def test_a_line_that_breaks_during_a_call_is_lost(database: Database) -> None:
    pool = await pool_with_a_line(database)
    sleeping = asyncio.ensure_future(pool.flush(Statement("pg_sleep", ("int4",)), [60]))
    await asyncio.sleep(0)
    await asyncio.to_thread(ended, database)
    with pytest.raises(Lost):
        await sleeping
    assert await pool.flush(SERIES, [1, 1]) == [(1,)]
    await pool.close()


async def test_a_function_with_other_columns_is_prepared_anew(database: Database) -> None:
    """PostgreSQL: "cached plan must not change result type" (0A000)."""

    def create(columns: str, values: str) -> None:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute("drop function if exists queue.changing()")
            connection.execute(
                f"create function queue.changing() returns table ({columns}) language sql as 'select {values}'"
            )
            connection.execute("grant execute on function queue.changing() to public")

    changing = Statement("queue.changing", ())
    create("a int, b int", "1, 2")
    pool = await pool_with_a_line(database)
    assert await pool.flush(changing, []) == [(1, 2)]
    create("a int, b int, c int", "1, 2, 3")
    with pytest.raises(Undone):  # which is made again once
        await pool.flush(changing, [])
    assert await pool.flush(changing, []) == [(1, 2, 3)]
    await pool.close()


async def test_a_caller_that_is_cancelled_breaks_its_line(database: Database) -> None:
    pool = await pool_with_a_line(database)
    sleeping = asyncio.ensure_future(pool.flush(Statement("pg_sleep", ("int4",)), [60]))
    await asyncio.sleep(0)
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping
    assert pool._lines.counts == (0, 0)
    assert await pool.flush(SERIES, [1, 1]) == [(1,)]
    await pool.close()


@pytest.mark.parametrize(
    "statement",
    [
        statements.SEND_MESSAGES,
        statements.RECEIVE_MESSAGES,
        statements.DELETE_MESSAGES,
        statements.CHANGE_VISIBILITIES,
        statements.READ_POLICIES,
        statements.TRANSACT,
    ],
    ids=lambda statement: str(statement.name),
)
def test_every_merged_call_has_a_binary_form(statement: Statement) -> None:
    assert all(kind.endswith("[]") or kind in FORMS for kind in statement.types)


@pytest.mark.parametrize(
    ("kind", "value"), [("text", "ä"), ("int2", -2), ("int4", 7), ("int8", 2**40), ("bool", True)]
)
async def test_binary_forms(database: Database, kind: str, value: Any) -> None:
    """As PostgreSQL reads them."""
    async with a_line(database.api_dsn) as line:
        same = Statement("coalesce", (kind, kind))
        assert await line.call(same, [None, value]) == [(value,)]
