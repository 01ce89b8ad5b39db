"""Tests that no call returns a message past its retention, even if no worker has ended it yet."""

from collections import Counter
from collections.abc import Callable
from uuid import uuid4

import pytest

from penstock.postgres.statements.messages import RECEIVE_ATTEMPT
from penstock.postgres.statements.stored_messages import PEEK_MESSAGES
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BOTH,
    Connection,
    Counts,
    Delivery,
    bodies,
    call,
    change,
    change_by_id,
    counts,
    create,
    delete,
    delete_by_id,
    group,
    history,
    maintain,
    purge,
    queue_id,
    receive,
    redrive,
    send,
    transact_deletes,
    value,
)
from tests.support.sql.move_tasks import start, step

EXPIRED = "select sum(expired) from queue.activity where queue_id = any(%s)"
STATES = ["fresh", "delayed", "expired lease", "side table"]


def new_name(name: str) -> str:
    """Returns a name that no other queue of the module's database has."""
    return f"{uuid4().hex}{name.removeprefix('q')}"


def prepare(db: Connection, name: str, state: str, sent: str = "young 1, old, young 2", **attributes: str) -> str:
    """Returns a queue that contains these messages in the given state. The old message is past its retention.

    By default, the old message is behind a young message, as after a clock that went back. All messages except delayed
    ones can be received.
    """
    arn = create(db, new_name(name), 1, MessageRetentionPeriod="60", **attributes)
    for body in sent.split(", "):
        send(db, arn, body, delay=900 if state == "delayed" else 0, group=f"of {body}" if group(name) else None)
    if state in {"expired lease", "side table"}:
        messages = receive(db, arn, visibility=0 if state == "expired lease" else 100)
        if state == "side table":
            change(db, messages, 0)
    for table in ("log", "side", "fifo_message"):
        query = f"update queue.{table} set sent_at = sent_at - interval '61 seconds' where body = 'old'"
        db.execute(query.encode())
    return arn


def peek(db: Connection, arn: str) -> list[str]:
    return [row.body for row in call(db, PEEK_MESSAGES, arn, "all", None, 10, None)]


def scan(db: Connection, arn: str) -> list[str]:
    query = "select body from queue.scan_messages(%s, null, 10)"
    return [row[0] for row in db.execute(query, [queue_id(db, arn)])]


def pick(db: Connection, arn: str) -> list[str]:
    """Tries to take each stored message of the queue by its id."""
    query = (
        "select body from queue.pick_messages(%(queue)s, array(select queue.public_id(shard, id) from queue.log"
        " union all select queue.public_id(shard, id) from queue.side"
        " union all select queue.public_id(-2, id) from queue.fifo_message))"
    )
    return [row[0] for row in db.execute(query, {"queue": queue_id(db, arn)})]


def by_change(db: Connection, arn: str) -> list[str]:
    """Changes the visibility of all stored messages by their ids."""
    stored = db.execute(
        "select queue.public_id(shard, id), body from queue.log"
        " union all select queue.public_id(shard, id), body from queue.side"
        " union all select queue.public_id(-2, id), body from queue.fifo_message"
    ).fetchall()
    return [body for public_id, body in dict.fromkeys(stored) if change_by_id(db, arn, public_id, 5)]


@pytest.mark.shared
@pytest.mark.parametrize("read", [peek, scan, pick, by_change], ids=lambda read: read.__name__)
@pytest.mark.parametrize("state", STATES)
@BOTH
def test_no_reader_sees_a_message_past_its_retention(
    db: Connection, name: str, state: str, read: Callable[[Connection, str], list[str]]
) -> None:
    arn = prepare(db, name, state)
    assert sorted(read(db, arn)) == ["young 1", "young 2"]


@pytest.mark.shared
@pytest.mark.parametrize("state", STATES)
@BOTH
def test_no_count_has_a_message_past_its_retention(db: Connection, name: str, state: str) -> None:
    delayed = state == "delayed" and not group(name)
    arn = prepare(db, name, state, sent="old, young 1, young 2")
    assert counts(db, arn) == (Counts(0, 0, 2) if delayed else Counts(2, 0, 0))
    oldest = value(db, "select oldest_msg_age_sec from queue.metrics(%s)", arn)
    assert oldest < 60


def seen(db: Connection, arn: str) -> Counter[tuple[str, bool]]:
    """Returns the outcome of each message of the queue, and whether the message ended at another time than the end of
    its retention period.
    """
    end = "finished_at <> greatest(sent_at + interval '60 seconds', first_received_at)"
    rows = db.execute(
        f"select coalesce(state, outcome), coalesce({end}, false) from queue.live_message where queue_id = %(id)s"
        f" union all select outcome, {end} from queue.finished_message where queue_id = %(id)s".encode(),
        {"id": queue_id(db, arn)},
    )
    return Counter((row[0], row[1]) for row in rows)


@pytest.mark.shared
@pytest.mark.parametrize("keeps", [True, False], ids=["history", "no history"])
@pytest.mark.parametrize("state", STATES)
@BOTH
def test_the_views_have_a_message_past_its_retention_as_expired(
    db: Connection, name: str, state: str, keeps: bool
) -> None:
    """Cleaning does not change the outcome or its time."""
    arn = prepare(db, name, state, sent="old, young 1, young 2", history=str(keeps).lower())
    young = "delayed" if state == "delayed" and not group(name) else "visible"
    expected = Counter({(young, False): 2, ("expired", False): int(keeps)})
    assert seen(db, arn) == expected
    for _ in range(2):
        maintain(db, arn)
    assert seen(db, arn) == expected


def by_handle(db: Connection, _: str, messages: list[Delivery]) -> None:
    assert delete(db, messages[:1]) == ["deleted"]


def by_transaction(db: Connection, _: str, messages: list[Delivery]) -> None:
    assert transact_deletes(db, messages[:1]) is None


def by_id(db: Connection, arn: str, messages: list[Delivery]) -> None:
    assert delete_by_id(db, arn, messages[0].public_id) == [messages[0].public_id]


def by_purge(db: Connection, arn: str, messages: list[Delivery]) -> None:
    assert purge(db, arn) == len(messages)


DELETES = [by_handle, by_transaction, by_id, by_purge]


@pytest.mark.shared
@pytest.mark.parametrize("delete_all", DELETES, ids=lambda delete_all: delete_all.__name__)
@pytest.mark.parametrize("state", ["leased", "side table", "received again", "beside another"])
@BOTH
def test_a_message_that_is_deleted_after_its_retention_has_expired(
    db: Connection, name: str, state: str, delete_all: Callable[[Connection, str, list[Delivery]], None]
) -> None:
    """The delete succeeds, because the consumer cannot detect that the message has expired."""
    arn = create(db, new_name(name), MessageRetentionPeriod="60")
    number = 2 if state == "beside another" else 1
    send(db, arn, *["m"] * number, group=group(name))
    messages = receive(db, arn, visibility=0 if state == "received again" else 100)
    if state == "received again":
        messages = receive(db, arn)
    elif state == "side table":
        change(db, messages, 100)
    for table in ("log", "side", "fifo_message"):
        db.execute(f"update queue.{table} set sent_at = sent_at - interval '61 seconds'".encode())
    delete_all(db, arn, messages)
    assert seen(db, arn) == {("expired", False): number}
    maintain(db, arn)
    assert seen(db, arn) == {("expired", False): number}


def by_receive(db: Connection, arn: str) -> list[str]:
    return bodies(receive(db, arn))


def by_one_at_a_time(db: Connection, arn: str) -> list[str]:
    received = []
    while messages := receive(db, arn, 1):
        received += bodies(messages)
        delete(db, messages)
    return received


def by_sql(db: Connection, arn: str) -> list[str]:
    return [
        row[0] for row in db.execute("select message from queue.receive(%s, 30, 10)", [arn.rsplit(":", maxsplit=1)[-1]])
    ]


def by_pop(db: Connection, arn: str) -> list[str]:
    return [row[0] for row in db.execute("select message from queue.pop(%s, 10)", [arn.rsplit(":", maxsplit=1)[-1]])]


def by_move(db: Connection, arn: str) -> list[str]:
    """Moves all messages to another queue. Returns the messages that arrive in the other queue."""
    other = create(db, new_name("q.fifo" if group(arn) else "q"))
    task = start(db, arn, other)
    while step(db, task) not in (None, (0, "COMPLETED")):
        pass
    return bodies(receive(db, other))


RECEIVES = [by_receive, by_one_at_a_time, by_sql, by_pop, by_move]


@pytest.mark.shared
@pytest.mark.parametrize("receive_all", RECEIVES, ids=lambda receive_all: receive_all.__name__)
@pytest.mark.parametrize("state", [state for state in STATES if state != "delayed"])
@BOTH
def test_no_receive_hands_out_a_message_past_its_retention(
    db: Connection, name: str, state: str, receive_all: Callable[[Connection, str], list[str]]
) -> None:
    """The receive deletes the expired message, and the history and the counts of the queue include the expiry."""
    arn = prepare(db, name, state)
    if receive_all is by_move:
        create(db, new_name(name), RedrivePolicy=redrive(arn))
    assert sorted(receive_all(db, arn)) == ["young 1", "young 2"]
    maintain(db, arn)
    assert history(db, arn)["expired"] == 1
    assert value(db, EXPIRED, [queue_id(db, arn)]) == 1
    assert receive(db, arn) == []


@pytest.mark.shared
@pytest.mark.parametrize("state", [state for state in STATES if state != "delayed"])
@BOTH
def test_a_message_past_its_retention_becomes_no_dead_letter(db: Connection, name: str, state: str) -> None:
    dead = create(db, new_name(name))
    arn = prepare(db, name, state, RedrivePolicy=redrive(dead))
    if state == "fresh":
        receive(db, arn, visibility=0)
    receive(db, arn)
    assert sorted(bodies(receive(db, dead))) == ["young 1", "young 2"]
    maintain(db, arn)
    assert value(db, EXPIRED, [queue_id(db, arn), queue_id(db, dead)]) == 1


@BOTH
def test_a_receive_passes_a_large_backlog_past_its_retention(db: Connection, name: str) -> None:
    """The number of messages past their retention is higher than the number that one receive examines."""
    arn = create(db, name, MessageRetentionPeriod="60")
    for batch in range(12):
        send(db, arn, *["old"] * 1000, group=f"g{batch}" if group(name) else None)
    db.execute("update queue.log set sent_at = sent_at - interval '1 day'")
    db.execute("update queue.fifo_message set sent_at = sent_at - interval '1 day'")
    assert counts(db, arn) == Counts(0, 0, 0)
    send(db, arn, "young", group="young" if group(name) else None)
    assert counts(db, arn) == Counts(1, 0, 0)
    assert bodies(receive(db, arn)) == ["young"]
    assert counts(db, arn) == Counts(0, 1, 0)


def test_a_delayed_message_past_its_retention_blocks_no_group(db: Connection, connect: Connect) -> None:
    """The queue's delay changes while a transaction sends the first message of a group, so this message stays
    delayed."""
    arn = create(db, "q.fifo", MessageRetentionPeriod="60", DelaySeconds="900")
    with connect() as late:
        late.execute("begin")
        send(late, arn, "old", group="g")
        db.execute("select queue.set_queue_attributes(%s, '{\"DelaySeconds\": \"0\"}', '{}', '{}')", [arn])
        late.execute("commit")
    earlier = "{0} = {0} - interval '61 seconds'".format
    db.execute(f"update queue.fifo_message set {earlier('sent_at')}, {earlier('visible_at')}".encode())
    db.execute(f"update queue.fifo_ready set {earlier('visible_at')}".encode())
    send(db, arn, "young", group="g")
    assert bodies(receive(db, arn)) == ["young"]


def test_an_attempt_past_its_retention_is_over(db: Connection) -> None:
    """A retry with the same ReceiveRequestAttemptId does not return messages past their retention."""
    arn = create(db, "q.fifo", MessageRetentionPeriod="60")
    send(db, arn, "old", group="g")
    attempt = (arn, 10, None, None, "attempt", None, None)
    assert len(call(db, RECEIVE_ATTEMPT, *attempt)) == 2
    db.execute("update queue.fifo_message set sent_at = sent_at - interval '61 seconds'")
    assert [row.error for row in call(db, RECEIVE_ATTEMPT, *attempt)] == ["ReceiveAttemptOver"]
