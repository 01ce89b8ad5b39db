"""Tests every error that an SNS action can return: code, type, status, fault and serialized form.

The sources are docs/reference/errors.md, botocore's model, and "Common Errors" (SNS API reference). Other modules test
when an error occurs, and this module tests the format of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
from botocore.exceptions import ClientError

from penstock.sns.errors import SNS_ERRORS
from tests.support import client_setup
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Refusal, read_refusal

pytestmark = pytest.mark.cbor("container")

Call = tuple[str, dict[str, Any]]
NAMESPACE = "{http://sns.amazonaws.com/doc/2010-03-31/}"


class Row(NamedTuple):
    """Holds an error, and a call that causes the error. Only the Query protocol has a type."""

    code: str
    type: str
    status: int
    provoke: Callable[[Sns], Call]
    fault: str = "Sender"


def on_topic(method: str, suffix: str = "", **parameters: Any) -> Callable[[Sns], Call]:
    """Returns a call on an existing topic. With `suffix`, the ARN names a different topic."""
    return lambda sns: (method, {"TopicArn": sns.create() + suffix, **parameters})


def batch(*ids: str, body: str = "m") -> Callable[[Sns], Call]:
    entries = [{"Id": entry_id, "Message": body} for entry_id in ids]
    return on_topic("publish_batch", PublishBatchRequestEntries=entries)


FILL = """
insert into queue.subscription (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes, confirmed,
    filter)
select gen_random_uuid(), t.topic_id, gen_random_uuid(), '0', 'sqs', n::text, '{}', true, %s::jsonb
from queue.topic t, generate_series(1, %s) n where t.arn = %s"""


def crowded(sns: Sns) -> Call:
    """Returns a FIFO topic with the maximum number of subscriptions."""
    topic = sns.create_fifo()
    sns.sqs.clock.connection.execute(FILL, (None, 100, topic))
    return "subscribe", {"TopicArn": topic, "Protocol": "sqs", "Endpoint": QUEUE}


def filtered(sns: Sns) -> Call:
    """Returns a topic with the maximum number of filter policies."""
    topic = sns.create()
    sns.sqs.clock.connection.execute(FILL, ("[]", 200, topic))
    policy = {"FilterPolicy": '{"a": ["b"]}'}
    return "subscribe", {"TopicArn": topic, "Protocol": "sqs", "Endpoint": QUEUE, "Attributes": policy}


def archived(sns: Sns) -> Call:
    """Returns the deletion of a topic that keeps its messages."""
    return "delete_topic", {"TopicArn": sns.create_fifo(ArchivePolicy='{"MessageRetentionPeriod": "1"}')}


def tags(number: int) -> list[dict[str, str]]:
    return [{"Key": str(n), "Value": "v"} for n in range(number)]


def broken(sns: Sns) -> Call:
    """Returns a topic with a corrupt row, so every call on the topic is a server error."""
    topic = sns.create()
    sns.sqs.clock.connection.execute("""update queue.topic set tags = '{"a": {"b": "c"}}' where arn = %s""", (topic,))
    return "list_tags_for_resource", {"ResourceArn": topic}


QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
UNKNOWN = "arn:aws:sns:us-east-1:000000000000:no-such-topic"
BAD_ATTRIBUTE = {"a": {"DataType": "Number", "StringValue": "x"}}
TABLE = (
    Row("NotFound", "NotFoundException", 404, on_topic("get_topic_attributes", "-none")),
    Row("InvalidParameter", "InvalidParameterException", 400, on_topic("publish", Message="")),
    Row("ParameterValueInvalid", "InvalidParameterValueException", 400,
        on_topic("publish", Message="m", MessageAttributes=BAD_ATTRIBUTE)),
    Row("AuthorizationError", "AuthorizationErrorException", 403,
        lambda sns: ("put_data_protection_policy", {"ResourceArn": sns.create(), "DataProtectionPolicy": "{}"})),
    Row("FilterPolicyLimitExceeded", "FilterPolicyLimitExceededException", 403, filtered),
    Row("SubscriptionLimitExceeded", "SubscriptionLimitExceededException", 403, crowded),
    Row("BatchEntryIdsNotDistinct", "BatchEntryIdsNotDistinctException", 400, batch("a", "a")),
    Row("EmptyBatchRequest", "EmptyBatchRequestException", 400, batch()),
    Row("TooManyEntriesInBatchRequest", "TooManyEntriesInBatchRequestException", 400, batch(*"abcdefghijk")),
    Row("InvalidBatchEntryId", "InvalidBatchEntryIdException", 400, batch("a b")),
    Row("BatchRequestTooLong", "BatchRequestTooLongException", 400, batch("a", "b", body="m" * 131_073)),
    Row("ResourceNotFound", "ResourceNotFoundException", 404,
        lambda sns: ("list_tags_for_resource", {"ResourceArn": UNKNOWN})),
    Row("TagLimitExceeded", "TagLimitExceededException", 400,
        lambda sns: ("tag_resource", {"ResourceArn": sns.create(), "Tags": tags(51)})),
    Row("InvalidState", "InvalidStateException", 400, archived),
    Row("InternalError", "InternalErrorException", 500, broken, "Receiver"),
)  # fmt: skip

# Lists errors that no SDK can cause in these tests, with the reason or with the test that causes the error.
# ValidationError: an SDK does not send a request that lacks a required member.
ELSEWHERE = {
    "ValidationException": "test_a_missing_member",
    "TopicLimitExceededException": "topics are not counted",
    "ThrottledException": "nothing is throttled",
    "EndpointDisabledException": "test_mobile_push.test_a_disabled_endpoint",
    "PlatformApplicationDisabledException": "test_mobile_push.test_a_disabled_endpoint",
    "OptedOutException": "test_text_messages.test_an_opted_out_number_gets_no_password",
    "UserErrorException": "test_text_messages.test_ten_numbers_are_the_most",
    "VerificationException": "test_text_messages.test_the_sandbox",
}


def refused(sns: Sns, row: Row) -> Refusal:
    """Returns the error that the client received."""
    method, parameters = row.provoke(sns)
    with pytest.raises(ClientError):
        getattr(sns.client, method)(**parameters)
    response = sns.response
    assert response.headers is not None
    assert response.headers["x-amzn-requestid"]
    return read_refusal(sns.sqs.protocol, response.status, response.headers, response.body)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.type)
def test_an_error_has_awss_form(sns: Sns, row: Row) -> None:
    refusal = refused(sns, row)
    expected_type = None if sns.sqs.protocol == "query" else row.type
    assert refusal[:4] == (row.code, row.status, row.fault, expected_type)
    assert refusal.message
    if sns.sqs.protocol == "query":
        error, request_id = ET.fromstring(sns.response.body)
        assert [child.tag.removeprefix(NAMESPACE) for child in error] == ["Type", "Code", "Message"]
        assert request_id.tag == f"{NAMESPACE}RequestId"
    else:
        assert f"com.amazonaws.sns#{row.type}".encode() in sns.response.body


def test_every_error_is_in_the_table() -> None:
    assert {error.json_type for error in SNS_ERRORS.values()} == {row.type for row in TABLE} | ELSEWHERE.keys()


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.type)
def test_sdks_raise_typed_exceptions(sns: Sns, row: Row) -> None:
    """`except sns.exceptions.NotFoundException` works in both protocols, as with AWS."""
    method, parameters = row.provoke(sns)
    with pytest.raises(getattr(sns.client.exceptions, row.type)):
        getattr(sns.client, method)(**parameters)


def test_a_missing_member(sns: Sns) -> None:
    """The code is ValidationError ("Common Errors"). The text comes from other AWS services."""
    response = client_setup.get(f"{sns.sqs.endpoint_url}/?Action=Publish&Version=2010-03-31&TopicArn=a")
    assert response.status_code == 400
    told = read_refusal("query", response.status_code, response.headers, response.content)
    assert (told.code, told.message) == (
        "ValidationError",
        "1 validation error detected: Value null at 'message' failed to satisfy constraint: Member must not be null",
    )
