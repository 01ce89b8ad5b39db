"""Tests when and how a message entered a queue, and the times of its later receives.

A message is in only one queue at a time, from its entry into that queue until it ends or leaves. queue.history and
queue.live_message have a row for each stay (Penstock's choice). Retention counts from the send, and the age in a
dead-letter queue counts from the move to that queue (Developer Guide, "Setting-up dead-letter queue retention in Amazon
SQS").
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from penstock.postgres.statements.queues import DESCRIBE_QUEUE
from penstock.postgres.statements.stored_messages import PEEK_MESSAGES
from tests.support.sql.calls import (
    Connection,
    Delivery,
    call,
    change,
    create,
    delete,
    delete_by_id,
    maintain,
    purge,
    queue_id,
    receive,
    redrive,
    send,
    value,
)
from tests.support.sql.move_tasks import BOTH, run, start

pytestmark = pytest.mark.emptied

STAYS = """
select entered_at, finished_at, entered_by, outcome, redelivered_at, sent_at, first_received_at, receive_count
from (
    select queue_id, entered_at, finished_at, entered_by, outcome, redelivered_at, sent_at, first_received_at,
        receive_count
    from queue.live_message
    union all
    select queue_id, entered_at, finished_at, entered_by, outcome, redelivered_at, sent_at, first_received_at,
        receive_count
    from queue.finished_message) m
where queue_id = %s order by entered_at, finished_at"""


def stays(db: Connection, arn: str) -> list[tuple[Any, ...]]:
    return db.execute(STAYS, (queue_id(db, arn),)).fetchall()


def how(db: Connection, arn: str) -> list[tuple[str, str | None]]:
    """Returns entered_by and outcome for each stay in a queue."""
    return [(stay[2], stay[3]) for stay in stays(db, arn)]


@dataclass
class Marks:
    """Holds the moments between the steps of a test, and the messages in two queues at these moments."""

    db: Connection
    arns: tuple[str, ...]
    at: list[datetime] = field(default_factory=list)

    def mark(self) -> datetime:
        self.at.append(value(self.db, "select clock_timestamp()"))
        return self.at[-1]

    def depths(self) -> list[tuple[int, ...]]:
        """Returns the number of messages in each queue at each moment."""
        lives = [stays(self.db, arn) for arn in self.arns]
        return [tuple(sum(e < at and (f is None or f > at) for e, f, *_ in stay) for stay in lives) for at in self.at]


@pytest.mark.parametrize("storage", ["log", "side table", ".fifo"])
def test_a_message_is_in_one_queue_at_a_time(db: Connection, storage: str) -> None:
    """The test sends, dead-letters, redrives and purges the messages. Cleaning does not change the contents of the
    views."""
    suffix = storage if storage == ".fifo" else ""
    group = "g" if suffix else None
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 1))
    marks = Marks(db, (arn, dead))
    marks.mark()
    send(db, arn, *["m"] * 20, group=group)
    marks.mark()
    received = receive(db, arn, 20, visibility=0, lease_size=20)
    if storage == "side table":
        change(db, received, 0)
    marks.mark()
    assert receive(db, arn) == []
    marks.mark()
    run(db, start(db, dead))
    marks.mark()
    purge(db, arn)
    marks.mark()
    expected = [(0, 0), (20, 0), (20, 0), (0, 20), (20, 0), (0, 0)]
    assert marks.depths() == expected
    for queue in (arn, dead):
        maintain(db, queue)
    assert marks.depths() == expected
    assert how(db, dead) == [("dead_lettered", "moved")] * 20
    assert how(db, arn) == [("sent", "dead_lettered")] * 20 + [("moved", "purged")] * 20


def test_a_dead_letter_ends_and_enters_at_one_moment(db: Connection) -> None:
    """The message keeps its send time. One message is in the log, and the other in the side table."""
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send(db, arn, "1", "2")
    one, _ = receive(db, arn, visibility=0)
    change(db, [one], 0)
    assert receive(db, arn) == []
    before, after = stays(db, arn), stays(db, dead)
    assert sorted(stay[1] for stay in before) == sorted(stay[0] for stay in after)
    assert {stay[5] for stay in after} == {stay[5] for stay in before}
    assert all(entered > sent for entered, *_, sent, _, _ in after)


def test_the_age_in_a_dead_letter_queue_counts_from_the_move_and_retention_from_the_sending(db: Connection) -> None:
    dead = create(db, "dead", MessageRetentionPeriod="172800")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send(db, arn, "m")
    db.execute("update queue.log set sent_at = sent_at - interval '1 day'")
    receive(db, arn, visibility=0)
    assert receive(db, arn) == []
    (row,) = call(db, DESCRIBE_QUEUE, dead, True)
    assert row.oldest_age_seconds is not None
    assert row.oldest_age_seconds < 3600
    db.execute("update queue.side set sent_at = sent_at - interval '1 day'")
    maintain(db, dead)
    assert how(db, dead) == [("dead_lettered", "expired")]


@pytest.mark.parametrize("end", ["delete", "delete by id", "purge", "move"])
@BOTH
def test_how_a_message_came_is_known_however_it_ends(db: Connection, suffix: str, end: str) -> None:
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 1))
    other = create(db, "other" + suffix)
    send(db, arn, "m", group="g")
    receive(db, arn, visibility=0)
    assert receive(db, arn) == []
    if end == "move":
        run(db, start(db, dead, other))
    elif end == "purge":
        purge(db, dead)
    elif end == "delete":
        assert delete(db, receive(db, dead)) == ["deleted"]
    else:
        (message,) = receive(db, dead)
        assert delete_by_id(db, dead, message.public_id) == [message.public_id]
    outcome = {"move": "moved", "purge": "purged"}.get(end, "deleted")
    assert how(db, dead) == [("dead_lettered", outcome)]


def test_moved_messages_among_others_keep_that_they_were_moved(db: Connection) -> None:
    """The moved messages share a lease with other messages, are in the side table, are deleted before a receive, or are
    dead-lettered again."""
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send(db, arn, *"123")
    receive(db, arn, visibility=0)
    assert receive(db, arn) == []
    send(db, arn, "sent")
    run(db, start(db, dead))
    assert how(db, arn)[3:] == [("sent", None)] + [("moved", None)] * 3
    _, one, two, three = sorted(receive(db, arn, 4, visibility=0), key=lambda message: message.public_id)
    assert delete(db, [one]) == ["deleted"]
    change(db, [two], 900)
    assert receive(db, arn) == []  # The first and the last message become dead letters again.
    assert delete(db, [two]) == ["deleted"]
    maintain(db, arn)
    assert sorted(how(db, arn)) == [
        ("moved", "dead_lettered"), ("moved", "deleted"), ("moved", "deleted"),
        *[("sent", "dead_lettered")] * 4,
    ]  # fmt: skip
    assert {h for h in how(db, dead) if h[1] is None} == {("dead_lettered", None)}
    assert three.message_id in {message.message_id for message in receive(db, dead)}


@BOTH
def test_clients_see_no_attribute_of_ours(db: Connection, suffix: str) -> None:
    """A move task sent the message. The test receives the message, peeks at it, and moves it to the dead-letter queue
    again."""
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 1))
    send(db, arn, "m", group="g")
    receive(db, arn, visibility=0)
    assert receive(db, arn) == []
    run(db, start(db, dead))
    (peeked,) = call(db, PEEK_MESSAGES, arn, "visible", None, 10, None)
    (received,) = receive(db, arn, visibility=0)
    assert receive(db, arn) == []
    (again,) = call(db, PEEK_MESSAGES, dead, "visible", None, 10, None)
    assert (peeked.entered_by, again.entered_by) == ("moved", "dead_lettered")
    assert peeked.entered_at_ms == peeked.sent_at_ms <= again.entered_at_ms
    for message in (peeked, received, again):
        assert "EnteredBy" not in json.loads(message.system or "{}")


@pytest.mark.parametrize("storage", ["log", "side table", "q.fifo"])
def test_when_a_message_was_received_again(db: Connection, storage: str) -> None:
    """The recorded time is between the moments before and after each receive, and stays the same after the message
    ends."""
    arn = create(db, "q.fifo" if storage == "q.fifo" else "q")
    marks, messages = Marks(db, ()), list[Delivery]()
    send(db, arn, "m", group="g")
    for number in range(4):
        marks.mark()
        messages = receive(db, arn, visibility=0)
        if storage == "side table" and number == 1:
            change(db, messages, 0)
    marks.mark()
    (live,) = stays(db, arn)
    assert delete(db, messages) == ["deleted"] if storage != "q.fifo" else purge(db, arn) == 1
    maintain(db, arn)
    (ended,) = stays(db, arn)
    assert live[4] == ended[4]
    assert live[7] == ended[7] == 4
    assert len(live[4]) == 3
    for at, after, before in zip(live[4], marks.at[1:], marks.at[2:], strict=False):
        assert after < at < before


def test_each_message_of_a_lease_has_its_own_redeliveries(db: Connection) -> None:
    """Consumers acknowledge messages immediately, or receive them again together with some or all of the other
    messages."""
    arn = create(db)
    send(db, arn, *"12345")
    delete(db, receive(db, arn, 5, visibility=0)[:1])
    receive(db, arn, 1, visibility=0)
    receive(db, arn, 5, visibility=0)
    found = sorted((stay[7], len(stay[4] or ())) for stay in stays(db, arn))
    assert sum(count - 1 for count, _ in found) == sum(known for _, known in found) == 5
    assert all(known == count - 1 for count, known in found)


def test_a_move_task_is_no_redelivery(db: Connection) -> None:
    """A move task takes messages from the log as a receive does, but no consumer receives the moved messages."""
    dead, other = create(db, "dead"), create(db, "other")
    create(db, RedrivePolicy=redrive(dead, 1))
    send(db, dead, "1", "2")
    receive(db, dead, 2, visibility=0)
    receive(db, dead, 2, visibility=0)
    run(db, start(db, dead, other))
    maintain(db, dead)
    assert [(stay[7], len(stay[4])) for stay in stays(db, dead)] == [(2, 1)] * 2
    assert how(db, other) == [("moved", None)] * 2


@BOTH
def test_only_the_first_hundred_redeliveries_are_kept(db: Connection, suffix: str) -> None:
    arn = create(db, "q" + suffix)
    send(db, arn, "m", group="g")
    for _ in range(3):
        receive(db, arn, visibility=0)
    for table in ("lease", "fifo_message"):
        db.execute(
            f"update queue.{table} set redelivered_at = array_fill(timestamptz '2026-01-01', array[99]) where"
            " redelivered_at is not null".encode()
        )
    for _ in range(3):
        receive(db, arn, visibility=0)
    ((*_, redelivered, _, _, count),) = stays(db, arn)
    assert (len(redelivered), count) == (100, 6)


@BOTH
def test_an_ordinary_message_stores_nothing_of_this(db: Connection, suffix: str) -> None:
    """The rows of an ordinary message contain nulls in the columns about moves and later receives."""
    arn = create(db, "q" + suffix)
    send(db, arn, "1", "2", group="g")
    send(db, arn, "later", group="h", delay=None if suffix else 900)
    receive(db, arn, 2)
    stored = """
        select count(*) from (select redelivered_at from queue.lease union all select redelivered_at from queue.side
            union all select redelivered_at from queue.fifo_message union all select entered_at from (
                select array[entered_at] as entered_at from queue.side where entered_at is not null) s) r
        where redelivered_at is not null"""
    assert value(db, stored) == 0
    purge(db, arn)
    maintain(db, arn)
    extra = "select count(*) from queue.history where num_nonnulls(entered_at, entered_by, redelivered_at) > 0"
    assert value(db, extra) == 0
    assert [stay[2] for stay in stays(db, arn)] == ["sent"] * 3
    assert all(stay[0] == stay[5] for stay in stays(db, arn))


def test_rows_of_the_previous_release_read_as_before(db: Connection) -> None:
    """Without the new columns, dead letters and history rows count as entered at the send time and as never
    redelivered."""
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send(db, arn, "m")
    receive(db, arn, visibility=0)
    assert receive(db, arn) == []
    db.execute("update queue.side set entered_at = null")
    db.execute(
        "insert into queue.history (queue_id, outcome, receive_count, sent_at, finished_at)"
        " values (%s, 'deleted', 3, array[now() - interval '1 hour'], array[now()])",
        (queue_id(db, dead),),
    )
    old, waiting = stays(db, dead)
    assert (old[0], old[2], old[4]) == (old[5], "sent", None)
    assert (waiting[0], waiting[2], waiting[4]) == (waiting[5], "dead_lettered", None)
