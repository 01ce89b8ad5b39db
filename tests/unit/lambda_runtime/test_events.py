"""Tests the conversion of events to requests and of responses to events, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.errors import ServiceUnavailable
from penstock.http import HttpRequest, HttpResponse
from penstock.lambda_runtime.events import UnknownEvent, build_response, is_ascii_written, is_within_limit, read
from penstock.lambda_runtime.waits import bound_waits
from penstock.limits.response_limit import ResponseLimit
from penstock.postgres.statement import Statement
from penstock.postgres.statements.long_polls import RELEASE_POLL_SLOT, TAKE_POLL_SLOT
from penstock.settings import Settings
from tests.support.local_lambda.events import EVENT_FORMS, EventForm, Request, event_of, response_of

every_form = pytest.mark.parametrize("form", EVENT_FORMS)
PEERS = dict.fromkeys(("http_api", "function_url"), "192.0.2.1")  # the other forms of event_of have no peer
# A Lambda function can return 6 MB ("Lambda quotas"), and a load balancer accepts 1 MB ("Lambda functions as targets").
# If the runtime is unknown, the code assumes that it writes ASCII.
FUNCTION = ResponseLimit("a Lambda function (6 MB)", 6_000_000, is_ascii=True)
LOAD_BALANCER = ResponseLimit("an Application Load Balancer (1 MB)", 1_000_000, is_ascii=True)
LIMITS = {form: LOAD_BALANCER if form.startswith("alb") else FUNCTION for form in EVENT_FORMS}


@every_form
def test_json_request(form: EventForm) -> None:
    headers = (("Host", "sqs.internal"), ("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", "T"))
    body = '{"MessageBody":"grüße €"}'.encode()
    assert read(event_of(form, Request(headers=headers, body=body))) == HttpRequest(
        "POST",
        "/",
        b"",
        {b"host": b"sqs.internal", b"content-type": b"application/x-amz-json-1.0", b"x-amz-target": b"T"},
        body,
        PEERS.get(form, ""),
        response_limit=LIMITS[form],
    )


@every_form
def test_query_string_arrives_as_it_was_sent(form: EventForm) -> None:
    query = "Action=SendMessage&MessageBody=a%26b%3Dc+d%25&Empty="
    request = read(event_of(form, Request("GET", "/000000000000/q", query, headers=(("Host", "h"),))))
    assert (request.method, request.path, request.body) == ("GET", "/000000000000/q", b"")
    assert request.query == query.encode()


def test_repeated_parameters_are_kept_where_the_event_has_them() -> None:
    for form in EVENT_FORMS:
        if form != "alb":
            assert read(event_of(form, Request(query="a=1&a=2"))).query == b"a=1&a=2"


def test_repeated_headers_become_a_list() -> None:
    request = Request(headers=(("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "192.0.2.2")))
    assert read(event_of("rest_api", request)).headers == {b"x-forwarded-for": b"192.0.2.1, 192.0.2.2"}
    assert read(event_of("alb_multi_value", request)).headers == {b"x-forwarded-for": b"192.0.2.1, 192.0.2.2"}


@every_form
def test_nothing_but_a_method(form: EventForm) -> None:
    assert read(event_of(form, Request("GET"))) == HttpRequest(
        "GET", "/", b"", {}, b"", PEERS.get(form, ""), response_limit=LIMITS[form]
    )


@every_form
def test_the_path_is_decoded(form: EventForm) -> None:
    assert read(event_of(form, Request("GET", "/%73chedules/a%2Fb%C3%BC"))).path == "/schedules/a/bü"


@pytest.mark.parametrize("missing", ["headers", "rawQueryString", "body", "isBase64Encoded"])
def test_absent_and_null_members_of_version_2(missing: str) -> None:
    event = event_of("http_api", Request("GET", "/1/q"))
    without = {name: value for name, value in event.items() if name != missing}
    expected = HttpRequest("GET", "/1/q", b"", {}, b"", PEERS["http_api"], response_limit=FUNCTION)
    assert read(without) == expected
    assert read({**event, missing: None}) == expected


def test_body_that_is_not_base64() -> None:
    with pytest.raises(ValueError, match="base64"):
        read({"httpMethod": "POST", "path": "/", "body": "{}", "isBase64Encoded": True})


@pytest.mark.parametrize(("raw", "path"), [("/prod", "/"), ("/prod/000000000000/q", "/000000000000/q"), ("/x", "/x")])
def test_a_named_stage_is_no_part_of_the_path(raw: str, path: str) -> None:
    event = event_of("http_api", Request())
    event["rawPath"] = raw
    event["requestContext"]["stage"] = "prod"
    assert read(event).path == path


def test_the_path_may_begin_like_the_stage() -> None:
    event = event_of("http_api", Request(path="/production/q"))
    event["requestContext"]["stage"] = "prod"
    assert read(event).path == "/production/q"


@pytest.mark.parametrize(
    ("domain", "hosts", "checked"),
    [
        ("a1.execute-api.eu-central-1.amazonaws.com", ("A1.execute-api.eu-central-1.amazonaws.com",), True),
        ("a1.execute-api.eu-central-1.amazonaws.com", ("evil.example",), False),
        ("a1.execute-api.eu-central-1.amazonaws.com", (), False),
        (None, ("evil.example",), False),
        ("", ("",), False),
    ],
)
@every_form
def test_api_gateway_vouches_for_its_own_name(
    form: EventForm, domain: str | None, hosts: tuple[str, ...], checked: bool
) -> None:
    """Only API Gateway sends `requestContext.domainName`."""
    event = event_of(form, Request(headers=tuple(("Host", host) for host in hosts)))
    event["requestContext"] |= {} if domain is None else {"domainName": domain}
    assert read(event).host_checked is checked


@pytest.mark.parametrize("event", [{}, {"Records": []}, {"requestContext": {}}, {"source": "aws.events"}])
def test_other_events(event: dict[str, Any]) -> None:
    with pytest.raises(UnknownEvent):
        read(event)


@every_form
def test_a_response_has_the_form_of_its_event(form: EventForm) -> None:
    headers = [(b"content-type", b"text/xml"), (b"x-amzn-requestid", b"1")]
    given = build_response(event_of(form, Request()), HttpResponse(403, headers, "<a>ü</a>".encode()))
    assert ("multiValueHeaders" in given) is (form == "alb_multi_value")
    assert ("headers" in given) is (form != "alb_multi_value")
    response = response_of(given)
    assert (response.status, response.body) == (403, "<a>ü</a>".encode())
    assert response.headers == [("content-type", "text/xml"), ("x-amzn-requestid", "1")]


@pytest.mark.parametrize(
    ("runtime", "is_ascii"),
    [("AWS_Lambda_python3.11", True), ("AWS_Lambda_python3.12", False), ("AWS_Lambda_python3.14", False), ("", True)],
)
def test_runtimes_write_ascii_or_utf_8(runtime: str, is_ascii: bool) -> None:
    """awslambdaric writes UTF-8 from Python 3.12 on, and escaped ASCII in earlier versions
    (lambda_runtime_marshaller)."""
    assert is_ascii_written(runtime) is is_ascii


@pytest.mark.parametrize(
    ("body", "is_ascii", "longest"),
    [
        ("x", True, 1_000_000),
        ('"', True, 500_000),
        ("\n", False, 500_000),
        ("\x01", False, 166_666),
        ("\x7f", True, 166_666),
        ("\x7f", False, 1_000_000),
        ("é", True, 166_666),
        ("é", False, 500_000),
        ("😀", True, 83_333),
        ("😀", False, 250_000),
    ],
)
def test_the_longest_body_of_a_result(body: str, is_ascii: bool, longest: int) -> None:
    """The limit applies to the whole result, which is JSON (RFC 8259, 7). In this test, the frame around the body takes
    about a hundred bytes."""
    limit = ResponseLimit("somewhere", 1_000_000, is_ascii)
    frame = {"statusCode": 200, "isBase64Encoded": False, "headers": {"content-type": "application/json"}}
    assert is_within_limit({**frame, "body": body * (longest - 110)}, limit)
    assert not is_within_limit({**frame, "body": body * longest}, limit)


# --- waits -----------------------------------------------------------------------------------------------------------
# Tests how long a request to the gateway waits, and which requests receive a slot.


class Slots:
    """Imitates a database with or without free slots. `calls` contains the statements and their arguments."""

    def __init__(self, free: int = 1, *, is_lost_later: bool = False) -> None:
        self.free = free
        self.is_lost_later = is_lost_later
        self.calls: list[tuple[Statement[Any], Sequence[object]]] = []

    def call(self, statement: Statement[Any], arguments: Sequence[object]) -> list[Any]:
        self.calls.append((statement, arguments))
        if statement is RELEASE_POLL_SLOT and self.is_lost_later:
            raise ServiceUnavailable
        return [(1,)] * self.free

    @property
    def statements(self) -> list[Statement[Any]]:
        return [statement for statement, _ in self.calls]


def settings(concurrency: int, wait_seconds: int = 2) -> Settings:
    return Settings.read({}, queue_lambda_concurrency=concurrency, queue_lambda_wait_seconds=wait_seconds)


def granted(database: Slots, settings: Settings, *wanted: float) -> list[float]:
    """Requests the given waits one after the other, and returns the granted waits."""
    with bound_waits(settings, "penstock-Gateway", database) as waits:
        return [waits.grant(seconds) for seconds in wanted]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((20.0,), [2.0]),
        ((1.5,), [1.5]),
        ((0.0,), [0.0]),
        ((1.0, 1.0, 1.0), [1.0, 1.0, 0.0]),  # a queue at its limit of messages in flight
        ((1.5, 1.5), [1.5, 0.5]),
    ],
)
def test_all_waits_of_a_request_together(wanted: tuple[float, ...], expected: list[float]) -> None:
    database = Slots()
    assert granted(database, settings(0), *wanted) == expected
    assert database.calls == []  # The number of slots has no limit.


def test_a_request_takes_one_slot_and_gives_it_back() -> None:
    database = Slots()
    assert granted(database, settings(9), 1.0, 1.0) == [1.0, 1.0]
    assert database.statements == [TAKE_POLL_SLOT, RELEASE_POLL_SLOT]
    (_, taken), (_, released) = database.calls
    name, holder, slots, seconds = taken
    assert (name, slots) == ("penstock-Gateway", 2)  # a quarter of nine
    assert float(str(seconds)) > 2  # the slot does not end before the wait
    assert list(released) == [name, holder]


def test_a_receive_that_does_not_wait_takes_no_place() -> None:
    database = Slots()
    assert granted(database, settings(9), 0.0) == [0.0]
    assert granted(database, settings(9, wait_seconds=0), 20.0) == [0.0]
    assert database.calls == []


def test_without_a_free_slot_nobody_waits() -> None:
    database = Slots(free=0)
    assert granted(database, settings(4), 20.0, 1.0) == [0.0, 0.0]
    assert database.statements == [TAKE_POLL_SLOT]  # one request, and no slot to release


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_quarter_of_less_than_four_is_none(concurrency: int) -> None:
    database = Slots()
    assert granted(database, settings(concurrency), 20.0) == [0.0]
    assert database.calls == []


def test_a_result_is_not_lost_with_the_slot() -> None:
    assert granted(Slots(is_lost_later=True), settings(4), 1.0) == [1.0]
