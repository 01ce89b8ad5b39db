"""Tests the retries of function invocations and e-mail, and the warnings.

"Amazon SNS message delivery retries" (SNS Developer Guide) defines the retries of AWS-managed endpoints: 3 retries
without delay, 2 one second apart, 10 from 1 to 20 seconds, and 100,000 at intervals of 20 seconds. The source for
schedules is RetryPolicy (EventBridge Scheduler API Reference).

In some tests, the service that provides the credentials is down or returns an error.
"""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Any
from uuid import UUID, uuid4

import botocore.session
import pytest
from botocore.exceptions import CredentialRetrievalError

from penstock.aws.function_arn import parse_function
from penstock.delivery.delivery import FUNCTION, SCHEDULE, Delivery
from penstock.delivery.functions import client, request
from penstock.delivery.functions.carrier import FunctionCarrier
from penstock.delivery.functions.client import FunctionClient
from penstock.delivery.functions.configuration import UNKNOWN, read_function_state
from penstock.delivery.functions.outcome import compute_sns_delay, judge_failure, judge_response
from penstock.delivery.http.connection import Response
from penstock.delivery.http.outcome import describe_failure
from penstock.delivery.http.sender import Sender
from penstock.delivery.mail.outcome import is_bounce
from penstock.delivery.outcome import Claimed, Finished, Outcome
from penstock.delivery.warnings import SECONDS_BETWEEN_RECORDS, DeliveryWarnings, hide_secrets
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
    outcome = judge_response(delivery(FUNCTION), Response(status, b""))
    assert (outcome.status, outcome.delay_ms is not None) == (status, again)


def test_an_invocation_that_lambda_takes() -> None:
    assert judge_response(delivery(FUNCTION), Response(202, b"")).error is None


def test_the_name_of_the_error() -> None:
    named = Response(404, b"", {b"x-amzn-errortype": b"ResourceNotFoundException:http://internal/"})
    assert judge_response(delivery(FUNCTION), named).error == "ResourceNotFoundException: Lambda has answered 404"
    assert (
        judge_response(delivery(FUNCTION), Response(429, b"")).error
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
    """Client-side errors also lead to retries, as for targets that are queues."""
    given = delivery(SCHEDULE, attempts, {"MaximumRetryAttempts": most, "SecondsLeft": left})
    expected = None if delay is None else delay * 1000
    assert judge_response(given, Response(404, b"")).delay_ms == expected
    assert judge_failure(given, "no response").delay_ms == expected


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
    """If signing could take longer, a function could receive messages after their lease, when other consumers may have
    received them."""

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
    """If an error escaped, the worker would retry the delivery after each lease without end."""
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
    """The service that provides the credentials can be down at first. Invocations wait for new credentials only after a
    refusal."""
    found: list[None] = []

    class Session:
        def get_credentials(self) -> None:
            found.append(None)

    async def response(*_: object) -> Response:
        return Response(status, None)

    monkeypatch.setattr(botocore.session, "get_session", Session)
    monkeypatch.setattr(Sender, "post", response)
    request._find_credentials.cache_clear()
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    invoker = FunctionClient(ADDRESS, 0)
    for _ in range(2):
        await invoker.invoke(function, b"{}", 5, "Event")
    await invoker.close()
    assert len(found) == looks
    request._find_credentials.cache_clear()


# --- outcome ---------------------------------------------------------------------------------------------------------
# Tests which refusals concern the address or its mailbox: RFC 3463, 3.2 and 3.3. Without such codes: RFC 5321, 4.2.3.


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (550, "5.1.1 no such user", True),
        (550, "no such user", True),
        (551, "User not local", True),
        (553, "mailbox name not allowed", True),
        (552, "5.2.2 mailbox full", True),
        (550, "5.7.1 relaying denied", False),
        (554, "5.7.1 your address is blocked", False),
        (554, "transaction failed", False),
        (552, "message too long", False),
        (554, "5.6.0 not wanted", False),
        (550, "15.1.1 of something else", True),
    ],
)
def test_a_bounce_is_a_refusal_of_the_mailbox(code: int, text: str, expected: bool) -> None:
    assert is_bounce(code, text) is expected


# --- warnings --------------------------------------------------------------------------------------------------------
# Tests the warnings in the log about abandoned deliveries and paused endpoints.

URL = "https://user:secret@a.test:8443/hook?token=secret"


def finished(delay_ms: int | None, error: str | None = "status 503") -> Finished:
    delivery = Delivery(1, "000000000000", f"000000000000 {URL}", URL, "event", uuid4(), None, None, False, None, 0, "")
    return Finished(Claimed(delivery, uuid4()), Outcome(503, error, delay_ms, -1))


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[Any, ...]]:
    names = ("levelname", "message", "endpoint", "deliveries", "cause")
    found = [tuple(getattr(one, name, None) for name in names) for one in caplog.records]
    caplog.clear()
    return found


def test_each_endpoint_has_one_record_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    warnings = DeliveryWarnings(lambda: now[0])
    warnings.log([finished(1000), finished(None, None)], [])
    assert records(caplog) == []
    given_up = ("WARNING", "deliveries were given up", "https://a.test:8443/hook")
    warnings.log([finished(None), finished(None)], [])
    assert records(caplog) == [(*given_up, 2, "status 503")]
    warnings.log([finished(None)] * 3, [])
    assert records(caplog) == []
    now[0] += SECONDS_BETWEEN_RECORDS
    warnings.log([finished(None)], [])
    assert records(caplog) == [(*given_up, 4, "status 503")]


def test_the_beginning_of_a_pause_has_a_record(caplog: pytest.LogCaptureFixture) -> None:
    DeliveryWarnings().log([], [URL])
    paused = ("WARNING", "deliveries to an endpoint are paused", "https://a.test:8443/hook", None, "its attempts fail")
    assert records(caplog) == [paused]


def test_a_failing_host_has_one_record_a_minute_and_one_when_it_answers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    now = [0.0]
    warnings = DeliveryWarnings(lambda: now[0])
    other = URL.replace("hook", "other")
    fails, responses = ("WARNING", "an endpoint fails"), ("INFO", "an endpoint answers again")
    for _ in range(2):
        warnings.log_changes([URL, other], [])
        warnings.log_changes([], [URL, other])
        assert [record[:3] for record in records(caplog)] == [
            (*fails, "https://a.test:8443/hook"),
            (*responses, "https://a.test:8443/hook"),
        ]
        now[0] += SECONDS_BETWEEN_RECORDS


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        (URL, "https://a.test:8443/hook"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("arn:aws:lambda:us-east-1:1:function:f", "arn:aws:lambda:us-east-1:1:function:f"),
    ],
)
def test_an_endpoint_is_shown_without_secrets(endpoint: str, shown: str) -> None:
    assert hide_secrets(endpoint) == shown


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 21381)"), "Connection refused"),
        (TimeoutError(110, "[Errno 110] Connect call failed ('10.0.0.1', 80)"), "Connection timed out"),
        (OSError(113, "x"), "No route to host"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (ConnectionResetError(), "ConnectionResetError"),
        (ssl.SSLError(1, "certificate verify failed"), "certificate verify failed"),
        (ValueError("no response"), "no response"),
    ],
)
def test_an_error_of_the_system_has_no_number(error: Exception, text: str) -> None:
    assert describe_failure(error) == text
