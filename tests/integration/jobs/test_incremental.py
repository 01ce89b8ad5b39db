"""Tests that successive runs compute the same metrics as plain SQL on the whole history, and write only changed
rows."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from pyspark.sql import SparkSession

from penstock_metrics.database.ranges import find_kept_since, last_range
from penstock_metrics.database.read import SourceDatabase as Source
from penstock_metrics.database.runs import Run
from penstock_metrics.database.snapshot import share_snapshot
from penstock_metrics.run import RequestedSpan, compute
from penstock_metrics.span import to_micros
from tests.support.database import Database, TestServer
from tests.support.jobs import reference

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]
BERLIN, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
WINDOW = (
    "window_seconds, queue_id, group_id, starts_at, ends_at, arrivals, deliveries, redeliveries, deletions,"
    " dead_lettered, purged, expired, moved, depth, waiting, received, oldest_age_us, groups, top_group_share, gini"
)
LATENCY = (
    "window_seconds, queue_id, group_id, measure, starts_at, ends_at, count, sum_us, p50_us, p90_us, p95_us, p99_us,"
    " max_us, sketch_buckets, sketch_counts, negative_count"
)
TABLES = {"metrics_window": WINDOW, "metrics_latency": LATENCY}
DAYS = 6
Connection = psycopg.Connection[Any]


class JobInstallation:
    """Holds an installation with queues, messages and job runs."""

    def __init__(self, spark: SparkSession, database: Database, connection: Connection) -> None:
        self.source = Source(spark, database.dsn)
        self.database, self.connection = database, connection

    def run(self, zone: ZoneInfo = BERLIN, start: datetime | None = None, end: datetime | None = None) -> Run:
        return compute(self.source, RequestedSpan(zone, start, end))

    def queue(self, name: str) -> int:
        self.connection.execute("select queue.create(%s)", (name,))
        return self.id_of(name)

    def id_of(self, name: str) -> int:
        return int(self.scalar("select queue_id from queue.queues where name = %s", name))

    def scalar(self, query: str, *parameters: object) -> Any:
        row = self.connection.execute(query.encode(), parameters).fetchone()
        assert row is not None
        return row[0]

    def check(self, zone: ZoneInfo = BERLIN) -> None:
        """Checks the windows of every existing queue that began before the end of the last run. The check excludes the
        measurements of the last run, because plain SQL would measure the current state.
        """
        at = self.scalar("select max(to_at) from queue.metrics_run where error is null")
        first = datetime.combine(datetime.now(zone).date() - timedelta(DAYS), datetime.min.time(), zone)
        end = datetime.combine(datetime.now(zone).date() + timedelta(1), datetime.min.time(), zone)
        with self.connection.transaction(force_rollback=True):
            reference.compute(self.connection, first, end, zone.key)
            for table, columns in TABLES.items():
                mine = self.rows(
                    table, columns, "zone in ('', %s) and starts_at >= %s and starts_at <= %s", zone.key, first, at
                )
                oracle = table.replace("metrics", "oracle")
                theirs = self.connection.execute(
                    f"select {columns} from {oracle} where starts_at <= %s order by {columns}".encode(), (at,)
                ).fetchall()
                assert mine == theirs

    def rows(self, table: str, columns: str, condition: str, *parameters: object) -> list[tuple[Any, ...]]:
        exists = "(queue_id = 0 or queue_id in (select q.queue_id from queue.queues q))"
        query = f"select {columns} from queue.{table} where {exists} and {condition} order by {columns}"
        return self.connection.execute(query.encode(), parameters).fetchall()

    def versions(self, condition: str = "true") -> dict[tuple[Any, ...], Any]:
        """Returns the rows of both tables by their keys, with the transaction that wrote each row."""
        found = {}
        for table, columns in TABLES.items():
            key = ", ".join(columns.split(", ")[: 4 if table == "metrics_window" else 5])
            query = f"select {key}, zone, xmin::text from queue.{table} where {condition}"
            for *name, version in self.connection.execute(query.encode()).fetchall():
                found[(table, *name)] = version
        return found


@pytest.fixture
def installation(spark: SparkSession, database: Database) -> Iterator[JobInstallation]:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        yield JobInstallation(spark, database, connection)


def record(connection: Connection, queue_id: int, age: timedelta, group: str | None = None) -> None:
    """Records a message that was sent `age` ago, and was deleted 40 seconds after the send."""
    connection.execute(
        "insert into queue.history (first_received_at, queue_id, receive_count, outcome, group_id, sent_at,"
        " finished_at) values (now() - %(age)s + interval '10 s', %(queue)s, 1, 'deleted', %(group)s,"
        " array[now() - %(age)s], array[now() - %(age)s + interval '40 s'])",
        {"age": age, "queue": queue_id, "group": group},
    )


def send(connection: Connection, name: str, age: timedelta, number: int = 1) -> None:
    """Adds stored messages that were sent the given time ago."""
    connection.execute("select queue.send_batch(%s, array_fill('1'::jsonb, array[%s]))", (name, number))
    connection.execute(
        "update queue.log l set sent_at = sent_at - %s from queue.queues q"
        " where q.name = %s and l.queue_id = q.queue_id and l.sent_at > now() - interval '1 minute'",
        (age, name),
    )


def acknowledge(connection: Connection, name: str) -> None:
    row = connection.execute("select msg_id from queue.receive(%s, 300, 1)", (name,)).fetchone()
    assert row is not None
    connection.execute("select queue.delete(%s, %s)", (name, row[0]))


@pytest.fixture(scope="module")
def ran(spark: SparkSession, postgres: TestServer) -> Iterator[JobInstallation]:
    """Yields the state after a first run. A transaction that was open during the first run then commits."""
    with postgres.database() as database, psycopg.connect(database.dsn, autocommit=True) as connection:
        installation = JobInstallation(spark, database, connection)
        for name in ("slowpoke", "busy", "gone", "silent"):
            installation.queue(name)
        first_run(installation)
        yield installation


def first_run(installation: JobInstallation) -> None:
    connection, busy = installation.connection, installation.id_of("busy")
    history = """update queue.queues set attributes = attributes || '{"history": "false"}' where name = 'silent'"""
    connection.execute(history.encode())
    send(connection, "slowpoke", timedelta(days=3), 2)
    send(connection, "gone", timedelta(hours=2), 9)
    send(connection, "silent", timedelta(hours=2), 5)
    for name in ("busy", "gone"):
        send(connection, name, timedelta(minutes=5), 3)
        acknowledge(connection, name)
    for age in (2, 26, 50):
        record(connection, busy, timedelta(hours=age), "g")
    with psycopg.connect(installation.database.dsn) as slow:
        record(slow, busy, timedelta(hours=30))
        send(slow, "busy", timedelta(minutes=90))
        installation.run()
        slow.commit()
    acknowledge(connection, "silent")


def test_the_next_run_writes_what_changed(ran: JobInstallation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run finds a message that ended after three days, late records, a late commit, a re-created queue, and a
    run that died between the two tables."""
    installation = ran
    connection, busy = installation.connection, installation.id_of("busy")
    slowpoke, gone, silent = map(installation.id_of, ("slowpoke", "gone", "silent"))
    first, before = last_range(connection, BERLIN.key), installation.versions()
    acknowledge(connection, "slowpoke")
    record(connection, busy, timedelta(days=4))
    connection.execute("select queue.delete_queue('gone')")
    again = installation.queue("gone")
    send(connection, "gone", timedelta(0))
    monkeypatch.setattr("penstock_metrics.transforms.results.build_latencies", dies)
    with pytest.raises(RuntimeError):
        installation.run()
    monkeypatch.undo()
    assert first is not None
    assert last_range(connection, BERLIN.key) == first
    record(connection, busy, timedelta(hours=3))
    installation.run()
    installation.check()
    after = installation.versions()
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert {(key[0], key[2]) for key in changed} >= {
        ("metrics_window", slowpoke),
        ("metrics_latency", slowpoke),
        ("metrics_window", busy),
        ("metrics_window", again),
    }
    assert not [key for key in changed if key[2] == gone], "its past is not written again"
    assert not [key for key in after if key[2] == silent], "the outcome of its messages is unknown"
    old = first.snapshot.at - timedelta(hours=26)
    starts = {key[-2] for key in changed if key[2] == slowpoke}
    assert all(start > old for start in starts), "its end is new; that it was there was known"


@pytest.mark.slow
def test_a_backfill_leaves_no_hole(ran: JobInstallation) -> None:
    """The backfill computes other days in another zone. The next normal run still begins at the last normal
    run's end."""
    installation = ran
    connection, busy = installation.connection, installation.id_of("busy")
    last = last_range(connection, BERLIN.key)
    day = datetime.now(TOKYO).replace(hour=0, minute=0, second=0, microsecond=0)
    record(connection, busy, timedelta(hours=60))
    installation.run(TOKYO, day - timedelta(days=2), day - timedelta(days=1))
    assert last_range(connection, BERLIN.key) == last
    assert last_range(connection, TOKYO.key) is None
    zones = connection.execute(
        "select zone, count(distinct starts_at) from queue.metrics_window"
        " where window_seconds = 86400 and zone <> %s group by 1",
        (BERLIN.key,),
    ).fetchall()
    assert zones == [(TOKYO.key, 1)]
    record(connection, busy, timedelta(hours=100))
    installation.run()
    installation.check()


@pytest.mark.slow
def test_each_zone_has_its_days(ran: JobInstallation) -> None:
    """The first run in another zone computes all days of that zone. The days of the first zone do not change."""
    ran.run(TOKYO)
    ran.check(TOKYO)
    ran.check(BERLIN)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_incremental_runs_equal_a_full_run_after_random_news(
    installation: JobInstallation, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Twelve runs in two zones follow random changes. Some of the runs compute other days, and some stop between
    writing the two tables."""
    news = News(installation, random.Random(seed))
    for _ in range(12):
        news.happen()
        zone, kind = news.chance.choice([BERLIN, BERLIN, TOKYO]), news.chance.random()
        if kind < 0.15:
            monkeypatch.setattr("penstock_metrics.transforms.results.build_latencies", dies)
            with pytest.raises(RuntimeError):
                installation.run(zone)
            monkeypatch.undo()
        elif kind < 0.3:
            start = datetime.now(UTC) - timedelta(hours=news.chance.randrange(24, 120))
            installation.run(zone, start, start + timedelta(hours=30))
        else:
            installation.run(zone)
            installation.check(zone)
    news.commit()
    for zone in (BERLIN, TOKYO):
        installation.run(zone)
        installation.check(zone)


class News:
    """Adds random messages of random ages. The transactions of some messages commit several runs later."""

    def __init__(self, installation: JobInstallation, chance: random.Random) -> None:
        self.installation, self.chance = installation, chance
        self.slow: psycopg.Connection[Any] | None = None
        self.names = ["a", "b", "c"]
        for name in self.names:
            installation.queue(name)

    def happen(self) -> None:
        if self.slow is not None and self.chance.random() < 0.4:
            self.commit()
        elif self.slow is None and self.chance.random() < 0.5:
            self.slow = psycopg.connect(self.installation.database.dsn)
            self.add(self.slow)
        for _ in range(self.chance.randrange(6)):
            self.add(self.installation.connection)
        name = self.chance.choice(self.names)
        if self.chance.random() < 0.1:
            self.installation.connection.execute("select queue.delete_queue(%s)", (name,))
            self.installation.queue(name)

    def commit(self) -> None:
        if self.slow is not None:
            self.slow.commit()
            self.slow.close()
            self.slow = None

    def add(self, connection: Connection) -> None:
        """Adds an ended message, sends a message, or receives and perhaps deletes a message."""
        name, what = self.chance.choice(self.names), self.chance.random()
        age = timedelta(minutes=self.chance.randrange(1, 7000))
        if what < 0.4:
            self.record(connection, self.installation.id_of(name), age)
        elif what < 0.7:
            send(connection, name, age, self.chance.randrange(1, 4))
        else:
            rows = connection.execute("select msg_id from queue.receive(%s, 300, 1)", (name,)).fetchall()
            if rows and self.chance.random() < 0.7:
                connection.execute("select queue.delete(%s, %s)", (name, rows[0][0]))

    def record(self, connection: Connection, queue_id: int, age: timedelta) -> None:
        number, outcome = self.chance.choice([(0, "purged"), (1, "deleted"), (1, "deleted"), (3, "dead_lettered")])
        seconds = [self.chance.randrange(0, 90_000) for _ in range(3)]
        seconds.sort()
        connection.execute(
            "insert into queue.history (queue_id, receive_count, outcome, group_id, first_received_at, sent_at,"
            " finished_at) select %(queue)s, %(count)s, %(outcome)s, %(group)s,"
            " case when %(count)s > 0 then least(now(), at + %(s0)s * interval '1 s') end, array[at],"
            " array[least(now(), at + %(s1)s * interval '1 s')] from (select now() - %(age)s::interval as at) a",
            {
                "queue": queue_id,
                "count": number,
                "outcome": outcome,
                "group": self.chance.choice([None, "g", "h"]),
                "age": age,
                "s0": seconds[0],
                "s1": seconds[1],
            },
        )


def dies(*arguments: object) -> None:
    raise RuntimeError("between the tables")


def test_a_range_of_another_cluster_counts_for_nothing(database: Database) -> None:
    """After a restore from a dump, the transaction numbers in the rows can be higher than the numbers of the new
    cluster."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute(
            "insert into queue.metrics_range values ('UTC', 1, pg_current_snapshot(), now()),"
            " ('Asia/Tokyo', 2, '9000000000:9000000000:', now())"
        )
        found = last_range(connection, "UTC")
        assert found is not None
        assert found.run_id == 1
        assert last_range(connection, TOKYO.key) is None
        assert last_range(connection, BERLIN.key) is None


def test_since_when_the_history_has_everything(database: Database) -> None:
    """The history is complete from the oldest kept day, or from a minute after an operator enabled the history if that
    is later."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for name in ("always", "never", "again"):
            connection.execute("select queue.create(%s)", (name,))
        switch = "select * from queue.set_queue_attributes(%s, %s, null, null)"
        for name, value in (("never", "false"), ("again", "false"), ("again", "true")):
            arn = connection.execute("select arn from queue.queues where name = %s", (name,)).fetchone()
            assert arn is not None
            connection.execute(switch, (arn[0], f'{{"history": "{value}"}}'))
        today = datetime.now(UTC).date()
        for day in (today - timedelta(days=40), today - timedelta(days=10)):
            connection.execute("select queue.add_history_day('history', %s)", (day,))
        connection.execute("select queue.drop_history_days(30)")
        with share_snapshot(database.dsn) as snapshot:
            kept = find_kept_since(database.dsn, snapshot)
        ids: dict[str, int] = dict(connection.execute("select name, queue_id from queue.queues").fetchall())
    assert kept[ids["always"]] == midnight(today - timedelta(days=30))
    assert ids["never"] not in kept
    assert 0 <= kept[ids["again"]] - to_micros(datetime.now(UTC)) <= 60_000_000
    assert kept[0] == 0


def midnight(day: date) -> int:
    return to_micros(datetime(day.year, day.month, day.day, tzinfo=UTC))
