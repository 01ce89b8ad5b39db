"""Builds the HTTP request of a delivery.

SNS messages have the headers of "HTTP/HTTPS headers" (SNS Developer Guide), and `x-amz-sns-rawdelivery` if the message
is raw. The body of an event of the REST API is JSON. If WEBHOOK_SIGNING_SECRET is set, events have the three headers of
the Standard Webhooks specification 1.0. `Accept-Encoding` has AWS's value for SNS messages, and is `identity` for
events. The worker does not decode responses.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from penstock import __version__
from penstock.delivery.delivery import ALERT, EVENT, GATEWAY, Delivery
from penstock.endpoint import Endpoint
from penstock.observing.trace_context import CURRENT_TRACE, as_traceparent
from penstock.sns.delivery_policy import CONTENT_TYPE

SIGNED: Final = frozenset((ALERT, EVENT, GATEWAY))
"""The kinds of deliveries that are JSON and signed as Standard Webhooks."""
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the specification's prefix, not a secret

_SNS_AGENT: Final = "Amazon Simple Notification Service Agent"
AGENT: Final = f"Penstock/{__version__}"


def request_bytes(
    delivery: Delivery, endpoint: Endpoint, secrets: Sequence[bytes], now_seconds: int, authorization: str | None = None
) -> bytes:
    """Returns the whole HTTP/1.1 request. Signs events with `secrets`, unless `secrets` is empty.

    `authorization` is the Authorization header for the endpoint's challenge. If the delivery belongs to a trace, the
    request has the headers of W3C Trace Context.
    """
    body = delivery.body.encode()
    if delivery.kind in SIGNED:
        headers = build_event_headers(build_webhook_id(delivery), body, secrets, now_seconds)
    else:
        headers = build_sns_headers(delivery)
    lines = [
        f"POST {endpoint.target} HTTP/1.1",
        f"Host: {endpoint.host_header}",
        *(f"{name}: {value}" for name, value in headers.items()),
        "Connection: keep-alive",
        f"Content-Length: {len(body)}",
    ]
    if authorization is not None:
        lines.append(f"Authorization: {authorization}")
    traced = CURRENT_TRACE.get()
    if traced is not None:
        lines.append(f"traceparent: {as_traceparent(traced)}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def build_sns_headers(delivery: Delivery) -> dict[str, str]:
    """Returns the headers that SNS sends. A SubscriptionConfirmation has no header with the subscription's ARN."""
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


def build_webhook_id(delivery: Delivery) -> str:
    """Returns the id by which the receiver recognises a repeated webhook: the message's id and, for a gateway, the
    subscription's id. A gateway receives a published message once for each subscribed phone."""
    message_id, subscription_arn = str(delivery.message_id), delivery.subscription_arn
    if delivery.kind != GATEWAY or subscription_arn is None:
        return message_id
    return f"{message_id}:{subscription_arn.rpartition(':')[2]}"


def build_event_headers(webhook_id: str, body: bytes, secrets: Sequence[bytes], now_seconds: int) -> dict[str, str]:
    """Returns headers for JSON and a signature with each secret. All attempts have the same id and different times."""
    headers = {"Content-Type": "application/json", "User-Agent": AGENT, "Accept-Encoding": "identity"}
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
    """Returns the keys in WEBHOOK_SIGNING_SECRET: `whsec_` and base64, separated by blanks. Raises ValueError."""
    secrets = []
    for part in text.split():
        try:
            secrets.append(base64.b64decode(part.removeprefix(SECRET_PREFIX), validate=True))
        except binascii.Error as error:
            raise ValueError("not base64 after whsec_") from error
        if not part.startswith(SECRET_PREFIX) or not 24 <= len(secrets[-1]) <= 64:
            raise ValueError("a secret is whsec_ and the base64 text of 24 to 64 bytes")
    return tuple(secrets)
