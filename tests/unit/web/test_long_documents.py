"""Tests long bodies, mostly of the REST API. The service refuses a body whose decoding would block the event loop for
too long, and decodes other long bodies in a thread, in steps.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, MutableMapping
from importlib import import_module
from types import FrameType
from typing import Any

import pytest

from penstock.access.receipt_handle import ReceiptHandles
from penstock.aws.codec.protocol import Protocol
from penstock.documents.decoding import MAX_MESSAGES
from penstock.effects import LONG_COMPUTATION_BYTES
from penstock.environment import Environment
from penstock.errors import InvalidParameterValue, RequestEntityTooLarge
from penstock.gateway import RejectedRequest
from penstock.management.messages.conversion import read_messages
from penstock.management.routed_events import read_event
from penstock.management.schedules.types import read_patch, read_schedule, read_schedules
from penstock.management.transactions import read_transaction
from penstock.settings import Settings
from penstock_web.application import Application
from penstock_web.http import asgi_request
from tests.support.web.fakes import FakeDatabase, build_resources

FEW, MANY = ("{" + ",".join(f'"a{n}":1' for n in range(number)) + "}" for number in (1_000, 100_000))
LONG = '"' + "x" * 300_000 + '"'
HEADERS, MESSAGES = "a message in a long body has at most 1000 headers", "1 to 1000 messages, not more"


def of(text: str, number: int = 1) -> bytes:
    return ("[" + ",".join([text] * number) + "]" if number > 1 else text).encode()


@pytest.mark.parametrize(
    ("read", "body", "reason"),
    [
        (read_event, of(f'{{"message":1,"headers":{MANY}}}'), HEADERS),
        (read_messages, of(f'{{"message":1,"headers":{MANY}}}'), HEADERS),
        (read_transaction, of(f'{{"send":[{{"queue":"q","message":1,"headers":{MANY}}}]}}'), HEADERS),
        (read_transaction, of(f'{{"publish":[{{"routing_key":"q","message":1,"headers":{MANY}}}]}}'), HEADERS),
        (read_transaction, b'{"ack":' + of('{"queue":"q","receipt":"r"}', 20_000) + b"}", MESSAGES),
        (read_schedule, of(f'{{"target":{{"queue":"q","message":1,"headers":{MANY}}}}}'), HEADERS),
        (read_patch, of(f'{{"target":{{"queue":"q","message":1,"headers":{MANY}}}}}'), HEADERS),
        (read_schedules, of('{"target":{"queue":"q","message":1}}', 20_000), MESSAGES),
        (read_schedules, of("{}", 100_000), MESSAGES),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_invalid_long_document_is_refused(read: Callable[[bytes], Any], body: bytes, reason: str) -> None:
    with pytest.raises(InvalidParameterValue) as caught:
        read(body)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (read_event, of(f'{{"message":{LONG},"headers":{FEW}}}')),
        (read_messages, of(f'{{"message":{LONG},"headers":{FEW}}}')),
        (read_messages, of('{"message":"' + "x" * 500 + '"}', MAX_MESSAGES)),
        (
            read_transaction,
            b'{"ack":' + of('{"queue":"q","receipt":"' + "r" * 200 + '"}', MAX_MESSAGES)
            + b',"send":' + of('{"queue":"q","message":"' + "x" * 200 + '"}', MAX_MESSAGES)
            + b',"publish":' + of('{"routing_key":"q","message":"' + "x" * 200 + '"}', MAX_MESSAGES) + b"}",
        ),
        (read_schedules, of('{"target":{"queue":"q","message":"' + "x" * 300 + '"}}', MAX_MESSAGES)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_a_valid_long_document_is_read(read: Callable[[bytes], Any], body: bytes) -> None:
    assert len(body) > 262_144
    read(body)


# --- steps -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("read", "body"),
    [
        (read_messages, of('{"message":[1,2,3,4,5,6,7,8,9,10]}', MAX_MESSAGES)),
        (read_transaction, b'{"send":' + of('{"queue":"q","message":[1,2,3,4,5,6,7,8,9,10]}', MAX_MESSAGES) + b"}"),
        (
            read_transaction,
            b'{"publish":' + of('{"routing_key":"q","message":[1,2,3,4,5,6,7,8,9,10]}', MAX_MESSAGES) + b"}",
        ),
        (read_schedules, of('{"target":{"queue":"q","message":[1,2,3,4,5,6,7,8,9,10]}}', MAX_MESSAGES)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_other_threads_may_go_on_between_two_messages(read: Callable[[bytes], Any], body: bytes) -> None:
    """Python's interpreter releases its lock only while it runs Python code. In each of two passes, the decoder runs
    some Python code for each message.
    """
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal steps
        steps += event == "call" and frame.f_code.co_name == "__post_init__"

    assert len(body) > LONG_COMPUTATION_BYTES
    sys.setprofile(count)
    try:
        read(body)
    finally:
        sys.setprofile(None)
    assert steps >= 2 * MAX_MESSAGES


@pytest.mark.parametrize("read", [read_event, read_messages, read_schedule, read_patch])
def test_a_longer_message_than_allowed_is_not_decoded(read: Callable[[bytes], Any]) -> None:
    """The decoder handles one message in one step. The text is not valid JSON."""
    with pytest.raises(RequestEntityTooLarge):
        read(b'{"message":[' + b"1," * 2_500_000)


def event(length: int) -> str:
    return '{"routing_key":"a","message":"' + "x" * length + '"}'


@pytest.mark.parametrize(
    ("method", "path", "reader", "body"),
    [
        ("POST", "/v1/queues/orders/messages", "penstock_web.rest.messages.read_messages", "[{}]".center),
        ("POST", "/v1/events/a.b", "penstock.management.routed_events.read_event", "{}".center),
        (
            "POST",
            "/v1/events/a.b",
            "penstock.management.routed_events.check_event",
            lambda n: f'{{"message":"{"x" * n}"}}',
        ),
        ("POST", "/v1/transactions", "penstock.management.transactions.read_transaction", "{}".center),
        (
            "POST",
            "/v1/transactions",
            "penstock.management.transactions.check_parts",
            lambda n: f'{{"publish":[{event(n)}]}}',
        ),
        ("POST", "/v1/schedules", "penstock_web.rest.schedules.read_schedule", "{}".center),
        ("PUT", "/v1/schedules", "penstock_web.rest.schedules.read_schedules", "[]".center),
        ("PUT", "/v1/schedules/x", "penstock_web.rest.schedules.read_schedule", "{}".center),
        ("PATCH", "/v1/schedules/x", "penstock_web.rest.schedules.read_patch", "{}".center),
        ("POST", "/v1/previews", "penstock_web.rest.schedules.read_preview", "{}".center),
    ],
)
async def test_long_bodies_are_read_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str, reader: str, body: Callable[[int], str]
) -> None:
    """The service decodes short bodies immediately. `body` returns a text or spaces of a given length."""
    threads: list[str] = []

    def read(*_: object) -> Any:
        threads.append(threading.current_thread().name)
        raise InvalidParameterValue("seen")

    module, _, name = reader.rpartition(".")
    monkeypatch.setattr(import_module(module), name, read)
    for length in (10, 100_000):
        assert await ask(method, path, body(length).encode()) == 400
    assert [thread.startswith("compute") for thread in threads] == [False, True]


@pytest.mark.parametrize(
    ("body", "is_long"), [(b"x" * 100, False), (b"x" * 2_000_000, True), (b"&" * 1_000, False), (b"&" * 1_001, True)],
    ids=["short", "long", "1,000 parameters", "1,001 parameters"],
)  # fmt: skip
async def test_long_requests_of_aws_protocols_are_decoded_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, body: bytes, is_long: bool
) -> None:
    threads: list[str] = []

    def decode(*_: object) -> Any:
        threads.append(threading.current_thread().name)
        raise RejectedRequest(InvalidParameterValue("seen"), Protocol.JSON, "id", "sqs")

    monkeypatch.setattr(asgi_request, "decode", decode)
    assert await ask("POST", "/", body) == 400
    assert [thread.startswith("compute") for thread in threads] == [is_long]


async def ask(method: str, path: str, body: bytes) -> int:
    """Returns the status of the response of an application that has no database."""
    environment = Environment(Settings.read({}), ReceiptHandles(b"k" * 32))
    application = Application(environment, build_resources(FakeDatabase()))
    sent: list[MutableMapping[str, Any]] = []
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        if not left:
            await asyncio.Event().wait()
        return left.pop()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"host", b"localhost")]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": headers, "root_path": "", "scheme": "http", "http_version": "1.1"}  # fmt: skip
    await application(scope, receive, send)
    return int(sent[0]["status"])
