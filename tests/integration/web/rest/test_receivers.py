"""The process stores the receivers of a queue; GET /v1/queues/{name}/receivers reads them."""

from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from penstock.errors import ServiceUnavailable
from penstock.http import HttpRequest
from penstock.observing.reports import ReceivedBy
from penstock_web.metrics import receivers as module
from penstock_web.metrics.receivers import Receivers
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service
from tests.support.sql.calls import arn_of, create
from tests.support.wait import wait_until


def test_each_client_is_listed_with_what_it_got(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        for name in ("orders", "idle"):
            http.post("/v1/queues", json={"name": name}).raise_for_status()
        for _ in range(3):
            http.post("/v1/queues/orders/messages", json={"message": 1}).raise_for_status()
        got = len(http.get("/v1/queues/orders/messages", params={"max": 2}, headers={"user-agent": "worker/2"}).json())
        sqs = service.sqs()
        while got < 3:
            got += len(sqs.receive_message(QueueUrl="orders", WaitTimeSeconds=20).get("Messages", []))

        def listed() -> list[dict[str, Any]]:
            answer = http.get("/v1/queues/orders/receivers")
            assert answer.status_code == 200, answer.text
            found: list[dict[str, Any]] = answer.json()
            return found

        wait_until(lambda: sum(row["messages"] for row in listed()) == 3)
        last, first = listed()
        assert (first["user_agent"], last["user_agent"].partition("/")[0]) == ("worker/2", "Boto3")
        assert last["address"] == first["address"] == "127.0.0.1"
        assert last["caller"].startswith("arn:aws:iam::000000000000:user/")
        assert last["last_received_at"] >= last["first_received_at"] > first["last_received_at"][:10]
        assert http.get("/v1/queues/idle/receivers").json() == []
        assert http.get("/v1/queues/none/receivers").status_code == 404


def report(agent: bytes, count: int = 1) -> ReceivedBy:
    headers = {b"user-agent": agent}
    context = SimpleNamespace(
        http=HttpRequest("POST", "/", b"", headers, b"", "10.0.0.7"),
        user=None,
        caller_arn="arn:aws:iam::000000000000:root",
        client_address="10.0.0.7",
    )
    return ReceivedBy(arn_of("orders"), count, context)


async def test_the_counts_of_a_process_are_added_up(database: Database) -> None:
    """Two writes of one receiver are one row, even if botocore lists its features in another order. Hostile agents
    are stored, and deleted queues are left out.
    """
    with psycopg.connect(database.api_dsn, autocommit=True) as db:

        async def write(statement: Any, arguments: Any) -> list[Any]:
            marks = ", ".join(f"%s::{kind}" for kind in statement.types)
            return db.execute(f"select {statement.name}({marks})", arguments).fetchall()

        create(db, "orders")
        receivers = Receivers()
        for agent, count in ((b"a md/x m/b,E", 2), (b"a md/x m/E,b", 3), (b"\0\xff<script>" * 40, 0)):
            receivers.note(report(agent, count), 0.0)
        await receivers.flush(write)
        receivers.note(report(b"a md/x m/b,E", 5), 0.0)
        await receivers.flush(write)
        rows = db.execute("select agent, received from queue.receiver order by received desc").fetchall()
        assert [received for _, received in rows] == [10, 0]
        assert rows[1][0].startswith("\u00ff<script>")
        assert len(rows[1][0]) <= module.LONGEST_AGENT
        db.execute("update queue.receiver set last_at = now() - interval '25 hours'")
        db.execute("select queue.maintain_installation(1000, 30)")
        assert db.execute("select from queue.receiver").fetchall() == []


async def test_an_outage_loses_only_what_was_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RECEIVERS", 2)
    written: list[Any] = []

    async def refuse(*_: Any) -> list[Any]:
        raise ServiceUnavailable

    async def write(_: Any, columns: Any) -> list[Any]:
        written.extend(columns[2])
        return []

    receivers = Receivers()
    receivers.note(report(b"lost"), 0.0)
    await receivers.flush(refuse)
    for agent in (b"a", b"b", b"one too many"):
        receivers.note(report(agent), 0.0)
    await receivers.flush(write)
    assert written == ["a", "b"]


# --- audit -----------------------------------------------------------------------------------------------------------
# The audit has one row for each change over the REST API.


def test_acts_leave_a_row(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        http.post("/v1/queues/orders/messages", json={"message": 1}).raise_for_status()
        target = {"queue": "orders", "message": 1}
        http.post("/v1/schedules", json={"name": "daily", "cron": "0 3 * * *", "target": target}).raise_for_status()
        http.patch("/v1/queues/orders", json={"attributes": {"DelaySeconds": 5}}).raise_for_status()
        http.post("/v1/queues/orders/purge").raise_for_status()
        http.post("/v1/schedules/daily/runs").raise_for_status()
        http.delete("/v1/schedules/daily").raise_for_status()
        new = {"queue": "orders", "function": "http://127.0.0.1:1/", "enabled": False}
        mapping = http.post("/v1/mappings", json=new).json()["id"]
        http.delete(f"/v1/mappings/{mapping}").raise_for_status()
        http.delete("/v1/queues/orders").raise_for_status()
        assert http.post("/v1/queues/orders/purge").status_code == 404
    with psycopg.connect(database.api_dsn) as db:
        rows = db.execute(
            "select action, target, details, affected, interface, actor from queue.audit order by audit_id"
        ).fetchall()
    queue, schedule = "arn:aws:sqs:us-east-1:000000000000:orders", "schedule/default/daily"
    schedule = f"arn:aws:scheduler:us-east-1:000000000000:{schedule}"
    of_mapping = f"arn:aws:lambda:us-east-1:000000000000:event-source-mapping:{mapping}"
    assert {row[4:] for row in rows} == {("rest", None)}  # The service did not ask for a key.
    assert [row[:4] for row in rows] == [
        ("sqs:CreateQueue", queue, {"attributes": {}, "tags": {}}, 1),
        ("scheduler:CreateSchedule", schedule, {}, 1),
        ("sqs:SetQueueAttributes", queue, {"attributes": ["DelaySeconds"]}, 1),
        ("sqs:PurgeQueue", queue, {}, 1),
        ("penstock:RunSchedule", schedule, {}, 1),
        ("scheduler:DeleteSchedule", schedule, {}, 1),
        ("lambda:CreateEventSourceMapping", queue, {"function": new["function"], "enabled": False}, 1),
        ("lambda:DeleteEventSourceMapping", of_mapping, {}, 1),
        ("sqs:DeleteQueue", queue, {}, 1),
    ]
