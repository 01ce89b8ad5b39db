"""The outcome of an attempt, and the pause until the next attempt.

On SNS, the delivery policy determines the retries of a URL ("Amazon SNS message delivery retries"). SNS retries text
messages, mobile push and e-mail (SMTP) 50 times over 6 hours (customer managed endpoints), and the worker retries
alerts in the same way. The worker retries events of the REST API after 10, 30, 60 and 300 seconds. functions/outcome.py
defines the pauses of functions.
"""

from typing import Final, NamedTuple
from uuid import UUID

from penstock.observing.trace_context import TraceContext
from penstock.sns.delivery_policy import retry_delays

from .delivery import ALERT, EVENT, GATEWAY, MAIL, Delivery

EVENT_DELAYS: Final = (10.0, 30.0, 60.0, 300.0)
GATEWAY_DELAYS: Final = tuple(
    retry_delays({
        "minDelayTarget": 10, "maxDelayTarget": 600, "numRetries": 50, "numMinDelayRetries": 2,
        "numMaxDelayRetries": 38, "backoffFunction": "exponential",
    })
)  # fmt: skip
_FIXED_DELAYS: Final = {EVENT: EVENT_DELAYS, GATEWAY: GATEWAY_DELAYS, MAIL: GATEWAY_DELAYS, ALERT: GATEWAY_DELAYS}
MAX_ERROR_CHARACTERS: Final = 200
NOT_ATTEMPTED: Final = 0
"""The value of `status` if the worker sent no request, so that the attempt does not count."""

RESPONDS: Final = 1
"""The value of `health` for an endpoint that responds."""
BOUNCED: Final = 2
"""The value of `health` if the mail server responds, but permanently refuses the recipient."""
FAILS: Final = -1
"""The value of `health` for an endpoint that fails."""
SHOWS_NOTHING: Final = 0
"""The value of `health` if the attempt does not show the endpoint's state."""


class Outcome(NamedTuple):
    """The values that the worker writes to the delivery's row. `error` is None if the message was delivered.

    `status` is None if no response arrived, and NOT_ATTEMPTED if the attempt does not count. `delay_ms` is the time
    until the next attempt, or None after the last attempt. `health` describes the endpoint: RESPONDS, BOUNCED, FAILS or
    SHOWS_NOTHING. `sent_bytes` is the size of the request's head and body, or None if the size is unknown. `response`
    is the beginning of the response's body.
    """

    status: int | None
    error: str | None
    delay_ms: int | None
    health: int
    sent_bytes: int | None = None
    response: str | None = None


class Claimed(NamedTuple):
    """A delivery, the worker's lease and, if the store is traced, the span that published the message."""

    delivery: Delivery
    lease: UUID
    trace: TraceContext | None = None


class Finished(NamedTuple):
    """An attempt whose outcome is not yet in the database. `duration_ms` includes the time to connect."""

    claimed: Claimed
    outcome: Outcome
    duration_ms: int | None = None


def compute_next_delay_ms(delivery: Delivery) -> int | None:
    """Returns the milliseconds until the next attempt after a failed attempt, or None after the last attempt."""
    delays = _FIXED_DELAYS.get(delivery.kind) or retry_delays((delivery.policy or {}).get("healthyRetryPolicy") or {})
    return round(delays[delivery.attempts] * 1000) if delivery.attempts < len(delays) else None
