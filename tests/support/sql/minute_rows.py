"""Writes rows of queue.minute for tests, and messages whose measurements agree with the rows."""

from collections.abc import Sequence
from datetime import datetime

import psycopg
from psycopg.rows import TupleRow

from penstock.verdicts import Minute

from .metric_rows import insert

Connection = psycopg.Connection[TupleRow]


def current_minute(db: Connection) -> datetime:
    """Returns the start of the present minute by the database's clock."""
    row = db.execute("select date_trunc('minute', clock_timestamp(), 'UTC')").fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def add_minutes(db: Connection, queue_id: int, minutes: Sequence[Minute]) -> None:
    for minute in minutes:
        insert(db, "minute", queue_id=queue_id, **minute._asdict())


def add_messages(db: Connection, name: str, count: int, entered_at: datetime) -> None:
    """Adds visible messages that look as if they had been sent at that time."""
    db.execute("select from queue.send_batch(%s, array_fill('1'::jsonb, array[%s]))", (name, count))
    db.execute(
        "update queue.log l set sent_at = %s from queue.queues q where q.queue_id = l.queue_id and q.name = %s",
        (entered_at, name),
    )
