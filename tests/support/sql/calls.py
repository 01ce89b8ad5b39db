"""Calls the storage's SQL functions with the service's types: arrays as parameters, and rows as results.

Also runs a call that waits for a lock, in a separate thread and on a separate connection.
"""

import json
import re
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import psycopg
import pytest

from penstock.calls import build_transaction_columns, transpose
from penstock.postgres import binary_array
from penstock.postgres.statement import BatchStatement, Row, Statement
from penstock.postgres.statements.installation import MAINTAIN_QUEUE
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    DELETE_MESSAGES,
    FAIL_MESSAGES,
    RECEIVE_MESSAGES,
    SEND_MESSAGES,
    TRANSACT,
    FailureEntry,
    ReceiptHandle,
    ReceivedRow,
    SendEntry,
    SentRow,
    VisibilityEntry,
)
from penstock.postgres.statements.queues import CREATE_QUEUE, DESCRIBE_QUEUE, PURGE_MESSAGES
from penstock.postgres.statements.stored_messages import CHANGE_VISIBILITY_BY_ID, DELETE_BY_ID
from tests.support.wait import wait_until

ACCOUNT, REGION = "000000000000", "us-east-1"
Connection = psycopg.Connection[Any]
Sent = SentRow
Delivery = ReceivedRow
RowT = TypeVar("RowT", bound=Row)
EntryT = TypeVar("EntryT", bound=Row)

BOTH = pytest.mark.parametrize("name", ["q", "q.fifo"])
"""Runs a test with a standard queue and with a FIFO queue."""


def group(name: str) -> str | None:
    """Returns the message group for a send. Only a FIFO queue needs a group."""
    return "g" if name.endswith(".fifo") else None


class Counts(NamedTuple):
    visible: int
    in_flight: int
    delayed: int


class Entry(NamedTuple):
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


def call_pattern(function: str) -> str:
    """Returns a regular expression for a function's calls in pg_stat_activity.

    A query that contains the expression does not match, because a parenthesis precedes the function's name.
    """
    return rf"^select [^(]* from {function}\("


def call(connection: Connection, statement: Statement[RowT], *arguments: object) -> list[RowT]:
    """Calls a function and returns its rows. Lists become arrays in the service's format."""
    values = [
        binary_array.encode(kind, value) if kind.endswith("[]") and isinstance(value, list) else value
        for kind, value in zip(statement.types, arguments, strict=True)
    ]
    with psycopg.RawCursor(connection) as cursor:
        return statement.build_rows(cursor.execute(statement.text, values).fetchall())


def call_batch(
    connection: Connection, statement: BatchStatement[EntryT, RowT], entries: Sequence[EntryT], *options: object
) -> list[RowT]:
    """Calls a function with entries and returns its rows."""
    return call(connection, statement, *transpose(entries, statement.width), *options)


def value(connection: Connection, query: str, *arguments: object) -> Any:
    """Returns the only value of a query with %s placeholders."""
    row = connection.execute(query.encode(), arguments).fetchone()
    return row[0] if row else None


def create(connection: Connection, name: str = "orders", shards: int = 1, **attributes: str) -> str:
    """Creates a queue and returns its ARN. Attributes have AWS's names."""
    defaults = value(connection, "select queue.default_attributes(%s)", name.endswith(".fifo"))
    (row,) = call(
        connection, CREATE_QUEUE, ACCOUNT, REGION, name,
        json.dumps(attributes), json.dumps(defaults), None, shards, 0,
    )  # fmt: skip
    assert row.error is None, row
    return str(row.arn)


def redrive(arn: str, maximum: int = 1) -> str:
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": maximum})


def send_entries(connection: Connection, arn: str, entries: Sequence[Entry], async_commit: bool = False) -> list[Sent]:
    """Sends messages in one call. Returns the rows in the order of the entries."""
    rows = call_batch(
        connection, SEND_MESSAGES, [send_entry(entry, entry.arn or arn) for entry in entries], async_commit
    )
    return sorted(rows)


def send_entry(entry: Entry, arn: str) -> SendEntry:
    body = entry.body.encode()
    return SendEntry(
        queue_arn=arn,
        message_id=uuid.uuid4().bytes,
        body=body,
        size_bytes=len(body) if entry.size is None else entry.size,
        attributes=None if entry.attributes is None else entry.attributes.encode(),
        system=None if entry.system is None else entry.system.encode(),
        delay_seconds=entry.delay,
        group_id=entry.group,
        deduplication_id=entry.deduplication,
    )


def send(
    connection: Connection, arn: str, *bodies: str, delay: int | None = None, group: str | None = None
) -> list[Sent]:
    """Sends bodies. FIFO messages have different deduplication ids. Other messages have their groups in the system
    attributes.
    """
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
    """Receives messages. Fails if the header contains an error."""
    header, *rows = call(connection, RECEIVE_MESSAGES, arn, count, lease_size, visibility, None, False, None)
    assert header.error is None, header
    return rows


def bodies(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.body for delivery in deliveries]


def handle_of(delivery: Delivery) -> ReceiptHandle:
    assert delivery.message_id is not None
    return ReceiptHandle(
        delivery.queue_id, delivery.shard, delivery.pos, delivery.id, delivery.receive_count,
        delivery.nonce or 0, uuid.UUID(delivery.message_id).bytes,
    )  # fmt: skip


def delete(connection: Connection, deliveries: Sequence[Delivery]) -> list[str]:
    """Returns the outcome for each handle."""
    rows = call_batch(connection, DELETE_MESSAGES, [handle_of(delivery) for delivery in deliveries])
    return [row.outcome for row in sorted(rows)]


def transact_deletes(connection: Connection, deliveries: Sequence[Delivery]) -> str | None:
    """Deletes messages in a transaction, and returns the transaction's error."""
    columns = build_transaction_columns([handle_of(delivery) for delivery in deliveries], [])
    rows = call(connection, TRANSACT, *columns, ACCOUNT, REGION, *[[]] * 6, None)
    return rows[0].error if rows else None


def change(connection: Connection, deliveries: Sequence[Delivery], seconds: int) -> list[str]:
    """Returns the outcome for each handle."""
    entries = [VisibilityEntry(*handle_of(delivery), seconds) for delivery in deliveries]
    return [row.outcome for row in sorted(call_batch(connection, CHANGE_VISIBILITIES, entries))]


def fail(connection: Connection, deliveries: Sequence[Delivery], error: str, seconds: int | None = None) -> list[str]:
    """Records the error of each receive. Returns the outcome for each handle."""
    entries = [FailureEntry(*handle_of(delivery), seconds, error) for delivery in deliveries]
    return [row.outcome for row in sorted(call_batch(connection, FAIL_MESSAGES, entries))]


def delete_by_id(connection: Connection, arn: str, *public_ids: int) -> list[int]:
    """Deletes messages by id, and returns the ids that existed."""
    return sorted(row.id for row in call(connection, DELETE_BY_ID, arn, list(public_ids)))


def change_by_id(connection: Connection, arn: str, public_id: int, seconds: int) -> bool:
    """Returns whether the message existed."""
    return bool(call(connection, CHANGE_VISIBILITY_BY_ID, arn, public_id, seconds))


def counts(connection: Connection, arn: str) -> Counts:
    (row,) = call(connection, DESCRIBE_QUEUE, arn, True)
    assert row.visible is not None
    assert row.in_flight is not None
    assert row.delayed is not None
    return Counts(row.visible, row.in_flight, row.delayed)


def queue_id(connection: Connection, arn: str) -> int:
    return int(value(connection, "select queue_id from queue.queues where arn = %s", arn))


def maintain(connection: Connection, arn: str) -> int:
    """Runs the worker's maintenance for one queue. Returns the number of changed messages."""
    (row,) = call(connection, MAINTAIN_QUEUE, queue_id(connection, arn))
    return row.changed


def purge(connection: Connection, arn: str) -> int:
    (row,) = call(connection, PURGE_MESSAGES, arn, 0)
    assert row.purged is not None
    return row.purged


def rows_of(connection: Connection, table: str, arn: str) -> int:
    """Returns the number of a queue's rows in a storage table."""
    assert re.fullmatch("[a-z_]+", table)
    where = queue_id(connection, arn)
    return int(value(connection, f"select count(*) from queue.{table} where queue_id = %s", where))


def history(connection: Connection, arn: str) -> dict[str, int]:
    """Returns the numbers of messages in the history by outcome."""
    rows = connection.execute(
        "select outcome, sum(cardinality(sent_at))::int from queue.history where queue_id = %s group by 1",
        (queue_id(connection, arn),),
    )
    return dict(rows.fetchall())


def check_groups_again(connection: Connection, arn: str) -> None:
    """Resets the time of a queue's last group check, because Penstock makes at most one check in a quarter of a
    second.
    """
    connection.execute(
        "update queue.noisy_neighbors set judged_at = '-infinity' where queue_id = %s", (queue_id(connection, arn),)
    )


def received_seconds_ago(connection: Connection, seconds: int) -> None:
    """Moves every lease's first receive to `seconds` ago, so that results do not depend on the test's duration."""
    connection.execute(
        "update queue.lease set first_received_at = clock_timestamp() - make_interval(secs => %s) "
        "where first_received_at is not null",
        (seconds,),
    )


def set_search_due(db: Connection, arn: str) -> None:
    """Imitates a busy machine: the last search in a FIFO queue took long, and the next search is due."""
    changed = db.execute(
        "update queue.fifo_search set full_took = '7 ms', full_due_at = searched_at - interval '1 second',"
        " late_at = searched_at - interval '9 seconds'"
        " where queue_id = (select queue_id from queue.queues where arn = %s)",
        (arn,),
    )
    assert changed.rowcount == 1


T = TypeVar("T")
_WAITS = "select coalesce(bool_or(wait_event_type = 'Lock'), false) from pg_stat_activity where pid = %s"


class BackgroundCall(Generic[T]):
    """Runs `call(connection)`. `result` waits for the call and raises its error."""

    def __init__(self, connection: Connection, call: Callable[[Connection], T]) -> None:
        self._connection, self._call = connection, call
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._pid = connection.info.backend_pid
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._call(self._connection))
        except BaseException as error:  # noqa: BLE001 - raised again by `result`
            self._error = error

    def wait_until_blocked(self, observer: Connection) -> None:
        """Returns when the call waits for a lock. Fails if the call ends instead."""
        wait_until(lambda: not self._thread.is_alive() or bool(value(observer, _WAITS, self._pid)))
        assert self._thread.is_alive(), "the call did not wait"

    def result(self) -> T:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._results[0]


def fetched(db: Connection, call: Callable[[], object]) -> int:
    """Returns the number of table rows that a call fetches, with and without an index."""
    query = """
        select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int
        from pg_stat_xact_user_tables where schemaname = 'queue'"""
    with db.transaction():
        before = db.execute(query).fetchone()
        call()
        after = db.execute(query).fetchone()
    assert before is not None
    assert after is not None
    return int(after[0] - before[0])
