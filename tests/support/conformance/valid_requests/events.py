"""Defines a valid request for each action of the event bus, and the members of its response."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.conformance.events import Events, build_role
from tests.support.conformance.sdk_clients import ACCOUNT, REGION
from tests.support.conformance.webhooks import STANDARD

Members = dict[str, Any]
POLICY = json.dumps({
    "Version": "2012-10-17",
    "Statement": [{
        "Effect": "Allow", "Principal": {"AWS": "111122223333"}, "Action": "events:CreateSubscriber", "Resource": "*",
    }],
})  # fmt: skip
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/k"
HMAC, SECRET = {**STANDARD, "TimestampToleranceInSeconds": 60}, b64encode(bytes(32)).decode()
EVERYTHING: Members = {
    "Description": "d", "Type": "FIFO", "StartingPosition": "POINT_IN_TIME",
    "PointInTimeConfiguration": {"PointType": "HORIZON", "EndPoint": 2_082_758_400.5},
    "FilterConfiguration": {
        "Language": "EVENT_BRIDGE_PATTERN", "Filters": [{"Scope": "DATA", "Pattern": '{"a":[1]}'}],
    },
    "BatchConfiguration": {"MaxBatchSize": 3, "MaxBatchWindowInSeconds": 7},
    "Transformer": {"Type": "JSONATA", "JsonataConfiguration": {"Expression": "{% $events.Data.x %}"}},
    "RetryPolicy": {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 60, "RetryStrategy": "ALL"},
    "OnFailureConfiguration": {"Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:dead.fifo"},
    "LogConfiguration": {"Level": "INFO", "IncludePayload": "FULL"},
    "InvokeConfiguration": {
        "RoleArn": build_role(), "TargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:orders.fifo",
        "SqsParameters": {
            "MessageGroupId": "{% $events.Data.group %}", "DelaySeconds": "5",
            "MessageAttributes": {"a": {"DataType": "String", "StringValue": "b"}},
        },
    },
    "State": "STOPPED",
}  # fmt: skip


class Good(NamedTuple):
    """`needs` creates the required resources and returns the request. `answered` lists the response's members."""

    needs: Callable[[Events], Members]
    answered: frozenset[str] = frozenset()


def new_bus(events: Events) -> Members:
    return {
        "Name": events.name(), "Description": "d", "EncryptionConfiguration": {"KmsKeyIdentifier": KEY},
        "StorageConfiguration": {"RetentionPeriodInDays": 7}, "Tags": {"a": ""}, "ClientToken": events.name(),
    }  # fmt: skip


def bus(events: Events) -> Members:
    return {"EventBusArn": events.bus(**new_bus(events))}


def two_buses(events: Events) -> Members:
    prefix = events.name()
    for letter in "ab":
        events.bus(Name=prefix + letter, Description="d")
    return {"NamePrefix": prefix, "MaxResults": 1}


def new_subscriber(events: Events) -> Members:
    return events.given(events.bus(), **EVERYTHING, Tags={"a": "b"}, ClientToken=events.name())


def subscriber(events: Events) -> Members:
    return {"SubscriberArn": events.subscriber(events.bus(), **EVERYTHING)}


def changed_subscriber(events: Events) -> Members:
    kept = {"Type", "StartingPosition", "PointInTimeConfiguration", "InvokeConfiguration", "State"}
    invoke = {name: value for name, value in EVERYTHING["InvokeConfiguration"].items() if name != "TargetArn"}
    changes = {name: value for name, value in EVERYTHING.items() if name not in kept}
    return {
        **subscriber(events), **changes, "InvokeConfiguration": invoke, "State": "RUNNING", "ResumePosition": "LATEST",
    }  # fmt: skip


def two_subscribers(events: Events) -> Members:
    arn = events.bus()
    for _ in range(2):
        revoked = events.subscriber(arn)
        events.client.revoke_resource(Arn=revoked)
    return {"EventBusArn": arn, "MaxResults": 1}


def published(events: Events) -> Members:
    """Returns a request whose second entry is invalid."""
    entry = {
        "Source": "shop", "DetailType": "order", "Detail": '{"a":1}', "Resources": ["r"], "Time": 1_785_546_061.5,
        "SystemMetadata": {"EventGroupId": "g", "DeduplicationId": events.name()},
    }  # fmt: skip
    return {"EventBusArn": events.bus(), "Entries": [entry, {**entry, "Detail": "[]"}]}


def published_raw(events: Events) -> Members:
    """Returns a request whose second entry is invalid."""
    system = {"ContentType": "application/json", "EventGroupId": "g", "DeduplicationId": events.name()}
    entry = {"Data": "{}", "Metadata": {"a": "b"}, "SystemMetadata": system}
    registry = {"RegistryUri": "https://registry.example.com"}
    return {
        "EventBusArn": events.bus(), "Entries": [entry, {**entry, "Data": "{"}],
        "SchemaRegistryConfiguration": registry, "DeduplicationConfiguration": {"DeduplicationType": "CONTENT_BASED"},
    }  # fmt: skip


def new_webhook(events: Events) -> Members:
    configuration = {
        "AuthConfiguration": {"HmacAuthConfiguration": {**HMAC, "SecretValue": SECRET}},
        "KmsKeyIdentifier": KEY, "RoleArn": build_role(events.account), "MetadataHttpHeaders": ["x-note"],
        "DeduplicationConfiguration": {"DeduplicationType": "CONTENT_BASED"},
        "LogConfiguration": {"Level": "INFO", "IncludePayload": "FULL"},
    }  # fmt: skip
    return {
        "Name": events.name(), "EventBusArn": events.bus(), "Description": "d", "Tags": {"a": "b"},
        "Configuration": {"WebhookEventsConfiguration": configuration}, "ClientToken": events.name(),
    }  # fmt: skip


def webhook(events: Events) -> Members:
    return {"EventSourceArn": events.client.create_event_source(**new_webhook(events))["EventSourceArn"]}


def two_sources(events: Events) -> Members:
    arn = events.bus()
    for _ in range(2):
        events.source(arn)
    return {"EventBusArn": arn, "MaxResults": 1}


def policy(events: Events) -> Members:
    arn = events.bus()
    events.client.put_resource_policy(ResourceArn=arn, PolicyDocument=POLICY)
    return {"ResourceArn": arn, "PolicyName": "default"}


def tagged(events: Events) -> Members:
    return {"ResourceArn": events.bus(Tags={"a": "b"})}


BUS = frozenset((
    "EventBusArn", "Name", "Description", "EncryptionConfiguration", "EncryptionConfiguration.KmsKeyIdentifier",
    "StorageConfiguration", "StorageConfiguration.RetentionPeriodInDays",
    "StorageConfiguration.RetentionWindowStartTime", "State",
))  # fmt: skip
SUBSCRIBER = frozenset((
    "SubscriberArn", "Name", "EventBusArn", "Type", "StartingPosition", "State", "PointInTimeConfiguration",
    "PointInTimeConfiguration.PointType", "PointInTimeConfiguration.EndPoint",
))  # fmt: skip
CONFIGURATION = frozenset((
    "Description", "FilterConfiguration", "FilterConfiguration.Language", "FilterConfiguration.Filters",
    "FilterConfiguration.Filters[].Pattern", "FilterConfiguration.Filters[].Scope", "BatchConfiguration",
    "BatchConfiguration.MaxBatchSize", "BatchConfiguration.MaxBatchWindowInSeconds", "Transformer", "Transformer.Type",
    "Transformer.JsonataConfiguration", "Transformer.JsonataConfiguration.Expression", "RetryPolicy",
    "RetryPolicy.MaxRetryAttempts", "RetryPolicy.MaxEventAgeInSeconds", "RetryPolicy.RetryStrategy",
    "OnFailureConfiguration", "OnFailureConfiguration.Arn", "LogConfiguration", "LogConfiguration.Level",
    "LogConfiguration.IncludePayload", "InvokeConfiguration", "InvokeConfiguration.RoleArn",
    "InvokeConfiguration.TargetArn", "InvokeConfiguration.SqsParameters",
    "InvokeConfiguration.SqsParameters.MessageGroupId", "InvokeConfiguration.SqsParameters.DelaySeconds",
    "InvokeConfiguration.SqsParameters.MessageAttributes",
    "InvokeConfiguration.SqsParameters.MessageAttributes{}.DataType",
    "InvokeConfiguration.SqsParameters.MessageAttributes{}.StringValue",
))  # fmt: skip
SOURCE = frozenset(("EventSourceArn", "Name", "EventBusArn", "State"))
DETAILS = frozenset((
    "CreationTime", "EventSourceDetails", "EventSourceDetails.WebhookDetails",
    "EventSourceDetails.WebhookDetails.SecretArn", "EventSourceDetails.WebhookDetails.WebhookUrl",
))  # fmt: skip
WEBHOOK = "Configuration.WebhookEventsConfiguration"
WEBHOOK_CONFIGURATION = frozenset((
    "Configuration", WEBHOOK, *(f"{WEBHOOK}.{member}" for member in (
        "AuthConfiguration", "AuthConfiguration.HmacAuthConfiguration", "KmsKeyIdentifier", "RoleArn",
        "MetadataHttpHeaders", "DeduplicationConfiguration", "DeduplicationConfiguration.DeduplicationType",
        "LogConfiguration", "LogConfiguration.Level", "LogConfiguration.IncludePayload",
        *(f"AuthConfiguration.HmacAuthConfiguration.{name}" for name in HMAC),
    )),
))  # fmt: skip

PUBLISHED = frozenset((
    "FailedEntryCount", "Entries", "Entries[].EventId", "Entries[].SequenceNumber", "Entries[].SuccessCode",
    "Entries[].ErrorCode", "Entries[].ErrorMessage",
))  # fmt: skip


def in_list(name: str, *members: str) -> frozenset[str]:
    return frozenset((name, "NextToken", *(f"{name}[].{member}" for member in members)))


GOOD = {
    "CreateEventBus": Good(new_bus, BUS | {"CreationTime"}),
    "DescribeEventBus": Good(bus, BUS | {"CreationTime", "LastModifiedTime"}),
    "UpdateEventBus": Good(lambda events: {**bus(events), "Description": "e"}, BUS | {"LastModifiedTime"}),
    "DeleteEventBus": Good(bus),
    "ListEventBuses": Good(two_buses, in_list(
        "EventBuses", "Name", "EventBusArn", "Description", "CreationTime", "LastModifiedTime", "State",
        "EventBusAccountId",
    )),
    "CreateSubscriber": Good(new_subscriber, SUBSCRIBER | {"CreationTime"}),
    "DescribeSubscriber": Good(subscriber, SUBSCRIBER | CONFIGURATION | {"CreationTime", "LastModifiedTime"}),
    "UpdateSubscriber": Good(changed_subscriber, SUBSCRIBER | {"LastModifiedTime"}),
    "DeleteSubscriber": Good(subscriber),
    "ListSubscribers": Good(two_subscribers, in_list(
        "Subscribers", "SubscriberArn", "Name", "EventBusArn", "TargetArn", "Type", "Revoked", "State", "CreationTime",
        "LastModifiedTime", "SubscriberAccountId",
    )),
    "CreateEventSource": Good(new_webhook, SOURCE | DETAILS),
    "DescribeEventSource": Good(
        webhook, SOURCE | DETAILS | WEBHOOK_CONFIGURATION | {"Description", "LastModifiedTime"}
    ),
    "UpdateEventSource": Good(lambda events: {**webhook(events), "Description": "e"}, SOURCE | {"LastModifiedTime"}),
    "RotateWebhookCredentials": Good(webhook, frozenset(("SecretArn",))),
    "DeleteEventSource": Good(webhook),
    "ListEventSources": Good(two_sources, in_list(
        "EventSources", *SOURCE, "CreationTime", "LastModifiedTime", "Type", "EventSourceAccountId",
    )),
    "PutEvents": Good(published, PUBLISHED),
    "PutRawEvents": Good(published_raw, PUBLISHED),
    "PutResourcePolicy": Good(
        lambda events: {**policy(events), "PolicyDocument": POLICY.replace("CreateSubscriber", "DescribeEventBus")},
        frozenset(("ResourceArn", "PolicyName", "RevisionId")),
    ),
    "GetResourcePolicy": Good(policy, frozenset(("ResourceArn", "PolicyName", "RevisionId", "PolicyDocument"))),
    "DeleteResourcePolicy": Good(policy, frozenset(("RevisionId",))),
    "ListResourcePolicies": Good(
        lambda events: {"ResourceArn": policy(events)["ResourceArn"]},
        frozenset(("PolicySummaries", "PolicySummaries[].PolicyName", "PolicySummaries[].RevisionId")),
    ),
    "RevokeResource": Good(lambda events: {"Arn": events.subscriber(events.bus())}, frozenset(("Arn",))),
    "TagResource": Good(lambda events: {**tagged(events), "Tags": {"c": "d"}}),
    "UntagResource": Good(lambda events: {**tagged(events), "TagKeys": ["a", "z"]}),
    "ListTagsForResource": Good(tagged, frozenset(("Tags",))),
}  # fmt: skip
"""Webhooks need QUEUE_ENCRYPTION_KEY."""
