"""Tests SNS messages as text. A timestamp always has three decimals.

The sources are the SNS Developer Guide, "HTTP/HTTPS notification JSON format", "… subscription confirmation JSON
format", "… unsubscribe confirmation JSON format", and "Verifying the signatures of Amazon SNS messages".
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from hypothesis import given
from hypothesis import strategies as st

from penstock.sns import notification
from penstock.sns.notification import EnvelopeParts, SigningContext
from penstock.sns.signatures import NewSigningKey, Signer, build_certificate_path, build_key
from penstock.sqs.types import MessageAttributeValue
from tests.support.sns_signatures import SIGNED, flipped, public_key, verify, verify_bytes

TOPIC = "arn:aws:sns:us-west-2:123456789012:MyTopic"
SUBSCRIPTION = f"{TOPIC}:2bcfbf39-05c3-41de-beaa-fcfcc21c8f55"
MESSAGE_ID = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
AT = "2012-05-02T00:54:06.655Z"
BASE = "https://sns.us-west-2.amazonaws.com"
CERTIFICATE = f"{BASE}/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"


class Notary:
    """Records the texts that it signs."""

    def __init__(self) -> None:
        self.signed: list[tuple[str, str]] = []

    def sign(self, text: str, version: str) -> str:
        self.signed.append((text, version))
        return "EXAMPLE"


@pytest.fixture
def notary() -> Notary:
    return Notary()


def letterhead(notary: Notary, version: str = "1") -> SigningContext:
    return SigningContext(notary, version, BASE, CERTIFICATE)


def joined(parts: EnvelopeParts, number: str = "") -> Any:
    return json.loads(f"{parts.opening}{number}{parts.head}{SUBSCRIPTION}{parts.tail}")


# --- notifications ---------------------------------------------------------------------------------------------------
def test_a_notification_is_as_in_the_developer_guide(notary: Notary) -> None:
    parts = notification.build_notification(
        letterhead(notary), TOPIC, MESSAGE_ID, "Hello world!", "My First Message", AT, {}
    )
    expected = {
        "Type": "Notification",
        "MessageId": MESSAGE_ID,
        "TopicArn": TOPIC,
        "Subject": "My First Message",
        "Message": "Hello world!",
        "Timestamp": AT,
        "SignatureVersion": "1",
        "Signature": "EXAMPLE",
        "SigningCertURL": CERTIFICATE,
        "UnsubscribeURL": f"{BASE}/?Action=Unsubscribe&SubscriptionArn={SUBSCRIPTION}",
    }
    assert list(joined(parts).items()) == list(expected.items())
    text = (
        f"Message\nHello world!\nMessageId\n{MESSAGE_ID}\nSubject\nMy First Message\nTimestamp\n{AT}\n"
        f"TopicArn\n{TOPIC}\nType\nNotification\n"
    )
    assert notary.signed == [(text, "1")]


def test_without_a_subject_it_is_neither_there_nor_signed(notary: Notary) -> None:
    parts = notification.build_notification(letterhead(notary, "2"), TOPIC, MESSAGE_ID, "m", None, AT, {})
    assert "Subject" not in joined(parts)
    text = f"Message\nm\nMessageId\n{MESSAGE_ID}\nTimestamp\n{AT}\nTopicArn\n{TOPIC}\nType\nNotification\n"
    assert notary.signed == [(text, "2")]


def test_attributes_stand_last_and_are_not_signed(notary: Notary) -> None:
    attributes = {
        "text": MessageAttributeValue(data_type="String", string_value='ü"'),
        "number": MessageAttributeValue(data_type="Number.int", string_value="-1.50"),
        "list": MessageAttributeValue(data_type="String.Array", string_value='["a", 1]'),
        "bytes": MessageAttributeValue(data_type="Binary", binary_value="AAECgP8="),
    }
    plain = notification.build_notification(letterhead(notary), TOPIC, MESSAGE_ID, "m", None, AT, {})
    parts = notification.build_notification(letterhead(notary), TOPIC, MESSAGE_ID, "m", None, AT, attributes)
    message = joined(parts)
    assert list(message) == [*joined(plain), "MessageAttributes"]
    assert message["MessageAttributes"] == {
        "text": {"Type": "String", "Value": 'ü"'},
        "number": {"Type": "Number.int", "Value": "-1.50"},
        "list": {"Type": "String.Array", "Value": '["a", 1]'},
        "bytes": {"Type": "Binary", "Value": "AAECgP8="},
    }
    assert notary.signed[0] == notary.signed[1]


_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(message=_TEXT, subject=st.none() | _TEXT, name=_TEXT, value=_TEXT)
def test_head_arn_and_tail_make_json_of_any_text(message: str, subject: str | None, name: str, value: str) -> None:
    attributes = {name: MessageAttributeValue(data_type="String", string_value=value)}
    about = (TOPIC, MESSAGE_ID, message, subject, AT, attributes)
    signed = joined(notification.build_notification(letterhead(Notary()), *about))
    numbered = joined(notification.build_fifo_notification(BASE, *about), "00000000000000000001")
    for found in (signed, numbered):
        assert (found["Message"], found.get("Subject")) == (message, subject)
        assert found["MessageAttributes"] == {name: {"Type": "String", "Value": value}}
        assert found["UnsubscribeURL"].endswith(f"={SUBSCRIPTION}")


def test_a_notification_of_a_fifo_topic_has_a_number_and_no_signature() -> None:
    """The members and their order were recorded at AWS."""
    parts = notification.build_fifo_notification(BASE, TOPIC, MESSAGE_ID, "m", "s", AT, {})
    message = joined(parts, "10000000000000003000")
    assert list(message) == [
        "Type", "MessageId", "SequenceNumber", "TopicArn", "Subject", "Message", "Timestamp", "UnsubscribeURL",
    ]  # fmt: skip
    assert message["SequenceNumber"] == "10000000000000003000"


# --- confirmations ---------------------------------------------------------------------------------------------------
CONFIRM = (
    "You have chosen to subscribe to the topic arn:aws:sns:us-west-2:123456789012:MyTopic.\n"
    "To confirm the subscription, visit the SubscribeURL included in this message."
)
END = (
    "You have chosen to deactivate subscription "
    "arn:aws:sns:us-west-2:123456789012:MyTopic:2bcfbf39-05c3-41de-beaa-fcfcc21c8f55.\n"
    "To cancel this operation and restore the subscription, visit the SubscribeURL included in this message."
)


@pytest.mark.parametrize(("kind", "words"), [("SubscriptionConfirmation", CONFIRM), ("UnsubscribeConfirmation", END)])
def test_a_confirmation_is_as_in_the_developer_guide(notary: Notary, kind: str, words: str) -> None:
    if kind == "SubscriptionConfirmation":
        text = notification.build_confirmation(letterhead(notary), TOPIC, MESSAGE_ID, "2336412f37", AT)
    else:
        text = notification.unsubscribe_confirmation(
            letterhead(notary), TOPIC, SUBSCRIPTION, MESSAGE_ID, "2336412f37", AT
        )
    link = f"{BASE}/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37"
    expected = {
        "Type": kind,
        "MessageId": MESSAGE_ID,
        "Token": "2336412f37",
        "TopicArn": TOPIC,
        "Message": words,
        "SubscribeURL": link,
        "Timestamp": AT,
        "SignatureVersion": "1",
        "Signature": "EXAMPLE",
        "SigningCertURL": CERTIFICATE,
    }
    assert list(json.loads(text).items()) == list(expected.items())
    signed = (
        f"Message\n{words}\nMessageId\n{MESSAGE_ID}\nSubscribeURL\n{link}\nTimestamp\n{AT}\n"
        f"Token\n2336412f37\nTopicArn\n{TOPIC}\nType\n{kind}\n"
    )
    assert notary.signed == [(signed, "1")]


# --- time ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("microseconds", "fraction"),
    [(0, "001"), (999, "001"), (1000, "001"), (99_999, "099"), (120_000, "120"), (999_999, "999")],
)
def test_a_timestamp_has_three_digits_and_never_none_at_all(microseconds: int, fraction: str) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, microseconds, UTC)
    assert notification.format_timestamp(at) == f"2026-01-02T03:04:05.{fraction}Z"
    there = at.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert notification.format_timestamp(there) == f"2026-01-02T03:04:05.{fraction}Z"


# --- signatures ------------------------------------------------------------------------------------------------------
# Tests the key, the certificate and the signature of SNS messages. The sources are the SNS Developer Guide, "Verifying
# the signatures of Amazon SNS messages"
# (https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html), and RFC 7468 for PEM.

SIGNED_TOPIC = "arn:aws:sns:us-east-1:000000000000:orders"
SIGNED_AT = "2026-01-02T03:04:05.678Z"


@pytest.fixture(scope="module")
def key() -> NewSigningKey:
    return build_key()


@pytest.fixture(params=["1", "2"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def message_of(kind: str, key: NewSigningKey, version: str) -> dict[str, str]:
    """Returns one message of each kind in the format that a receiver expects."""
    head = SigningContext(Signer(key.key_id, key.private_key), version, "http://q", "http://q/c.pem")
    if kind == "Notification":
        parts = notification.build_notification(head, SIGNED_TOPIC, MESSAGE_ID, "grüße\n\t", "Über", SIGNED_AT, {})
        return dict(json.loads(f"{parts.head}{SIGNED_TOPIC}:id{parts.tail}"))
    if kind == "SubscriptionConfirmation":
        return dict(json.loads(notification.build_confirmation(head, SIGNED_TOPIC, MESSAGE_ID, "70ken", SIGNED_AT)))
    text = notification.unsubscribe_confirmation(
        head, SIGNED_TOPIC, f"{SIGNED_TOPIC}:id", MESSAGE_ID, "70ken", SIGNED_AT
    )
    return dict(json.loads(text))


def test_a_certificate_is_one_pem_block(key: NewSigningKey) -> None:
    assert re.fullmatch(
        r"-----BEGIN CERTIFICATE-----\n(?:[A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/=]{1,64}\n-----END CERTIFICATE-----\n",
        key.certificate,
    )


def test_a_certificate_is_self_signed_and_good_for_years(key: NewSigningKey) -> None:
    certificate = x509.load_pem_x509_certificate(key.certificate.encode())
    certificate.verify_directly_issued_by(certificate)
    assert public_key(key.certificate).key_size == 2048
    now = datetime.now(UTC)
    assert certificate.not_valid_before_utc < now
    assert certificate.not_valid_after_utc > now + timedelta(days=3000)


def test_a_certificate_names_sns(key: NewSigningKey) -> None:
    """AWS's SDK for Java 2 compares the name of the certificate, in either place, in most regions
    (SnsMessageManager)."""
    certificate = x509.load_pem_x509_certificate(key.certificate.encode())
    (common_name,) = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [common_name.value] == ["sns.amazonaws.com"]


def test_a_name_is_32_hex_digits(key: NewSigningKey) -> None:
    assert re.fullmatch(r"/SimpleNotificationService-[0-9a-f]{32}\.pem", build_certificate_path(key.key_id))


@pytest.mark.parametrize("kind", SIGNED)
def test_every_changed_bit_is_noticed(kind: str, key: NewSigningKey, version: str) -> None:
    """The test flips each bit of the signature, and each bit of every signed member in the hashed bytes."""
    message = message_of(kind, key, version)
    verify(message, key.certificate)
    public = public_key(key.certificate)
    parts = {name: message[name].encode() for name in SIGNED[kind]}
    for name, value in parts.items():
        for changed in flipped(value):
            assert is_refused({**parts, name: changed}, message["Signature"], version, key), (name, changed)
    for signature in flipped(b64decode(message["Signature"])):
        with pytest.raises(InvalidSignature):
            verify_bytes(parts, b64encode(signature).decode(), version, public)


def is_refused(parts: Mapping[str, bytes], signature: str, version: str, key: NewSigningKey) -> bool:
    try:
        verify_bytes(parts, signature, version, public_key(key.certificate))
    except InvalidSignature:
        return True
    return False


def test_a_subject_can_be_neither_taken_away_nor_added(key: NewSigningKey, version: str) -> None:
    message = message_of("Notification", key, version)
    without = {name: value for name, value in message.items() if name != "Subject"}
    with pytest.raises(InvalidSignature):
        verify(without, key.certificate)
    confirmation = message_of("SubscriptionConfirmation", key, version)
    with pytest.raises(InvalidSignature):
        verify({**confirmation, "Type": "UnsubscribeConfirmation"}, key.certificate)


def test_a_version_is_good_for_its_own_digest_only(key: NewSigningKey, version: str) -> None:
    message = message_of("Notification", key, version)
    other = {"1": "2", "2": "1"}[version]
    with pytest.raises(InvalidSignature):
        verify({**message, "SignatureVersion": other}, key.certificate)


def test_another_key_does_not_verify(key: NewSigningKey, version: str) -> None:
    with pytest.raises(InvalidSignature):
        verify(message_of("Notification", key, version), build_key().certificate)
