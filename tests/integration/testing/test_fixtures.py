"""Tests the fixtures in a user's project: one server for all processes in a run, and an account for each test.

Also runs the example project examples/pytest_project as a user does.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from penstock_web.testing import Clock
from penstock_web.testing.servers import TestServerError, find_server
from tests.support.testing.projects import left, run_tests, servers, temporary_files
from tests.support.wait import wait_until

TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(4))
def test_a_message_goes_round(penstock, sqs, sqs_queue, number):
    sqs.send_message(QueueUrl=sqs_queue, MessageBody=str(number))
    (message,) = sqs.receive_message(QueueUrl=sqs_queue)["Messages"]
    assert message["Body"] == str(number)
    assert sqs.list_queues()["QueueUrls"] == [sqs_queue]
    with Path("seen").open("a") as file:
        file.write(f"{penstock.endpoint_url} {penstock.account_id}\\n")

def test_a_topic_delivers(sns, sqs, sqs_queue):
    arn = sqs.get_queue_attributes(QueueUrl=sqs_queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = sns.create_topic(Name="news")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    sns.publish(TopicArn=topic, Message="hello")
    (message,) = sqs.receive_message(QueueUrl=sqs_queue, WaitTimeSeconds=5)["Messages"]
    assert message["Body"] == "hello"

def test_clients_that_read_the_environment_find_the_account(penstock_environment):
    import boto3
    with_account = boto3.client("sts").get_caller_identity()["Account"]
    assert with_account == penstock_environment.account_id
    assert "QueueUrls" not in boto3.client("sqs").list_queues()
"""
CLOCK_TESTS = """
import threading
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest

from penstock_web.testing.servers import find_server

@pytest.fixture
def clock_database(penstock_clock):
    with closing(find_server()) as server:
        name = f"clock_{penstock_clock._process.pid}"  # another process of this run has a clock, too
        return psycopg.conninfo.make_conninfo(server.databases["superuser"], dbname=name)

def bodies(sqs, url, wait=0):
    found = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=wait, VisibilityTimeout=3600)
    return [message["Body"] for message in found.get("Messages", [])]

def test_time_passes(sqs, sqs_queue, penstock, penstock_clock):
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
    check_deduplication(sqs, penstock_clock)
    check_schedules_and_long_polls(sqs, sqs_queue, penstock, penstock_clock)

def check_deduplication(sqs, penstock_clock):
    url = sqs.create_queue(QueueName="a.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    def send():
        sent = sqs.send_message(
            QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d"
        )
        return sent["SequenceNumber"]
    first = send()
    penstock_clock.advance(240)
    assert send() == first
    penstock_clock.advance(60)
    assert send() != first

def check_schedules_and_long_polls(sqs, sqs_queue, penstock, penstock_clock):
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
UNUSED = "def test_nothing(): pass\n"


def test_processes_of_a_run_share_a_server_and_no_account(tmp_path: Path) -> None:
    """The database and the settings of the environment have no effect. Time passes only when a test moves it. No file
    or process remains afterwards.
    """
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_clock.py").write_text(CLOCK_TESTS)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary, "-n", "2")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "10 passed" in done.stdout
        wait_until(lambda: not left(temporary) and not servers(temporary))
    endpoints, accounts = zip(*(line.split() for line in (tmp_path / "seen").read_text().splitlines()), strict=True)
    assert len(set(endpoints)) == 1
    assert len(set(accounts)) == len(accounts) == 4


def test_a_project_that_asks_for_no_fixture_notices_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(UNUSED)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary)
        assert done.returncode == 0, done.stdout + done.stderr
        assert list(temporary.glob("penstock*")) == []


def test_pytest_loads_neither_boto3_nor_the_service() -> None:
    code = "import sys, penstock_web.testing.fixtures; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "penstock" in loaded
    assert not loaded & {"boto3", "botocore", "psycopg", "fastapi", "msgspec", "asyncio"}


EXAMPLE = Path(__file__).parents[3] / "examples/pytest_project"


@pytest.mark.slow
def test_the_tests_of_the_example_pass(tmp_path: Path) -> None:
    for file in EXAMPLE.glob("*.py"):
        shutil.copy(file, tmp_path)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "3 passed" in done.stdout


# --- servers ---------------------------------------------------------------------------------------------------------
# The test server stops after its last user and leaves no files, regardless of how that user ends.


USER = """
from penstock_web.testing.servers import find_server
server = find_server()
print(server.endpoint_url, flush=True)
input()
"""


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields the folder for temporary files, which is empty."""
    with temporary_files() as folder:
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        monkeypatch.setenv("TMPDIR", str(folder))
        yield folder


def nothing_is_left(temporary: Path) -> bool:
    return not left(temporary) and not servers(temporary)


@pytest.mark.slow
def test_all_who_come_at_once_get_one_server_until_the_last_has_gone(temporary: Path) -> None:
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda _: find_server(), range(3)))
    assert len({server.endpoint_url for server in found}) == 1
    assert len({server.account().account_id for server in found}) == 3
    for server in found[:2]:
        server.close()
    assert httpx.get(f"{found[2].endpoint_url}/livez").status_code == 200
    assert len(servers(temporary)) == 1
    found[2].close()
    wait_until(lambda: nothing_is_left(temporary))


def test_nothing_is_left_of_a_user_that_was_killed(temporary: Path) -> None:
    command = [sys.executable, "-c", USER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        assert httpx.get(f"{user.stdout.readline().strip()}/livez").status_code == 200
        user.send_signal(signal.SIGKILL)
    wait_until(lambda: nothing_is_left(temporary))


@pytest.mark.slow
def test_nothing_is_left_of_a_server_that_was_killed_and_the_next_user_has_another(temporary: Path) -> None:
    first = find_server()
    (process,) = servers(temporary)
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: left(temporary) == ["socket"])
    second = find_server()
    assert httpx.get(f"{second.endpoint_url}/livez").status_code == 200
    first.close()
    second.close()
    wait_until(lambda: nothing_is_left(temporary))


def test_a_server_that_cannot_start_says_why(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = temporary / "broken/penstock_web/testing"
    broken.mkdir(parents=True)
    (broken.parent / "__init__.py").touch()
    (broken / "__init__.py").write_text("raise SystemExit('there is no PostgreSQL')")
    monkeypatch.setenv("PYTHONPATH", str(temporary / "broken"))
    with pytest.raises(TestServerError, match="log ends with: there is no PostgreSQL"):
        find_server()


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_time_does_not_go_back(seconds: float) -> None:
    clock = Clock.__new__(Clock)
    with pytest.raises(ValueError, match="0 seconds or more"):
        clock.advance(seconds)
