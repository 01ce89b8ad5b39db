"""Tests mobile push and text messages."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any

import pytest

from tests.support.conformance.sns import Sns, opt_out, outbox

# --- mobile push -----------------------------------------------------------------------------------------------------
# Tests of platform applications, their endpoints, and Publish to an endpoint.
#
# The sources are the actions' pages of the SNS API reference, and the sample code of the SNS Developer Guide for
# registering tokens. The sample reads the ARN from the error for a token with other attributes, and reports of users
# contain the text of that error (github.com/Sage-Bionetworks/BridgePF, pull request 1640).

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
    sns.publish(topic, "to no device")
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


# --- text messages ---------------------------------------------------------------------------------------------------
# Tests text messages: Tests Publish to a phone number, settings, opted-out numbers, and the SMS sandbox.
#
# The sources are the actions' pages of the SNS API reference, and reports of users for the text of the error about a
# phone number (github.com/boto/boto3, issue 2195). Penstock puts no account in the sandbox (Penstock's choice), and
# `/v1/outbox` exists only in Penstock.

_numbers = count(15_550_900_000)


def number() -> str:
    """Returns a phone number that no other test uses."""
    return f"+{next(_numbers)}"


@pytest.fixture
def mine(sns: Sns) -> Sns:
    """Returns SNS for an account that no other test uses."""
    return sns.of_a_new_account()


# --- Publish ---------------------------------------------------------------------------------------------------------
def test_publish_to_a_phone(sns: Sns) -> None:
    to = number()
    kind = {"AWS.SNS.SMS.SMSType": {"DataType": "String", "StringValue": "Transactional"}}
    response = sns.client.publish(PhoneNumber=to, Message="hello", MessageAttributes=kind)
    (sent,) = outbox(sns, destination=to)
    assert sent["created_at"]
    assert {name: sent[name] for name in sent if name not in ("id", "created_at")} == {
        "state": "kept", "region": "us-east-1", "protocol": "sms", "kind": "Notification", "destination": to,
        "message_id": response["MessageId"], "text": "hello", "attributes": kind,
    }  # fmt: skip


@pytest.mark.parametrize("to", ["", "555-0100", "15550100", "+1", "+" + "1" * 16, "+1555010a"])
def test_numbers_that_cannot_be(sns: Sns, to: str) -> None:
    refused = sns.refusal("publish", PhoneNumber=to, Message="m")
    text = f"Invalid parameter: PhoneNumber Reason: {to} is not valid to publish to"
    assert refused == ("InvalidParameter", 400, text)


def test_an_invalid_text_message_is_refused(sns: Sns) -> None:
    """A text message has at most 1,600 characters and one target (Publish, API reference)."""
    to = number()
    sns.client.publish(PhoneNumber=to, Message="m" * 1_600)
    assert sns.refusal("publish", PhoneNumber=to, Message="m" * 1_601)[:2] == ("InvalidParameter", 400)
    assert sns.refusal("publish", PhoneNumber=to, Message="")[:2] == ("InvalidParameter", 400)
    both = sns.refusal("publish", PhoneNumber=to, TopicArn=sns.create(), Message="m")
    assert both[:2] == ("InvalidParameter", 400)
    assert len(outbox(sns, destination=to)) == 1


# --- settings --------------------------------------------------------------------------------------------------------
def test_an_account_keeps_its_settings_of_text_messages(mine: Sns) -> None:
    assert mine.client.get_sms_attributes()["attributes"] == {"MonthlySpendLimit": "1"}
    mine.client.set_sms_attributes(attributes={"DefaultSMSType": "Promotional", "DefaultSenderID": "Shop1"})
    mine.client.set_sms_attributes(attributes={"DefaultSMSType": "Transactional"})
    found = mine.client.get_sms_attributes()["attributes"]
    assert found == {"MonthlySpendLimit": "1", "DefaultSMSType": "Transactional", "DefaultSenderID": "Shop1"}
    found = mine.client.get_sms_attributes(attributes=["DefaultSenderID"])["attributes"]
    assert found == {"DefaultSenderID": "Shop1"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Colour", "blue"),
        ("DefaultSMSType", "transactional"),
        ("DefaultSenderID", "123"),
        ("DefaultSenderID", "TwelveLetter"),
        ("DeliveryStatusSuccessSamplingRate", "101"),
        ("MonthlySpendLimit", "-1"),
    ],
)
def test_settings_that_cannot_be(mine: Sns, name: str, value: str) -> None:
    assert mine.refusal("set_sms_attributes", attributes={name: value})[:2] == ("InvalidParameter", 400)
    assert mine.client.get_sms_attributes()["attributes"] == {"MonthlySpendLimit": "1"}


def test_no_numbers_to_send_from(sns: Sns) -> None:
    assert sns.client.list_origination_numbers(MaxResults=30)["PhoneNumbers"] == []


# --- opted out -------------------------------------------------------------------------------------------------------
def test_a_number_that_is_opted_out(sns: Sns) -> None:
    """Publish returns the same response as for any other number. OptInPhoneNumber: "only once every 30 days"."""
    to, topic = number(), sns.create()
    check = sns.client.check_if_phone_number_is_opted_out
    assert check(phoneNumber=to)["isOptedOut"] is False
    opt_out(sns, to)
    assert check(phoneNumber=to)["isOptedOut"] is True
    assert to in sns.client.list_phone_numbers_opted_out()["phoneNumbers"]
    assert sns.client.publish(PhoneNumber=to, Message="direct")["MessageId"]
    sns.subscribe(topic, to, "sms")
    sns.publish(topic, "by the topic")
    found = outbox(sns, destination=to)
    assert [(message["text"], message["state"], message["error"]) for message in found] == [
        ("direct", "failed", "OptedOut"), ("by the topic", "failed", "OptedOut"),
    ]  # fmt: skip
    sns.client.opt_in_phone_number(phoneNumber=to)
    assert check(phoneNumber=to)["isOptedOut"] is False
    sns.client.publish(PhoneNumber=to, Message="again")
    assert outbox(sns, destination=to)[-1]["state"] == "kept"
    opt_out(sns, to)
    assert sns.refusal("opt_in_phone_number", phoneNumber=to)[:2] == ("InvalidParameter", 400)
    sns.sqs.clock.connection.execute(
        "update queue.opted_out_number set opted_in_at = opted_in_at - interval '30 days' where phone_number = %s",
        (to,),
    )
    sns.client.opt_in_phone_number(phoneNumber=to)


def test_pages_of_opted_out_numbers(mine: Sns) -> None:
    numbers = [number() for _ in range(101)]
    mine.sqs.clock.connection.execute(
        "insert into queue.opted_out_number select %s, 'us-east-1', unnest(%s::text[]), true",
        (mine.sqs.account, numbers),
    )
    first = mine.client.list_phone_numbers_opted_out()
    assert first["phoneNumbers"] == numbers[:100]
    last = mine.client.list_phone_numbers_opted_out(nextToken=first["nextToken"])
    assert (last["phoneNumbers"], "nextToken" in last) == (numbers[100:], False)


# --- the sandbox -----------------------------------------------------------------------------------------------------
def test_the_sandbox(mine: Sns) -> None:
    to = number()
    assert mine.client.get_sms_sandbox_account_status()["IsInSandbox"] is False
    mine.client.create_sms_sandbox_phone_number(PhoneNumber=to, LanguageCode="en-GB")
    listed = mine.client.list_sms_sandbox_phone_numbers
    assert listed()["PhoneNumbers"] == [{"PhoneNumber": to, "Status": "Pending"}]
    password = password_of(mine, to)
    wrong = "00000" if password != "00000" else "00001"
    verify = {"PhoneNumber": to, "OneTimePassword": wrong}
    assert mine.refusal("verify_sms_sandbox_phone_number", **verify)[:2] == ("VerificationException", 400)
    assert b"Status" in mine.response.body  # botocore's model requires the member
    mine.client.verify_sms_sandbox_phone_number(PhoneNumber=to, OneTimePassword=password)
    assert listed()["PhoneNumbers"] == [{"PhoneNumber": to, "Status": "Verified"}]
    mine.client.delete_sms_sandbox_phone_number(PhoneNumber=to)
    assert listed()["PhoneNumbers"] == []
    for method in ("delete_sms_sandbox_phone_number", "verify_sms_sandbox_phone_number"):
        more = {"OneTimePassword": password} if "verify" in method else {}
        assert mine.refusal(method, PhoneNumber=to, **more)[:2] == ("ResourceNotFound", 404)


def password_of(sns: Sns, to: str) -> str:
    """Returns the last password from the database, because `/v1` in this test shows the outbox of another account."""
    row = sns.sqs.clock.connection.execute(
        "select body from queue.outgoing where destination = %s and kind = 'OneTimePassword'"
        " order by outgoing_id desc limit 1", (to,),
    ).fetchone()  # fmt: skip
    assert row is not None
    (found,) = re.findall(r"[0-9]{6}", row[0])
    return str(found)


def test_five_wrong_passwords_end_it(mine: Sns) -> None:
    """Penstock chose this limit, because a client could otherwise guess a six-digit password."""
    to = number()
    mine.client.create_sms_sandbox_phone_number(PhoneNumber=to)
    password = password_of(mine, to)
    for _ in range(5):
        mine.refusal("verify_sms_sandbox_phone_number", PhoneNumber=to, OneTimePassword="99999")
    refused = mine.refusal("verify_sms_sandbox_phone_number", PhoneNumber=to, OneTimePassword=password)
    assert refused[0] == "VerificationException"
    mine.client.create_sms_sandbox_phone_number(PhoneNumber=to)
    mine.client.verify_sms_sandbox_phone_number(PhoneNumber=to, OneTimePassword=password_of(mine, to))


def test_ten_numbers_are_the_most(mine: Sns) -> None:
    for _ in range(10):
        mine.client.create_sms_sandbox_phone_number(PhoneNumber=number())
    refused = mine.refusal("create_sms_sandbox_phone_number", PhoneNumber=number())
    assert refused[:2] == ("UserError", 400)
    first = mine.client.list_sms_sandbox_phone_numbers(MaxResults=7)
    last = mine.client.list_sms_sandbox_phone_numbers(MaxResults=7, NextToken=first["NextToken"])
    assert (len(first["PhoneNumbers"]), len(last["PhoneNumbers"])) == (7, 3)


def test_an_opted_out_number_gets_no_password(sns: Sns) -> None:
    to = number()
    opt_out(sns, to)
    assert sns.refusal("create_sms_sandbox_phone_number", PhoneNumber=to)[:2] == ("OptedOut", 400)
