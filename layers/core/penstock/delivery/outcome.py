"""The outcome of an attempt, and the pause until the next one.

SNS ("Amazon SNS message delivery retries"): a URL is retried by the delivery policy. Text messages, mobile push and
e-mail (SMTP), customer managed endpoints, are retried 50 times over 6 hours. Events of the REST API are retried after
10, 30, 60 and 300 seconds. Functions have pauses of their own (functions/outcome.py).
"""

from typing import Final, NamedTuple

from penstock.sns.delivery_policy import retry_delays

from .delivery import EVENT, GATEWAY, MAIL, Delivery

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
"""`status`: nothing was sent, and no attempt is used up."""

ANSWERS: Final = 1
"""`health`: the endpoint answers."""
BOUNCED: Final = 2
"""`health`: the mail server answers, and refuses the recipient for good."""
FAILS: Final = -1
"""`health`: the endpoint fails."""
SHOWS_NOTHING: Final = 0
"""`health`: the attempt shows nothing about the endpoint."""


class Outcome(NamedTuple):
    """What the worker writes to the delivery's row. `error`: None when it was delivered.

    `status`: None when no answer came, or NOT_ATTEMPTED. `delay_ms`: until the next attempt; None: no other attempt.
    `health` of the endpoint: ANSWERS, BOUNCED, FAILS or SHOWS_NOTHING. `sent_bytes`: the request with its head; None:
    it is not known. `answer`: how the answer began.
    """

    status: int | None
    error: str | None
    delay_ms: int | None
    health: int
    sent_bytes: int | None = None
    answer: str | None = None


def next_delay_ms(delivery: Delivery) -> int | None:
    """Milliseconds until the attempt after the one that just failed; None when it was the last."""
    delays = _FIXED_DELAYS.get(delivery.kind) or retry_delays(
        (delivery.policy or {}).get("healthyRetryPolicy") or {}
    )
    return round(delays[delivery.attempts] * 1000) if delivery.attempts < len(delays) else None
