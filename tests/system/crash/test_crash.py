"""Kills Penstock and PostgreSQL with SIGKILL while clients publish messages and schedules fire."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal, LiteralString, cast

import httpx
import psycopg
import pytest

from penstock.postgres.migrations import migrate
from penstock_web.local.binaries import Source
from penstock_web.local.postgres import ROLE, Postgres, running_postgres, start
from penstock_web.local.system_account import SystemAccount
from tests.support import client_setup
from tests.support.crash.installation import CrashInstallation
from tests.support.ledger import Ledger
from tests.support.sql.calls import Connection, Counts, counts, create, maintain
from tests.support.sql.server_crash import Round, drain, kill_server, run_until_killed
from tests.support.wait import wait_until

SOURCE = cast("Source", os.environ.get("PENSTOCK_TEST_POSTGRES", "any"))


@pytest.fixture
def server(state: Path) -> Iterator[Postgres]:
    """Yields a migrated server with its default settings: fsync and synchronous_commit are on."""
    with running_postgres(state, SystemAccount.choose(), SOURCE) as server:
        migrate(server.service_dsn(), role=ROLE)
        yield server


# --- fan out ---------------------------------------------------------------------------------------------------------
# Tests that Publish is one transaction: after a kill of any process, either all queues have the message or no queue has
# it.

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
    """Represents a topic and its queues in an installation that the test damages. `acknowledged` contains the texts of
    successful publishes.
    """

    installation: CrashInstallation
    queues: int
    acknowledged: set[str]
    published: set[str]
    outcomes: Counter[str]

    def found(self) -> None:
        """Creates the topic and its queues over SQL, because a thousand queues would otherwise take a minute."""
        with self.database() as db:
            arns = [create(db, f"reader-{number}") for number in range(self.queues)]
            topic = ("000000000000", "us-east-1", "news", "{}", "{}")
            db.execute("select queue.create_topic(%s, %s, %s, %s::jsonb, %s::jsonb)", topic)
            assert db.execute(SUBSCRIBE, (arns, TOPIC)).fetchone() == (self.queues,)

    def database(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.installation.up.dsn, autocommit=True)

    def publish(self, text: str) -> None:
        """Publishes a text, and records it if the response is 200."""
        self.published.add(text)
        given = {"Action": "Publish", "Version": "2010-03-31", "TopicArn": TOPIC, "Message": text}
        try:
            response = client_setup.post(f"http://127.0.0.1:{self.installation.port}/", data=given, timeout=30)
        except httpx.HTTPError:
            return
        if response.status_code == 200:
            self.acknowledged.add(text)

    def strike(self, victim: Victim, text: str, under_way: Future[None]) -> None:
        """Kills a process during a publish, and restarts everything."""
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
        """Returns whether a publish succeeds."""
        text = f"after {time.monotonic_ns()}"
        self.publish(text)
        return text in self.acknowledged

    def check(self) -> Counter[str]:
        """Checks that each text has all copies or no copy, and that each acknowledged text has all copies. Returns the
        number of copies by text."""
        with self.database() as db:
            copies: Counter[str] = Counter(dict(db.execute(COPIES).fetchall()))
        assert set(copies.values()) <= {self.queues}
        assert self.acknowledged <= copies.keys() <= self.published
        return copies


def survive(state: Path, queues: int, rounds: int) -> Counter[str]:
    """Publishes and kills `rounds` times. Returns the number of rounds by outcome."""
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
                time.sleep(rng.uniform(0, duration))  # The kill can happen at any moment during the publish.
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
# After SIGKILL of the whole server, acknowledged messages exist, and deleted messages do not return.


ROUNDS = 3


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
    # In each round, at most one call by each actor received no response. A call covers at most 10 messages.
    assert findings.unknown_sends <= ROUNDS * 40
    assert findings.unknown_deletes <= ROUNDS * 40


# --- schedules -------------------------------------------------------------------------------------------------------
# Kills workers and PostgreSQL with SIGKILL, and runs workers with wrong clocks. Every occurrence fires exactly once.

CLOCKS_SECONDS = (3600, -3600, 0, 1800)

# One third of the schedules are one-time schedules, one third have cron expressions with catch-up, and one third have
# rates. Half of the occurrences were missed, and the other half is in the future. The expected rows are pairs of a name
# and a time.
_EXPECTED = """
create table public.expected as
select n, format('s%%s', n) as name, n %% 3 as kind, t as at
from generate_series(1, %(schedules)s) n
cross join lateral (
    select date_trunc('second', %(middle)s::timestamptz) - interval '1 second' * (hashint8(n) & 63) as anchor) a
cross join lateral (
    select s from (values (10), (15), (20), (30)) v(s) offset n / 3 %% 4 limit 1) v(s)
cross join lateral (
    select %(middle)s::timestamptz + interval '1 second' * (hashint8(n) %% %(reach)s) as t where n %% 3 = 0
    union all
    select to_timestamp(e) from generate_series(
        (extract(epoch from %(middle)s::timestamptz)::bigint - %(reach)s) / s * s + s,
        extract(epoch from %(middle)s::timestamptz)::bigint + %(reach)s, s) e where n %% 3 = 1
    union all
    select a.anchor + k * interval '1 minute' from generate_series(0, 5) k
    where n %% 3 = 2
        and a.anchor + k * interval '1 minute' <= %(middle)s::timestamptz + %(reach)s * interval '1 second') t
"""
_SCHEDULES = """
insert into queue.schedule (account_id, region, name, api, expression_kind,
    expression, canonical, timezone, anchor_at, end_at,
    catchup, catchup_limit, target, next_fire_at, due_at)
select '000000000000', 'us-east-1', e.name, case when e.kind = 2 then 'aws' else 'rest' end,
    (array['fire_at', 'cron', 'rate'])[e.kind + 1], e.canonical, e.canonical, 'UTC', e.first,
    %(middle)s::timestamptz + %(reach)s * interval '1 second', true, 10000,
    case when e.kind = 2 then jsonb_build_object('Arn', 'arn:aws:sqs:us-east-1:000000000000:jobs',
        'Input', '<aws.scheduler.schedule-arn> <aws.scheduler.scheduled-time>')
    else '{"queue": "jobs", "message": null}' end, e.first, e.first
from (
    select x.name, x.kind, min(x.at) as first, case x.kind
        when 0 then queue.schedule_time(min(x.at))
        when 1 then format('*/%%s * * * * *', (array[10, 15, 20, 30])[x.n / 3 %% 4 + 1])
        else 'rate(1 minute)' end as canonical
    from public.expected x group by x.n, x.name, x.kind) e
"""
# The query reads the messages from the queue's table without a receive.
_SENT = """
select coalesce(a.h ->> 'name', split_part(split_part(m.body, ' ', 1), '/', 3)) as name,
    coalesce(a.h ->> 'scheduled_for', split_part(m.body, ' ', 2))::timestamptz as at
from (select body, attributes from queue.log union all select body, attributes from queue.side) m
cross join lateral (select (m.attributes -> '_schedule' ->> 'StringValue')::jsonb as h) a
"""
_LEFT_OUT = """
select count(*) from (select name, at from public.expected except select name, at from public.sent) d
"""


class Workers:
    """Runs a worker process for each clock, and replaces killed workers."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.processes = [self.start(seconds) for seconds in CLOCKS_SECONDS]

    def start(self, seconds: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.programs.schedule_worker", self.dsn, str(seconds)]
        )

    def kill(self, which: int) -> None:
        victim = self.processes[which]
        victim.kill()
        victim.wait()
        self.processes[which] = self.start(CLOCKS_SECONDS[which])

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("schedules", "reach", "kills"), [(300, 4, 4), pytest.param(50_000, 60, 200, marks=pytest.mark.slow)]
)
def test_every_occurrence_fires_once(server: Postgres, state: Path, schedules: int, reach: int, kills: int) -> None:
    """Every other kill ends PostgreSQL. A fixed number of occurrences fires between two kills."""
    expected = set_up(server.superuser_dsn("penstock"), schedules, reach)
    workers = Workers(server.service_dsn())
    rnd = random.Random(5)
    try:
        for kill in range(1, kills + 1):
            until_fired(server.service_dsn(), expected // 2 * kill // kills)
            if kill % 2:
                workers.kill(rnd.randrange(len(CLOCKS_SECONDS)))
            else:
                kill_server(server.data)
                assert not start(state, SystemAccount.choose(), SOURCE).adopted
        until_fired(server.service_dsn(), expected)
        until_idle(server.service_dsn())
    finally:
        workers.stop()
    with psycopg.connect(server.superuser_dsn("penstock"), autocommit=True) as db:
        check(db)


def set_up(dsn: str, schedules: int, reach: int) -> int:
    """Inserts the schedules. Returns the number of occurrences."""
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("select queue.create('jobs')")
        middle = number_or_time(db, "select date_trunc('second', clock_timestamp())")
        values = {"schedules": schedules, "middle": middle, "reach": reach}
        db.execute(_EXPECTED, values)
        db.execute(_SCHEDULES, values)
        expected = number(db, "select count(*) from public.expected")
        assert number(db, "select count(*) from public.expected where at > clock_timestamp()") > expected / 8
        return expected


def number(db: Connection, query: LiteralString) -> int:
    row = db.execute(query).fetchone()
    return int(row[0]) if row else 0


def number_or_time(db: Connection, query: LiteralString) -> datetime:
    row = db.execute(query).fetchone()
    assert row is not None
    found: datetime = row[0]
    return found


def until_fired(dsn: str, count: int) -> None:
    """Returns when the given number of occurrences has fired. Fails if no occurrence fires for a minute."""
    with psycopg.connect(dsn, autocommit=True) as db:
        last = now = number_or_time(db, "select clock_timestamp()")
        before = -1
        while (fired := number(db, "select count(*) from queue.schedule_run")) < count:
            now = number_or_time(db, "select clock_timestamp() from pg_sleep(0.05)")
            if fired > before:
                before, last = fired, now
            assert now - last < timedelta(minutes=1), "nothing fires any more"


def until_idle(dsn: str) -> None:
    """Returns when no worker has a lease, so all work is committed."""
    with psycopg.connect(dsn, autocommit=True) as db:
        while number(db, "select count(*) from queue.schedule where status = 'active' and due_at is not null"):
            pass


def check(db: Connection) -> None:
    db.execute(f"create table public.sent as {_SENT}".encode())
    db.execute("create view public.fired as select schedule_id, scheduled_for as at from queue.schedule_run"
               " where fired_at is not null and not out_of_band")  # fmt: skip
    db.execute("create view public.recurring as"
               " select s.schedule_id, e.at from public.expected e join queue.schedule s using (name)")  # fmt: skip
    db.execute("analyze")
    expected = number(db, "select count(*) from public.expected")
    assert number(db, "select count(*) from public.sent") == expected
    assert number(db, "select count(distinct (name, at)) from public.sent") == expected
    assert number(db, _LEFT_OUT) == 0
    assert number(db, "select count(*) from public.fired") == expected
    assert number(db, "select count(*) from (table public.recurring except table public.fired) d") == 0
    # One-time schedules are deleted, and no run waits for a retry.
    assert number(db, "select count(*) from queue.schedule where expression_kind = 'fire_at'") == 0
    assert number(db, "select count(*) from queue.schedule_retry") == 0
    recurring = number(db, "select count(*) from public.expected where kind > 0")
    assert number(db, "select count(*) from public.recurring") == recurring
    assert number(db, "select sum(fire_count) from queue.schedule") == recurring
