"""Webhooks that are due, and what became of them."""

from typing import Literal, NamedTuple
from uuid import UUID

from penstock.effects import Statement


class NextWebhookRow(NamedTuple):
    """In how many milliseconds the next webhook may be due; 0: now. There is no row when none is pending."""

    wait_ms: int


NEXT_WEBHOOK = Statement("queue.next_webhook", ("uuid",), NextWebhookRow)


class ClaimedWebhookRow(NamedTuple):
    """A webhook that is due, leased to the caller. `lane`: names its endpoint and its account. The policies are JSON.

    `attempts`: those whose outcome is known.
    """

    webhook_id: int
    lane: str
    endpoint: str
    kind: str
    message_id: UUID
    topic_arn: str | None
    subscription_arn: str | None
    raw: bool
    subscription_policy: str | None
    topic_policy: str | None
    attempts: int
    body: str
    account_id: str


CLAIM_WEBHOOKS = Statement(
    "queue.claim_webhooks", ("int4", "uuid", "int4", "text[]", "int4[]", "int4"), ClaimedWebhookRow
)


class SettledWebhooksRow(NamedTuple):
    """What became of the given webhooks. `lost`: their lease was over."""

    delivered: int
    retried: int
    exhausted: int
    dead_lettered: int
    lost: int


SETTLE_WEBHOOKS = Statement(
    "queue.settle_webhooks",
    ("int8[]", "uuid[]", "text[]", "int4[]", "text[]", "int4[]", "int4[]", "int4[]", "int4[]", "text[]"),
    SettledWebhooksRow,
)


class WebhookTraceRow(NamedTuple):
    """The trace that a webhook's message belongs to."""

    webhook_id: int
    trace: str


WEBHOOK_TRACES = Statement("queue.webhook_traces", ("int8[]",), WebhookTraceRow)


class ExpiredWebhooksRow(NamedTuple):
    """Webhooks whose time was over."""

    exhausted: int
    dead_lettered: int


EXPIRE_WEBHOOKS = Statement("queue.expire_webhooks", ("int4",), ExpiredWebhooksRow)


class WebhookRow(NamedTuple):
    """A webhook that is pending or exhausted.

    `under_way`: a process tries it now, and `due_at_ms` is when another one may. `last_status`, `last_error`: of the
    last attempt; one without an answer has no status.
    """

    webhook_id: int
    state: Literal["pending", "exhausted"]
    kind: str
    message_id: UUID
    topic_arn: str | None
    subscription_arn: str | None
    binding_id: int | None
    endpoint: str
    attempts: int
    due_at_ms: int
    under_way: bool
    last_status: int | None
    last_error: str | None
    dead_letter_arn: str | None
    created_at_ms: int


LIST_WEBHOOKS = Statement("queue.list_webhooks", ("text", "text", "int8", "int4"), WebhookRow)


class RetriedWebhookRow(NamedTuple):
    """A webhook that is tried again."""

    webhook_id: int


RETRY_WEBHOOK = Statement("queue.retry_webhook", ("text", "int8"), RetriedWebhookRow)


class RetriedWebhooksRow(NamedTuple):
    """How many webhooks are tried again. `last_id`: the last of them, when there may be more."""

    retried: int
    last_id: int | None


RETRY_WEBHOOKS = Statement(
    "queue.retry_webhooks", ("text", "text", "timestamptz", "int8", "int4"), RetriedWebhooksRow
)


class WebhookAttemptRow(NamedTuple):
    """An attempt to deliver; in the first row only `looked_at`, and the id from which to look on.

    `duration_ms`: with connecting. `sent_bytes`: the request with its head. `answer`: how the answer began.
    """

    attempt_id: int | None
    looked_at: int | None
    recorded_at_ms: int
    webhook_id: int
    message_id: UUID
    subscription_arn: str | None
    endpoint: str
    attempt: int
    outcome: Literal["delivered", "retried", "given_up"]
    status: int | None
    error: str | None
    duration_ms: int | None
    sent_bytes: int | None
    answer: str | None


LIST_WEBHOOK_ATTEMPTS = Statement(
    "queue.list_webhook_attempts",
    ("text", "text", "bool", "timestamptz", "int8", "int4", "int4"),
    WebhookAttemptRow,
)


class WebhookEndpointRow(NamedTuple):
    """How an endpoint did in the newest attempts of its account. `waiting`: for a paused one, 10,001 at most."""

    endpoint: str
    attempts: int
    delivered: int
    p95_ms: int | None
    last_status: int | None
    last_error: str | None
    last_at_ms: int | None
    stopped: bool
    paused_until_ms: int | None
    waiting: int | None


LIST_WEBHOOK_ENDPOINTS = Statement("queue.list_webhook_endpoints", ("text", "int4"), WebhookEndpointRow)


class KnownEndpointRow(NamedTuple):
    """Whether there was such an endpoint, or such a pause."""

    known: bool


PAUSE_WEBHOOK_ENDPOINT = Statement("queue.pause_webhook_endpoint", ("text", "text"), KnownEndpointRow)
RESUME_WEBHOOK_ENDPOINT = Statement("queue.resume_webhook_endpoint", ("text", "text"), KnownEndpointRow)


class TestTargetRow(NamedTuple):
    """For whom a test event to a URL would be: a subscription to a topic, or a binding. `raw`: without an envelope."""

    topic_arn: str | None
    signature_version: str | None
    subscription_arn: str | None
    binding_id: int | None
    raw: bool


FIND_TEST_TARGET = Statement("queue.find_test_target", ("text", "text", "text"), TestTargetRow)


class SentTestRow(NamedTuple):
    """The webhook that was stored; or an error: the account has too many."""

    webhook_id: int
    error: str | None


SEND_TEST_WEBHOOK = Statement(
    "queue.send_test_webhook", ("text", "text", "int8", "uuid", "text", "text", "text"), SentTestRow
)
