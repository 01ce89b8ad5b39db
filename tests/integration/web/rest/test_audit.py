"""The audit of changes over the REST API: a row an act, also of one that failed."""

from __future__ import annotations

import psycopg

from tests.support.database import Database
from tests.support.programs.penstock_service import running_service


def test_acts_leave_a_row(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
        http.post("/v1/queues/orders/messages", json={"message": 1}).raise_for_status()
        target = {"queue": "orders", "message": 1}
        http.post(
            "/v1/schedules", json={"name": "daily", "cron": "0 3 * * *", "target": target}
        ).raise_for_status()
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
            "select action, target, filter, affected, error from queue.audit order by audit_id"
        ).fetchall()
    assert rows == [
        ("sqs:SetQueueAttributes", "orders", {"attributes": {"DelaySeconds": 5}}, 1, None),
        ("sqs:PurgeQueue", "orders", {}, 1, None),
        ("penstock:RunSchedule", "daily", {}, 1, None),
        ("scheduler:DeleteSchedule", "daily", {}, 1, None),
        ("lambda:DeleteEventSourceMapping", mapping, {}, 1, None),
        ("sqs:DeleteQueue", "orders", {}, 1, None),
        ("sqs:PurgeQueue", "orders", {}, None, "The specified queue does not exist."),
    ]
