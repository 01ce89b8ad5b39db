"""How much one call carries: entries, messages, bytes. Rules: decision 14; docs/how_it_works.md."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from penstock.effects import BatchCall, Row, Statement
from penstock.postgres.statements.messages import SEND_MESSAGES, SendEntry
from penstock_web.batching.batcher import Batcher
from penstock_web.batching.merge import LARGEST_RECEIVE, Batch
from penstock_web.batching.pending_batch import MAX_FLUSH_WEIGHT
from penstock_web.batching.write_backpressure import MAX_WAIT_SECONDS, WriteBackpressure
from tests.support.web.fake_database import FakeDatabase, integers
from tests.support.web.fake_queue import ORDERS, Queue, bodies, empty, entries, stored, take
from tests.support.web.slow_client import SlowClient
from tests.support.web.virtual_clock import run

SHORT = ORDERS + "-short"


def test_a_flush_is_bounded() -> None:
    async def scenario() -> None:
        database = FakeDatabase()
        batcher = Batcher(database.call, limit=10_000)
        await asyncio.gather(*(batcher.submit(entries(n)) for n in range(2 * MAX_FLUSH_WEIGHT + 1)))
        assert [len(values) for values in database.values] == [MAX_FLUSH_WEIGHT, MAX_FLUSH_WEIGHT, 1]

    run(scenario())


def test_a_flush_of_takes_is_bounded_by_messages() -> None:
    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=0))
        batcher = Batcher(database.call, limit=10_000)
        await empty(batcher, ORDERS)
        await asyncio.gather(*(batcher.submit(take(10)) for _ in range(30)))
        assert [arguments[1] for _, arguments in database.calls[1:]] == [
            LARGEST_RECEIVE,
            300 - LARGEST_RECEIVE,
        ]

    run(scenario())


def test_a_flush_of_takes_is_bounded_by_bytes() -> None:
    """A MiB and what the last caller asked for, as far as the queue is known: some 400,000 bytes a message before."""

    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=1000, body="x" * 262_144))
        batcher = Batcher(database.call, limit=10_000)
        await asyncio.gather(*(batcher.submit(take(2)) for _ in range(30)))
        taken = [arguments[1] for _, arguments in database.calls]
        assert (taken[0], max(taken[1:]), sum(taken)) == (4, 4, 60)

    run(scenario())


@pytest.mark.parametrize("arn", [ORDERS, ORDERS + ".fifo"])
@pytest.mark.parametrize(("length", "messages"), [(400_000, 10), (524_288, 8), (1_048_576, 4)])
def test_one_caller_is_given_as_many_as_4_mib_have(arn: str, length: int, messages: int) -> None:
    """As far as the queue is known. ReceiveMessage, MaxNumberOfMessages: "fewer messages might be returned"."""

    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=1000, body="x" * length))
        batcher = Batcher(database.call, limit=10_000)
        answers = [await batcher.submit(take(10, arn)) for _ in range(3)]
        assert [len(bodies(rows)) for rows in answers] == [10, messages, messages]

    run(scenario())


@pytest.mark.parametrize(("length", "then"), [(100, 100), (100_000, 42)])
def test_who_asks_for_many_gets_them_from_an_unknown_queue(length: int, then: int) -> None:
    """As consumers of the native API do. Then its messages may prove to be long."""

    async def scenario() -> None:
        batcher = Batcher(FakeDatabase(Queue(stored=1000, body="x" * length)).call, limit=10_000)
        assert [len(bodies(await batcher.submit(take(100)))) for _ in range(2)] == [100, then]

    run(scenario())


def test_a_receive_of_long_messages_waits_while_much_is_unread() -> None:
    """For half a second. Not one of a queue whose messages are short, or that nobody has used yet."""
    queues = {ORDERS: Queue(stored=10, body="x" * 100_000), SHORT: Queue(stored=10)}

    async def scenario() -> None:
        loop, write_backpressure, client = (
            asyncio.get_running_loop(),
            WriteBackpressure(),
            SlowClient(20_000_000),
        )
        write_backpressure.add(client)
        database = FakeDatabase(lambda statement, arguments: queues[arguments[0]](statement, arguments))
        batcher = Batcher(database.call, limit=10_000, write_backpressure=write_backpressure)
        times = []
        for arn in (SHORT, SHORT, ORDERS, ORDERS):
            await batcher.submit(take(1, arn))
            times.append(loop.time() / MAX_WAIT_SECONDS)
        assert times == [0, 0, 0, 1]
        write_backpressure.remove(client)
        await batcher.submit(take(1))
        assert loop.time() == MAX_WAIT_SECONDS

    run(scenario())

    run(scenario())


def long_message() -> Batch:
    entry = SendEntry(ORDERS, bytes(16), b"body", 1_048_576, None, None, None, None, None)
    return BatchCall(SEND_MESSAGES, [entry], (False,), queue_arn=ORDERS, size_bytes=1_048_576)


def test_what_is_sent_says_how_long_the_messages_are() -> None:
    """Where the receives before found nothing, and none is expected to be long."""
    queue = Queue(stored=0, body="x" * 1_048_576)

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        return (stored if statement is SEND_MESSAGES else queue)(statement, arguments)

    async def scenario() -> None:
        database = FakeDatabase(reply)
        batcher = Batcher(database.call, limit=10_000)
        await empty(batcher, ORDERS)
        await batcher.submit(long_message())
        queue.stored = 1000
        await asyncio.gather(*(batcher.submit(take(3)) for _ in range(20)))
        assert [arguments[1] for _, arguments in database.calls[2:]] == [3] * 20

    run(scenario())


def test_a_flush_of_sends_is_bounded_by_bytes() -> None:
    async def scenario() -> None:
        database = FakeDatabase(stored)
        batcher = Batcher(database.call, limit=1_000)
        await asyncio.gather(*(batcher.submit(long_message()) for _ in range(40)))
        calls = [sum(integers(arguments[3])) // 1_048_576 for _, arguments in database.calls]
        assert calls == [1] * 40

    run(scenario())
