"""How much one call carries: entries, messages, bytes. Rules: platform.md, "Natural micro-batch"; decision 14."""

import asyncio
from typing import Any

from penstock.effects import Row, Rows
from penstock.statements import SEND_MESSAGES, Statement
from penstock_web.batcher import LARGEST_FLUSH, Batcher
from penstock_web.merging import LARGEST_TAKE
from tests.web.clock import run
from tests.web.fake_database import FakeDatabase, integers
from tests.web.fake_queue import ORDERS, Queue, empty, entries, stored, take


def test_a_flush_is_bounded() -> None:
    async def scenario() -> None:
        database = FakeDatabase()
        batcher = Batcher(database.call, limit=10_000)
        await asyncio.gather(*(batcher.submit(entries(n)) for n in range(2 * LARGEST_FLUSH + 1)))
        assert [len(values) for values in database.values] == [LARGEST_FLUSH, LARGEST_FLUSH, 1]

    run(scenario())


def test_a_flush_of_takes_is_bounded_by_messages() -> None:
    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=0))
        batcher = Batcher(database.call, limit=10_000)
        await empty(batcher, ORDERS)
        await asyncio.gather(*(batcher.submit(take(10)) for _ in range(30)))
        assert [arguments[1] for _, arguments in database.calls[1:]] == [LARGEST_TAKE, 300 - LARGEST_TAKE]

    run(scenario())


def test_a_flush_of_takes_is_bounded_by_bytes() -> None:
    """4 MiB and what the last caller asked for, as far as the queue is known: some 400,000 bytes a message before."""

    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=1000, body="x" * 1_048_576))
        batcher = Batcher(database.call, limit=10_000)
        await asyncio.gather(*(batcher.submit(take(3)) for _ in range(20)))
        taken = [arguments[1] for _, arguments in database.calls]
        assert (taken[0], max(taken[1:]), sum(taken)) == (12, 6, 60)

    run(scenario())


def long_message() -> Rows:
    columns: list[list[Any]] = [[ORDERS], [bytes(16)], ["body"], [1_048_576], *[[None]] * 5]
    return Rows(SEND_MESSAGES, tuple(columns), (False,), queue_arn=ORDERS)


def test_what_is_sent_says_how_long_the_messages_are() -> None:
    """Where the receives before found nothing, and none is expected to be long."""
    queue = Queue(stored=0, body="x" * 1_048_576)

    def reply(statement: Statement, arguments: list[Any]) -> list[Row]:
        return (stored if statement is SEND_MESSAGES else queue)(statement, arguments)

    async def scenario() -> None:
        database = FakeDatabase(reply)
        batcher = Batcher(database.call, limit=10_000)
        await empty(batcher, ORDERS)
        await batcher.submit(long_message())
        queue.stored = 1000
        await asyncio.gather(*(batcher.submit(take(3)) for _ in range(20)))
        assert [arguments[1] for _, arguments in database.calls[2:]] == [6] * 10

    run(scenario())


def test_a_flush_of_sends_is_bounded_by_bytes() -> None:
    async def scenario() -> None:
        database = FakeDatabase(stored)
        batcher = Batcher(database.call, limit=1_000)
        await asyncio.gather(*(batcher.submit(long_message()) for _ in range(40)))
        calls = [sum(integers(arguments[3])) // 1_048_576 for _, arguments in database.calls]
        assert (sum(calls), max(calls)) == (40, 4)

    run(scenario())
