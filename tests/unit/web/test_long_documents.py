"""Long bodies of the REST API: what would hold up the event loop is refused before it is decoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import InvalidParameterValue
from penstock_web.native.documents import MAX_MESSAGES, read_event, read_messages, read_transaction
from penstock_web.native.schedules.documents import read_patch, read_schedule, read_schedules

FEW, MANY = ("{" + ",".join(f'"a{n}":1' for n in range(number)) + "}" for number in (1_000, 100_000))
LONG = '"' + "x" * 300_000 + '"'
HEADERS, MESSAGES = "a message of a long body has at most 1000 headers", "1 to 1000 messages, not more"


def of(text: str, number: int = 1) -> bytes:
    return ("[" + ",".join([text] * number) + "]" if number > 1 else text).encode()


@pytest.mark.parametrize(
    ("read", "body", "reason"),
    [
        (read_event, of(f'{{"message":1,"headers":{MANY}}}'), HEADERS),
        (read_messages, of(f'{{"message":1,"headers":{MANY}}}'), HEADERS),
        (read_transaction, of(f'{{"send":[{{"queue":"q","message":1,"headers":{MANY}}}]}}'), HEADERS),
        (
            read_transaction,
            of(f'{{"publish":[{{"routing_key":"q","message":1,"headers":{MANY}}}]}}'),
            HEADERS,
        ),
        (read_transaction, b'{"ack":' + of('{"queue":"q","receipt":"r"}', 20_000) + b"}", MESSAGES),
        (read_schedule, of(f'{{"target":{{"queue":"q","message":1,"headers":{MANY}}}}}'), HEADERS),
        (read_patch, of(f'{{"target":{{"queue":"q","message":1,"headers":{MANY}}}}}'), HEADERS),
        (read_schedules, of('{"target":{"queue":"q","message":1}}', 20_000), MESSAGES),
        (read_schedules, of("{}", 100_000), MESSAGES),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_refused(read: Callable[[bytes], Any], body: bytes, reason: str) -> None:
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
def test_what_is_long_and_good(read: Callable[[bytes], Any], body: bytes) -> None:
    assert len(body) > 262_144
    read(body)
