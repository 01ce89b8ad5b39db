"""What the batcher does with calls that met somebody else's lock, and with queues that would take every connection."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from penstock.aws.arn import ResolvedQueue
from penstock.effects import BatchCall, Receive, Statement
from penstock.errors import ServiceUnavailable
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    RECEIVE_MESSAGES,
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
from penstock_web.database.pool import Locked
from tests.support.web.fake_database import RowT

FIFO = "arn:aws:sqs:us-east-1:000000000000:orders.fifo"


def send(*groups: str) -> BatchCall[SendEntry, SentRow]:
    entries = [SendEntry(FIFO, bytes(16), b"x", 1, None, None, None, group, None) for group in groups]
    return BatchCall(SEND_MESSAGES, entries, (False,), merge_key=FIFO)


def delete(*leases: int) -> BatchCall[ReceiptHandle, DeletedRow]:
    """Of one message of each lease, whose number is also its receive count."""
    return BatchCall(DELETE_MESSAGES, [ReceiptHandle(1, 0, n, n, n, 1, bytes(16)) for n in leases])


# --- which keys ------------------------------------------------------------------------------------------------------
def test_the_keys_of_effects() -> None:
    assert list(list_keys(send("a", "b"))) == [(FIFO, "a"), (FIFO, "b")]
    assert list(list_keys(delete(7, 9))) == [(1, 0, 7), (1, 0, 9)]
    fifo = BatchCall(DELETE_MESSAGES, [ReceiptHandle(1, -2, 0, 5, 1, 0, bytes(16))], merge_key=FIFO)
    assert list(list_keys(fifo)) == [(1, -2, 5)]
    assert list(list_keys(Receive(RECEIVE_MESSAGES, ResolvedQueue(FIFO), 1, None))) == []


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
    monkeypatch.setattr(module, "MOST_KEYS", 2)
    keys = LockedKeys()
    for group in "abc":
        keys.add(send(group))
    assert [keys.find(send(group)) is not None for group in "abc"] == [True, True, False]


# --- the batcher -----------------------------------------------------------------------------------------------------
class LockingDatabase:
    """Calls that need one of the locked leases fail. Keeps the calls and their modes."""

    def __init__(self, *locked: int) -> None:
        self.locked = set(locked)
        self.calls: list[tuple[str, list[int]]] = []

    async def _call(self, way: str, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        leases = list(arguments[4])
        self.calls.append((way, leases))
        if self.locked.intersection(leases):
            raise Locked
        return statement.make_rows((number, "deleted") for number in range(1, len(leases) + 1))

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


async def test_what_is_known_to_be_locked_delays_nobody() -> None:
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


# --- shares ----------------------------------------------------------------------------------------------------------
async def test_a_queue_has_only_its_share() -> None:
    shares, busy, other = QueueShares(2), ResolvedQueue("busy"), ResolvedQueue("other")
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
