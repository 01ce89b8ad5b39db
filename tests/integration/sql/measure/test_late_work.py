"""Tests the work of an account that is late or fails, and the queues that may need attention.

The rows of other accounts, and the rows that need no attention, are never read, because an index leads to the others.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, LiteralString, TypeVar, cast

import psycopg
import pytest

from penstock.drivers import run
from penstock.management.attention.reading import collect_other_concerns, read_judged
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.mappings import LIST_TROUBLED_MAPPINGS
from penstock.postgres.statements.metrics import READ_LATE_WORK, LateWorkRow
from penstock.postgres.statements.queues import READ_OVERVIEW, READ_QUEUE_PAGE, OverviewRow
from penstock.postgres.statements.schedules import LIST_TROUBLED_SCHEDULES
from tests.support.database import Database
from tests.support.sql.calls import Connection, call, create, receive, redrive, send, value
from tests.support.wait import wait_until

RowT = TypeVar("RowT", bound=Row)
PLACE = ("000000000000", "us-east-1")
MANY = 3_000
SCHEDULES: LiteralString = """
insert into queue.schedule (account_id, region, name, api, expression_kind, expression, canonical, timezone, target,
    next_fire_at, due_at, status, consecutive_failures, last_error)
select %(account)s, 'us-east-1', %(name)s || n, 'rest', 'cron', '0 * * * *', '0 * * * *', 'UTC', '{}',
    clock_timestamp() + %(due)s, clock_timestamp() + %(due)s, %(status)s, %(failures)s, %(error)s
from generate_series(1, %(number)s) n"""


def schedules(db: Connection, name: str, due: timedelta, number: int = 1, **columns: Any) -> None:
    known = {"account": PLACE[0], "status": "active", "failures": 0, "error": None}
    db.execute(SCHEDULES, {**known, **columns, "name": name, "due": due, "number": number})


def late_work(db: Connection, most: int = 10_000) -> dict[str, LateWorkRow]:
    return {row.kind: row for row in call(db, READ_LATE_WORK, *PLACE, most, 60.0, 600.0, 10_000_000)}


def test_late_schedules_are_counted_from_the_first(db: Connection) -> None:
    schedules(db, "soon", timedelta(hours=1), 5)
    schedules(db, "just-due", timedelta(seconds=-30))
    schedules(db, "paused", timedelta(hours=-2), status="paused")
    schedules(db, "foreign", timedelta(hours=-2), account="111122223333")
    assert late_work(db) == {}
    schedules(db, "late", timedelta(minutes=-5), 3)
    row = late_work(db)["schedules_late"]
    assert (row.name, row.number) == ("late1", 3)
    assert row.since == value(db, "select min(due_at) from queue.schedule where name ^@ 'late'")
    assert late_work(db, most=2)["schedules_late"].number == 2


def test_late_work_names_a_transaction_with_a_lock(db: Connection, database: Database) -> None:
    """Readers and young transactions do not count. Locks on the table of the late work come first. The service's role
    does not see when the transaction of a superuser began (pg_stat_activity, PostgreSQL's manual).
    """
    schedules(db, "late", timedelta(minutes=-5))

    def blocker(limit: float) -> str:
        return call(db, READ_LATE_WORK, *PLACE, 9, limit, 600.0, 10_000_000)[0].error or ""

    with psycopg.connect(database.api_dsn) as holder, psycopg.connect(database.dsn) as foreign:
        holder.execute("select from queue.schedule")
        assert not blocker(0)
        holder.execute("select from queue.schedule for key share")
        assert not blocker(60)
        named = (
            f"PostgreSQL's process {holder.info.backend_pid} holds a lock on queue.schedule, in a transaction since 2"
        )
        assert blocker(0).startswith(named)
        foreign.execute("lock table queue.log in row exclusive mode")
        assert blocker(60) == f"PostgreSQL's process {foreign.info.backend_pid} holds a lock on queue.log"
        assert blocker(0).startswith(named)


def test_a_schedule_fails_since_its_first_missed_occurrence(db: Connection) -> None:
    schedules(db, "fails", timedelta(hours=1), failures=2, error="the queue does not exist")
    db.execute(
        "insert into queue.schedule_run (schedule_id, scheduled_for, fired_at, error) "
        "select s.schedule_id, date_trunc('hour', now()) - n * interval '1 hour', case when n > 2 then now() end, "
        "case when n <= 2 then 'x' end from queue.schedule s, generate_series(5, 1, -1) n"
    )
    row = late_work(db)["schedule_fails"]
    assert (row.name, row.number, row.error) == ("fails1", 2, "the queue does not exist")
    assert row.since == value(db, "select date_trunc('hour', now()) - interval '2 hours'")


def test_a_schedule_is_paused_by_its_failures_at_the_threshold(db: Connection) -> None:
    """A pause by a user before the threshold does not count, nor does a disabled schedule of EventBridge Scheduler."""
    schedules(db, "s", timedelta(hours=1), failures=3, status="paused", error="x")
    assert late_work(db).keys() == {"schedule_paused"}
    for other in ("failure_threshold = 4", "status = 'active'", "api = 'aws'"):
        db.execute("begin")
        db.execute(f"update queue.schedule set {other}")
        assert late_work(db).keys() == {"schedule_fails"}, other
        db.execute("rollback")


def test_lists_begin_with_paused_schedules_then_the_most_overdue_then_those_that_fail(db: Connection) -> None:
    schedules(db, "b-fails", timedelta(hours=-1), failures=1)
    schedules(db, "a-paused", timedelta(hours=1), failures=3, status="paused")
    schedules(db, "late", timedelta(minutes=-5))
    schedules(db, "z-later", timedelta(minutes=-50))
    schedules(db, "soon", timedelta(hours=1))
    schedules(db, "foreign", timedelta(hours=-2), failures=1, account="111122223333")

    def names(prefix: str | None = None, status: str | None = None, limit: int = 50) -> list[str]:
        rows = call(db, LIST_TROUBLED_SCHEDULES, *PLACE, "default", prefix, status, 60.0, limit)
        return [str(row.schedule["name"]) for row in rows]

    assert names() == ["a-paused1", "z-later1", "late1", "b-fails1"]
    assert names(limit=2) == ["a-paused1", "z-later1"]
    assert names(status="paused") == ["a-paused1"]
    assert names(prefix="l") == ["late1"]


MAPPINGS: LiteralString = """
insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled, reason,
    failing_since)
values ('000000000000', 'us-east-1', 'q', 'works', '{}', true, 'USER_INITIATED', null),
    ('000000000000', 'us-east-1', 'q', 'stopped', '{}', false, 'its user was deleted', null),
    ('000000000000', 'us-east-1', 'q', 'disabled', '{}', false, 'USER_INITIATED', now()),
    ('000000000000', 'us-east-1', 'q', 'fails', '{}', true, 'USER_INITIATED', now() - interval '1 hour'),
    ('000000000000', 'us-east-1', 'other', 'fails longer', '{}', true, 'x', now() - interval '2 hours'),
    ('111122223333', 'us-east-1', 'q', 'foreign', '{}', true, 'x', now() - interval '2 hours')"""


def test_lists_begin_with_mappings_that_fail_or_were_stopped(db: Connection) -> None:
    """A mapping that a user disabled is no trouble."""
    db.execute(MAPPINGS)
    rows = [call(db, LIST_TROUBLED_MAPPINGS, *PLACE, queue, 50) for queue in (None, "q")]
    assert [[row.mapping["function_arn"] for row in found] for found in rows] == [
        ["fails longer", "fails", "stopped"], ["fails", "stopped"],
    ]  # fmt: skip


def test_a_mapping_fails_from_its_first_failures_while_its_queue_has_messages(db: Connection) -> None:
    """A mapping that has just failed once can still succeed at the next attempt."""
    arn = create(db, "q")
    db.execute(MAPPINGS)
    db.execute("update queue.event_source_mapping set queue_arn = %s", (arn,))
    assert not late_work(db).keys() & {"mapping_fails", "mapping_stopped"}
    send(db, arn, "a")
    db.execute("select queue.store_measurements(100, 0)")
    found = [row for row in call(db, READ_LATE_WORK, *PLACE, 9, 60.0, 600.0, 10_000_000) if row.mapping_id]
    assert [(row.kind, row.owner, row.name, row.error) for row in found] == [
        ("mapping_fails", "q", "fails longer", "No records processed"),
        ("mapping_fails", "q", "fails", "No records processed"),
        ("mapping_stopped", "q", "stopped", "its user was deleted"),
    ]  # fmt: skip
    receive(db, arn, 1)
    db.execute("update queue.event_source_mapping set enabled = true, failing_since = now() - interval '5 seconds'")
    assert "mapping_fails" not in late_work(db)
    db.execute("update queue.event_source_mapping set failing_since = now() - interval '11 seconds'")
    assert late_work(db)["mapping_fails"].number == 0


def test_deliveries_are_late_unless_they_wait_for_an_endpoint(db: Connection) -> None:
    insert: LiteralString = (
        "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, due_at, waiting, state) "
        "select n, '000000000000', 'https://a.test', false, now() - interval '2 minutes', n = 2, "
        "case n when 3 then 'exhausted' else 'pending' end from generate_series(%s, 4) n"
    )
    db.execute(insert, (2,))
    row = late_work(db)["deliveries_late"]
    assert row.number == 1
    assert row.since == value(db, "select min(due_at) from queue.outgoing_delivery where notice_id = 4")


@pytest.mark.parametrize(
    ("name", "measured", "number"),
    [("oldest_transaction", 601, 1), ("oldest_transaction", 600, None), ("oldest_xmin", 10_000_001, 10_000_001),
     ("oldest_xmin", 10_000_000, None)],
)  # fmt: skip
def test_an_old_transaction_comes_from_the_last_measurement(
    db: Connection, name: str, measured: int, number: int | None
) -> None:
    db.execute("insert into queue.reading (name, value) values (%s, %s)", (name, measured))
    found = late_work(db)
    kind = {"oldest_transaction": "old_transaction", "oldest_xmin": "old_snapshot"}[name]
    assert (found[kind].number if kind in found else None) == number
    if number == 1:
        since = found[kind].since
        assert since is not None
        assert value(db, "select %s between now() - interval '11 minutes' and now() - interval '10 minutes'", since)


# --- dead letters ----------------------------------------------------------------------------------------------------
def overview(db: Connection) -> list[OverviewRow]:
    for _ in range(2):
        db.execute("select queue.store_measurements(100, 0)")
    return call(db, READ_OVERVIEW, *PLACE, 50)


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_a_dead_letter_lies_in_the_queue_since_its_move(db: Connection, suffix: str) -> None:
    """The count includes a dead letter that a consumer has just received."""
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead))
    send(db, arn, "a", "b", group="g" if suffix else None)
    receive(db, arn, 2, visibility=0)
    db.execute("update queue.log set sent_at = sent_at - interval '3 hours'")
    db.execute("update queue.fifo_message set sent_at = sent_at - interval '3 hours'")
    receive(db, arn, 2)
    receive(db, dead, 1)
    total, *rows = overview(db)
    assert (total.dead_letters, total.queues, total.measured) == (2, 2, True)
    (row,) = [row for row in rows if row.dead_letters]
    assert row.name == "dead" + suffix
    assert value(db, "select %s > now() - interval '1 hour'", row.oldest_at)


# --- plans -----------------------------------------------------------------------------------------------------------
def fetched(db: Connection, statement: LiteralString, *arguments: object) -> Counter[str]:
    """Returns the number of rows of each table that a call reads, with and without an index."""
    query = """
        select relname, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int from pg_stat_xact_user_tables
        where schemaname = 'queue'"""
    with db.transaction():
        before = Counter(dict(db.execute(query).fetchall()))
        db.execute(statement, arguments)
        return Counter(dict(db.execute(query).fetchall())) - before


@pytest.fixture(scope="module")
def many(shared_database: Database) -> Iterator[Connection]:
    """Creates many empty queues of which 20 have messages, schedules and minutes, and up-to-date statistics."""
    with psycopg.connect(shared_database.dsn, autocommit=True) as administration:
        create(administration, "template")
        administration.execute(
            "insert into queue.queues (account_id, region, name, shards, attributes) "
            "select account_id, region, 'queue-' || n, 1, attributes from queue.queues, generate_series(1, %s) n",
            (MANY,),
        )
        administration.execute(
            "insert into queue.measurement (queue_id, measured_at, visible, in_flight, delayed, noisy_groups, "
            "dead_lettered) select queue_id, now(), greatest(0, 20 - queue_id), 0, 0, 0, 0 from queue.queues "
            "on conflict do nothing"
        )
        schedules(administration, "soon", timedelta(hours=1), MANY)
        schedules(administration, "late", timedelta(hours=-1), 20)
        administration.execute(
            "insert into queue.account_minute select account, 'us-east-1', now() - n * interval '1 minute' "
            "from generate_series(1, 1500) n, unnest(array['000000000000', '111122223333']) account"
        )

        def vacuumed() -> bool:
            """Returns whether the index alone answers for every queue, because no snapshot is older."""
            administration.execute("vacuum analyze")
            known = "select relallvisible = relpages from pg_class where oid = 'queue.queues'::regclass"
            return bool(value(administration, known))

        wait_until(vacuumed)
    with psycopg.connect(shared_database.api_dsn, autocommit=True) as connection:
        yield connection


def test_no_page_reads_all_rows_where_an_index_can_serve(many: Connection) -> None:
    """Totals are sums over all queues, so the overview reads each measurement once, but not each queue."""
    found = fetched(many, "select queue.read_overview(%s, %s, 50)", *PLACE)
    assert MANY < found.pop("measurement") <= 2 * MANY + 200
    assert found.pop("queues") <= 200
    assert found == {}
    late = fetched(many, "select queue.read_late_work(%s, %s, 10000, 60, 600, 10000000)", *PLACE)
    assert (set(late), late["schedule"]) == ({"schedule"}, 20)
    minutes = fetched(many, "select queue.read_account_minutes(%s, %s, now() - interval '1 hour')", *PLACE)
    assert 50 < minutes["account_minute"] <= 61
    page: LiteralString = "select queue.read_queue_page(%s, %s, '', %s, false, %s, 0, 50)"
    by_name = fetched(many, page, *PLACE, "name", [])
    assert (by_name["queues"] <= 300, by_name["measurement"] <= 100) == (True, True), by_name
    dead = fetched(many, page, *PLACE, "dead", [])
    assert (dead.get("queues", 0) <= 500, dead.get("measurement", 0) <= 200) == (True, True), dead
    first = fetched(many, page, *PLACE, "trouble", [f"queue-{n}" for n in range(100, 200)])
    assert (first["queues"] <= 500, first["measurement"] <= 200) == (True, True), first


class CountingExecutor:
    """Makes calls, and lists the names of the called functions."""

    def __init__(self, db: Connection) -> None:
        self._executor = TransactionExecutor(db)
        self.called: list[str] = []

    def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]:
        self.called.append(statement.name.removeprefix("queue."))
        return self._executor.call(statement, arguments)


def test_the_overview_makes_few_calls(many: Connection) -> None:
    """A call reads the facts or the minutes of 60 queues. The number of all queues does not matter."""
    executor = CountingExecutor(many)
    settings = SimpleNamespace(queue_in_flight_limit=0)
    environment = SimpleNamespace(settings=settings)
    context = SimpleNamespace(account_id=PLACE[0], region=PLACE[1], environment=environment, user=None)
    judged = run(cast("Any", read_judged).__wrapped__(context), executor)
    assert len(judged.queues) == 19
    assert executor.called == ["read_overview", "read_verdict_facts", "read_minutes"]
    executor.called.clear()
    (late,) = run(collect_other_concerns(*PLACE), executor)
    assert (late.kind, late.number) == ("schedules_late", 20)
    assert executor.called == ["list_failed_endpoints", "read_late_work"]


def test_the_page_of_trouble_has_each_queue_once(many: Connection) -> None:
    """First come the given queues, then those with the most messages, then the others by name."""
    worst = ["queue-2000", "queue-3", "gone", "queue-1000"]
    names = [
        row.name
        for skip in range(0, MANY + 50, 500)
        for row in call(many, READ_QUEUE_PAGE, *PLACE, "", "trouble", False, worst, skip, 500)
    ]
    assert len(names) == len(set(names)) == MANY + 1
    assert names[:5] == ["queue-2000", "queue-3", "queue-1000", "template", "queue-1"]
    rest = names[22:]
    assert rest == sorted(rest)
    (found,) = call(many, READ_QUEUE_PAGE, *PLACE, "EUE-2000", "trouble", False, worst, 0, 50)
    assert (found.name, found.total) == ("queue-2000", 1)
    assert call(many, READ_QUEUE_PAGE, *PLACE, "", "trouble", False, worst, MANY + 50, 50) == []
