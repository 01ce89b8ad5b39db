"""Tests that the workers of an idle process sleep, and that they wake up when other processes change the database."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple, TypeVar, cast

import psycopg
import pytest

from penstock.aws.codec.protocol import Protocol
from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Operation, Receive
from penstock.limits.response_limit import build_receive_limit
from penstock.observing.reports import Client
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.messages import DELETE_MESSAGES, RECEIVE_MESSAGES
from penstock.settings import Settings
from penstock.sqs.receive import receive_messages
from penstock.workers import maintain, measure
from penstock_web.batching.write_backpressure import WriteBackpressure
from penstock_web.runtime.driver import Resources, run_operation
from penstock_web.server import open_resources
from penstock_web.workers import background
from tests.support.database import Database
from tests.support.delivery.receiver import running_receiver
from tests.support.delivery.rows import publish
from tests.support.programs.penstock_service import until_row
from tests.support.schedules.rows import now, put
from tests.support.sql.calls import Connection, create, delete, receive, send
from tests.support.sql.move_tasks import dead_queue, poison, start
from tests.support.wait import wait_until

T = TypeVar("T")
HOUR_MS = "3600000"
CLIENT = cast("Client", None)  # Only receives of a queue with the attribute PenstockTrace use the client.


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the pauses of two and ten seconds before workers sleep."""
    monkeypatch.setattr(maintain, "INSTALLATION_SECONDS", 0.0)
    monkeypatch.setattr(background, "REGISTERING_SECONDS", 0.6)
    monkeypatch.setattr(background, "REGISTERED_SECONDS", 0.0)


class Process(NamedTuple):
    """Runs the event loop of a process in a thread."""

    loop: asyncio.AbstractEventLoop
    resources: Resources
    stop: asyncio.Event

    def run(self, operation: Operation[T]) -> T:
        """Runs an operation as a request does, and returns the result."""
        return asyncio.run_coroutine_threadsafe(run_operation(operation, self.resources), self.loop).result()


@contextmanager
def process(database: Database, idle_check_ms: str) -> Iterator[Process]:
    """Runs the workers and the LISTEN connection of a process in a thread until the workers sleep."""
    settings = Settings.read({
        "DATABASE_URL": database.api_dsn,
        "DATABASE_DIRECT_URL": database.api_dsn,
        "QUEUE_IDLE_CHECK_MS": idle_check_ms,
        "QUEUE_MAINTAIN_INTERVAL_MS": "50",
        "QUEUE_METRICS_INTERVAL_MS": "100",
        "QUEUE_MOVE_INTERVAL_MS": "100",
        "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
    })  # fmt: skip
    processes: list[Process] = []
    started = threading.Event()

    async def serve() -> None:
        stop = asyncio.Event()
        async with open_resources(settings, WriteBackpressure()) as resources:
            processes.append(Process(asyncio.get_running_loop(), resources, stop))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert started.wait(30)
        until_rest(database)
        yield processes[0]
    finally:
        processes[0].loop.call_soon_threadsafe(processes[0].stop.set)
        thread.join()


def until_rest(database: Database, others_call: str = "due_work") -> None:
    """Returns when no session has made a call for a second. Ignores the checks of the LISTEN connection.

    `others_call` matches these checks and the calls of requests.
    """
    others = "datname = current_database() and pid <> pg_backend_pid()"
    until_row(
        database.dsn,
        f"select where exists (select from pg_stat_activity where {others} and query ~ 'due_work')"
        f" and not exists (select from pg_stat_activity where {others} and query !~ '{others_call}'"
        " and query_start > clock_timestamp() - interval '1 second')",
    )


@contextmanager
def somebody_else(database: Database) -> Iterator[Connection]:
    """Runs an application. PostgreSQL counts all changes of a session when the session ends."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        yield connection


def test_the_service_rests_and_its_checks_find_changes_without_notifications(database: Database) -> None:
    """The workers sleep even while queues contain visible, delayed and in-flight messages, and a schedule is due in an
    hour.
    """
    with somebody_else(database) as db:
        orders = create(db)
        for body in ("in flight", "waits"):
            send(db, orders, body)
        send(db, orders, "delayed", delay=900)
        receive(db, orders)
        send(db, create(db, "orders.fifo"), "waits", group="g")
        put(db, "hourly", now(db) + timedelta(hours=1), target={"queue": "orders", "message": "fired"})
    with process(database, "50"), running_receiver() as receiver:
        with somebody_else(database) as db:
            other = create(db, "other")
            send(db, other, "waits")
            send(db, other, "done")
            delete(db, receive(db, other, 1))
        until_row(
            database.dsn,
            "select from queue.measurement m join queue.queues q using (queue_id)"
            " where q.name = 'other' and m.visible = 1",
        )
        until_row(database.dsn, "select from queue.history where outcome = 'deleted'")
        with somebody_else(database) as db:
            db.execute("update queue.schedule set due_at = now(), next_fire_at = now()")
            publish(db, receiver.url("/200"))
        until_row(database.dsn, "select from queue.schedule_run")
        wait_until(lambda: receiver.count("/200") == 1)
        until_rest(database)


def test_notifications_wake_it_and_so_does_the_loss_of_its_connection(database: Database) -> None:
    with somebody_else(database) as db, process(database, HOUR_MS), running_receiver() as receiver:
        dead, source = dead_queue(db, "", "jobs")
        create(db, "fired")
        put(db, "soon", now(db) + timedelta(seconds=0.2), target={"queue": "fired", "message": "fired"})
        until_row(database.dsn, "select from queue.schedule_run")
        publish(db, receiver.url("/200"))
        db.execute("select queue.wake_deliveries()")
        wait_until(lambda: receiver.count("/200") == 1)
        poison(db, source, dead, "letter")
        start(db, dead)
        until_row(database.dsn, "select from queue.move_task where status = 'COMPLETED'")
        until_rest(database)
        publish(db, receiver.url("/204"))  # without a notification
        with psycopg.connect(database.dsn, autocommit=True) as administrator:
            administrator.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and query ~ 'due_work' and pid <> pg_backend_pid()"
            )
        wait_until(lambda: receiver.count("/204") == 1)


def test_the_service_wakes_when_the_retention_of_a_message_ends(database: Database) -> None:
    with somebody_else(database) as db:
        arn = create(db, MessageRetentionPeriod="60")
        send(db, arn, "m")
        db.execute("update queue.log set sent_at = now() - interval '57 seconds'")
        measure.run_once(Settings.read({}), TransactionExecutor(db))
    with process(database, HOUR_MS):
        until_row(database.dsn, "select from queue.history where outcome = 'expired'")


POLL = "due_work|receive_response|poll_queues|watch_queues"


def test_the_service_rests_while_a_client_waits_for_long_messages(database: Database) -> None:
    """Long polls then wait on a queue that contained a message. Empty receives do not change the database."""
    with somebody_else(database) as db:
        arn = create(db)
    queue = NamedQueue(arn)
    limit = build_receive_limit(None, Protocol.JSON)
    poll = Receive(RECEIVE_MESSAGES, queue, 10, None, wait_seconds=1, limit=limit)
    with process(database, HOUR_MS) as there:
        with somebody_else(database) as db:
            for _ in range(2):
                send(db, arn, "x" * 1_000_000)
        (first, second) = there.run(receive_messages(poll, CLIENT))
        there.run(iter(BatchCall(DELETE_MESSAGES, [first.handle, second.handle], merge_key=queue.merge_key)))
        over = threading.Event()

        def keep_polling() -> None:
            while not over.is_set():
                assert there.run(receive_messages(poll, CLIENT)) == []

        with ThreadPoolExecutor(1) as consumer:
            polling = consumer.submit(keep_polling)
            try:
                until_rest(database, POLL)
            finally:
                over.set()
            polling.result()
