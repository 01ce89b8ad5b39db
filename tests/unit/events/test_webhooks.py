"""Tests which caller a request to a webhook counts for (docs/reference/webhook_sources.md), without a database."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from penstock.context import Context
from penstock.effects import Call
from penstock.environment import Environment
from penstock.errors import AccessDenied, RequestThrottled
from penstock.events.errors import WebhookNotFound, WebhookRefused
from penstock.events.webhook_settings import encrypt
from penstock.events.webhooks import hide_key, receive
from penstock.http import HttpRequest
from penstock.postgres.statements.event_buses import FIND_WEBHOOK, WebhookRow
from penstock.settings import Settings
from tests.support.conformance.access_keys import ENCRYPTION_KEY

OWNER = "111122223333"
ARN = f"arn:aws:events:us-east-1:{OWNER}:event-sourcev2/webhook/w/{'a' * 25}"
BUS = f"arn:aws:events:us-east-1:{OWNER}:event-busv2/b/{'a' * 25}"
TOKEN = "a token of this test"
WEBHOOK: dict[str, Any] = {
    "AuthConfiguration": {"StaticTokenAuthConfiguration": {"TokenHttpHeader": "x-token"}},
    "RoleArn": f"arn:aws:iam::{OWNER}:role/r",
}


@pytest.fixture
def environment() -> Environment:
    settings = {"QUOTA_REQUESTS_PER_SECOND": "2", "QUEUE_ENCRYPTION_KEY": ENCRYPTION_KEY}
    return Environment(Settings.read(settings), None)  # type: ignore[arg-type] # no request here has a receipt


def send(environment: Environment, token: str, peer: str, *, known: bool = True, revoked: bool = False) -> None:
    """Runs a request until it publishes."""
    http = HttpRequest("POST", "/", b"", {b"host": b"localhost"}, b"", peer)
    context = Context("000000000000", "us-east-1", "id", environment, http)
    configuration = {"Configuration": {"WebhookEventsConfiguration": WEBHOOK}}
    row = WebhookRow(ARN, OWNER, BUS, revoked, configuration, encrypt(TOKEN, ARN, context), None)
    operation = receive("key", {"x-token": [token.encode()]}, b"{}", context)
    call = next(operation)
    assert isinstance(call, Call)
    assert call.statement is FIND_WEBHOOK
    operation.send([row] if known else [])
    assert context.account_id == OWNER
    operation.close()


def test_refused_requests_count_for_the_address(environment: Environment) -> None:
    with pytest.raises(WebhookRefused):
        send(environment, "wrong", "192.0.2.1")
    with pytest.raises(WebhookNotFound):
        send(environment, TOKEN, "192.0.2.1", known=False)
    with pytest.raises(RequestThrottled) as throttled:
        send(environment, TOKEN, "192.0.2.1")
    assert throttled.value.retry_after_seconds
    send(environment, TOKEN, "192.0.2.2")


def test_verified_requests_count_for_the_account(environment: Environment) -> None:
    for number in (1, 2):
        send(environment, TOKEN, f"192.0.2.{number}")
    with pytest.raises(RequestThrottled):
        send(environment, TOKEN, "192.0.2.3")
    with pytest.raises(WebhookRefused):
        send(environment, "wrong", "192.0.2.3")


def test_a_revoked_webhook_refuses_verified_requests(environment: Environment) -> None:
    with pytest.raises(AccessDenied):
        send(environment, TOKEN, "192.0.2.1", revoked=True)


def test_logs_hide_the_key() -> None:
    assert hide_key(f"/v1/webhook-events/{UUID(int=0)}") == "/v1/webhook-events/{key}"
    assert hide_key("/v1/queues/orders") == "/v1/queues/orders"
