"""The outcome of an attempt: delivered, retried after some seconds, or given up.

SNS ("Fanout Amazon SNS notifications to HTTPS endpoints"): 5xx and 429 are retried by the delivery policy, all other
statuses except 2xx are permanent failures; no answer is a failed attempt. Events of the REST API: every status except
2xx is retried after 10, 30, 60 and 300 seconds. A gateway is retried as text messages and mobile push are ("Amazon SNS
message delivery retries": customer managed endpoints, 50 attempts over 6 hours), and so is e-mail (SMTP).
"""

from typing import Final, NamedTuple

from penstock.sns.delivery_policy import retry_delays

from .endpoint import EndpointInvalid, EndpointRefused
from .request import EVENT, GATEWAY, MAIL, Delivery
from .resolver import ResolverBusyError

EVENT_DELAYS: Final = (10.0, 30.0, 60.0, 300.0)
GATEWAY_DELAYS: Final = tuple(
    retry_delays({
        "minDelayTarget": 10, "maxDelayTarget": 600, "numRetries": 50, "numMinDelayRetries": 2,
        "numMaxDelayRetries": 38, "backoffFunction": "exponential",
    })
)  # fmt: skip
_FIXED_DELAYS: Final = {EVENT: EVENT_DELAYS, GATEWAY: GATEWAY_DELAYS, MAIL: GATEWAY_DELAYS}
MOST_ERROR_CHARACTERS: Final = 200
NOT_ATTEMPTED: Final = 0
BUSY_DELAY_MS: Final = 1_000


class Outcome(NamedTuple):
    """What the worker writes to the webhook's row. `error`: None when it was delivered.

    `status`: None when no answer came; NOT_ATTEMPTED: nothing was sent, and no attempt is used up.
    `delay_ms`: until the next attempt; None: no other attempt. `health` of the endpoint: 1 it answers, -1 it fails, 0
    the attempt shows nothing about it. `sent_bytes`: the request with its head; None: it is not known.
    `answer`: how the answer began.
    """

    status: int | None
    error: str | None
    delay_ms: int | None
    health: int
    sent_bytes: int | None = None
    answer: str | None = None


def answered(delivery: Delivery, status: int) -> Outcome:
    """The endpoint answered."""
    if 200 <= status < 300:
        return Outcome(status, None, None, 1)
    failing = status >= 500 or status == 429
    delay = next_delay_ms(delivery) if failing or delivery.kind == EVENT else None
    return Outcome(status, f"HTTP status {status}", delay, -1 if failing else 1)


def unanswered(delivery: Delivery, error: Exception) -> Outcome:
    """No answer came: refused by the guard, no connection, connection closed, or timed out."""
    text = (str(error) or type(error).__name__)[:MOST_ERROR_CHARACTERS]
    if isinstance(error, ResolverBusyError):
        return Outcome(NOT_ATTEMPTED, text, BUSY_DELAY_MS, 0)
    delay = None if isinstance(error, EndpointInvalid) else next_delay_ms(delivery)
    return Outcome(None, text, delay, 0 if isinstance(error, EndpointRefused) else -1)


def next_delay_ms(delivery: Delivery) -> int | None:
    """Milliseconds until the attempt after the one that just failed; None when it was the last."""
    delays = _FIXED_DELAYS.get(delivery.kind) or retry_delays(
        (delivery.policy or {}).get("healthyRetryPolicy") or {}
    )
    return round(delays[delivery.attempts] * 1000) if delivery.attempts < len(delays) else None
