"""Tests the worker `maintain`, and the jump of ids after a failover or a restore."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest

from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.installation import (
    CHECK_SERVER,
    JUMP_IDS,
    MAINTAIN_INSTALLATION,
    MAINTAIN_QUEUE,
    NEXT_QUEUES,
    QUEUES_WITH_LEFTOVER_ROWS,
)
from penstock.postgres.statements.messages import RECEIVE_MESSAGES
from penstock.postgres.statements.move_tasks import RUN_MOVE_TASK, START_MOVE_TASK
from penstock.postgres.statements.queues import CREATE_QUEUE, DESCRIBE_QUEUE, DROP_QUEUE, PURGE_MESSAGES
from penstock.settings import Settings
from penstock.workers import maintain
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    ACCOUNT,
    REGION,
    BackgroundCall,
    Connection,
    Counts,
    bodies,
    call,
    change,
    check_groups_again,
    counts,
    create,
    delete,
    delete_by_id,
    history,
    purge,
    queue_id,
    receive,
    redrive,
    rows_of,
    send,
    value,
)
from tests.support.sql.calls import maintain as call_maintain

# --- maintain worker -------------------------------------------------------------------------------------------------
# Tests the worker `maintain`: concurrent runs have a time limit, and each run continues where the last run ended.

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
    """Replaces the clock so that the run ends after one check."""
    seconds = count(0.0, maintain.MAX_RUN_SECONDS * 0.4)
    monkeypatch.setattr(maintain, "monotonic", lambda: next(seconds))


def create_queues(db: Connection, number: int) -> list[str]:
    """Creates queues that each contain one deleted message, which maintenance has not cleaned yet."""
    arns = [create(db, f"q{n}") for n in range(number)]
    for arn in arns:
        send(db, arn, "m")
        delete(db, receive(db, arn))
    return arns


@pytest.mark.usefixtures("one_look")
def test_a_run_goes_on_where_the_last_one_stopped(db: Connection) -> None:
    arns = create_queues(db, 2 * maintain.QUEUES_PER_PAGE + 1)
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
    """The process cleans rows without a queue in each round while such rows remain, and otherwise after a pause."""
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
    # Every machine finishes within this time.
    monkeypatch.setattr(maintain, "MAX_RUN_SECONDS", 600.0)
    arns = create_queues(db, 60)
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
    """Acknowledged messages and empty groups count as content. Rows that are already cleaned do not count."""
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
    purge(db, done_fifo)  # A purge keeps the row of the group, but a delete removes the row.
    (old_id,) = ids(db, old)
    call(db, MAINTAIN_QUEUE, old_id)
    found = call(db, QUEUES_WITH_LEFTOVER_ROWS, ids(db, *arns))
    assert [row.queue_id for row in found] == ids(db, waits, late, taken, done, fifo, done_fifo)


def ids(db: Connection, *arns: str) -> list[int]:
    return [value(db, "select queue_id from queue.queues where arn = %s", arn) for arn in arns]


@pytest.mark.parametrize("table", ["deduplication", "topic_deduplication", "archive"])
def test_a_table_that_refuses_changes_keeps_no_other_from_being_cleaned(db: Connection, table: str) -> None:
    """The run still raises the error, which appears in the log and in the metrics of the worker."""
    (arn,) = create_queues(db, 1)
    db.execute(b"create function refuse() returns trigger language plpgsql as $$begin raise 'refused'; end$$")
    query = f"create trigger refuse before delete on queue.{table} for each statement execute function refuse()"
    db.execute(query.encode())
    with pytest.raises(psycopg.errors.RaiseException, match="refused"):
        maintain.run_once(SETTINGS, TransactionExecutor(db))
    cleaned = [history(db, arn) == {"deleted": 1}, value(db, "select to_regclass(%s)", tomorrow()) is not None]
    assert cleaned == [table != "archive", True]


def tomorrow() -> str:
    return f"queue.history_{datetime.now(UTC) + timedelta(days=1):%Y%m%d}"


# --- id jumps --------------------------------------------------------------------------------------------------------
# Tests that ids jump after a failover or a restore, far above all ids that were lost. Without the jump, an application
# that holds a lost message's id would delete another message.
#
# Also tests a database clock that goes back because of NTP or a host with a slower clock. Stored times are then in the
# future. Workers and limits follow the new clock. Messages stay invisible until the promised time.

JUMP = 2**32


def sent_id(db: Connection, arn: str, **options: Any) -> int:
    """Sends a message. Returns the id that SQL and REST show."""
    (row,) = send(db, arn, "m", **options)
    assert row.id is not None
    return row.id


def check(db: Connection, after_restore: bool = False) -> bool:
    (row,) = call(db, CHECK_SERVER, after_restore)
    return row.flag


def jump(db: Connection) -> None:
    """Imitates a failover: the server's timeline differs from the stored timeline."""
    check(db)
    db.execute("update queue.server set timeline = timeline - 1")
    assert check(db)
    while call(db, JUMP_IDS, 2)[0].changed:
        pass


def test_the_same_server_changes_nothing(db: Connection) -> None:
    create(db)
    assert [check(db), check(db)] == [False, False]
    assert value(db, "select timeline from queue.server") == 1
    assert call(db, JUMP_IDS, 10) == [(0,)]
    assert value(db, "select count(*) from queue.id_jump") == 0


@pytest.mark.parametrize("column", ["timeline", "system_identifier"])
def test_another_server_lets_ids_jump_once(db: Connection, column: str) -> None:
    arns = [create(db, f"q{number}", shards=2) for number in range(5)]
    before = [sent_id(db, arn) for arn in arns]
    check(db)
    db.execute(f"update queue.server set {column} = {column} - 1".encode())
    assert [check(db), check(db)] == [True, False]
    assert [call(db, JUMP_IDS, 2)[0].changed for _ in range(5)] == [2, 2, 1, 0, 0]
    for arn, old in zip(arns, before, strict=True):
        for _ in range(2):  # The send can choose either shard.
            new = sent_id(db, arn)
            assert (new >> 8) >= JUMP
            assert old < new < 2**53


def test_a_restore_that_shows_neither(db: Connection) -> None:
    arn = create(db)
    check(db)
    assert check(db, after_restore=True)
    call(db, JUMP_IDS, 10)
    assert sent_id(db, arn) >> 8 > JUMP


def test_ids_of_fifo_queues_and_of_the_slow_path_jump(db: Connection) -> None:
    fifo, standard = create(db, "q.fifo"), create(db)
    old = [sent_id(db, fifo, group="g"), sent_id(db, standard, delay=900)]
    jump(db)
    new = [sent_id(db, fifo, group="g"), sent_id(db, standard, delay=900)]
    assert [after - before >= JUMP << 8 for before, after in zip(old, new, strict=True)] == [True, True]


def test_an_old_id_deletes_nothing(db: Connection) -> None:
    """The id belongs to a lost message. Without the jump, the next message would receive the same id."""
    arn = create(db)
    kept = sent_id(db, arn)
    jump(db)
    send(db, arn, "new")
    assert delete_by_id(db, arn, kept + 256) == []
    assert sorted(bodies(receive(db, arn))) == ["m", "new"]


def test_counts_stay_exact(db: Connection) -> None:
    """The counts are exact before and after the first message above the gap, and after a second jump."""
    arn = create(db)
    send(db, arn, *"123")
    delete(db, receive(db, arn, 1))
    for expected in (2, 3):
        jump(db)
        assert counts(db, arn) == Counts(expected, 0, 0)
        assert total(db, arn) == expected + 1
        send(db, arn, "m")
        assert counts(db, arn) == Counts(expected + 1, 0, 0)
        assert total(db, arn) == expected + 2
    received = receive(db, arn, 3)
    assert counts(db, arn) == Counts(1, 3, 0)
    assert delete(db, received) == ["deleted"] * 3
    assert delete(db, receive(db, arn)) == ["deleted"]
    assert counts(db, arn) == Counts(0, 0, 0)
    assert total(db, arn) == 5


def total(db: Connection, arn: str) -> int:
    (row,) = call(db, DESCRIBE_QUEUE, arn, True)
    assert row.total_messages is not None
    return row.total_messages


def test_everything_is_cleaned_across_the_gap(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *"12")
    jump(db)
    send(db, arn, *"34")
    messages = receive(db, arn)  # the lease spans the gap
    assert change(db, messages[1:2], 0) == ["changed"]
    assert delete(db, [messages[0], *messages[2:]]) == ["deleted"] * 3
    assert delete(db, receive(db, arn)) == ["deleted"]
    for _ in range(3):
        send(db, arn, "later")
        delete(db, receive(db, arn))
        assert call_maintain(db, arn) < 100_000
    assert history(db, arn) == {"deleted": 7}
    assert [rows_of(db, table, arn) for table in ("log", "side", "hole")] == [0, 0, 0]


def test_a_purge_across_the_gap(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *"12")
    jump(db)
    send(db, arn, *"34")
    assert purge(db, arn) == 4
    assert rows_of(db, "lease", arn) < 10
    assert counts(db, arn) == Counts(0, 0, 0)
    send(db, arn, "5")
    assert bodies(receive(db, arn)) == ["5"]


def test_noisy_groups_across_the_gap(db: Connection) -> None:
    arn = create(db)
    for _ in range(40):
        send(db, arn, "noisy", group="noisy")
    receive(db, arn, 40, lease_size=40)
    send(db, arn, "noisy", group="noisy")
    send(db, arn, "quiet", group="quiet")
    jump(db)
    send(db, arn, "noisy", group="noisy")
    send(db, arn, "quiet", group="quiet")
    check_groups_again(db, arn)
    assert bodies(receive(db, arn, 2)) == ["quiet", "quiet"]
    assert bodies(receive(db, arn, 10)) == ["noisy", "noisy"]


def test_a_shard_with_a_writer_jumps_later(db: Connection, connect: Connect) -> None:
    arn = create(db)
    with connect() as application:
        application.execute("begin")
        send(application, arn, "open")
        jump(db)
        assert rows_of(db, "late_id_jump", arn) == 1
        application.execute("commit")
    call(db, JUMP_IDS, 10)
    assert rows_of(db, "late_id_jump", arn) == 0
    assert sent_id(db, arn) >> 8 > JUMP
    assert counts(db, arn) == Counts(2, 0, 0)


def test_a_deleted_queue_leaves_nothing(db: Connection) -> None:
    arn = create(db)
    jump(db)
    call(db, DROP_QUEUE, arn)
    call(db, MAINTAIN_INSTALLATION, 100, 30, None)
    assert value(db, "select count(*) from queue.id_jump") == 0


@pytest.mark.parametrize("worker", ["maintain", "measure"])
def test_workers_begin_their_round(db: Connection, worker: str) -> None:
    create(db)
    options = (worker, 20, 10_000)
    assert call(db, NEXT_QUEUES, *options)
    assert not call(db, NEXT_QUEUES, *options)  # the end of the round
    assert not call(db, NEXT_QUEUES, *options)  # the pause after the round
    db.execute("update queue.worker_position set ran_at = ran_at + interval '1 hour'")
    assert call(db, NEXT_QUEUES, *options)


def test_a_move_task_goes_on(db: Connection) -> None:
    dead = create(db, "dead")
    source = create(db, RedrivePolicy=redrive(dead))
    send(db, source, "m")
    receive(db, source, visibility=0)
    assert receive(db, source) == []
    (started,) = call(db, START_MOVE_TASK, dead, source, 500, None, None, None, None)
    db.execute("update queue.move_task set paced_at = paced_at + interval '1 hour'")
    for _ in range(1000):  # The rate applies from now on, so the task moves one message every 2 ms.
        if call(db, RUN_MOVE_TASK, started.task_id, 100)[0].moved:
            break
    assert bodies(receive(db, source)) == ["m"]


def test_a_queue_may_be_purged_and_made_again(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "m")
    assert call(db, PURGE_MESSAGES, arn, 60)[0].error is None
    db.execute("update queue.queues set purged_at = purged_at + interval '1 hour'")
    assert call(db, PURGE_MESSAGES, arn, 60)[0].error is None
    call(db, DROP_QUEUE, arn)
    db.execute("update queue.dropped_queue set dropped_at = dropped_at + interval '1 hour'")
    defaults = value(db, "select queue.default_attributes(false)::text")
    (made,) = call(db, CREATE_QUEUE, ACCOUNT, REGION, "orders", "{}", defaults, None, 1, 60)
    assert made.error is None


def test_messages_in_flight_are_counted_again(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "m")
    db.execute("update queue.queues set counts_in_flight = true")
    db.execute(
        "insert into queue.in_flight values (%s, 120000, clock_timestamp() + interval '1 hour')", (queue_id(db, arn),)
    )
    header, *rows = call(db, RECEIVE_MESSAGES, arn, 1, 10, None, 120_000, False, None)
    assert (header.error, len(rows)) == (None, 1)
