"""Sends every SNS action in every protocol to every deployment, and checks the status 200 and the members of the
response.

"Response Elements" of each action in the SNS API reference lists the members. botocore's model checks the structure.
"""

from __future__ import annotations

from itertools import count

import pytest

from penstock.actions import ACTIONS
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.requests import CONTENT_TYPES, ENDPOINTS, RequestWriter, Send, code_of
from tests.support.conformance.response_model import members
from tests.support.conformance.sdk_clients import service_model
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.conformance.valid_requests.sns import GOOD, many_subscriptions
from tests.support.functions.server import Functions

WRITER = RequestWriter("sns")

_accounts = count(510_000_000_000)


# --- the good calls --------------------------------------------------------------------------------------------------


PAGED = {"NextToken", "nextToken"}
# AWS does not offer these actions to new customers: "Message data protection availability change" (Developer Guide).
REFUSED = {"PutDataProtectionPolicy": (403, "AuthorizationError")}


@pytest.fixture
def sns(deployments: Deployments, clock: Clock) -> Sns:
    """Returns the client of the container, which prepares resources. The resources are in the shared database."""
    return Sns(Sqs(deployments, clock, "container", "query"))


@pytest.fixture(params=ENDPOINTS)
def send(request: pytest.FixtureRequest, sns: Sns, functions: Functions) -> Send:
    return WRITER.sender(request.param, sns.sqs, functions)


@pytest.mark.parametrize("asked", WRITER.ways)
@pytest.mark.parametrize("action", GOOD)
def test_the_good_call(sns: Sns, send: Send, action: str, asked: str) -> None:
    protocol, write = WRITER.ways[asked]
    good = GOOD[action]
    response = send(action, write(action, good.needs(sns)))
    assert response.header("content-type") == CONTENT_TYPES[protocol]
    assert response.header("x-amzn-requestid")
    if action in REFUSED:
        assert (response.status, code_of(protocol, response)) == REFUSED[action]
        return
    assert response.status == 200, response.body
    if action == "ListOriginationNumbers":  # the list is empty
        assert b"PhoneNumbers" in response.body
        return
    assert members(protocol, action, response.body, "sns") - PAGED == set(good.answered) - PAGED
    if "NextToken" in good.answered:
        assert b"NextToken" in response.body


@pytest.mark.parametrize(
    ("protocol", "body"),
    [
        ("json", b'{"Topics":[{"TopicArn":"a","Colour":"blue"}]}'),
        ("json", b'{"Topics":[]}'),
        ("query", b"<ListTopicsResponse><ListTopicsResult/></ListTopicsResponse>"),
        ("query", (
            b'<ListTopicsResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><ListTopicsResult><Topics><entry>'
            b"<TopicArn>a</TopicArn></entry></Topics></ListTopicsResult><ResponseMetadata><RequestId>"
            b"00000000-0000-0000-0000-000000000000</RequestId></ResponseMetadata></ListTopicsResponse>")),
    ],
)  # fmt: skip
def test_the_judge_is_strict(protocol: str, body: bytes) -> None:
    with pytest.raises((AssertionError, KeyError)):
        members(protocol, "ListTopics", body, "sns")


def test_every_action_is_in_the_table() -> None:
    assert GOOD.keys() == {action.name for action in ACTIONS if action.service == "sns"}


# --- what is needed --------------------------------------------------------------------------------------------------
REQUIRED = [
    (name, member)
    for name in GOOD
    for member in service_model("json", "sns").operation_model(name).input_shape.required_members
]


@pytest.mark.parametrize("asked", ["query", "query for json", "json"])
@pytest.mark.parametrize(("action", "member"), REQUIRED)
def test_each_required_member(sns: Sns, send: Send, action: str, member: str, asked: str) -> None:
    """The error is ValidationError ("Common Errors", SNS API reference), except for Unsubscribe (recorded at AWS)."""
    protocol, write = WRITER.ways[asked]
    given = {name: value for name, value in GOOD[action].needs(sns).items() if name != member}
    response = send(action, write(action, given))
    code = "InvalidParameter" if action == "Unsubscribe" else "ValidationError"
    assert (response.status, code_of(protocol, response)) == (400, code)


# --- pages ----------------------------------------------------------------------------------------------------------
def test_a_list_that_has_a_page_is_told_so_in_the_last_one(sns: Sns) -> None:
    """A response contains NextToken if and only if more entries follow. A page without entries is an empty list."""
    mine = Sns(sns.sqs.caller(str(next(_accounts))))
    assert mine.client.list_topics()["Topics"] == []
    assert mine.client.list_subscriptions()["Subscriptions"] == []
    arn = many_subscriptions(mine)["TopicArn"]
    first = mine.client.list_subscriptions_by_topic(TopicArn=arn)
    last = mine.client.list_subscriptions_by_topic(TopicArn=arn, NextToken=first["NextToken"])
    assert (len(first["Subscriptions"]), len(last["Subscriptions"])) == (100, 1)
    assert "NextToken" not in last


def test_attributes_are_maps_of_texts(sns: Sns) -> None:
    """In XML, attributes are entries with a key and a value. DisplayName is empty only if no client has set it."""
    found = sns.attributes(sns.create())
    assert [name for name, value in found.items() if not value] == ["DisplayName"]
