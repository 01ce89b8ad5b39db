"""Tests the delivery of events to API destinations.

Sources: "Targets" of the custom event bus, "API destinations" and "Authorization methods for connections" (Amazon
EventBridge User Guide, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html);
InvocationHttpParameters, HttpParameters (EventBridge API Reference); RFC 6749; RFC 9110.
"""

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from threading import Lock
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from psycopg.types.json import Jsonb

from penstock.events.connections import AuthParameters, ParameterCipher, hide_secrets
from penstock.settings import Settings
from penstock.workers.events import EventDeliverer
from tests.support.events import ACCOUNT, BUS, REGION, add_bus, expire_pauses, put, subscribe, take
from tests.support.http_endpoint import Answer, HttpEndpoint, Received, serve_http
from tests.support.sql.calls import Connection, create, value

KEY = b64encode(b"k" * 32).decode()
SETTINGS = {"QUEUE_ENCRYPTION_KEY": KEY, "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"}
HEAD = f"arn:aws:events:{REGION}:{ACCOUNT}"
CONNECTION = f"{HEAD}:connection/c/00000000-0000-4000-8000-000000000000"
TARGET = f"{HEAD}:api-destination/d/00000000-0000-4000-8000-000000000001"
BASIC = {"BasicAuthParameters": {"Username": "max", "Password": "geheim"}}
ONE_ATTEMPT = {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 60}
API_KEY = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "k1"}}


@pytest.fixture(scope="module")
def served() -> Iterator[HttpEndpoint]:
    with serve_http() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(db: Connection, served: HttpEndpoint) -> HttpEndpoint:
    served.requests.clear()
    served.answer = lambda _: Answer()
    add_bus(db)
    return served


def add_destination(db: Connection, url: str, auth: Any = BASIC, method: str = "POST", rate: int = 1000) -> None:
    """Stores a connection and an API destination as the REST API does."""
    parameters = msgspec.convert(auth, AuthParameters)
    fields = {"authorization_type": parameters.authorization_types[0], "parameters": hide_secrets(parameters)}
    sealed = ParameterCipher(KEY).seal(parameters, CONNECTION, ACCOUNT)
    row = "select created from queue.create_connection(%s, %s, 'c', %s, %s, %s)"
    assert value(db, row, ACCOUNT, REGION, CONNECTION, Jsonb(fields), sealed)
    of_destination = {
        "connection_arn": CONNECTION, "invocation_endpoint": url, "http_method": method, "rate_limit": rate
    }  # fmt: skip
    row = "select created from queue.create_api_destination(%s, %s, 'd', %s, %s)"
    assert value(db, row, ACCOUNT, REGION, TARGET, Jsonb(of_destination))


def run(db: Connection, deliverer: EventDeliverer | None = None, /, *, key: str = KEY, **expected: int) -> None:
    """Runs the worker until no bus has work and no request is open, and checks what it did. On a busy machine, the time
    for expressions can be over, and the worker puts events off. Then runs it again."""
    settings = Settings.read({**SETTINGS, "QUEUE_ENCRYPTION_KEY": key})
    used, counts = deliverer or EventDeliverer(), Counter[str]()
    for _ in range(20):
        counts.update(used.run_once(settings, db))
        if counts["delivered"] + counts["failed"] >= sum(expected.values()):
            break
        expire_pauses(db)
    assert {name: counts[name] for name in ("delivered", "failed") if counts[name]} == expected


def codes(db: Connection) -> list[str | None]:
    return [row[0] for row in db.execute("select error_code from queue.event_retry").fetchall()]


def size(most: int) -> dict[str, int]:
    return {"MaxBatchSize": most, "MaxBatchWindowInSeconds": 0}


# --- requests --------------------------------------------------------------------------------------------------------
def test_a_batch_is_one_request_with_an_array(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, f"{endpoint.url}/orders?a=1")
    subscribe(db, TARGET, BatchConfiguration=size(2))
    put(db, BUS, '{"n": 1.0}', "[2]", '"3"')
    run(db, delivered=3)
    assert sorted(endpoint.payloads, key=len) == [["3"], [{"n": 1.0}, [2]]]
    first = endpoint.requests[0]
    assert (first.method, first.path) == ("POST", "/orders?a=1")
    assert first.headers["Content-Type"] == "application/json; charset=utf-8"
    assert first.headers["Authorization"] == "Basic bWF4OmdlaGVpbQ=="
    assert any(b'{"n": 1.0}' in request.body for request in endpoint.requests)
    assert value(db, "select count(*) from queue.event_retry") == 0


def test_each_method_reaches_the_endpoint(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url, API_KEY)
    subscribe(db, TARGET, BatchConfiguration=size(1))
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"):
        db.execute("update queue.api_destination set http_method = %s", (method,))
        put(db, BUS, "1")
        run(db, delivered=1)
        request = endpoint.requests.pop()
        assert (request.method, request.headers["x-key"]) == (method, "k1")
        assert request.body == (b"" if method in {"GET", "HEAD"} else b"1")


def test_parameters_of_the_subscriber_and_the_connection(db: Connection, endpoint: HttpEndpoint) -> None:
    """The connection's parameters take precedence."""
    more = {
        "HeaderParameters": [{"Key": "x-both", "Value": "connection", "IsValueSecret": True}],
        "QueryStringParameters": [{"Key": "both", "Value": "of connection"}],
        "BodyParameters": [{"Key": "added", "Value": 'a"b'}],
    }
    add_destination(db, f"{endpoint.url}/a/*/b/*?x=*", {**API_KEY, "InvocationHttpParameters": more})
    parameters: dict[str, object] = {
        "PathParameterValues": ["{% $events.Data.id %}", "literal/ü"],
        "HeaderParameters": {"X-Both": "subscriber", "Content-Type": "application/x; a=b"},
        "QueryStringParameters": {"both": "s", "q": "{% $events.Data.id & '&' %}"},
    }
    subscribe(db, TARGET, BatchConfiguration=size(1), parameters=parameters, RetryPolicy=ONE_ATTEMPT)
    put(db, BUS, '{"id": "7"}', "[]", "{}")
    run(db, delivered=1, failed=2)  # two events have no id
    (request,) = endpoint.requests
    path, _, query = request.path.partition("?")
    assert path == "/a/7/b/literal%2F%C3%BC"
    assert parse_qs(query) == {"x": ["*"], "both": ["of connection"], "q": ["7&"]}
    assert (request.headers["x-both"], request.headers["content-type"]) == ("connection", "application/x; a=b")
    assert request.payload == {"id": "7", "added": 'a"b'}


def test_events_with_different_parameters_have_requests_of_their_own(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, f"{endpoint.url}/*")
    subscribe(db, TARGET, parameters={"PathParameterValues": ["{% $string($events.Data) %}"]})
    put(db, BUS, "1", "1", "2")
    run(db, delivered=3)
    sent = [(request.path, each) for request in endpoint.requests for each in request.payload]
    assert sent == [("/1", 1), ("/1", 1), ("/2", 2)]


FORBIDDEN = "A header has a character that is not allowed."
NO_REQUESTS: list[tuple[dict[str, object], str]] = [
    ({}, "PathParameterValues must have 1 values."),
    ({"PathParameterValues": [".."]}, "A path parameter must not be empty, '.' or '..'."),
    ({"PathParameterValues": ["a"], "HeaderParameters": {"a": "{% 'b\\r\\nX: 1' %}"}}, FORBIDDEN),
    ({"PathParameterValues": ["a"], "HeaderParameters": {"{% 'a: b' %}": "c"}}, FORBIDDEN),
]


def test_parameters_that_make_no_request_are_a_failure(db: Connection, endpoint: HttpEndpoint) -> None:
    failures = create(db, "failures")
    add_destination(db, f"{endpoint.url}/*")
    for number, (parameters, _) in enumerate(NO_REQUESTS):
        subscribe(
            db, TARGET, f"s{number}", parameters=parameters, RetryPolicy=ONE_ATTEMPT,
            OnFailureConfiguration={"Arn": failures},
        )  # fmt: skip
    put(db, BUS, "1")
    run(db, failed=len(NO_REQUESTS))
    found = [(record["errorCode"], record["errorMessage"]) for record in map(json.loads, take(db, failures))]
    assert sorted(found) == sorted(("CUSTOMER_VALIDATION", text) for _, text in NO_REQUESTS)
    assert endpoint.requests == []


def test_no_parameter_changes_the_framing(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url)
    headers = {"Transfer-Encoding": "chunked", "content-length": "0", "HOST": "other", "Connection": "close"}
    subscribe(db, TARGET, parameters={"HeaderParameters": headers})
    put(db, BUS, "1")
    run(db, delivered=1)
    (request,) = endpoint.requests
    assert request.payload == [1]
    assert request.headers["Host"] == endpoint.url.removeprefix("http://")
    assert request.headers["Transfer-Encoding"] is None


def test_a_large_batch_becomes_several_requests(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url)
    subscribe(db, TARGET, BatchConfiguration=size(100))
    put(db, BUS, *(json.dumps(str(n) * 300_000) for n in range(8)))
    run(db, delivered=8)
    assert sorted(len(payload) for payload in endpoint.payloads) == [2, 3, 3]


# --- answers ---------------------------------------------------------------------------------------------------------
STATUSES = [
    (204, None),
    (302, "CUSTOMER_VALIDATION"),
    (400, "CUSTOMER_VALIDATION"),
    (401, "ACCESS_DENIED"),
    (403, "ACCESS_DENIED"),
    (404, "RESOURCE_NOT_FOUND"),
    (413, "REQUEST_TOO_LARGE"),
    (429, "THROTTLING"),
    (503, "INVOCATION_DEPENDENCY_INTERNAL"),
]


def test_the_status_decides(db: Connection, endpoint: HttpEndpoint) -> None:
    failures = create(db, "failures")
    add_destination(db, f"{endpoint.url}/*")
    for status, _ in STATUSES:
        subscribe(
            db, TARGET, f"s{status}", parameters={"PathParameterValues": [str(status)]},
            RetryPolicy=ONE_ATTEMPT, OnFailureConfiguration={"Arn": failures},
        )  # fmt: skip
    endpoint.answer = lambda request: Answer(int(request.path[1:]))
    put(db, BUS, "1", "2")
    refused = [(str(status), code) for status, code in STATUSES if code is not None]
    run(db, delivered=2, failed=2 * len(refused))
    records = [json.loads(body) for body in take(db, failures)]
    found = [(re.sub(r".*/s(\d+)/.*", r"\1", each["subscriberArn"]), each["errorCode"]) for each in records]
    assert sorted(found) == sorted(2 * refused)
    assert len(endpoint.requests) == len(STATUSES)


def test_retries_end_in_the_failure_queue(db: Connection, endpoint: HttpEndpoint) -> None:
    failures = create(db, "failures")
    add_destination(db, endpoint.url)
    policy = {"MaxRetryAttempts": 1, "MaxEventAgeInSeconds": 300}
    subscribe(db, TARGET, OnFailureConfiguration={"Arn": failures}, RetryPolicy=policy)
    endpoint.answer = lambda _: Answer(500)
    put(db, BUS, "1")
    for _ in range(2):
        EventDeliverer().run_once(Settings.read(SETTINGS), db)
        expire_pauses(db)
    (record,) = [json.loads(body) for body in take(db, failures)]
    assert (record["errorCode"], record["errorMessage"]) == (
        "INVOCATION_DEPENDENCY_INTERNAL",
        "The endpoint has answered 500.",
    )
    assert (record["targetArn"], record["retryAttempts"], len(endpoint.requests)) == (TARGET, 1, 2)


def test_the_order_of_a_group_holds(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url)
    subscribe(db, TARGET, BatchConfiguration=size(2))
    db.execute("update queue.event_subscriber set type = 'FIFO'")
    refused = {"a1"}
    endpoint.answer = lambda request: Answer(500 if refused & set(request.payload) else 200)
    put(db, BUS, '"b1"', '"b2"', '"a1"', '"a2"', groups=["b", "b", "a", "a"])
    run(db, delivered=2)
    db.execute("update queue.event_retry set due_at = due_at + interval '30 minutes' where due_at < 'infinity'")
    refused.clear()
    put(db, BUS, '"a3"', '"b3"', groups=["a", "b"])
    run(db, delivered=1)
    expire_pauses(db)
    run(db, delivered=3)
    sent = [each for payload in endpoint.payloads for each in payload]
    assert [each for each in sent if each.startswith("b")] == ["b1", "b2", "b3"]
    assert [each for each in sent if each.startswith("a")][-3:] == ["a1", "a2", "a3"]


def test_an_event_before_a_failed_expression_of_its_group_arrives(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, f"{endpoint.url}/*")
    parameters: dict[str, object] = {"PathParameterValues": ["{% $events.Data.id %}"]}
    subscribe(db, TARGET, parameters=parameters, RetryPolicy=ONE_ATTEMPT)
    db.execute("update queue.event_subscriber set type = 'FIFO'")
    put(db, BUS, '{"id": "1"}', "{}", '{"id": "3"}', groups=["g", "g", "g"])
    run(db, delivered=2, failed=1)
    assert [request.path for request in endpoint.requests] == ["/1", "/3"]


def test_an_endpoint_that_cannot_be_reached(db: Connection, endpoint: HttpEndpoint) -> None:
    """The text reveals no address."""
    private = "an address of the host is not public and not in WEBHOOK_ALLOW_CIDRS"
    add_destination(db, "http://127.0.0.1:9/")
    subscribe(db, TARGET)
    put(db, BUS, "1")
    for url, cidrs, code, text in (
        ("http://127.0.0.1:9/", "127.0.0.0/8", "INVOCATION_DEPENDENCY_INTERNAL", "Connection refused"),
        ("http://127.0.0.1:9/", "10.0.0.0/8", "CUSTOMER_VALIDATION", private),
        ("https://169.254.169.254/", "", "CUSTOMER_VALIDATION", private),
    ):
        db.execute("update queue.api_destination set invocation_endpoint = %s", (url,))
        EventDeliverer().run_once(Settings.read({**SETTINGS, "WEBHOOK_ALLOW_CIDRS": cidrs}), db)
        assert db.execute("select error_code, error_message from queue.event_retry").fetchall() == [(code, text)]
        expire_pauses(db)
    assert endpoint.requests == []


def test_a_destination_that_does_not_exist(db: Connection, endpoint: HttpEndpoint) -> None:
    subscribe(db, TARGET)
    put(db, BUS, "1")
    run(db)
    assert codes(db) == ["RESOURCE_NOT_FOUND"]
    add_destination(db, endpoint.url)
    expire_pauses(db)
    run(db, delivered=1)


def test_a_worker_without_the_key_leaves_the_events_to_others(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url)
    subscribe(db, TARGET, RetryPolicy=ONE_ATTEMPT)
    put(db, BUS, "1")
    run(db, key="")
    assert codes(db) == [None]
    run(db, key=b64encode(b"x" * 32).decode())
    assert codes(db) == ["INTERNAL_SERVER_ERROR"]
    expire_pauses(db)
    run(db, delivered=1)


# --- tokens ----------------------------------------------------------------------------------------------------------
def use_oauth(endpoint: HttpEndpoint, method: str = "POST", **more: object) -> dict[str, object]:
    client = {"ClientID": "id&", "ClientSecret": "s3cret"}
    oauth = {"ClientParameters": client, "AuthorizationEndpoint": f"{endpoint.url}/token", "HttpMethod": method, **more}
    return {"OAuthParameters": oauth}


class Issuer:
    """Answers as an authorization server and as an API that accepts the newest token."""

    def __init__(self, endpoint: HttpEndpoint, expires_in: object = 3600) -> None:
        self.issued = 0
        self.valid = ""
        self.expires_in = expires_in
        self._lock = Lock()
        endpoint.answer = self.answer

    def answer(self, request: Received) -> Answer:
        if request.path.startswith("/token"):
            with self._lock:
                self.issued += 1
                self.valid = f"t{self.issued}"
            document = {"access_token": self.valid, "token_type": "Bearer", "expires_in": self.expires_in}
            return Answer(200, json.dumps(document).encode())
        return Answer(200 if request.headers["Authorization"] == f"Bearer {self.valid}" else 401)


def test_a_token_serves_until_the_endpoint_refuses_it(db: Connection, endpoint: HttpEndpoint) -> None:
    issuer, deliverer = Issuer(endpoint), EventDeliverer()
    add_destination(db, endpoint.url, use_oauth(endpoint))
    subscribe(db, TARGET, BatchConfiguration=size(1))
    put(db, BUS, "1", "2", "3")
    run(db, deliverer, delivered=3)
    put(db, BUS, "4")
    run(db, deliverer, delivered=1)
    assert issuer.issued == 1
    (asked,) = [request for request in endpoint.requests if request.path == "/token"]
    assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"], "client_id": ["id&"], "client_secret": ["s3cret"],
    }  # fmt: skip
    issuer.valid = "revoked"
    put(db, BUS, "5")
    run(db, deliverer, delivered=1)
    assert issuer.issued == 2
    assert codes(db) == []


def test_a_token_that_ends_soon_is_renewed(db: Connection, endpoint: HttpEndpoint) -> None:
    issuer, deliverer = Issuer(endpoint, expires_in="10"), EventDeliverer()
    add_destination(db, endpoint.url, use_oauth(endpoint))
    subscribe(db, TARGET)
    for number in (1, 2):
        put(db, BUS, str(number))
        run(db, deliverer, delivered=1)
        assert issuer.issued == number


def test_parameters_of_a_request_for_a_token(db: Connection, endpoint: HttpEndpoint) -> None:
    more = {
        "HeaderParameters": [{"Key": "x-h", "Value": "h"}],
        "QueryStringParameters": [{"Key": "q", "Value": "a b"}],
        "BodyParameters": [{"Key": "grant_type", "Value": "password"}],
    }
    Issuer(endpoint)
    add_destination(db, endpoint.url, use_oauth(endpoint, "GET", OAuthHttpParameters=more))
    subscribe(db, TARGET)
    put(db, BUS, "1")
    run(db, delivered=1)
    asked = endpoint.requests[0]
    assert (asked.method, asked.headers["x-h"], asked.body) == ("GET", "h", b"")
    assert parse_qs(asked.path.partition("?")[2]) == {
        "grant_type": ["password"], "client_id": ["id&"], "client_secret": ["s3cret"], "q": ["a b"],
    }  # fmt: skip


def test_an_authorization_without_a_token_is_a_failure(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url, use_oauth(endpoint))
    subscribe(db, TARGET, BatchConfiguration=size(1))
    put(db, BUS, "1", "2")
    for answer, code in (
        (Answer(400, b'{"error": "invalid_client"}'), "ACCESS_DENIED"),
        (Answer(500), "INVOCATION_DEPENDENCY_INTERNAL"),
        (Answer(200, b"no JSON"), "ACCESS_DENIED"),
        (Answer(200, b'{"access_token": "a\\r\\nb"}'), "ACCESS_DENIED"),
        (Answer(200, b'{"access_token": null}'), "ACCESS_DENIED"),
    ):
        endpoint.answer = lambda _, answer=answer: answer  # type: ignore[misc]
        run(db)
        assert codes(db) == [code, code]
        expire_pauses(db)
    assert {request.path for request in endpoint.requests} == {"/token"}


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("250", 250, 250),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 300, 300),
        ("99999", 300, 300),
        ("0", 0, 60),
        ("soon", 0, 60),
    ],
)
def test_the_longer_pause_counts(db: Connection, endpoint: HttpEndpoint, text: str, least: int, most: int) -> None:
    """The event ends at an age of 300 seconds. Source: "API destination error codes" (EventBridge User Guide)."""
    add_destination(db, endpoint.url)
    subscribe(db, TARGET)
    put(db, BUS, "1")
    endpoint.answer = lambda _: Answer(429, headers={"Retry-After": text})
    began = value(db, "select clock_timestamp()")
    EventDeliverer().run_once(Settings.read(SETTINGS), db)
    assert codes(db) == ["THROTTLING"]
    least_pause = "select due_at >= %s::timestamptz + %s * interval '1 second' from queue.event_retry"
    most_pause = "select due_at <= clock_timestamp() + %s * interval '1 second' from queue.event_retry"
    assert value(db, least_pause, began, least) is value(db, most_pause, most) is True


def test_no_attempt_follows_a_negative_retry_after(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url)
    subscribe(db, TARGET)
    put(db, BUS, "1")
    endpoint.answer = lambda _: Answer(503, headers={"Retry-After": "-1"})
    run(db, failed=1)
    assert len(endpoint.requests) == 1


# --- rates -----------------------------------------------------------------------------------------------------------
def set_turn(db: Connection, hours: int) -> None:
    db.execute("update queue.api_destination set next_turn_at = clock_timestamp() + %s * interval '1 hour'", (hours,))


def test_all_workers_share_the_turns_of_a_destination(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url, rate=2)
    take_turns = "select array[wait_ms, pause_ms] from queue.take_api_destination_turns(array[%s], array[%s])"
    next_turn = "select extract(epoch from next_turn_at)::float from queue.api_destination"
    set_turn(db, 1)
    before = value(db, next_turn)
    (first, pause), (second, _) = value(db, take_turns, TARGET, 1), value(db, take_turns, TARGET, 4)
    assert pause == 500
    assert 0 < second <= first + 500
    assert value(db, next_turn) - before == pytest.approx(2.5)
    set_turn(db, -1)
    assert value(db, take_turns, TARGET, 1) == [0, 500]
    assert value(db, "select next_turn_at > clock_timestamp() - interval '1 minute' from queue.api_destination")


def test_no_worker_claims_events_before_the_next_turn(db: Connection, endpoint: HttpEndpoint) -> None:
    add_destination(db, endpoint.url, rate=1)
    subscribe(db, TARGET, BatchConfiguration=size(1))
    put(db, BUS, "1", "2", "3")
    set_turn(db, 1)
    deliverer = EventDeliverer()
    run(db, deliverer)
    assert endpoint.requests == []
    assert deliverer.wait_ms == pytest.approx(3_600_000, abs=60_000)
    set_turn(db, -1)
    claim = "select count(*) from queue.claim_event_batches(array['http'], gen_random_uuid(), 90000, %s, %s, 10, 50, 9)"
    assert value(db, claim, [], []) == 1  # the requests of a second
    set_turn(db, 1)
    assert value(db, claim, [], []) == 0
