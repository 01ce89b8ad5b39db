"""Tests the key, the certificate and the signature of SNS messages.

Sources: SNS Developer Guide, "Verifying the signatures of Amazon SNS messages"
(https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html); RFC 7468 for PEM.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from penstock.sns import notification
from penstock.sns.notification import SigningContext
from penstock.sns.signatures import NewSigningKey, Signer, build_certificate_path, make_key
from tests.support.sns_signatures import SIGNED, flipped, public_key, verify, verify_bytes

TOPIC = "arn:aws:sns:us-east-1:000000000000:orders"
MESSAGE_ID = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
AT = "2026-01-02T03:04:05.678Z"


@pytest.fixture(scope="module")
def key() -> NewSigningKey:
    return make_key()


@pytest.fixture(params=["1", "2"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def message_of(kind: str, key: NewSigningKey, version: str) -> dict[str, str]:
    """Returns a message of each kind in the receiver's form."""
    head = SigningContext(Signer(key.key_id, key.private_key), version, "http://q", "http://q/c.pem")
    if kind == "Notification":
        parts = notification.build_notification(head, TOPIC, MESSAGE_ID, "grüße\n\t", "Über", AT, {})
        return dict(json.loads(f"{parts.head}{TOPIC}:id{parts.tail}"))
    if kind == "SubscriptionConfirmation":
        return dict(json.loads(notification.build_confirmation(head, TOPIC, MESSAGE_ID, "70ken", AT)))
    text = notification.unsubscribe_confirmation(head, TOPIC, f"{TOPIC}:id", MESSAGE_ID, "70ken", AT)
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
    """The message manager of AWS's SDK for Java 2 compares this name, in either place, in most regions."""
    certificate = x509.load_pem_x509_certificate(key.certificate.encode())
    (common_name,) = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [common_name.value] == ["sns.amazonaws.com"]


def test_a_name_is_32_hex_digits(key: NewSigningKey) -> None:
    assert re.fullmatch(r"/SimpleNotificationService-[0-9a-f]{32}\.pem", build_certificate_path(key.key_id))


@pytest.mark.parametrize("kind", SIGNED)
def test_every_changed_bit_is_noticed(kind: str, key: NewSigningKey, version: str) -> None:
    """The test changes each bit of the signature and of every signed member, in the bytes that are hashed."""
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
        verify(message_of("Notification", key, version), make_key().certificate)
