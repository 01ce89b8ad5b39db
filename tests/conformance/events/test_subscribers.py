"""Tests the subscribers of event buses and their revocation. Each refused request is a row with its source.

Sources: "Subscribers" (custom event bus, Amazon EventBridge User Guide), AWS's skill `amazon-eventbridge-event-bus`,
which quotes texts of errors, and botocore's model `eventbridgev2`. The page
docs/reference/event_bus_differences.md lists the choices that no source decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.conformance.events import QUEUE, Events, build_role
from tests.support.conformance.sdk_clients import ACCOUNT, REGION

GUIDE, SKILL, MODEL, CHOICE = "user guide", "skill", "model", "choice"
UNIVERSAL = "Universal targets for a Custom Event Bus (user guide)"
INVALID = ("InvalidInputException", 400)
MISSING = ("ResourceNotFoundException", 404)
OTHER = "111122223333"
ID = "a" * 25


container = pytest.mark.parametrize("events", ["container"], indirect=True)


# --- subscribers -----------------------------------------------------------------------------------------------------
def test_a_subscriber_has_the_defaults(events: Events) -> None:
    """Defaults of CreateSubscriber: 5 attempts in 300 seconds, RAW, LATEST, RUNNING, no logs."""
    bus = events.bus()
    arn = events.subscriber(bus, Name="billing", Tags={"a": "b"})
    found = events.shown(arn)
    assert found.pop("CreationTime") == found.pop("LastModifiedTime")
    assert found == {
        "SubscriberArn": arn, "Name": "billing", "EventBusArn": bus, "Type": "UNORDERED", "StartingPosition": "LATEST",
        "State": "RUNNING", "InvokeConfiguration": {"RoleArn": build_role(), "TargetArn": QUEUE},
        "BatchConfiguration": {"MaxBatchSize": 10, "MaxBatchWindowInSeconds": 0}, "Transformer": {"Type": "RAW"},
        "RetryPolicy": {"MaxRetryAttempts": 5, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"},
        "LogConfiguration": {"Level": "OFF", "IncludePayload": "ON_ERROR_ONLY"},
    }  # fmt: skip
    assert arn.startswith(f"arn:aws:events:{REGION}:{ACCOUNT}:subscriber/billing/")


TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:t"
FUNCTION = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:f"
SDK = "arn:aws:events:::aws-sdk:sqs:sendMessage"
DESTINATION = f"arn:aws:events:{REGION}:{ACCOUNT}:api-destination/crm/11111111-2222-4333-8444-555555555555"
UNSUPPORTED = "InvokeConfiguration.TargetArn: TargetArn is not a supported subscriber target"


def target(arn: str, role: str = build_role(), **blocks: Any) -> dict[str, Any]:
    return {"InvokeConfiguration": {"RoleArn": role, "TargetArn": arn, **blocks}}


def start(kind: str = "TIMESTAMP", **members: Any) -> dict[str, Any]:
    return {"StartingPosition": "POINT_IN_TIME", "PointInTimeConfiguration": {"PointType": kind, **members}}


def call(request: object, action: str = "sqs:sendMessage", **more: str) -> dict[str, Any]:
    """Returns the members of a subscriber with a universal target."""
    text = request if isinstance(request, str) else json.dumps(request)
    block: dict[str, Any] = {"UniversalTargetParameters": {"Input": text, **more}}
    batches = {"MaxBatchSize": 10, "MaxBatchWindowInSeconds": 0}
    return {**target(f"arn:aws:events:::aws-sdk:{action}", **block), "BatchConfiguration": batches}


NOW = datetime.now(UTC)
MSK = {"TopicName": "t", "Connectivity": "PUBLIC"}
REFUSED: list[tuple[str, Callable[[str], dict[str, Any]], str]] = [
    (SKILL, lambda _: target(f"arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/s"), UNSUPPORTED),
    (UNIVERSAL, lambda _: target(SDK.replace("sqs:sendMessage", "dynamodb:putItem")),
     "The api putItem is not valid for the service dynamodb"),
    (UNIVERSAL, lambda _: target(SDK.replace("send", "Send")), "The api SendMessage is not valid for the service sqs"),
    (UNIVERSAL, lambda _: target(SDK.replace("send", "receive")), "The api receiveMessage is not valid"),
    (UNIVERSAL, lambda _: target(SDK.replace("sqs:sendMessage", "eventbridge:putEvents")), "The api putEvents is not"),
    (UNIVERSAL, lambda _: target(SDK), "UniversalTargetParameters is required"),
    (UNIVERSAL, lambda _: call({"MessageBody": "m", "QueueUrl": "q"}) | {"BatchConfiguration": {"MaxBatchSize": 1}},
     "BatchConfiguration with MaxBatchSize and MaxBatchWindowInSeconds is required"),
    (MODEL, lambda _: call({"MessageBody": "m" * 262_144, "QueueUrl": "q"}), "less than or equal to 262144"),
    (SKILL, lambda _: call({}), "UniversalTargetParameters.Input is missing required field(s): MessageBody, QueueUrl"),
    (CHOICE, lambda _: call("no JSON"), "UniversalTargetParameters.Input is not a JSON object"),
    (UNIVERSAL, lambda _: call("{% $f( %}"), "UniversalTargetParameters.Input is not valid JSONata"),
    (MODEL, lambda _: call({"MessageBody": "m", "QueueUrl": "q"}, InvocationTimeoutSeconds="{% 3 %}"),
     "UniversalTargetParameters.InvocationTimeoutSeconds must be 1 to 30, as a literal"),
    (MODEL, lambda _: call({"MessageBody": "m", "QueueUrl": "q"}) | {"Transformer": {"Type": "RAW"}},
     "Transformer is not supported"),
    (CHOICE, lambda _: call({"FunctionName": "f"}, "lambda:invoke"), "invokes no functions"),
    (CHOICE, lambda _: call("{% $events %}", "lambda:invoke"), "invokes no functions"),
    (SKILL, lambda _: target(SDK, SqsParameters={"DelaySeconds": "1"}),
     f"SqsParameters is not supported for target {SDK}. Expected UniversalTargetParameters"),
    (SKILL, lambda _: target(f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/default"), UNSUPPORTED),
    (SKILL, lambda _: target(f"arn:aws:execute-api:{REGION}:{ACCOUNT}:a/b/GET"), UNSUPPORTED),
    (SKILL, lambda _: target(f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:a"), UNSUPPORTED),
    (SKILL, lambda _: target(f"arn:aws:sqs:{REGION}:{ACCOUNT}:a:b"), UNSUPPORTED),
    (MODEL, lambda _: target(f"arn:aws:kafka:{REGION}:{ACCOUNT}:cluster/a/b", MskParameters=MSK), UNSUPPORTED),
    (MODEL, lambda _: target(QUEUE, MskParameters=MSK),
     f"MskParameters is not supported for target {QUEUE}. Expected SqsParameters"),
    (SKILL, lambda _: target(QUEUE.replace("aws", "aws-cn", 1)), "TargetArn must be in partition aws"),
    (SKILL, lambda _: target(QUEUE.replace(REGION, "eu-west-1")), f"TargetArn must be in region {REGION}"),
    (SKILL, lambda _: target(QUEUE.replace(ACCOUNT, OTHER)),
     f"Target resource account ({OTHER}) must match the subscriber account ({ACCOUNT})"),
    (GUIDE, lambda _: target(QUEUE, build_role(OTHER)), f"Role account ({OTHER}) must match the subscriber account"),
    (SKILL, target, "InvokeConfiguration.TargetArn must not reference the subscriber's own event bus"),
    (SKILL, lambda _: target(QUEUE, SnsParameters={"Subject": "s"}),
     f"SnsParameters is not supported for target {QUEUE}. Expected SqsParameters"),
    (SKILL, lambda _: target(TOPIC, KinesisParameters={"PartitionKey": "k"}),
     f"KinesisParameters is not supported for target {TOPIC}. Expected SnsParameters"),
    (GUIDE, lambda _: target(QUEUE, SqsParameters={"MessageAttributes": {"a": {"BinaryValue": "{% x %}"}}}),
     "BinaryValue of the message attribute a"),
    (CHOICE, lambda _: target(FUNCTION), "invokes no functions"),
    (SKILL, lambda _: target(DESTINATION, LambdaParameters={}),
     f"LambdaParameters is not supported for target {DESTINATION}. Expected HttpParameters"),
    (SKILL, lambda _: target(DESTINATION.replace(ACCOUNT, OTHER)),
     f"Target resource account ({OTHER}) must match the subscriber account ({ACCOUNT})"),
    (SKILL, lambda _: target(DESTINATION[:-1]), UNSUPPORTED),
    (SKILL, lambda _: target(DESTINATION, HttpParameters={"InvocationTimeoutSeconds": "5"}),
     "HttpParameters.InvocationTimeoutSeconds is not supported"),
    (MODEL, lambda _: target(DESTINATION, HttpParameters={"HeaderParameters": {"a": " " * 999 + "\n"}}),
     "must satisfy regular expression pattern"),
    (GUIDE, lambda _: target(DESTINATION, HttpParameters={"PathParameterValues": ["{% $f( %}"]}),
     "InvokeConfiguration.HttpParameters.PathParameterValues is not valid JSONata"),
    (CHOICE, lambda _: {"BatchConfiguration": {"MaxBatchSize": 11}}, "MaxBatchSize must be at most 10"),
    (MODEL, lambda _: {"BatchConfiguration": {"MaxBatchSize": 501}}, "less than or equal to 500"),
    (MODEL, lambda _: {"RetryPolicy": {"MaxRetryAttempts": 186}}, "less than or equal to 185"),
    (MODEL, lambda _: {"RetryPolicy": {"MaxEventAgeInSeconds": 59}}, "greater than or equal to 60"),
    (MODEL, lambda _: {"OnFailureConfiguration": {"Arn": TOPIC}}, "'onFailureConfiguration.arn'"),
    (GUIDE, lambda _: {"FilterConfiguration": {}}, "FilterConfiguration must contain at least one Filter"),
    (SKILL, lambda _: {"FilterConfiguration": {"Filters": [{"Scope": "DATA", "Pattern": '{"a":[1]}'}] * 2}},
     "Duplicate filter scope: DATA"),
    (SKILL, lambda _: {"FilterConfiguration": {"Filters": [{"Scope": "DATA", "Pattern": '{"a":[{"wildcard":"*"}]}'}]}},
     "Filter pattern must not contain wildcard matchers (wildcard, anything-but wildcard)"),
    (MODEL, lambda _: {"FilterConfiguration": {"Filters": []}}, "'filterConfiguration.filters'"),
    (CHOICE, lambda _: {"Transformer": {"Type": "JSONATA"}}, "JsonataConfiguration is required"),
    (CHOICE, lambda _: {"Transformer": {"JsonataConfiguration": {"Expression": "{% 1 %}"}}}, "must not be provided"),
    (MODEL, lambda _: {"Transformer": {"Type": "JSONATA", "JsonataConfiguration": {"Expression": "1"}}}, "pattern"),
    (GUIDE, lambda _: {"Transformer": {"Type": "JSONATA", "JsonataConfiguration": {"Expression": "{% 1 + %}"}}},
     "Transformer.JsonataConfiguration.Expression is not valid JSONata at character 7: S0207"),
    (GUIDE, lambda _: target(QUEUE, SqsParameters={"MessageGroupId": "{% $f( %}"}),
     "InvokeConfiguration.SqsParameters.MessageGroupId is not valid JSONata"),
    (MODEL, lambda _: {"Type": "ORDERED"}, "enum value set: [FIFO, UNORDERED]"),
    (SKILL, lambda _: {"StartingPosition": "POINT_IN_TIME"},
     "PointInTimeConfiguration is required when StartingPosition is POINT_IN_TIME"),
    (SKILL, lambda _: {"PointInTimeConfiguration": {"PointType": "HORIZON"}},
     "PointInTimeConfiguration must not be provided when StartingPosition is LATEST"),
    (SKILL, lambda _: start(),
     "PointInTimeConfiguration.StartingPoint is required and must be > 0 when PointType is TIMESTAMP"),
    (SKILL, lambda _: start(StartingPoint=0),
     "PointInTimeConfiguration.StartingPoint is required and must be > 0 when PointType is TIMESTAMP"),
    (SKILL, lambda _: start(StartingPoint=NOW - timedelta(days=2)), "falls outside the bus's retention window"),
    (SKILL, lambda _: start(StartingPoint=NOW + timedelta(days=1)), "must not be in the future"),
    (CHOICE, lambda _: start("HORIZON", StartingPoint=NOW), "StartingPoint must not be provided"),
    (CHOICE, lambda _: start("HORIZON", EndPoint=NOW - timedelta(days=9)), "EndPoint must be after"),
    (GUIDE, lambda _: {"Tags": {"AWS:x": "y"}}, "cannot begin with aws:"),
]  # fmt: skip


@container
def test_a_subscriber_with_a_wrong_member_is_refused(events: Events) -> None:
    bus = events.bus()
    for source, change, text in REFUSED:
        refusal = events.refusal("create_subscriber", **{**events.given(bus), **change(bus)})
        assert (refusal.code, refusal.status) == INVALID, (source, text, refusal)
        assert text in refusal.message
    assert events.client.list_subscribers()["Subscribers"] == []


@container
def test_a_subscriber_with_an_unusual_member_is_accepted(events: Events) -> None:
    """The target does not have to exist, and FIFO subscribers can have targets that are not FIFO."""
    bus, other = events.bus(StorageConfiguration={"RetentionPeriodInDays": 3}), events.bus()
    events.advance(bus, days=2)
    for change in (
        target(TOPIC, SnsParameters={"Subject": "{% $events.Data.x %}"}),
        {
            **target(DESTINATION, HttpParameters={"HeaderParameters": {"a": "b c", "{% 'd' %}": "{% 'e' %}"}}),
            "BatchConfiguration": {"MaxBatchSize": 500},
        },
        target(other.replace(ACCOUNT, OTHER), EventBusV2Parameters={"Metadata": {"a": "b"}}),
        {"Type": "FIFO"},
        start(StartingPoint=NOW - timedelta(days=1), EndPoint=NOW + timedelta(days=1)),
        start("HORIZON"),
        {"RetryPolicy": {"MaxRetryAttempts": 0}},
        {"Transformer": {"Type": "WITH_METADATA"}, "LogConfiguration": {"Level": "ERROR"}},
        call({"MessageBody": "m", "QueueUrl": "q"}, InvocationTimeoutSeconds="30"),
        call("{% {'Message': $string($events), 'TopicArn': 't'} %}", "sns:publish"),
    ):
        arn = events.subscriber(bus, **change)
        found = events.shown(arn)
        for name, value in change.items():
            shown = found[name]
            assert shown == value or (isinstance(value, dict) and value.items() <= shown.items())


@container
def test_the_name_and_the_token_of_a_subscriber(events: Events) -> None:
    bus, other = events.bus(), events.bus()
    given = events.given(bus, Name="s", ClientToken="t")
    first = events.client.create_subscriber(**given)["SubscriberArn"]
    assert events.client.create_subscriber(**given)["SubscriberArn"] == first
    mismatch = ("IdempotentParameterMismatchException", 409)
    assert events.refused("create_subscriber", **{**given, "Type": "FIFO"}) == mismatch
    assert events.refused("create_subscriber", **events.given(bus, Name="s")) == ("ResourceAlreadyExistsException", 409)
    assert events.subscriber(other, Name="s") != first
    events.advance(bus, hours=8, seconds=1)
    assert events.refused("create_subscriber", **given) == ("ResourceAlreadyExistsException", 409)
    events.client.delete_subscriber(SubscriberArn=first)
    assert events.refused("delete_subscriber", SubscriberArn=first) == MISSING
    assert events.client.create_subscriber(**given)["SubscriberArn"] != first
    missing = bus[: -len(ID)] + ID
    assert events.refused("create_subscriber", **events.given(missing)) == MISSING


@container
def test_an_update_of_a_subscriber(events: Events) -> None:
    """Configurations are replaced as a whole. Empty configurations remove filters, dead letters and logs."""
    filters = {"Filters": [{"Scope": "DATA", "Pattern": '{"a":[1]}'}]}
    arn = events.subscriber(
        events.bus(), Description="d", FilterConfiguration=filters, OnFailureConfiguration={"Arn": QUEUE},
        RetryPolicy={"MaxRetryAttempts": 9, "MaxEventAgeInSeconds": 900}, LogConfiguration={"Level": "INFO"},
    )  # fmt: skip
    events.client.update_subscriber(SubscriberArn=arn, RetryPolicy={"MaxRetryAttempts": 8})
    found = events.shown(arn)
    assert found["RetryPolicy"] == {"MaxRetryAttempts": 8, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}
    assert found["Description"] == "d"
    assert found["FilterConfiguration"]["Filters"] == filters["Filters"]
    events.client.update_subscriber(
        SubscriberArn=arn, Description="", FilterConfiguration={}, OnFailureConfiguration={}, LogConfiguration={},
        InvokeConfiguration={"RoleArn": build_role(), "SqsParameters": {"MessageGroupId": "g"}},
    )  # fmt: skip
    found = events.shown(arn)
    assert not found.keys() & {"Description", "FilterConfiguration", "OnFailureConfiguration"}
    assert found["LogConfiguration"] == {"Level": "OFF", "IncludePayload": "ON_ERROR_ONLY"}
    assert found["InvokeConfiguration"]["TargetArn"] == QUEUE
    assert found["InvokeConfiguration"]["SqsParameters"] == {"MessageGroupId": "g"}
    sns = {"RoleArn": build_role(), "SnsParameters": {"Subject": "s"}}
    assert events.refused("update_subscriber", SubscriberArn=arn, InvokeConfiguration=sns) == INVALID


@container
def test_a_pause_and_the_position_of_its_end(events: Events) -> None:
    """ResumePosition is "honored only on an UpdateSubscriber call that transitions State from STOPPED to RUNNING", and
    "ignored on any other call" (ResumePosition, botocore's model of eventbridgev2)."""
    arn = events.subscriber(events.bus())

    def update(**members: str) -> str:
        state: str = events.client.update_subscriber(SubscriberArn=arn, ResumePosition="LATEST", **members)["State"]
        return state

    assert (update(), update(State="RUNNING")) == ("RUNNING", "RUNNING")
    assert (update(State="STOPPED"), update(), update(State="STOPPED")) == ("STOPPED", "STOPPED", "STOPPED")
    assert update(State="RUNNING") == "RUNNING"


@container
def test_a_revoked_subscriber(events: Events) -> None:
    """Changes fail with InvalidStateException. Reading and deleting work. A second revocation changes nothing."""
    arn = events.subscriber(events.bus())
    assert "Revoked" not in events.shown(arn)
    for _ in range(2):
        assert events.client.revoke_resource(Arn=arn)["Arn"] == arn
    invalid = ("InvalidStateException", 409)
    assert events.refused("update_subscriber", SubscriberArn=arn, State="STOPPED") == invalid
    assert events.refused("tag_resource", ResourceArn=arn, Tags={"a": "b"}) == invalid
    assert events.refused("untag_resource", ResourceArn=arn, TagKeys=["a"]) == invalid
    assert events.client.list_subscribers()["Subscribers"][0]["Revoked"] is True
    events.client.delete_subscriber(SubscriberArn=arn)
    # A missing resource is answered as one of another account's bus (AWS's skill).
    assert events.refused("revoke_resource", Arn=arn) == ("AccessDeniedException", 403)


@container
def test_only_the_owner_of_the_bus_revokes_and_sees_all_subscribers(events: Events) -> None:
    bus = events.bus()
    other = events.of(events.sqs.caller(account=OTHER))
    own, foreign = events.subscriber(bus, Name="s"), other.subscriber(bus, Name="s")
    assert foreign.split(":")[4] == OTHER

    def listed(client: Events, **members: str) -> set[str]:
        return {each["SubscriberArn"] for each in client.client.list_subscribers(**members)["Subscribers"]}

    assert listed(events, EventBusArn=bus) == {own, foreign}
    assert listed(other, EventBusArn=bus) == {foreign}
    assert listed(events) == {own}
    assert listed(other) == {foreign}
    assert other.refused("revoke_resource", Arn=foreign) == ("AccessDeniedException", 403)
    events.client.revoke_resource(Arn=foreign)
    assert other.shown(foreign)["Revoked"] is True
