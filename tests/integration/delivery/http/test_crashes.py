"""Tests kill -9 during a batch, many deliveries, and an endless answer: no delivery is lost, and memory stays
constant.
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

import psycopg
import pytest

from penstock.settings import Settings
from penstock.workers.deliver import MOST_PER_HOST, Deliverer
from tests.support.database import Database
from tests.support.delivery.receiver import Receiver
from tests.support.delivery.rows import number, pass_time, publish
from tests.support.sql.calls import Connection
from tests.support.wait import wait_until

WORKERS, KILLS, BATCH = 3, 100, 50
LEASE_SECONDS = 30


class Workers:
    """Runs WORKERS worker processes and replaces killed workers."""

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
def test_nothing_is_lost_when_workers_are_killed(
    db: Connection, receiver: Receiver, workers: Workers
) -> None:
    """Only the killed worker's claims may be delivered twice, at most a batch for each kill."""
    rnd, published = random.Random(4), 0
    for kill in range(KILLS):
        arrived = len(receiver.requests)
        for _ in range(60):
            publish(db, receiver.url("/slow"), raw=True, text=f"message {published}")
            published += 1
        wait_until(lambda arrived=arrived: len(receiver.requests) >= arrived + 10)  # type: ignore[misc]
        workers.kill(rnd.randrange(WORKERS))
        if kill % 10 == 9:
            pass_time(db, LEASE_SECONDS + 1)  # Both killed and living workers have leases.
    pass_time(db, LEASE_SECONDS + 1)
    wait_until(lambda: not release(db))
    bodies = Counter(request.body.decode() for request in receiver.requests)
    assert set(bodies) == {f"message {n}" for n in range(published)}
    assert number(db, "select count(*) from queue.notice") == 0
    twice = sum(count - 1 for count in bodies.values())
    assert twice <= (KILLS + WORKERS * (KILLS // 10 + 1)) * BATCH
    print(f"{published} messages, {KILLS} kills, {twice} second deliveries")  # noqa: T201


def release(db: Connection) -> int:
    """Releases the remaining webhooks. A dead worker has no lease on these webhooks."""
    left = number(db, "select count(*) from queue.outgoing_delivery")
    stuck = number(
        db, "select count(*) from queue.outgoing_delivery where due_at > clock_timestamp() + interval '5 s'"
    )
    if left and left == stuck:
        pass_time(db, LEASE_SECONDS + 1)
    return left


@pytest.mark.slow
def test_ten_thousand_deliveries(db: Connection, database: Database) -> None:
    """By this process's processor time, one core delivers at least 1,000 webhooks a second."""
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


def test_memory_stays_flat_under_endless_answers(
    db: Connection, receiver: Receiver, database: Database
) -> None:
    publish(db, receiver.url("/gzip"), copies=3)
    settings = Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"})
    Deliverer(longest_run_seconds=60).run_once(settings, db)
    before = memory_mib()
    publish(db, receiver.url("/gzip"), copies=100)
    assert Deliverer(longest_run_seconds=60).run_once(settings, db)["delivered"] == 100
    assert memory_mib() - before < 32
    assert receiver.connections >= 100 // MOST_PER_HOST
