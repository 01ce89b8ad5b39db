"""Stores the range of the history that a zone's runs have handled (queue.metrics_range), and finds the retained range.

A run handles the rows that its snapshot sees but the previous snapshot does not see. The ranges therefore have no gaps
or overlaps. A failed run does not move the range. A run computes the days of one zone, so each zone has a range.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg

from penstock_metrics.scope import INSTALLATION
from penstock_metrics.span import to_micros

from .address import TRANSACTION_SETTINGS, open_connection
from .snapshot import Snapshot

Connection = psycopg.Connection[Any]
# The longest time between a row's recorded_at and the commit of the row's transaction.
LATE: Final = timedelta(days=1)
# If a message ends during a change of the attribute `history`, the message's row can be missing.
_SWITCH: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Handled:
    """The end of a zone's range, with the last run that handled the range, and that run's snapshot."""

    run_id: int
    snapshot: Snapshot

    def unhandled_condition(self, now: Snapshot) -> str:
        """Returns the condition, on recorded_at and transaction, for rows that `now` sees and the range lacks."""
        since = (self.snapshot.at - LATE).isoformat()
        seen = self.snapshot.visibility_condition
        return f"recorded_at >= '{since}' and {now.visibility_condition} and not {seen}"


def last_range(connection: Connection, zone: str) -> Handled | None:
    """Returns the range of a zone, or None if the zone has no range or the range comes from another cluster."""
    row = connection.execute(
        "select run_id, handled::text, pg_snapshot_xmin(handled)::text::bigint,"
        " pg_snapshot_xmax(handled)::text::bigint, handled_at, '' from queue.metrics_range"
        " where zone = %s and pg_snapshot_xmax(handled) <= pg_snapshot_xmax(pg_current_snapshot())",
        (zone,),
    ).fetchone()
    return None if row is None else Handled(row[0], Snapshot(*row[1:]))


def begin_range(connection: Connection, zone: str, last: Handled | None) -> None:
    """Removes the rows of unfinished runs."""
    connection.execute(
        "delete from queue.metrics_open where zone = %s and run_id > %s", (zone, last.run_id if last else 0)
    )


def end_range(connection: Connection, zone: str, handled: Handled, changed: list[int]) -> None:
    """Moves the end of the range. The caller finishes the run in the same transaction.

    `changed` lists the queues for which this run added or removed rows of metrics_open.
    """
    connection.execute(
        "delete from queue.metrics_open where zone = %s and run_id < %s and queue_id = any (%s)",
        (zone, handled.run_id, changed),
    )
    connection.execute(
        "insert into queue.metrics_range as r (zone, run_id, handled, handled_at) values (%s, %s, %s, %s)"
        " on conflict (zone) do update set run_id = excluded.run_id, handled = excluded.handled,"
        " handled_at = excluded.handled_at",
        (zone, handled.run_id, handled.snapshot.text, handled.snapshot.at),
    )


def find_kept_since(address: str, snapshot: Snapshot) -> dict[int, int]:
    """Maps each queue with a history, and INSTALLATION, to the time in microseconds since which the history is
    complete.

    Before that time, rows were removed (QUEUE_HISTORY_DAYS), or the queue had no history. Earlier windows stay
    unchanged.
    """
    with open_connection(address) as connection, connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        connection.execute(f"set transaction snapshot '{snapshot.exported}'".encode())
        for statement in TRANSACTION_SETTINGS:
            connection.execute(statement.encode())
        dropped: dict[str, datetime] = dict(
            connection.execute("select name, dropped_before from queue.history_drop").fetchall()
        )
        queues = connection.execute("select queue_id, history_since from queue.queues where keeps_history").fetchall()
    oldest = _to_micros(dropped.get("history"))
    found = {queue: max(oldest, _to_micros(since and since + _SWITCH)) for queue, since in queues}
    return {
        **found,
        INSTALLATION: max(_to_micros(dropped.get(name)) for name in ("outgoing_delivery_history", "schedule_run")),
    }


def _to_micros(at: datetime | None) -> int:
    return 0 if at is None else to_micros(at)


def find_earliest_message(connection: Connection) -> datetime | None:
    """Returns the first known time of a message, a schedule's run or a delivery, or None."""
    row = connection.execute(
        "select least((select min(sent_at) from queue.finished_message), (select min(sent_at) from queue.live_message),"
        " (select min(fired_at) from queue.schedule_run), (select min(published_at) from queue.finished_delivery))"
    ).fetchone()
    return None if row is None else row[0]


def find_earliest_delivery(connection: Connection, condition: str) -> datetime | None:
    """Returns the time when the first of the given deliveries ended."""
    query = f"select min(recorded_at) from queue.outgoing_delivery_history where {condition}"
    row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]
