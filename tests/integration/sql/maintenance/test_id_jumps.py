"""Tests that ids jump after a failover or a restore, far above all ids that may have been given out and lost.

Otherwise an application with the id of a lost message would delete another message.

Also tests a database's clock that goes back, because of NTP or on a host whose clock is behind. Stored times are then
in the future.

Workers and limits use the new clock. Messages stay invisible until the promised time.
"""

from typing import Any

import pytest

from penstock.postgres.statements.installation import CHECK_SERVER, JUMP_IDS, MAINTAIN_INSTALLATION, NEXT_QUEUES
from penstock.postgres.statements.messages import RECEIVE_MESSAGES
from penstock.postgres.statements.move_tasks import RUN_MOVE_TASK, START_MOVE_TASK
from penstock.postgres.statements.queues import CREATE_QUEUE, DESCRIBE_QUEUE, DROP_QUEUE, PURGE_MESSAGES
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    ACCOUNT,
    REGION,
    Connection,
    Counts,
    bodies,
    call,
    change,
    check_tenants_again,
    counts,
    create,
    delete,
    delete_by_id,
    history,
    maintain,
    purge,
    queue_id,
    receive,
    redrive,
    rows_of,
    send,
    value,
)

JUMP = 2**32


def sent_id(db: Connection, arn: str, **options: Any) -> int:
    """Returns the id that SQL and REST show for a new message."""
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
        for _ in range(2):  # The send may take any shard.
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
    """The id belongs to a lost message, and the next message would have got the same id."""
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
        assert maintain(db, arn) < 100_000
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


def test_noisy_tenants_across_the_gap(db: Connection) -> None:
    arn = create(db)
    for _ in range(40):
        send(db, arn, "noisy", group="noisy")
    receive(db, arn, 40, lease_size=40)
    send(db, arn, "noisy", group="noisy")
    send(db, arn, "quiet", group="quiet")
    jump(db)
    send(db, arn, "noisy", group="noisy")
    send(db, arn, "quiet", group="quiet")
    check_tenants_again(db, arn)
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
    (started,) = call(db, START_MOVE_TASK, dead, source, 500, None, None, None)
    db.execute("update queue.move_task set paced_at = paced_at + interval '1 hour'")
    for _ in range(1000):  # The rate applies from now on: 2 ms for each message.
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
    header, *rows = call(db, RECEIVE_MESSAGES, arn, 1, 10, None, 120_000, False, None, None)
    assert (header.error, len(rows)) == (None, 1)
