"""Tests a caller's number of requests per second, with a clock that the test sets.

Also tests the failures of callers by address.

Also tests the counting of addresses by limits. Source: RFC 6177 (a site has at least a /64).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.access import failures, request_rate
from penstock.access.failures import MOST_ADDRESSES, MOST_FAILURES, WINDOW_SECONDS, FailureCounter, rate_limit_key
from penstock.access.request_rate import MOST_CALLERS, RequestRate
from penstock.environment import Environment
from penstock.errors import RequestThrottled
from penstock.gateway import decode, encode
from penstock.http import HttpRequest
from penstock.settings import Settings
from penstock.sqs.types import Message, ReceiveMessageResult

Move = Callable[[float], None]


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Move:
    now = 1000.0

    def by(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(request_rate, "monotonic", lambda: now)
    return by


def admitted(rate: RequestRate, caller: str, requests: int) -> int:
    number = 0
    for _ in range(requests):
        try:
            rate.check(caller)
        except RequestThrottled as refusal:
            assert refusal.retry_after_seconds == 1  # noqa: PT017 - there may be none
        else:
            number += 1
    return number


@pytest.mark.parametrize("per_second", [1, 7, 1000])
def test_a_seconds_worth_at_once_and_then_at_that_rate(move: Move, per_second: int) -> None:
    rate = RequestRate(per_second)
    assert admitted(rate, "a", 2 * per_second) == per_second
    for _ in range(3):
        move(1.0001)
        assert admitted(rate, "a", 2 * per_second) == per_second
    move(3600)
    assert admitted(rate, "a", 2 * per_second) == per_second  # Unused requests do not accumulate.


def test_at_an_even_pace_nobody_is_refused(move: Move) -> None:
    rate = RequestRate(4)
    for _ in range(100):
        move(0.2501)
        rate.check("a")


@pytest.mark.parametrize(("size", "requests"), [(0, 1), (1, 1), (65_536, 1), (65_537, 2), (1_048_576, 16)])
def test_each_64_kib_of_a_request_is_one(move: Move, size: int, requests: int) -> None:
    rate = RequestRate(100)
    rate.check("a", size)
    assert admitted(rate, "a", 200) == 100 - requests


@pytest.mark.parametrize(("size", "requests"), [(0, 0), (1, 0), (65_536, 0), (65_537, 1), (1_048_576, 15)])
def test_each_further_64_kib_of_an_answer_is_one(move: Move, size: int, requests: int) -> None:
    """An answer without a body (204) returns no requests to the caller."""
    rate = RequestRate(100)
    rate.check("a")
    rate.count_answer("a", size)
    assert admitted(rate, "a", 200) == 99 - requests


def test_a_long_request_is_let_through_and_paid_for_later(move: Move) -> None:
    """1 MiB takes 3.2 s at 5 requests per second."""
    rate = RequestRate(5)
    rate.check("a", 1_048_576)
    move(2.1)
    assert admitted(rate, "a", 1) == 0
    move(1.2)
    assert admitted(rate, "a", 9) == 5


def test_bodies_of_requests_and_answers_count(move: Move) -> None:
    """With QUEUE_ACCESS=off, a long call of AWS's protocols costs 16 for the request and 15 for the answer."""
    environment = Environment(Settings.read({"QUOTA_REQUESTS_PER_SECOND": "100"}), None)  # type: ignore[arg-type] # no request here has a receipt
    rate = environment.request_rate
    assert rate is not None
    headers = {b"x-amz-target": b"AmazonSQS.ReceiveMessage", b"content-type": b"application/x-amz-json-1.0"}
    body = b'{"QueueUrl": "q"}'.ljust(1_048_576)
    call = decode(HttpRequest("POST", "/", b"", headers, body, "192.0.2.1"), environment)
    encode(call, ReceiveMessageResult([Message(body="x" * 1_000_000)]))
    assert admitted(rate, "192.0.2.1", 200) == 100 - 16 - 15


def test_looking_counts_nothing(move: Move) -> None:
    rate = RequestRate(2)
    for _ in range(9):
        rate.check_before("a")
    assert admitted(rate, "a", 9) == 2
    with pytest.raises(RequestThrottled):
        rate.check_before("a")


def test_callers_do_not_count_for_each_other(move: Move) -> None:
    rate = RequestRate(2)
    assert admitted(rate, "a", 5) == 2
    assert admitted(rate, "b", 5) == 2


def test_it_remembers_a_bounded_number_of_callers(move: Move) -> None:
    rate = RequestRate(1)
    for n in range(MOST_CALLERS):
        rate.check(str(n))
    assert admitted(rate, "0", 1) == 0
    rate.check("one more")
    # This is the oldest address, so the limiter forgets it first.
    assert admitted(rate, "0", 1) == 1
    assert admitted(rate, "2", 1) == 0


def test_a_window_and_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(failures, "monotonic", lambda: now)
    counter = FailureCounter()
    for _ in range(MOST_FAILURES):
        counter.add("192.0.2.1")
    assert not counter.is_exceeded("192.0.2.1")
    counter.add("192.0.2.1")
    assert counter.is_exceeded("192.0.2.1")
    assert not counter.is_exceeded("192.0.2.2")
    now = WINDOW_SECONDS + 0.1
    assert not counter.is_exceeded("192.0.2.1")
    counter.add("192.0.2.1")
    assert not counter.is_exceeded("192.0.2.1")


def test_addresses_are_forgotten() -> None:
    counter = FailureCounter()
    for _ in range(MOST_FAILURES + 1):
        counter.add("192.0.2.1")
    for number in range(MOST_ADDRESSES):
        counter.add(f"2001:db8:0:{number:x}::1")
    assert not counter.is_exceeded("192.0.2.1")
    assert len(counter._windows) == MOST_ADDRESSES


def test_a_network_of_ipv6_is_one_address() -> None:
    """Each client may have a whole /64 (RFC 6177), and so any number of addresses."""
    counter = FailureCounter()
    for number in range(MOST_FAILURES + 1):
        counter.add(f"2001:db8:0:1::{number:x}")
    assert counter.is_exceeded("2001:db8:0:1::ffff")
    assert not counter.is_exceeded("2001:db8:0:2::1")


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:DB8:1:2::9", "2001:db8:1:2::"),
        ("2001:db8:1:3::9", "2001:db8:1:3::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
        ("unknown", "unknown"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_an_ipv6_client_is_its_network(address: str, counted: str) -> None:
    assert rate_limit_key(address) == counted
