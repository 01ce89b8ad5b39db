"""A delivery and the bytes of its HTTP request.

SNS: the headers of "HTTP/HTTPS headers" (SNS Developer Guide), and `x-amz-sns-rawdelivery` for raw messages. Events of
the REST API: JSON, and with WEBHOOK_SIGNING_SECRET the three headers of the Standard Webhooks specification 1.0.
The worker decodes no answer: `Accept-Encoding` is AWS's for messages of SNS, `identity` for events.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from penstock import __version__
from penstock.postgres.statements.webhooks import ClaimedWebhookRow
from penstock.sns.delivery_policy import CONTENT_TYPE, Policy, effective_policy
from penstock.trace_context import CURRENT_TRACE, as_traceparent

from .endpoint import Endpoint

EVENT: Final = "event"
"""`kind` of events of the REST API; every other kind but those below is a message type of SNS."""
GATEWAY: Final = "gateway"
"""`kind` of text messages and pushes that the gateway of the installation carries."""
MAIL: Final = "mail"
"""`kind` of mails, whatever their message type of SNS."""
FUNCTION: Final = "lambda"
"""`kind` of messages of SNS for functions of Lambda."""
SCHEDULE: Final = "schedule"
"""`kind` of invocations of functions by schedules; `policy` is then how often and how long they are tried."""
SIGNED: Final = frozenset((EVENT, GATEWAY))
"""Kinds that are JSON and signed as Standard Webhooks."""
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - a prefix of the specification, no secret

_SNS_AGENT: Final = "Amazon Simple Notification Service Agent"
_AGENT: Final = f"Penstock/{__version__}"


class Delivery(NamedTuple):
    """One webhook, leased. `policy`: the effective one; None: the defaults. `attempts`: those with a known outcome."""

    webhook_id: int
    account_id: str
    endpoint_key: str
    endpoint: str
    kind: str
    message_id: UUID
    topic_arn: str | None
    subscription_arn: str | None
    raw: bool
    policy: Policy | None
    attempts: int
    body: str


def request_bytes(
    delivery: Delivery, endpoint: Endpoint, secrets: Sequence[bytes], now_seconds: int
) -> bytes:
    """The whole HTTP/1.1 request. `secrets`: keys that sign events; without one, events have no signature.

    A request that belongs to a trace carries the headers of W3C Trace Context.
    """
    body = delivery.body.encode()
    if delivery.kind in SIGNED:
        headers = event_headers(webhook_id(delivery), body, secrets, now_seconds)
    else:
        headers = sns_headers(delivery)
    lines = [
        f"POST {endpoint.target} HTTP/1.1",
        f"Host: {endpoint.host_header}",
        *(f"{name}: {value}" for name, value in headers.items()),
        "Connection: keep-alive",
        f"Content-Length: {len(body)}",
    ]
    traced = CURRENT_TRACE.get()
    if traced is not None:
        lines.append(f"traceparent: {as_traceparent(traced)}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def sns_headers(delivery: Delivery) -> dict[str, str]:
    """The headers that SNS sends; a SubscriptionConfirmation has none with the subscription's ARN."""
    headers = {
        "x-amz-sns-message-type": delivery.kind,
        "x-amz-sns-message-id": str(delivery.message_id),
        "x-amz-sns-topic-arn": delivery.topic_arn or "",
    }
    if delivery.subscription_arn is not None and delivery.kind != "SubscriptionConfirmation":
        headers["x-amz-sns-subscription-arn"] = delivery.subscription_arn
    if delivery.raw:
        headers["x-amz-sns-rawdelivery"] = "true"
    request = (delivery.policy or {}).get("requestPolicy") or {}
    content_type = request.get("headerContentType") or CONTENT_TYPE
    return {
        **headers,
        "Content-Type": CONTENT_TYPE if content_type == "text/plain" else content_type,
        "User-Agent": _SNS_AGENT,
        "Accept-Encoding": "gzip,deflate",
    }


def webhook_id(delivery: Delivery) -> str:
    """What tells the receiver that it has a webhook already: the id of the message, and of the subscription for which a
    gateway gets it. One publish goes to each phone that subscribed, and the gateway is one receiver for all of them.
    """
    message_id, subscription_arn = str(delivery.message_id), delivery.subscription_arn
    if delivery.kind != GATEWAY or subscription_arn is None:
        return message_id
    return f"{message_id}:{subscription_arn.rpartition(':')[2]}"


def event_headers(webhook_id: str, body: bytes, secrets: Sequence[bytes], now_seconds: int) -> dict[str, str]:
    """Headers for JSON, and a signature with each secret; the id is the same in every attempt, the time is not."""
    headers = {"Content-Type": "application/json", "User-Agent": _AGENT, "Accept-Encoding": "identity"}
    if not secrets:
        return headers
    signed = f"{webhook_id}.{now_seconds}.".encode() + body
    digests = (hmac.new(secret, signed, hashlib.sha256).digest() for secret in secrets)
    return {
        **headers,
        "webhook-id": webhook_id,
        "webhook-timestamp": str(now_seconds),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests),
    }


def read_secrets(text: str) -> tuple[bytes, ...]:
    """The keys of WEBHOOK_SIGNING_SECRET: `whsec_` and base64, several separated by blanks. Raises ValueError."""
    secrets = []
    for part in text.split():
        try:
            secrets.append(base64.b64decode(part.removeprefix(SECRET_PREFIX), validate=True))
        except binascii.Error as error:
            raise ValueError("not base64 after whsec_") from error
        if not part.startswith(SECRET_PREFIX) or not 24 <= len(secrets[-1]) <= 64:
            raise ValueError("a secret is whsec_ and the base64 text of 24 to 64 bytes")
    return tuple(secrets)


_effective = lru_cache(1_000)(effective_policy)


def _policy(kind: str, own: str | None, topic: str | None) -> Policy | None:
    if kind == SCHEDULE and own is not None:
        policy: Policy = msgspec.json.decode(own)
        return policy
    return None if own is None and topic is None else _effective(own, topic)


def read_delivery(row: ClaimedWebhookRow) -> Delivery:
    """A delivery from its row, which has the policies of subscription and topic."""
    own, topic = row.subscription_policy, row.topic_policy
    return Delivery(
        webhook_id=row.webhook_id,
        account_id=row.account_id,
        endpoint_key=row.lane,
        endpoint=row.endpoint,
        kind=row.kind,
        message_id=row.message_id,
        topic_arn=row.topic_arn,
        subscription_arn=row.subscription_arn,
        raw=row.raw,
        policy=_policy(row.kind, own, topic),
        attempts=row.attempts,
        body=row.body,
    )
