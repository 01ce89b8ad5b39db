"""Creates and calls webhook event sources."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import httpx

from tests.support.conformance.events import Events, build_role
from tests.support.conformance.sdk_clients import ACCOUNT

GITHUB = {
    "Algorithm": "SHA256", "Encoding": "HEX", "SignatureHttpHeader": "X-Hub-Signature-256",
    "SignaturePrefix": "sha256=", "SignedMessageComposition": "BODY",
}  # fmt: skip
STRIPE = {
    "Algorithm": "SHA256", "Encoding": "HEX", "SignatureHttpHeader": "Stripe-Signature", "SignaturePrefix": "v1=",
    "Delimiter": ",", "TimestampHttpHeader": "Stripe-Signature", "TimestampPrefix": "t=",
    "SignedMessageComposition": "TIMESTAMP_DOT_BODY",
}  # fmt: skip
STANDARD = {
    "Algorithm": "SHA256", "Encoding": "BASE64", "SignatureHttpHeader": "webhook-signature", "SignaturePrefix": "v1,",
    "Delimiter": " ", "TimestampHttpHeader": "webhook-timestamp", "MessageIdHttpHeader": "webhook-id",
    "SignedMessageComposition": "MESSAGE_ID_DOT_TIMESTAMP_DOT_BODY", "SecretEncoding": "BASE64",
}  # fmt: skip
SECRET = "sixteen bytes and more"


def sign_for_github(body: bytes, secret: str = SECRET) -> dict[str, str]:
    """Returns the header of GitHub ("Validating webhook deliveries", GitHub Docs)."""
    return {"x-hub-signature-256": f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"}


def configure(auth: str, settings: dict[str, Any], account: str = ACCOUNT, **more: Any) -> dict[str, Any]:
    """Returns the Configuration of a webhook. `auth` is StaticToken, BasicHttp or Hmac."""
    kind = {f"{auth}AuthConfiguration": settings}
    return {"WebhookEventsConfiguration": {"AuthConfiguration": kind, "RoleArn": build_role(account), **more}}


def create(events: Events, bus: str, auth: str, settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Creates a webhook in the account of the bus, and returns the response."""
    configuration = configure(auth, settings, bus.split(":")[4], **more)
    members = {"Name": events.name(), "EventBusArn": bus, "Configuration": configuration}
    return dict(events.client.create_event_source(**members))


def create_for_github(events: Events, bus: str, **more: Any) -> dict[str, Any]:
    """Creates a webhook for GitHub's signatures."""
    return create(events, bus, "Hmac", {**GITHUB, "SecretValue": SECRET}, **more)


def url_of(source: dict[str, Any]) -> str:
    return str(source["EventSourceDetails"]["WebhookDetails"]["WebhookUrl"])


def post(source: dict[str, Any], body: bytes = b"{}", /, **headers: str) -> httpx.Response:
    """Sends a request to a webhook's URL, without any key. Underscores in names of headers mean hyphens."""
    given = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(url_of(source), content=body, headers=given, verify=False)
