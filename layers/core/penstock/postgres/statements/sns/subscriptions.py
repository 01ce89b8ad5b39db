"""Subscriptions of topics."""

from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement


class AddedSubscriptionRow(NamedTuple):
    """The new or existing subscription, or an error."""

    arn: str | None
    confirmed: bool
    error: str | None


ADD_SUBSCRIPTION = Statement(
    "queue.add_subscription",
    (
        "text",
        "uuid",
        "text",
        "text",
        "text",
        "jsonb",
        "jsonb",
        "text",
        "text",
        "int4",
        "int4",
        "jsonb",
        "text",
        "jsonb",
        "text",
    ),
    AddedSubscriptionRow,
    is_audited=True,
)


class ConfirmedSubscriptionRow(NamedTuple):
    """The subscription to which the token belongs, or an error."""

    arn: str | None
    error: str | None


CONFIRM_SUBSCRIPTION = Statement(
    "queue.confirm_subscription", ("text", "text", "bool"), ConfirmedSubscriptionRow, is_audited=True
)


class SubscriptionErrorRow(NamedTuple):
    error: str | None


DROP_SUBSCRIPTION = Statement(
    "queue.drop_subscription", ("text", "bool", "text"), SubscriptionErrorRow, is_audited=True
)


class ListedSubscriptionRow(NamedTuple):
    subscription_id: str
    arn: str
    owner: str
    protocol: str
    endpoint: str
    topic_arn: str
    confirmed: bool


LIST_SUBSCRIPTIONS = Statement(
    "queue.list_subscription_page", ("text", "text", "text", "uuid", "int4"), ListedSubscriptionRow
)


class SubscriptionRow(NamedTuple):
    """A subscription. `attributes` is JSON. `topic_delivery_policy` is the topic's policy, or None if the topic has no
    policy.

    `principal` is the ARN of the subscribing user, and is unknown for subscriptions from before 0.1.0. `replay_status`
    is None for a subscription without a replay.
    """

    attributes: str
    owner: str
    protocol: str
    endpoint: str
    topic_arn: str
    confirmed: bool
    authenticated: bool
    topic_delivery_policy: str | None
    principal: str | None
    replay_status: str | None


DESCRIBE_SUBSCRIPTION = Statement("queue.describe_subscription", ("text",), SubscriptionRow)
SET_SUBSCRIPTION_ATTRIBUTES = Statement(
    "queue.set_subscription_attributes",
    ("text", "jsonb", "jsonb", "jsonb", "int4", "int4", "jsonb"),
    SubscriptionErrorRow,
    is_audited=True,
)


class QueueSubscriptionRow(NamedTuple):
    """A subscription that delivers to a queue, or whose dead-letter queue is the queue."""

    subscription_id: UUID
    owner: str
    topic_arn: str


SUBSCRIPTIONS_OF_QUEUE = Statement("queue.subscriptions_of_queue", ("text",), QueueSubscriptionRow)


class ForeignSubscriptionRow(NamedTuple):
    """A subscription that delivers to another account's queue, with that queue's policy.

    `is_dead_letter_queue` means that the subscription's RedrivePolicy names the queue.
    """

    arn: str
    owner: str
    topic_arn: str
    queue_arn: str
    policy: str | None
    is_dead_letter_queue: bool


FOREIGN_SUBSCRIPTIONS = Statement("queue.foreign_subscriptions", (), ForeignSubscriptionRow)


class FoundSubscriptionRow(NamedTuple):
    found: bool


REFUSE_DEAD_LETTER_QUEUE = Statement("queue.refuse_dead_letter_queue", ("text",), FoundSubscriptionRow)
