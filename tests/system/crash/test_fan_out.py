"""Tests that one Publish is one transaction: all queues have the message or no queue has it, after a kill of any
process.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal, cast

import httpx
import psycopg
import pytest

from penstock_web.local.binaries import Source
from penstock_web.local.postgres import Postgres, start
from penstock_web.system_account import SystemAccount
from tests.support import client_setup
from tests.support.crash.installation import CrashInstallation
from tests.support.ledger import Ledger
from tests.support.sql.calls import Counts, counts, create, maintain
from tests.support.sql.server_crash import Round, drain, run_until_killed
from tests.support.wait import wait_until

Victim = Literal["service", "backend", "database"]
VICTIMS: tuple[Victim, ...] = ("service", "service", "backend", "database", "backend")
TOPIC = "arn:aws:sns:us-east-1:000000000000:news"
SUBSCRIBE = """
select count(*) from unnest(%s::text[]) q, lateral queue.add_subscription(%s, gen_random_uuid(), '000000000000', 'sqs',
    q, '{"RawMessageDelivery": "true"}', null, null, null, 0, 0, null, null) s where s.error is null"""
PUBLISHING = """
select pid from pg_stat_activity
where state = 'active' and query like '%publish_messages(%' and pid <> pg_backend_pid()"""
COPIES = """
select body, count(*) from (select body from queue.log union all select body from queue.side) m group by body"""


@dataclass
class Newspaper:
    """A topic and its queues in an installation with faults. `acknowledged` has the texts."""

    installation: CrashInstallation
    queues: int
    acknowledged: set[str]
    published: set[str]
    outcomes: Counter[str]

    def found(self) -> None:
        """Creates everything over SQL, because a thousand queues would otherwise take a minute."""
        with self.database() as db:
            arns = [create(db, f"reader-{number}") for number in range(self.queues)]
            topic = ("000000000000", "us-east-1", "news", "{}", "{}")
            db.execute("select queue.create_topic(%s, %s, %s, %s::jsonb, %s::jsonb)", topic)
            assert db.execute(SUBSCRIBE, (arns, TOPIC)).fetchone() == (self.queues,)

    def database(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.installation.up.dsn, autocommit=True)

    def publish(self, text: str) -> None:
        """Publishes a text and notes it when it was acknowledged."""
        self.published.add(text)
        given = {"Action": "Publish", "Version": "2010-03-31", "TopicArn": TOPIC, "Message": text}
        try:
            answer = client_setup.post(f"http://127.0.0.1:{self.installation.port}/", data=given, timeout=30)
        except httpx.HTTPError:
            return
        if answer.status_code == 200:
            self.acknowledged.add(text)

    def strike(self, victim: Victim, text: str, under_way: Future[None]) -> None:
        """Kills a process in the middle of the work, and restarts everything."""
        if victim == "service":
            self.installation.kill_service()
            self.installation.restart_service()
        elif victim == "database":
            self.installation.kill_database()
            self.installation.wait_for_database()
        else:
            with self.database() as db:
                pids = [pid for (pid,) in db.execute(PUBLISHING)]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            self.outcomes["killed while it published"] += len(pids)
        under_way.result()
        wait_until(self.works)
        self.outcomes[f"{victim}: {self.check()[text]} copies, {text in self.acknowledged}"] += 1

    def works(self) -> bool:
        """Returns whether a publish succeeds. The check includes the text of this publish."""
        text = f"after {time.monotonic_ns()}"
        self.publish(text)
        return text in self.acknowledged

    def check(self) -> Counter[str]:
        """Checks that each text has all copies or no copy, and that each acknowledged text has all copies. Returns
        the copies by text.
        """
        with self.database() as db:
            copies: Counter[str] = Counter(dict(db.execute(COPIES).fetchall()))
        assert set(copies.values()) <= {self.queues}
        assert self.acknowledged <= copies.keys() <= self.published
        return copies


def survive(state: Path, queues: int, rounds: int) -> Counter[str]:
    """Publishes and kills `rounds` times. Returns the outcomes."""
    rng = random.Random(4)
    with ExitStack() as stack:
        paper = Newspaper(CrashInstallation(state, stack), queues, set(), set(), Counter())
        paper.found()
        began = time.monotonic()
        assert paper.works()
        duration = time.monotonic() - began
        with ThreadPoolExecutor(1) as pool:
            for number, victim in enumerate(islice(cycle(VICTIMS), rounds)):
                text = json.dumps({"issue": number})
                under_way = pool.submit(paper.publish, text)
                time.sleep(rng.uniform(0, duration))  # The kill strikes at any moment of the publish.
                paper.strike(victim, text, under_way)
        paper.check()
        return paper.outcomes


def test_all_queues_or_none(state: Path) -> None:
    outcomes = survive(state, queues=100, rounds=5)
    assert sum(number for what, number in outcomes.items() if "copies" in what) == 5


@pytest.mark.slow
def test_1000_queues_or_none_200_times(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = survive(state, queues=1_000, rounds=200)
    with capsys.disabled():
        sys.stdout.write("".join(f"\n{number:4} {what}" for what, number in sorted(outcomes.items())) + "\n")
    assert outcomes["killed while it published"] > 0


# --- storage ---------------------------------------------------------------------------------------------------------
# An acknowledged message survives kill -9 of the whole server, and a deleted message stays deleted.


ROUNDS = 3
SOURCE = cast("Source", os.environ.get("PENSTOCK_TEST_POSTGRES", "any"))


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_acknowledged_messages_survive_a_crash(server: Postgres, state: Path, name: str) -> None:
    ledger = Ledger()
    with psycopg.connect(server.service_dsn(), autocommit=True) as db:
        arn = create(db, name, shards=2)
        on = "select current_setting('fsync') || current_setting('synchronous_commit')"
        assert db.execute(on).fetchone() == ("onon",)
    for number in range(ROUNDS):
        run_until_killed(server.data, Round(server.service_dsn(), arn, ledger, number), deletes=20)
        server = start(state, SystemAccount.choose(), SOURCE)
        assert not server.adopted
    with psycopg.connect(server.service_dsn(), autocommit=True) as db:
        drain(db, arn, ledger)
        maintain(db, arn)
        assert counts(db, arn) == Counts(0, 0, 0)
    findings = ledger.findings()
    assert findings.violations == {}
    assert findings.sent > ROUNDS * 20
    # In each round at most one call of an actor had no answer: 4 batches of 10.
    assert findings.unknown_sends <= ROUNDS * 40
    assert findings.unknown_deletes <= ROUNDS * 40
