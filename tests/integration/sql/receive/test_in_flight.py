"""Tests the limit on the number of messages in flight. The sources are the Developer Guide, "standard queue quotas" and
"FIFO queue quotas"."""

from typing import Any

import pytest

from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from penstock.postgres.statements.messages import RECEIVE_MESSAGES
from penstock.postgres.statements.queues import DROP_QUEUE
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BOTH,
    Connection,
    Counts,
    Delivery,
    Entry,
    bodies,
    call,
    change,
    counts,
    create,
    delete,
    maintain,
    queue_id,
    send,
    send_entries,
    value,
)

pytestmark = pytest.mark.emptied

LIMIT = 5
FULL = "OverLimit"
# From this limit on, receives reuse a count for some time (queue.in_flight_capacity).
LARGE = 100_000


def receive(
    db: Connection, arn: str, count: int, visibility: int | None = None, limit: int | None = LIMIT
) -> list[Delivery] | str:
    """Receives. Returns the messages or the error in the response's header row."""
    header, *rows = call(db, RECEIVE_MESSAGES, arn, count, max(10, min(count, 1000)), visibility, limit, False, None)
    return rows if header.error is None else header.error


def taken(db: Connection, arn: str, count: int, visibility: int | None = None) -> list[Delivery]:
    """Receives messages. Fails if the limit prevents the receive."""
    found = receive(db, arn, count, visibility)
    assert isinstance(found, list)
    return found


def send_some(db: Connection, arn: str, number: int) -> None:
    """Sends messages. In a FIFO queue, each message has its own group."""
    for n in range(number):
        send(db, arn, str(n), group=f"g{n}" if arn.endswith(".fifo") else None)


def end_leases(db: Connection) -> None:
    """Ends every visibility timeout."""
    for table in ("lease", "side", "fifo_message", "fifo_ready"):
        db.execute(f"update queue.{table} set visible_at = visible_at - interval '1 hour'".encode())
    db.execute("update queue.lease set watermark = watermark - interval '1 hour'")
    db.execute("delete from queue.fifo_search")


@BOTH
def test_a_receive_keeps_the_limit_of_messages_in_flight(db: Connection, name: str) -> None:
    arn = create(db, name, shards=4)
    send_some(db, arn, 9)
    assert len(taken(db, arn, 3)) == 3
    assert len(taken(db, arn, 10)) == 2
    assert receive(db, arn, 1) == FULL
    assert counts(db, arn) == Counts(4, 5, 0)


@BOTH
def test_a_deleted_message_makes_room(db: Connection, name: str) -> None:
    arn = create(db, name, shards=4)
    send_some(db, arn, 9)
    held = taken(db, arn, 10)
    assert receive(db, arn, 10) == FULL
    delete(db, held[:2])
    assert len(taken(db, arn, 10)) == 2
    assert receive(db, arn, 10) == FULL


@BOTH
def test_a_message_that_is_visible_again_makes_room(db: Connection, name: str) -> None:
    arn = create(db, name, shards=4)
    send_some(db, arn, 9)
    held = taken(db, arn, 5)
    change(db, held[:2], 0)
    assert len(taken(db, arn, 10)) == 2
    assert receive(db, arn, 10) == FULL
    end_leases(db)
    assert len(taken(db, arn, 10)) == 5


@BOTH
def test_a_changed_timeout_does_not_make_room(db: Connection, name: str) -> None:
    """Messages in the side table also count as in flight."""
    arn = create(db, name)
    send_some(db, arn, 9)
    change(db, taken(db, arn, 5), 600)
    assert receive(db, arn, 10) == FULL


def test_delayed_messages_are_not_in_flight(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *"abcdef", delay=900)
    send(db, arn, "now")
    assert bodies(taken(db, arn, 10)) == ["now"]
    db.execute("update queue.side set visible_at = now()")
    assert len(taken(db, arn, 10)) == 4
    assert receive(db, arn, 1) == FULL


def test_delayed_groups_are_not_in_flight(db: Connection) -> None:
    arn = create(db, "q.fifo", DelaySeconds="900")
    send_some(db, arn, 6)
    assert taken(db, arn, 10) == []


def test_of_a_group_the_messages_count_and_not_the_group(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, *"abcdefg", group="g")
    send(db, arn, "other", group="h")
    assert len(taken(db, arn, 5)) == 5
    assert receive(db, arn, 1) == FULL


def test_other_queues_do_not_count(db: Connection) -> None:
    one, other = create(db, "one"), create(db, "other")
    for arn in (one, other):
        send_some(db, arn, 9)
        taken(db, arn, 5)
    assert receive(db, one, 1) == receive(db, other, 1) == FULL


@BOTH
def test_without_a_limit(db: Connection, name: str) -> None:
    arn = create(db, name)
    send_some(db, arn, 9)
    taken(db, arn, 5)
    assert value(db, "select count(*) from queue.receive(%s, 30, 3)", arn) == 3
    assert isinstance(receive(db, arn, 1, limit=None), list)


def test_an_unknown_queue(db: Connection) -> None:
    assert receive(db, "arn:aws:sqs:us-east-1:000000000000:none", 1) == "QueueDoesNotExist"


# --- large limits: counted now and then ------------------------------------------------------------------------------
def fill(db: Connection, arn: str, number: int, body: str = "x") -> None:
    """Sends messages, 10,000 in each call. In a FIFO queue, each message has its own group."""
    fifo = arn.endswith(".fifo")
    for start in range(0, number, 10_000):
        size = min(10_000, number - start)
        names = [str(start + n) if fifo else None for n in range(size)]
        send_entries(db, arn, [Entry(body, group=name, deduplication=name, size=1) for name in names])


def is_counted(db: Connection, arn: str) -> bool:
    """Returns whether receives count the in-flight messages of the queue."""
    return bool(value(db, "select counts_in_flight from queue.queues where arn = %s", arn))


def last_count(db: Connection, arn: str) -> Any:
    return value(db, "select messages from queue.in_flight where queue_id = %s", queue_id(db, arn))


def remember(db: Connection, arn: str, messages: int, seconds: int) -> None:
    """Stores a count for the queue that is valid for the given time."""
    db.execute("update queue.queues set counts_in_flight = true where arn = %s", (arn,))
    db.execute(
        "insert into queue.in_flight values (%s, %s, clock_timestamp() + %s * interval '1 second')"
        " on conflict (queue_id) do update set messages = excluded.messages, good_until = excluded.good_until",
        (queue_id(db, arn), messages, seconds),
    )


def test_the_log_is_counted_when_much_is_in_flight(db: Connection) -> None:
    """Receives clean at intervals. This cleaning counts the queue long before the limit."""
    arn = create(db)
    fill(db, arn, 60_000)
    for _ in range(20):
        assert len(receive(db, arn, 2_000, limit=LARGE)) == 2_000
    assert not is_counted(db, arn)
    for _ in range(6):
        assert len(receive(db, arn, 2_000, limit=LARGE)) == 2_000
    assert is_counted(db, arn)
    remember(db, arn, 0, -1)
    receive(db, arn, 1, limit=LARGE)
    assert last_count(db, arn) == 52_000


def test_the_worker_looks_at_the_slow_path(db: Connection) -> None:
    arn = create(db, DelaySeconds="1")
    fill(db, arn, 20_001)
    db.execute("update queue.side set visible_at = now()")
    held = receive(db, arn, 20_001, limit=LARGE)
    assert not is_counted(db, arn)
    maintain(db, arn)
    assert is_counted(db, arn)
    assert isinstance(held, list)
    delete(db, held[:1])
    maintain(db, arn)
    assert not is_counted(db, arn)


def test_the_worker_looks_at_fifo_queues(db: Connection) -> None:
    """The worker counts only if the message table is larger than 2 MB, because a smaller table cannot contain enough
    rows. The test creates 20,001 groups."""
    arn = create(db, "q.fifo")
    fill(db, arn, 1_500, "x" * 1_900)
    maintain(db, arn)
    assert not is_counted(db, arn)
    db.execute(
        "with g as (insert into queue.fifo_group (queue_id, group_id)"
        " select %s, 'h' || n from generate_series(1, 20001) n returning *),"
        " r as (insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)"
        " select g.group_key, g.queue_id, now() + interval '1 hour', 0 from g)"
        " insert into queue.fifo_message (id, group_key, visible_at, sent_at, message_id, queue_id, receive_count,"
        " deduplication_id, body) select nextval('queue.fifo_id'), g.group_key, now() + interval '1 hour', now(),"
        " gen_random_uuid(), g.queue_id, 1, g.group_id, 'x' from g",
        (queue_id(db, arn),),
    )
    maintain(db, arn)
    assert is_counted(db, arn)
    assert len(receive(db, arn, 10, limit=LARGE)) == 10
    assert last_count(db, arn) == 20_001


@BOTH
def test_a_queue_with_little_in_flight_is_not_counted(db: Connection, name: str) -> None:
    arn = create(db, name)
    fill(db, arn, 2_000)
    assert len(receive(db, arn, 2_000, limit=LARGE)) == 2_000
    maintain(db, arn)
    assert (is_counted(db, arn), last_count(db, arn)) == (False, None)


@BOTH
def test_a_count_is_good_for_a_while(db: Connection, name: str) -> None:
    arn = create(db, name)
    send_some(db, arn, 9)
    remember(db, arn, LARGE, 30)
    assert receive(db, arn, 10, limit=LARGE) == FULL
    remember(db, arn, LARGE - 4, 30)
    assert len(receive(db, arn, 10, limit=LARGE)) == 4
    assert last_count(db, arn) == LARGE - 4
    remember(db, arn, LARGE, -1)
    assert len(receive(db, arn, 10, limit=LARGE)) == 5
    assert last_count(db, arn) == 4


def test_the_limit_of_aws(db: Connection) -> None:
    """The limit is about 120,000. The limit is exact if each count is used only once."""
    arn = create(db, shards=4)
    fill(db, arn, 121_000)
    handed_out = 0
    while isinstance(found := receive(db, arn, 10_000, limit=120_000), list):
        handed_out += len(found)
        db.execute("update queue.in_flight set good_until = '-infinity'")
    assert (found, handed_out) == (FULL, 120_000)


def test_a_receive_that_cannot_store_the_count_does_not_wait(db: Connection, connect: Connect) -> None:
    """Another transaction locks the count of the queue until the transaction ends, so other calls count the messages
    themselves."""
    arn = create(db)
    send_some(db, arn, 9)
    remember(db, arn, LARGE, -1)
    with connect() as other, other.transaction():
        other.execute("select pg_advisory_xact_lock(queue.lock_key(2, %s, 0))", (queue_id(db, arn),))
        assert len(receive(db, arn, 2, limit=LARGE)) == 2
        assert last_count(db, arn) == LARGE
    assert len(receive(db, arn, 2, limit=LARGE)) == 2
    assert last_count(db, arn) == 2


def test_the_worker_does_not_wait_for_the_queue(db: Connection, connect: Connect) -> None:
    """Another transaction is changing the queue's attributes. The next round decides whether to count."""
    arn = create(db)
    remember(db, arn, 0, -1)
    with connect() as other, other.transaction():
        other.execute("select from queue.queues where arn = %s for update", (arn,))
        maintain(db, arn)
        assert is_counted(db, arn)
    maintain(db, arn)
    assert not is_counted(db, arn)


def test_a_deleted_queue_leaves_no_count(db: Connection) -> None:
    arn = create(db)
    remember(db, arn, 7, 3600)
    call(db, DROP_QUEUE, arn)
    call(db, MAINTAIN_INSTALLATION, 100, 30, None)
    assert value(db, "select count(*) from queue.in_flight") == 0
