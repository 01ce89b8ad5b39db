"""Tests the JSON format of the Query protocol, and which clients receive it.

The sources of the expected outputs are AWS's published samples (github.com/aws-samples/serverless-patterns, API Gateway
in front of SQS), a response to ListQueues recorded at AWS, and RFC 9110 for Accept.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.aws.codec import query_json, xml
from penstock.aws.codec.protocol import Protocol, detect_protocol, is_json_preferred
from penstock.errors import InternalFailure, QueueDoesNotExist
from penstock.sqs import types as sqs

ID = "b6633655-283d-45b4-aee4-4e84e0ae6afa"
METADATA = {"RequestId": ID}


def response(action: str, result: msgspec.Struct | None) -> Any:
    return msgspec.json.decode(query_json.encode_result(action, result, ID))


# --- who gets it -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "accept",
    [
        b"application/json",
        b"Application/JSON; charset=utf-8",
        b"application/json, text/plain, */*",  # axios
        b"*/*, application/json",
        b"text/html;q=0.5, application/json;q=0.9",
        b"text/plain, application/json;q=0.1",
    ],
)
def test_a_request_for_json_gets_json(accept: bytes) -> None:
    assert detect_protocol({b"accept": accept}, "/") is Protocol.QUERY_JSON


@pytest.mark.parametrize(
    "accept",
    [
        b"",
        b"*/*",  # curl, requests
        b"application/*",
        b"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",  # a browser
        b"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",  # Java
        b"text/xml, application/json",
        b"application/json;q=0.5, text/xml",
        b"application/json;q=0",
        b"application/json;q=much",
        b"application/json+x",
        b"\xff",
        b",;q,;;=,",
        b"application/json," * 1000,
    ],
)
def test_everybody_else_gets_xml(accept: bytes) -> None:
    assert detect_protocol({b"accept": accept}, "/") is Protocol.QUERY
    assert not is_json_preferred(accept)


def test_a_target_is_the_json_protocol_whatever_is_accepted() -> None:
    for accept in (b"text/xml", b"application/json", b"*/*"):
        assert detect_protocol({b"x-amz-target": b"AmazonSQS.ListQueues", b"accept": accept}, "/") is Protocol.JSON


# --- what it looks like ----------------------------------------------------------------------------------------------
def test_send_message() -> None:
    result = sqs.SendMessageResult(
        message_id="59c52602-131d-420c-8701-7d8f275f36ac", md5_of_message_body="0046701aed8ee5c7de6c01430556b13e"
    )
    assert response("SendMessage", result) == {
        "SendMessageResponse": {
            "ResponseMetadata": METADATA,
            "SendMessageResult": {
                "MD5OfMessageAttributes": None,
                "MD5OfMessageBody": "0046701aed8ee5c7de6c01430556b13e",
                "MD5OfMessageSystemAttributes": None,
                "MessageId": "59c52602-131d-420c-8701-7d8f275f36ac",
                "SequenceNumber": None,
            },
        }
    }


def test_receive_message() -> None:
    message = sqs.Message(message_id="m", receipt_handle="r", md5_of_body="d", body="messageBody")
    shown = response("ReceiveMessage", sqs.ReceiveMessageResult(messages=[message]))
    assert shown["ReceiveMessageResponse"]["ReceiveMessageResult"] == {
        "messages": [
            {
                "Attributes": None,
                "Body": "messageBody",
                "MD5OfBody": "d",
                "MD5OfMessageAttributes": None,
                "MessageAttributes": None,
                "MessageId": "m",
                "ReceiptHandle": "r",
            }
        ]
    }


def test_an_empty_receive() -> None:
    assert response("ReceiveMessage", sqs.ReceiveMessageResult()) == {
        "ReceiveMessageResponse": {"ReceiveMessageResult": {"messages": None}, "ResponseMetadata": METADATA}
    }


def test_list_queues() -> None:
    """The recorded response contains the member NextExclusiveStartQueueName, which no model defines."""
    shown = response("ListQueues", sqs.ListQueuesResult())
    assert shown["ListQueuesResponse"]["ListQueuesResult"] == {"NextToken": None, "queueUrls": None}
    shown = response("ListQueues", sqs.ListQueuesResult(queue_urls=["http://h/1/q"], next_token="t"))
    assert shown["ListQueuesResponse"]["ListQueuesResult"] == {"NextToken": "t", "queueUrls": ["http://h/1/q"]}


def test_maps_are_lists_of_pairs() -> None:
    attributes = sqs.GetQueueAttributesResult(attributes={"DelaySeconds": "0", "QueueArn": "a"})
    assert response("GetQueueAttributes", attributes)["GetQueueAttributesResponse"] == {
        "GetQueueAttributesResult": {
            "Attributes": [{"Name": "DelaySeconds", "Value": "0"}, {"Name": "QueueArn", "Value": "a"}]
        },
        "ResponseMetadata": METADATA,
    }
    tags = response("ListQueueTags", sqs.ListQueueTagsResult(tags={"team": "blue"}))
    assert tags["ListQueueTagsResponse"]["ListQueueTagsResult"] == {"Tags": [{"Key": "team", "Value": "blue"}]}


def test_numbers_and_truth_stay_what_they_are() -> None:
    failure = sqs.BatchResultErrorEntry(id="1", sender_fault=False, code="C")
    shown = response("DeleteMessageBatch", sqs.DeleteMessageBatchResult(failed=[failure]))
    assert shown["DeleteMessageBatchResponse"]["DeleteMessageBatchResult"] == {
        "Successful": None,
        "Failed": [{"Id": "1", "SenderFault": False, "Code": "C", "Message": None}],
    }
    moved = response("CancelMessageMoveTask", sqs.CancelMessageMoveTaskResult(approximate_number_of_messages_moved=0))
    assert moved["CancelMessageMoveTaskResponse"]["CancelMessageMoveTaskResult"] == {
        "ApproximateNumberOfMessagesMoved": 0
    }


def test_an_action_without_a_result() -> None:
    assert response("DeleteMessage", None) == {"DeleteMessageResponse": {"ResponseMetadata": METADATA}}


def test_an_error_has_the_form_of_query_in_json() -> None:
    assert msgspec.json.decode(query_json.encode_error(QueueDoesNotExist(), ID)) == {
        "Error": {
            "Type": "Sender",
            "Code": "AWS.SimpleQueueService.NonExistentQueue",
            "Message": "The specified queue does not exist for this wsdl version.",
        },
        "RequestId": ID,
    }
    assert msgspec.json.decode(query_json.encode_error(InternalFailure(), ID))["Error"]["Type"] == "Receiver"


# --- transcribed XML -------------------------------------------------------------------------------------------------
def transcribed(*messages: sqs.Message) -> Any:
    document = xml.encode_result("ReceiveMessage", "urn:x", sqs.ReceiveMessageResult(messages=list(messages)), ID)
    shown = msgspec.json.decode(query_json.convert_xml(document))
    assert shown["ReceiveMessageResponse"]["ResponseMetadata"] == METADATA
    return shown["ReceiveMessageResponse"]["ReceiveMessageResult"]


def test_repeated_elements_are_a_list_and_empty_ones_null() -> None:
    """LocalStack's page on SQS shows two messages as a list. READMEs of LocalStack's users show one message as an
    object."""
    one = sqs.Message(message_id="1", body="<a>", attributes={"SenderId": "0", "SentTimestamp": "1"})
    shown = {
        "MessageId": "1",
        "Body": "<a>",
        "Attribute": [{"Name": "SenderId", "Value": "0"}, {"Name": "SentTimestamp", "Value": "1"}],
    }
    assert transcribed() is None
    assert transcribed(one) == {"Message": shown}
    assert transcribed(one, one) == {"Message": [shown, shown]}
