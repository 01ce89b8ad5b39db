"""Tests that maintenance knows every table of the schema that it must clean."""

from typing import Final

from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from tests.support.sql.calls import Connection, call

KEPT: Final = {
    "queues": "drop_queue deletes the row",
    "dropped_queue": "is the list of deleted queues",
    "fifo_message": "clean_deleted_queue deletes the messages by their groups",
    "history": "has partitions that are dropped",
    "receive_trace": "has partitions that are dropped",
    "pending_deletion": "finish_deletions ends deletions that can no longer be undone",
    "edited_message": "clean_expired_rows deletes rows after 14 days",
    "receiver": "clean_expired_rows deletes rows after a day",
    "outcome_count": "compact_outcome_counts keeps no row of a deleted queue",
    "activity": "store_minutes takes all rows",
    "measurement": "store_measurements deletes rows of deleted queues",
    "minute": "store_minutes deletes old rows",
    "metrics_window": "clean_metrics deletes old rows",
    "metrics_latency": "clean_metrics deletes old rows",
    "metrics_open": "the metrics job replaces the rows",
    "metrics_forecast": "the metrics job replaces the rows",
}
"""The tables whose rows of a deleted queue end in another way, or stay."""


def names(db: Connection, query: str) -> set[str]:
    return {name for (name,) in db.execute(query)}


def test_rows_of_a_deleted_queue_end_in_every_table(db: Connection) -> None:
    has_queue_id = names(
        db,
        """select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'queue_id'
        where c.relnamespace = 'queue'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition""",
    )
    cleaned = names(db, "select unnest(queue.cleaned_tables())")
    assert has_queue_id == cleaned | KEPT.keys()
    assert not cleaned & KEPT.keys()


def test_every_history_has_partitions_ahead_and_loses_old_ones(db: Connection) -> None:
    partitioned = names(db, "select relname from pg_class where relnamespace = 'queue'::regnamespace and relkind = 'p'")
    partitioned -= {"event"}  # Its partitions also depend on the retention of the buses (maintain_events).
    assert names(db, "select unnest(queue.history_names())") == partitioned
    db.execute("select queue.add_history_day(h, '2020-02-29') from unnest(queue.history_names()) h")
    days = "select relname from pg_class where relnamespace = 'queue'::regnamespace and relname ~ '_20[0-9]{6}$'"
    assert {f"{name}_20200229" for name in partitioned} == names(db, days)
    call(db, MAINTAIN_INSTALLATION, 100, 30, "histories")
    kept = names(db, days)
    assert not {name for name in kept if name.endswith("20200229")}
    assert len(kept) == 3 * len(partitioned)
    assert names(db, "select name from queue.history_drop") == partitioned
