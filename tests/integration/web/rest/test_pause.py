"""A paused queue accepts messages and returns none to any receiver (docs/operate/waiting.md)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service
from tests.support.sql.calls import Connection, arn_of
from tests.support.wait import wait_until


@pytest.fixture
def service(database: Database) -> Iterator[Service]:
    with running_service(database.pooled_dsn, database.api_dsn) as service:
        yield service


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_a_paused_queue_hands_out_messages_only_when_resumed(
    service: Service, http: httpx.Client, db: Connection, name: str
) -> None:
    sqs = service.sqs()
    group = {"MessageGroupId": "g", "MessageDeduplicationId": "1"} if name.endswith(".fifo") else {}
    http.post("/v1/queues", json={"name": name}).raise_for_status()
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="before", **group)
    before = sqs.receive_message(QueueUrl=url)["Messages"][0]
    assert http.post(f"/v1/queues/{name}/pause").status_code == 204
    sqs.send_message(
        QueueUrl=url, MessageBody="meanwhile", **group | ({"MessageDeduplicationId": "2"} if group else {})
    )
    sqs.delete_message(QueueUrl=url, ReceiptHandle=before["ReceiptHandle"])
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    assert http.get(f"/v1/queues/{name}/messages").json() == []
    taken = "select * from queue.receive_messages(%s, 10, 10, null, 120000, false, null) m where m.id is not null"
    assert db.execute(taken, (arn_of(name),)).fetchall() == []
    assert (
        sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]["ApproximateNumberOfMessages"]
        == "1"
    )
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        wait_until(lambda: waits(db, name))
        db.execute(
            "select * from queue.set_queue_attributes(%s, %s, null, null)", (arn_of(name), '{"paused": "false"}')
        )
        assert [message["Body"] for message in waiting.result()["Messages"]] == ["meanwhile"]
    assert http.post(f"/v1/queues/{name}/resume").status_code == 204
    audited = db.execute("select action, target from queue.audit order by audit_id").fetchall()
    assert audited[-2:] == [("penstock:PauseQueue", arn_of(name)), ("penstock:ResumeQueue", arn_of(name))]


def test_a_verdict_says_so(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "orders", "attributes": {"paused": True}}).raise_for_status()
    http.post("/v1/queues/orders/messages", json={"message": 1}).raise_for_status()

    def verdict() -> Any:
        (queue,) = http.get("/v1/metrics/lag").json()["queues"]
        return queue["verdict"]

    wait_until(lambda: verdict()["backlog"] == 1)
    assert (verdict()["kind"], verdict()["cause"]) == ("throttled", "queue_paused")
    assert http.post("/v1/queues/none/pause").status_code == 404


def waits(db: Connection, name: str) -> bool:
    """Says whether a process has registered for notifications of the queue."""
    found = db.execute(
        "select from queue.watcher w join queue.queues q using (queue_id) where q.arn = %s", (arn_of(name),)
    )
    return bool(found.fetchall())
