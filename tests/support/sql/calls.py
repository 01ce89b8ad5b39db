"""Typed calls of the storage's SQL functions, as the service makes them: arrays in, rows out.

Nothing here knows what is right: that is in the tests.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import psycopg

from penstock.effects import Statement
from penstock.postgres import binary_array, statements
from penstock.sqs.send import StoredRow

ACCOUNT, REGION = "000000000000", "us-east-1"
Connection = psycopg.Connection[Any]
Sent = StoredRow
Isolation = Literal["read committed", "repeatable read", "serializable"]


class Delivery(NamedTuple):
    """A message of queue.receive_messages."""

    queue_id: int
    shard: int
    pos: int
    id: int
    receive_count: int
    message_id: str
    sent_at_ms: int
    first_received_at_ms: int
    body: str
    attributes: str | None
    system: str | None
    public_id: int
    visible_at_ms: int
    nonce: int | None


class Counts(NamedTuple):
    """What a queue holds."""

    visible: int
    in_flight: int
    delayed: int


class Entry(NamedTuple):
    """A message to be sent."""

    body: str
    delay: int | None = None
    group: str | None = None
    deduplication: str | None = None
    attributes: str | None = None
    system: str | None = None
    arn: str | None = None
    size: int | None = None


def arn_of(name: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


def call(connection: Connection, statement: Statement, *arguments: object) -> list[tuple[Any, ...]]:
    """The rows of one function; lists become arrays as the service writes them."""
    values = [
        binary_array.encode(kind, value) if kind.endswith("[]") and isinstance(value, list) else value
        for kind, value in zip(statement.types, arguments, strict=True)
    ]
    with psycopg.RawCursor(connection) as cursor:
        return cursor.execute(statement.text, values).fetchall()


def value(connection: Connection, query: str, *arguments: object) -> Any:
    """The one value of a query with %s marks."""
    row = connection.execute(query.encode(), arguments).fetchone()
    return row[0] if row else None


def create(connection: Connection, name: str = "orders", shards: int = 1, **attributes: str) -> str:
    """Make a queue and return its ARN; attributes by AWS's names."""
    defaults = value(connection, "select queue.default_attributes(%s)", name.endswith(".fifo"))
    row = call(
        connection, statements.CREATE_QUEUE, ACCOUNT, REGION, name,
        json.dumps(attributes), json.dumps(defaults), None, shards, 0,
    )[0]  # fmt: skip
    assert row[2] is None, row
    return str(row[0])


def redrive(arn: str, maximum: int = 1) -> str:
    """The value of RedrivePolicy."""
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": maximum})


def send_entries(
    connection: Connection, arn: str, entries: Sequence[Entry], async_commit: bool = False
) -> list[Sent]:
    """Send in one call; the rows in the order of the entries."""
    rows = call(
        connection,
        statements.SEND_MESSAGES,
        [entry.arn or arn for entry in entries],
        [uuid.uuid4().bytes for _ in entries],
        [entry.body for entry in entries],
        [len(entry.body.encode()) if entry.size is None else entry.size for entry in entries],
        [entry.attributes for entry in entries],
        [entry.system for entry in entries],
        [entry.delay for entry in entries],
        [entry.group for entry in entries],
        [entry.deduplication for entry in entries],
        async_commit,
    )
    return sorted(Sent(*row) for row in rows)


def send(
    connection: Connection, arn: str, *bodies: str, delay: int | None = None, group: str | None = None
) -> list[Sent]:
    """Send bodies; FIFO messages get a deduplication id of their own, others keep their group beside them."""
    fifo = arn.endswith(".fifo")
    system = json.dumps({"MessageGroupId": group}) if group and not fifo else None
    return send_entries(
        connection,
        arn,
        [Entry(body, delay, group, str(uuid.uuid4()) if fifo else None, system=system) for body in bodies],
    )


def receive(
    connection: Connection, arn: str, count: int = 10, visibility: int | None = None, lease_size: int = 10
) -> list[Delivery]:
    """Receive; the header must not tell of an error."""
    header, *rows = call(
        connection, statements.RECEIVE_MESSAGES, arn, count, lease_size, visibility, None, False, None
    )
    assert header[0] is None, header
    return [Delivery(*row[2:]) for row in rows]


def bodies(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.body for delivery in deliveries]


def _handles(deliveries: Sequence[Delivery]) -> list[list[Any]]:
    rows = [
        (*d[:5], d.nonce or 0, uuid.UUID(d.message_id).bytes if d.message_id else None) for d in deliveries
    ]
    return [list(column) for column in zip(*rows, strict=True)] or [[]] * 7


def delete(connection: Connection, deliveries: Sequence[Delivery]) -> list[str]:
    """The outcome for each handle."""
    rows = call(connection, statements.DELETE_MESSAGES, *_handles(deliveries))
    return [outcome for _, outcome in sorted(rows)]


def transact_deletes(connection: Connection, deliveries: Sequence[Delivery]) -> str | None:
    """The error of a transaction that acknowledges these messages and does nothing else."""
    rows = call(
        connection, statements.TRANSACT, *_handles(deliveries), *[[]] * 9, ACCOUNT, REGION, *[[]] * 6, None
    )
    return rows[0][4] if rows else None


def change(connection: Connection, deliveries: Sequence[Delivery], seconds: int) -> list[str]:
    """The outcome for each handle."""
    rows = call(
        connection, statements.CHANGE_VISIBILITIES, *_handles(deliveries), [seconds] * len(deliveries)
    )
    return [outcome for _, outcome, _ in sorted(rows)]


def delete_by_id(connection: Connection, arn: str, *public_ids: int) -> list[int]:
    """The ids that were there."""
    return sorted(row[0] for row in call(connection, statements.DELETE_BY_ID, arn, list(public_ids)))


def change_by_id(connection: Connection, arn: str, public_id: int, seconds: int) -> bool:
    """Whether there was such a message."""
    return bool(call(connection, statements.CHANGE_VISIBILITY_BY_ID, arn, public_id, seconds))


def counts(connection: Connection, arn: str) -> Counts:
    return Counts(*call(connection, statements.DESCRIBE_QUEUE, arn, True)[0][6:9])


def queue_id(connection: Connection, arn: str) -> int:
    return int(value(connection, "select queue_id from queue.queues where arn = %s", arn))


def maintain(connection: Connection, arn: str) -> int:
    """What the worker does for one queue; messages cleaned or expired."""
    return int(call(connection, statements.MAINTAIN_QUEUE, queue_id(connection, arn))[0][0])


def purge(connection: Connection, arn: str) -> int:
    return int(call(connection, statements.PURGE_MESSAGES, arn, 0)[0][0])


def rows_of(connection: Connection, table: str, arn: str) -> int:
    """Rows of one queue in a table of the storage."""
    assert re.fullmatch("[a-z_]+", table)
    where = queue_id(connection, arn)
    return int(value(connection, f"select count(*) from queue.{table} where queue_id = %s", where))


def history(connection: Connection, arn: str) -> dict[str, int]:
    """Messages in the history by outcome."""
    rows = connection.execute(
        "select outcome, sum(cardinality(sent_at))::int from queue.history where queue_id = %s group by 1",
        (queue_id(connection, arn),),
    )
    return dict(rows.fetchall())


def check_tenants_again(connection: Connection, arn: str) -> None:
    """As if the quarter of a second were over in which the tenants of a queue are not looked at again."""
    connection.execute(
        "update queue.noise set judged_at = '-infinity' where queue_id = %s", (queue_id(connection, arn),)
    )


def received_seconds_ago(connection: Connection, seconds: int) -> None:
    """As if everything that is leased had been received so long ago, whatever the test took."""
    connection.execute(
        "update queue.lease set first_received_at = clock_timestamp() - make_interval(secs => %s) "
        "where first_received_at is not null",
        (seconds,),
    )
