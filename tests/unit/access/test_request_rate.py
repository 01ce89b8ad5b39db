"""Tests how many requests per second a caller can send, with a clock that the test sets.

The limiter counts failures of callers by address, and a site has at least a /64 network (RFC 6177).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.access import failures, request_rate
from penstock.access.authentication import (
    UNKNOWN_CALLERS,
    AccessRule,
    Api,
    Key,
    RequireCredentials,
    build_access_rule,
    hash_secret,
)
from penstock.access.failures import MAX_ADDRESSES, MAX_FAILURES, WINDOW_SECONDS, FailureCounter, rate_limit_key
from penstock.access.receipt_handle import ReceiptHandles
from penstock.access.request_rate import MAX_CALLERS, RequestRate
from penstock.access.users import build_user
from penstock.effects import Call, Compute
from penstock.environment import Environment
from penstock.errors import (
    AccessDenied,
    AwsError,
    IncompleteSignature,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    RequestThrottled,
    SignatureDoesNotMatch,
)
from penstock.gateway import decode, encode
from penstock.http import HttpRequest
from penstock.settings import Settings
from penstock.sqs.types import Message, ReceiveMessageResult
from tests.support.conformance.access_keys import SIGV4

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
    assert admitted(rate, "a", 2 * per_second) == per_second  # Requests that a caller does not use do not accumulate.


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
def test_each_further_64_kib_of_a_response_is_one(move: Move, size: int, requests: int) -> None:
    """A response without a body (204) costs no additional request."""
    rate = RequestRate(100)
    rate.check("a")
    rate.count_response("a", size)
    assert admitted(rate, "a", 200) == 99 - requests


def test_a_long_request_is_let_through_and_paid_for_later(move: Move) -> None:
    """A request of 1 MiB costs 3.2 s at 5 requests per second."""
    rate = RequestRate(5)
    rate.check("a", 1_048_576)
    move(2.1)
    assert admitted(rate, "a", 1) == 0
    move(1.2)
    assert admitted(rate, "a", 9) == 5


def test_bodies_of_requests_and_responses_count(move: Move) -> None:
    """With QUEUE_ACCESS=off, a long call costs 16 requests for its body and 15 for the response."""
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


def test_the_limit_remembers_a_bounded_number_of_callers(move: Move) -> None:
    rate = RequestRate(1)
    for n in range(MAX_CALLERS):
        rate.check(str(n))
    assert admitted(rate, "0", 1) == 0
    rate.check("one more")
    # The limiter forgets this address first, because it is the oldest address.
    assert admitted(rate, "0", 1) == 1
    assert admitted(rate, "2", 1) == 0


def test_a_window_and_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(failures, "monotonic", lambda: now)
    counter = FailureCounter()
    for _ in range(MAX_FAILURES):
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
    for _ in range(MAX_FAILURES + 1):
        counter.add("192.0.2.1")
    for number in range(MAX_ADDRESSES):
        counter.add(f"2001:db8:0:{number:x}::1")
    assert not counter.is_exceeded("192.0.2.1")
    assert len(counter._windows) == MAX_ADDRESSES


def test_a_network_of_ipv6_is_one_address() -> None:
    """A client can have a whole /64 network (RFC 6177), and therefore any number of addresses."""
    counter = FailureCounter()
    for number in range(MAX_FAILURES + 1):
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


# --- shares ----------------------------------------------------------------------------------------------------------
# Tests how keys share the memory for long bodies. The head of a request names the key before the service reads the
# body.

KNOWN, UNKNOWN, BEARER = "PSTKAAAAAAAAAAAAAAAA", "PSTKBBBBBBBBBBBBBBBB", "PSTBAAAAAAAAAAAAAAAA"
SIGNED = "AWS4-HMAC-SHA256 Credential={}/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=" + "0" * 64
PRESIGNED = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}%2F20260101%2Fus-east-1%2Fsqs%2Faws4_request"
    "&X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=" + "0" * 64
)
LINK = "Action=ConfirmSubscription&Token=x"


def build_rule() -> AccessRule:
    """Returns the sigv4 rule of a process that has cached two keys."""
    return fill(build_access_rule(Settings.read({**SIGV4, "DATABASE_URL": "postgresql://localhost/x"})))


def fill(rule: AccessRule | None) -> AccessRule:
    """Returns the sigv4 rule of a process with two cached keys."""
    assert rule is not None
    user = build_user("000000000000", None, None)
    for cache, key_id, secret in (("_access_keys", KNOWN, b"s"), ("_bearer_keys", BEARER, hash_secret("s"))):
        getattr(rule, cache)._known[key_id] = (float("inf"), Key(user, secret, None))
    return rule


def find(rule: AccessRule, api: Api, header: str, query: str = "", address: str = "192.0.2.1") -> str | None:
    """Returns the name of the caller of a request. The database contains no key."""
    headers = {b"host": b"h", b"x-amz-date": b"20260101T000000Z"}
    if header:
        headers[b"authorization"] = header.encode()
    operation = rule.find_caller(HttpRequest("POST", "/", query.encode(), headers, b"", ""), api, address)
    try:
        effect = next(operation)
        while True:
            assert isinstance(effect, Call)
            effect = operation.send([])
    except StopIteration as end:
        caller: str | None = end.value
        return caller


@pytest.mark.parametrize(
    ("api", "header", "query", "caller"),
    [
        (Api.AWS, SIGNED.format(KNOWN), "", UNKNOWN_CALLERS),
        (Api.AWS, "", PRESIGNED.format(KNOWN), UNKNOWN_CALLERS),
        (Api.AWS, SIGNED.format(UNKNOWN), "", InvalidClientTokenId),
        (Api.AWS, "", PRESIGNED.format(UNKNOWN), InvalidClientTokenId),
        (Api.AWS, "Bearer x", "", IncompleteSignature),
        (Api.AWS, "", "", MissingAuthenticationToken),
        (Api.AWS, "", LINK, UNKNOWN_CALLERS),
        (Api.REST, f"Bearer {BEARER}.s", "", BEARER),
        (Api.REST, f"bearer {BEARER}.s", "", BEARER),
        (Api.REST, f"Bearer {BEARER}.other", "", InvalidClientTokenId),
        (Api.REST, f"Bearer {UNKNOWN}.s", "", InvalidClientTokenId),
        (Api.REST, SIGNED.format(KNOWN), "", InvalidClientTokenId),
        (Api.REST, "", "", MissingAuthenticationToken),
        (Api.OTHER, f"Bearer {BEARER}.s", "", BEARER),
        (Api.OTHER, f"Bearer {UNKNOWN}.s", "", UNKNOWN_CALLERS),
        (Api.OTHER, "x" * 9_000, "", UNKNOWN_CALLERS),
        (Api.OTHER, "", "", UNKNOWN_CALLERS),
    ],
)
def test_the_head_names_a_key_or_is_refused(api: Api, header: str, query: str, caller: str | type[AwsError]) -> None:
    if isinstance(caller, str):
        assert find(build_rule(), api, header, query) == caller
    else:
        with pytest.raises(caller):
            find(build_rule(), api, header, query)


def send(environment: Environment, secret: str, address: str) -> None:
    """Runs a signed request on a database that returns no rows."""
    request = AWSRequest(
        "POST", "http://h/", {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"},
        b"{}",
    )  # fmt: skip
    SigV4Auth(Credentials(KNOWN, secret), "sqs", "us-east-1").add_auth(request)
    headers = {name.lower().encode(): value.encode() for name, value in request.headers.items()} | {b"host": b"h"}
    operation = decode(HttpRequest("POST", "/", b"", headers, b"{}", address), environment).operation()
    with suppress(StopIteration, SignatureDoesNotMatch):
        effect = next(operation)
        while True:
            effect = operation.send(effect.function() if isinstance(effect, Compute) else [])


def test_a_key_has_its_share_in_networks_that_have_signed_with_it() -> None:
    """Anybody can name a known key, because the service verifies the signature after it reads the body."""
    settings = Settings.read({**SIGV4, "DATABASE_URL": "postgresql://localhost/x"})
    environment = Environment(settings, ReceiptHandles(bytes(32)))
    rule = fill(environment.access)
    send(environment, "wrong", "2001:db8::1")
    assert find(rule, Api.AWS, SIGNED.format(KNOWN), address="2001:db8::1") == UNKNOWN_CALLERS
    send(environment, "s", "2001:db8::1")
    callers = [
        find(rule, Api.AWS, SIGNED.format(KNOWN), address=address) for address in ("2001:db8::2", "2001:db8:0:1::1")
    ]
    assert callers == [KNOWN, UNKNOWN_CALLERS]


def test_an_address_with_many_unknown_keys_delays_neither_others_nor_keys_in_use() -> None:
    rule = build_rule()
    for n in range(MAX_FAILURES + 1):
        with pytest.raises(InvalidClientTokenId):
            find(rule, Api.AWS, SIGNED.format(f"PSTK{n:016}"))
    with pytest.raises(RequestThrottled):
        find(rule, Api.AWS, SIGNED.format(UNKNOWN))
    assert find(rule, Api.AWS, SIGNED.format(KNOWN)) == UNKNOWN_CALLERS  # not refused
    with pytest.raises(InvalidClientTokenId):  # The service has looked the key up.
        find(rule, Api.AWS, SIGNED.format(UNKNOWN), address="192.0.2.2")


@pytest.mark.parametrize(
    ("api", "error"), [(Api.AWS, MissingAuthenticationToken), (Api.REST, AccessDenied), (Api.OTHER, None)]
)
def test_with_presence_the_address_counts(api: Api, error: type[AwsError] | None) -> None:
    rule = RequireCredentials()
    assert find(rule, api, SIGNED.format(UNKNOWN)) is None
    if error is None:
        assert find(rule, api, "") is None
    else:
        with pytest.raises(error):
            find(rule, api, "")
