"""Sends every action in every protocol to every deployment, and checks the status 200 and the members of the response.

"Response Elements" of each action in the SQS API reference lists the members. botocore's model checks the structure.
"""

from __future__ import annotations

import pytest

from penstock.actions import ACTIONS
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.requests import CONTENT_TYPES, ENDPOINTS, RequestWriter, Send, code_of
from tests.support.conformance.response_model import members
from tests.support.conformance.sdk_clients import service_model
from tests.support.conformance.sqs import Sqs
from tests.support.conformance.valid_requests.sqs import GOOD
from tests.support.functions.server import Functions

# --- the good calls --------------------------------------------------------------------------------------------------


# --- how it is asked -------------------------------------------------------------------------------------------------
WRITER = RequestWriter("sqs")


@pytest.fixture
def sqs(deployments: Deployments, clock: Clock) -> Sqs:
    """Returns the client of the container, which prepares resources. The resources are in the shared database."""
    return Sqs(deployments, clock, "container", "json")


@pytest.fixture(params=ENDPOINTS)
def send(request: pytest.FixtureRequest, sqs: Sqs, functions: Functions) -> Send:
    return WRITER.sender(request.param, sqs, functions)


@pytest.mark.parametrize("asked", WRITER.ways)
@pytest.mark.parametrize("action", GOOD)
def test_the_good_call(sqs: Sqs, send: Send, action: str, asked: str) -> None:
    protocol, write = WRITER.ways[asked]
    good = GOOD[action]
    response = send(action, write(action, good.needs(sqs)))
    assert (response.status, response.header("content-type")) == (200, CONTENT_TYPES[protocol]), response.body
    assert response.header("x-amzn-requestid")
    assert members(protocol, action, response.body) == set(good.answered)


@pytest.mark.parametrize(
    ("protocol", "body"),
    [
        ("json", b'{"QueueUrl":"u","Colour":"blue"}'),
        ("json", b'{"QueueUrl":""}'),
        ("json", b'{"QueueUrl":null}'),
        ("json", b'{"QueueUrl":["u"]}'),
        ("query-json", b'{"GetQueueUrlResponse":{"GetQueueUrlResult":{"Url":"u"},"ResponseMetadata":{}}}'),
        ("query", b"<GetQueueUrlResponse><GetQueueUrlResult/></GetQueueUrlResponse>"),
    ],
)
def test_the_judge_is_strict(protocol: str, body: bytes) -> None:
    with pytest.raises((AssertionError, KeyError)):
        members(protocol, "GetQueueUrl", body)


def test_every_action_is_in_the_table() -> None:
    assert GOOD.keys() == {action.name for action in ACTIONS if action.service == "sqs"}


# --- what is needed --------------------------------------------------------------------------------------------------
# Query cannot express an empty list, so the test expects the response for an empty list in JSON.
ABSENT_LISTS = {"Entries": "AWS.SimpleQueueService.EmptyBatchRequest"}
REQUIRED = [
    (name, member)
    for name in GOOD
    for member in service_model("json").operation_model(name).input_shape.required_members
]


@pytest.mark.parametrize("asked", ["query", "query for json", "json"])
@pytest.mark.parametrize(("action", "member"), REQUIRED)
def test_each_required_member(sqs: Sqs, send: Send, action: str, member: str, asked: str) -> None:
    """Both protocols return equal errors. test_raw_json.py contains more tests of JSON."""
    protocol, write = WRITER.ways[asked]
    given = {name: value for name, value in GOOD[action].needs(sqs).items() if name != member}
    response = send(action, write(action, given))
    assert response.status == 400
    assert code_of(protocol, response) == (
        "MissingParameter" if protocol == "json" else ABSENT_LISTS.get(member, "MissingParameter")
    )
