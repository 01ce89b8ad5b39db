"""Tests SIGKILL during a batch, many deliveries, and an endless response: the service loses no delivery, and its memory
use stays constant.

docs/reference/webhook_log.md specifies the attempt log, paused endpoints and queue.outgoing_delivery_history.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock.delivery.http import sender as sender_module
from penstock.delivery.http.outcome import judge_response
from penstock.delivery.outcome import Finished
from penstock.delivery.store import DeliveryStore
from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from penstock.settings import Settings
from penstock.workers.deliver import MAX_PER_HOST, Deliverer
from tests.integration.delivery.http.conftest import Deliver
from tests.support.database import Database
from tests.support.delivery.receiver import Receiver
from tests.support.delivery.rows import deliveries, number, pass_time, publish
from tests.support.sql.calls import ACCOUNT, Connection, call, create
from tests.support.wait import wait_until

pytestmark = pytest.mark.emptied

WORKERS, KILLS, BATCH = 3, 100, 50
LEASE_SECONDS = 30


class Workers:
    """Runs WORKERS worker processes, and replaces killed workers."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.processes = [self.start() for _ in range(WORKERS)]

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "tests.support.programs.webhook_worker", self.dsn])

    def kill(self, which: int) -> None:
        victim = self.processes[which]
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait()
        self.processes[which] = self.start()

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def workers(database: Database) -> Iterator[Workers]:
    workers = Workers(database.api_dsn)
    yield workers
    workers.stop()


@pytest.mark.slow
def test_nothing_is_lost_when_workers_are_killed(db: Connection, receiver: Receiver, workers: Workers) -> None:
    """Only the deliveries that a killed worker had claimed can occur twice, so each kill repeats at most one batch."""
    rnd, published = random.Random(4), 0
    for kill in range(KILLS):
        arrived = len(receiver.requests)
        for _ in range(60):
            publish(db, receiver.url("/slow"), raw=True, text=f"message {published}")
            published += 1
        wait_until(lambda arrived=arrived: len(receiver.requests) >= arrived + 10)  # type: ignore[misc]
        workers.kill(rnd.randrange(WORKERS))
        if kill % 10 == 9:
            pass_time(db, LEASE_SECONDS + 1)  # Both killed workers and running workers hold leases.
    pass_time(db, LEASE_SECONDS + 1)
    wait_until(lambda: not release(db))
    bodies = Counter(request.body.decode() for request in receiver.requests)
    assert set(bodies) == {f"message {n}" for n in range(published)}
    assert number(db, "select count(*) from queue.notice") == 0
    twice = sum(count - 1 for count in bodies.values())
    assert twice <= (KILLS + WORKERS * (KILLS // 10 + 1)) * BATCH
    print(f"{published} messages, {KILLS} kills, {twice} second deliveries")  # noqa: T201


def release(db: Connection) -> int:
    """Releases the remaining webhooks from the leases of dead workers."""
    left = number(db, "select count(*) from queue.outgoing_delivery")
    stuck = number(db, "select count(*) from queue.outgoing_delivery where due_at > clock_timestamp() + interval '5 s'")
    if left and left == stuck:
        pass_time(db, LEASE_SECONDS + 1)
    return left


@pytest.mark.slow
def test_ten_thousand_deliveries(db: Connection, database: Database) -> None:
    """One core delivers at least 1,000 webhooks in each second of CPU time that this process uses."""
    command = [sys.executable, "-m", "tests.support.delivery.receiver"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        publish(db, f"http://127.0.0.1:{port}/", copies=10_000, text="x" * 1000)
        settings = Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"})
        before, begun, cpu = memory_mib(), time.perf_counter(), time.process_time()
        with psycopg.connect(database.api_dsn, autocommit=True, prepare_threshold=None) as connection:
            counts = Deliverer(longest_run_seconds=600).run_once(settings, connection)
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
        process.kill()
    assert counts["delivered"] == 10_000
    assert cpu < 10
    assert memory_mib() - before < 50
    print(f"{10_000 / wall:.0f} a second, {cpu:.2f} s of processor time")  # noqa: T201


def memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_memory_stays_flat_under_endless_responses(db: Connection, receiver: Receiver, database: Database) -> None:
    publish(db, receiver.url("/gzip"), copies=3)
    settings = Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"})
    Deliverer(longest_run_seconds=60).run_once(settings, db)
    before = memory_mib()
    publish(db, receiver.url("/gzip"), copies=100)
    assert Deliverer(longest_run_seconds=60).run_once(settings, db)["delivered"] == 100
    assert memory_mib() - before < 32
    assert receiver.connections >= 100 // MAX_PER_HOST


BAD = "http://bad.example/"
THROTTLED = {"throttlePolicy": {"maxReceivesPerSecond": 5}}


def logged(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute(
        "select endpoint, attempt, outcome, status, error, response, account_id, sent_bytes > 100, duration_ms >= 0"
        " from queue.outgoing_delivery_attempt order by endpoint, attempt"
    ).fetchall()


def test_each_attempt_is_logged(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    urls = {path: receiver.url(path) for path in ("/200", "/404", "/500", "/hang_up")}
    publish(db, *urls.values())
    deliver(webhook_log_responses=True)
    lost = "the endpoint closed the connection"
    # The log never stores responses from the operator's network, regardless of the setting.
    assert logged(db) == [
        (urls["/200"], 1, "delivered", 200, None, None, ACCOUNT, True, True),
        (urls["/404"], 1, "given_up", 404, "HTTP status 404", None, ACCOUNT, True, True),
        (urls["/500"], 1, "retried", 500, "HTTP status 500", None, ACCOUNT, True, True),
        (urls["/hang_up"], 1, "retried", None, lost, None, ACCOUNT, True, True),
    ]
    pass_time(db, 20)
    deliver()
    assert [row[1:3] for row in logged(db) if row[0] == urls["/500"]] == [(1, "retried"), (2, "retried")]


@pytest.mark.parametrize(
    ("path", "setting", "kept"),
    [
        ("/200", True, "ok"),
        ("/long", True, "\ufffd\ufffd[2J\r\n\té" + "x" * 1_014),
        ("/204", True, ""),
        ("/200", False, None),
    ],
)
def test_of_public_addresses_the_responses_are_kept(
    db: Connection, deliver: Deliver, receiver: Receiver, monkeypatch: pytest.MonkeyPatch,
    path: str, setting: bool, kept: str | None,
) -> None:  # fmt: skip
    monkeypatch.setattr(sender_module, "is_public", lambda _: True)
    body = b"\0\x1b[2J\r\n\t" + "é".encode() + b"x" * 9_000
    receiver.responses["/long"] = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    publish(db, receiver.url(path))
    deliver(webhook_log_responses=setting)
    assert [row[2:6] for row in logged(db)] == [("delivered", int(path[1:]) if path != "/long" else 200, None, kept)]


def test_a_body_that_never_ends_takes_nothing_from_the_status(
    db: Connection, deliver: Deliver, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt times out while the service reads the body. The status decides the outcome, with and without
    the log."""
    monkeypatch.setattr(sender_module, "is_public", lambda _: True)
    receiver.responses["/half"] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    publish(db, receiver.url("/half"), kind="event", raw=True)
    deliver(webhook_log_responses=True, queue_http_delivery_timeout_secs=1)
    assert [row[2:6] for row in logged(db)] == [("delivered", 200, None, "half")]


def test_a_paused_endpoint_gets_nothing_until_it_is_resumed(
    db: Connection, deliver: Deliver, receiver: Receiver
) -> None:
    """The pause also applies to subscriptions that have their own rate, and to webhooks older than an hour."""
    url, other = receiver.url("/200"), receiver.url("/204")
    publish(db, url, other)
    deliver()
    assert paused(db, url)
    publish(db, url, other)
    publish(db, url, policy=THROTTLED)
    pass_time(db, 7_200)
    deliver()
    assert (receiver.count("/200"), receiver.count("/204")) == (1, 2)
    assert [row.attempts for row in deliveries(db)] == [0, 0]
    listed = "select endpoint, stopped, waiting from queue.list_delivery_endpoints(%s, 100)"
    assert db.execute(listed, (ACCOUNT,)).fetchall() == [(url, True, 1), (other, False, None)]
    assert resumed(db, url)
    deliver()
    assert receiver.count("/200") == 3
    assert not resumed(db, url)


def test_a_response_of_an_attempt_under_way_ends_no_pause(db: Connection) -> None:
    store = DeliveryStore(db, None, 20)
    publish(db, BAD, copies=3)
    claims = store.claim(50, {})
    assert paused(db, BAD) is False  # the service has not delivered to this endpoint yet
    store.settle([Finished(claims[0], judge_response(claims[0].delivery, 503))])
    assert paused(db, BAD)
    store.settle([Finished(claim, judge_response(claim.delivery, 200)) for claim in claims[1:]])
    pass_time(db, 3_600)
    assert store.claim(50, {}) == []
    assert number(db, "select count(*) from queue.outgoing_delivery") == 1


def test_deliveries_that_were_given_up_are_tried_again_in_pages(
    db: Connection, deliver: Deliver, receiver: Receiver
) -> None:
    publish(db, receiver.url("/404"), copies=5)
    publish(db, receiver.url("/404?b"))
    receiver.responses["/404?b"] = receiver.responses["/404"]
    deliver()
    since = db.execute("select clock_timestamp()").fetchall()[0][0]
    publish(db, receiver.url("/404"))
    deliver()
    retry = "select * from queue.retry_deliveries(%s, %s, %s, %s, %s)"
    assert db.execute(retry, ("111122223333", None, None, None, 9)).fetchall() == [(0, None)]
    assert db.execute(retry, (ACCOUNT, receiver.url("/404"), since, None, 9)).fetchall() == [(1, None)]
    ((first, last),) = db.execute(retry, (ACCOUNT, receiver.url("/404"), None, None, 3)).fetchall()
    assert (first, db.execute(retry, (ACCOUNT, None, None, last, 9)).fetchall()) == (3, [(3, None)])
    receiver.responses["/404"] = receiver.responses["/404?b"] = receiver.responses["/204"]
    deliver()
    assert deliveries(db) == []


def paused(db: Connection, url: str) -> bool:
    ((known,),) = db.execute("select known from queue.pause_delivery_endpoint(%s, %s)", (ACCOUNT, url)).fetchall()
    return bool(known)


def resumed(db: Connection, url: str) -> bool:
    ((known,),) = db.execute("select known from queue.resume_delivery_endpoint(%s, %s)", (ACCOUNT, url)).fetchall()
    return bool(known)


URL = "http://receiver.example/"
ONCE = {"healthyRetryPolicy": {"minDelayTarget": 1, "maxDelayTarget": 1, "numRetries": 0}}
FINISHED = "select outcome, attempts, published_at <= finished_at from queue.finished_delivery"


def settle(store: DeliveryStore, status: int, limit: int = 20) -> dict[str, int]:
    claims = store.claim(limit, {})
    return store.settle([Finished(claimed, judge_response(claimed.delivery, status)) for claimed in claims])


def finished(db: Connection) -> Counter[Any]:
    return Counter(db.execute(FINISHED.encode()).fetchall())


def test_deliveries_settled_together_are_one_row(db: Connection, store: DeliveryStore) -> None:
    publish(db, URL, copies=5)
    created = db.execute("select min(created_at), max(created_at) from queue.outgoing_delivery").fetchone()
    settle(store, 200)
    assert finished(db) == {("delivered", 1, True): 5}
    assert number(db, "select count(*) from queue.outgoing_delivery_history") == 1
    published = "select min(published_at), max(published_at) from queue.finished_delivery"
    assert db.execute(published.encode()).fetchone() == created


def test_a_delivery_that_is_tried_again_has_not_ended(db: Connection, store: DeliveryStore) -> None:
    publish(db, URL)
    assert settle(store, 503)["retried"] == 1
    assert finished(db) == {}
    pass_time(db, 3600)
    assert settle(store, 200)["delivered"] == 1
    assert finished(db) == {("delivered", 2, True): 1}


@pytest.mark.parametrize(("dead_letters", "outcome"), [(False, "exhausted"), (True, "dead_lettered")])
def test_a_delivery_that_was_given_up(db: Connection, store: DeliveryStore, dead_letters: bool, outcome: str) -> None:
    publish(db, URL, policy=ONCE, dead_letters=create(db, "dead") if dead_letters else None)
    assert settle(store, 503)[outcome] == 1
    assert finished(db) == {(outcome, 1, True): 1}


def test_an_outcome_that_comes_too_late_is_not_recorded(db: Connection, store: DeliveryStore) -> None:
    """Meanwhile, another worker has claimed the webhook."""
    publish(db, URL)
    (late,) = store.claim(1, {})
    pass_time(db, 3600)
    (claimed,) = store.claim(1, {})
    assert store.settle([Finished(late, judge_response(late.delivery, 200))])["lost"] == 1
    assert finished(db) == {}
    store.settle([Finished(claimed, judge_response(claimed.delivery, 200))])
    assert finished(db) == {("delivered", 1, True): 1}


def test_partitions_of_the_delivery_history_come_and_go_as_those_of_messages(db: Connection) -> None:
    db.execute("select queue.add_history_day('outgoing_delivery_history', '2020-02-29')")
    call(db, MAINTAIN_INSTALLATION, 1000, 30, None)
    parts = db.execute(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = 'queue.outgoing_delivery_history'::regclass"
        " and c.relname ~ '^outgoing_delivery_history_[0-9]{8}$'"
    ).fetchall()
    today = db.execute("select to_char(now() at time zone 'utc', 'YYYYMMDD')").fetchone()
    assert today is not None
    assert min(name for (name,) in parts) == f"outgoing_delivery_history_{today[0]}"
    assert len(parts) == 3


def test_partitions_of_other_tables_are_not_made(db: Connection) -> None:
    """The function runs as the schema's owner."""
    db.execute("select queue.add_history_day('log', '2020-02-29')")
    assert number(db, "select count(*) from pg_class where relname like '%20200229%'") == 0
