"""Tests AWS JSON: botocore's serializer writes the request, and Penstock's decoder must read the same values."""

from json import dumps
from typing import Any

import botocore.serialize
import botocore.session
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.actions import ACTIONS, BY_NAME, AnyAction
from penstock.aws.codec import json, rest_json
from penstock.aws.codec.json import MAX_STRUCTURAL_CHARACTERS
from penstock.errors import AwsError, MissingParameter, QueueDoesNotExist, RequestEntityTooLarge, SerializationException
from penstock.scheduler.types import CreateScheduleRequest
from penstock.sqs import types as sqs

MODEL = botocore.session.get_session().get_service_model("sqs")
SERIALIZER = botocore.serialize.create_serializer("json")
SAMPLES: dict[str, Any] = {"string": "téxt\r\n\U0001f40d", "integer": 7, "boolean": True, "blob": b"\x00\xffbytes"}
decode_send = json.build_decoder(sqs.SendMessageRequest)


def sample(shape: Any) -> Any:
    """Returns a value with all members of the shape."""
    match shape.type_name:
        case "structure":
            return {name: sample(member) for name, member in shape.members.items()}
        case "list":
            return [sample(shape.member), sample(shape.member)]
        case "map":
            return {"one": sample(shape.value), "two": sample(shape.value)}
        case kind:
            return SAMPLES[kind]


def wire_form(value: Any) -> Any:
    """Returns the sample as JSON, with bytes in base64."""
    match value:
        case bytes():
            return msgspec.to_builtins(value)
        case dict():
            return {key: wire_form(item) for key, item in value.items()}
        case list():
            return [wire_form(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize("action", [pytest.param(a, id=a.name) for a in ACTIONS if a.service == "sqs"])
def test_a_request_of_botocore_is_read_back(action: AnyAction) -> None:
    operation = MODEL.operation_model(action.name)
    values = sample(operation.input_shape)
    body = SERIALIZER.serialize_to_request(values, operation)["body"]
    assert msgspec.to_builtins(json.build_decoder(action.request)(body)) == wire_form(values)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"Unknown": {"x": [1]}}', b'{"QueueNamePrefix": null, "MaxResults": null, "Odd": null}']
)
def test_absent_null_and_unknown_members_are_nothing(body: bytes) -> None:
    assert json.build_decoder(sqs.ListQueuesRequest)(body) == sqs.ListQueuesRequest()


def test_null_inside_a_map_is_an_absent_entry() -> None:
    request = decode_send(
        b'{"QueueUrl":"u","MessageBody":"b","MessageAttributes":'
        b'{"a":null,"b":{"DataType":"String","StringValue":"v","BinaryValue":null}}}'
    )
    value = sqs.MessageAttributeValue(data_type="String", string_value="v")
    assert request == sqs.SendMessageRequest(queue_url="u", message_body="b", message_attributes={"b": value})


@pytest.mark.parametrize(
    ("action", "body", "parameter"),
    [
        ("SendMessage", b"{}", "QueueUrl"),
        ("SendMessage", b'{"QueueUrl":"u"}', "MessageBody"),
        ("SendMessage", b'{"QueueUrl":null,"MessageBody":"b"}', "QueueUrl"),
        ("CreateQueue", b"{}", "QueueName"),
        ("SetQueueAttributes", b'{"QueueUrl":"u"}', "Attributes"),
        ("DeleteMessage", b'{"QueueUrl":"u"}', "ReceiptHandle"),
        ("ChangeMessageVisibility", b'{"QueueUrl":"u","ReceiptHandle":"r"}', "VisibilityTimeout"),
        ("SendMessageBatch", b'{"QueueUrl":"u"}', "Entries"),
        (
            "SendMessageBatch",
            b'{"QueueUrl":"u","Entries":[{"Id":"1","MessageBody":"b"},{"MessageBody":"b"}]}',
            "SendMessageBatchRequestEntry.2.Id",
        ),
        (
            "DeleteMessageBatch",
            b'{"QueueUrl":"u","Entries":[{"Id":"1"}]}',
            "DeleteMessageBatchRequestEntry.1.ReceiptHandle",
        ),
    ],
)
def test_a_missing_required_member_is_named(action: str, body: bytes, parameter: str) -> None:
    with pytest.raises(MissingParameter) as caught:
        json.build_decoder(BY_NAME["sqs", action].request)(body)
    assert caught.value.message == f"The request must contain the parameter {parameter}."


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"not json", "The request body could not be read."),
        (b'{"QueueUrl":"u"', "The request body could not be read."),
        (b'{"QueueUrl":"\xff"}', "The request body could not be read."),
        (b'{"QueueUrl":"u","MessageBody":"b","x\xff":1}', "The request body could not be read."),
        (b'{"QueueUrl":"u","MessageBody":"b","x":"\xff"}', "The request body could not be read."),
        (b"[" * 100_000, "The request body could not be read."),
        (b'{"x":' * 10_000, "The request body could not be read."),
        (b'{"x":' * 200_000, "The request has more than 5000 names and texts."),
        (b"[]", "Start of list found where not expected"),
        (b'"text"', "Unexpected field type"),
        (b'{"QueueUrl":1,"MessageBody":"b"}', "NUMBER_VALUE can not be converted to a String"),
        (b'{"QueueUrl":true,"MessageBody":"b"}', "TRUE_VALUE can not be converted to a String"),
        (b'{"QueueUrl":[],"MessageBody":"b"}', "Start of list found where not expected"),
        (b'{"QueueUrl":{},"MessageBody":"b"}', "Start of structure or map found where not expected."),
        (b'{"QueueUrl":"u","MessageBody":"b","DelaySeconds":"5"}', "STRING_VALUE can not be converted to an Integer"),
        (b'{"QueueUrl":"u","MessageBody":"b","DelaySeconds":1.5}', "NUMBER_VALUE can not be converted to an Integer"),
        (b'{"QueueUrl":"u","MessageBody":"b","DelaySeconds":true}', "TRUE_VALUE can not be converted to an Integer"),
        (b'{"QueueUrl":"u","MessageBody":"b","MessageAttributes":[]}', "Start of list found where not expected"),
    ],
)
def test_an_unreadable_body_is_a_serialization_exception(body: bytes, text: str) -> None:
    with pytest.raises(SerializationException) as caught:
        decode_send(body)
    assert caught.value.message == text


def test_a_long_text_may_hold_whatever_it_likes() -> None:
    """Quotes, braces and commas inside a message do not belong to the request's structure."""
    for text in ('{"a":[1,2,"\\\\"]},' * 60_000, '"' * 1_000_000, "\\" * 1_000_000, ",[{" * 300_000):
        body = msgspec.json.encode({"QueueUrl": "u", "MessageBody": text})
        assert decode_send(body).message_body == text
        attribute = {"DataType": "String", "StringValue": text}
        body = msgspec.json.encode({"QueueUrl": "u", "MessageBody": "b", "MessageAttributes": {"a": attribute}})
        assert decode_send(body).message_attributes["a"].string_value == text


@pytest.mark.parametrize("text", ["\\u0041" * 1_048_576, "\\n" * 1_048_576, "A" * 1_398_104], ids=["u", "n", "base64"])
def test_a_mib_may_be_written_with_escapes_or_as_base64(text: str) -> None:
    """The text is the longest body of a message in each notation, or the longest binary attribute."""
    assert len(decode_send(f'{{"QueueUrl":"u","MessageBody":"{text}"}}'.encode()).message_body) >= 1_048_576


@pytest.mark.parametrize("filler", ["1,", "[],", " ", "{"])
def test_a_longer_body_than_any_request_is_refused_unread(filler: str) -> None:
    body = '{"QueueUrl":"u","MessageBody":"b","x":[' + filler * (2_200_000 // len(filler))
    with pytest.raises(RequestEntityTooLarge):
        decode_send(body.encode())


def test_a_million_small_members_are_refused_unread() -> None:
    many = {str(number): 0 for number in range(json.MAX_STRINGS + 1)}
    padding = " " * json.SHORT_BYTES
    for value in ({"QueueUrl": "u", "MessageBody": padding, **many}, {"AttributeNames": ["All"] * 100_000}):
        with pytest.raises(SerializationException, match="more than 5000 names and texts"):
            decode_send(msgspec.json.encode(value))
    fewer = {str(number): 0 for number in range(json.MAX_STRINGS - 10)}
    assert decode_send(msgspec.json.encode({"QueueUrl": "u", "MessageBody": padding, **fewer})).queue_url == "u"
    for item in (b"0", b"[]", b"{}", b"null", b"1.5"):
        with pytest.raises(SerializationException):
            decode_send(b'{"QueueUrl":"u","Entries":[' + b",".join([item] * 300_000) + b"]}")


@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_any_bytes_give_a_request_or_an_aws_error(body: bytes) -> None:
    try:
        request = decode_send(body)
    except AwsError:
        return
    assert isinstance(request, sqs.SendMessageRequest)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("Id", "DataType", "x")), inner),
)
MEMBERS = st.sampled_from(("QueueUrl", "MessageBody", "DelaySeconds", "MessageAttributes", "Entries"))


@given(st.dictionaries(MEMBERS, JSON), st.sampled_from(("SendMessage", "SendMessageBatch")))
def test_any_json_gives_a_request_or_an_aws_error(value: object, action: str) -> None:
    request_type = BY_NAME["sqs", action].request
    try:
        request = json.build_decoder(request_type)(msgspec.json.encode(value))
    except AwsError:
        return
    assert isinstance(request, request_type)


# --- responses --------------------------------------------------------------------------------------------------------
def test_members_at_their_default_are_left_out() -> None:
    assert json.encode(sqs.ReceiveMessageResult()) == b"{}"
    assert json.encode(sqs.SendMessageBatchResult()) == b"{}"
    assert json.encode(sqs.ListQueuesResult()) == b"{}"


def test_the_response_of_send_message() -> None:
    result = sqs.SendMessageResult(message_id="id", md5_of_message_body="md5", sequence_number="1")
    assert msgspec.json.decode(json.encode(result)) == {
        "MD5OfMessageBody": "md5",
        "MessageId": "id",
        "SequenceNumber": "1",
    }


def test_an_error_names_its_type_and_says_what_happened() -> None:
    assert msgspec.json.decode(json.encode_error(QueueDoesNotExist())) == {
        "__type": "com.amazonaws.sqs#QueueDoesNotExist",
        "message": "The specified queue does not exist.",
    }


# --- rest json -------------------------------------------------------------------------------------------------------
# Tests long bodies in REST-JSON. The service counts the values in a body before it decodes them.


decode = rest_json.build_decoder(CreateScheduleRequest)


def body(**more: Any) -> bytes:
    target = {"Arn": "arn:aws:sqs:us-east-1:000000000000:q", "RoleArn": "arn:aws:iam::000000000000:role/r"}
    given = {"ScheduleExpression": "rate(1 hour)", "FlexibleTimeWindow": {"Mode": "OFF"}}
    return dumps({**given, "Target": target | more}).encode()


def test_a_long_input_may_hold_whatever_it_likes() -> None:
    """Brackets and commas in a text do not belong to the request's structure."""
    for text in ('[{"a":[1,"\\\\"]},' * 50_000, '"' * 1_000_000, "\\" * 1_000_000, ",[{" * 300_000):
        assert decode("s", b"", body(Input=text)).target.input == text


@pytest.mark.parametrize("value", ["[]", "1", "{}", '[""]'])
def test_many_values_are_refused_unread(value: str) -> None:
    values = ",".join([value] * (MAX_STRUCTURAL_CHARACTERS + 1))
    with pytest.raises(SerializationException):
        decode("s", b"", body(Input="x").replace(b'"x"', f'"x","y":[{values},"{"z" * 131_072}"]'.encode()))


def test_a_longer_schedule_than_any_request_is_refused_unread() -> None:
    with pytest.raises(RequestEntityTooLarge):
        decode("s", b"", b"[" * 2_200_000)
