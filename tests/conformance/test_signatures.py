"""Signatures of SNS messages. Source: SNS Developer Guide, "Verifying the signatures of Amazon SNS messages"."""

from __future__ import annotations

from base64 import b64decode

import httpx
import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.conformance.topics import Sns

SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        "Message",
        "MessageId",
        "SubscribeURL",
        "Timestamp",
        "Token",
        "TopicArn",
        "Type",
    ),
}


def certificate_of(url: str) -> str:
    answer = httpx.get(url)
    assert answer.status_code == 200
    return answer.text


def verify(message: dict[str, str]) -> None:
    """Raises InvalidSignature, as AWS's documentation says how."""
    text = "".join(f"{name}\n{message[name]}\n" for name in SIGNED[message["Type"]] if name in message)
    key = x509.load_pem_x509_certificate(certificate_of(message["SigningCertURL"]).encode()).public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    digest = {"1": hashes.SHA1, "2": hashes.SHA256}[message["SignatureVersion"]]()
    key.verify(b64decode(message["Signature"]), text.encode(), padding.PKCS1v15(), digest)


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", [None, "Häl lo"])
def test_a_message_is_signed(sns: Sns, version: str, subject: str | None) -> None:
    topic = sns.create(SignatureVersion=version)
    url, _ = sns.queue(topic)
    sns.publish(topic, 'line\nline "quoted" ü\u2028', **({} if subject is None else {"Subject": subject}))
    message = sns.notification(url)
    assert message["SignatureVersion"] == version
    verify(message)
    for name in SIGNED["Notification"]:
        if name in message and name != "Type":
            with pytest.raises(InvalidSignature):
                verify({**message, name: message[name] + "x"})


def test_a_changed_version_holds_at_once(sns: Sns) -> None:
    topic = sns.create()
    url, _ = sns.queue(topic)
    for version in ("2", "1"):
        sns.client.set_topic_attributes(
            TopicArn=topic, AttributeName="SignatureVersion", AttributeValue=version
        )
        sns.publish(topic, "m")
        (message,) = sns.sqs.receive(url, 1)
        sns.sqs.delete(url, message)
        assert f'"SignatureVersion":"{version}"' in message["Body"]


def test_one_certificate_everywhere(sns: Sns) -> None:
    """One PEM block with line feeds only, the same at every door and under every name."""
    topic = sns.create()
    url, _ = sns.queue(topic)
    sns.publish(topic)
    named = certificate_of(sns.notification(url)["SigningCertURL"])
    assert named.startswith("-----BEGIN CERTIFICATE-----\n")
    assert (named.count("BEGIN"), "\r" in named) == (1, False)
    base = sns.sqs.endpoint_url
    assert certificate_of(f"{base}/SimpleNotificationService.pem") == named
    other = sns.sqs.doors.endpoint_url("lambda" if sns.sqs.door == "container" else "container")
    assert certificate_of(f"{other}/SimpleNotificationService.pem") == named
    missing = httpx.get(f"{base}/SimpleNotificationService-{'0' * 32}.pem")
    assert missing.status_code == 404
