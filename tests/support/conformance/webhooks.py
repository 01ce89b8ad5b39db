"""Creates and calls webhook event sources. botocore 1.44.5 does not know the members of webhooks, so this client writes
the members in CBOR itself, and signs with botocore."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.aws.codec import cbor
from tests.support.conformance.events import Events, build_role
from tests.support.conformance.sqs import read_cbor

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


@dataclass
class Webhooks:
    """`events` is the client of the caller."""

    events: Events

    def call(self, action: str, **members: Any) -> tuple[int, dict[str, Any]]:
        """Returns the status and the members of the response. The member `__type` is the name of an error."""
        at = self.events.sqs
        url = f"{at.endpoint_url}/service/AWSEventsV2/operation/{action}"
        headers = {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor", "accept": "application/cbor"}
        request = AWSRequest("POST", url, headers, cbor.encode(members))
        SigV4Auth(Credentials(at.account, at.secret), "events", at.region).add_auth(request)
        response = httpx.post(url, content=request.data, headers=dict(request.headers), verify=False)
        found = read_cbor(response.content)
        if "__type" in found:
            found["__type"] = found["__type"].rpartition("#")[2]
        return response.status_code, found

    def describe(self, auth: str, settings: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Returns the Configuration of a webhook. `auth` is StaticToken, BasicHttp or Hmac."""
        kind = {f"{auth}AuthConfiguration": settings}
        webhook = {"AuthConfiguration": kind, "RoleArn": build_role(self.account), **more}
        return {"WebhookEventsConfiguration": webhook}

    @property
    def account(self) -> str:
        return self._account or self.events.account

    _account: str = ""

    def create(self, bus: str, auth: str, settings: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Creates a webhook and returns the response."""
        members = {"Name": self.events.name(), "EventBusArn": bus, "ClientToken": self.events.name()}
        status, found = self.call("CreateEventSource", **members, Configuration=self.describe(auth, settings, **more))
        assert status == 200, found
        return found

    def github(self, bus: str, **more: Any) -> dict[str, Any]:
        """Creates a webhook for GitHub's signatures."""
        return self.create(bus, "Hmac", {**GITHUB, "SecretValue": SECRET}, **more)


def url_of(source: dict[str, Any]) -> str:
    return str(source["EventSourceDetails"]["WebhookDetails"]["WebhookUrl"])


def post(source: dict[str, Any], body: bytes = b"{}", /, **headers: str) -> httpx.Response:
    """Sends a request to a webhook's URL, without any key. Underscores in names of headers mean hyphens."""
    given = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(url_of(source), content=body, headers=given, verify=False)
