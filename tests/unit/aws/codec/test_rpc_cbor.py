"""Checks CBOR requests and responses of every action with botocore's serializer and parser, against the service's own
protocol.

The inputs are built from botocore's models, and the results from the result types. Both have every member.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import urlencode

import botocore.parsers
import botocore.serialize
import pytest
from botocore.model import OperationModel, Shape
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.actions import ACTIONS, STS_ACTIONS, AnyAction
from penstock.aws.codec import cbor, schema
from penstock.aws.codec.limits import find_scalar_problems
from penstock.aws.codec.protocol import Protocol
from penstock.environment import Environment
from penstock.errors import InternalFailure, QueueDoesNotExist, ServiceUnavailable
from penstock.gateway import ActionCall, RejectedRequest, decode, encode, encode_error
from penstock.http import HttpRequest, HttpResponse
from penstock.scheduler.errors import ResourceNotFoundException
from penstock.settings import Settings
from penstock.sns.errors import NotFound
from tests.support.conformance.sdk_clients import PROTOCOL_NAMES, SHAPE_NAMES, service_model

ENVIRONMENT = Environment(Settings.read({}), None)  # type: ignore[arg-type] # no request here has a receipt
# Event buses have no other protocol than CBOR. `tests/unit/events` tests their requests.
ALL = [action for action in (*ACTIONS, *STS_ACTIONS) if action.service != "events"]
OWN_PROTOCOL = {"sqs": "json", "sns": "query", "sts": "query", "scheduler": "rest-json"}
by_action = pytest.mark.parametrize("action", ALL, ids=lambda action: action.label)


# --- inputs ----------------------------------------------------------------------------------------------------------
# The first text that satisfies a member's limits is the member's value.
TEXTS = (
    "a", "text", "12345", "+49123456789", "a" * 20, "arn:aws:iam::000000000000:role/r",
    "arn:aws:sqs:us-east-1:000000000000:q", "arn:aws:kms:us-east-1:000000000000:key/k",
    "arn:aws:scheduler:us-east-1:000000000000:schedule-group/g",
)  # fmt: skip


def build_input(shape: Shape, known: schema.Shape) -> Any:
    """Returns a value with every member that Penstock's type has."""
    match known:
        case schema.Structure(members=members):
            known_members = {member.name: member.shape for member in members}
            return {
                name: build_input(member, known_members[name])
                for name, member in shape.members.items()
                if name in known_members and known_members[name] != schema.Scalar(object)
            }
        case schema.List(item):
            return [build_input(shape.member, item)] * max(shape.metadata.get("min", 1), 1)
        case schema.Map(item):
            key = shape.key.enum[0] if shape.key.enum else "key"
            return {key: build_input(shape.value, item)}
        case schema.Scalar():
            return build_scalar(shape, known)


def build_scalar(shape: Shape, known: schema.Scalar) -> Any:
    match shape.type_name:
        case "blob":
            return b"\0\xff blob"
        case "timestamp":
            return 2_082_758_400.5
        case "integer" | "long":
            return known.limits.least or 3
        case "boolean":
            return True
    return next(text for text in (*known.limits.values, *TEXTS) if fits(text, known))


def fits(text: str, known: schema.Scalar) -> bool:
    return not find_scalar_problems(known.limits, text, "")


def build_members(action: AnyAction) -> dict[str, Any]:
    shape = operation_of(action, "cbor").input_shape
    return {} if shape is None else build_input(shape, schema.read_structure(action.request))


def operation_of(action: AnyAction, protocol: str) -> OperationModel:
    return service_model(protocol, action.service).operation_model(action.name)


def write(action: AnyAction, protocol: str, members: Mapping[str, Any]) -> HttpRequest:
    """Returns the request that botocore writes."""
    name = PROTOCOL_NAMES.get(protocol, protocol)
    serializer = botocore.serialize.create_serializer(name, include_validation=False)
    asked = serializer.serialize_to_request(members, operation_of(action, protocol))
    body = asked["body"]
    if isinstance(body, dict):
        body = urlencode(body).encode()
    headers = {key.lower().encode(): str(value).encode() for key, value in asked["headers"].items()}
    query = urlencode(asked["query_string"], doseq=True).encode()
    path = asked["url_path"].partition("?")[0]
    return HttpRequest(asked["method"], path, query, {b"host": b"localhost", **headers}, body)


@by_action
def test_cbor_requests_mean_the_same_as_those_of_the_services_own_protocol(action: AnyAction) -> None:
    members = build_members(action)
    found = decode(write(action, "cbor", members), ENVIRONMENT)
    own = decode(write(action, OWN_PROTOCOL[action.service], members), ENVIRONMENT)
    assert (found.action, found.protocol) == (action, Protocol.CBOR)
    assert found.request == own.request


# --- results ---------------------------------------------------------------------------------------------------------
def build_result(shape: schema.Shape) -> Any:
    match shape:
        case schema.Structure():
            written = [member for member in shape.members if member.shape != schema.Scalar(object)]
            return schema.build(shape, {member.attribute: build_result(member.shape) for member in written})
        case schema.List(item):
            return [build_result(item), build_result(item)]
        case schema.Map(item):
            return {"All": build_result(item), "ü": build_result(item)}
        case schema.Scalar(wire="blob"):
            return b64encode(b"\0\xff blob").decode()
        case schema.Scalar(wire="time"):
            return "2030-01-02T03:04:05Z"
        case schema.Scalar(kind):
            return {str: "text ü", int: 70_000, float: 2_082_758_400.5, bool: True}[kind]


def parse(action: AnyAction, protocol: str, response: HttpResponse) -> Any:
    """Returns the response as botocore parses it."""
    parser = botocore.parsers.create_parser(PROTOCOL_NAMES.get(protocol, protocol))
    headers = {name.decode(): value.decode() for name, value in response.headers}
    answer = {"headers": headers, "body": response.body, "status_code": response.status}
    parsed = parser.parse(answer, operation_of(action, protocol).output_shape)
    parsed.pop("ResponseMetadata", None)
    return parsed


@by_action
def test_cbor_results_mean_the_same_as_those_of_the_services_own_protocol(action: AnyAction) -> None:
    kind: Any = action.result
    result = None if kind is None else build_result(schema.read_structure(kind))
    own = OWN_PROTOCOL[action.service]
    by_cbor, by_own = (encode(build_call(action, protocol), result) for protocol in (Protocol.CBOR, Protocol(own)))
    headers = dict(by_cbor.headers)
    assert headers.pop(b"x-amzn-requestid")
    assert headers == {b"content-type": b"application/cbor", b"smithy-protocol": b"rpc-v2-cbor"}
    assert by_cbor.status == by_own.status
    parsed = parse(action, "cbor", by_cbor)
    assert parsed == parse(action, own, by_own)
    assert (parsed == {}) == (cbor.decode(by_cbor.body) == {})


def build_call(action: AnyAction, protocol: Protocol) -> ActionCall:
    context = decode(ask("sts", "GetCallerIdentity"), ENVIRONMENT).context
    return ActionCall(action, None, context, protocol)


# --- single requests -------------------------------------------------------------------------------------------------
CBOR = {b"smithy-protocol": b"rpc-v2-cbor"}


def ask(
    service: str,
    action: str,
    members: Any = None,
    headers: Mapping[bytes, bytes] = CBOR,
    prefix: str = "",
    method: str = "POST",
) -> HttpRequest:
    path = f"{prefix}/service/{SHAPE_NAMES.get(service, service)}/operation/{action}"
    return HttpRequest(method, path, b"", headers, cbor.encode({} if members is None else members))


def refuse(request: HttpRequest) -> tuple[int, str, str]:
    """Returns the status, the type and the message of the error, which is in CBOR."""
    with pytest.raises(RejectedRequest) as caught:
        decode(request, ENVIRONMENT)
    response = caught.value.response()
    assert CBOR.items() <= dict(response.headers).items()
    document = cbor.decode(response.body)
    assert isinstance(document, dict)
    kind = document.pop("__type").rpartition("#")[2]
    (message,) = document.values()
    return response.status, kind, message


SEND = {"QueueUrl": "http://localhost/000000000000/q", "MessageBody": "b"}


@pytest.mark.parametrize("prefix", ["", "/a", "/stage/service/x/operation/y", "/v1", "/000000000000/q"])
@pytest.mark.parametrize("service", ["AmazonSQS", "com.amazonaws.sqs.AmazonSQS"])
def test_only_the_last_four_segments_name_the_operation(service: str, prefix: str) -> None:
    found = decode(ask(service, "SendMessage", SEND, prefix=prefix), ENVIRONMENT)
    assert (found.action.label, found.protocol) == ("sqs:SendMessage", Protocol.CBOR)


@pytest.mark.parametrize(
    ("service", "action", "label"),
    [
        ("AmazonSNS", "ListTopics", "sns:ListTopics"),
        ("com.amazonaws.sns.AmazonSimpleNotificationService", "ListTopics", "sns:ListTopics"),
        ("com.amazonaws.sts.AWSSecurityTokenServiceV20110615", "GetCallerIdentity", "sts:GetCallerIdentity"),
        ("com.amazonaws.scheduler.AWSChronosService", "ListSchedules", "scheduler:ListSchedules"),
    ],
)
def test_the_names_of_a_service(service: str, action: str, label: str) -> None:
    assert decode(ask(service, action), ENVIRONMENT).action.label == label


UNKNOWN = (404, "UnknownOperationException")


@pytest.mark.parametrize(
    "request_",
    [
        ask("AmazonSQS", "Nothing"), ask("Nothing", "SendMessage", SEND), ask("", "SendMessage", SEND),
        ask("com.amazonaws.sns.AmazonSQS", "SendMessage", SEND), ask("sns", "SendMessage", SEND),
        ask("AmazonSQS", "com.amazonaws.sqs.SendMessage", SEND), ask("AmazonSQS", "SendMessage/", SEND),
        ask("AmazonSQS", "SendMessage", SEND, method="GET"), ask("AmazonSQS", "SendMessage", SEND, method="PUT"),
        HttpRequest("POST", "/", b"", CBOR, cbor.encode(SEND)),
        HttpRequest("POST", "/schedules", b"", CBOR, b""),
        HttpRequest("POST", "/000000000000/q", b"Action=SendMessage", CBOR, b""),
    ],
    ids=lambda request: f"{request.method} {request.path}",
)  # fmt: skip
def test_a_path_that_names_no_operation(request_: HttpRequest) -> None:
    assert refuse(request_)[:2] == UNKNOWN


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "The header smithy-protocol must be"),
        ({b"content-type": b"application/cbor"}, "The header smithy-protocol must be"),
        ({b"smithy-protocol": b"rpc-v2-json"}, "The header smithy-protocol must be"),
        ({b"smithy-protocol": b""}, "The header smithy-protocol must be"),
        ({b"smithy-protocol": b"rpc-v2-cbor,rpc-v2-cbor"}, "The header smithy-protocol must be"),
        ({**CBOR, b"x-amz-target": b"AmazonSQS.SendMessage"}, "has no header x-amz-target"),
        ({**CBOR, b"x-amzn-target": b"AmazonSQS.SendMessage"}, "has no header x-amzn-target"),
    ],
)
def test_headers_that_are_refused(headers: dict[bytes, bytes], reason: str) -> None:
    status, kind, message = refuse(ask("AmazonSQS", "SendMessage", SEND, headers))
    assert (status, kind) == (400, "SerializationException")
    assert reason in message


# --- values ----------------------------------------------------------------------------------------------------------
BINARY = {"DataType": "Binary", "BinaryValue": b"\1"}
SCHEDULE = {
    "Name": "a", "ScheduleExpression": "rate(1 day)", "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {"Arn": "arn:aws:sqs:us-east-1:000000000000:q", "RoleArn": "arn:aws:iam::000000000000:role/r"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("service", "action", "members", "reason"),
    [
        ("sqs", "SendMessage", {**SEND, "MessageBody": 1}, "NUMBER_VALUE can not be converted to a String"),
        ("sqs", "SendMessage", {**SEND, "MessageBody": b"1"}, "BLOB_VALUE can not be converted to a String"),
        ("sqs", "SendMessage", {**SEND, "MessageBody": True}, "TRUE_VALUE can not be converted to a String"),
        ("sqs", "SendMessage", {**SEND, "MessageBody": schema.Timestamp(1)}, "TIMESTAMP_VALUE can not be"),
        ("sqs", "SendMessage", {**SEND, "MessageBody": {}}, "Start of structure or map found"),
        ("sqs", "SendMessage", {**SEND, "MessageBody": []}, "Start of list found"),
        ("sqs", "SendMessage", {**SEND, "DelaySeconds": "1"}, "STRING_VALUE can not be converted to an Integer"),
        ("sqs", "SendMessage", {**SEND, "DelaySeconds": 1.5}, "NUMBER_VALUE can not be converted to an Integer"),
        ("sqs", "SendMessage", {**SEND, "DelaySeconds": float("nan")}, "can not be converted to an Integer"),
        ("sqs", "SendMessage", {**SEND, "DelaySeconds": float("inf")}, "can not be converted to an Integer"),
        ("sqs", "SendMessage", {**SEND, "DelaySeconds": schema.Timestamp(1)}, "can not be converted to an Integer"),
        ("sqs", "SendMessage", {**SEND, "DelaySeconds": True}, "TRUE_VALUE can not be converted to an Integer"),
        ("sqs", "SendMessage", {**SEND, "MessageAttributes": []}, "Start of list found"),
        ("sqs", "SendMessage", {**SEND, "MessageAttributes": {"a": 1}}, "Unexpected field type"),
        ("sqs", "SendMessage", {**SEND, "MessageAttributes": {"a": {**BINARY, "BinaryValue": "AQ=="}}},
         "STRING_VALUE can not be converted to a Blob"),
        ("sqs", "SendMessage", {**SEND, "MessageAttributes": {"a": {**BINARY, "BinaryListValues": ["AQ=="]}}},
         "STRING_VALUE can not be converted to a Blob"),
        ("sqs", "SendMessage", {**SEND, "MessageAttributes": {"a": {**BINARY, "StringValue": b"1"}}},
         "BLOB_VALUE can not be converted to a String"),
        ("sqs", "SendMessageBatch", {"QueueUrl": "q", "Entries": {}}, "Start of structure or map found"),
        ("sqs", "SendMessage", [], "The CBOR body is not a map"),
        ("sqs", "SendMessage", "text", "The CBOR body is not a map"),
        ("scheduler", "CreateSchedule", {**SCHEDULE, "StartDate": 2_000_000_000}, "NUMBER_VALUE can not be converted"),
        ("scheduler", "CreateSchedule", {**SCHEDULE, "StartDate": "2030-01-01T00:00:00Z"},
         "STRING_VALUE can not be converted to a Timestamp"),
        ("scheduler", "CreateSchedule", {**SCHEDULE, "Name": b"a"}, "BLOB_VALUE can not be converted to a String"),
        ("scheduler", "CreateSchedule", {**SCHEDULE, "Target": "x"}, "Unexpected field type"),
        ("sns", "Publish", {"Message": b"m"}, "BLOB_VALUE can not be converted to a String"),
        ("sns", "Subscribe", {"TopicArn": "a", "Protocol": "sqs", "ReturnSubscriptionArn": 1},
         "NUMBER_VALUE can not be converted to a Boolean"),
    ],
)  # fmt: skip
def test_a_member_of_a_wrong_type(service: str, action: str, members: Any, reason: str) -> None:
    status, kind, message = refuse(ask(service, action, members))
    assert (status, kind) == (400, "SerializationException")
    assert reason in message


@pytest.mark.parametrize("number", [3, 3.0])
def test_a_whole_number_may_be_a_float(number: float) -> None:
    assert decode(ask("sqs", "SendMessage", {**SEND, "DelaySeconds": number}), ENVIRONMENT).request.delay_seconds == 3


@pytest.mark.parametrize("absent", [b"\xf6", b"\xf7"], ids=["null", "undefined"])
def test_null_and_undefined_are_absent(absent: bytes) -> None:
    plain = ask("sqs", "SendMessage", SEND)
    names = ("DelaySeconds", "MessageAttributes", "MessageGroupId", "Unknown")
    body = bytes((plain.body[0] + len(names),)) + plain.body[1:]
    body += b"".join(cbor.encode(name) + absent for name in names)
    assert decode(HttpRequest("POST", plain.path, b"", CBOR, body), ENVIRONMENT).request == (
        decode(plain, ENVIRONMENT).request
    )
    missing = b"\xa2" + cbor.encode("QueueUrl") + cbor.encode("q") + cbor.encode("MessageBody") + absent
    status, kind, message = refuse(HttpRequest("POST", plain.path, b"", CBOR, missing))
    assert (status, kind) == (400, "MissingRequiredParameterException")
    assert "MessageBody" in message


def test_unknown_members_are_ignored() -> None:
    newer = {**SEND, "Newer": {"a": [1, b"b", schema.Timestamp(1)]}, "": 1}
    assert decode(ask("sqs", "SendMessage", newer), ENVIRONMENT).request == (
        decode(ask("sqs", "SendMessage", SEND), ENVIRONMENT).request
    )


def test_an_empty_body_has_no_members() -> None:
    request = HttpRequest("POST", "/service/AmazonSQS/operation/ListQueues", b"", CBOR, b"")
    assert decode(request, ENVIRONMENT).action.label == "sqs:ListQueues"


def test_violated_limits_have_the_texts_of_the_service() -> None:
    absent = "Member must not be null"
    problems = [
        ("'a b'", "name", "Member must satisfy regular expression pattern: [0-9a-zA-Z-_.]+"),
        ("null", "scheduleExpression", absent), ("null", "target", absent), ("null", "flexibleTimeWindow", absent),
    ]  # fmt: skip
    texts = [f"Value {value} at '{at}' failed to satisfy constraint: {reason}" for value, at, reason in problems]
    message = f"4 validation errors detected: {'; '.join(texts)}"
    assert refuse(ask("scheduler", "CreateSchedule", {"Name": "a b"})) == (400, "ValidationException", message)
    status, kind, message = refuse(ask("sns", "TagResource", {"ResourceArn": "", "Tags": []}))
    assert (status, kind) == (400, "ValidationException")
    assert "at 'resourceArn'" in message


# --- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("service", "error", "members", "query_error"),
    [
        ("sqs", QueueDoesNotExist(), {
            "__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": QueueDoesNotExist.default_message,
         }, "AWS.SimpleQueueService.NonExistentQueue;Sender"),
        ("sns", NotFound(), {
            "__type": "com.amazonaws.sns#NotFoundException", "message": NotFound.default_message,
         }, "NotFound;Sender"),
        ("scheduler", ResourceNotFoundException.missing("Schedule a"), {
            "__type": "com.amazonaws.scheduler#ResourceNotFoundException", "Message": "Schedule a does not exist.",
         }, None),
        ("scheduler", InternalFailure(), {
            "__type": "com.amazon.coral.service#InternalServerException", "Message": InternalFailure.default_message,
         }, None),
        ("sts", ServiceUnavailable(), {
            "__type": "com.amazon.coral.service#ServiceUnavailable", "message": ServiceUnavailable.default_message,
         }, "ServiceUnavailable;Receiver"),
    ],
)  # fmt: skip
def test_an_error(service: str, error: Any, members: dict[str, str], query_error: str | None) -> None:
    response = encode_error(Protocol.CBOR, error, "id", service)
    assert (response.status, cbor.decode(response.body)) == (error.status, members)
    headers = {name.decode(): value.decode() for name, value in response.headers}
    assert headers.pop("x-amzn-query-error", None) == query_error
    assert headers.pop("retry-after", None) == (None if error.retry_after_seconds is None else "1")
    assert headers == {
        "content-type": "application/cbor", "smithy-protocol": "rpc-v2-cbor", "x-amzn-requestid": "id",
    }  # fmt: skip


# --- hostile bodies --------------------------------------------------------------------------------------------------
@given(st.sampled_from(ALL), st.data())
@settings(max_examples=300)
def test_a_damaged_request_is_decoded_or_refused(action: AnyAction, data: st.DataObject) -> None:
    """Fails for any other exception than RejectedRequest, and for an error that is not the sender's fault."""
    request = ask_validly(action)
    body = bytearray(request.body)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body)))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    with suppress(RejectedRequest):
        decode(HttpRequest("POST", request.path, b"", CBOR, bytes(body)), ENVIRONMENT)


@cache
def ask_validly(action: AnyAction) -> HttpRequest:
    return write(action, "cbor", build_members(action))


@given(st.sampled_from(ALL), st.data())
@settings(max_examples=200)
def test_members_of_any_type_are_decoded_or_refused(action: AnyAction, data: st.DataObject) -> None:
    names = st.sampled_from([member.name for member in schema.read_structure(action.request).members] or ["a"])
    numbers = st.integers(-(2**64), 2**64 - 1) | st.floats() | st.floats().map(schema.Timestamp)
    scalars = numbers | st.booleans() | st.binary() | st.text(max_size=5)
    values = scalars | st.lists(scalars) | st.dictionaries(st.sampled_from("ab"), scalars)
    with suppress(RejectedRequest):
        decode(ask(action.service, action.name, data.draw(st.dictionaries(names, values))), ENVIRONMENT)
