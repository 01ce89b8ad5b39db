"""Compares message types and errors with botocore's model of SNS.

Also compares every error in the table of docs/reference/errors.md with botocore's model.
"""

import json
from functools import cache
from typing import Any, cast

import botocore.session
import pytest
from msgspec import Struct

from penstock import errors
from penstock.actions import ACTIONS, SERVICES, AnyAction
from penstock.aws.codec.schema import List, Map, Scalar, Shape, Structure, read_structure
from penstock.sns import errors as errors_sns
from penstock.sns.delivery_policy import (
    DEFAULT_RETRY,
    check_delivery_policy,
    check_topic_policy,
    compute_effective_policy,
    compute_effective_topic_policy,
    retry_delays,
)
from penstock.sns.errors import SNS_ERRORS, InvalidParameter, SnsError

# In the structs, a blob is a base64 text. Only a list that is always empty contains a timestamp.
SCALARS = {"string": str, "blob": str, "boolean": bool, "integer": int, "timestamp": str}
ROWS = [pytest.param(action, id=action.name) for action in ACTIONS if action.service == "sns"]


@cache
def model() -> Any:
    return botocore.session.get_session().get_service_model("sns")


def members(ours: Structure, theirs: Any) -> None:
    """Checks that both shapes have the same member names and member shapes."""
    assert {member.name for member in ours.members} == set(theirs.members)
    for member in ours.members:
        same(member.shape, theirs.members[member.name])


def same(ours: Shape, theirs: Any) -> None:
    match ours:
        case Scalar(kind):
            assert kind is SCALARS[theirs.type_name]
        case List(item):
            assert theirs.type_name == "list"
            same(item, theirs.member)
        case Map(value, naming):
            assert (naming.key, naming.value) == (
                theirs.key.serialization.get("name", "key"), theirs.value.serialization.get("name", "value"),
            )  # fmt: skip
            same(value, theirs.value)
        case Structure():
            members(ours, theirs)


def test_every_action_of_the_model_is_there() -> None:
    names = {action.name for action in ACTIONS if action.service == "sns"}
    assert names == set(model().operation_names)
    assert len(names) == 42


def test_the_service_is_called_as_in_the_model() -> None:
    metadata = model().metadata
    assert (SERVICES["sns"].version, SERVICES["sns"].xml_namespace) == (
        metadata["apiVersion"], metadata["xmlNamespace"],
    )  # fmt: skip


@pytest.mark.parametrize("action", ROWS)
def test_each_request_has_the_members_of_the_model(action: AnyAction) -> None:
    theirs = model().operation_model(action.name).input_shape
    ours = read_structure(action.request)
    members(ours, theirs)
    required = set(theirs.required_members) - CHECKED_BY_OPERATIONS.get(action.name, set())
    assert {member.name for member in ours.members if member.required} == required


# For the members in this map, AWS returns an error other than ValidationError, or first checks another member.
CHECKED_BY_OPERATIONS = {
    "SetEndpointAttributes": {"Attributes"},
    "SetPlatformApplicationAttributes": {"Attributes"},
    "Unsubscribe": {"SubscriptionArn"},
}


@pytest.mark.parametrize("action", ROWS)
def test_each_result_has_the_members_of_the_model(action: AnyAction) -> None:
    theirs = model().operation_model(action.name).output_shape
    assert (action.result is None) == (theirs is None)
    if action.result is not None:
        members(read_structure(cast("type[Struct]", action.result)), theirs)


def test_each_error_has_the_code_and_status_of_the_model() -> None:
    """The model contains the code, status and required members of all errors except for one error, which is in "Common
    Errors".
    """
    known = {shape.name: shape.metadata["error"] for shape in model().error_shapes if "error" in shape.metadata}
    ours = {name: kind for name, kind in vars(errors_sns).items() if isinstance(kind, type) and kind is not SnsError
            and issubclass(kind, SnsError)}  # fmt: skip
    assert len(ours) > 10
    required = {shape.name: set(shape.required_members) - {"Message", "message"} for shape in model().error_shapes}
    for kind in ours.values():
        assert set(kind.more_members) == required.get(kind.json_type, set())
        # The model defines no code for Verification.
        if kind in (errors_sns.ValidationError, errors_sns.Verification):
            continue
        assert (kind.query_code, kind.status) == (
            known[kind.json_type]["code"], known[kind.json_type]["httpStatusCode"],
        )  # fmt: skip


# The rows contain the Query code and the status from the documentation of SNS.
TABLE = [
    ("NotFound", 404),
    ("InvalidParameter", 400),
    ("ParameterValueInvalid", 400),
    ("ValidationError", 400),
    ("AuthorizationError", 403),
    ("FilterPolicyLimitExceeded", 403),
    ("SubscriptionLimitExceeded", 403),
    ("BatchEntryIdsNotDistinct", 400),
    ("EmptyBatchRequest", 400),
    ("TooManyEntriesInBatchRequest", 400),
    ("Throttled", 429),
    ("InternalError", 500),
]
# The model's code is ValidationException, but "Common Errors" in the API reference says ValidationError.
OTHERWISE = {"ValidationException": "ValidationError"}


@pytest.mark.parametrize(("code", "status"), TABLE)
def test_each_error_of_the_table_has_its_status(code: str, status: int) -> None:
    (error,) = [e for e in SNS_ERRORS.values() if e.query_code == code]
    assert (error.status, error.sender_fault) == (status, status < 500)


@pytest.mark.parametrize("error", SNS_ERRORS.values(), ids=SNS_ERRORS)
def test_the_model_knows_it(error: type[errors_sns.SnsError]) -> None:
    model = botocore.session.get_session().get_service_model("sns")
    (shape,) = [shape for shape in model.error_shapes if shape.name == error.json_type]
    told = shape.metadata.get("error") or {"code": shape.name, "httpStatusCode": 400, "senderFault": True}
    assert (OTHERWISE.get(told["code"], told["code"]), told["httpStatusCode"]) == (error.query_code, error.status)
    assert bool(told.get("senderFault")) is error.sender_fault
    assert error.namespace == "com.amazonaws.sns"


def test_no_two_errors_are_the_same_on_the_wire() -> None:
    assert len({error.query_code for error in SNS_ERRORS.values()}) == len(SNS_ERRORS)
    assert len({error.json_type for error in SNS_ERRORS.values()}) == len(SNS_ERRORS)


def test_an_internal_failure_has_another_name_in_sns() -> None:
    told = errors_sns.as_sns_error(errors.InternalFailure())
    assert (told.query_code, told.message) == ("InternalError", errors.InternalFailure.default_message)
    unavailable = errors.ServiceUnavailable()
    assert errors_sns.as_sns_error(unavailable) is unavailable


def test_a_value_in_a_map() -> None:
    alone = errors_sns.InvalidParameter.named("FilterPolicy: too long")
    assert alone.within("Attributes").message == "Invalid parameter: Attributes Reason: FilterPolicy: too long"


# --- delivery policy -------------------------------------------------------------------------------------------------
# Tests delivery policies. The source is "Creating HTTP/S delivery policies" (SNS Developer Guide).


def policy(**retry: Any) -> str:
    return json.dumps({"healthyRetryPolicy": retry})


def delays(**retry: Any) -> list[float]:
    return [round(delay, 3) for delay in retry_delays({**DEFAULT_RETRY, **retry})]


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", '{"surprise":1}', policy(numRetries=101), policy(numRetries=-1), policy(numRetries="3"),
        policy(minDelayTarget=0), policy(maxDelayTarget=3601), policy(minDelayTarget=30),
        policy(backoffFunction="quadratic"), policy(numRetries=2, numNoDelayRetries=3),
        policy(numRetries=100, minDelayTarget=60, maxDelayTarget=60),
        json.dumps({"throttlePolicy": {"maxReceivesPerSecond": 0}}),
        json.dumps({"requestPolicy": {"headerContentType": "image/png"}}), "{}" + " " * 30_720,
    ],
)  # fmt: skip
def test_bad_policies(text: str) -> None:
    """A policy has 0-100 retries, delays of 1-3,600 s and of at most an hour in total, and phases with no more retries
    than the policy."""
    with pytest.raises(InvalidParameter, match="DeliveryPolicy"):
        check_delivery_policy(text)


def test_good_policies() -> None:
    check_delivery_policy(policy(numRetries=50, minDelayTarget=1, maxDelayTarget=60))
    check_topic_policy(json.dumps({"http": {"defaultHealthyRetryPolicy": {"numRetries": 5}}}))
    with pytest.raises(InvalidParameter):
        check_topic_policy(json.dumps({"healthyRetryPolicy": {}}))


def test_the_default_is_three_retries_20_seconds_apart() -> None:
    assert delays() == [20.0, 20.0, 20.0]


def test_phases_follow_each_other() -> None:
    """The phases are retries without delay, with the minimum delay, with back-off, and with the maximum delay."""
    found = delays(
        minDelayTarget=1, maxDelayTarget=60, numRetries=10, numNoDelayRetries=3, numMinDelayRetries=2,
        numMaxDelayRetries=2,
    )  # fmt: skip
    assert found == [0, 0, 0, 1, 1, 1, 30.5, 60, 60, 60]


@pytest.mark.parametrize("function", ["linear", "arithmetic", "geometric", "exponential"])
def test_back_off_rises_from_the_least_to_the_greatest_delay(function: str) -> None:
    found = delays(minDelayTarget=5, maxDelayTarget=500, numRetries=6, backoffFunction=function)
    assert (found[0], found[-1]) == (5, 500)
    assert found == sorted(set(found))


def test_a_subscription_goes_before_its_topic() -> None:
    topic = json.dumps({"http": {"defaultHealthyRetryPolicy": {"numRetries": 5}}})
    assert compute_effective_policy(None, topic)["healthyRetryPolicy"]["numRetries"] == 5
    assert compute_effective_policy(policy(numRetries=7), topic)["healthyRetryPolicy"]["numRetries"] == 7
    fixed = json.dumps({"http": {"disableSubscriptionOverrides": True}})
    assert compute_effective_policy(policy(numRetries=7), fixed)["healthyRetryPolicy"]["numRetries"] == 3


def test_a_topics_effective_policy_has_the_defaults() -> None:
    http = compute_effective_topic_policy(None)["http"]
    assert http["defaultHealthyRetryPolicy"] == DEFAULT_RETRY
    assert http["disableSubscriptionOverrides"] is False
    assert http["defaultRequestPolicy"] == {"headerContentType": "text/plain; charset=UTF-8"}
