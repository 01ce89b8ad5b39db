"""Tests the plain SQL of the metrics job on histories that a person can count."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.support.database import TestServer
from tests.support.jobs.history_generator import Mixture, Span, create_partitions, create_queues, write, write_steady
from tests.support.jobs.reference import Connection, compute
from tests.support.sql.calls import create, purge, queue_id, receive, redrive, send, value
from tests.support.sql.move_tasks import run, start

MINUTE, HOUR, DAY = 60, 3600, 86400
SECOND = 1_000_000
# Days in Berlin can have 23 or 25 hours, because clocks change at 01:00 UTC (Directive 2000/84/EC, articles 2 and 3).
SHORT, LONG = date(2026, 3, 29), date(2026, 10, 25)
ROW = """
insert into queue.history (recorded_at, first_received_at, queue_id, receive_count, outcome, group_id, group_ids,
    sent_at, entered_at, redelivered_at, finished_at)
values (%(recorded)s, %(received)s, %(queue)s, %(receives)s, %(outcome)s, %(group)s, %(groups)s, %(sent)s,
    %(entered)s, %(redelivered)s, %(finished)s)"""
DIGEST = """
select md5(string_agg(h::text, ' ' order by h))
from (select sent_at, finished_at, group_ids, outcome from queue.history) h"""


@pytest.fixture(scope="module")
def owner(postgres: TestServer) -> Iterator[Connection]:
    """Yields a new database. Each test is one transaction that is rolled back."""
    with postgres.database() as database, psycopg.connect(database.dsn) as connection:
        yield connection


@pytest.fixture
def db(owner: Connection) -> Iterator[Connection]:
    yield owner
    owner.rollback()


def at(text: str) -> datetime:
    """Returns a UTC time in 2026."""
    return datetime.fromisoformat(f"2026-{text}+00:00")


def record(db: Connection, queue: int, sent: list[datetime], finished: list[datetime], **more: Any) -> None:
    """Records one history row for a message that was received once and deleted, unless `more` sets other values."""
    row = {"receives": 1, "outcome": "deleted", "group": None, "groups": None, "received": sent[0]}
    row |= {"entered": None, "redelivered": None}
    row |= {"queue": queue, "sent": sent, "finished": finished, "recorded": max(finished), **more}
    db.execute(ROW.encode(), row)


def windows(db: Connection, size: int, columns: str, where: str = "group_id = ''") -> list[tuple[Any, ...]]:
    query = f"select {columns} from oracle_window where window_seconds = %s and {where} order by starts_at, group_id"
    return db.execute(query.encode(), (size,)).fetchall()


def latency(db: Connection, size: int, columns: str, where: str = "group_id = ''") -> list[tuple[Any, ...]]:
    query = f"select {columns} from oracle_latency where window_seconds = %s and {where} order by starts_at, measure"
    return db.execute(query.encode(), (size,)).fetchall()


@pytest.mark.parametrize(
    ("day", "starts", "ends", "hours"),
    [(SHORT, "03-28T23:00", "03-29T22:00", 23), (LONG, "10-24T22:00", "10-25T23:00", 25)],
)
def test_a_day_has_as_many_hours_as_its_zone_gives_it(
    db: Connection, day: date, starts: str, ends: str, hours: int
) -> None:
    """Each minute has ten messages that wait 1 to 10 ms. The nearest rank for 0.5 is the fifth value, and the nearest
    rank for 0.9 is the ninth value. All higher quantiles have the tenth value."""
    span = Span(day, 1, "Europe/Berlin")
    assert (span.from_at, span.to_at) == (at(starts), at(ends))
    write_steady(db, span, 10)
    compute(db, span.from_at, span.to_at, span.timezone)
    counts = "arrivals, deliveries, redeliveries, deletions, depth, oldest_age_us"
    messages = hours * 600
    assert windows(db, DAY, f"starts_at, ends_at, {counts}") == [
        (at(starts), at(ends), messages, messages, 0, messages, 0, None)
    ]
    assert windows(db, HOUR, counts) == [(600, 600, 0, 600, 0, None)] * hours
    assert windows(db, MINUTE, counts) == [(10, 10, 0, 10, 0, None)] * (60 * hours)
    for size, factor in ((MINUTE, 1), (HOUR, 60), (DAY, 60 * hours)):
        figures = latency(
            db, size, "measure, count, sum_us::bigint, p50_us, p90_us, p95_us, p99_us, max_us, negative_count"
        )
        n = 10 * factor
        assert figures[:3] == [
            ("lag", n, n * 1_005_500, 1_005_000, 1_009_000, 1_010_000, 1_010_000, 1_010_000, 0),
            ("processing", n, n * SECOND, *[SECOND] * 5, 0),
            ("wait", n, n * 5_500, 5_000, 9_000, 10_000, 10_000, 10_000, 0),
        ]
        assert len(figures) == 3 * 60 * hours / factor


def test_messages_at_the_end_of_a_window_are_counted(db: Connection) -> None:
    """One message was sent before the day, received in the first hour of the day, and deleted in the third hour.
    Another message arrived and stayed for 90 s."""
    (queue,) = create_queues(db, 1)
    record(db, queue, [at("05-09T23:59:58")], [at("05-10T02:00:00")], received=at("05-10T00:30:00"), receives=3)
    record(db, queue, [at("05-10T01:00:00")], [at("05-10T01:01:30")], received=at("05-10T01:00:00"))
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    columns = "starts_at, arrivals, deliveries, redeliveries, deletions, depth, waiting, received, oldest_age_us"
    # The consumer deletes the message at exactly 02:00, which belongs to the next hour.
    assert windows(db, HOUR, columns) == [
        (at("05-10T00:00"), 0, 1, 0, 0, 1, 0, 1, 3602 * SECOND),
        (at("05-10T01:00"), 1, 1, 0, 1, 1, 0, 1, 7202 * SECOND),
        (at("05-10T02:00"), 0, 2, 2, 1, 0, 0, 0, None),
    ]
    minutes = windows(db, MINUTE, "starts_at, arrivals, depth, waiting, oldest_age_us")
    assert minutes[0] == (at("05-10T00:00"), 0, 1, 1, 62 * SECOND)
    assert minutes[29:31] == [(at("05-10T00:29"), 0, 1, 1, 1802 * SECOND), (at("05-10T00:30"), 0, 1, 0, 1862 * SECOND)]
    assert minutes[60] == (at("05-10T01:00"), 1, 2, 0, 3662 * SECOND)
    assert minutes[61][2] == 1
    assert minutes[-1] == (at("05-10T02:00"), 0, 0, 0, None)
    assert len(minutes) == 121
    assert windows(db, DAY, "arrivals, deliveries, deletions, depth") == [(1, 4, 2, 0)]


def test_the_oldest_message_is_not_the_one_that_leaves_last(db: Connection) -> None:
    (queue,) = create_queues(db, 1)
    for sent, finished in (("00:00:30", "00:02:30"), ("00:00:10", "00:01:30"), ("00:00:50", "00:01:10")):
        record(db, queue, [at(f"05-10T{sent}")], [at(f"05-10T{finished}")])
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    assert windows(db, MINUTE, "depth, oldest_age_us") == [(3, 50 * SECOND), (1, 90 * SECOND), (0, None)]


def test_clocks_that_differ(db: Connection) -> None:
    """One message was deleted before it was sent, so it is never present and its durations are 0. Another message was
    received before it was sent, so it is present but not waiting."""
    (queue,) = create_queues(db, 1)
    record(db, queue, [at("05-10T00:05:00")], [at("05-10T00:03:00")], received=at("05-10T00:03:30"))
    record(db, queue, [at("05-10T00:10:00")], [at("05-10T00:12:00")], received=at("05-10T00:09:00"))
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    assert windows(db, MINUTE, "starts_at, arrivals, deliveries, deletions, depth, waiting") == [
        (at("05-10T00:03"), 0, 1, 1, 0, 0),
        (at("05-10T00:05"), 1, 0, 0, 0, 0),
        (at("05-10T00:09"), 0, 1, 0, 0, 0),
        (at("05-10T00:10"), 1, 0, 0, 1, 0),
        (at("05-10T00:11"), 0, 0, 0, 1, 0),
        (at("05-10T00:12"), 0, 0, 1, 0, 0),
    ]
    found = latency(db, DAY, "measure, count, sum_us::bigint, max_us, negative_count, sketch_buckets, sketch_counts")
    # log(120 s in microseconds) / log(1.02 / 0.98) = 465.07, log(180 s …) = 475.2
    assert found == [
        ("lag", 2, 120 * SECOND, 120 * SECOND, 1, [-2147483648, 466], [1, 1]),
        ("processing", 2, 180 * SECOND, 180 * SECOND, 1, [-2147483648, 476], [1, 1]),
        ("wait", 2, 0, 0, 2, [-2147483648], [2]),
    ]


def test_every_fate_is_counted_where_it_happened(db: Connection) -> None:
    (queue,) = create_queues(db, 1)
    for minute, outcome in enumerate(("dead_lettered", "purged", "expired", "moved")):
        record(
            db,
            queue,
            [at("05-10T00:00:00")] * 2,
            [at(f"05-10T00:{minute:02}:10")] * 2,
            outcome=outcome,
            received=None,
            receives=0,
        )
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    assert windows(db, MINUTE, "deletions, dead_lettered, purged, expired, moved, depth, waiting") == [
        (0, 2, 0, 0, 0, 6, 6),
        (0, 0, 2, 0, 0, 4, 4),
        (0, 0, 0, 2, 0, 2, 2),
        (0, 0, 0, 0, 2, 0, 0),
    ]
    assert latency(db, DAY, "measure") == []


def test_redeliveries_count_in_their_minutes(db: Connection) -> None:
    """The times of two of the four receives are known. The receives without a known time count in the minute in which
    their message ended.
    """
    (queue,) = create_queues(db, 1)
    known = [at("05-10T00:02:00"), at("05-10T00:02:59")]
    record(db, queue, [at("05-10T00:00:10")], [at("05-10T00:05:00")], receives=5, redelivered=known)
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    assert windows(db, MINUTE, "deliveries, redeliveries") == [(1, 0), (0, 0), (2, 2), (0, 0), (0, 0), (2, 2)]


MINUTES_PASS = """
update queue.log set sent_at = sent_at - %(d)s;
update queue.side set sent_at = sent_at - %(d)s, entered_at = entered_at - %(d)s,
    first_received_at = first_received_at - %(d)s;
update queue.fifo_message set sent_at = sent_at - %(d)s, first_received_at = first_received_at - %(d)s,
    redelivered_at = array(select r - %(d)s from unnest(redelivered_at) r);
update queue.lease set first_received_at = first_received_at - %(d)s, done_at = done_at - %(d)s,
    redelivered_at = array(select r - %(d)s from unnest(redelivered_at) r);
update queue.history set sent_at = array(select s - %(d)s from unnest(sent_at) s),
    entered_at = array(select s - %(d)s from unnest(entered_at) s),
    finished_at = array(select f - %(d)s from unnest(finished_at) f),
    redelivered_at = array(select r - %(d)s from unnest(redelivered_at) r),
    first_received_at = first_received_at - %(d)s"""


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_a_message_is_in_its_queue_or_in_the_dead_letter_queue_in_every_minute(db: Connection, suffix: str) -> None:
    """20 messages are sent, received two minutes later, and received again after another minute. The messages become
    dead letters two minutes later, move back in the next minute, and a purge removes them in the following minute.
    """
    began = value(db, "select clock_timestamp()").astimezone(UTC)
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 2))

    def minutes_pass(minutes: int, rest: timedelta = timedelta(0)) -> None:
        for statement in MINUTES_PASS.split(";"):
            db.execute(statement.encode(), {"d": timedelta(minutes=minutes) + rest})

    send(db, arn, *["m"] * 20, group="g" if suffix else None)
    minutes_pass(2)
    assert len(receive(db, arn, 20, visibility=0, lease_size=20)) == 20
    minutes_pass(1)
    assert len(receive(db, arn, 20, visibility=0, lease_size=20)) == 20
    minutes_pass(2)
    assert receive(db, arn, 20) == []
    minutes_pass(1)
    run(db, start(db, dead))
    minutes_pass(1)
    purge(db, arn)
    minutes_pass(1, timedelta(seconds=began.second, microseconds=began.microsecond))
    day = began.replace(hour=0, minute=0, second=0, microsecond=0)
    compute(db, day - timedelta(days=1), day + timedelta(days=1))
    columns = "starts_at, arrivals, deliveries, redeliveries, dead_lettered, moved, purged, depth"

    def found(queue: str) -> list[tuple[Any, ...]]:
        rows = windows(db, MINUTE, columns, f"group_id = '' and queue_id = {queue_id(db, queue)}")
        first = rows[0][0]
        return [((row[0] - first) // timedelta(minutes=1), *row[1:]) for row in rows]

    assert found(arn) == [
        (0, 20, 0, 0, 0, 0, 0, 20),
        (1, 0, 0, 0, 0, 0, 0, 20),
        (2, 0, 20, 0, 0, 0, 0, 20),
        (3, 0, 20, 20, 0, 0, 0, 20),
        (4, 0, 0, 0, 0, 0, 0, 20),
        (5, 0, 0, 0, 20, 0, 0, 0),
        (6, 20, 0, 0, 0, 0, 0, 20),
        (7, 0, 0, 0, 0, 0, 20, 0),
    ]
    assert found(dead) == [(0, 20, 0, 0, 0, 0, 0, 20), (1, 0, 0, 0, 0, 20, 0, 0)]


def test_groups_and_their_skew(db: Connection) -> None:
    """Gini is ((-2) 1 + 0 1 + 2 2) / (3 4) = 1/6 for groups with 1, 1 and 2 arrivals. The fifth message has no
    group."""
    (queue,) = create_queues(db, 1)
    sent = [at("05-10T00:00:00")] * 5
    finished = [at("05-10T00:00:10") + timedelta(seconds=i) for i in range(5)]
    record(db, queue, sent, finished, groups=["a", "b", "c", "c", None])
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    assert windows(db, MINUTE, "arrivals, groups, top_group_share") == [(5, 3, pytest.approx(0.4))]
    assert windows(db, DAY, "gini") == [(pytest.approx(1 / 6),)]
    each = windows(db, HOUR, "group_id, arrivals, deletions, groups, gini", "group_id <> ''")
    assert each == [("a", 1, 1, None, None), ("b", 1, 1, None, None), ("c", 2, 2, None, None)]
    lag = latency(db, HOUR, "group_id, count, p50_us, max_us", "group_id > 'b' and measure = 'lag'")
    assert lag == [("c", 2, 12 * SECOND, 13 * SECOND)]


def test_only_the_hundred_groups_with_most_arrivals_have_rows(db: Connection) -> None:
    (queue,) = create_queues(db, 1)
    # The last name occurs twice, so g099 is not among the hundred groups with the most arrivals.
    names = [f"g{i:03}" for i in range(101)] + ["g100"]
    sent = [at("05-10T00:00:00")] * len(names)
    record(db, queue, sent, sent, groups=names)
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    rows = windows(db, DAY, "group_id, arrivals", "group_id <> ''")
    assert rows == [*((f"g{i:03}", 1) for i in range(99)), ("g100", 2)]
    assert windows(db, DAY, "groups") == [(101,)]


def test_a_living_message_is_measured_in_the_window_of_the_run(db: Connection) -> None:
    (queue,) = create_queues(db, 1)
    db.execute(
        "insert into queue.side (id, visible_at, sent_at, message_id, queue_id, receive_count, first_received_at,"
        " shard, body) select n, now() + v, now() - interval '1 day', gen_random_uuid(), %s, c,"
        " case when c > 0 then now() - interval '1 day' end, -1, ''"
        " from (values (1, interval '0', 0), (2, '1 hour', 4), (3, '1 hour', 0)) m(n, v, c)",
        (queue,),
    )
    now = db.execute("select now()").fetchone()
    assert now is not None
    today = datetime.combine(now[0].astimezone(UTC).date(), datetime.min.time(), UTC)
    compute(db, today - timedelta(2), today + timedelta(1))
    columns = "starts_at, depth, waiting, redeliveries, visible, in_flight, delayed"
    assert windows(db, DAY, columns)[-1] == (today, 3, 2, 3, 1, 1, 1)
    assert windows(db, DAY, "visible")[:-1] == [(None,)]
    assert len(windows(db, MINUTE, "visible", "visible is not null")) == 1


def test_webhooks_and_schedules(db: Connection) -> None:
    db.execute(
        "insert into queue.outgoing_delivery_history (recorded_at, outcome, published_at, attempts) values"
        " ('2026-05-10 00:01:00+00', 'delivered', '{2026-05-10 00:00:58+00, 2026-05-10 00:00:59+00}', '{1,1}'),"
        " ('2026-05-10 00:01:00+00', 'exhausted', '{2026-05-10 00:00:00+00}', '{9}')"
    )
    db.execute(
        "insert into queue.schedule_run (schedule_id, scheduled_for, fired_at) values"
        " (1, '2026-05-10 00:01:00+00', '2026-05-10 00:01:00.25+00'), (1, '2026-05-10 00:02:00+00', null)"
    )
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    assert latency(db, MINUTE, "queue_id, measure, starts_at, count, p50_us, max_us") == [
        (0, "delivery", at("05-10T00:01"), 2, SECOND, 2 * SECOND),
        (0, "fire", at("05-10T00:01"), 1, 250_000, 250_000),
    ]


def test_late_rows_are_found_in_their_day(db: Connection) -> None:
    """The partition of the next day contains the rows, because they were recorded long after the message ended."""
    (queue,) = create_queues(db, 1)
    create_partitions(db, Span(date(2026, 5, 10)))
    record(db, queue, [at("05-10T23:59:00")], [at("05-10T23:59:30")], recorded=at("05-11T11:00:00"))
    compute(db, at("05-10T00:00"), at("05-11T00:00"))
    assert windows(db, HOUR, "arrivals, deletions") == [(1, 1)]


def test_a_random_history_is_the_same_each_time_and_complete(db: Connection) -> None:
    """The test writes the history twice with the same seed. The windows of each length have the same sum."""
    span, mixture = Span(SHORT, 2, "Europe/Berlin"), Mixture(3000, queues=3, groups=150)
    write(db, span, mixture)
    first = db.execute(DIGEST.encode()).fetchone()
    facts = db.execute("select count(*), count(*) filter (where finished_at < sent_at) from queue.finished_message")
    messages, skewed = facts.fetchone() or (0, 0)
    assert messages == 3000
    assert skewed > 0
    compute(db, span.from_at, span.to_at, span.timezone)
    sums = "sum(arrivals), sum(deletions + dead_lettered + purged + expired + moved)"
    totals = {size: windows_sum(db, size, sums) for size in (MINUTE, HOUR, DAY)}
    assert totals[MINUTE] == totals[HOUR] == totals[DAY]
    db.rollback()
    write(db, span, mixture)
    assert db.execute(DIGEST.encode()).fetchone() == first


def windows_sum(db: Connection, size: int, columns: str) -> tuple[Any, ...] | None:
    query = f"select {columns} from oracle_window where window_seconds = %s and group_id = ''"
    return db.execute(query.encode(), (size,)).fetchone()
