"""Tests of AWS JSON requests that no SDK sends. The sources are docs/reference/errors.md and the AWS JSON 1.0 protocol
(Smithy)."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import botocore.session
import pytest

from penstock.actions import ACTIONS
from tests.support.conformance.requests import MIB, Raw, error, is_lambdas_refusal, largest_batch, refused

NOT_JSON = refused("SerializationException")
NO_QUEUE = refused("AWS.SimpleQueueService.NonExistentQueue")


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"x", b"[]", b'"text"', b"1", b"null", b"true", b"\x00", b'{"QueueUrl":"\x00"}', b"\xff\xfe{}",
        b'{"QueueUrl":"\xff"}', b"{}{}", b"{'QueueUrl':'x'}", b"[" * 100_000, b'{"a":' * 100_000,
        b"Action=ReceiveMessage&Version=2012-11-05", b'{"QueueUrl":"http://x/000000000000/q"} trailing',
    ],
    ids=lambda body: repr(body[:12]),
)  # fmt: skip
def test_a_body_that_is_not_json_is_refused(raw: Raw, body: bytes) -> None:
    assert error(raw.json("ReceiveMessage", body)) == NOT_JSON


@pytest.mark.parametrize(
    "member",
    [
        {"QueueUrl": 1}, {"QueueUrl": ["x"]}, {"QueueUrl": {"a": "b"}}, {"MessageBody": 1}, {"MessageBody": ["x"]},
        {"MessageBody": True}, {"DelaySeconds": "5"}, {"DelaySeconds": 1.5}, {"DelaySeconds": True},
        {"DelaySeconds": []}, {"MessageAttributes": []}, {"MessageAttributes": "x"},
        {"MessageAttributes": {"a": "b"}}, {"MessageAttributes": {"a": {"DataType": 1}}},
        {"MessageAttributes": {"a": {"DataType": "String", "StringValue": 1}}},
        {"MessageAttributes": {"a": {"DataType": "Binary", "BinaryValue": [1]}}},
        {"MessageGroupId": 5}, {"MessageSystemAttributes": 5},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_values_of_a_wrong_type(raw: Raw, member: dict[str, Any]) -> None:
    url = raw.sqs.create()
    before = raw.sqs.clock.now()
    assert error(raw.json("SendMessage", {"QueueUrl": url, "MessageBody": "x", **member})) == NOT_JSON
    assert raw.sqs.clock.stored_since(before) == 0


def test_half_a_pair_of_surrogates_fails_only_its_entry(raw: Raw) -> None:
    """A program that cuts a text in the middle of an emoji sends a lone surrogate. The error names the character, as
    the error for U+FFFE does.
    """
    url = raw.sqs.create()
    entries = b",".join(
        b'{"Id":"%d","MessageBody":"%s"}' % (n, body)
        for n, body in enumerate([rb"ab\ud83d", rb"\ude00x", rb"\ud83d\ude00", b"plain"])
    )
    response = raw.json("SendMessageBatch", b'{"QueueUrl":"%s","Entries":[%s]}' % (url.encode(), entries))
    assert response.status_code == 200, response.text
    failed = [(entry["Id"], entry["Code"], entry["Message"][:60]) for entry in response.json()["Failed"]]
    text = "Invalid binary character '#x{}' was found in the message body"
    assert failed == [
        (id_, "InvalidMessageContents", text.format(code)[:60]) for id_, code in (("0", "D83D"), ("1", "DE00"))
    ]
    assert sorted(message["Body"] for message in raw.sqs.receive(url, 2)) == ["plain", "\U0001f600"]
    single = raw.json("SendMessage", b'{"QueueUrl":"%s","MessageBody":"ab\\ud83d"}' % url.encode())
    assert error(single) == refused("InvalidMessageContents")
    group = raw.json("SendMessage", b'{"QueueUrl":"%s","MessageBody":"x","MessageGroupId":"\\ud83d"}' % url.encode())
    assert error(group) == refused("InvalidParameterValue")


def test_entries_of_a_wrong_type(raw: Raw) -> None:
    url = raw.sqs.create()
    cases: tuple[object, ...] = ({}, "x", [1], [["a"]], [{"Id": 1, "MessageBody": "x"}], [None])
    for entries in cases:
        response = raw.json("SendMessageBatch", {"QueueUrl": url, "Entries": entries})
        assert (entries, error(response)) == (entries, NOT_JSON)


@pytest.mark.parametrize("number", [2**31, 2**63, 2**64, -(2**63), 10**30])
def test_numbers_of_any_size(raw: Raw, number: int) -> None:
    """The service refuses whole numbers that are out of range or do not fit the type."""
    body = {"QueueUrl": raw.sqs.create(), "MaxNumberOfMessages": number}
    assert error(raw.json("ReceiveMessage", body))[:2] in (
        (400, "InvalidParameterValue"),
        (400, "SerializationException"),
    )


@cache
def required() -> list[tuple[str, str]]:
    """Yields each action and required member of botocore's model."""
    model = botocore.session.get_session().get_service_model("sqs")
    names = [action.name for action in ACTIONS if action.service == "sqs"]
    shapes = {name: model.operation_model(name).input_shape for name in names}
    return [(name, member) for name, shape in shapes.items() for member in shape.required_members]


GOOD: dict[str, Any] = {
    "QueueName": "never-made",
    "QueueUrl": "http://host/000000000000/never-made",
    "Attributes": {"DelaySeconds": "1"},
    "MessageBody": "x",
    "ReceiptHandle": "x",
    "VisibilityTimeout": 1,
    "Tags": {"team": "blue"},
    "TagKeys": ["team"],
    "Label": "partner",
    "AWSAccountIds": ["111122223333"],
    "Actions": ["SendMessage"],
    "SourceArn": "arn:aws:sqs:us-east-1:000000000000:never-made",
    "TaskHandle": "x",
    "Entries": [{"Id": "a", "MessageBody": "x", "ReceiptHandle": "x", "VisibilityTimeout": 1}],
}


@pytest.mark.parametrize("value", [{}, {"null": None}], ids=["absent", "null"])
@pytest.mark.parametrize(("action", "member"), required())
def test_each_required_member(raw: Raw, action: str, member: str, value: dict[str, None]) -> None:
    """botocore's model defines the required members. MissingParameter names a member that is absent or null."""
    body = {name: GOOD[name] for other, name in required() if other == action and name != member}
    response = raw.json(action, {**body, **dict.fromkeys([member] * len(value))})
    assert error(response) == refused("MissingParameter")
    assert member in response.json()["message"]


@pytest.mark.parametrize("action", sorted({action for action, _ in required()}))
def test_no_body_at_all(raw: Raw, action: str) -> None:
    assert error(raw.json(action, b"")) == refused("MissingParameter")


def test_members_that_nobody_knows(raw: Raw) -> None:
    """The service ignores unknown members, because a client can be newer than the service."""
    url = raw.sqs.create()
    assert raw.json("SendMessage", {"QueueUrl": url, "MessageBody": "x", "Colour": {"a": [1]}}).status_code == 200
    assert raw.sqs.counts(url) == (1, 0, 0)


@pytest.mark.parametrize("action", ["Nothing", "", "sendmessage", "SendMessage;", "x" * 5000, "../SendMessage"])
def test_actions_that_do_not_exist(raw: Raw, action: str) -> None:
    assert error(raw.json(action, {})) == refused("InvalidAction")


@pytest.mark.parametrize(
    "target", ["AmazonSNS.SendMessage", "SendMessage", "", "AmazonSQS", "DynamoDB_20120810.GetItem"]
)
def test_targets_of_other_services(raw: Raw, target: str) -> None:
    assert error(raw.json("SendMessage", {}, **{"x-amz-target": target})) == refused("InvalidAction")


@pytest.mark.parametrize("text", ["a\\u0000b", "a\\u0001b", "a\\uffffb"])
def test_escaped_characters_are_checked_too(raw: Raw, text: str) -> None:
    url = raw.sqs.create()
    body = f'{{"QueueUrl":"{url}","MessageBody":"{text}"}}'.encode()
    assert error(raw.json("SendMessage", body)) == refused("InvalidMessageContents")


@pytest.mark.parametrize("text", ["\\ud800", "\\udc00x", "\\ud800\\ud800"])
def test_half_a_character(raw: Raw, text: str) -> None:
    """The service refuses a lone surrogate in every part of a request, because a lone surrogate is not a character."""
    url = raw.sqs.create()
    body = f'{{"QueueUrl":"{url}","MessageBody":"{text}"}}'.encode()
    assert error(raw.json("SendMessage", body))[:2] in (
        (400, "InvalidMessageContents"),
        (400, "SerializationException"),
    )


def test_an_error_that_quotes_half_a_pair_is_answered(raw: Raw) -> None:
    """The error's text shows another character, because a response cannot contain a lone surrogate."""
    url = raw.sqs.create()
    for action, member in (("DeleteMessage", "ReceiptHandle"), ("RemovePermission", "Label")):
        body = f'{{"QueueUrl":"{url}","{member}":"\\ud800x"}}'.encode()
        response = raw.json(action, body)
        assert response.status_code == 400
        assert "?x" in response.json()["message"]


def test_a_pair_of_surrogates_is_a_character(raw: Raw) -> None:
    url = raw.sqs.create()
    raw.json("SendMessage", f'{{"QueueUrl":"{url}","MessageBody":"\\ud83c\\udf89"}}'.encode())
    assert raw.sqs.receive_one(url)["Body"] == "\N{PARTY POPPER}"


def test_one_mebibyte_of_escapes(raw: Raw) -> None:
    """The limit applies to the decoded text: 1 MiB that is written as \\u0041 is 6 MiB of JSON."""
    url = raw.sqs.create()
    body = b'{"QueueUrl":"%s","MessageBody":"%s"}' % (url.encode(), MIB * b"\\u0041")
    response = raw.json("SendMessage", body)
    if not is_lambdas_refusal(raw, response):
        assert response.status_code == 200
        assert len(raw.sqs.receive_one(url)["Body"]) == MIB


def test_the_largest_batch(raw: Raw) -> None:
    """The batch has ten messages with ten attributes each. The texts are 1 MiB long in total, and every character is
    escaped (SendMessageBatch).
    """
    entries = [{"Id": f"{n}" * 80, **message} for n, message in enumerate(largest_batch(binary=False))]
    text = json.dumps({"QueueUrl": raw.sqs.create(), "Entries": entries}).replace("A", "\\u0041")
    response = raw.json("SendMessageBatch", text.encode())
    assert is_lambdas_refusal(raw, response) or len(response.json()["Successful"]) == 10


def test_binary_that_is_not_base64(raw: Raw) -> None:
    url = raw.sqs.create()
    for text in ("x", "*", "AAAA=", "AAAA====", "ä", "AA==AA=="):
        value = {"DataType": "Binary", "BinaryValue": text}
        response = raw.json("SendMessage", {"QueueUrl": url, "MessageBody": "x", "MessageAttributes": {"a": value}})
        assert (text, error(response)) == (text, refused("InvalidParameterValue"))


def test_a_request_of_seven_mebibytes(raw: Raw) -> None:
    """The service answers 413 to a request of more than 6.25 MiB (Penstock's choice). Every valid request is
    shorter."""
    body = b'{"QueueUrl":"' + b"x" * 7 * MIB + b'"}'
    response = raw.json("SendMessage", body)
    assert is_lambdas_refusal(raw, response) or error(response) == refused("RequestEntityTooLarge", 413)


def test_unsigned_and_badly_signed(raw: Raw) -> None:
    """The service does not check signatures, so every client that can connect can use the service."""
    url = raw.sqs.create()
    for header in (
        "",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=",
        "Basic dXNlcjpwYXNz",
        "Credential=a/b",
        "x" * 5000,
    ):
        response = raw.json("ReceiveMessage", {"QueueUrl": url}, authorization=header)
        assert (response.status_code, response.content) == (200, b"{}")


@pytest.mark.parametrize("region", ["", "US-EAST-1", "a' or true --", "%00", "x" * 33, "ä"])
def test_regions_that_cannot_be(raw: Raw, region: str) -> None:
    """The service uses the default region, and the text never appears in an ARN."""
    url = raw.sqs.create()
    header = f"AWS4-HMAC-SHA256 Credential=key/20250101/{region}/sqs/aws4_request, Signature=x"
    body = {"QueueUrl": url, "AttributeNames": ["QueueArn"]}
    response = raw.json("GetQueueAttributes", body, authorization=header.encode())  # type: ignore[arg-type]
    assert response.json()["Attributes"]["QueueArn"].startswith("arn:aws:sqs:us-east-1:")


def test_the_url_is_built_from_the_host(raw: Raw) -> None:
    """The URL works for the client that sent the request. The service reads X-Forwarded-Host only if a setting declares
    the header trusted.
    """
    name = raw.sqs.name()
    headers = {"host": "queues.internal:8080", "x-forwarded-host": "evil.example"}
    response = raw.json("CreateQueue", {"QueueName": name}, **headers)
    assert response.json() == {"QueueUrl": f"http://queues.internal:8080/000000000000/{name}"}


def test_an_empty_response(raw: Raw) -> None:
    """The response to an action without a result has the status 200 and an empty body. Every response has a different
    request id."""
    url = raw.sqs.create()
    responses = [raw.json("SetQueueAttributes", {"QueueUrl": url, "Attributes": {"DelaySeconds": "1"}}) for _ in "ab"]
    assert [(response.status_code, response.content) for response in responses] == [(200, b"")] * 2
    ids = {response.headers["x-amzn-requestid"] for response in responses}
    assert len(ids) == 2
