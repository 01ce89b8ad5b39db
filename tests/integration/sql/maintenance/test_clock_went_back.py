"""The database's clock goes back, by NTP or to a host whose clock is behind: times that were stored lie in the future.

Rule: workers and limits go on by the clock as it is. Messages stay invisible until the time that was promised.
"""

from __future__ import annotations

import pytest

from penstock.postgres.statements.installation import NEXT_QUEUES
from penstock.postgres.statements.messages import RECEIVE_MESSAGES
from penstock.postgres.statements.move_tasks import RUN_MOVE_TASK, START_MOVE_TASK
from penstock.postgres.statements.queues import CREATE_QUEUE, DROP_QUEUE, PURGE_MESSAGES
from tests.support.sql.calls import (
    ACCOUNT,
    REGION,
    Connection,
    bodies,
    call,
    create,
    queue_id,
    receive,
    redrive,
    send,
    value,
)


@pytest.mark.parametrize("worker", ["maintain", "measure"])
def test_workers_begin_their_round(db: Connection, worker: str) -> None:
    create(db)
    options = (worker, 20, 10_000)
    assert call(db, NEXT_QUEUES, *options)
    assert not call(db, NEXT_QUEUES, *options)  # the end of the round
    assert not call(db, NEXT_QUEUES, *options)  # its pause
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
    for _ in range(1000):  # the rate counts from now on: 2 ms a message
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
        "insert into queue.in_flight values (%s, 120000, clock_timestamp() + interval '1 hour')",
        (queue_id(db, arn),),
    )
    header, *rows = call(db, RECEIVE_MESSAGES, arn, 1, 10, None, 120_000, False, None, None)
    assert (header.error, len(rows)) == (None, 1)
