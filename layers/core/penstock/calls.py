"""Builds the database call of an effect: the statement and its arguments. A driver encodes the arguments."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import msgspec

from .effects import BatchCall, Call, Receive, Transact
from .limits.response_limit import MESSAGE_HEAD_BYTES, ReceiveLimit
from .postgres.statement import Row, Statement
from .postgres.statements.messages import HANDLE_TYPES, MESSAGE_TYPES, RECEIVE_ATTEMPT, RECEIVE_RESPONSE

SMALLEST_LEASE = 10
SHORTEST_NOTED_BYTES = 12_000  # queue.build_received_row, for a message that a receive can refuse

RowT = TypeVar("RowT", bound=Row)
_texts = msgspec.json.Decoder(dict[str, str])

DatabaseEffect = Call[RowT] | BatchCall[Row, RowT] | Transact[RowT] | Receive[RowT]


def build_call(effect: DatabaseEffect[RowT], *, assume_short: bool = False) -> tuple[Statement[RowT], list[object]]:
    """Returns the statement and arguments of one effect that is not merged. Arrays are lists."""
    if isinstance(effect, BatchCall):
        return effect.statement, [*transpose(effect.entries, effect.statement.width), *effect.options]
    if isinstance(effect, Transact):
        return effect.statement, [*build_transaction_columns(effect.handles, effect.messages), *effect.options]
    if isinstance(effect, Receive):
        return build_receive_call(effect, effect.count, effect.count, assume_short=assume_short)
    return effect.statement, list(effect.arguments)


def transpose(entries: Sequence[Row], count: int) -> list[list[object]]:
    """Returns the `count` columns of entries as arrays. The arrays are empty if there are no entries."""
    return [list(column) for column in zip(*entries, strict=True)] or [[] for _ in range(count)]


def build_transaction_columns(handles: Sequence[Row], messages: Sequence[Row]) -> list[list[object]]:
    """Returns the arrays of `queue.transact`: receipt handles, then messages."""
    return [*transpose(handles, len(HANDLE_TYPES)), *transpose(messages, len(MESSAGE_TYPES))]


def build_receive_call(
    receive: Receive[RowT], count: int, most: int, *, own_transaction: bool = True, assume_short: bool = False
) -> tuple[Statement[RowT], list[object]]:
    """Returns the call that receives `count` messages. Each request wants at most `most` messages.

    Messages of one lease become visible at the same time. A lease has up to `most` messages, or up to SMALLEST_LEASE if
    `most` is smaller. On a FIFO queue, each merged receive has a separate lease, because two receives must not return
    messages of the same group. All merged receives request the same number of messages. `own_transaction` means that
    the receive is the only statement of its transaction, which does not wait for the disk. A crash can undo a receive
    in its own transaction, so that clients receive the messages again. If `assume_short` is set, the receive fails with
    LONG_MESSAGE if `most` messages of the greatest length may not fit (`message_lengths`). If `assume_short` is not
    set, the receive measures messages that may be too long. A receive with an attempt id always measures such messages.
    """
    limit = receive.limit
    if limit is not None and most == 1 and not limit.way:  # the container returns a single message of any length
        limit = None
    if receive.attempt_id is not None:
        return _build_attempt_call(receive, count, limit)
    lease = receive.count if receive.queue.is_fifo else max(SMALLEST_LEASE, most)
    arguments: list[object] = [
        receive.queue.arn, count, lease, receive.visibility_seconds, receive.in_flight_limit, own_transaction
    ]  # fmt: skip
    if limit is None:
        return receive.statement, [*arguments, None]
    short_bytes = limit.max_bytes // (limit.growth * most) - MESSAGE_HEAD_BYTES
    if assume_short and own_transaction and short_bytes >= SHORTEST_NOTED_BYTES:
        return receive.statement, [*arguments, short_bytes]
    return cast("Statement[RowT]", RECEIVE_RESPONSE), [*arguments, limit.max_bytes, limit.format]


def _build_attempt_call(
    receive: Receive[RowT], count: int, limit: ReceiveLimit | None
) -> tuple[Statement[RowT], list[object]]:
    """The call waits for the disk, because the database must remember the attempt after a crash."""
    bounds = (None, None) if limit is None else (limit.max_bytes, limit.format)
    return cast("Statement[RowT]", RECEIVE_ATTEMPT), [
        receive.queue.arn, count, receive.visibility_seconds, receive.in_flight_limit, receive.attempt_id, *bounds
    ]  # fmt: skip


def decode_texts(value: str) -> dict[str, str]:
    """Decodes a jsonb object whose members are all texts."""
    return _texts.decode(value)


def encode_jsonb(value: Mapping[str, object]) -> str:
    """Returns JSON text. PostgreSQL casts the text to jsonb."""
    return msgspec.json.encode(value).decode()
