"""Statements for due deliveries and their outcomes."""

from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement


class NextDeliveryRow(NamedTuple):
    """Milliseconds until the next delivery may be due, or 0 for now. The function returns no row if no delivery is
    pending."""

    wait_ms: int


NEXT_DELIVERY = Statement("queue.next_delivery", ("uuid", "text[]"), NextDeliveryRow)


class ClaimedDeliveryRow(NamedTuple):
    """A due delivery, leased to the caller. The policies are JSON.

    `endpoint_key` names the endpoint and its account. `attempts` counts the attempts with a known outcome. `trace` is
    the trace header of a traced publish. `password` is the URL's password, which `endpoint` shows as `****`.
    """

    delivery_id: int
    endpoint_key: str
    endpoint: str
    kind: str
    message_id: UUID
    topic_arn: str | None
    subscription_arn: str | None
    raw: bool
    subscription_policy: str | None
    topic_policy: str | None
    retry_policy: str | None
    attempts: int
    body: str
    account_id: str
    trace: str | None
    password: str | None


CLAIM_DELIVERIES = Statement(
    "queue.claim_deliveries", ("int4", "uuid", "int4", "text[]", "int4[]", "int4", "text[]"), ClaimedDeliveryRow
)


class SettledDeliveriesRow(NamedTuple):
    """The numbers of deliveries with each outcome. `lost` counts deliveries whose lease had expired.

    `paused` lists the endpoints that are now paused, `failing` lists endpoints that have failed for two minutes, and
    `recovered` lists endpoints that respond again. `failed_redrives` counts the given-up deliveries that could not be
    sent to the dead-letter queue.
    """

    delivered: int
    retried: int
    exhausted: int
    dead_lettered: int
    lost: int
    paused: list[str]
    failed_redrives: int
    failing: list[str]
    recovered: list[str]


SETTLE_DELIVERIES = Statement(
    "queue.settle_deliveries",
    ("int8[]", "uuid[]", "text[]", "int4[]", "text[]", "int4[]", "int4[]", "int4[]", "int4[]", "text[]"),
    SettledDeliveriesRow,
)


class ExpiredDeliveriesRow(NamedTuple):
    """The deliveries that were given up because they waited too long."""

    exhausted: int
    dead_lettered: int
    failed_redrives: int


EXPIRE_DELIVERIES = Statement("queue.expire_deliveries", ("int4",), ExpiredDeliveriesRow)


class OutgoingDeliveryRow(NamedTuple):
    """A pending or given-up delivery.

    `endpoint_state` is `paused` if a user paused the endpoint, and `fails` if the service pauses it after failures. The
    attempt is due at `due_at_ms`, which is not before the end of the service's pause. `under_way` means that a process
    is sending the delivery. Another process can send the delivery after `due_at_ms`. `last_status` and `last_error`
    come from the last attempt. An attempt without a response has no status.
    """

    delivery_id: int
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
    endpoint_state: Literal["paused", "fails"] | None


LIST_DELIVERIES = Statement("queue.list_deliveries", ("text", "text", "int8", "int4"), OutgoingDeliveryRow)


class RetriedDeliveryRow(NamedTuple):
    delivery_id: int


RETRY_DELIVERY = Statement("queue.retry_delivery", ("text", "int8"), RetriedDeliveryRow, is_audited=True)


class RetriedDeliveriesRow(NamedTuple):
    """The number of deliveries that will be retried. `last_id` is the last delivery's id if more deliveries may
    follow."""

    retried: int
    last_id: int | None


RETRY_DELIVERIES = Statement(
    "queue.retry_deliveries", ("text", "text", "timestamptz", "int8", "int4"), RetriedDeliveriesRow, is_audited=True
)


class ExhaustedNumberRow(NamedTuple):
    """The number of given-up deliveries that a retry would take, up to a limit."""

    number: int


COUNT_EXHAUSTED = Statement("queue.count_exhausted", ("text", "text", "timestamptz", "int4"), ExhaustedNumberRow)


class DeliveryAttemptRow(NamedTuple):
    """An attempt to deliver. The first row has only `looked_at` and the id from which the search continues.

    `duration_ms` includes the time to connect. `sent_bytes` includes the request's head. `response` is the beginning of
    the response.
    """

    attempt_id: int | None
    looked_at: int | None
    recorded_at_ms: int
    delivery_id: int
    message_id: UUID
    subscription_arn: str | None
    endpoint: str
    attempt: int
    outcome: Literal["delivered", "retried", "given_up"]
    status: int | None
    error: str | None
    duration_ms: int | None
    sent_bytes: int | None
    response: str | None


LIST_DELIVERY_ATTEMPTS = Statement(
    "queue.list_delivery_attempts", ("text", "text", "bool", "timestamptz", "int8", "int4", "int4"), DeliveryAttemptRow
)


class DeliveryEndpointRow(NamedTuple):
    """An endpoint's results among the newest attempts of its account.

    `waiting` counts a paused endpoint's deliveries, up to 10,001.
    """

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


LIST_DELIVERY_ENDPOINTS = Statement("queue.list_delivery_endpoints", ("text", "int4"), DeliveryEndpointRow)


class FailedEndpointRow(NamedTuple):
    """An endpoint that is paused, fails, or has given-up deliveries. `given_up` counts the given-up deliveries that the
    database still keeps.

    `paused_at` is None if the endpoint is not paused. `stopped` means that a user paused the endpoint. `failing_since`
    is the time of the first failure since the last response, or None. `retried` counts the endpoint's deliveries that
    are being retried. `waiting` counts the deliveries of a paused endpoint.

    `again` counts the pending deliveries that were given up before a user retried them. `last_given_up_at` is the time
    at which the last of the given-up deliveries was given up, or None. `fails_since` is the time of the first failure
    since the last response, also of a paused endpoint, or None if the endpoint responded or has just failed. `confirms`
    is the ARN of the topic if the newest given-up delivery asks the endpoint to confirm a subscription, or None.
    """

    endpoint: str
    given_up: int
    given_up_at: datetime | None
    last_error: str | None
    paused_at: datetime | None
    stopped: bool
    failing_since: datetime | None = None
    retried: int = 0
    retry_error: str | None = None
    waiting: int = 0
    again: int = 0
    last_given_up_at: datetime | None = None
    fails_since: datetime | None = None
    confirms: str | None = None


LIST_FAILED_ENDPOINTS = Statement("queue.list_failed_endpoints", ("text", "int4", "int4"), FailedEndpointRow)


class KnownEndpointRow(NamedTuple):
    known: bool


PAUSE_DELIVERY_ENDPOINT = Statement(
    "queue.pause_delivery_endpoint", ("text", "text"), KnownEndpointRow, is_audited=True, changed="known"
)
RESUME_DELIVERY_ENDPOINT = Statement(
    "queue.resume_delivery_endpoint", ("text", "text"), KnownEndpointRow, is_audited=True, changed="known"
)


class TestTargetRow(NamedTuple):
    """The target of a test event to a URL, which is a topic's subscription or a binding. `raw` means that the message
    has no envelope."""

    topic_arn: str | None
    signature_version: str | None
    subscription_arn: str | None
    binding_id: int | None
    raw: bool


FIND_TEST_TARGET = Statement("queue.find_test_target", ("text", "text", "text"), TestTargetRow)


class SentTestRow(NamedTuple):
    """The stored delivery, or an error if the account has too many deliveries."""

    delivery_id: int
    error: str | None


SEND_TEST_WEBHOOK = Statement(
    "queue.send_test_webhook", ("text", "text", "int8", "uuid", "text", "text", "text"), SentTestRow, is_audited=True
)
