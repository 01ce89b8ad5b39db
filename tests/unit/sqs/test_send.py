"""Tests sends without a database: their reports, one for each event, and the texts that they keep."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from penstock.aws.named_queue import NamedQueue
from penstock.observing.reports import Sent
from penstock.postgres.statements.messages import SEND_MESSAGES
from penstock.sqs import send
from penstock.sqs.types import SendMessageRequest
from tests.support.operations import reports

ARN = "arn:aws:sqs:us-east-1:000000000000:orders"
QUEUE = NamedQueue(ARN)


def messages(*bodies: str) -> list[send.AcceptedMessage]:
    return [send.build_message(SendMessageRequest(queue_url="", message_body=body), ARN) for body in bodies]


def test_new_messages_are_reported_with_their_sizes() -> None:
    rows = [(2, 8, None, None, None, None), (1, 7, None, None, None, None)]
    assert reports(send.store(QUEUE, messages("a", "bcd")), (SEND_MESSAGES, rows)) == [Sent(ARN, 2, [1, 3])]


@pytest.mark.parametrize("row", [(None, "an earlier one", None, None, None), (None, None, None, "MessageTooLong", "1")])
def test_an_entry_that_was_not_added_is_not_counted(row: tuple[object, ...]) -> None:
    rows = [(1, 7, None, None, None, None), (2, *row)]
    assert reports(send.store(QUEUE, messages("a", "bcd")), (SEND_MESSAGES, rows)) == [Sent(ARN, 1, [1])]


def test_a_queue_that_does_not_exist_is_not_reported() -> None:
    rows = [(1, None, None, None, "QueueDoesNotExist", None)]
    assert reports(send.store(QUEUE, messages("a")), (SEND_MESSAGES, rows)) == []


@pytest.mark.parametrize(("characters", "kept"), [(65_536, 65_536), (65_537, 0)])
def test_a_long_message_waits_without_a_second_copy_of_its_text(characters: int, kept: int) -> None:
    request = SendMessageRequest(queue_url="", message_body="x" * characters)
    send.free_long_texts([(request, send.build_message(request, ARN))])
    assert len(request.message_body) == kept


def test_each_place_that_builds_a_request_decides_about_every_parameter() -> None:
    """Without this rule, an edited copy of a message would silently lose a new parameter of SendMessage."""
    layers = Path(__file__).parents[3] / "layers"
    calls = [
        (path, node)
        for path in layers.rglob("*.py")
        if "SendMessageRequest(" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SendMessageRequest"
    ]
    assert {path.stem for path, _ in calls} >= {"conversion", "editing", "messages"}
    for path, call in calls:
        assert {each.arg for each in call.keywords} == set(SendMessageRequest.__struct_fields__), (path, call.lineno)
