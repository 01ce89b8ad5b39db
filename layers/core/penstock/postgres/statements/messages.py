"""Statements for the most frequent calls. The calls take entries, and return rows with the number of the entry."""

from binascii import a2b_hex
from typing import NamedTuple, Protocol, TypeAlias

from penstock.postgres.statement import BatchStatement, Statement


class ReceiptHandle(NamedTuple):
    """The fields of a receipt handle. `nonce` is 0 for a message without a nonce. `message_id` has 16 bytes."""

    queue_id: int
    shard: int
    pos: int
    id: int
    receive_count: int
    nonce: int
    message_id: bytes


# A ReceiptHandle, or its fields as a plain tuple. Creating a plain tuple takes a third of the time.
HandleFields: TypeAlias = tuple[int, int, int, int, int, int, bytes] | ReceiptHandle


class SendEntry(NamedTuple):
    """A message to store. `body`, `attributes` and `system` are UTF-8. `attributes` and `system` are JSON. `size_bytes`
    is the size of body and message attributes, without `system`."""

    queue_arn: str
    message_id: bytes
    body: bytes
    size_bytes: int
    attributes: bytes | None = None
    system: bytes | None = None
    delay_seconds: int | None = None
    group_id: str | None = None
    deduplication_id: str | None = None


class SentRow(NamedTuple):
    """Entry `n` (from 1) was stored, or refused with an error.

    If an earlier message has the same deduplication id, the call stored no message, and `message_id` is the earlier
    message's id.
    """

    n: int
    id: int | None
    message_id: str | None
    sequence_number: int | None
    error: str | None
    detail: str | None

    @property
    def is_new(self) -> bool:
        """Returns whether a message was added to the queue."""
        return self.error is None and self.message_id is None


class ReceiveHeader(Protocol):
    """The columns of the header, which is the first row of a receive's result. `error` is None if the call could
    receive. `wait_seconds` is the queue's ReceiveMessageWaitTimeSeconds, or None if the queue does not exist. `system`
    is `traced` if the queue records its receives (`penstock.sqs.traces`), and otherwise None.
    """

    @property
    def error(self) -> str | None: ...

    @property
    def wait_seconds(self) -> int | None: ...

    @property
    def system(self) -> str | None: ...


class ReceivedRow(NamedTuple):
    """A received message. The first row of a result is the header (`ReceiveHeader`), in which all other columns are
    None. The header is a row of the same class, because a choice of the class would cost each row of each receive.
    """

    error: str | None
    """None in a message."""
    wait_seconds: int | None
    """None in a message."""
    queue_id: int
    shard: int
    pos: int
    """The position of the message's lease, or 0 for a message of the side table or a FIFO queue, which has no lease."""
    id: int
    receive_count: int
    message_id: str
    sent_at_ms: int
    first_received_at_ms: int
    body: str
    attributes: str | None
    """JSON, or None if the message has no message attributes."""
    system: str | None
    """JSON, or None if the message has no system attributes."""
    public_id: int
    visible_at_ms: int
    nonce: int | None
    """The nonce of the message's lease, or None for a message without a lease."""

    @property
    def handle(self) -> HandleFields:
        """Returns the fields of the message's receipt handle."""
        identity = a2b_hex(self.message_id.replace("-", ""))
        return (
            self.queue_id, self.shard, self.pos, self.id, self.receive_count, self.nonce or 0, identity
        )  # fmt: skip


class DeletedRow(NamedTuple):
    """The outcome of entry `n`'s receipt handle: deleted, gone, expired or no_queue."""

    n: int
    outcome: str


class VisibilityEntry(NamedTuple):
    """A receipt handle, and the number of seconds for which its message stays invisible."""

    queue_id: int
    shard: int
    pos: int
    id: int
    receive_count: int
    nonce: int
    message_id: bytes | None
    visibility_seconds: int


class FailureEntry(NamedTuple):
    """A receipt handle, and why its receiver failed. `visibility_seconds` is None if the visibility stays the same."""

    queue_id: int
    shard: int
    pos: int
    id: int
    receive_count: int
    nonce: int
    message_id: bytes | None
    visibility_seconds: int | None
    error: str


class ChangedRow(NamedTuple):
    """The outcome of entry `n`'s receipt handle: changed, gone, expired, too_long or no_queue."""

    n: int
    outcome: str
    visible_at_ms: int | None


class TransactedRow(NamedTuple):
    """A message that part `n` (from 1) of its kind stored in the queue `arn`.

    `kind` is send, schedule or publish. The row of a schedule has no ARN and no id, and its `detail` is the name of the
    schedule that stores the message. A publish has a row for each queue that the event reached, and a row without ARN
    whose `id` is the number of deliveries. A refused transaction has one row with `error` and `detail`. The row's `n`
    is the number of the refused receipt handle (StaleReceipt) or message.
    """

    kind: str
    n: int
    arn: str | None
    id: int
    error: str | None
    detail: str | None


HANDLE_TYPES = ("int4[]", "int2[]", "int8[]", "int8[]", "int4[]", "int4[]", "uuid[]")
MESSAGE_TYPES = (
    "text[]", "uuid[]", "text[]", "int4[]", "jsonb[]", "jsonb[]", "int4[]", "text[]", "text[]"
)  # fmt: skip

SEND_MESSAGES = BatchStatement(
    "queue.send_messages",
    (*MESSAGE_TYPES, "bool"),
    SentRow,
    named=("p_async_commit",),
    entry=SendEntry,
    is_audited=True,
    stores_messages=True,
)
# The call fails with LONG_MESSAGE if a message has more bytes than the last argument. With null, no limit applies.
RECEIVE_MESSAGES = Statement(
    "queue.receive_messages",
    ("text", "int4", "int4", "int4", "int4", "bool", "int4"),
    ReceivedRow,
    is_idle_without_rows=True,
)
# The same function, with a limit that makes each receiver's messages fit into a response.
RECEIVE_RESPONSE = Statement(
    "queue.receive_response",
    ("text", "int4", "int4", "int4", "int4", "bool", "int4", "text"),
    ReceivedRow,
    named=("p_response_bytes", "p_response_format"),
)
# A receive with a ReceiveRequestAttemptId.
RECEIVE_ATTEMPT = Statement(
    "queue.receive_attempt",
    ("text", "int4", "int4", "int4", "text", "int4", "text"),
    ReceivedRow,
    named=("p_response_bytes", "p_response_format"),
)
DELETE_MESSAGES = BatchStatement(
    "queue.delete_messages", HANDLE_TYPES, DeletedRow, entry=ReceiptHandle, takes_handles=True, is_idempotent=True
)
CHANGE_VISIBILITIES = BatchStatement(
    "queue.change_visibilities",
    (*HANDLE_TYPES, "int4[]"),
    ChangedRow,
    entry=VisibilityEntry,
    takes_handles=True,
    is_idempotent=True,
)
# The outcome `changed` means that the failure was stored.
FAIL_MESSAGES = BatchStatement(
    "queue.fail_messages",
    (*HANDLE_TYPES, "int4[]", "text[]"),
    ChangedRow,
    entry=FailureEntry,
    takes_handles=True,
    is_idempotent=True,
)
TRANSACT = Statement(
    "queue.transact",
    (*HANDLE_TYPES, *MESSAGE_TYPES, "text", "text", "text[]", "text[]", "jsonb[]", "jsonb[]", "jsonb[]", "int4[]",
     "text"),
    TransactedRow,
    named=("p_account_id", "p_region", "p_keys", "p_event_bodies", "p_event_attributes", "p_event_headers",
           "p_event_facts", "p_event_delays", "p_trace"),
    is_prepared=True,
)  # fmt: skip
