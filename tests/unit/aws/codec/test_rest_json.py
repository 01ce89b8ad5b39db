"""Long bodies of REST-JSON: its decoder makes objects of all values, so these are counted first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.aws.codec import rest_json
from penstock.aws.codec.json import MAXIMUM_STRUCTURAL_CHARACTERS
from penstock.errors import RequestEntityTooLarge, SerializationException
from penstock.scheduler.types import CreateScheduleRequest

decode = rest_json.make_decoder(CreateScheduleRequest)


def body(**more: Any) -> bytes:
    target = {"Arn": "arn:aws:sqs:us-east-1:000000000000:q", "RoleArn": "arn:aws:iam::000000000000:role/r"}
    given = {"ScheduleExpression": "rate(1 hour)", "FlexibleTimeWindow": {"Mode": "OFF"}}
    return json.dumps({**given, "Target": target | more}).encode()


def test_a_long_input_may_hold_whatever_it_likes() -> None:
    """Brackets and commas in a text are none of the request's."""
    for text in ('[{"a":[1,"\\\\"]},' * 50_000, '"' * 1_000_000, "\\" * 1_000_000, ",[{" * 300_000):
        assert decode("s", b"", body(Input=text)).target.input == text


@pytest.mark.parametrize("value", ["[]", "1", "{}", '[""]'])
def test_many_values_are_refused_unread(value: str) -> None:
    values = ",".join([value] * (MAXIMUM_STRUCTURAL_CHARACTERS + 1))
    with pytest.raises(SerializationException):
        decode("s", b"", body(Input="x").replace(b'"x"', f'"x","y":[{values},"{"z" * 131_072}"]'.encode()))


def test_what_is_longer_than_any_request_is_refused_unread() -> None:
    with pytest.raises(RequestEntityTooLarge):
        decode("s", b"", b"[" * 2_200_000)
