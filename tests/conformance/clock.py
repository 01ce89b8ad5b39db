"""Time that passes at once: every time in the database moves into the past, as if so many seconds had gone by.

Tests of timeouts need no sleep: `clock.advance(31)` and a visibility timeout of 30 seconds is over.
"""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg

# Column by column and table by table: each statement is its own transaction, so that it waits for nobody long.
_MOVES: tuple[LiteralString, ...] = (
    (
        "update queue.queues set created_at = created_at - %(by)s, modified_at = modified_at - %(by)s, "
        "purged_at = purged_at - %(by)s"
    ),
    "update queue.dropped_queue set dropped_at = dropped_at - %(by)s",
    "update queue.log set sent_at = sent_at - %(by)s",
    (
        "update queue.lease set visible_at = visible_at - %(by)s, first_received_at = first_received_at - %(by)s, "
        "watermark = watermark - %(by)s"
    ),
    (
        "update queue.side set visible_at = visible_at - %(by)s, sent_at = sent_at - %(by)s, "
        "first_received_at = first_received_at - %(by)s"
    ),
    (
        "update queue.fifo_message set visible_at = visible_at - %(by)s, sent_at = sent_at - %(by)s, "
        "first_received_at = first_received_at - %(by)s"
    ),
    "update queue.fifo_group set visible_at = visible_at - %(by)s",
    "update queue.deduplication set expires_at = expires_at - %(by)s",
)


class Clock:
    """The clock of one database. `dsn` is the superuser's."""

    def __init__(self, dsn: str) -> None:
        self.connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)

    def advance(self, seconds: float) -> None:
        """So many seconds pass for everything that is stored."""
        for move in _MOVES:
            self.connection.execute(move.replace("%(by)s", "make_interval(secs => %(by)s)"), {"by": seconds})

    def maintain(self, arn: str) -> None:
        """What the background worker does now and then, for one queue."""
        self._value(
            "select queue.maintain_queue(q.queue_id) from queue.queues q where q.arn = %(arn)s", arn=arn
        )

    def now(self) -> Any:
        """The database's time."""
        return self._value("select clock_timestamp()")

    def stored_since(self, moment: Any) -> int:
        """Messages and queues that were stored, and attributes that were changed, after the moment."""
        return int(
            self._value(
                "select (select count(*) from queue.log where sent_at > %(t)s)"
                " + (select count(*) from queue.side where sent_at > %(t)s)"
                " + (select count(*) from queue.fifo_message where sent_at > %(t)s)"
                " + (select count(*) from queue.queues where modified_at > %(t)s or purged_at > %(t)s)"
                " + (select count(*) from queue.dropped_queue where dropped_at > %(t)s)",
                t=moment,
            )
        )

    def is_waited(self, since: Any) -> bool:
        """Whether a long poll that began after `since` found nothing and looks from time to time."""
        return bool(
            self._value(
                "select exists (select from pg_stat_activity where datname = current_database()"
                " and query like '%%queue.ready_queues(%%' and query_start > %(t)s)",
                t=since,
            )
        )

    def close(self) -> None:
        """Give the connection back."""
        self.connection.close()

    def _value(self, query: LiteralString, **values: Any) -> Any:
        row = self.connection.execute(query, values).fetchone()
        return row[0] if row else None
