"""Breaks an installation in six ways, and counts what a receiver of alerts learns from three service processes.

Each problem is told once and its end once, although every process evaluates, and although the database restarts
meanwhile. docs/operate/alerts.md promises this.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from penstock.postgres.migrations import migrate
from penstock.settings import Settings
from penstock.verdicts import Minute
from penstock.workers import fire
from penstock_web.local.postgres import DATABASE, Postgres, start
from tests.support.alerts import count_changes
from tests.support.database import new_cluster
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.programs.penstock_service import Service, running_service
from tests.support.sql.metric_rows import add_messages, add_minutes, current_minute, new_queue
from tests.support.wait import wait_until
from tests.support.web.prometheus_text import scrape

PROCESSES = 3
INTERVAL_MS = 1_500
SETTINGS = {
    "QUEUE_ALERT_INTERVAL_MS": str(INTERVAL_MS),
    "QUEUE_BASE_URL": "https://queues.example.com",
    "QUEUE_CONSOLE": "read",
    "QUEUE_HTTP_DELIVERY_POLL_MS": "50",
    "QUEUE_METRICS_INTERVAL_MS": "500",
    "QUEUE_SCHEDULE_ENABLED": "false",
    "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
}
FAILURES = 5
"""After this many failed runs in a row, a worker has been without the database for over eight seconds, which is longer
than the three intervals after which an outage counts (workers/worker.py).
"""
MINUTE = timedelta(minutes=1)
Db = psycopg.Connection[Any]


class Installation:
    """A database server with service processes that send alerts to a receiver."""

    def __init__(self, server: Postgres, receiver: Receiver, services: list[Service]) -> None:
        self.server = server
        self.receiver = receiver
        self.services = services

    def connect(self) -> Db:
        return psycopg.connect(self.server.superuser_dsn(DATABASE), autocommit=True)

    def count(self) -> Counter[tuple[str, str, str]]:
        return count_changes(self.receiver, "/alerts")

    def restart_database(self) -> None:
        """Restarts the database after each process has noticed that it is gone."""
        pg_ctl = self.server.binaries.path("pg_ctl")
        self.server.account.run([pg_ctl, "stop", "-D", self.server.data, "-m", "fast", "-w"])
        wait_until(lambda: all(count_failures(service) >= FAILURES for service in self.services))
        start(self.server.data.parents[1], self.server.account)


def count_failures(service: Service) -> float:
    return scrape(service.url).value("penstock_worker_runs_total", worker="measure", outcome="failure")


@pytest.fixture
def installation() -> Iterator[Installation]:
    with ExitStack() as stack:
        server = stack.enter_context(new_cluster("any"))
        migrate(server.service_dsn())
        receiver = stack.enter_context(running_receiver())
        receiver.responses |= {"/alerts": receiver.responses["/204"], "/hook": receiver.responses["/500"]}
        settings = {**SETTINGS, "QUEUE_ALERT_URL": receiver.url("/alerts")}
        services = [stack.enter_context(running_service(server.service_dsn(), **settings)) for _ in range(PROCESSES)]
        yield Installation(server, receiver, services)


# --- faults ----------------------------------------------------------------------------------------------------------
def stop_consumer(db: Db) -> None:
    """The last receive was ten minutes ago, and messages still arrive."""
    now = current_minute(db)
    minutes = [
        Minute(now - ago * MINUTE, 20, 20, 0, 20, visible=0, in_flight=0, delayed=0) for ago in range(30, 10, -1)
    ]
    last = now - 10 * MINUTE
    minutes += [
        Minute(now - ago * MINUTE, sent=20, visible=20 * (11 - ago), in_flight=0, delayed=0, oldest_at=last,
               last_received_at=last)
        for ago in range(10, 0, -1)
    ]  # fmt: skip
    add_minutes(db, new_queue(db, "orders"), minutes)
    add_messages(db, "orders", 200, now - 20 * MINUTE)


def add_poison(db: Db) -> None:
    """Consumers receive the same message again and again. The last receive is still to come, so the queue does not
    count as stalled.
    """
    now = current_minute(db)
    add_minutes(
        db, new_queue(db, "payments"),
        [
            Minute(now - ago * MINUTE, 5, 20, 15, 5, visible=1, in_flight=0, delayed=0,
                   last_received_at=now + 60 * MINUTE)
            for ago in range(20, 0, -1)
        ],
    )  # fmt: skip
    add_messages(db, "payments", 1, now - 10 * MINUTE)


def add_dead_letters(db: Db, service: Service) -> None:
    sqs = service.sqs()
    dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    sqs.create_queue(QueueName="source", Attributes={"RedrivePolicy": redrive})
    sqs.close()
    add_messages(db, "dead", 3, current_minute(db) - 10 * MINUTE)


def break_endpoint(service: Service, receiver: Receiver) -> None:
    """The endpoint answers 500. After 20 failures in a row, its deliveries wait."""
    with service.http() as http:
        hook = {"endpoint": receiver.url("/hook")}
        http.post("/v1/events/orders.created/subscriptions", json=hook).raise_for_status()
        for number in range(25):
            http.post("/v1/events/orders.created", json={"message": number}).raise_for_status()


def delay_schedule(db: Db, service: Service) -> None:
    """No process fires schedules, and one has been due for five minutes."""
    with service.http() as http:
        schedule = {"name": "report", "fire_at": "2099-01-01T00:00:00Z", "target": {"queue": "orders", "message": 1}}
        http.post("/v1/schedules", json=schedule).raise_for_status()
    db.execute(
        "update queue.schedule set next_fire_at = clock_timestamp() - interval '5 minutes', "
        "due_at = clock_timestamp() - interval '5 minutes'"
    )


# --- the drill -------------------------------------------------------------------------------------------------------
@pytest.mark.xdist_group("alert_drill")
def test_each_problem_is_told_once_and_its_end_once(installation: Installation) -> None:
    receiver, service = installation.receiver, installation.services[0]
    hook = receiver.url("/hook")
    problems = [
        ("stalled", "orders"), ("poisoned", "payments"), ("dead_letters", "dead"), ("endpoint_fails", hook),
        ("schedules_late", "Schedules"),
    ]  # fmt: skip
    with installation.connect() as db:
        stop_consumer(db)
        add_poison(db)
        add_dead_letters(db, service)
        break_endpoint(service, receiver)
        delay_schedule(db, service)
    began = Counter(("began", *problem) for problem in problems)
    wait_until(holds(installation, began))

    installation.restart_database()
    outage = Counter([("outage", "", "")])
    wait_until(holds(installation, began + outage))

    receiver.responses["/hook"] = receiver.responses["/204"]
    with installation.connect() as db:
        assert fire.run_once(Settings.read({}), db)["fired"] == 1
        with service.http() as http:
            for queue in ("orders", "payments", "dead"):
                http.post(f"/v1/queues/{queue}/purge").raise_for_status()
            http.post("/v1/deliveries/endpoints/resume", json={"endpoint": hook}).raise_for_status()
        ended = Counter(("ended", *problem) for problem in problems)
        wait_until(holds(installation, began + outage + ended))
        wait_for_evaluations(db, 3)
    assert installation.count() == began + outage + ended
    check_messages(receiver)


def holds(installation: Installation, expected: Counter[tuple[str, str, str]]) -> Callable[[], bool]:
    """Returns a condition: the receiver knows these changes. The condition fails if it knows any other change."""

    def check() -> bool:
        known = installation.count()
        assert not known - expected, known - expected
        return known == expected

    return check


def wait_for_evaluations(db: Db, number: int) -> None:
    """Waits until processes have made more evaluations, which could tell something twice."""

    def read_round() -> int:
        row = db.execute("select round from queue.alert_round").fetchone()
        assert row is not None
        return int(row[0])

    last = read_round() + number
    wait_until(lambda: read_round() >= last)


def check_messages(receiver: Receiver) -> None:
    """The processes shared the work, every problem has a link, and the outage has a beginning and an end."""
    bodies = [json.loads(request.body) for request in receiver.requests if request.path == "/alerts"]
    changes = [change for body in bodies for change in body["changes"]]
    assert all(change["url"].startswith("https://queues.example.com/console") for change in changes)
    (outage,) = (change for change in changes if change["what"] == "outage")
    assert outage["since"] < outage["until"]
