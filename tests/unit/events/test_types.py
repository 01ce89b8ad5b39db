"""Compares the event bus's requests, results, limits and errors with botocore's model, and decodes hostile requests."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any, cast

import botocore.session
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from penstock.actions import ACTIONS, BY_TARGET, AnyAction
from penstock.aws.codec import cbor, schema
from penstock.aws.codec.protocol import Protocol
from penstock.aws.codec.schema import NO_LIMITS, Limits, List, Map, Scalar, Shape, Structure, read_structure
from penstock.environment import Environment
from penstock.errors import AccessDenied, AwsError, InternalFailure, RequestThrottled, ServiceUnavailable
from penstock.events import errors
from penstock.events.errors import EventsError, as_events_error
from penstock.events.types import CreateEventBusRequest
from penstock.gateway import RejectedRequest, decode
from penstock.http import HttpRequest
from penstock.settings import Settings

SCALARS = {"string": str, "integer": int, "timestamp": float, "boolean": bool, "blob": bytes}
ROWS = [pytest.param(action, id=action.name) for action in ACTIONS if action.service == "events"]
# The model's pattern of a header's value, and Penstock's pattern for the same texts, which needs no long search.
HEADER_VALUE = (r"\t*[\x20-\x7E][\t\x20-\x7E]*", r"[ \t]*[\x20-\x7E]+([ \t]+[\x20-\x7E]+)*[ \t]*")
# The member that no response has, because only subscribers with a target in MSK have details.
NEVER_RETURNED = {"SubscriberDetails"}
# The members that Penstock refuses with any value.
UNTYPED = {
    "KinesisParameters", "StepFunctionsParameters",
    "AwsServiceEventsConfiguration", "PartnerEventsConfiguration", "MskParameters",
}  # fmt: skip


@cache
def model() -> Any:
    return botocore.session.get_session().get_service_model("eventbridgev2")


def limits_of(theirs: Any) -> Limits:
    stated = theirs.metadata
    return Limits(
        stated.get("min"), stated.get("max"), stated.get("pattern"), tuple(sorted(theirs.metadata.get("enum", ())))
    )


def adapt(limits: Limits) -> Limits:
    pattern = limits.pattern
    return Limits(limits.least, limits.most, pattern and pattern.replace(*HEADER_VALUE), limits.values)


def compare(ours: Shape, theirs: Any, *, judges_limits: bool) -> None:
    match ours:
        case Structure():
            compare_members(ours, theirs, judges_limits=judges_limits)
        case Scalar(kind, limits):
            assert kind is SCALARS[theirs.type_name]
            assert not judges_limits or limits == limits_of(theirs) or adapt(limits) == limits_of(theirs)
        case List(item, limits=limits):
            assert not judges_limits or limits == limits_of(theirs)
            compare(item, theirs.member, judges_limits=judges_limits)
        case Map(value, limits=limits, key_limits=key_limits):
            assert not judges_limits or (limits, key_limits) == (limits_of(theirs), limits_of(theirs.key))
            compare(value, theirs.value, judges_limits=judges_limits)


def compare_members(ours: Structure, theirs: Any, *, judges_limits: bool) -> None:
    names = {member.name for member in ours.members}
    assert names == theirs.members.keys() - NEVER_RETURNED
    assert {member.name for member in ours.members if member.required} == set(theirs.required_members)
    for member in ours.members:
        if member.shape == Scalar(object):
            assert member.name in UNTYPED
        else:
            compare(member.shape, theirs.members[member.name], judges_limits=judges_limits)


def test_every_action_of_the_model_is_there() -> None:
    names = {action.name for action in ACTIONS if action.service == "events"}
    assert names == set(model().operation_names)


@pytest.mark.parametrize("action", ROWS)
def test_each_request_and_result_has_the_members_of_the_model(action: AnyAction) -> None:
    """A result without members has no type."""
    theirs = model().operation_model(action.name)
    compare(read_structure(action.request), theirs.input_shape, judges_limits=True)
    assert (action.result is None) == (not theirs.output_shape.members)
    if action.result is not None:
        compare(read_structure(cast("type[Struct]", action.result)), theirs.output_shape, judges_limits=False)


def test_each_error_has_the_status_of_the_model() -> None:
    stated = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in model().error_shapes}
    ours = {kind.json_type: kind.status for kind in EventsError.__subclasses__()}
    assert stated.items() - ours.items() == {
        ("ConcurrentModificationException", 409), ("SchemaRegistryUnavailableException", 400),
    }  # fmt: skip
    assert ours.items() <= stated.items()
    assert vars(errors)["InternalException"].sender_fault is False


@pytest.mark.parametrize(
    ("error", "name", "status"),
    [
        (InternalFailure(), "InternalException", 500),
        (RequestThrottled(), "ThrottlingException", 429),
        (AccessDenied("no"), "AccessDeniedException", 403),
        (ServiceUnavailable(), "ServiceUnavailable", 503),
    ],
)
def test_common_errors_have_the_names_of_the_model(error: AwsError, name: str, status: int) -> None:
    found = as_events_error(error)
    assert (found.json_type, found.status) == (name, status)


# --- which requests name an action -----------------------------------------------------------------------------------
ENVIRONMENT = Environment(Settings.read({}), None)  # type: ignore[arg-type] # no request here has a receipt
CBOR = {b"host": b"localhost", b"smithy-protocol": b"rpc-v2-cbor", b"content-type": b"application/cbor"}
LIST = cbor.encode({})


def ask(path: str, body: bytes = LIST, headers: dict[bytes, bytes] = CBOR) -> HttpRequest:
    return HttpRequest("POST", path, b"", headers, body)


@pytest.mark.parametrize("service", ["AWSEventsV2", "com.amazonaws.eventbridgev2.AWSEventsV2"])
@pytest.mark.parametrize("prefix", ["", "/a", "/a/b"])
def test_the_last_four_segments_name_the_action(prefix: str, service: str) -> None:
    found = decode(ask(f"{prefix}/service/{service}/operation/ListEventBuses"), ENVIRONMENT)
    assert (found.action.label, found.protocol) == ("events:ListEventBuses", Protocol.CBOR)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/service/AWSEventsV2/operation/PutRule", CBOR),
        ("/service/AWSEvents/operation/ListEventBuses", CBOR),
        ("/service/events/operation/ListEventBuses", CBOR),
        ("/service/AWSEventsV2/operation/com.amazonaws.eventbridgev2.ListEventBuses", CBOR),
        ("/", {b"x-amz-target": b"AWSEvents.ListEventBuses", b"content-type": b"application/x-amz-json-1.1"}),
        ("/", {b"x-amz-target": b"AWSEventsV2.ListEventBuses", b"content-type": b"application/x-amz-json-1.0"}),
        ("/", {b"x-amz-target": b".ListEventBuses", b"content-type": b"application/x-amz-json-1.0"}),
        ("/?Action=ListEventBuses", {}),
    ],
)
def test_no_other_request_names_an_action(path: str, headers: dict[bytes, bytes]) -> None:
    """Neither the classic bus nor another protocol has the actions."""
    place, _, query = path.partition("?")
    request = HttpRequest(
        "POST", place, query.encode(), {b"host": b"localhost", **headers}, LIST if headers is CBOR else b"{}"
    )
    with pytest.raises(RejectedRequest) as refused:
        decode(request, ENVIRONMENT)
    assert refused.value.error.json_type in {"UnknownOperationException", "InvalidAction"}
    assert not any(b"EventBuses" in target for target in BY_TARGET)


# --- hostile requests ------------------------------------------------------------------------------------------------
def refuse(action: str, members: object) -> tuple[int, str, str]:
    body = members if isinstance(members, bytes) else cbor.encode(members)
    with pytest.raises(RejectedRequest) as refused:
        decode(ask(f"/service/AWSEventsV2/operation/{action}", body), ENVIRONMENT)
    response = refused.value.response()
    document = cast("dict[str, str]", cbor.decode(response.body))
    return response.status, document["__type"].rpartition("#")[2], document["Message"]


BUS = f"arn:aws:events:us-east-1:000000000000:event-busv2/b/{'a' * 25}"
INVALID = "InvalidInputException"


@pytest.mark.parametrize(
    ("action", "members", "name", "text"),
    [
        ("CreateEventBus", {}, INVALID, "Value at 'name' failed to satisfy constraint: Member must not be null"),
        ("CreateEventBus", {"Name": ""}, INVALID, "2 validation errors detected"),
        ("CreateEventBus", {"Name": "-a"}, INVALID, "regular expression pattern"),
        ("CreateEventBus", {"Name": "a\n"}, INVALID, "regular expression pattern"),
        ("CreateEventBus", {"Name": "a" * 257}, INVALID, "length less than or equal to 256"),
        ("CreateEventBus", {"Name": 1}, "SerializationException", "can not be converted to a String"),
        ("CreateEventBus", {"Name": b"a"}, "SerializationException", "can not be converted"),
        ("CreateEventBus", {"Name": "a", "Tags": []}, "SerializationException", ""),
        ("CreateEventBus", {"Name": "a", "Description": "a\x00"}, INVALID, "'description'"),
        ("CreateEventBus", {"Name": "a", "Description": "a\u2028"}, INVALID, "'description'"),
        ("CreateEventBus", {"Name": "a", "StorageConfiguration": {"RetentionPeriodInDays": 0}}, INVALID, "equal to 1"),
        ("CreateEventBus", {"Name": "a", "StorageConfiguration": {"RetentionPeriodInDays": 366}}, INVALID, "365"),
        ("CreateEventBus", {"Name": "a", "ClientToken": "a b"}, INVALID, "'clientToken'"),
        ("CreateEventBus", {"Name": "a", "Tags": {"": "b"}}, INVALID, "Map keys must satisfy constraint"),
        ("CreateEventBus", {"Name": "a", "Tags": {" a": "b"}}, INVALID, "Map keys must satisfy constraint"),
        ("CreateEventBus", {"Name": "a", "Tags": {"a\0b": "b"}}, INVALID, "U+0000"),
        ("CreateEventBus", {"Name": "a", "Tags": {"a": "b "}}, INVALID, "regular expression pattern"),
        ("CreateEventBus", {"Name": "a", "Tags": {str(n): "" for n in range(201)}}, INVALID, "equal to 200"),
        ("TagResource", {"ResourceArn": BUS, "Tags": {}}, INVALID, "greater than or equal to 1"),
        ("UntagResource", {"ResourceArn": BUS, "TagKeys": []}, INVALID, "greater than or equal to 1"),
        ("DescribeEventBus", {"EventBusArn": "b"}, INVALID, "'eventBusArn'"),
        ("DescribeEventBus", {"EventBusArn": BUS + "a"}, INVALID, "'eventBusArn'"),
        ("DescribeEventBus", {"EventBusArn": BUS.replace("event-busv2", "event-bus")}, INVALID, "'eventBusArn'"),
        ("ListEventBuses", {"MaxResults": 0}, INVALID, "'maxResults'"),
        ("ListEventBuses", {"MaxResults": 101}, INVALID, "'maxResults'"),
        ("ListEventBuses", {"MaxResults": 1.5}, "SerializationException", ""),
        ("ListEventBuses", b"", "", ""),
        ("ListEventBuses", b"\xff", "SerializationException", ""),
        ("ListEventBuses", b"\x9f" * 100_000, "SerializationException", "levels"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_wrong_member_is_refused(action: str, members: object, name: str, text: str) -> None:
    if not name:
        call = decode(ask(f"/service/AWSEventsV2/operation/{action}", cast("bytes", members)), ENVIRONMENT)
        assert call.action.name == action
        return
    status, found, message = refuse(action, members)
    assert (status, found) == (400, name)
    assert text in message


def test_the_errors_do_not_quote_values() -> None:
    """Patterns and parameters of targets can be secret."""
    secret = "s3cret' at 'x"
    filters = {"Filters": [{"Scope": secret, "Pattern": secret * 400}]}
    invoke = {"RoleArn": secret, "TargetArn": "arn:aws:x y"}
    members = {"Name": "a", "EventBusArn": BUS, "FilterConfiguration": filters, "InvokeConfiguration": invoke}
    _, _, message = refuse("CreateSubscriber", members)
    assert "s3cret" not in message
    assert "Value at 'filterConfiguration.filters.1.member.scope' failed to satisfy constraint" in message


@given(st.sampled_from([row.values[0] for row in ROWS]), st.data())
@settings(max_examples=60)
def test_members_of_any_type_are_decoded_or_refused(action: AnyAction, data: st.DataObject) -> None:
    """Fails for any other exception than RejectedRequest."""
    shape = read_structure(action.request)
    names = st.sampled_from([member.name for member in shape.members] or ["a"])
    numbers = st.integers(-(2**64), 2**64 - 1) | st.floats() | st.floats().map(schema.Timestamp)
    scalars = numbers | st.booleans() | st.binary(max_size=5) | st.text(max_size=5)
    values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(names, scalars, max_size=3)
    body = cbor.encode(data.draw(st.dictionaries(names, values, max_size=4)))
    with suppress(RejectedRequest):
        decode(ask(f"/service/AWSEventsV2/operation/{action.name}", body), ENVIRONMENT)


def test_limits_of_maps_are_read() -> None:
    (tags,) = (member.shape for member in read_structure(CreateEventBusRequest).members if member.name == "Tags")
    assert isinstance(tags, Map)
    assert NO_LIMITS not in (tags.limits, tags.key_limits)
