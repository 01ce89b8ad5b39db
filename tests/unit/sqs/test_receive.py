"""Tests receives, and operations on received messages, without a database. That messages can exceed the limit of the
response is Penstock's choice (docs/reference/errors.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, cast
from uuid import UUID

import pytest

from penstock import errors
from penstock.access.receipt_handle import ReceiptHandles
from penstock.aws.named_queue import NamedQueue
from penstock.calls import build_receive_call
from penstock.context import Context
from penstock.drivers import allow_any_wait, perform, run
from penstock.effects import Call, Compute, Effect, Operation, Pause, Receive
from penstock.environment import Environment
from penstock.http import HttpRequest
from penstock.limits.message_lengths import MessageLengths
from penstock.limits.response_limit import ReceiveLimit
from penstock.observing.reports import Client, Deleted, Received, Report, VisibilityChanged
from penstock.postgres.database import LongMessageFound
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    DELETE_MESSAGES,
    RECEIVE_ATTEMPT,
    RECEIVE_MESSAGES,
    RECEIVE_RESPONSE,
    ReceiptHandle,
    ReceivedRow,
)
from penstock.postgres.statements.queues import DESCRIBE_QUEUE
from penstock.postgres.statements.stored_messages import PeekedRow
from penstock.settings import Settings
from penstock.sqs import delete, peek, receive, send, visibility
from penstock.sqs.types import (
    PeekRequest,
    ReceiveMessageRequest,
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
    SendMessageRequest,
)
from tests.support.operations import Responses, reports

RowT = TypeVar("RowT", bound=Row)
ARN = "arn:aws:sqs:us-east-1:000000000000:orders"
LIMIT = ReceiveLimit(1_000, "function-json", 7, "a narrow way")
CONTAINER = ReceiveLimit(4_200_000, "json", 2)
TOO_LARGE = RECEIVE_RESPONSE.build_row(["ResponseTooLarge", 7, *[None] * 14])
FOUND = RECEIVE_RESPONSE.build_row([None, None, 1, *[None] * 13])
HEADER = RECEIVE_RESPONSE.build_row([None, 0, *[None] * 14])
CLIENT = cast("Client", None)  # Only receives of a queue with the attribute PenstockTrace use the client.


def operation(wait_seconds: float | None, arn: str = ARN) -> Operation[list[ReceivedRow]]:
    return receive.receive_messages(
        Receive(RECEIVE_MESSAGES, NamedQueue(arn), 10, None, wait_seconds=wait_seconds, limit=LIMIT), CLIENT
    )


class TooLarge:
    """Imitates a database that finds only messages that are too long."""

    def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]:
        assert statement.name == RECEIVE_RESPONSE.name
        assert arguments[-2:] == [1_000, "function-json"]
        return statement.build_rows([TOO_LARGE])


@pytest.mark.parametrize("arn", [ARN, ARN + ".fifo"])
def test_without_a_wait_it_is_refused_at_once(arn: str) -> None:
    with pytest.raises(errors.ResponseTooLarge, match="longer than a narrow way allows"):
        run(operation(0, arn), TooLarge())


def test_a_wait_goes_on_until_others_come() -> None:
    waiting = operation(20)
    effect: Effect[object] = next(waiting)
    for _ in range(3):
        assert isinstance(effect, Receive)
        effect = waiting.send([TOO_LARGE])
        assert effect == Pause(1)
        effect = waiting.send(True)
    waiting.send([HEADER, FOUND])  # reports the long message
    with pytest.raises(StopIteration) as end:
        waiting.send(None)
    assert end.value.value == [FOUND]


def test_a_long_message_is_refused_at_the_end_of_the_queues_wait() -> None:
    """The process stops during the pause."""
    waiting = operation(None)
    next(waiting)
    assert isinstance(waiting.send([TOO_LARGE]), Pause)
    with pytest.raises(errors.ResponseTooLarge):
        waiting.send(False)


FUNCTION = ReceiveLimit(5_998_000, "function-json", 7, "a function")


@pytest.mark.parametrize(
    ("limit", "most", "assume_short", "statement", "last"),
    [
        (None, 10, True, RECEIVE_MESSAGES, None),
        # The receive can return any single message, regardless of its length.
        (CONTAINER, 1, False, RECEIVE_MESSAGES, None),
        (CONTAINER, 2, False, RECEIVE_RESPONSE, "json"),
        # Each message has a frame of 2,000 bytes, and escapes double the length of the message.
        (CONTAINER, 10, True, RECEIVE_MESSAGES, 208_000),
        (CONTAINER, 1000, True, RECEIVE_RESPONSE, "json"),
        (FUNCTION, 1, True, RECEIVE_MESSAGES, 854_857),
        (FUNCTION, 10, True, RECEIVE_MESSAGES, 83_685),
        (FUNCTION, 10, False, RECEIVE_RESPONSE, "function-json"),
    ],
)
def test_only_what_may_be_too_long_is_measured(
    limit: ReceiveLimit | None, most: int, assume_short: bool, statement: Statement[ReceivedRow], last: object
) -> None:
    """`last` is the last argument: the size at which `most` messages still fit, even if escapes lengthen them the
    most."""
    effect = Receive(RECEIVE_MESSAGES, NamedQueue(ARN), most, None, limit=limit)
    called, arguments = build_receive_call(effect, 250, most, assume_short=assume_short)
    assert called is statement
    assert len(arguments) == len(statement.types)
    assert arguments[-1] == last
    # The limit does not apply if other calls share the transaction.
    if statement is RECEIVE_MESSAGES and last:
        assert build_receive_call(effect, 250, most, own_transaction=False, assume_short=True)[0] is RECEIVE_RESPONSE


@pytest.mark.parametrize(
    ("limit", "count", "bounds"),
    [(None, 10, [None, None]), (CONTAINER, 1, [None, None]), (CONTAINER, 2, [4_200_000, "json"]),
     (FUNCTION, 1, [5_998_000, "function-json"])],
)  # fmt: skip
def test_a_receive_with_an_attempt_id_has_a_separate_call(
    limit: ReceiveLimit | None, count: int, bounds: list[object]
) -> None:
    """The call measures messages that may be too long, regardless of `assume_short`."""
    effect = Receive(RECEIVE_MESSAGES, NamedQueue(f"{ARN}.fifo"), count, 5, 120_000, attempt_id="a", limit=limit)
    for assume_short in (False, True):
        called, arguments = build_receive_call(effect, count, count, assume_short=assume_short)
        assert called is RECEIVE_ATTEMPT
        assert arguments == [f"{ARN}.fifo", count, 5, 120_000, "a", *bounds]


@pytest.mark.parametrize(("wait_seconds", "left"), [(20, 1), (None, 0)])
def test_a_wait_for_messages_that_are_too_long_goes_on(
    monkeypatch: pytest.MonkeyPatch, wait_seconds: float | None, left: float
) -> None:
    times = [100.0]
    monkeypatch.setattr(receive, "monotonic", lambda: times[-1])
    effect = Receive(RECEIVE_MESSAGES, NamedQueue(ARN), 10, None, wait_seconds=wait_seconds, limit=FUNCTION)
    receiving = receive.receive_messages(effect, CLIENT)
    assert next(receiving) == effect
    times.append(119.0)
    if left:
        assert receiving.send([TOO_LARGE]) == Pause(left)
    else:
        with pytest.raises(errors.ResponseTooLarge):
            receiving.send([TOO_LARGE])


def test_a_queue_in_which_a_function_found_a_long_message_is_measured_from_then_on() -> None:
    called: list[object] = []

    class Long:
        def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]:
            called.append(statement)
            if statement is RECEIVE_MESSAGES:
                raise LongMessageFound
            return cast("list[RowT]", [HEADER._replace(error="OverLimit")])

    effect = Receive(RECEIVE_MESSAGES, NamedQueue(ARN), 10, None, wait_seconds=20, limit=FUNCTION)
    lengths = MessageLengths()
    for _ in range(2):
        assert perform(effect, Long(), allow_any_wait, lengths) == [HEADER._replace(error="OverLimit")]
    assert called == [RECEIVE_MESSAGES, RECEIVE_RESPONSE, RECEIVE_RESPONSE]


# --- threads ---------------------------------------------------------------------------------------------------------
def first_effect(operation: Operation[object]) -> Effect[object]:
    """Returns the first effect for which the operation waits. A receive returns ten rows of equal length, which are 4
    MB long in total."""
    effect = next(operation)
    while isinstance(effect, Report | Receive | Call):
        given: object = None
        if isinstance(effect, Receive):
            given = [HEADER, *[build_row(LONG_TEXT)] * 10]
        elif isinstance(effect, Call):
            given = [PeekedRow(1, 0, build_row("").message_id, 0, 0, LONG_TEXT, None, None, None, 0, "sent")]
        effect = operation.send(given)
    return effect


def build_row(body: str) -> ReceivedRow:
    return ReceivedRow(None, None, 1, 0, 0, 1, 1, str(UUID(int=1)), 0, 0, body, None, None, 1, 30_000, 0)


LONG_TEXT = "x" * 400_000
LONG_BATCH = SendMessageBatchRequest(
    queue_url="orders",
    entries=[SendMessageBatchRequestEntry(id=f"{n}", message_body="x" * 100_000) for n in range(10)],
)


@pytest.mark.parametrize(
    "start",
    [
        partial(send.send_message, SendMessageRequest(queue_url="orders", message_body=LONG_TEXT)),
        partial(send.send_message_batch, LONG_BATCH),
        partial(receive.receive_message, ReceiveMessageRequest(queue_url="orders")),
        partial(peek.peek_messages, PeekRequest(queue_url="orders")),
    ],
    ids=["send", "batch", "receive", "peek"],
)
def test_a_thread_hashes_long_messages(start: Callable[[Context], Operation[object]]) -> None:
    """Without a thread, the event loop would serve no other request for 2 ms per megabyte."""
    environment = Environment(Settings.read({}), ReceiptHandles(b"k" * 32))
    context = Context("000000000000", "us-east-1", "", environment, HttpRequest("POST", "/", b"", {}, b""))
    assert isinstance(first_effect(start(context)), Compute)


# --- reports ---------------------------------------------------------------------------------------------------------
# Tests that operations report each event once, and report no other event.


QUEUE = NamedQueue(ARN)
HANDLE = ReceiptHandle(1, 1, 1, 1, 1, 0, bytes(16))
REST = [None] * 14
EMPTY = RECEIVE_MESSAGES.build_row([None, 0, *REST])


def test_deleted_messages() -> None:
    rows = [(1, "deleted"), (2, "gone"), (3, "deleted")]
    assert reports(delete.delete(QUEUE, [HANDLE] * 3), (DELETE_MESSAGES, rows)) == [Deleted(ARN, 2)]


def test_changed_visibility_timeouts() -> None:
    rows = [(1, "changed"), (2, "expired")]
    change = visibility.change(QUEUE, [HANDLE] * 2, [5, 5])
    assert reports(change, (CHANGE_VISIBILITIES, rows)) == [VisibilityChanged(ARN, 1)]


def test_received_messages_without_the_header() -> None:
    message = RECEIVE_MESSAGES.build_row([None, None, 1, *REST[1:]])
    operation = receive.receive_messages(Receive(RECEIVE_MESSAGES, QUEUE, 10, None), CLIENT)
    assert reports(operation, (RECEIVE_MESSAGES, [EMPTY, message])) == [Received(ARN, [message])]


def test_an_empty_receive() -> None:
    operation = receive.receive_messages(Receive(RECEIVE_MESSAGES, QUEUE, 10, None), CLIENT)
    assert reports(operation, (RECEIVE_MESSAGES, [EMPTY])) == [Received(ARN, [])]


def test_a_receive_that_fails_reports_nothing() -> None:
    found: list[Report] = []
    missing = RECEIVE_MESSAGES.build_row(["QueueDoesNotExist", *[None] * 15])
    operation = receive.receive_messages(Receive(RECEIVE_MESSAGES, QUEUE, 10, None), CLIENT)
    with pytest.raises(errors.QueueDoesNotExist):
        run(operation, Responses((RECEIVE_MESSAGES, [missing])), found.append)  # type: ignore[arg-type]
    assert found == []


def test_deletes_from_a_queue_that_is_gone_report_nothing() -> None:
    found: list[Report] = []
    responses = Responses((DELETE_MESSAGES, [(1, "no_queue")]), (DESCRIBE_QUEUE, []))
    with pytest.raises(errors.QueueDoesNotExist):
        run(delete.delete(QUEUE, [HANDLE]), responses, found.append)  # type: ignore[arg-type]
    assert found == []
