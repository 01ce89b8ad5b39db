"""Tests that the tables of messages, and the row of a receive, describe a message in the same columns.

The tables store different states of a message, so no single `create table … (like …)` can define them. A new column
needs a place in each table, or a line with the reason here (ARCHITECTURE.md, "A column of messages").
"""

import psycopg

from tests.support.database import Database

# Maps each difference from queue.side to its reason. A table lacks the column, has it alone, or defines it differently.
IN_LEASE = "a row of the log never changes: queue.lease has the state of its messages"
NOT_MEASURED = "only a receive measures a message, and a measured message leaves the log"
ENDED = "the message is deleted, so no receive reads this state"
DIFFERENCES = {
    "log": {
        "visible_at": IN_LEASE,
        "first_received_at": IN_LEASE,
        "receive_count": IN_LEASE,
        "redelivered_at": IN_LEASE,
        "response_bytes": NOT_MEASURED,
        "entered_at": "messages enter the log when they are sent",
    },
    "fifo_message": {
        "shard": "the shard of all messages is fifo_shard()",
        "entered_at": "a message that moves is new in its group, so sent_at is the time at which it entered",
        "group_key": "a standard queue has no rows for groups",
        "deduplication_id": "a standard queue does not deduplicate",
    },
    "archive": {
        "id": "public_id contains the id",
        "shard": "public_id contains the shard",
        "visible_at": ENDED,
        "first_received_at": ENDED,
        "redelivered_at": ENDED,
        "response_bytes": ENDED,
        "entered_at": ENDED,
        "receive_count": "every row comes from a message, so the column has no default",
        "archive_id": "the order in which messages were archived",
        "public_id": "the id of the deleted message",
        "archived_at": "the time of the deletion",
    },
}
# Maps the columns of queue.side to those of queue.received_row, which has times in milliseconds and JSON as text.
RECEIVED = {
    "queue_id": "queue_id integer",
    "shard": "shard smallint",
    "id": "id bigint",
    "receive_count": "receive_count integer",
    "message_id": "message_id text",
    "sent_at": "sent_at_ms bigint",
    "first_received_at": "first_received_at_ms bigint",
    "visible_at": "visible_at_ms bigint",
    "body": "body text",
    "attributes": "attributes text",
    "system": "system text",
    "response_bytes": None,  # the receive has decided which messages fit
    "entered_at": None,  # only views and the history read it
    "redelivered_at": None,  # only views and the history read it
}
ADDED = {"error text", "wait_seconds integer", "pos bigint", "public_id bigint", "nonce integer"}
"""The columns of the header, of the lease and of the id for clients."""


def columns(connection: psycopg.Connection, name: str) -> dict[str, tuple[str, bool, str | None]]:
    """Returns the type, the constraint `not null` and the default of each column of a table or type."""
    rows = connection.execute(
        "select a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid) "
        "from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum "
        "where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped",
        [f"queue.{name}"],
    )
    return {column: (kind, not_null, default) for column, kind, not_null, default in rows}


def test_tables_of_messages_have_the_same_columns(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        side = columns(connection, "side")
        found = {}
        for table in DIFFERENCES:
            other = columns(connection, table)
            found[table] = {name for name in side.keys() | other.keys() if side.get(name) != other.get(name)}
    assert found == {table: set(reasons) for table, reasons in DIFFERENCES.items()}


def test_the_row_of_a_receive_has_the_columns_of_a_message(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        assert columns(connection, "side").keys() == RECEIVED.keys()
        received = {f"{name} {kind}" for name, (kind, *_) in columns(connection, "received_row").items()}
    assert received == {column for column in RECEIVED.values() if column is not None} | ADDED
