"""botocore's model of Lambda is the reference for the members of event source mappings, their routes and statuses.

Names of functions. Source: FunctionName of "CreateEventSourceMapping" (AWS Lambda API reference).
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import botocore.session
import pytest
from msgspec import Struct

from penstock.actions import BY_ROUTE, MAPPING_ACTIONS, SERVICES, AnyAction
from penstock.aws.codec.schema import Limits, List, Map, Scalar, Shape, Structure, read_structure
from penstock.event_sources import errors as mapping_errors
from penstock.event_sources.errors import InvalidParameterValueException, LambdaError
from penstock.event_sources.targets import check_target, parse_target
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
            if kind is not object:  # that is refused, whatever it is
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
def test_requests(action: AnyAction) -> None:
    """They have all members: none is ignored that a client gives."""
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
def test_results(action: AnyAction) -> None:
    theirs = model().operation_model(action.name).output_shape
    assert (action.result is None) == (theirs is None)
    if action.result is not None:
        same(read_structure(cast("type[Struct]", action.result)), theirs)


def test_errors() -> None:
    stated = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in model().error_shapes
              if "httpStatusCode" in shape.metadata.get("error", {})}  # fmt: skip
    for kind in vars(mapping_errors).values():
        if isinstance(kind, type) and issubclass(kind, LambdaError) and kind is not LambdaError:
            assert stated.get(kind.json_type, 500) == kind.status


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
    "text", ["", "a b", "arn:aws:lambda", "https://user@host/", "arn:aws:sqs:us-west-2:1:q"]
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
    """No function is allowed by default where access is checked."""
    settings = Settings.read(
        {
            "QUEUE_ACCESS": access,
            "QUEUE_LAMBDA_FUNCTIONS": listed,
            "QUEUE_LAMBDA_ENDPOINT": "http://localhost:3001",
        }
    )
    if allowed:
        check_target(f"{ARN}:1", ACCOUNT, REGION, settings)
    else:
        with pytest.raises(InvalidParameterValueException, match="QUEUE_LAMBDA_FUNCTIONS"):
            check_target(f"{ARN}:1", ACCOUNT, REGION, settings)
