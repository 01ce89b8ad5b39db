"""Tests queue.minute, which stores the calls to a queue in each minute, and the number of its messages.

Also tests the verdicts' input: the minutes for a page of queues in one call, and other facts about the queues.
"""

from datetime import timedelta

import pytest

from penstock.postgres.statements.installation import STORE_MEASUREMENTS, STORE_MINUTES
from penstock.postgres.statements.metrics import (
    READ_ACCOUNT_MINUTES,
    READ_MINUTES,
    READ_VERDICT_FACTS,
    VerdictFactsRow,
)
from penstock.verdicts import Minute
from tests.support.sql.calls import (
    Connection,
    arn_of,
    call,
    create,
    delete,
    delete_by_id,
    queue_id,
    receive,
    redrive,
    send,
    value,
)
from tests.support.sql.metric_rows import add_minutes, add_window, current_minute

SUFFIXES = pytest.mark.parametrize("suffix", ["", ".fifo"])
COUNTS = "sum(sent), sum(received), sum(redelivered), sum(deleted), sum(dead_lettered)"


def store(db: Connection, most: int = 100) -> int:
    """Returns the number of queues that were active since the last call."""
    return sum(row.queues for row in call(db, STORE_MINUTES, 1000, most, 0))


def counts(db: Connection, arn: str) -> tuple[int, ...]:
    """Returns the queue's numbers of sent, received, redelivered, deleted and dead-lettered messages in all minutes."""
    query = f"select {COUNTS} from queue.minute where queue_id = %s"
    row = db.execute(query.encode(), (queue_id(db, arn),)).fetchone()
    assert row is not None
    return tuple(int(number or 0) for number in row)


def held(db: Connection, arn: str) -> tuple[int, ...]:
    """Returns the numbers of visible, in-flight and delayed messages in the queue's last minute."""
    query = "select visible, in_flight, delayed from queue.minute where queue_id = %s order by starts_at desc limit 1"
    row = db.execute(query, (queue_id(db, arn),)).fetchone()
    assert row is not None
    return tuple(row)


@SUFFIXES
def test_each_call_counts_once(db: Connection, suffix: str) -> None:
    arn = create(db, "q" + suffix)
    for number in range(3):
        send(db, arn, str(number), group="g" if suffix else None)
    receive(db, arn, 2, visibility=0)
    again = receive(db, arn, 2)
    delete(db, again)
    delete(db, again)
    assert store(db) == 1
    assert counts(db, arn) == (3, 4, 2, 2, 0)
    assert held(db, arn) == (1, 0, 0)
    assert store(db) == 0
    assert counts(db, arn) == (3, 4, 2, 2, 0)


def test_deletions_by_id_and_of_the_slow_path_count(db: Connection) -> None:
    arn = create(db)
    sent = [*send(db, arn, "received", "waits"), *send(db, arn, "delayed", delay=900)]
    receive(db, arn, 1)
    delete_by_id(db, arn, *[row.id for row in sent if row.id])
    store(db)
    assert counts(db, arn)[3] == 3


@SUFFIXES
def test_a_dead_letter_leaves_one_queue_and_enters_the_other(db: Connection, suffix: str) -> None:
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead))
    for number in range(3):
        send(db, arn, str(number), group="g" if suffix else None)
    receive(db, arn, 3, visibility=0)
    receive(db, arn, 3)
    store(db)
    assert counts(db, arn) == (3, 3, 0, 0, 3)
    assert counts(db, dead) == (3, 0, 0, 0, 0)
    assert (held(db, arn), held(db, dead)) == ((0, 0, 0), (3, 0, 0))


def test_a_move_task_delivers_nothing(db: Connection) -> None:
    arn, other = create(db), create(db, "other")
    send(db, arn, "m")
    receive(db, arn, visibility=0)
    moved = value(db, "select moved from queue.move_log(%s, 1, 10, %s, '-infinity')", queue_id(db, arn), other)
    store(db)
    assert moved == 1
    assert counts(db, arn) == (1, 1, 0, 0, 0)
    assert counts(db, other) == (1, 0, 0, 0, 0)


def test_a_rolled_back_send_is_not_counted(db: Connection) -> None:
    arn = create(db)
    with db.transaction(force_rollback=True):
        send(db, arn, "m")
    assert store(db) == 0


def test_minutes_without_a_change_have_no_row(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "m")
    receive(db, arn)
    store(db)
    db.execute("update queue.minute set starts_at = starts_at - interval '5 minutes'")
    rows = value(db, "select count(*) from queue.minute")  # two, if a minute began during `store`
    call(db, STORE_MEASUREMENTS, 100, 0)
    assert value(db, "select count(*) from queue.minute") == rows
    # The visibility timeout ends, which changes the queue without a call.
    db.execute("update queue.lease set visible_at = clock_timestamp() - interval '1 second' where ids <> '{}'")
    newest = "select last_received_at from queue.minute order by starts_at desc limit 1"
    received_at = value(db, newest)
    call(db, STORE_MEASUREMENTS, 100, 0)  # ends the round
    call(db, STORE_MEASUREMENTS, 100, 0)
    assert value(db, "select count(*) from queue.minute") == rows + 1
    assert held(db, arn) == (1, 0, 0)
    assert value(db, newest) == received_at


def test_of_too_many_queues_the_busiest_have_rows(db: Connection) -> None:
    busy, quiet = create(db), create(db, "quiet")
    for arn in (busy, busy, quiet):
        send(db, arn, "m")
    assert store(db, most=1) == 1
    assert counts(db, busy)[0] == 2
    assert counts(db, quiet)[0] == 0


def account_counts(db: Connection) -> list[tuple[str, int, int]]:
    """Returns each account with the messages that entered and left its queues in all minutes."""
    query = "select account_id, sum(entered)::int, sum(finished)::int from queue.account_minute group by 1 order by 1"
    return [(row[0], row[1], row[2]) for row in db.execute(query)]


def test_the_minutes_of_an_account_sum_all_of_its_queues(db: Connection) -> None:
    """Even queues that were not busy enough for rows count. A deleted queue does not count."""
    dead = create(db, "dead")
    busy, quiet, gone = create(db, RedrivePolicy=redrive(dead)), create(db, "quiet"), create(db, "gone")
    foreign = create(db, "foreign")
    for arn in (busy, busy, quiet, gone, foreign):
        send(db, arn, "m")
    delete(db, receive(db, quiet))
    receive(db, busy, 2, visibility=0)
    receive(db, busy, 2)  # Both messages leave the queue, and enter the dead-letter queue.
    db.execute("delete from queue.queues where name = 'gone'")
    db.execute("update queue.queues set account_id = '111122223333' where name = 'foreign'")
    store(db, most=1)
    store(db)
    assert account_counts(db) == [("000000000000", 5, 3), ("111122223333", 1, 0)]
    found = call(db, READ_ACCOUNT_MINUTES, "000000000000", "us-east-1", current_minute(db) - timedelta(hours=1))
    assert (sum(row.entered for row in found), sum(row.finished for row in found)) == (5, 3)
    assert call(db, READ_ACCOUNT_MINUTES, "000000000000", "eu-west-1", current_minute(db) - timedelta(hours=1)) == []
    db.execute("update queue.account_minute set starts_at = starts_at - interval '26 hours' where finished = 0")
    store(db)
    assert account_counts(db) == [("000000000000", 5, 3)]


def test_a_worker_pauses_20_times_as_long_as_a_call(db: Connection) -> None:
    store(db)
    pause, position = db.execute("select pause_ms, position from queue.worker_position").fetchone() or (None, None)
    assert (pause or 0) > 0
    assert position == 0
    db.execute("update queue.worker_position set pause_ms = 3600000")
    assert call(db, STORE_MINUTES, 1000, 100, 1) == []


def test_minutes_are_kept_for_25_hours(db: Connection) -> None:
    arn = create(db)
    for hours in (25, 26):
        db.execute(
            "insert into queue.minute (queue_id, starts_at) values (%s, now() - %s + interval '1 minute')",
            (queue_id(db, arn), timedelta(hours=hours)),
        )
    store(db)
    assert value(db, "select count(*) from queue.minute") == 1


def test_all_processes_share_the_pause(db: Connection) -> None:
    assert len(call(db, STORE_MINUTES, 1000, 100, 3_600_000)) == 1
    assert call(db, STORE_MINUTES, 1000, 100, 3_600_000) == []


MINUTE = timedelta(minutes=1)
ENDPOINT = "https://example.com/hook"


def facts(db: Connection, *names: str) -> dict[str, VerdictFactsRow]:
    return {row.arn: row for row in call(db, READ_VERDICT_FACTS, [arn_of(name) for name in names])}


def test_minutes_come_in_the_order_of_the_queues_and_of_time(db: Connection) -> None:
    now = current_minute(db)
    for name in ("a", "b"):
        create(db, name)
        add_minutes(db, queue_id(db, arn_of(name)), [Minute(now - ago * MINUTE, sent=ago) for ago in (1, 3, 2, 4)])
    arns = [arn_of("b"), arn_of("none"), arn_of("a")]
    rows = call(db, READ_MINUTES, arns, now - 3 * MINUTE, now - MINUTE)
    assert [(row.n, row.sent) for row in rows] == [(1, 3), (1, 2), (3, 3), (3, 2)]
    assert (rows[0].visible, rows[0].oldest_at, rows[0].last_received_at) == (None, None, None)


def test_of_too_many_minutes_the_last_ones(db: Connection) -> None:
    create(db, "a")
    db.execute(
        "insert into queue.minute (queue_id, starts_at) select %s, timestamptz '2026-01-01Z' + n * interval '1 minute' "
        "from generate_series(0, 1500) n",
        (queue_id(db, arn_of("a")),),
    )
    far = current_minute(db)
    rows = call(db, READ_MINUTES, [arn_of("a")], far - timedelta(days=3650), far)
    assert len(rows) == 1500
    assert rows[0].starts_at.minute == 1


def test_at_most_200_queues(db: Connection) -> None:
    create(db, "last")
    arns = [arn_of(f"none-{n}") for n in range(199)]
    assert len(call(db, READ_VERDICT_FACTS, [*arns, arn_of("last")])) == 1
    assert call(db, READ_VERDICT_FACTS, [*arns, arn_of("none"), arn_of("last")]) == []


def test_the_state_of_a_queue_is_read(db: Connection) -> None:
    for name in ("a", "lost", "ordered.fifo"):
        create(db, name)
    redrive = f'{{"deadLetterTargetArn": "{arn_of("lost")}", "maxReceiveCount": 3}}'
    db.execute(
        "update queue.queues set attributes = attributes || jsonb_build_object('RedrivePolicy', %s::text) "
        "where name = 'a'",
        (redrive,),
    )
    hour = current_minute(db).replace(minute=0)
    add_window(db, queue_id(db, arn_of("a")), hour, seconds=3600, top_group_share=0.75)
    db.execute(
        "insert into queue.measurement "
        "(queue_id, measured_at, visible, in_flight, delayed, noisy_groups, dead_lettered) "
        "values (%s, clock_timestamp(), 3, 2, 1, 4, 0)",
        (queue_id(db, arn_of("a")),),
    )
    found = facts(db, "a", "lost", "ordered.fifo")
    a, lost, ordered = (found[arn_of(name)] for name in ("a", "lost", "ordered.fifo"))
    assert (a.fifo, a.dead_letters, a.noisy_groups, a.top_group_share) == (False, False, 4, 0.75)
    assert (a.visible, a.in_flight, a.delayed, a.oldest_at) == (3, 2, 1, None)
    assert (lost.dead_letters, lost.measured_at, lost.top_group_share) == (True, None, None)
    assert ordered.fifo


def test_forecasts_of_the_metrics_job_since_yesterday_are_read(db: Connection) -> None:
    for name, warnings, age in (
        ("soon", '{"retention_seconds": 7200, "fastest_rate": 1.5, "mean_rate": 2}', "1 hour"),
        ("old", '{"retention_seconds": 7200}', "25 hours"),
        ("fine", "{}", "1 hour"),
    ):
        create(db, name)
        db.execute(
            "insert into queue.metrics_forecast (queue_id, computed_at, arrival_rate, drain_rate, backlog, warnings)"
            " values (%s, clock_timestamp() - %s::interval, 1, 1, 1, %s)",
            (queue_id(db, arn_of(name)), age, warnings),
        )
    found = facts(db, "soon", "old", "fine")
    soon = found[arn_of("soon")]
    assert soon.retention_at is not None
    assert 3500 < (soon.retention_at - soon.read_at).total_seconds() <= 3600
    assert [found[arn_of(name)].never_catches_up for name in ("soon", "old", "fine")] == [True, False, False]
    assert [found[arn_of(name)].retention_at for name in ("old", "fine")] == [None, None]


def test_paused_endpoints_are_those_whose_deliveries_end_in_the_queue(db: Connection) -> None:
    create(db, "lost")
    create(db, "other")
    endpoint_key = f"000000000000 {ENDPOINT}"
    db.execute(
        "insert into queue.outgoing_delivery"
        " (notice_id, account_id, endpoint, raw, dead_letter_arn, waiting, waits_for)"
        " values (1, '000000000000', %s, true, %s, true, %s)",
        (ENDPOINT, arn_of("lost"), endpoint_key),
    )
    db.execute(
        "insert into queue.delivery_endpoint (endpoint_key, next_at, account_id, host)"
        " values (%s, clock_timestamp(), '000000000000', 'h')",
        (endpoint_key,),
    )
    assert facts(db, "lost")[arn_of("lost")].paused_endpoints == 0
    db.execute("update queue.delivery_endpoint set paused_until = clock_timestamp()")
    found = facts(db, "lost", "other")
    assert [found[arn_of(name)].paused_endpoints for name in ("lost", "other")] == [1, 0]


def test_mappings_that_stand(db: Connection) -> None:
    """The facts contain the reason why Penstock stopped a mapping, and the enabled mapping that has failed for the
    longest time."""
    for name in ("fine", "stands"):
        create(db, name)
    for name, function, enabled, reason, hours in (
        ("fine", "a", True, "USER_INITIATED", None),
        ("fine", "b", False, "USER_INITIATED", 1),
        ("stands", "a", False, "no rights", None),
        ("stands", "b", True, "USER_INITIATED", 1),
        ("stands", "c", True, "USER_INITIATED", 2),
    ):
        db.execute(
            "insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled, "
            "reason, failing_since, last_result) "
            "values ('0', 'r', %s, %s, '{}', %s, %s, now() - %s * interval '1 hour', %s)",
            (arn_of(name), function, enabled, reason, hours, f"PROBLEM: {function}"),
        )
    found = facts(db, "fine", "stands")
    fine, stands = found[arn_of("fine")], found[arn_of("stands")]
    assert (fine.stopped_mapping, fine.failing_since, fine.failing_result) == (None, None, None)
    assert (stands.stopped_mapping, stands.failing_result) == ("no rights", "PROBLEM: c")
    assert stands.failing_since is not None
