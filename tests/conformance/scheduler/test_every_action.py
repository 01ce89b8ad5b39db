"""Sends every action of EventBridge Scheduler to every deployment.

The service answers a valid call with 200 and the expected members. The service refuses a call that lacks a required
member, or has an invalid body or an unknown path.

"Response Elements" of each action in the API reference lists the expected members. botocore's model checks the
structure, and its serializer writes the requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from penstock.actions import ACTIONS
from tests.support import client_setup
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.response_model import checked
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sqs import Sqs
from tests.support.conformance.valid_requests.scheduler import GOOD, MODEL, SERIALIZER, Members
from tests.support.functions.server import Functions, TooLargeError, file_name, function_for
from tests.support.local_lambda.events import EVENT_FORMS, EventForm, Request, Response, event_of, response_of

# --- the good calls --------------------------------------------------------------------------------------------------


# --- how it is asked -------------------------------------------------------------------------------------------------
def by_rest(action: str, given: Members) -> Request:
    """Returns the request that botocore writes."""
    asked = SERIALIZER.serialize_to_request(given, MODEL.operation_model(action))
    query: Mapping[str, Any] = asked["query_string"]
    headers = (("Content-Type", "application/json"), ("Host", "queues.internal"))
    body = asked["body"] if isinstance(asked["body"], bytes) else b""
    return Request(asked["method"], asked["url_path"], urlencode(query, doseq=True), headers, body)


Send = Callable[[str, Request], Response]
BY_LAMBDA = Response(413, [], b"")
"""Lambda itself refuses a request whose event is longer than 6 MB ("Lambda quotas")."""


@pytest.fixture
def scheduler(deployments: Deployments, clock: Clock) -> Scheduler:
    """Returns the client of the container, which prepares resources. The resources are in the shared database."""
    return Scheduler(Sqs(deployments, clock, "container", "json"))


@pytest.fixture(params=["container", "its own function", "the gateway function"])
def send(request: pytest.FixtureRequest, scheduler: Scheduler, functions: Functions) -> Send:
    def container(_action: str, asked: Request) -> Response:
        url = scheduler.sqs.endpoint_url + asked.path + (f"?{asked.query}" if asked.query else "")
        response = client_setup.request(asked.method, url, headers=dict(asked.headers), content=asked.body)
        return Response(response.status_code, list(response.headers.items()), response.content)

    def function(action: str, asked: Request) -> Response:
        own = request.param == "its own function"
        name = f"scheduler/{file_name(action)}" if own else "gateway"
        try:
            return response_of(functions.invoke(name, event_of("http_api", asked)))
        except TooLargeError:
            return BY_LAMBDA

    return container if request.param == "container" else function


@pytest.mark.parametrize("action", GOOD)
def test_the_good_call(scheduler: Scheduler, send: Send, action: str) -> None:
    good = GOOD[action]
    response = send(action, by_rest(action, good.needs(scheduler)))
    assert (response.status, response.header("content-type")) == (200, "application/json"), response.body
    assert response.header("x-amzn-requestid")
    if good.answered:
        shape = MODEL.operation_model(action).output_shape
        assert checked(shape, json.loads(response.body), "") == set(good.answered)
    else:
        assert response.body == b""


def test_every_action_is_in_the_table() -> None:
    assert GOOD.keys() == {action.name for action in ACTIONS if action.service == "scheduler"}


@pytest.mark.parametrize("action", GOOD)
@pytest.mark.parametrize("form", EVENT_FORMS)
def test_every_form_of_an_event(scheduler: Scheduler, functions: Functions, form: EventForm, action: str) -> None:
    """In each event format, the method and the path select the action's function."""
    asked = by_rest(action, GOOD[action].needs(scheduler))
    assert function_for(asked) == f"scheduler/{file_name(action)}"
    response = response_of(functions.invoke(function_for(asked), event_of(form, asked)))
    assert response.status == 200, response.body


# --- what is needed --------------------------------------------------------------------------------------------------
REQUIRED = [
    (name, member)
    for name in GOOD
    for member in MODEL.operation_model(name).input_shape.required_members
    if "location" not in MODEL.operation_model(name).input_shape.members[member].serialization or member == "TagKeys"
]


@pytest.mark.parametrize(("action", "member"), REQUIRED)
def test_each_required_member(scheduler: Scheduler, send: Send, action: str, member: str) -> None:
    given = {name: value for name, value in GOOD[action].needs(scheduler).items() if name != member}
    response = send(action, by_rest(action, given))
    assert (response.status, response.header("x-amzn-errortype")) == (400, "ValidationException")
    path = member[0].lower() + member[1:]
    assert f"Value null at '{path}' failed to satisfy constraint: Member must not be null" in told(response)


def told(response: Response) -> str:
    document = json.loads(response.body)
    assert document.keys() == {"Message"}
    assert response.header("content-type") == "application/json"
    return str(document["Message"])


# --- what is no request ----------------------------------------------------------------------------------------------
BODIES = (
    b"", b"{", b"[]", b"1", b"null", b'"x"', b"\xff", b'{"Target":1}', b'{"ScheduleExpression":1}', b"{'a':1}",
    b'{"StartDate":"2030-01-01"}', b'{"StartDate":true}', b'{"State":["ENABLED"]}', b'{"Description":"\\ud800"}',
    b'{"FlexibleTimeWindow":{"MaximumWindowInMinutes":1.5}}', b'{"a":' * 50_000, b"[" * 100_000,
    b'{"FlexibleTimeWindow":{"MaximumWindowInMinutes":' + b"9" * 5_000 + b"}}",
    b'{"StartDate":1e999}', b'{"StartDate":-1}', b'{"StartDate":253402300800}', b'{"Description":"\\u0000"}',
    b"{" + b",".join(b'"a%d":"b"' % number for number in range(60_000)) + b"}",
)  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:24].decode("latin-1"))
def test_bodies_that_are_none(scheduler: Scheduler, send: Send, body: bytes) -> None:
    before = scheduler.sqs.clock.schedules()
    path = f"/schedules/{scheduler.name()}"
    response = send("CreateSchedule", Request("POST", path, "", (), body))
    assert response.status == 400
    assert response.header("x-amzn-errortype") in {"ValidationException", "SerializationException"}
    assert told(response)
    assert scheduler.sqs.clock.schedules() == before


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/schedules"), ("DELETE", "/schedules"), ("POST", "/schedules"), ("PUT", "/schedule-groups/a"),
     ("DELETE", "/schedule-groups"), ("GET", "/tags"), ("PUT", "/tags/a"), ("PATCH", "/schedules/a")],
)  # fmt: skip
def test_paths_that_lead_nowhere(scheduler: Scheduler, send: Send, method: str, path: str) -> None:
    response = send("GetSchedule", Request(method, path))
    assert (response.status, response.header("x-amzn-errortype")) == (404, "UnknownOperationException")


@pytest.mark.parametrize(
    ("action", "path", "query"),
    [
        ("GetSchedule", "/schedules/", ""), ("GetSchedule", "/schedules/a/b", ""),
        ("GetSchedule", "/schedules/%00", ""), ("GetSchedule", "/schedules/%ff", ""),
        ("GetSchedule", "/schedules/%ED%A0%80", ""),
        ("GetSchedule", "/schedules/a", "groupName="), ("GetSchedule", "/schedules/a", "groupName=%00"),
        ("GetSchedule", "/schedules/a", "groupName=%ff"), ("GetSchedule", "/schedules/a%0A", ""),
        ("ListSchedules", "/schedules", "MaxResults=x"), ("ListSchedules", "/schedules", "MaxResults=" + "9" * 5_000),
        ("ListSchedules", "/schedules", "MaxResults="), ("ListSchedules", "/schedules", "NextToken=%00"),
        ("ListSchedules", "/schedules", "State=enabled"), ("ListSchedules", "/schedules", "%ff=1"),
        ("ListTagsForResource", "/tags/", ""), ("ListTagsForResource", "/tags/a/b/c", ""),
        ("ListScheduleGroups", "/schedule-groups", "NextToken=" + "A" * 3_000),
    ],
)  # fmt: skip
def test_paths_and_queries_that_are_wrong(send: Send, action: str, path: str, query: str) -> None:
    response = send(action, Request("GET", path, query))
    assert response.status == 400
    assert response.header("x-amzn-errortype") in {"ValidationException", "SerializationException"}
    assert told(response)


def test_a_function_answers_its_own_action_alone(functions: Functions) -> None:
    response = response_of(
        functions.invoke("scheduler/get_schedule", event_of("http_api", Request("GET", "/schedules")))
    )
    assert (response.status, response.header("x-amzn-errortype")) == (404, "UnknownOperationException")


def test_a_body_that_is_too_long(send: Send) -> None:
    body = b'{"Description":"' + b"x" * 6_553_600 + b'"}'
    request = Request("POST", "/schedules/a", "", (), body)
    response = send("CreateSchedule", request)
    assert response.status == 413
    if response != BY_LAMBDA:
        assert response.header("x-amzn-errortype") == "RequestEntityTooLargeException"
