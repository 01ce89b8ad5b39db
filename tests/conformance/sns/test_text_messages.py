"""Tests text messages: Publish to a phone number, settings, numbers that are opted out, the SMS sandbox.

Sources: the actions' pages of the SNS API reference; reports of users for the text of the error about a phone number
(github.com/boto/boto3, issue 2195). It is Penstock's choice that no account is in the sandbox, and `/v1/outbox`
exists only in Penstock.
"""

from __future__ import annotations

import re
from itertools import count

import pytest

from tests.support.conformance.sns import Sns, opt_out, outbox

_numbers = count(15_550_900_000)


def number() -> str:
    """Returns a phone number that no other test uses."""
    return f"+{next(_numbers)}"


@pytest.fixture
def mine(sns: Sns) -> Sns:
    """Returns SNS for an account that only this test uses."""
    return sns.of_a_new_account()


# --- Publish ---------------------------------------------------------------------------------------------------------
def test_publish_to_a_phone(sns: Sns) -> None:
    to = number()
    kind = {"AWS.SNS.SMS.SMSType": {"DataType": "String", "StringValue": "Transactional"}}
    answer = sns.client.publish(PhoneNumber=to, Message="hello", MessageAttributes=kind)
    (sent,) = outbox(sns, destination=to)
    assert sent["created_at"]
    assert {name: sent[name] for name in sent if name not in ("id", "created_at")} == {
        "state": "kept", "region": "us-east-1", "protocol": "sms", "kind": "Notification", "destination": to,
        "message_id": answer["MessageId"], "text": "hello", "attributes": kind,
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
def test_settings(mine: Sns) -> None:
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
    """Publish answers as for any other number. OptInPhoneNumber: "only once every 30 days"."""
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
    assert b"Status" in mine.answer.body  # botocore's model requires the member
    mine.client.verify_sms_sandbox_phone_number(PhoneNumber=to, OneTimePassword=password)
    assert listed()["PhoneNumbers"] == [{"PhoneNumber": to, "Status": "Verified"}]
    mine.client.delete_sms_sandbox_phone_number(PhoneNumber=to)
    assert listed()["PhoneNumbers"] == []
    for method in ("delete_sms_sandbox_phone_number", "verify_sms_sandbox_phone_number"):
        more = {"OneTimePassword": password} if "verify" in method else {}
        assert mine.refusal(method, PhoneNumber=to, **more)[:2] == ("ResourceNotFound", 404)


def password_of(sns: Sns, to: str) -> str:
    """Returns the last password from the database, because `/v1` shows another account's outbox here."""
    row = sns.sqs.clock.connection.execute(
        "select body from queue.outgoing where destination = %s and kind = 'OneTimePassword'"
        " order by outgoing_id desc limit 1", (to,),
    ).fetchone()  # fmt: skip
    assert row is not None
    (found,) = re.findall(r"[0-9]{6}", row[0])
    return str(found)


def test_five_wrong_passwords_end_it(mine: Sns) -> None:
    """This limit is Penstock's choice, because a client could guess a password of six digits."""
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
