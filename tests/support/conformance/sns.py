"""Calls SNS, and reads the REST API's outbox, with the deployment, protocol and caller of an `Sqs`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.exceptions import ClientError

from tests.support import client_setup, sns_signatures
from tests.support.conformance.sdk_clients import Response, build_client
from tests.support.conformance.sqs import Sqs, read_refusal

_client = cache(build_client)
_accounts = count(520_000_000_000)


@dataclass
class Sns:
    sqs: Sqs

    @property
    def client(self) -> Any:
        return self._made[0]

    @property
    def response(self) -> Response:
        return self._made[1]  # type: ignore[no-any-return]

    @property
    def _made(self) -> Any:
        at = self.sqs
        return _client(at.protocol, at.endpoint_url, at.account, at.region, at.secret, "sns")

    def of_a_new_account(self) -> Sns:
        """Returns a client for an unused account in the same deployment."""
        return Sns(self.sqs.caller(str(next(_accounts))))

    def create(self, suffix: str = "", **attributes: str) -> str:
        """Creates a topic and returns its ARN."""
        made = self.client.create_topic(Name=self.sqs.name(suffix), Attributes=attributes)
        return str(made["TopicArn"])

    def create_fifo(self, **attributes: str) -> str:
        return self.create(".fifo", FifoTopic="true", **attributes)

    def attributes(self, topic: str) -> dict[str, str]:
        return dict(self.client.get_topic_attributes(TopicArn=topic)["Attributes"])

    def queue(self, topic: str, suffix: str = "", **attributes: str) -> tuple[str, str]:
        """Subscribes a new queue with the given `attributes`. Returns the queue's URL and the subscription's ARN."""
        url = self.sqs.create_fifo() if suffix else self.sqs.create()
        return url, self.subscribe(topic, self.sqs.arn(url), **attributes)

    def subscribe(self, topic: str, endpoint: str, protocol: str = "sqs", **attributes: str) -> str:
        response = self.client.subscribe(
            TopicArn=topic, Protocol=protocol, Endpoint=endpoint, Attributes=attributes, ReturnSubscriptionArn=True
        )
        return str(response["SubscriptionArn"])

    def subscription(self, arn: str) -> dict[str, str]:
        return dict(self.client.get_subscription_attributes(SubscriptionArn=arn)["Attributes"])

    # --- messages ----------------------------------------------------------------------------------------------------
    def publish(self, topic: str, message: str = "hello", **more: Any) -> dict[str, Any]:
        return dict(self.client.publish(TopicArn=topic, Message=message, **more))

    def notification(self, url: str) -> dict[str, Any]:
        """Receives a queue's only message and returns its envelope."""
        return dict(json.loads(self.sqs.receive_one(url)["Body"]))

    # --- errors ------------------------------------------------------------------------------------------------------
    def refusal(self, method: str, **parameters: Any) -> tuple[str, int, str]:
        """Returns an error's code, status and text. The code is the Query protocol's code, even if the response is
        JSON.
        """
        with pytest.raises(ClientError) as caught:
            getattr(self.client, method)(**parameters)
        response = self._made[1]
        told = read_refusal(self.sqs.protocol, response.status, response.headers, response.body)
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == told.status
        return told.code, told.status, told.message


def confirmation(sns: Sns, endpoint: str, kind: str = "SubscriptionConfirmation") -> dict[str, str]:
    """Returns the last message of a kind to an endpoint."""
    return dict(json.loads(sns.sqs.clock.waiting(endpoint, kind)[-1]))


def endpoint(sns: Sns) -> str:
    return f"https://example.com/{sns.sqs.name()}"


def read_certificate(url: str) -> str:
    response = client_setup.get(url)
    assert response.status_code == 200
    return response.text


def verify_signature(message: dict[str, str]) -> None:
    """Verifies the message as a receiver does, with the certificate at the message's SigningCertURL. Raises
    InvalidSignature.
    """
    sns_signatures.verify(message, read_certificate(message["SigningCertURL"]))


def outbox(sns: Sns, **query: Any) -> list[dict[str, Any]]:
    """Returns the outgoing messages, the oldest first. `destination` selects one test's messages."""
    response = client_setup.get(f"{sns.sqs.endpoint_url}/v1/outbox?{urlencode(query)}")
    assert response.status_code == 200, response.text
    return list(json.loads(response.text))


def opt_out(sns: Sns, number: str) -> None:
    """Opts a phone number out of text messages."""
    path = f"/v1/outbox/opted-out/{number.replace('+', '%2B')}"
    response = client_setup.request("PUT", f"{sns.sqs.endpoint_url}{path}")
    assert (response.status_code, json.loads(response.text)) == (200, {"phone_number": number})
