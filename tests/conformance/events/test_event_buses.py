"""Tests event buses: their states, names, retention, deletion and lists.

Sources: "Custom event bus", "Subscribers", "Event sources", "Resource policies" and "Quotas" (Amazon EventBridge User
Guide, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html); AWS's skill
`amazon-eventbridge-event-bus`, which quotes texts of errors; botocore's model `eventbridgev2`. The page
docs/reference/event_bus_differences.md lists the choices that no source decides.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.conformance.events import Events
from tests.support.conformance.sdk_clients import ACCOUNT

INVALID = ("InvalidInputException", 400)
MISSING = ("ResourceNotFoundException", 404)
OTHER = "111122223333"


container = pytest.mark.parametrize("events", ["container"], indirect=True)


# --- buses -----------------------------------------------------------------------------------------------------------
def describe(events: Events, arn: str) -> dict[str, Any]:
    return dict(events.client.describe_event_bus(EventBusArn=arn))


def test_a_bus_is_creating_and_then_active(events: Events) -> None:
    """The default of RetentionPeriodInDays is 1, and the window begins with the bus."""
    made = events.client.create_event_bus(Name="orders")
    assert made["State"] == "CREATING"
    assert made["StorageConfiguration"]["RetentionPeriodInDays"] == 1
    assert "Tags" not in made
    *_, kind, name, resource_id = made["EventBusArn"].replace(":", "/").split("/")
    assert (kind, name, len(resource_id)) == ("event-busv2", "orders", 25)
    found = describe(events, made["EventBusArn"])
    assert found["State"] == "ACTIVE"
    assert found["StorageConfiguration"]["RetentionWindowStartTime"] == found["CreationTime"]
    assert found["LastModifiedTime"] == found["CreationTime"]


@container
def test_a_name_is_unique_and_an_id_is_never_used_again(events: Events) -> None:
    first = events.bus(Name="orders")
    assert events.refused("create_event_bus", Name="orders") == ("ResourceAlreadyExistsException", 409)
    events.client.delete_event_bus(EventBusArn=first)
    assert events.bus(Name="orders") != first
    for action in ("describe_event_bus", "delete_event_bus", "update_event_bus"):
        assert events.refused(action, EventBusArn=first) == MISSING


@container
def test_a_client_token_returns_the_same_bus_for_eight_hours(events: Events) -> None:
    given = {"Name": "orders", "Tags": {"a": "b", "c": "d"}, "ClientToken": "t"}
    first = events.client.create_event_bus(**given)
    again = events.client.create_event_bus(**{**given, "Tags": {"c": "d", "a": "b"}})
    assert (again["EventBusArn"], again["State"]) == (first["EventBusArn"], "ACTIVE")
    mismatch = ("IdempotentParameterMismatchException", 409)
    assert events.refused("create_event_bus", **{**given, "Description": "x"}) == mismatch
    assert events.refused("create_event_bus", **{**given, "Name": "others"}) == mismatch
    events.advance(first["EventBusArn"], hours=8, seconds=1)
    assert events.refused("create_event_bus", **given) == ("ResourceAlreadyExistsException", 409)
    events.client.delete_event_bus(EventBusArn=first["EventBusArn"])
    assert events.bus(**given) != first["EventBusArn"]


@container
def test_an_update_replaces_whole_configurations(events: Events) -> None:
    """A member that is left out does not change. A configuration's members that are left out get their defaults."""
    key = {"KmsKeyIdentifier": "alias/k"}
    arn = events.bus(Description="d", EncryptionConfiguration=key, StorageConfiguration={"RetentionPeriodInDays": 9})
    found = events.client.update_event_bus(EventBusArn=arn, Description="e")
    assert (found["Description"], found["EncryptionConfiguration"]) == ("e", key)
    assert found["StorageConfiguration"]["RetentionPeriodInDays"] == 9
    found = events.client.update_event_bus(
        EventBusArn=arn, Description="", EncryptionConfiguration={}, StorageConfiguration={}
    )
    assert not found.keys() & {"Description", "EncryptionConfiguration"}
    assert found["StorageConfiguration"]["RetentionPeriodInDays"] == 1
    assert found["State"] == "ACTIVE"


@container
def test_the_window_begins_when_the_oldest_retained_event_was_published(events: Events) -> None:
    """The window begins at the later of the creation and the retention period before now. A longer retention brings
    nothing back."""
    arn = events.bus(StorageConfiguration={"RetentionPeriodInDays": 2})
    events.advance(arn, days=10)

    def age() -> float:
        found = describe(events, arn)["StorageConfiguration"]["RetentionWindowStartTime"]
        return round(float((datetime.now(UTC) - found) / timedelta(days=1)), 2)

    assert age() == 2
    events.client.update_event_bus(EventBusArn=arn, StorageConfiguration={"RetentionPeriodInDays": 30})
    assert age() == 2
    events.client.update_event_bus(EventBusArn=arn, StorageConfiguration={"RetentionPeriodInDays": 1})
    assert age() == 1
    events.client.update_event_bus(EventBusArn=arn, StorageConfiguration={"RetentionPeriodInDays": 365})
    assert age() == 1


@container
def test_a_bus_with_subscribers_or_sources_is_in_use(events: Events) -> None:
    """Revoked subscribers and sources do not count."""
    arn = events.bus()
    subscriber, source = events.subscriber(arn), events.source(arn)
    refusal = events.refusal("delete_event_bus", EventBusArn=arn)
    assert (refusal.code, refusal.status) == ("ResourceInUseException", 409)
    assert "has subscribers and event sources" in refusal.message
    events.client.revoke_resource(Arn=subscriber)
    assert "has event sources" in events.refusal("delete_event_bus", EventBusArn=arn).message
    events.client.revoke_resource(Arn=source)
    events.client.delete_event_bus(EventBusArn=arn)
    assert events.shown(subscriber)["Revoked"] is True
    events.client.delete_subscriber(SubscriberArn=subscriber)


@container
def test_the_quota_of_buses(events: Events) -> None:
    """Quotas: 5 buses an account. A bus that exists does not count."""
    for number in range(5):
        events.bus(Name=f"q{number}")
    assert events.refused("create_event_bus", Name="more") == ("LimitExceededException", 400)
    assert events.refused("create_event_bus", Name="q0") == ("ResourceAlreadyExistsException", 409)
    other = events.of(events.sqs.caller(account=OTHER))
    assert other.bus(Name="q0").split(":")[4] == OTHER
    assert [bus["Name"] for bus in other.client.list_event_buses()["EventBuses"]] == ["q0"]
    assert other.client.list_event_buses(EventBusAccountId=ACCOUNT)["EventBuses"] == []


@container
def test_an_endpoint_has_the_resources_of_its_region(events: Events) -> None:
    arn = events.bus()
    other = events.of(events.sqs.caller(region="eu-west-1"))
    assert other.refused("describe_event_bus", EventBusArn=arn) == MISSING
    assert other.client.list_event_buses()["EventBuses"] == []
    assert other.refused("list_subscribers", EventBusArn=arn) == MISSING


@container
@pytest.mark.parametrize("token", ["x", "AAAA", "é", "a" * 4_096])
def test_a_page_token_that_the_list_did_not_return(events: Events, token: str) -> None:
    assert events.refused("list_event_buses", NextToken=token) == INVALID


@container
def test_a_page_token_of_another_request(events: Events) -> None:
    for name in "ab":
        events.bus(Name=name)
    token = events.client.list_event_buses(MaxResults=1)["NextToken"]
    assert events.client.list_event_buses(MaxResults=50, NextToken=token)["EventBuses"][0]["Name"] == "b"
    assert events.refused("list_event_buses", NamePrefix="a", NextToken=token) == INVALID
    assert events.refused("list_subscribers", NextToken=token) == INVALID


# --- requests at the same time ---------------------------------------------------------------------------------------
@container
def test_requests_at_the_same_time_create_one_resource(events: Events) -> None:
    """A client can repeat a request before it has the answer. A bus is not deleted while it gets a subscriber."""
    bus = {"Name": "once", "ClientToken": "t"}
    client = events.client
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: client.create_event_bus(**bus)["EventBusArn"], range(4)))
        assert len(set(made)) == 1
        given = events.given(made[0], Name="s", ClientToken="t")
        arns = list(pool.map(lambda _: client.create_subscriber(**given)["SubscriberArn"], range(4)))
        assert len(set(arns)) == 1
        client.delete_subscriber(SubscriberArn=arns[0])
        deleting = pool.submit(events.code, "delete_event_bus", EventBusArn=made[0])
        creating = pool.submit(events.code, "create_subscriber", **given)
        outcome = {deleting.result(), creating.result()}
    assert outcome in ({"", "ResourceInUseException"}, {"", "ResourceNotFoundException"})
