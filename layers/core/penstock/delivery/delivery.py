"""A delivery that a worker has leased: one message for one endpoint."""

from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from penstock.postgres.statements.deliveries import ClaimedDeliveryRow
from penstock.sns.delivery_policy import Policy, compute_effective_policy

EVENT: Final = "event"
"""The `kind` of events of the REST API."""
GATEWAY: Final = "gateway"
"""The `kind` of text messages and pushes for the installation's gateway."""
MAIL: Final = "mail"
"""The `kind` of mails with any SNS message type."""
ALERT: Final = "alert"
"""The `kind` of alerts for URLs. The delivery's `password` is the secret URL."""
FUNCTION: Final = "lambda"
"""The `kind` of SNS messages for Lambda functions."""
SCHEDULE: Final = "schedule"
"""The `kind` of schedules' invocations of functions. The delivery's `policy` limits the number and time of retries."""
URL_KINDS: Final = (EVENT, ALERT, "Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation")
"""The kinds of messages for URLs: events, alerts, and SNS message types."""


class Delivery(NamedTuple):
    """A leased delivery. `policy` is the effective policy, or None for the defaults. `attempts` counts known outcomes.

    `password` is the password that `****` replaces in the endpoint's URL, or the whole URL of an alert.
    """

    delivery_id: int
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
    password: str | None = None


_effective = lru_cache(1_000)(compute_effective_policy)


def _parse_policy(row: ClaimedDeliveryRow) -> Policy | None:
    if row.retry_policy is not None:
        policy: Policy = msgspec.json.decode(row.retry_policy)
        return policy
    own, topic = row.subscription_policy, row.topic_policy
    return None if own is None and topic is None else _effective(own, topic)


def read_delivery(row: ClaimedDeliveryRow) -> Delivery:
    """Builds a delivery from its row, which has the policies of the subscription and the topic, or of a schedule."""
    return Delivery(
        delivery_id=row.delivery_id,
        account_id=row.account_id,
        endpoint_key=row.endpoint_key,
        endpoint=row.endpoint,
        kind=row.kind,
        message_id=row.message_id,
        topic_arn=row.topic_arn,
        subscription_arn=row.subscription_arn,
        raw=row.raw,
        policy=_parse_policy(row),
        attempts=row.attempts,
        body=row.body,
        password=row.password,
    )
