"""Compares the members, routes and statuses of event source mappings with botocore's model of Lambda.

Also tests function names. The source is FunctionName of "CreateEventSourceMapping" (AWS Lambda API reference).
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast
from uuid import UUID

import botocore.session
import pytest
from msgspec import Struct

from penstock.access.receipt_handle import ReceiptHandles
from penstock.actions import BY_ROUTE, MAPPING_ACTIONS, SERVICES, AnyAction
from penstock.aws.codec.schema import Limits, List, Map, Scalar, Shape, Structure, read_structure
from penstock.effects import Call, Compute
from penstock.environment import Environment
from penstock.event_sources import errors as mapping_errors
from penstock.event_sources.batches import StoredMapping, build_context, build_records
from penstock.event_sources.errors import InvalidParameterValueException, LambdaError
from penstock.event_sources.event import MAX_BYTES, Record, build_event, split_events
from penstock.event_sources.response import Malformed, read_failed_ids, select_succeeded
from penstock.event_sources.targets import check_target, parse_target
from penstock.event_sources.types import Options
from penstock.postgres.statements.messages import ReceivedRow
from penstock.settings import Settings

ROWS = [pytest.param(action, id=action.name) for action in MAPPING_ACTIONS]
SCALARS = {"string": str, "integer": int, "timestamp": float, "boolean": bool}


@cache
def model() -> Any:
    return botocore.session.get_session().get_service_model("lambda")


def same_scalar(kind: type, limits: Limits, theirs: Any) -> None:
    assert kind is SCALARS[theirs.type_name]
    stated = theirs.metadata
    if kind is int:
        assert (limits.least, limits.most) == (stated.get("min"), stated.get("max"))
    assert set(limits.values) == set(stated.get("enum", ()))


def same(ours: Shape, theirs: Any) -> None:
    match ours:
        case Scalar(kind, limits):
            if kind is not object:  # The service refuses every value of this member.
                same_scalar(kind, limits, theirs)
        case List(item):
            same(item, theirs.member)
        case Map(value):
            same(value, theirs.value)
        case Structure(members=members):
            assert {member.name for member in members} <= set(theirs.members)
            for member in members:
                same(member.shape, theirs.members[member.name])


@pytest.mark.parametrize("action", ROWS)
def test_routes_and_statuses(action: AnyAction) -> None:
    stated = model().operation_model(action.name).http
    assert action.route == f"{stated['method']} {stated['requestUri']}"
    assert action.status == stated["responseCode"]
    assert action in BY_ROUTE.values()
    assert SERVICES["lambda"].version == model().metadata["apiVersion"]


@pytest.mark.parametrize("action", ROWS)
def test_each_request_has_the_members_of_the_model(action: AnyAction) -> None:
    """The requests contain all members in the model, so the service ignores no member."""
    theirs = model().operation_model(action.name).input_shape
    ours = read_structure(action.request)
    assert {member.name for member in ours.members} == set(theirs.members)
    assert {member.name for member in ours.members if member.required} == set(theirs.required_members)
    same(ours, theirs)
    for member in ours.members:
        location = theirs.members[member.name].serialization.get("location")
        assert (None if member.location is None else member.location.where) == {
            "uri": "path", "querystring": "query", None: None
        }[location]  # fmt: skip


@pytest.mark.parametrize("action", ROWS)
def test_each_result_has_the_members_of_the_model(action: AnyAction) -> None:
    theirs = model().operation_model(action.name).output_shape
    assert (action.result is None) == (theirs is None)
    if action.result is not None:
        same(read_structure(cast("type[Struct]", action.result)), theirs)


def test_each_error_has_the_status_of_the_model() -> None:
    stated = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in model().error_shapes
              if "httpStatusCode" in shape.metadata.get("error", {})}  # fmt: skip
    for kind in vars(mapping_errors).values():
        if isinstance(kind, type) and issubclass(kind, LambdaError) and kind is not LambdaError:
            # The model contains neither of the two types. A refused request is the client's fault.
            is_refused = kind.json_type in ("ValidationException", "SerializationException")
            assert stated.get(kind.json_type, 400 if is_refused else 500) == kind.status
            members = {"message", "Message", "Type"}  # Penstock's choice, because the model has no shape
            if kind.json_type in stated:
                members = set(model().shape_for(kind.json_type).members)
            assert {*kind.more_members, kind.message_member} <= members


ACCOUNT, REGION = "123456789012", "us-west-2"
ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:MyFunction"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("MyFunction", ARN),
        (ARN, ARN),
        (f"{ARN}:PROD", f"{ARN}:PROD"),
        ("123456789012:function:MyFunction", ARN),
        ("https://example.com/hook?x=1", "https://example.com/hook?x=1"),
    ],
)
def test_forms_of_the_reference(text: str, target: str) -> None:
    assert parse_target(text, ACCOUNT, REGION) == target


@pytest.mark.parametrize(
    "text",
    ["", "a b", "arn:aws:lambda", "https://user@host/", "https://user:password@host/", "arn:aws:sqs:us-west-2:1:q"],
)
def test_other_texts(text: str) -> None:
    with pytest.raises(InvalidParameterValueException):
        parse_target(text, ACCOUNT, REGION)


@pytest.mark.parametrize(
    ("access", "listed", "allowed"),
    [
        ("off", "", True),
        ("off", "Other", False),
        ("sigv4", "", False),
        ("presence", "", False),
        ("sigv4", "Other, My*", True),
        ("sigv4", ARN, True),
        ("sigv4", f"arn:aws:lambda:*:{ACCOUNT}:function:*", True),
        ("sigv4", "arn:aws:lambda:*:999999999999:function:*", False),
    ],
)
def test_which_functions_may_be_invoked(access: str, listed: str, allowed: bool) -> None:
    """By default, access control allows no function."""
    settings = Settings.read(
        {"QUEUE_ACCESS": access, "QUEUE_LAMBDA_FUNCTIONS": listed, "QUEUE_LAMBDA_ENDPOINT": "http://localhost:3001"}
    )
    if allowed:
        check_target(f"{ARN}:1", ACCOUNT, REGION, settings)
    else:
        with pytest.raises(InvalidParameterValueException, match="QUEUE_LAMBDA_FUNCTIONS"):
            check_target(f"{ARN}:1", ACCOUNT, REGION, settings)


# --- batches ---------------------------------------------------------------------------------------------------------
# Tests which part of a batch the event loop handles, and which part a thread handles. Also tests the report in a
# response. The source is "Handling errors for an SQS event source in Lambda" (AWS Lambda Developer Guide).


@pytest.mark.parametrize(("length", "first"), [(10, Call), (100_000, Compute)])
def test_a_filter_reads_long_bodies_in_a_thread(length: int, first: type) -> None:
    """Ten messages that each contain a MiB of tiny values take seconds."""
    mapping = StoredMapping(
        mapping_id=UUID(int=1), account_id="000000000000", region="us-east-1", user_name=None, options=Options(),
        queue_arn="arn:aws:sqs:us-east-1:000000000000:orders", function_arn="http://127.0.0.1:1/",
        filters=[{}], enabled=True, reason="", last_result="", tags={}, updated_at=0.0, revision=1, invocations=0,
        failed_invocations=0, failing_since=None,
    )  # fmt: skip
    body = f'{{"a": "{"x" * length}"}}'
    row = ReceivedRow(None, None, 1, 0, 0, 1, 1, str(UUID(int=1)), 0, 0, body, None, None, 1, 30_000, 0)
    environment = Environment(Settings.read({}), ReceiptHandles(b"k" * 32))
    effect = next(build_records(mapping, [row], build_context(mapping, environment)))
    assert isinstance(effect, first)
    mapping.filters = None
    effect_without_filter = next(build_records(mapping, [row] * 10, build_context(mapping, environment)), None)
    assert isinstance(effect_without_filter, Compute) is (first is Compute)


IDS = frozenset(("a", "b"))


def row(message_id: str, group: str) -> ReceivedRow:
    values = dict.fromkeys(ReceivedRow._fields)
    return ReceivedRow(**{**values, "message_id": message_id, "system": f'{{"MessageGroupId": "{group}"}}'})  # type: ignore[arg-type]


def test_ids_that_have_failed() -> None:
    assert read_failed_ids(b'{"batchItemFailures": [{"itemIdentifier": "b"}]}', IDS) == {"b"}


@pytest.mark.parametrize("body", [b"", b" ", b"null", b"{}", b'{"batchItemFailures": null}', b'{"other": 1}'])
def test_a_response_without_failures_is_a_success(body: bytes) -> None:
    assert read_failed_ids(body, IDS) == frozenset()


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'"ok"', b"\xff", b'{"batchItemFailures": {}}', b'{"batchItemFailures": ["a"]}',
     b'{"batchItemFailures": [{"itemIdentifier": "c"}]}', b'{"batchItemFailures": [{"itemIdentifier": 1}]}'],
)  # fmt: skip
def test_failure_of_the_batch(body: bytes) -> None:
    with pytest.raises(Malformed):
        read_failed_ids(body, IDS)


def test_a_fifo_queue_keeps_what_stands_behind_a_failure_of_the_group() -> None:
    rows = [row("1", "x"), row("2", "y"), row("3", "x"), row("4", "y")]
    assert [row.message_id for row in select_succeeded(rows, frozenset("2"), fifo=True)] == ["1", "3"]
    assert [row.message_id for row in select_succeeded(rows, frozenset("2"), fifo=False)] == ["1", "3", "4"]


def test_events_have_6_mb_at_most() -> None:
    """A message that exceeds the limit is alone in its event, because the service could otherwise never send it."""
    sizes = [MAX_BYTES // 2, MAX_BYTES // 2, 10, MAX_BYTES + 1, 10]
    records = [Record(row(str(n), "x"), b'"' + b"x" * (size - 2) + b'"') for n, size in enumerate(sizes)]
    parts = list(split_events(records))
    assert [[record.row.message_id for record in part] for part in parts] == [["0"], ["1", "2"], ["3"], ["4"]]
    assert len(build_event(parts[1])) <= MAX_BYTES
