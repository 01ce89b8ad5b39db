"""Interprets Lambda's response to an asynchronous invocation.

A 2xx response means that Lambda has accepted the event. Lambda retries the function itself.

After 429, 5xx or no response, the worker retries a subscription's delivery as SNS retries AWS-managed endpoints. After
any other response, the worker gives up a subscription's delivery, because SNS does not retry client-side errors. The
worker retries a schedule's invocation after every response except 2xx, as the schedule's RetryPolicy specifies.

Sources: "Amazon SNS message delivery retries" (AWS-managed endpoints) and "Amazon SNS dead-letter queues" (SNS
Developer Guide); RetryPolicy (EventBridge Scheduler API Reference). AWS says only that a schedule's pauses grow, so the
pauses are Penstock's choice.
"""

import re
from typing import Final

from penstock.delivery.delivery import SCHEDULE, Delivery
from penstock.delivery.http.connection import Response
from penstock.delivery.outcome import FAILS, MAX_ERROR_CHARACTERS, RESPONDS, SHOWS_NOTHING, Outcome
from penstock.sns.delivery_policy import retry_delays

SNS_DELAYS: Final = tuple(
    retry_delays({
        "minDelayTarget": 1, "maxDelayTarget": 20, "numRetries": 15, "numNoDelayRetries": 3, "numMinDelayRetries": 2,
        "numMaxDelayRetries": 0, "backoffFunction": "exponential",
    })
)  # fmt: skip
LATER_SNS_SECONDS: Final = 20.0
MAX_SNS_RETRIES: Final = len(SNS_DELAYS) + 100_000
MAX_SCHEDULE_SECONDS: Final = 300.0

_ERRORS: Final = {
    400: "InvalidRequestContentException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    413: "RequestTooLargeException",
    429: "TooManyRequestsException",
}
"""The errors of statuses whose responses contain no error name ("Invoke", AWS Lambda API reference)."""
_name = re.compile(rb"[A-Za-z]{1,80}").match


def judge_response(delivery: Delivery, response: Response) -> Outcome:
    status = response.status
    if 200 <= status < 300:
        return Outcome(status, None, None, RESPONDS)
    named = _name(response.headers.get(b"x-amzn-errortype", b""))
    error = named[0].decode() if named else _ERRORS.get(status, "ServiceException")
    failing = status == 429 or status >= 500
    delay = compute_invocation_delay_ms(delivery) if failing or delivery.kind == SCHEDULE else None
    return Outcome(status, f"{error}: Lambda has answered {status}", delay, FAILS if failing else RESPONDS)


def judge_failure(delivery: Delivery, text: str) -> Outcome:
    """Returns the outcome if Lambda cannot be reached."""
    return Outcome(
        None, f"ServiceException: {text}"[:MAX_ERROR_CHARACTERS], compute_invocation_delay_ms(delivery), FAILS
    )


def refuse_invocation(delivery: Delivery, text: str) -> Outcome:
    """Returns the outcome if this installation refuses to invoke the function.

    The carrier sends no request, but the attempt counts.
    """
    delay = compute_invocation_delay_ms(delivery) if delivery.kind == SCHEDULE else None
    return Outcome(None, f"AccessDeniedException: {text}"[:MAX_ERROR_CHARACTERS], delay, SHOWS_NOTHING)


def compute_invocation_delay_ms(delivery: Delivery) -> int | None:
    """Returns the milliseconds until the next attempt, or None after the last attempt."""
    seconds = schedule_delay(delivery) if delivery.kind == SCHEDULE else compute_sns_delay(delivery.attempts)
    return None if seconds is None else round(seconds * 1000)


def compute_sns_delay(attempts: int) -> float | None:
    """Returns the seconds until the next attempt. `attempts` does not include the attempt that just failed."""
    if attempts >= MAX_SNS_RETRIES:
        return None
    return SNS_DELAYS[attempts] if attempts < len(SNS_DELAYS) else LATER_SNS_SECONDS


def schedule_delay(delivery: Delivery) -> float | None:
    """Returns the delay of a schedule's invocation. The schedule's policy limits the number of retries and the
    invocation's age."""
    policy = delivery.policy or {}
    seconds = min(MAX_SCHEDULE_SECONDS, 2.0 ** min(delivery.attempts, 10))
    if delivery.attempts >= policy["MaximumRetryAttempts"] or seconds > policy["SecondsLeft"]:
        return None
    return seconds
