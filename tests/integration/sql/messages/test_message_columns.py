"""A column that a later release adds to messages goes with them, and handing out messages costs no call a row."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import (
    Connection,
    change_by_id,
    create,
    delete,
    delete_by_id,
    receive,
    redrive,
    send,
    value,
)
from tests.support.sql.move_tasks import start, step

BOTH = pytest.mark.parametrize("suffix", ["", ".fifo"])


@pytest.fixture
def db(db: Connection, database: Database) -> Connection:
    """The tables of messages have one column more, which no function names."""
    with psycopg.connect(database.dsn, autocommit=True) as owner:
        for table in ("log", "side", "fifo_message", "archive"):
            owner.execute(f"alter table queue.{table} add column hint text")
    return db


def send_hint(db: Connection, arn: str) -> int:
    """Send a message with the column; its public id."""
    (sent,) = send(db, arn, "m", group="g" if arn.endswith(".fifo") else None)
    db.execute(f"update queue.{'fifo_message' if arn.endswith('.fifo') else 'log'} set hint = 'h'")
    assert sent.id is not None
    return sent.id


def hints(db: Connection, table: str, arn: str) -> list[str | None]:
    query = f"select array(select hint from queue.{table} join queue.queues using (queue_id) where arn = %s)"
    return list(value(db, query, arn))


def test_it_stays_when_a_message_that_waits_is_delayed(db: Connection) -> None:
    arn = create(db)
    assert change_by_id(db, arn, send_hint(db, arn), 60)
    assert hints(db, "side", arn) == ["h"]


@BOTH
def test_it_goes_to_dead_letter_queues(db: Connection, suffix: str) -> None:
    """From the log to the slow path, and there from queue to queue."""
    last = create(db, "last" + suffix)
    dead = create(db, "dead" + suffix, RedrivePolicy=redrive(last))
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead))
    send_hint(db, arn)
    table = "fifo_message" if suffix else "side"
    for source, target in [(arn, dead), (dead, last)]:
        assert len(receive(db, source, visibility=0)) == 1
        assert receive(db, source) == []
        assert (hints(db, table, source), hints(db, table, target)) == ([], ["h"])
    assert len(receive(db, last)) == 1


def test_it_goes_back_with_a_move_task(db: Connection) -> None:
    dead = create(db, "dead.fifo")
    arn = create(db, "q.fifo", RedrivePolicy=redrive(dead))
    send_hint(db, arn)
    assert len(receive(db, arn, visibility=0)) == 1
    assert receive(db, arn) == []
    assert step(db, start(db, dead)) == (1, "COMPLETED")
    assert hints(db, "fifo_message", arn) == ["h"]


@pytest.mark.parametrize("state", ["waiting", "received", "delayed"])
@BOTH
def test_the_archive_keeps_it(db: Connection, suffix: str, state: str) -> None:
    arn = create(db, "q" + suffix, archive="true")
    sent = send_hint(db, arn)
    if state == "received":
        assert delete(db, receive(db, arn)) == ["deleted"]
    else:
        assert state == "waiting" or change_by_id(db, arn, sent, 60)
        assert delete_by_id(db, arn, sent) == [sent]
    assert hints(db, "archive", arn) == ["h"]


@pytest.mark.parametrize(
    "constructed",
    [
        "queue.log l cross join lateral queue.delivery_row(l, l.id, 1, now(), now(), 7)",
        "queue.side s cross join lateral queue.delivery_row(p_side => s)",
        "queue.fifo_message f cross join lateral queue.delivery_row(p_fifo => f)",
    ],
)
def test_the_planner_inlines_the_row_of_a_delivery(db: Connection, constructed: str) -> None:
    """Otherwise a receive would call a function for each message ("Function Scan")."""
    plan = [line for (line,) in db.execute(f"explain (costs off) select d.* from {constructed} d")]
    assert len(plan) == 1, plan
    assert "Scan" in plan[0]
