"""When an invocation of a function is tried again.

Sources: "Amazon SNS message delivery retries" (SNS Developer Guide), AWS-managed endpoints: 3 retries without delay, 2
one second apart, 10 from 1 to 20 seconds, 100,000 20 seconds apart. RetryPolicy (EventBridge Scheduler API Reference).
"""

from __future__ import annotations

from uuid import UUID

import pytest

from penstock.delivery.delivery import FUNCTION, SCHEDULE, Delivery
from penstock.delivery.functions.outcome import judge_answer, judge_failure, sns_delay
from penstock.delivery.http.connection import Answer
from penstock.sns.delivery_policy import Policy

ARN = "arn:aws:lambda:us-east-1:000000000000:function:f"


def delivery(kind: str, attempts: int = 0, policy: Policy | None = None) -> Delivery:
    return Delivery(
        1, "000000000000", "", ARN, kind, UUID(int=1), None, None, raw=True, policy=policy, attempts=attempts, body="{}"
    )  # fmt: skip


def test_the_phases_of_aws_managed_endpoints() -> None:
    delays = [sns_delay(n) for n in range(17)]
    assert delays[:5] == [0, 0, 0, 1, 1]
    backoff = [delay for delay in delays[5:15] if delay is not None]
    assert (backoff[0], backoff[-1], sorted(backoff)) == (1, 20, backoff)
    assert delays[15:] == [20, 20]
    assert (sns_delay(100_014), sns_delay(100_015)) == (20, None)


@pytest.mark.parametrize(
    ("status", "again"), [(429, True), (500, True), (503, True), (400, False), (404, False)]
)
def test_client_side_errors_of_subscriptions_are_final(status: int, again: bool) -> None:
    outcome = judge_answer(delivery(FUNCTION), Answer(status, b""))
    assert (outcome.status, outcome.delay_ms is not None) == (status, again)


def test_an_invocation_that_lambda_takes() -> None:
    assert judge_answer(delivery(FUNCTION), Answer(202, b"")).error is None


def test_the_name_of_the_error() -> None:
    named = Answer(404, b"", {b"x-amzn-errortype": b"ResourceNotFoundException:http://internal/"})
    assert (
        judge_answer(delivery(FUNCTION), named).error == "ResourceNotFoundException: Lambda has answered 404"
    )
    assert (
        judge_answer(delivery(FUNCTION), Answer(429, b"")).error
        == "TooManyRequestsException: Lambda has answered 429"
    )


@pytest.mark.parametrize(
    ("attempts", "most", "left", "delay"),
    [(0, 185, 86_400, 1), (3, 185, 86_400, 8), (20, 185, 86_400, 300), (0, 0, 86_400, None), (2, 2, 9, None),
     (3, 185, 7, None), (3, 185, 8, 8)],
)  # fmt: skip
def test_schedules_are_tried_as_their_retry_policy_says(
    attempts: int, most: int, left: float, delay: int | None
) -> None:
    """Also after a client-side error, as for targets that are queues."""
    given = delivery(SCHEDULE, attempts, {"MaximumRetryAttempts": most, "SecondsLeft": left})
    expected = None if delay is None else delay * 1000
    assert judge_answer(given, Answer(404, b"")).delay_ms == expected
    assert judge_failure(given, "no answer").delay_ms == expected
