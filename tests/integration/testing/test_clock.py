"""The clock that tests move, in a project of a user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing import Clock
from tests.support.testing.projects import run_tests, temporary_files

TESTS = """
import threading
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest

from penstock.testing.servers import find_server

@pytest.fixture
def clock_database(penstock_clock):
    with closing(find_server()) as server:
        superuser = server.databases["superuser"]
    with psycopg.connect(superuser) as connection:
        name, = connection.execute("select datname from pg_database where datname like 'clock_%'").fetchone()
    return psycopg.conninfo.make_conninfo(superuser, dbname=name)

def bodies(sqs, url, wait=0):
    found = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=wait, VisibilityTimeout=3600)
    return [message["Body"] for message in found.get("Messages", [])]

def test_delay_visibility_and_retention(sqs, sqs_queue, penstock_clock):
    sqs.send_message(QueueUrl=sqs_queue, MessageBody="late", DelaySeconds=900)
    assert bodies(sqs, sqs_queue) == []
    penstock_clock.advance(900)
    assert bodies(sqs, sqs_queue) == ["late"]
    penstock_clock.advance(timedelta(minutes=59))
    assert bodies(sqs, sqs_queue) == []
    penstock_clock.advance(timedelta(minutes=1))
    assert bodies(sqs, sqs_queue) == ["late"]
    penstock_clock.advance(timedelta(days=4))
    assert bodies(sqs, sqs_queue) == []

def test_deduplication(sqs, penstock_clock):
    url = sqs.create_queue(QueueName="a.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    def send():
        sent = sqs.send_message(
            QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d"
        )
        return sent["SequenceNumber"]
    first = send()
    penstock_clock.advance(290)
    assert send() == first
    penstock_clock.advance(11)
    assert send() != first

def test_schedules_and_long_polls(sqs, sqs_queue, penstock, penstock_clock):
    scheduler = penstock.client("scheduler")
    arn = sqs.get_queue_attributes(QueueUrl=sqs_queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    at = penstock_clock.now() + timedelta(days=30)
    scheduler.create_schedule(
        Name="reminder",
        ScheduleExpression=at.strftime("at(%Y-%m-%dT%H:%M:%S)"),
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn, "RoleArn": "arn:aws:iam::000000000001:role/r", "Input": "now"},
    )
    penstock_clock.advance(timedelta(days=29, hours=23))
    assert bodies(sqs, sqs_queue) == []
    penstock_clock.advance(timedelta(hours=1))
    assert bodies(sqs, sqs_queue, wait=20) == ["now"]

def test_another_test_has_the_time_of_today(penstock_clock):
    from datetime import UTC, datetime
    assert penstock_clock.now() - datetime.now(UTC) < timedelta(days=1)

def test_a_worker_that_has_not_committed(sqs, sqs_queue, penstock_clock, clock_database):
    sqs.send_message(QueueUrl=sqs_queue, MessageBody="old")
    assert bodies(sqs, sqs_queue) == ["old"]
    with psycopg.connect(clock_database) as worker, psycopg.connect(clock_database) as observer:
        worker.execute("select pg_advisory_xact_lock(queue.lock_key(1, q.queue_id, s)) "
            "from queue.queues q, generate_series(0, q.shards - 1) s")
        advance = threading.Thread(target=penstock_clock.advance, args=(timedelta(days=4),))
        advance.start()
        while not observer.execute("select 1 from pg_locks l where not l.granted "
                "and l.relation = 'queue.queues'::regclass").fetchone():
            assert advance.is_alive(), "the clock did not wait for the worker"
            observer.commit()
    advance.join()
    assert bodies(sqs, sqs_queue) == []

def test_without_a_clock(sqs, sqs_queue, penstock):
    assert penstock.account_id != "000000000001"
"""


def test_time_passes_when_a_test_says_so(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary, "-n", "2")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_time_does_not_go_back(seconds: float) -> None:
    clock = Clock.__new__(Clock)
    with pytest.raises(ValueError, match="0 seconds or more"):
        clock.advance(seconds)
