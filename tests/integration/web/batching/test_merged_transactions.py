"""Tests that concurrent transactions share one database call and that each transaction is still atomic.

An expired receipt makes the whole transaction fail with 409 (docs/reference/events.md).
"""

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

import httpx
import pytest

from penstock.effects import Transact
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import TRANSACT, ReceiptHandle, SendEntry, TransactedRow
from penstock_web.batching.batcher import Batcher
from tests.support import client_setup
from tests.support.conformance.requests import receive
from tests.support.programs.penstock_service import Service
from tests.support.web.fakes import ORDERS, FakeDatabase
from tests.support.web.virtual_clock import settle

pytestmark = [pytest.mark.shared, pytest.mark.settings(QUEUE_PURGE_INTERVAL_SECONDS="0")]

AT_ONCE = 24
STALE = 99
REST = ("000000000000", "us-east-1", (), (), (), (), (), (), None)
REFUSED = TransactedRow(cast("str", None), 1, None, cast("int", None), "StaleReceipt", None)


def forward(ack: int, *bodies: str) -> Transact[TransactedRow]:
    """Returns a transaction that acknowledges the given message and sends the given messages."""
    handle = ReceiptHandle(ack, 0, 1, ack, 1, 1, bytes(16))
    messages = [SendEntry(ORDERS, bytes(16), body.encode(), 4) for body in bodies]
    return Transact(TRANSACT, [handle], messages, REST)


class Storage(FakeDatabase):
    """Returns ids for sent messages, but refuses every transaction that acknowledges message 99."""

    def __init__(self) -> None:
        super().__init__(self.transact)
        self.done: list[list[int]] = []
        """Lists the acknowledged messages of each call."""

    def transact(self, _: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        acknowledged = list(arguments[0])
        if STALE in acknowledged:
            return [REFUSED]
        self.done.append(acknowledged)
        sent = len(arguments[8])
        return [("send", n, ORDERS, n, None, None) for n in range(1, sent + 1)]


async def results(*effects: Transact[TransactedRow]) -> tuple[list[Sequence[TransactedRow]], Storage]:
    """Returns the results of the first transaction, and of the transactions that wait during the first call."""
    storage = Storage()
    storage.hold()
    batcher = Batcher(storage.call, limit=100)
    responses = [batcher.submit(effects[0])]
    await settle()
    responses += [batcher.submit(effect) for effect in effects[1:]]
    storage.release()
    return cast("list[Sequence[TransactedRow]]", await asyncio.gather(*responses)), storage


@pytest.mark.virtual_time
async def test_waiting_transactions_are_one_call_and_each_gets_its_own_rows() -> None:
    responses, storage = await results(forward(1), forward(2, "a"), forward(3), forward(4, "b", "c"))
    assert storage.done == [[1], [2, 3, 4]]
    assert [[row.n for row in rows] for rows in responses] == [[], [1], [], [1, 2]]
    assert [[row.id for row in rows] for rows in responses] == [[], [1], [], [2, 3]]


@pytest.mark.virtual_time
async def test_one_that_is_refused_undoes_no_other() -> None:
    responses, storage = await results(forward(1), forward(2, "a"), forward(STALE, "b"), forward(4, "c"))
    assert responses[2] == [REFUSED]
    assert [[row.n for row in responses[n]] for n in (1, 3)] == [[1], [1]]
    assert sorted(chain.from_iterable(storage.done)) == [1, 2, 4]


@pytest.mark.virtual_time
async def test_two_that_acknowledge_one_message_are_never_one_call() -> None:
    _, storage = await results(forward(1), forward(2, "a"), forward(3, "b"), forward(2, "c"))
    assert all(len(set(call)) == len(call) for call in storage.done)
    assert sorted(chain.from_iterable(storage.done)) == [1, 2, 2, 3]


# --- over a real service ---------------------------------------------------------------------------------------------
@pytest.fixture
def http(http: httpx.Client) -> httpx.Client:
    """Empties `work` and `next`."""
    for name in ("work", "next"):
        http.post("/v1/queues", json={"name": name})
        http.post(f"/v1/queues/{name}/purge").raise_for_status()
    return http


def at_once(service: Service, bodies: list[dict[str, Any]]) -> list[int]:
    """Sends all transactions before the first response arrives. Returns their statuses."""

    async def ask() -> list[int]:
        async with client_setup.AsyncClient(base_url=service.url, timeout=30) as http:
            return [
                response.status_code
                for response in await asyncio.gather(*(http.post("/v1/transactions", json=b) for b in bodies))
            ]

    return asyncio.run(ask())


def work(http: httpx.Client, count: int) -> list[dict[str, Any]]:
    """Receives the given number of messages. Returns their acknowledgements."""
    sent = http.post("/v1/queues/work/messages", json=[{"message": n} for n in range(count)])
    sent.raise_for_status()
    found = receive(http, "work", max=count, vt=600)
    assert len(found) == count
    return [{"queue": "work", "receipt": message["receipt"]} for message in found]


def waiting(http: httpx.Client, name: str) -> list[Any]:
    """Returns the messages' bodies."""
    return sorted(message["message"] for message in receive(http, name, max=100, vt=0))


def test_a_stale_receipt_fails_its_own_transaction_alone(service: Service, http: httpx.Client) -> None:
    acks = work(http, AT_ONCE)
    stale = {5, 6, 17}
    over = [acks[n] for n in sorted(stale)]
    assert http.post("/v1/transactions", json={"ack": over}).json()["acked"] == len(stale)
    statuses = at_once(
        service, [{"ack": [ack], "send": [{"queue": "next", "message": n}]} for n, ack in enumerate(acks)]
    )
    assert {n for n, status in enumerate(statuses) if status == 409} == stale
    assert statuses.count(200) == AT_ONCE - len(stale)
    assert waiting(http, "next") == [n for n in range(AT_ONCE) if n not in stale]
    assert http.get("/v1/queues/work").json()["queue_length"] == 0


def test_one_receipt_is_good_for_one_transaction(service: Service, http: httpx.Client) -> None:
    (ack,) = work(http, 1)
    statuses = at_once(service, [{"ack": [ack], "send": [{"queue": "next", "message": n}]} for n in range(8)])
    assert sorted(statuses) == [200, *[409] * 7]
    assert waiting(http, "next") == [statuses.index(200)]
