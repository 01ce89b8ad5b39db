"""What operations report: what happened, once, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock import errors
from penstock.aws.arn import ResolvedQueue
from penstock.drivers import run
from penstock.effects import Operation, Receive, Row, Statement
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    DELETE_MESSAGES,
    RECEIVE_MESSAGES,
    SEND_MESSAGES,
    ReceiptHandle,
)
from penstock.postgres.statements.queues import DESCRIBE_QUEUE
from penstock.reports import Deleted, Received, Report, Sent, VisibilityChanged
from penstock.sqs import delete, receive, send, visibility
from penstock.sqs.types import SendMessageRequest

ARN = "arn:aws:sqs:us-east-1:000000000000:orders"
QUEUE = ResolvedQueue(ARN)
HANDLE = ReceiptHandle(1, 1, 1, 1, 1, 0, bytes(16))
REST = [None] * 14
EMPTY = RECEIVE_MESSAGES.make_row([None, 0, *REST])


class Answers:
    """A database that answers each function with the same rows."""

    def __init__(self, *answers: tuple[Statement[Row], Sequence[Sequence[object]]]) -> None:
        self._rows = {statement: statement.make_rows(rows) for statement, rows in answers}

    def call(self, statement: Statement[Row], _arguments: Sequence[object]) -> list[Row]:
        return self._rows[statement]


def reports(
    operation: Operation[object], *answers: tuple[Statement[Row], Sequence[Sequence[object]]]
) -> list[Report]:
    found: list[Report] = []
    run(operation, Answers(*answers), found.append)  # type: ignore[arg-type]
    return found


def messages(*bodies: str) -> list[send.AcceptedMessage]:
    return [send.check_message(SendMessageRequest(queue_url="", message_body=body), ARN) for body in bodies]


def test_new_messages_are_reported_with_their_sizes() -> None:
    rows = [(2, 8, None, None, None, None), (1, 7, None, None, None, None)]
    assert reports(send.store(QUEUE, messages("a", "bcd")), (SEND_MESSAGES, rows)) == [Sent(ARN, 2, [1, 3])]


@pytest.mark.parametrize(
    "row", [(None, "an earlier one", None, None, None), (None, None, None, "MessageTooLong", "1")]
)
def test_what_was_not_added_is_not_counted(row: tuple[object, ...]) -> None:
    rows = [(1, 7, None, None, None, None), (2, *row)]
    assert reports(send.store(QUEUE, messages("a", "bcd")), (SEND_MESSAGES, rows)) == [Sent(ARN, 1, [1])]


def test_a_queue_that_does_not_exist_is_not_reported() -> None:
    rows = [(1, None, None, None, "QueueDoesNotExist", None)]
    assert reports(send.store(QUEUE, messages("a")), (SEND_MESSAGES, rows)) == []


def test_deleted_messages() -> None:
    rows = [(1, "deleted"), (2, "gone"), (3, "deleted")]
    assert reports(delete.delete(QUEUE, [HANDLE] * 3), (DELETE_MESSAGES, rows)) == [Deleted(ARN, 2)]


def test_changed_visibility_timeouts() -> None:
    rows = [(1, "changed"), (2, "expired")]
    change = visibility.change(QUEUE, [HANDLE] * 2, [5, 5])
    assert reports(change, (CHANGE_VISIBILITIES, rows)) == [VisibilityChanged(ARN, 1)]


def test_received_messages_without_the_header() -> None:
    message = RECEIVE_MESSAGES.make_row([None, None, 1, *REST[1:]])
    operation = receive.receive_messages(Receive(RECEIVE_MESSAGES, QUEUE, 10, None))
    assert reports(operation, (RECEIVE_MESSAGES, [EMPTY, message])) == [Received(ARN, [message])]


def test_an_empty_receive() -> None:
    operation = receive.receive_messages(Receive(RECEIVE_MESSAGES, QUEUE, 10, None))
    assert reports(operation, (RECEIVE_MESSAGES, [EMPTY])) == [Received(ARN, [])]


def test_a_receive_that_fails_reports_nothing() -> None:
    found: list[Report] = []
    missing = RECEIVE_MESSAGES.make_row(["QueueDoesNotExist", *[None] * 15])
    operation = receive.receive_messages(Receive(RECEIVE_MESSAGES, QUEUE, 10, None))
    with pytest.raises(errors.QueueDoesNotExist):
        run(operation, Answers((RECEIVE_MESSAGES, [missing])), found.append)  # type: ignore[arg-type]
    assert found == []


def test_deletes_from_a_queue_that_is_gone_report_nothing() -> None:
    found: list[Report] = []
    answers = Answers((DELETE_MESSAGES, [(1, "no_queue")]), (DESCRIBE_QUEUE, []))
    with pytest.raises(errors.QueueDoesNotExist):
        run(delete.delete(QUEUE, [HANDLE]), answers, found.append)  # type: ignore[arg-type]
    assert found == []
