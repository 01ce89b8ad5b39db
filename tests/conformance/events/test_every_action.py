"""Sends every action of the event bus to every deployment. botocore's model `eventbridgev2` lists the expected
members, and checks the structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import botocore.serialize
import pytest

from penstock.actions import ACTIONS
from penstock.aws.codec import cbor
from tests.support.conformance.access_keys import ENCRYPTION_KEY
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.events import Events, build_role
from tests.support.conformance.sdk_clients import REGION, service_model
from tests.support.conformance.sqs import Sqs, read_cbor, read_refusal
from tests.support.conformance.valid_requests.events import GOOD, Members
from tests.support.database import Database
from tests.support.functions.server import Functions, file_name
from tests.support.local_lambda.events import Request, Response, event_of, response_of

MODEL = service_model("cbor", "eventbridgev2")
SERIALIZER = botocore.serialize.create_serializer("smithy-rpc-v2-cbor", include_validation=False)
METHODS = {action: file_name(action) for action in GOOD}
SETTINGS = {"QUEUE_ENCRYPTION_KEY": ENCRYPTION_KEY}


def list_members(shape: Any, value: Any, path: str = "") -> set[str]:
    """Returns the members of a response, such as `Filters[].Scope`. Asserts that the model has each member."""
    if shape.type_name == "structure":
        assert value.keys() <= shape.members.keys()
        return {
            found
            for name, member in value.items()
            for found in (f"{path}{name}", *list_members(shape.members[name], member, f"{path}{name}."))
        }
    if shape.type_name == "list":
        return {found for item in value for found in list_members(shape.member, item, f"{path.removesuffix('.')}[].")}
    if shape.type_name == "map":
        mark = f"{path.removesuffix('.')}{{}}."
        return {found for item in value.values() for found in list_members(shape.value, item, mark)}
    return set()


@pytest.mark.parametrize("action", GOOD)
def test_a_valid_call(events: Events, action: str) -> None:
    good, events = GOOD[action], events.of(events.sqs.with_settings(SETTINGS))
    response = getattr(events.client, METHODS[action])(**good.needs(events))
    headers = response.pop("ResponseMetadata")["HTTPHeaders"]
    assert (headers["content-type"], headers["smithy-protocol"]) == ("application/cbor", "rpc-v2-cbor")
    shape = MODEL.operation_model(action).output_shape
    assert list_members(shape, response) == set(good.answered)


def test_every_action_is_in_the_table() -> None:
    assert GOOD.keys() == {action.name for action in ACTIONS if action.service == "events"}


# --- the functions of actions ----------------------------------------------------------------------------------------
def write(action: str, members: Members) -> Request:
    """Returns the request that botocore writes. For an action that the model lacks, the members must have no times."""
    body = cbor.encode(members)
    if action in MODEL.operation_names:
        body = SERIALIZER.serialize_to_request(members, MODEL.operation_model(action))["body"]
    headers = (("Host", "queues.internal"), ("Smithy-Protocol", "rpc-v2-cbor"), ("Content-Type", "application/cbor"))
    return Request("POST", f"/service/AWSEventsV2/operation/{action}", "", headers, body)


@pytest.fixture
def preparing(deployments: Deployments, clock: Clock) -> Iterator[Events]:
    """Returns the client of the functions' gateway, which prepares resources."""
    client = Events(Sqs(deployments, clock, "lambda", "json").with_settings(SETTINGS))
    yield client
    client.clear()


def invoke(functions: Functions, name: str, request: Request) -> Response:
    return response_of(functions.invoke(name, event_of("http_api", request)))


def test_the_function_of_each_action_answers_it(preparing: Events, installation: Database) -> None:
    with Functions(installation.pooled_dsn, SETTINGS) as functions:
        for action, good in GOOD.items():
            response = invoke(functions, f"events/{file_name(action)}", write(action, good.needs(preparing)))
            assert response.status == 200, (action, response.body)
            assert read_cbor(response.body).keys() <= {name.partition(".")[0] for name in good.answered}
            preparing.clear()


def test_a_function_answers_its_own_action_alone(functions: Functions) -> None:
    response = invoke(functions, "events/describe_event_bus", write("ListEventBuses", {}))
    assert _refusal(response)[:2] == ("UnknownOperationException", 404)


PARTNER = {"PartnerEventSourceArn": f"arn:aws:events:{REGION}::event-source/aws.partner/shop/orders"}
WEBHOOK = {"AuthConfiguration": {"BasicHttpAuthConfiguration": {}}, "RoleArn": build_role()}
KINDS: list[tuple[dict[str, Members], str]] = [
    ({}, "exactly one kind"),
    ({"Partner": PARTNER, "Webhook": WEBHOOK}, "exactly one kind"),
    ({"AwsService": {"AwsService": "aws.s3", "Pattern": "{}"}}, "AWS's services do not emit events to Penstock."),
    ({"Partner": PARTNER}, "AWS's partners do not emit events to Penstock."),
    ({"Webhook": WEBHOOK}, "needs the setting QUEUE_ENCRYPTION_KEY"),
]


@pytest.mark.parametrize(("kinds", "reason"), KINDS)
def test_event_sources_are_refused_with_the_reason(
    preparing: Events, functions: Functions, kinds: dict[str, Members], reason: str
) -> None:
    """Configuration is a union, so it has exactly one member. The functions of this test have no encryption key."""
    configuration = {f"{kind}EventsConfiguration": members for kind, members in kinds.items()}
    members = {"Name": "s", "EventBusArn": preparing.bus(), "Configuration": configuration}
    for function in ("gateway", "events/create_event_source"):
        response = invoke(functions, function, write("CreateEventSource", members))
        code, status, message = _refusal(response)
        assert (code, status) == ("InvalidInputException", 400)
        assert reason in message


@pytest.mark.parametrize("action", ["PutRule", "PutPartnerEvents"])
def test_an_action_that_is_missing_is_unknown(functions: Functions, action: str) -> None:
    response = invoke(functions, "gateway", write(action, {}))
    assert _refusal(response)[:2] == ("UnknownOperationException", 404)


def _refusal(response: Response) -> tuple[str, int, str]:
    headers = {name.lower(): value for name, value in response.headers}
    refusal = read_refusal("cbor", response.status, headers, response.body)
    return refusal.code, refusal.status, refusal.message


# --- what is needed --------------------------------------------------------------------------------------------------
def test_each_required_member_is_needed(events: Events) -> None:
    for action, method in METHODS.items():
        for member in MODEL.operation_model(action).input_shape.required_members:
            refusal = events.refusal(method)
            assert (refusal.code, refusal.status) == ("InvalidInputException", 400)
            path = member[0].lower() + member[1:]
            assert f"Value at '{path}' failed to satisfy constraint: Member must not be null" in refusal.message


# --- paginators and waiters ------------------------------------------------------------------------------------------
def test_each_paginator_reads_all_pages(events: Events) -> None:
    buses = [events.bus(Name=f"p{number}") for number in range(3)]
    subscribers = sorted(events.subscriber(buses[0], Name=f"s{number}") for number in range(3))
    sources = sorted(events.source(bus) for bus in buses)
    events.client.put_resource_policy(
        ResourceArn=buses[0], PolicyDocument=GOOD["PutResourcePolicy"].needs(events)["PolicyDocument"]
    )

    def read(operation: str, key: str, **members: Any) -> list[Any]:
        pages = events.client.get_paginator(operation).paginate(**members, PaginationConfig={"PageSize": 2})
        return [item for page in pages for item in page[key]]

    assert [bus["EventBusArn"] for bus in read("list_event_buses", "EventBuses", NamePrefix="p")] == buses
    found = read("list_subscribers", "Subscribers", EventBusArn=buses[0], NamePrefix="s")
    assert [each["SubscriberArn"] for each in found] == subscribers
    assert [each["EventSourceArn"] for each in read("list_event_sources", "EventSources")] == sources
    (policy,) = read("list_resource_policies", "PolicySummaries", ResourceArn=buses[0])
    assert policy["PolicyName"] == "default"


def test_each_waiter_ends(events: Events) -> None:
    """EventBusActive ends when the state is ACTIVE, and EventBusDeleted when DescribeEventBus does not find the bus."""
    arn = events.bus()
    events.client.get_waiter("event_bus_active").wait(EventBusArn=arn, WaiterConfig={"MaxAttempts": 1})
    events.client.delete_event_bus(EventBusArn=arn)
    events.client.get_waiter("event_bus_deleted").wait(EventBusArn=arn, WaiterConfig={"MaxAttempts": 1})
