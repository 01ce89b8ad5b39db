"""Tests of platform applications, their endpoints, and Publish to an endpoint.

Sources: the actions' pages of the SNS API reference; the sample code of the SNS Developer Guide for registering
tokens, which reads the ARN from the error for a token with other attributes; reports of users for the text of that
error (github.com/Sage-Bionetworks/BridgePF, pull request 1640).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.sns import Sns, outbox

SECRET = {"PlatformCredential": "secret", "PlatformPrincipal": "principal"}
TOKEN = "c0FFEE"


def application(sns: Sns, platform: str = "GCM", **attributes: str) -> str:
    made = sns.client.create_platform_application(
        Name=sns.sqs.name(), Platform=platform, Attributes=SECRET | attributes
    )
    return str(made["PlatformApplicationArn"])


def endpoint(sns: Sns, application_arn: str, token: str = TOKEN, **more: Any) -> str:
    made = sns.client.create_platform_endpoint(PlatformApplicationArn=application_arn, Token=token, **more)
    return str(made["EndpointArn"])


def endpoint_attributes(sns: Sns, arn: str) -> dict[str, str]:
    return dict(sns.client.get_endpoint_attributes(EndpointArn=arn)["Attributes"])


# --- applications ----------------------------------------------------------------------------------------------------
def test_an_application(sns: Sns) -> None:
    name = sns.sqs.name()
    given = {**SECRET, "SuccessFeedbackSampleRate": "10", "ApplePlatformTeamID": "T"}
    made = sns.client.create_platform_application(Name=name, Platform="APNS", Attributes=given)
    arn = made["PlatformApplicationArn"]
    assert arn == f"arn:aws:sns:us-east-1:000000000000:app/APNS/{name}"
    again = sns.client.create_platform_application(Name=name, Platform="APNS", Attributes=given)
    assert again["PlatformApplicationArn"] == arn
    other = sns.refusal(
        "create_platform_application", Name=name, Platform="APNS", Attributes={**given, "PlatformCredential": "x"}
    )
    assert other[:2] == ("InvalidParameter", 400)
    found = sns.client.get_platform_application_attributes(PlatformApplicationArn=arn)["Attributes"]
    assert found == {"Enabled": "true", "SuccessFeedbackSampleRate": "10", "ApplePlatformTeamID": "T"}
    sns.client.set_platform_application_attributes(
        PlatformApplicationArn=arn, Attributes={"Enabled": "False", "ApplePlatformTeamID": ""}
    )
    found = sns.client.get_platform_application_attributes(PlatformApplicationArn=arn)["Attributes"]
    assert found == {"Enabled": "false", "SuccessFeedbackSampleRate": "10"}


@pytest.mark.parametrize(
    ("name", "platform", "attributes"),
    [
        ("", "GCM", SECRET),
        ("a b", "GCM", SECRET),
        ("x" * 257, "GCM", SECRET),
        ("a", "PIGEON", SECRET),
        ("a", "GCM", {"PlatformPrincipal": "p"}),
        ("a", "APNS", {"PlatformCredential": "secret"}),
        ("a", "GCM", {**SECRET, "Colour": "blue"}),
        ("a", "GCM", {**SECRET, "SuccessFeedbackSampleRate": "101"}),
    ],
)
def test_applications_that_cannot_be(sns: Sns, name: str, platform: str, attributes: dict[str, str]) -> None:
    refused = sns.refusal("create_platform_application", Name=name, Platform=platform, Attributes=attributes)
    assert refused[:2] == ("InvalidParameter", 400)


def test_lists_of_applications(sns: Sns) -> None:
    mine = sns.of_a_new_account()
    arns = sorted(application(mine) for _ in range(101))
    pages = list(mine.client.get_paginator("list_platform_applications").paginate())
    assert [len(page["PlatformApplications"]) for page in pages] == [100, 1]
    listed = [application for page in pages for application in page["PlatformApplications"]]
    assert [application["PlatformApplicationArn"] for application in listed] == arns
    assert all("PlatformCredential" not in application["Attributes"] for application in listed)


def test_an_application_that_is_missing(sns: Sns) -> None:
    arn = application(sns)
    for _ in range(2):
        sns.client.delete_platform_application(PlatformApplicationArn=arn)
    for method, more in (
        ("get_platform_application_attributes", {}),
        ("set_platform_application_attributes", {"Attributes": {"Enabled": "true"}}),
        ("create_platform_endpoint", {"Token": TOKEN}),
        ("list_endpoints_by_platform_application", {}),
    ):
        refused = sns.refusal(method, PlatformApplicationArn=arn, **more)
        assert refused == ("NotFound", 404, "PlatformApplication does not exist")
    refused = sns.refusal("get_platform_application_attributes", PlatformApplicationArn="arn")
    reason = "PlatformApplicationArn Reason: An ARN must have at least 6 elements, not 1"
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: {reason}")


# --- endpoints -------------------------------------------------------------------------------------------------------
def test_an_endpoint(sns: Sns) -> None:
    app = application(sns)
    arn = endpoint(sns, app, CustomUserData="u")
    assert arn.startswith(app.replace(":app/", ":endpoint/") + "/")
    assert endpoint_attributes(sns, arn) == {"Enabled": "true", "Token": TOKEN, "CustomUserData": "u"}
    sns.client.set_endpoint_attributes(EndpointArn=arn, Attributes={"Enabled": "FALSE", "Token": "new"})
    assert endpoint_attributes(sns, arn) == {"Enabled": "false", "Token": "new", "CustomUserData": "u"}
    assert endpoint(sns, app, "new", CustomUserData="u") == arn
    both = endpoint(sns, app, "both", CustomUserData="bar", Attributes={"CustomUserData": "foo"})
    assert endpoint_attributes(sns, both)["CustomUserData"] == "foo"  # as recorded at AWS
    refused = sns.refusal("create_platform_endpoint", PlatformApplicationArn=app, Token="new")
    reason = f"Endpoint {arn} already exists with the same Token, but different attributes."
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: Token Reason: {reason}")
    other = endpoint(sns, app)
    taken = sns.refusal("set_endpoint_attributes", EndpointArn=other, Attributes={"Token": "new"})
    assert taken[:2] == ("InvalidParameter", 400)


def test_tokens_of_apple_are_in_lower_case(sns: Sns) -> None:
    """GetEndpointAttributes: "The device token for the iOS platform is returned in lowercase"."""
    arn = endpoint(sns, application(sns, "APNS_SANDBOX"), "ABCDEF")
    assert endpoint_attributes(sns, arn)["Token"] == "abcdef"


@pytest.mark.parametrize(
    "attributes", [{"Colour": "blue"}, {"Enabled": "yes"}, {"CustomUserData": "x" * 2049}, {"Token": ""}]
)
def test_attributes_that_cannot_be(sns: Sns, attributes: dict[str, str]) -> None:
    arn = endpoint(sns, application(sns))
    refused = sns.refusal("set_endpoint_attributes", EndpointArn=arn, Attributes=attributes)
    assert refused[:2] == ("InvalidParameter", 400)
    assert endpoint_attributes(sns, arn) == {"Enabled": "true", "Token": TOKEN}


def test_lists_of_endpoints(sns: Sns) -> None:
    app = application(sns)
    made = sorted(endpoint(sns, app, f"t{number}") for number in range(101))
    pager = sns.client.get_paginator("list_endpoints_by_platform_application")
    pages = list(pager.paginate(PlatformApplicationArn=app))
    assert [len(page["Endpoints"]) for page in pages] == [100, 1]
    assert [endpoint["EndpointArn"] for page in pages for endpoint in page["Endpoints"]] == made
    assert pages[0]["Endpoints"][0]["Attributes"]["Enabled"] == "true"


def test_an_endpoint_that_is_missing(sns: Sns) -> None:
    topic, arn = sns.create(), endpoint(sns, application(sns))
    subscription = sns.subscribe(topic, arn, "application")
    for _ in range(2):
        sns.client.delete_endpoint(EndpointArn=arn)
    assert sns.subscription(subscription)["Endpoint"] == arn  # "you must also unsubscribe the endpoint"
    assert sns.refusal("get_endpoint_attributes", EndpointArn=arn)[:2] == ("NotFound", 404)
    refused = sns.refusal("set_endpoint_attributes", EndpointArn=arn, Attributes={"Enabled": "true"})
    assert refused[:2] == ("NotFound", 404)
    assert sns.refusal("publish", TargetArn=arn, Message="m") == (
        "InvalidParameter", 400, "Invalid parameter: TargetArn Reason: No endpoint found for the target arn specified",
    )  # fmt: skip
    refused = sns.refusal("subscribe", TopicArn=sns.create(), Protocol="application", Endpoint=arn)
    assert refused[:2] == ("InvalidParameter", 400)
    sns.publish(topic, "to nobody")
    (sent,) = outbox(sns, destination=arn)
    assert (sent["state"], sent["error"]) == ("failed", "EndpointNotFound")


# --- Publish ---------------------------------------------------------------------------------------------------------
def test_publish_to_an_endpoint(sns: Sns) -> None:
    arn = endpoint(sns, application(sns))
    plain = sns.client.publish(TargetArn=arn, Message="hello")
    texts = {"default": "d", "GCM": '{"data":{"a":1}}', "APNS": "not this"}
    chosen = sns.client.publish(TargetArn=arn, Message=json.dumps(texts), MessageStructure="json")
    found = [(message["message_id"], message["text"], message["protocol"]) for message in outbox(sns, destination=arn)]
    assert found == [
        (plain["MessageId"], "hello", "application"),
        (chosen["MessageId"], '{"data":{"a":1}}', "application"),
    ]


def test_dead_letters_of_endpoints_that_are_gone(sns: Sns) -> None:
    """ "Amazon SNS dead-letter queues": SNS does not retry a message "when an owner deletes the endpoint"."""
    topic, dead = sns.create(), sns.sqs.create()
    arn = endpoint(sns, application(sns))
    policy = json.dumps({"deadLetterTargetArn": sns.sqs.arn(dead)})
    subscription = sns.subscribe(topic, arn, "application", RedrivePolicy=policy)
    sns.client.delete_endpoint(EndpointArn=arn)
    published = sns.publish(topic, "for all", Subject="s")
    texts = json.dumps({"default": "for others", "GCM": "for phones"})
    colour = {"colour": {"DataType": "String", "StringValue": "blue"}}
    sns.publish(topic, texts, MessageStructure="json", MessageAttributes=colour)
    first, second = sorted(
        (json.loads(message["Body"]) for message in sns.sqs.receive(dead, 2)), key=lambda entry: str(entry["Message"])
    )
    assert (first["Message"], first["Subject"], first["MessageId"]) == ("for all", "s", published["MessageId"])
    assert subscription in first["UnsubscribeURL"]
    assert (second["Type"], second["Message"], second["TopicArn"]) == ("Notification", "for phones", topic)
    assert second["MessageAttributes"] == {"colour": {"Type": "String", "Value": "blue"}}


def test_a_disabled_endpoint(sns: Sns) -> None:
    app = application(sns)
    topic, arn = sns.create(), endpoint(sns, app)
    sns.subscribe(topic, arn, "application")
    sns.client.set_endpoint_attributes(EndpointArn=arn, Attributes={"Enabled": "false"})
    refused = sns.refusal("publish", TargetArn=arn, Message="m")
    assert refused == ("EndpointDisabled", 400, "Endpoint is disabled")
    sns.publish(topic, "by the topic")
    assert [(message["text"], message["error"]) for message in outbox(sns, destination=arn)] == [
        ("by the topic", "EndpointDisabled")
    ]
    sns.client.set_endpoint_attributes(EndpointArn=arn, Attributes={"Enabled": "true"})
    sns.client.set_platform_application_attributes(PlatformApplicationArn=app, Attributes={"Enabled": "false"})
    refused = sns.refusal("publish", TargetArn=arn, Message="m")
    assert refused[:2] == ("PlatformApplicationDisabled", 400)
