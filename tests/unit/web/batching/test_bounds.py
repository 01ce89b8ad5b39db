"""Tests the limits on the entries, messages and bytes of a call. Decision 14 and docs/explain/internals.md define the
rules."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import psycopg
import pytest

from penstock.aws.codec.protocol import Protocol
from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Receive
from penstock.errors import ServiceUnavailable
from penstock.limits.message_lengths import MAX_RECEIVE
from penstock.limits.response_limit import build_receive_limit
from penstock.postgres.sqlstates import LONG_MESSAGE
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    RECEIVE_MESSAGES,
    RECEIVE_RESPONSE,
    SEND_MESSAGES,
    DeletedRow,
    ReceiptHandle,
    SendEntry,
    SentRow,
)
from penstock_web.batching import contention as module
from penstock_web.batching.batcher import Batcher
from penstock_web.batching.contention import Contention, LockedKeys, QueueShares, list_keys
from penstock_web.batching.merge import Batch
from penstock_web.batching.pending_batch import MAX_FLUSH_WEIGHT
from penstock_web.batching.write_backpressure import MAX_WAIT_SECONDS, WriteBackpressure
from penstock_web.database.errors import Locked
from tests.support.web.fakes import ORDERS, FakeDatabase, FakeQueue, RowT, bodies, build_receive, empty, entries, stored
from tests.support.web.http_connection import SlowClient

pytestmark = pytest.mark.virtual_time

SHORT = ORDERS + "-short"


async def test_a_flush_is_bounded() -> None:
    database = FakeDatabase()
    batcher = Batcher(database.call, limit=10_000)
    await asyncio.gather(*(batcher.submit(entries(n)) for n in range(2 * MAX_FLUSH_WEIGHT + 1)))
    assert [len(values) for values in database.values] == [MAX_FLUSH_WEIGHT, MAX_FLUSH_WEIGHT, 1]


async def test_short_sends_do_not_wait_for_long_ones() -> None:
    """The rule protects all accounts, because 64 senders of a MiB each would delay a short message by 64 calls."""
    database = FakeDatabase(stored)
    batcher = Batcher(database.call, limit=10_000)
    database.hold()
    sent = [batcher.submit(message_of(1_048_576)) for _ in range(64)]
    sent += [batcher.submit(message_of(100)) for _ in range(3)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert [list(arguments[3]) for _, arguments in database.calls] == [[1_048_576], [100] * 3]
    database.release()
    await asyncio.gather(*sent)


async def test_a_flush_of_takes_is_bounded_by_messages() -> None:
    database = FakeDatabase(FakeQueue(stored=0))
    batcher = Batcher(database.call, limit=10_000)
    await empty(batcher, ORDERS)
    await asyncio.gather(*(batcher.submit(build_receive(10)) for _ in range(30)))
    assert [arguments[1] for _, arguments in database.calls[1:]] == [MAX_RECEIVE, 300 - MAX_RECEIVE]


async def test_a_flush_of_takes_is_bounded_by_bytes() -> None:
    """The limit is one MiB plus the request of the last caller if the sizes of the queue's messages are known, and
    otherwise about 400,000 bytes for each message.
    """
    database = FakeDatabase(FakeQueue(stored=1000, body="x" * 262_144))
    batcher = Batcher(database.call, limit=10_000)
    await asyncio.gather(*(batcher.submit(build_receive(2)) for _ in range(30)))
    taken = [arguments[1] for _, arguments in database.calls]
    assert (taken[0], max(taken[1:]), sum(taken)) == (4, 4, 60)


@pytest.mark.parametrize("arn", [ORDERS, ORDERS + ".fifo"])
@pytest.mark.parametrize(("length", "messages"), [(400_000, 10), (524_288, 8), (1_048_576, 4)])
async def test_one_caller_is_given_as_many_as_4_mib_have(arn: str, length: int, messages: int) -> None:
    """The sizes of the queue's messages are known. ReceiveMessage, MaxNumberOfMessages: "fewer messages might be
    returned"."""

    database = FakeDatabase(FakeQueue(stored=1000, body="x" * length))
    batcher = Batcher(database.call, limit=10_000)
    responses = [await batcher.submit(build_receive(10, arn)) for _ in range(3)]
    assert [len(bodies(rows)) for rows in responses] == [10, messages, messages]


@pytest.mark.parametrize(("length", "then"), [(100, 100), (100_000, 42)])
async def test_a_receive_of_many_gets_them_from_an_unknown_queue(length: int, then: int) -> None:
    """REST consumers request many messages, and these messages can be long."""
    batcher = Batcher(FakeDatabase(FakeQueue(stored=1000, body="x" * length)).call, limit=10_000)
    assert [len(bodies(await batcher.submit(build_receive(100)))) for _ in range(2)] == [100, then]


async def test_a_receive_of_long_messages_waits_while_much_is_unread() -> None:
    """The receive waits half a second, unless the queue contains short messages or is unused."""
    queues = {ORDERS: FakeQueue(stored=10, body="x" * 100_000), SHORT: FakeQueue(stored=10)}

    loop, write_backpressure, client = (asyncio.get_running_loop(), WriteBackpressure(), SlowClient(20_000_000))
    write_backpressure.add(client)
    database = FakeDatabase(lambda statement, arguments: queues[arguments[0]](statement, arguments))
    batcher = Batcher(database.call, limit=10_000, write_backpressure=write_backpressure)
    times = []
    for arn in (SHORT, SHORT, ORDERS, ORDERS):
        await batcher.submit(build_receive(1, arn))
        times.append(loop.time() / MAX_WAIT_SECONDS)
    assert times == [0, 0, 0, 1]
    write_backpressure.remove(client)
    await batcher.submit(build_receive(1))
    assert loop.time() == MAX_WAIT_SECONDS


def message_of(size_bytes: int) -> Batch:
    entry = SendEntry(ORDERS, bytes(16), b"body", size_bytes)
    return BatchCall(SEND_MESSAGES, [entry], (False,), queue_arn=ORDERS, size_bytes=size_bytes)


async def test_sent_messages_update_the_estimate_of_lengths() -> None:
    """Earlier receives found no message, so the estimate assumes short messages."""
    queue = FakeQueue(stored=0, body="x" * 1_048_576)

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        return (stored if statement is SEND_MESSAGES else queue)(statement, arguments)

    database = FakeDatabase(reply)
    batcher = Batcher(database.call, limit=10_000)
    await empty(batcher, ORDERS)
    await batcher.submit(message_of(1_048_576))
    queue.stored = 1000
    await asyncio.gather(*(batcher.submit(build_receive(3)) for _ in range(20)))
    assert [arguments[1] for _, arguments in database.calls[2:]] == [3] * 20


async def test_a_flush_of_sends_is_bounded_by_bytes() -> None:
    database = FakeDatabase(stored)
    batcher = Batcher(database.call, limit=1_000)
    await asyncio.gather(*(batcher.submit(message_of(1_048_576)) for _ in range(40)))
    calls = [sum(arguments[3]) // 1_048_576 for _, arguments in database.calls]
    assert calls == [1] * 40


class LongMessageFound(psycopg.Error):
    """Imitates the exception that psycopg raises for the SQLSTATE with which `queue.receive_messages` refuses long
    messages."""

    sqlstate = LONG_MESSAGE


async def test_receives_that_found_a_long_message_are_made_again_and_the_next_are_merged_with_few() -> None:
    """The call measures the messages, so it does not return 250 messages of a MiB."""
    queue = FakeQueue(stored=1000, body="short")

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        if statement is RECEIVE_MESSAGES and arguments[-1] is not None and queue.taken:
            raise LongMessageFound
        return queue(statement, arguments)

    limit = build_receive_limit(None, Protocol.JSON)
    receive = Receive(RECEIVE_MESSAGES, NamedQueue(ORDERS), 10, None, limit=limit)

    async def receive_at_once() -> list[Sequence[Row]]:
        return list(await asyncio.gather(*(batcher.submit(receive) for _ in range(10))))

    database = FakeDatabase(reply)
    batcher = Batcher(database.call, limit=10_000)
    await batcher.submit(receive)
    for _ in range(3):
        assert [len(bodies(rows)) for rows in await receive_at_once()] == [10] * 10
    assert [statement for statement, _ in database.calls[:2]] == [RECEIVE_MESSAGES] * 2
    assert {statement for statement, _ in database.calls[2:]} == {RECEIVE_RESPONSE}
    assert max(arguments[1] for _, arguments in database.calls[2:]) <= 50


# --- contention ------------------------------------------------------------------------------------------------------
# Tests the batcher with calls that wait for the lock of another call, and with queues that would use every connection.


FIFO = "arn:aws:sqs:us-east-1:000000000000:orders.fifo"


def send(*groups: str) -> BatchCall[SendEntry, SentRow]:
    entries = [SendEntry(FIFO, bytes(16), b"x", 1, group_id=group) for group in groups]
    return BatchCall(SEND_MESSAGES, entries, (False,), merge_key=FIFO)


def delete(*leases: int) -> BatchCall[ReceiptHandle, DeletedRow]:
    """Returns a delete of one message in each lease. The number of the lease is also its receive count."""
    return BatchCall(DELETE_MESSAGES, [ReceiptHandle(1, 0, n, n, n, 1, bytes(16)) for n in leases])


# --- which keys ------------------------------------------------------------------------------------------------------
def test_the_keys_of_effects() -> None:
    assert list(list_keys(send("a", "b"))) == [(FIFO, "a"), (FIFO, "b")]
    assert list(list_keys(delete(7, 9))) == [(1, 0, 7), (1, 0, 9)]
    fifo = BatchCall(DELETE_MESSAGES, [ReceiptHandle(1, -2, 0, 5, 1, 0, bytes(16))], merge_key=FIFO)
    assert list(list_keys(fifo)) == [(1, -2, 5)]
    assert list(list_keys(Receive(RECEIVE_MESSAGES, NamedQueue(FIFO), 1, None))) == []


async def test_a_key_is_forgotten_after_a_while_and_after_success(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = LockedKeys()
    assert not keys
    assert keys.add(send("a", "b")) == (FIFO, "a")
    assert keys.find(send("b")) == (FIFO, "b")
    assert keys.find(send("c")) is None
    keys.remove([send("b")])
    assert keys.find(send("b")) is None
    monkeypatch.setattr(module, "REMEMBER_SECONDS", -1.0)
    keys.add(send("d"))
    assert keys.find(send("d")) is None


async def test_there_are_not_endlessly_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KEYS", 2)
    keys = LockedKeys()
    for group in "abc":
        keys.add(send(group))
    assert [keys.find(send(group)) is not None for group in "abc"] == [True, True, False]


# --- the batcher -----------------------------------------------------------------------------------------------------
class LockingDatabase:
    """Imitates a database in which calls that need a locked lease fail. The class records the calls and their modes."""

    def __init__(self, *locked: int) -> None:
        self.locked = set(locked)
        self.calls: list[tuple[str, list[int]]] = []

    async def _call(self, way: str, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        leases = list(arguments[4])
        self.calls.append((way, leases))
        if self.locked.intersection(leases):
            raise Locked
        return statement.build_rows((number, "deleted") for number in range(1, len(leases) + 1))

    async def normally(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        return await self._call("normally", statement, arguments)

    async def hurriedly(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        return await self._call("hurriedly", statement, arguments)

    async def waiting(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        return await self._call("waiting", statement, arguments)


def batcher_on(database: LockingDatabase) -> Batcher:
    return Batcher(database.normally, 1000, contention=Contention(database.hurriedly, database.waiting))


async def outcome(batcher: Batcher, effect: Batch) -> str:
    try:
        rows = await batcher.submit(effect)
    except ServiceUnavailable:
        return "refused"
    (row,) = rows
    return cast("DeletedRow", row).outcome


async def outcomes(batcher: Batcher, *leases: int) -> list[str]:
    return list(await asyncio.gather(*(outcome(batcher, delete(lease)) for lease in leases)))


async def test_only_what_is_locked_is_refused() -> None:
    database = LockingDatabase(3)
    batcher = batcher_on(database)
    assert await outcomes(batcher, 0, 1, 2, 3, 4, 5) == ["deleted"] * 3 + ["refused"] + ["deleted"] * 2
    assert ("waiting", [3]) in database.calls
    assert all(3 in leases for way, leases in database.calls if way == "waiting")


async def test_a_known_lock_delays_no_other_call() -> None:
    database = LockingDatabase(3)
    batcher = batcher_on(database)
    await outcomes(batcher, 3)
    database.calls.clear()
    assert await outcomes(batcher, 1, 3, 2) == ["deleted", "refused", "deleted"]
    assert [way for way, leases in database.calls if 3 in leases] == ["waiting"]
    database.locked.clear()
    assert await outcomes(batcher, 3) == ["deleted"]
    database.calls.clear()
    assert await outcomes(batcher, 3) == ["deleted"]
    assert database.calls == [("normally", [3])]


async def test_a_lock_that_lasts_is_not_met_again_by_the_calls_of_others() -> None:
    """If the batcher forgot the lock, all other calls would wait for it."""
    database = LockingDatabase(3)
    batcher = batcher_on(database)
    await outcomes(batcher, 3)
    database.calls.clear()
    for _ in range(5):
        await asyncio.sleep(module.REMEMBER_SECONDS / 2)
        assert await outcomes(batcher, 1, 3, 2) == ["deleted", "refused", "deleted"]
    assert {way for way, leases in database.calls if 3 in leases} == {"waiting"}


async def test_many_locks_that_last_are_not_met_again_by_the_calls_of_others() -> None:
    """Two calls at a time wait a second for a lock, so a turn of 100 locked keys lasts 50 seconds."""
    locked = range(100)
    database = LockingDatabase(*locked)
    turns = asyncio.Semaphore(2)

    async def wait(statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        async with turns:
            await asyncio.sleep(1)
            return await database.waiting(statement, arguments)

    batcher = Batcher(database.normally, 1000, contention=Contention(database.hurriedly, wait))
    await outcomes(batcher, *locked)
    database.calls.clear()
    for _ in range(3):
        assert await outcomes(batcher, 1000, *locked) == ["deleted"] + ["refused"] * len(locked)
    assert [leases for way, leases in database.calls if way == "normally"] == [[1000]] * 3


# --- shares ----------------------------------------------------------------------------------------------------------
async def test_a_place_goes_to_the_call_that_has_waited_longest() -> None:
    """A cancelled call passes its place to the next call, even if the place became free at the same moment."""
    shares, queue = QueueShares(1), NamedQueue("busy")
    loop = asyncio.get_running_loop()
    await shares.start(queue)
    cancelled, ready, last = (loop.create_task(shares.start(queue)) for _ in range(3))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.sleep(0)
    shares.end(queue)  # `ready` receives the place, and is cancelled before it runs.
    late = loop.create_task(shares.start(queue))
    ready.cancel()
    await asyncio.wait([last], timeout=1)
    assert [task.done() for task in (cancelled, ready, last, late)] == [True, True, True, False]
    shares.end(queue)
    await late
    shares.end(queue)
    assert not shares._running
    assert not shares._waiting


async def test_a_queue_has_only_its_share() -> None:
    shares, busy, other = QueueShares(2), NamedQueue("busy"), NamedQueue("other")
    loop = asyncio.get_running_loop()
    starts = [loop.create_task(shares.start(busy)) for _ in range(4)]
    await shares.start(other)
    await asyncio.wait(starts, timeout=0)
    assert [start.done() for start in starts] == [True, True, False, False]
    shares.end(busy)
    await starts[2]
    shares.end(busy)
    await starts[3]
    for queue in (busy, busy, other):
        shares.end(queue)
    await shares.start(busy)
