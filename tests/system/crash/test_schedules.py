"""Kills workers and all of PostgreSQL with kill -9, and uses workers with wrong clocks: every occurrence fires exactly
once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import LiteralString, cast

import psycopg
import pytest

from penstock_web.local.binaries import Source
from penstock_web.local.postgres import Postgres, start
from penstock_web.system_account import SystemAccount
from tests.support.sql.calls import Connection
from tests.support.sql.server_crash import kill_server

SOURCE = cast("Source", os.environ.get("PENSTOCK_TEST_POSTGRES", "any"))
CLOCKS_SECONDS = (3600, -3600, 0, 1800)

# A third each are one-shots, cron expressions with catch-up, and rates of EventBridge Scheduler. Half of their
# occurrences were missed already, and the other half is in the future. The expected rows are pairs of a name and a
# time.
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
# The query reads the messages of the queue from its table, and no consumer receives.
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
    """Runs a worker process for each clock. The function replaces a killed worker."""

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
    """Every second kill hits PostgreSQL. A fixed part of the work is done between two kills."""
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
    """Writes the schedules. Returns the number of occurrences."""
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
    """Returns when this many occurrences have fired. Fails if none fires for a minute."""
    with psycopg.connect(dsn, autocommit=True) as db:
        last = now = number_or_time(db, "select clock_timestamp()")
        before = -1
        while (fired := number(db, "select count(*) from queue.schedule_run")) < count:
            now = number_or_time(db, "select clock_timestamp() from pg_sleep(0.05)")
            if fired > before:
                before, last = fired, now
            assert now - last < timedelta(minutes=1), "nothing fires any more"


def until_idle(dsn: str) -> None:
    """Returns when no worker holds work, so all of it is committed."""
    with psycopg.connect(dsn, autocommit=True) as db:
        while number(db, "select count(*) from queue.schedule where status = 'active' and due_at is not null"):
            pass


def check(db: Connection) -> None:
    """Checks that the runs and the messages are exactly those expected."""
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
    # One-time schedules are gone, and no run is left to retry.
    assert number(db, "select count(*) from queue.schedule where expression_kind = 'fire_at'") == 0
    assert number(db, "select count(*) from queue.schedule_retry") == 0
    recurring = number(db, "select count(*) from public.expected where kind > 0")
    assert number(db, "select count(*) from public.recurring") == recurring
    assert number(db, "select sum(fire_count) from queue.schedule") == recurring
