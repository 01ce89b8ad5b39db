"""Tests a rolling upgrade under load: migrations, then new processes beside the old ones, then the old ones stop.

The old processes run the code of the previous release (tests/support/upgrade/release.py). Clients see only repeats of
their SDK. Every acknowledged message arrives, and messages of a FIFO queue arrive once and in order.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock_web.local.pgbouncer import running_pgbouncer
from penstock_web.local.postgres import Postgres, free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import memory_directory
from tests.support.upgrade.customers import OTHERS, WANTED, Customers, set_up
from tests.support.upgrade.release import environment_of, unpack, unpack_next, version_of

WORKERS = 2
MESSAGES = 300  # This many messages of each queue are deleted in each phase.
COMMAND = [sys.executable, "-m", "penstock_web.cli"]


@dataclass
class Fleet:
    """Runs processes of one release on the port that they all share (SO_REUSEPORT), as behind a load balancer."""

    port: int
    environment: Mapping[str, str]
    processes: list[subprocess.Popen[bytes]]

    def start(self, number: int) -> None:
        for _ in range(number):
            ready, ready_fd = os.pipe()
            address = ["--host", "127.0.0.1", "--port", str(self.port)]
            process = subprocess.Popen(
                [*COMMAND, "worker", *address, "--ready-fd", str(ready_fd)],
                stdin=subprocess.PIPE,
                pass_fds=[ready_fd],
                env=dict(self.environment),
            )
            self.processes.append(process)
            os.close(ready_fd)
            assert os.read(ready, 1) == b"1", "it did not start"
            os.close(ready)

    def stop_one(self) -> None:
        """Sends SIGTERM, and checks a good end. The worker's standard input stays open, because a worker whose input
        ends gets a second SIGTERM.
        """
        process = self.processes.pop()
        process.terminate()
        assert process.wait(timeout=30) == 0
        process.communicate()

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@dataclass
class Installation:
    """A database behind PgBouncer, first of the previous release, and the processes of both."""

    server: Postgres
    old: Fleet
    new: Fleet

    def migrate(self, fleet: Fleet) -> float:
        """Migrates with the code of these processes. Returns the seconds."""
        began = time.monotonic()
        subprocess.run([*COMMAND, "migrate"], env=dict(fleet.environment), check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began

    def functions(self) -> str:
        """Returns the release whose functions are recorded."""
        with psycopg.connect(self.server.service_dsn()) as connection:
            row = connection.execute("select name from queue.migration where number = 0").fetchone()
        assert row is not None
        return str(row[0])


@contextmanager
def installed(release: Path, following: Path) -> Iterator[Installation]:
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(memory_directory()))
        server = stack.enter_context(running_postgres(state, SystemAccount.choose()))
        pooler = stack.enter_context(running_pgbouncer(state, server))
        port = free_port()
        addresses = {"DATABASE_URL": pooler.dsn(), "DATABASE_DIRECT_URL": server.service_dsn()}
        old = Fleet(port, {**environment_of(release), **addresses}, [])
        new = Fleet(port, {**environment_of(following), **addresses}, [])
        for fleet in (old, new):
            stack.callback(fleet.kill)
        yield Installation(server, old, new)


def subscribe(customers: Customers, topic: str) -> list[str]:
    """Subscribes both queues with their filter policies. Returns the subscriptions' ARNs."""
    sns = customers.client("sns")
    return [
        sns.subscribe(
            TopicArn=topic,
            Protocol="sqs",
            Endpoint=f"arn:aws:sqs:us-east-1:000000000000:{queue}",
            Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps(policy)},
        )["SubscriptionArn"]
        for queue, policy in (("wanted", WANTED), ("others", OTHERS))
    ]


def administer(customers: Customers, topic: str, subscriptions: list[str]) -> None:
    """Calls actions whose SQL functions changed since the last release. The actions must work with the code of either
    release.
    """
    sns: Any = customers.client("sns")
    assert subscribe(customers, topic) == subscriptions
    sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="News")
    assert sns.get_topic_attributes(TopicArn=topic)["Attributes"]["DisplayName"] == "News"
    for arn, policy in zip(subscriptions, (WANTED, OTHERS), strict=True):
        sns.set_subscription_attributes(
            SubscriptionArn=arn, AttributeName="FilterPolicy", AttributeValue=json.dumps(policy)
        )


@pytest.mark.slow
def test_nothing_fails_and_nothing_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    previous = unpack(tmp_path / "previous")
    following = unpack_next(tmp_path / "next", previous)
    with installed(previous, following) as installation:
        installation.migrate(installation.old)
        installation.old.start(WORKERS)
        customers = Customers(f"http://127.0.0.1:{installation.old.port}")
        topic = set_up(customers)
        subscriptions = subscribe(customers, topic)
        before = installation.functions()
        with customers.busy():
            customers.progress(MESSAGES)
            seconds = installation.migrate(installation.new)
            assert before != installation.functions() == f"functions {version_of(following)}"
            customers.progress(MESSAGES)
            administer(customers, topic, subscriptions)
            customers.progress(MESSAGES)
            installation.new.start(WORKERS)
            customers.generation += 1
            customers.progress(MESSAGES)
            for _ in range(WORKERS):
                installation.old.stop_one()
                customers.progress(MESSAGES)
            administer(customers, topic, subscriptions)
            customers.progress(MESSAGES)
    check(customers)
    with capsys.disabled():
        sys.stdout.write(f"\nmigrated in {seconds:.1f} s; {dict(customers.tally)}\n")


def check(customers: Customers) -> None:
    """Checks that nothing failed, was lost, invented, duplicated or reordered."""
    assert customers.errors == []
    for name, ledger in customers.ledgers.items():
        findings = ledger.findings()
        assert (name, findings.violations, findings.unknown_sends) == (name, {}, 0)
    assert sum(ledger.findings().sent for ledger in customers.ledgers.values()) == customers.tally["sent"]
