"""Tests the XML of the Query protocol by reading it with the standard library's parser."""

from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.aws.codec import xml
from penstock.errors import InternalFailure, InvalidParameterValue, QueueDoesNotExist
from penstock.sqs import types as sqs

NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/"
ID = "b6633655-283d-45b4-aee4-4e84e0ae6afa"

Plain = tuple[str, "str | list[Plain]"]


def plain(element: ET.Element) -> Plain:
    """Returns the tag without its namespace, and the text or the children of the element."""
    tag = element.tag.removeprefix(f"{{{NAMESPACE}}}")
    return (tag, [plain(child) for child in element] if len(element) else element.text or "")


def response(action: str, result: msgspec.Struct | None) -> Plain:
    return plain(ET.fromstring(xml.encode_result(action, NAMESPACE, result, ID)))


METADATA: Plain = ("ResponseMetadata", [("RequestId", ID)])


def wrapped(action: str, children: "list[Plain]") -> Plain:
    return (f"{action}Response", [(f"{action}Result", children or ""), METADATA])


def test_send_message() -> None:
    # The XML is the example of SendMessage in the SQS API reference, with the digests and ids of the example.
    result = sqs.SendMessageResult(
        md5_of_message_body="fafb00f5732ab283681e124bf8747ed1",
        md5_of_message_attributes="c48838208d2b4e14e3ca0093a8443f09",
        message_id="374cec7b-d0c8-4a2e-ad0b-67be763cf97e",
    )
    assert response("SendMessage", result) == wrapped(
        "SendMessage",
        [
            ("MD5OfMessageBody", "fafb00f5732ab283681e124bf8747ed1"),
            ("MD5OfMessageAttributes", "c48838208d2b4e14e3ca0093a8443f09"),
            ("MessageId", "374cec7b-d0c8-4a2e-ad0b-67be763cf97e"),
        ],
    )


def test_the_document_is_exactly_as_sqs_writes_it() -> None:
    text = xml.encode_result("CreateQueue", NAMESPACE, sqs.CreateQueueResult(queue_url="http://h/1/q"), ID)
    assert text.decode() == (
        f'<?xml version="1.0"?><CreateQueueResponse xmlns="{NAMESPACE}"><CreateQueueResult>'
        "<QueueUrl>http://h/1/q</QueueUrl></CreateQueueResult>"
        f"<ResponseMetadata><RequestId>{ID}</RequestId></ResponseMetadata></CreateQueueResponse>"
    )


def test_an_action_without_a_result_has_no_result_element() -> None:
    assert response("DeleteMessage", None) == ("DeleteMessageResponse", [METADATA])


def test_lists_and_maps_are_flat() -> None:
    message = sqs.Message(
        message_id="m",
        receipt_handle="r",
        md5_of_body="d",
        body="b",
        attributes={"SenderId": "s", "SentTimestamp": "1"},
        message_attributes={
            "t": sqs.MessageAttributeValue(data_type="String", string_value="v"),
            "b": sqs.MessageAttributeValue(data_type="Binary", binary_value="AP8="),
        },
    )
    expected: list[Plain] = [
        ("MessageId", "m"),
        ("ReceiptHandle", "r"),
        ("MD5OfBody", "d"),
        ("Body", "b"),
        ("Attribute", [("Name", "SenderId"), ("Value", "s")]),
        ("Attribute", [("Name", "SentTimestamp"), ("Value", "1")]),
        ("MessageAttribute", [("Name", "t"), ("Value", [("DataType", "String"), ("StringValue", "v")])]),
        ("MessageAttribute", [("Name", "b"), ("Value", [("DataType", "Binary"), ("BinaryValue", "AP8=")])]),
    ]
    result = sqs.ReceiveMessageResult(messages=[message, message])
    assert response("ReceiveMessage", result) == wrapped(
        "ReceiveMessage", [("Message", expected), ("Message", expected)]
    )


def test_an_empty_receive_has_an_empty_result() -> None:
    assert response("ReceiveMessage", sqs.ReceiveMessageResult()) == wrapped("ReceiveMessage", [])


def test_a_batch_lists_what_succeeded_and_what_failed() -> None:
    result = sqs.SendMessageBatchResult(
        successful=[sqs.SendMessageBatchResultEntry(id="a", message_id="m", md5_of_message_body="d")],
        failed=[sqs.BatchResultErrorEntry(id="b", sender_fault=True, code="C", message="M")],
    )
    assert response("SendMessageBatch", result) == wrapped(
        "SendMessageBatch",
        [
            ("SendMessageBatchResultEntry", [("Id", "a"), ("MessageId", "m"), ("MD5OfMessageBody", "d")]),
            ("BatchResultErrorEntry", [("Id", "b"), ("SenderFault", "true"), ("Code", "C"), ("Message", "M")]),
        ],
    )


def test_queue_urls_and_attributes() -> None:
    urls = sqs.ListQueuesResult(queue_urls=["u1", "u2"], next_token="t")
    assert response("ListQueues", urls) == wrapped(
        "ListQueues", [("QueueUrl", "u1"), ("QueueUrl", "u2"), ("NextToken", "t")]
    )
    attributes = sqs.GetQueueAttributesResult(attributes={"DelaySeconds": "0"})
    assert response("GetQueueAttributes", attributes) == wrapped(
        "GetQueueAttributes", [("Attribute", [("Name", "DelaySeconds"), ("Value", "0")])]
    )


class Listing(msgspec.Struct, rename="pascal"):
    """Describes an output whose members have no flat name, as in SNS."""

    topics: list[sqs.DeleteMessageBatchResultEntry]
    attributes: dict[str, str]
    count: int
    complete: bool


def test_wrapped_members_as_sns_has_them() -> None:
    listing = Listing([sqs.DeleteMessageBatchResultEntry(id="t")], {"a": "1"}, 3, complete=False)
    assert response("ListTopics", listing) == wrapped(
        "ListTopics",
        [
            ("Topics", [("member", [("Id", "t")])]),
            ("Attributes", [("entry", [("key", "a"), ("value", "1")])]),
            ("Count", "3"),
            ("Complete", "false"),
        ],
    )
    assert response("ListTopics", Listing([], {}, 0, complete=True)) == wrapped(
        "ListTopics", [("Topics", ""), ("Attributes", ""), ("Count", "0"), ("Complete", "true")]
    )


def test_a_list_inside_a_list_has_no_form() -> None:
    class Nested(msgspec.Struct):
        lists: list[list[str]]

    with pytest.raises(TypeError):
        xml.build_writer(Nested)


# --- characters ------------------------------------------------------------------------------------------------------
ALLOWED = (
    st.sampled_from("\t\n\r&<>\"'") | st.characters(min_codepoint=0x20, max_codepoint=0xFFFD, exclude_categories=["Cs"])
) | st.characters(min_codepoint=0x10000)


@given(st.text(ALLOWED))
def test_text_survives_a_parser(text: str) -> None:
    element = ET.fromstring(f"<a>{xml.escape_text(text)}</a>")
    assert (element.text or "") == text


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_is_well_formed(text: str) -> None:
    ET.fromstring(xml.write_document(f"<a>{xml.escape_text(text)}</a>"))


def test_a_carriage_return_is_a_reference() -> None:
    assert xml.escape_text('a\r\n<b>&"') == "a&#xD;\n&lt;b&gt;&amp;&quot;"


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    assert xml.write_document("\t\n\r\x00\x1f\x7f\ufffd\ufffe\uffff\ud800é") == "\t\n\r??\x7f\ufffd???é".encode()


# --- errors ----------------------------------------------------------------------------------------------------------
def test_an_error_as_sqs_writes_it() -> None:
    assert xml.encode_error(NAMESPACE, QueueDoesNotExist(), ID).decode() == (
        f'<?xml version="1.0"?><ErrorResponse xmlns="{NAMESPACE}"><Error><Type>Sender</Type>'
        "<Code>AWS.SimpleQueueService.NonExistentQueue</Code>"
        "<Message>The specified queue does not exist for this wsdl version.</Message><Detail/></Error>"
        f"<RequestId>{ID}</RequestId></ErrorResponse>"
    )


def test_our_own_failure_is_the_receivers() -> None:
    assert b"<Type>Receiver</Type><Code>InternalFailure</Code>" in xml.encode_error(NAMESPACE, InternalFailure(), ID)


def test_the_message_of_an_error_is_escaped() -> None:
    document = xml.encode_error(NAMESPACE, InvalidParameterValue("<&\x00>"), ID)
    message = ET.fromstring(document).find(f".//{{{NAMESPACE}}}Message")
    assert message is not None
    assert message.text == "<&?>"
