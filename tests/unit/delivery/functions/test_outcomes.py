"""Tests the retries of a function's invocation.

Sources: "Amazon SNS message delivery retries" (SNS Developer Guide), AWS-managed endpoints: 3 retries without delay, 2
one second apart, 10 from 1 to 20 seconds, 100,000 20 seconds apart. RetryPolicy (EventBridge Scheduler API Reference).

Some tests have no credentials, because their service is down or answers with an error.
"""

from __future__ import annotations

import threading
from uuid import UUID

import botocore.session
import pytest
from botocore.exceptions import CredentialRetrievalError

from penstock.aws.function_arn import parse_function
from penstock.delivery.delivery import FUNCTION, SCHEDULE, Delivery
from penstock.delivery.functions import client, request
from penstock.delivery.functions.carrier import FunctionCarrier
from penstock.delivery.functions.client import FunctionClient
from penstock.delivery.functions.configuration import UNKNOWN, read_function_state
from penstock.delivery.functions.outcome import compute_sns_delay, judge_answer, judge_failure
from penstock.delivery.http.connection import Answer
from penstock.delivery.http.sender import Sender
from penstock.event_sources.invocation import FunctionThrottled, Invoker
from penstock.settings import Settings
from penstock.sns.delivery_policy import Policy

ARN = "arn:aws:lambda:us-east-1:000000000000:function:f"


def delivery(kind: str, attempts: int = 0, policy: Policy | None = None) -> Delivery:
    return Delivery(
        1, "000000000000", "", ARN, kind, UUID(int=1), None, None, raw=True, policy=policy, attempts=attempts, body="{}"
    )  # fmt: skip


def test_the_phases_of_aws_managed_endpoints() -> None:
    delays = [compute_sns_delay(n) for n in range(17)]
    assert delays[:5] == [0, 0, 0, 1, 1]
    backoff = [delay for delay in delays[5:15] if delay is not None]
    assert (backoff[0], backoff[-1], sorted(backoff)) == (1, 20, backoff)
    assert delays[15:] == [20, 20]
    assert (compute_sns_delay(100_014), compute_sns_delay(100_015)) == (20, None)


@pytest.mark.parametrize(("status", "again"), [(429, True), (500, True), (503, True), (400, False), (404, False)])
def test_client_side_errors_of_subscriptions_are_final(status: int, again: bool) -> None:
    outcome = judge_answer(delivery(FUNCTION), Answer(status, b""))
    assert (outcome.status, outcome.delay_ms is not None) == (status, again)


def test_an_invocation_that_lambda_takes() -> None:
    assert judge_answer(delivery(FUNCTION), Answer(202, b"")).error is None


def test_the_name_of_the_error() -> None:
    named = Answer(404, b"", {b"x-amzn-errortype": b"ResourceNotFoundException:http://internal/"})
    assert judge_answer(delivery(FUNCTION), named).error == "ResourceNotFoundException: Lambda has answered 404"
    assert (
        judge_answer(delivery(FUNCTION), Answer(429, b"")).error == "TooManyRequestsException: Lambda has answered 429"
    )


@pytest.mark.parametrize(
    ("attempts", "most", "left", "delay"),
    [(0, 185, 86_400, 1), (3, 185, 86_400, 8), (20, 185, 86_400, 300), (0, 0, 86_400, None), (2, 2, 9, None),
     (3, 185, 7, None), (3, 185, 8, 8)],
)  # fmt: skip
def test_schedules_are_tried_as_their_retry_policy_says(
    attempts: int, most: int, left: float, delay: int | None
) -> None:
    """Client-side errors count, as for queues as targets."""
    given = delivery(SCHEDULE, attempts, {"MaximumRetryAttempts": most, "SecondsLeft": left})
    expected = None if delay is None else delay * 1000
    assert judge_answer(given, Answer(404, b"")).delay_ms == expected
    assert judge_failure(given, "no answer").delay_ms == expected


ADDRESS = "http://127.0.0.1:1"


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def get_credentials(self) -> None:
            raise CredentialRetrievalError(provider="container-role", error_msg="timed out")

    monkeypatch.setattr(botocore.session, "get_session", Session)
    request._find_credentials.cache_clear()


@pytest.mark.usefixtures("no_credentials")
async def test_an_invocation_fails_as_if_lambda_could_not_be_reached() -> None:
    invoker = Invoker(Settings.read({"QUEUE_LAMBDA_ENDPOINT": ADDRESS}))
    with pytest.raises(FunctionThrottled, match="cannot be reached"):
        await invoker.invoke("f", "000000000000", "us-east-1", b"{}", 5)
    await invoker.close()


@pytest.mark.usefixtures("no_credentials")
def test_a_functions_timeout_is_not_known() -> None:
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    assert read_function_state(ADDRESS, function) == UNKNOWN


async def test_signing_takes_no_longer_than_the_invocation_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a function would get messages after its lease, although others may have received these messages."""

    answered = threading.Event()

    def wait_for_credentials(*_: object) -> dict[str, str]:
        answered.wait()
        return {}

    monkeypatch.setattr(client, "sign_request", wait_for_credentials)

    invoker = FunctionClient(ADDRESS, 1)
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    try:
        with pytest.raises(TimeoutError):
            await invoker.invoke(function, b"{}", 0.1, "Event")
    finally:
        answered.set()
        await invoker.close()


async def test_a_delivery_that_is_no_event_has_an_outcome() -> None:
    """Otherwise the worker would retry the delivery after each lease forever."""
    settings = Settings.read({"QUEUE_LAMBDA_ENDPOINT": ADDRESS})
    carrier = FunctionCarrier(settings, FunctionClient(ADDRESS, 1))
    arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
    delivery = Delivery(
        1, "000000000000", "", arn, FUNCTION, UUID(int=1), None, None, raw=True, policy=None, attempts=0,
        body="no envelope",
    )  # fmt: skip
    assert (await carrier.carry(delivery)).error == "ServiceException: the function was not invoked"


@pytest.mark.parametrize(("status", "looks"), [(403, 2), (200, 1)])
async def test_missing_credentials_are_looked_for_again_once_lambda_refuses(
    monkeypatch: pytest.MonkeyPatch, status: int, looks: int
) -> None:
    """At first the credentials' service may be down. Invocations wait for new credentials only after a refusal."""
    found: list[None] = []

    class Session:
        def get_credentials(self) -> None:
            found.append(None)

    async def answer(*_: object) -> Answer:
        return Answer(status, None)

    monkeypatch.setattr(botocore.session, "get_session", Session)
    monkeypatch.setattr(Sender, "post", answer)
    request._find_credentials.cache_clear()
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    invoker = FunctionClient(ADDRESS, 0)
    for _ in range(2):
        await invoker.invoke(function, b"{}", 5, "Event")
    await invoker.close()
    assert len(found) == looks
    request._find_credentials.cache_clear()
