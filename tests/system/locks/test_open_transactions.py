"""Tests an application's open transaction. The transaction keeps its locks, and the service continues all other work.

A request that waits for one of the locks receives 503 and Retry-After. Requests that do not need the lock are fast.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service

ACCOUNT = "000000000000"


@pytest.fixture
def service(database: Database) -> Iterator[Service]:
    # The timeout tolerates a slow machine. Without protection, calls would wait for a connection until the timeout.
    settings = {"QUEUE_SHARDS": "1", "QUEUE_POOL_TIMEOUT_MS": "20000"}
    with running_service(database.pooled_dsn, database.api_dsn, **settings) as service:
        yield service


class Caller:
    """Calls SQS actions, and records each response's status."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def __call__(self, action: str, queue: str = "", **parameters: Any) -> httpx.Response:
        headers = {"x-amz-target": f"AmazonSQS.{action}", "content-type": "application/x-amz-json-1.0"}
        if queue:
            parameters["QueueUrl"] = f"http://127.0.0.1/{ACCOUNT}/{queue}"
        return self.http.post("/", headers=headers, content=json.dumps(parameters))

    def send(self, queue: str, *bodies: str, group: str | None = None) -> None:
        for number, body in enumerate(bodies):
            fifo = {"MessageGroupId": group, "MessageDeduplicationId": f"{group}-{body}-{number}"} if group else {}
            response = self("SendMessage", queue, MessageBody=body, **fifo)
            assert response.status_code == 200, response.text

    def receive(self, queue: str, number: int = 10) -> list[dict[str, Any]]:
        response = self("ReceiveMessage", queue, MaxNumberOfMessages=number)
        assert response.status_code == 200
        return list(response.json().get("Messages", []))

    def is_ready(self) -> bool:
        """Returns whether the service reports ready within 2 s."""
        return self.http.get("/readyz").status_code == 200

    def delete(self, queue: str, message: dict[str, Any]) -> httpx.Response:
        return self("DeleteMessage", queue, ReceiptHandle=message["ReceiptHandle"])


@pytest.fixture
def call(service: Service) -> Iterator[Caller]:
    with service.http() as http:
        yield Caller(http)


@pytest.fixture
def application(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """Yields an application whose transaction stays open."""
    with psycopg.connect(database.dsn) as connection:
        yield connection
        connection.rollback()


def assert_refused(response: httpx.Response) -> None:
    assert (response.status_code, int(response.headers.get("retry-after", 0)) > 0) == (503, True)


def test_an_open_delete_holds_up_only_deletes_of_its_lease(call: Caller, application: psycopg.Connection[Any]) -> None:
    """One receive returns ten messages. The open transaction deletes one of the messages. The service merges the other
    nine deletes with deletes in another queue.
    """
    for queue in ("orders", "others"):
        call("CreateQueue", QueueName=queue)
        call.send(queue, *"0123456789")
    locked, free = call.receive("orders"), call.receive("others")
    application.execute("select queue.delete('orders', %s::bigint)", (public_id(application, locked[0]),))
    with ThreadPoolExecutor(20) as threads:
        waiting = [threads.submit(call.delete, "orders", message) for message in locked[1:]]
        others = [threads.submit(call.delete, "others", message) for message in free]
        assert {other.result().status_code for other in others} == {200}
        for each in waiting:
            assert_refused(each.result())
    application.rollback()
    assert {call.delete("orders", message).status_code for message in locked} == {200}


def public_id(connection: psycopg.Connection[Any], message: dict[str, Any]) -> int:
    """Returns the message's id for SQL callers."""
    row = connection.execute(
        "select queue.public_id(l.shard, l.id) from queue.log l where l.message_id = %s", (message["MessageId"],)
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_an_open_send_holds_up_only_its_message_group(call: Caller, application: psycopg.Connection[Any]) -> None:
    call("CreateQueue", QueueName="orders.fifo", Attributes={"FifoQueue": "true"})
    application.execute("select queue.send_fifo('orders.fifo', '1', 'locked')")
    with ThreadPoolExecutor(20) as threads:
        for turn in "abc":
            locked = threads.submit(
                call, "SendMessage", "orders.fifo", MessageBody="x", MessageGroupId="locked",
                MessageDeduplicationId="x",
            )  # fmt: skip
            free = [threads.submit(call.send, "orders.fifo", turn, group=f"free-{n}") for n in range(10)]
            for each in free:
                each.result()
            assert_refused(locked.result())
    application.commit()
    assert len(call.receive("orders.fifo")) > 0


def test_many_locked_queues_leave_connections_for_the_others(
    call: Caller, application: psycopg.Connection[Any]
) -> None:
    """The test locks more queues than the service has connections. Each queue has a locked group and a shard with a
    running receive."""
    names = [f"queue-{number}" for number in range(12)]
    for name in names:
        call("CreateQueue", QueueName=name)
        call("CreateQueue", QueueName=f"{name}.fifo", Attributes={"FifoQueue": "true"})
        call.send(name, "m")
    call("CreateQueue", QueueName="free")
    for name in names:
        application.execute("select queue.send_fifo(%s, '1', 'locked')", (f"{name}.fifo",))
        application.execute("select * from queue.receive(%s)", (name,))
    with ThreadPoolExecutor(40) as threads:
        # On the second try, the process remembers which calls wait for locks.
        for known in (False, True):
            sends = [
                threads.submit(
                    call, "SendMessage", f"{name}.fifo", MessageBody="x", MessageGroupId="locked",
                    MessageDeduplicationId="x",
                )
                for name in names
            ]  # fmt: skip
            receives = [threads.submit(call, "ReceiveMessage", name) for name in names]
            free = [threads.submit(call.send, "free", "m") for _ in range(10)]
            for sent in free:
                sent.result()
            assert any(call.is_ready() for _ in range(10)), (
                "a slow check continues, and its result answers the next check"
            )
            for each in sends:
                assert_refused(each.result())
            statuses = {each.result().status_code for each in receives}
            assert statuses == {200} if known else statuses <= {200, 503}
