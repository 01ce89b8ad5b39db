"""Tests the worker `maintain`: concurrent, bounded runs that each continue at the end of the last run."""

from datetime import UTC, datetime, timedelta
from itertools import count

import psycopg
import pytest

from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.installation import MAINTAIN_QUEUE, QUEUES_WITH_LEFTOVER_ROWS
from penstock.settings import Settings
from penstock.workers import maintain
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BackgroundCall,
    Connection,
    call,
    create,
    delete,
    history,
    purge,
    receive,
    send,
    value,
)

SETTINGS = Settings.read({"QUEUE_MAINTAIN_INTERVAL_MS": "3600000"})
PAUSE_IS_OVER = "update queue.worker_position set ran_at = ran_at - interval '2 hours'"
OVER = """insert into queue.deduplication (queue_id, scope, deduplication_id, message_id, id, expires_at)
    values (1, '', 'd', gen_random_uuid(), 1, now() - interval '1 second') on conflict do nothing"""
COUNTS = (
    "arrivals, deliveries, redeliveries, deletions, dead_lettered, purged, expired, moved, depth, waiting, received"
)
DURATIONS = "measure, count, sum_us, p50_us, p90_us, p95_us, p99_us, max_us, sketch_buckets, sketch_counts"
WINDOWS = (
    ("metrics_window", COUNTS, ", ".join("0" * 11)),
    ("metrics_latency", DURATIONS, "'lag', 1, 1, 1, 1, 1, 1, 1, '{0}', '{1}'"),
)


@pytest.fixture
def one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imitates a clock that ends the run after one check."""
    seconds = count(0.0, maintain.LONGEST_RUN_SECONDS * 0.4)
    monkeypatch.setattr(maintain, "monotonic", lambda: next(seconds))


def make_queues(db: Connection, number: int) -> list[str]:
    """Creates queues with one deleted message each, which maintenance has not cleaned yet."""
    arns = [create(db, f"q{n}") for n in range(number)]
    for arn in arns:
        send(db, arn, "m")
        delete(db, receive(db, arn))
    return arns


@pytest.mark.usefixtures("one_look")
def test_a_run_goes_on_where_the_last_one_stopped(db: Connection) -> None:
    arns = make_queues(db, 2 * maintain.QUEUES_PER_PAGE + 1)
    runs = [maintain.run_once(SETTINGS, TransactionExecutor(db)) for _ in range(4)]
    assert [run["queues"] for run in runs] == [maintain.QUEUES_PER_PAGE, maintain.QUEUES_PER_PAGE, 1, 0]
    assert [history(db, arn) for arn in arns] == [{"deleted": 1}] * len(arns)


def test_a_round_is_followed_by_a_pause_for_all(db: Connection, connect: Connect) -> None:
    create(db)
    assert maintain.run_once(SETTINGS, TransactionExecutor(db))["queues"] == 1
    assert maintain.run_once(SETTINGS, TransactionExecutor(connect()))["queues"] == 0
    db.execute(PAUSE_IS_OVER.encode())
    assert maintain.run_once(SETTINGS, TransactionExecutor(connect()))["queues"] == 1


def test_rows_of_no_queue_are_cleaned_without_any_queue(db: Connection) -> None:
    db.execute("insert into queue.watcher values (1, now() - interval '1 hour', gen_random_uuid())")
    maintain.run_once(SETTINGS, TransactionExecutor(db))
    assert value(db, "select count(*) from queue.watcher") == 0


def test_a_process_cleans_what_belongs_to_no_queue_now_and_then(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process cleans the queue in each round while rows remain, and otherwise after a pause."""
    seconds = 0.0
    monkeypatch.setattr(maintain, "monotonic", lambda: seconds)
    worker = maintain.Maintainer()
    removed = []
    for seconds in (0.0, 2.0, 4.0, 11.9, 12.0):
        if seconds != 2.0:
            db.execute(OVER)
        db.execute(PAUSE_IS_OVER.encode())
        removed.append(worker.run_once(SETTINGS, TransactionExecutor(db))["rows"])
    assert removed == [1, 0, 0, 0, 1]


def test_old_windows_of_metrics_are_cleaned(db: Connection) -> None:
    """If QUEUE_METRICS_DAYS is 30, the database keeps minutes for 30 days, hours for 360 days, and days forever."""
    ages = [(60, 29), (60, 31), (3600, 359), (3600, 361), (86400, 31), (86400, 9999)]
    for table, columns, values in WINDOWS:
        query = f"""insert into queue.{table} (window_seconds, queue_id, starts_at, ends_at, {columns})
            select %(s)s, 1, t, t + %(s)s * interval '1 second', {values}
            from (select now() - %(d)s * interval '1 day' as t) t"""
        with db.cursor() as cursor:
            cursor.executemany(query.encode(), [{"s": seconds, "d": days} for seconds, days in ages])
    assert maintain.run_once(SETTINGS, TransactionExecutor(db))["rows"] == 4
    for table, _, _ in WINDOWS:
        left = db.execute(f"select window_seconds, now()::date - starts_at::date from queue.{table}".encode())
        assert sorted(left.fetchall()) == [ages[0], ages[2], ages[4], ages[5]]


def test_workers_side_by_side_clean_and_count_once(
    db: Connection, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This time is long enough for every machine.
    monkeypatch.setattr(maintain, "LONGEST_RUN_SECONDS", 600.0)
    arns = make_queues(db, 60)
    for arn in arns[:30]:
        send(db, arn, "n")
        purge(db, arn)
    workers = [
        BackgroundCall(connect(), lambda c: maintain.run_once(SETTINGS, TransactionExecutor(c))) for _ in range(4)
    ]
    runs = [worker.result() for worker in workers]
    assert sum(run["queues"] for run in runs) == len(arns)
    cleaned = [sum(history(db, arn).values()) for arn in arns]
    assert cleaned == [2] * 30 + [1] * 30
    assert sum(run["messages"] for run in runs) == sum(cleaned)


def test_only_queues_with_something_in_them_are_maintained(db: Connection) -> None:
    """Such queues include acknowledged messages and empty groups, and exclude cleaned rows."""
    arns = [create(db, name) for name in ("new", "waits", "late", "taken", "done", "waits.fifo", "done.fifo", "old")]
    _, waits, late, taken, done, fifo, done_fifo, old = arns
    for arn in (waits, taken, done, old):
        send(db, arn, "m")
    send(db, late, "m", delay=60)
    for arn in (fifo, done_fifo):
        send(db, arn, "m", group="g")
    receive(db, taken)
    for arn in (done, old):
        delete(db, receive(db, arn))
    purge(db, done_fifo)  # The purge leaves the group, and a delete removes the group.
    (old_id,) = ids(db, old)
    call(db, MAINTAIN_QUEUE, old_id)
    found = call(db, QUEUES_WITH_LEFTOVER_ROWS, ids(db, *arns))
    assert [row.queue_id for row in found] == ids(db, waits, late, taken, done, fifo, done_fifo)


def ids(db: Connection, *arns: str) -> list[int]:
    return [value(db, "select queue_id from queue.queues where arn = %s", arn) for arn in arns]


@pytest.mark.parametrize("table", ["deduplication", "topic_deduplication", "archive"])
def test_a_table_that_refuses_changes_keeps_no_other_from_being_cleaned(db: Connection, table: str) -> None:
    """The run still raises the error, which then appears in the log and in the workers' metrics."""
    (arn,) = make_queues(db, 1)
    db.execute(b"create function refuse() returns trigger language plpgsql as $$begin raise 'refused'; end$$")
    query = f"create trigger refuse before delete on queue.{table} for each statement execute function refuse()"
    db.execute(query.encode())
    with pytest.raises(psycopg.errors.RaiseException, match="refused"):
        maintain.run_once(SETTINGS, TransactionExecutor(db))
    cleaned = [history(db, arn) == {"deleted": 1}, value(db, "select to_regclass(%s)", tomorrow()) is not None]
    assert cleaned == [table != "archive", True]


def tomorrow() -> str:
    return f"queue.history_{datetime.now(UTC) + timedelta(days=1):%Y%m%d}"
