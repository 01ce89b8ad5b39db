"""Tests fair queues: receives skip noisy groups while other groups wait, and lose no message.

The source is the SQS Developer Guide, "How Amazon SQS fair queues work"
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html).
"""

import json
import random
from collections import Counter

import pytest

from penstock.postgres.statements.long_polls import READY_QUEUES
from penstock.postgres.statements.move_tasks import START_MOVE_TASK
from penstock.postgres.statements.stored_messages import PEEK_MESSAGES
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BackgroundCall,
    Connection,
    Counts,
    Delivery,
    Entry,
    bodies,
    call,
    change,
    change_by_id,
    check_groups_again,
    counts,
    create,
    delete,
    delete_by_id,
    history,
    maintain,
    purge,
    queue_id,
    receive,
    received_seconds_ago,
    redrive,
    rows_of,
    send,
    send_entries,
    value,
)

pytestmark = pytest.mark.emptied


def send_as(db: Connection, arn: str, group: str | None, count: int, start: int = 0) -> list[int]:
    """Sends messages of one group, with the name and a number as the body. Returns the public ids of the messages."""
    sent = send(db, arn, *(f"{group} {start + i}" for i in range(count)), group=group)
    return [row.id for row in sent if row.id is not None]


def groups(deliveries: list[Delivery]) -> list[str]:
    return [body.split()[0] for body in bodies(deliveries)]


def crowd(db: Connection, arn: str, messages: int = 200, in_flight: int = 40) -> list[Delivery]:
    """Sends many messages as one group and receives twice, which leaves some in flight. The first receive only detects
    the noisy group."""
    send_as(db, arn, "noisy", messages)
    return [*receive(db, arn, 10), *receive(db, arn, in_flight - 10)]


def drain(db: Connection, arn: str) -> list[Delivery]:
    taken: list[Delivery] = []
    while deliveries := receive(db, arn, 100):
        taken += deliveries
    return taken


def test_a_quiet_group_overtakes_the_backlog_of_a_noisy_one(db: Connection) -> None:
    arn = create(db)
    crowd(db, arn)
    send_as(db, arn, "quiet", 3)
    send_as(db, arn, None, 2)
    assert groups(receive(db, arn, 10)) == ["quiet"] * 3 + ["None"] * 2 + ["noisy"] * 5


def test_quiet_groups_overtake_from_any_depth_of_the_backlog(db: Connection) -> None:
    arn = create(db)
    crowd(db, arn)
    for number in range(4):
        send_as(db, arn, "noisy", 450, start=1000 * (number + 1))
        send_as(db, arn, "quiet", 1, start=number)
    assert bodies(receive(db, arn, 4)) == [f"quiet {number}" for number in range(4)]


def test_the_noisy_group_gets_what_is_left_in_its_order(db: Connection) -> None:
    arn = create(db)
    seen = crowd(db, arn, messages=500)
    seen += drain(db, arn)
    assert bodies(seen) == [f"noisy {i}" for i in range(500)]
    assert len({d.message_id for d in seen}) == 500
    assert {d.receive_count for d in seen} == {1}


def test_of_noisy_groups_the_one_with_the_fewest_in_flight_comes_first(db: Connection) -> None:
    arn = create(db)
    send_as(db, arn, "loud", 100)
    receive(db, arn, 60)
    send_as(db, arn, "louder", 100)
    assert groups(receive(db, arn, 1)) == [
        "louder"
    ]  # Receives return messages of a quiet group before messages of the noisy group "loud".


@pytest.mark.parametrize(("in_flight", "first"), [(1, "many"), (40, "quiet")])
def test_one_message_in_flight_makes_no_noise(db: Connection, in_flight: int, first: str) -> None:
    arn = create(db)
    send_as(db, arn, "many", 100)
    receive(db, arn, in_flight)
    send_as(db, arn, "quiet", 1)
    assert groups(receive(db, arn, 1)) == [first]


def test_groups_without_a_backlog_keep_their_order(db: Connection) -> None:
    arn = create(db)
    crowd(db, arn, messages=40)
    send_as(db, arn, "noisy", 2)
    send_as(db, arn, "quiet", 2)
    assert groups(receive(db, arn, 4)) == ["noisy", "noisy", "quiet", "quiet"]
    assert rows_of(db, "deferred", arn) == 0


def test_a_tenth_and_thirty(db: Connection) -> None:
    """35 of 380 messages are fewer than a tenth of the messages in flight, and 45 of 390 are more than a tenth."""
    arn = create(db)
    for group in range(69):
        send_as(db, arn, f"t{group}", 5)
    receive(db, arn, 345)
    send_as(db, arn, "many", 200)
    receive(db, arn, 35)
    send_as(db, arn, "quiet", 1)
    assert groups(receive(db, arn, 10)) == ["many"] * 10
    check_groups_again(db, arn)
    assert groups(receive(db, arn, 1)) == ["quiet"]


def test_a_message_that_was_passed_over_is_visible(db: Connection) -> None:
    arn = create(db)
    crowd(db, arn, messages=100, in_flight=40)
    send_as(db, arn, "quiet", 1)
    receive(db, arn, 1)
    assert rows_of(db, "deferred", arn) == 1
    assert counts(db, arn) == Counts(60, 41, 0)
    peeked = call(db, PEEK_MESSAGES, arn, "visible", None, 100, None)
    assert [row.body for row in peeked] == [f"noisy {i}" for i in range(40, 100)]
    assert call(db, READY_QUEUES, [arn]) == [(arn,)]


def test_passed_over_messages_are_deleted_changed_and_purged(db: Connection) -> None:
    arn = create(db)
    ids = send_as(db, arn, "noisy", 100)
    receive(db, arn, 10)
    receive(db, arn, 30)
    send_as(db, arn, "quiet", 1)
    receive(db, arn, 1)
    assert delete_by_id(db, arn, ids[50], ids[60]) == [ids[50], ids[60]]
    assert change_by_id(db, arn, ids[70], 600)
    assert counts(db, arn) == Counts(57, 41, 1)
    assert bodies(receive(db, arn, 12)) == [f"noisy {i}" for i in range(40, 53) if i != 50]
    assert purge(db, arn) == 99
    assert drain(db, arn) == []
    assert (rows_of(db, "deferred", arn), counts(db, arn)) == (0, Counts(0, 0, 0))


def test_everything_is_cleaned_and_recorded_once(db: Connection) -> None:
    arn = create(db)
    seen = crowd(db, arn, messages=300)
    send_as(db, arn, "quiet", 50)
    seen += drain(db, arn)
    assert delete(db, seen) == ["deleted"] * 350
    maintain(db, arn)
    assert history(db, arn) == {"deleted": 350}
    assert {t: rows_of(db, t, arn) for t in ("log", "side", "deferred", "hole")} == {
        "log": 0, "side": 0, "deferred": 0, "hole": 0,
    }  # fmt: skip


def mixed(db: Connection, arn: str, dice: random.Random, count: int, start: int = 0) -> None:
    """Sends a noisy group's messages, a sixth of all messages, between the messages of a hundred other groups."""
    for number in range(start, start + count):
        send_as(db, arn, "noisy" if dice.random() < 1 / 6 else f"t{dice.randrange(100)}", 1, number)


def test_messages_of_quiet_groups_are_leased_together(db: Connection) -> None:
    """Receives skip the noisy group's messages between the quiet groups' messages, and do not write the skipped rows
    again."""
    arn, dice = create(db), random.Random(1)
    crowd(db, arn, messages=41)
    slow = rows_of(db, "side", arn)
    mixed(db, arn, dice, 100)
    quiet = receive(db, arn, 50, lease_size=10)
    assert "noisy" not in groups(quiet)
    assert [int(body.split()[1]) for body in bodies(quiet)] == sorted(int(body.split()[1]) for body in bodies(quiet))
    assert len({d.pos for d in quiet}) == 5
    assert rows_of(db, "side", arn) == slow
    assert delete(db, quiet) == ["deleted"] * 50


@pytest.mark.parametrize("seed", range(4))
def test_leases_that_overlap_lose_and_double_nothing(db: Connection, seed: int) -> None:
    """Exactly one of the two views contains each message, even if the neighbouring messages change."""
    arn, dice, sent = create(db), random.Random(seed), 260
    crowd(db, arn, messages=sent)
    held: list[Delivery] = []
    deleted = 0
    for step in range(40):
        if step % 4 == 0:
            mixed(db, arn, dice, 60, sent)
            sent += 60
        visibility = 0 if dice.random() < 0.3 else 600
        taken = receive(db, arn, dice.randint(1, 60), visibility=visibility, lease_size=dice.choice((1, 7, 1000)))
        held += taken
        gone = [held.pop(dice.randrange(len(held))) for _ in range(len(held) // 2)]
        deleted += delete(db, gone).count("deleted")
        change(db, [d for d in held if dice.random() < 0.05], dice.choice((0, 600)))
        if dice.random() < 0.4:
            maintain(db, arn)
        elif dice.random() < 0.5:
            db.execute(SWEEP, {"queue": queue_id(db, arn)})
        seen = Counter(db.execute(BECAME, {"queue": queue_id(db, arn)}).fetchall())
        assert seen == {(False,): sent - deleted, (True,): deleted}
    db.execute("update queue.side set visible_at = clock_timestamp() where visible_at < 'infinity'")
    db.execute("update queue.lease set visible_at = clock_timestamp() where visible_at < 'infinity' and ids <> '{}'")
    assert delete(db, drain(db, arn)).count("deleted") == sent - deleted
    maintain(db, arn)
    assert history(db, arn) == {"deleted": sent}
    assert rows_of(db, "log", arn) == rows_of(db, "side", arn) == rows_of(db, "deferred", arn) == 0


# sweep_shard cleans a shard up to the cursor if thousands of its messages are done.
SWEEP = """
select queue.clear_range(x.queue_id, 0, x.low, queue.lease_boundary(x.queue_id, 0, x.low, x.pos), x.pos)
from (select * from queue.lease where queue_id = %(queue)s order by pos desc limit 1) x
where queue.lease_boundary(x.queue_id, 0, x.low, x.pos) is not null"""

BECAME = """
select finished_at is not null from queue.live_message where queue_id = %(queue)s
union all
select true from queue.finished_message where queue_id = %(queue)s"""


def test_a_changed_visibility_brings_it_back(db: Connection) -> None:
    arn = create(db)
    crowd(db, arn)
    send_as(db, arn, "quiet", 1)
    (quiet,) = receive(db, arn, 1)
    (noisy,) = receive(db, arn, 1)
    assert change(db, [quiet, noisy], 0) == ["changed", "changed"]
    again = receive(db, arn, 2)
    assert [d.receive_count for d in again] == [2, 2]
    assert {d.message_id for d in again} == {quiet.message_id, noisy.message_id}


def test_retention_ends_what_was_passed_over(db: Connection) -> None:
    arn = create(db, MessageRetentionPeriod="60")
    crowd(db, arn, messages=100)
    send_as(db, arn, "quiet", 1)
    receive(db, arn, 1)
    db.execute("update queue.log set sent_at = sent_at - interval '1 hour'")
    db.execute("update queue.side set sent_at = sent_at - interval '1 hour'")
    maintain(db, arn)
    maintain(db, arn)
    assert counts(db, arn) == Counts(0, 0, 0)
    assert rows_of(db, "deferred", arn) == 0
    assert history(db, arn) == {"expired": 101}


def test_far_behind_the_cursor_it_stays_in_the_log(db: Connection) -> None:
    arn = create(db)
    crowd(db, arn, messages=12_000)
    send_as(db, arn, "quiet", 1)
    for _ in range(4):
        receive(db, arn, 1)
    received_seconds_ago(db, 0)
    maintain(db, arn)
    assert rows_of(db, "side", arn) == 0
    received_seconds_ago(db, 10)
    maintain(db, arn)
    assert rows_of(db, "side", arn) == 43  # These messages are in flight, far behind the cursor.


def test_a_backlog_that_was_passed_over_keeps_nothing_else(db: Connection) -> None:
    """Maintenance cleans quiet groups' finished messages behind a noisy group's message, but keeps that message."""
    arn = create(db)
    crowd(db, arn, messages=300)
    for number in range(6):
        sent = [Entry("quiet", system=json.dumps({"MessageGroupId": f"t{i % 100}"})) for i in range(1000)]
        send_entries(db, arn, sent)
        send_as(db, arn, "noisy", 20, start=1000 * (number + 1))
        left = len(sent)
        while left:
            messages = receive(db, arn, 100)
            assert messages
            left -= delete(db, [d for d in messages if d.body == "quiet"]).count("deleted")
    received_seconds_ago(db, 0)
    maintain(db, arn)
    assert rows_of(db, "side", arn) == 0
    # the noisy group's messages, and too few others for a sweep
    assert rows_of(db, "log", arn) <= 4_000 + 420


def test_a_move_task_takes_what_was_passed_over(db: Connection) -> None:
    dead = create(db, "dead")
    arn = create(db, "orders", RedrivePolicy=redrive(dead))
    crowd(db, dead, messages=100)
    send_as(db, dead, "quiet", 1)
    receive(db, dead, 1)
    (task,) = call(db, START_MOVE_TASK, dead, arn, None, None, None, None, None)
    assert task.error is None, task
    for _ in range(5):
        db.execute("select * from queue.move_task t, queue.run_move_task(t.task_id, 100)")
    assert value(db, "select status from queue.move_task") == "COMPLETED"
    assert value(db, "select moved from queue.move_task") == 60
    assert counts(db, arn).visible == 60


def test_a_noisy_group_is_not_starved(db: Connection) -> None:
    arn = create(db)
    crowd(db, arn, messages=300)
    send_as(db, arn, "quiet", 1)
    receive(db, arn, 1)
    db.execute("update queue.deferred set deferred_at = deferred_at - interval '11 seconds'")
    send_as(db, arn, "quiet", 400)
    served = groups([d for _ in range(200) for d in receive(db, arn, 1)])
    # Each receive serves skipped groups first with a probability of a tenth, so 200 receives all miss them with a
    # probability of 1 in a billion.
    assert set(served) == {"noisy", "quiet"}


def test_a_receive_takes_no_message_twice(db: Connection) -> None:
    """With a timeout of 0, a message is visible at once, but only a later receive returns it again or moves it."""
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead))
    crowd(db, arn, messages=60)
    send_as(db, arn, "quiet", 1)
    (quiet,) = receive(db, arn, 1)
    assert change(db, [quiet], 0) == ["changed"]
    db.execute("update queue.deferred set deferred_at = deferred_at - interval '11 seconds'")
    starved_first(db)
    taken = receive(db, arn, 100, visibility=0)
    assert groups(taken) == ["noisy"] * 20
    assert len({d.message_id for d in taken}) == 20
    # a quiet group's message that a consumer received earlier
    assert counts(db, dead).visible == 1


def starved_first(db: Connection) -> None:
    """Makes the next receive start with the groups that receives have skipped for longest. A tenth of all receives
    start with the skipped groups."""
    for number in range(1000):
        db.execute("select setseed(%s)", (number / 1000,))
        if value(db, "select random()") < 0.1:
            db.execute("select setseed(%s)", (number / 1000,))
            return
    raise AssertionError("random() is never below 0.1")


def test_receivers_side_by_side_share_what_was_passed_over(db: Connection, connect: Connect) -> None:
    """The receivers of one shard run one after the other, so the second receiver waits for the first."""
    arn = create(db)
    crowd(db, arn, messages=1000)
    send_as(db, arn, "quiet", 1)
    receive(db, arn, 1)
    other = connect()
    other.execute("begin")
    theirs = receive(other, arn, 5)
    waiting = BackgroundCall(db, lambda connection: receive(connection, arn, 5))
    waiting.wait_until_blocked(other)
    other.execute("commit")
    ours = waiting.result()
    assert len(theirs) == len(ours) == 5
    assert not {d.message_id for d in theirs} & {d.message_id for d in ours}


def test_a_rolled_back_receive_gives_it_back(db: Connection, connect: Connect) -> None:
    arn = create(db)
    crowd(db, arn, messages=60)
    send_as(db, arn, "quiet", 1)
    other = connect()
    other.execute("begin")
    assert groups(receive(other, arn, 2)) == ["quiet", "noisy"]
    other.execute("rollback")
    assert counts(db, arn) == Counts(21, 40, 0)
    assert groups(drain(db, arn)) == ["quiet"] + ["noisy"] * 20
