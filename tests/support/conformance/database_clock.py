"""Simulates the passing of time by moving every time in the database into the past.

Tests of timeouts need no sleep: `clock.advance(31)` ends a visibility timeout of 30 seconds. Background workers must be
idle during that call (`deployments.py`), because a worker would store a time that it read before the call.
"""

from typing import Any, LiteralString

import psycopg
from psycopg import sql

from tests.support.sql.calls import call_pattern

# The columns that contain times.
_TIMES: dict[LiteralString, tuple[LiteralString, ...]] = {
    "queues": ("created_at", "modified_at", "purged_at"),
    "dropped_queue": ("dropped_at",),
    "log": ("sent_at",),
    "lease": ("visible_at", "first_received_at", "watermark"),
    "side": ("visible_at", "sent_at", "first_received_at"),
    "fifo_message": ("visible_at", "sent_at", "first_received_at"),
    "fifo_ready": ("visible_at", "changed_at"),
    "fifo_search": ("searched_at", "visible_at", "late_at", "late_visible_at", "full_due_at"),
    "deduplication": ("expires_at",),
    "move_task": ("started_at", "paced_at"),
    "receive_attempt": ("received_at", "visible_at"),
    "in_flight": ("good_until",),
    "noisy_neighbors": ("judged_at",),
    "deferred": ("deferred_at",),
    "subscription": ("token_expires_at",),
    "former_subscription": ("expires_at",),
    "topic_deduplication": ("expires_at",),
}

# The database stores only one time as text: the first receive of a dead letter (queue.dead_letter_system).
_FIRST_RECEIVED = """
    update queue.side set system = jsonb_set(system, '{ApproximateFirstReceiveTimestamp}', to_jsonb(
        ((system ->> 'ApproximateFirstReceiveTimestamp')::bigint - %(by)s * 1000)::bigint::text))
    where system ? 'ApproximateFirstReceiveTimestamp'"""


class Clock:
    """Moves the clock of one database. `dsn` must connect as the superuser."""

    def __init__(self, dsn: str) -> None:
        self.connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)

    def advance(self, seconds: float) -> None:
        """Moves all stored times into the past.

        Locks one table at a time, so the function cannot deadlock with the worker of a container that has just started.
        """
        moves = sql.SQL("").join(
            sql.SQL("lock table {0} in exclusive mode; update {0} set {1}; commit; ").format(
                sql.Identifier("queue", table),
                sql.SQL(", ").join(
                    sql.SQL("{0} = {0} - make_interval(secs => {1})").format(sql.Identifier(column), seconds)
                    for column in columns
                ),
            )
            for table, columns in _TIMES.items()
        )
        self.connection.execute(sql.SQL("do $$ begin {} end $$").format(moves))
        self.connection.execute(_FIRST_RECEIVED, {"by": seconds})

    def maintain(self, arn: str) -> None:
        """Runs the background worker's periodic maintenance for one queue."""
        self._value("select queue.maintain_queue(q.queue_id) from queue.queues q where q.arn = %(arn)s", arn=arn)

    def move(self, arn: str) -> int:
        """Runs one source's message move tasks until they can move no more messages. Returns the number of moved
        messages.
        """
        moved = 0
        while step := self._value(
            "select (select s.moved from queue.run_move_task(t.task_id, 100) s) from queue.move_task t"
            " join queue.queues q using (queue_id) where q.arn = %(arn)s and t.status = 'RUNNING'",
            arn=arn,
        ):
            moved += int(step)
        return moved

    def now(self) -> Any:
        return self._value("select clock_timestamp()")

    def stored_since(self, moment: Any) -> int:
        """Returns the number of messages, queues and attributes that were stored after `moment`."""
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

    def is_called(self, function: str, since: Any) -> bool:
        """Returns whether a session has called the SQL function `function` after `since`, and has called no other
        function since that call.

        `function` is a regular expression.
        """
        return bool(
            self._value(
                "select exists (select from pg_stat_activity where datname = current_database()"
                " and pid <> pg_backend_pid() and query ~ %(start)s and query_start > %(t)s)",
                start=call_pattern(function),
                t=since,
            )
        )

    def waiting(self, endpoint: str, kind: str) -> list[str]:
        """Returns the texts of the kind `kind` that wait for delivery to an endpoint."""
        texts = self._value(
            "select array(select n.raw from queue.outgoing_delivery w join queue.notice n using (notice_id)"
            " where w.endpoint = %(endpoint)s and n.kind = %(kind)s order by w.delivery_id)",
            endpoint=endpoint,
            kind=kind,
        )
        return list(texts)

    def notice_ids(self, endpoint: str) -> list[str]:
        """Returns the message ids of all notices that wait for delivery to an endpoint."""
        ids = self._value(
            "select array(select n.message_id::text from queue.outgoing_delivery w"
            " join queue.notice n using (notice_id) where w.endpoint = %(endpoint)s order by w.delivery_id)",
            endpoint=endpoint,
        )
        return list(ids)

    def schedules(self) -> tuple[Any, ...]:
        """Returns the rows of schedules and groups with their versions (xmin)."""
        found = self._value(
            "select array(select s.xmin::text || s.name from queue.schedule s order by 1)"
            " || array(select g.xmin::text || g.name || g.tags from queue.schedule_group g"
            " where g.name <> 'default' order by 1)"
        )
        return tuple(found)

    def close(self) -> None:
        self.connection.close()

    def _value(self, query: LiteralString, **values: Any) -> Any:
        row = self.connection.execute(query, values).fetchone()
        return row[0] if row else None
