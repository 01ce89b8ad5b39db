"""Tests the signatures of SNS messages and the URLs of their certificates.

The source is the SNS Developer Guide, "Verifying the signatures of Amazon SNS messages".
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from cryptography.exceptions import InvalidSignature

from tests.support import client_setup
from tests.support.conformance.access_keys import PRESENCE, SIGV4
from tests.support.conformance.sns import Sns, read_certificate, verify_signature
from tests.support.sns_signatures import SIGNED

CERTIFICATE_HOST = {"SNS_CERT_HOST": "sns.us-east-1.amazonaws.com"}


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", [None, "Häl lo"])
def test_a_message_is_signed(sns: Sns, version: str, subject: str | None) -> None:
    topic = sns.create(SignatureVersion=version)
    url, _ = sns.queue(topic)
    sns.publish(topic, 'line\nline "quoted" ü\u2028', **({} if subject is None else {"Subject": subject}))
    message = sns.notification(url)
    assert message["SignatureVersion"] == version
    verify_signature(message)
    for name in SIGNED["Notification"]:
        if name in message and name != "Type":
            with pytest.raises(InvalidSignature):
                verify_signature({**message, name: message[name] + "x"})


def test_a_changed_version_holds_at_once(sns: Sns) -> None:
    topic = sns.create()
    url, _ = sns.queue(topic)
    for version in ("2", "1"):
        sns.client.set_topic_attributes(TopicArn=topic, AttributeName="SignatureVersion", AttributeValue=version)
        sns.publish(topic, "m")
        (message,) = sns.sqs.receive(url, 1)
        sns.sqs.delete(url, message)
        assert f'"SignatureVersion" : "{version}"' in message["Body"]


def test_confirmations_have_the_topics_version(sns: Sns) -> None:
    """SetTopicAttributes, SignatureVersion: "… subscription confirmations, or unsubscribe confirmation messages"."""
    topic, to = sns.create(SignatureVersion="2"), f"https://example.com/{sns.sqs.name()}"
    arn = sns.subscribe(topic, to, "https")
    (asked,) = map(json.loads, sns.sqs.clock.waiting(to, "SubscriptionConfirmation"))
    sns.client.confirm_subscription(TopicArn=topic, Token=asked["Token"])
    sns.client.unsubscribe(SubscriptionArn=arn)
    (ended,) = map(json.loads, sns.sqs.clock.waiting(to, "UnsubscribeConfirmation"))
    for message in (asked, ended):
        assert message["SignatureVersion"] == "2"
        verify_signature(message)
    assert arn in ended["Message"]
    assert sns.sqs.clock.notice_ids(to) == [asked["MessageId"], ended["MessageId"]]


def test_a_fifo_topic_signs_nothing(sns: Sns) -> None:
    """AWS sends the sequence number instead of a signature (recorded at AWS)."""
    topic = sns.create_fifo()
    url, _ = sns.queue(topic, ".fifo")
    sent = sns.publish(topic, "m", Subject="s", MessageGroupId="g", MessageDeduplicationId="d")
    message = sns.notification(url)
    assert list(message) == [
        "Type", "MessageId", "SequenceNumber", "TopicArn", "Subject", "Message", "Timestamp", "UnsubscribeURL",
    ]  # fmt: skip
    assert message["SequenceNumber"] == sent["SequenceNumber"]


# --- certificates ----------------------------------------------------------------------------------------------------
def test_one_certificate_everywhere(sns: Sns) -> None:
    """Every deployment serves the same certificate under every host name."""
    topic = sns.create()
    url, _ = sns.queue(topic)
    sns.publish(topic)
    at = sns.notification(url)["SigningCertURL"]
    named = read_certificate(at)
    other = sns.sqs.deployments.endpoint_url("lambda" if sns.sqs.deployment == "container" else "container")
    for base in (sns.sqs.endpoint_url, other):
        for path in ("/SimpleNotificationService.pem", "/v1/cert", urlsplit(at).path):
            response = client_setup.get(base + path)
            assert (response.status_code, response.text) == (200, named)
            assert response.headers["content-type"].partition(";")[0] == "application/x-pem-file"


def test_an_unknown_certificate_is_404(sns: Sns) -> None:
    sns.publish(sns.create())  # creates the certificate
    for name in ("0" * 32, "", "x", "F" * 32, "0" * 31, "0" * 33, "%00", "a" * 5000):
        response = client_setup.get(f"{sns.sqs.endpoint_url}/SimpleNotificationService-{name}.pem")
        assert (response.status_code, "BEGIN" in response.text) == (404, False), name


@pytest.mark.parametrize("access", [PRESENCE, SIGV4], ids=["presence", "sigv4"])
def test_certificates_are_open_to_everybody(sns: Sns, access: dict[str, str]) -> None:
    sns.publish(sns.create())
    base = sns.sqs.with_settings(access).endpoint_url
    assert "BEGIN CERTIFICATE" in read_certificate(f"{base}/SimpleNotificationService.pem")


def test_the_certificate_may_be_said_to_be_at_a_host_of_aws(sns: Sns) -> None:
    there = Sns(sns.sqs.with_settings(CERTIFICATE_HOST))
    topic = there.create()
    url, _ = there.queue(topic)
    there.publish(topic)
    message = there.notification(url)
    at = urlsplit(message["SigningCertURL"])
    assert (at.scheme, at.netloc) == ("https", "sns.us-east-1.amazonaws.com")
    verify_signature({**message, "SigningCertURL": there.sqs.endpoint_url + at.path})
    assert message["UnsubscribeURL"].startswith(f"{there.sqs.endpoint_url}/?Action=Unsubscribe&")


# --- where no subscription wants a signature --------------------------------------------------------------------------
def test_a_subscription_that_wants_envelopes_gets_signed_ones_at_once(sns: Sns) -> None:
    """Raw delivery to queues has no envelope. A process with a cache detects the new subscription immediately."""
    topic = sns.create(SignatureVersion="2")
    url, arn = sns.queue(topic, RawMessageDelivery="true")
    for _ in range(3):
        sns.publish(topic, "raw")
        assert sns.sqs.receive_one(url)["Body"] == "raw"
    for raw in ("false", "true", "false"):
        sns.client.set_subscription_attributes(
            SubscriptionArn=arn, AttributeName="RawMessageDelivery", AttributeValue=raw
        )
        sns.publish(topic, raw)
        (found,) = sns.sqs.receive(url, 1)
        sns.sqs.delete(url, found)
        if raw == "true":
            assert found["Body"] == raw
        else:
            verify_signature(json.loads(found["Body"]))
    another, _ = sns.queue(topic)
    sns.publish(topic, "both")
    verify_signature(sns.notification(another))


def test_raw_with_too_many_attributes_is_enveloped_where_nobody_else_is(sns: Sns) -> None:
    """A message with more than ten attributes cannot be delivered raw (SNS Developer Guide, "Raw message delivery")."""
    topic, dead = sns.create(), sns.sqs.create()
    policy = json.dumps({"deadLetterTargetArn": sns.sqs.arn(dead)})
    url, _ = sns.queue(topic, RawMessageDelivery="true", RedrivePolicy=policy)
    many = {f"a{n}": {"DataType": "String", "StringValue": "v"} for n in range(11)}
    for _ in range(2):
        sns.publish(topic, "raw")
    sns.publish(topic, "m", MessageAttributes=many)
    assert sns.sqs.counts(url) == (2, 0, 0)
    verify_signature(sns.notification(dead))


def test_a_fifo_topic_of_raw_subscriptions_keeps_its_order_when_one_wants_envelopes(sns: Sns) -> None:
    """The service publishes the third message once more, in an envelope, and the topic does not treat it as a
    duplicate.
    """
    topic = sns.create_fifo(ContentBasedDeduplication="true")
    url, arn = sns.queue(topic, ".fifo", RawMessageDelivery="true")
    for text in ("1", "2"):
        sns.publish(topic, text, MessageGroupId="g")
    sns.client.set_subscription_attributes(
        SubscriptionArn=arn, AttributeName="RawMessageDelivery", AttributeValue="false"
    )
    third = sns.publish(topic, "3", MessageGroupId="g")
    first, second, last = (message["Body"] for message in sns.sqs.receive(url, 3))
    assert (first, second) == ("1", "2")
    assert json.loads(last)["SequenceNumber"] == third["SequenceNumber"]
