"""Tests the characters, sizes, ids and ranges in message requests, with limits and texts from the SQS documentation."""

import base64
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import errors
from penstock.sqs import validation
from penstock.sqs.types import MessageAttributeValue


def allowed(character: str) -> bool:
    """Returns whether the SendMessage reference allows the character: #x9 | #xA | #xD | #x20-#xD7FF | #xE000-#xFFFD |
    #x10000-#x10FFFF.
    """
    code = ord(character)
    return code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF


def text(value: str, data_type: str = "String") -> MessageAttributeValue:
    return MessageAttributeValue(data_type=data_type, string_value=value)


# --- bodies ----------------------------------------------------------------------------------------------------------
EDGES = (
    "\x00\x08\t\n\x0b\x0c\r\x0e\x1f\x20\x7f\x80\x9f\xad\ud7ff\ud800\udfff\ue000"
    "\ufdd0\ufffd\ufffe\uffff\U00010000\U0001fffe\U0010ffff"
)


@pytest.mark.parametrize("character", EDGES, ids=lambda c: f"U+{ord(c):04X}")
def test_edges_of_the_character_set(character: str) -> None:
    body = f"a{character}b"
    if allowed(character):
        assert validation.check_message_body(body) == body.encode()
    else:
        with pytest.raises(errors.InvalidMessageContents):
            validation.check_message_body(body)


@given(st.text(st.characters(exclude_categories=[]) | st.sampled_from("\n\t\r\x01\ufffe"), min_size=1))
def test_any_body(body: str) -> None:
    try:
        data = validation.check_message_body(body)
    except errors.InvalidMessageContents:
        assert not all(map(allowed, body))
    else:
        assert all(map(allowed, body))
        assert data == body.encode()


def test_the_text_about_a_refused_character() -> None:
    with pytest.raises(errors.InvalidMessageContents) as caught:
        validation.check_message_body("a\x07")
    assert caught.value.message == (
        "Invalid binary character '#x7' was found in the message body, the set of allowed characters is "
        "#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]."
    )


def test_an_empty_body_is_a_missing_parameter() -> None:
    with pytest.raises(errors.MissingParameter) as caught:
        validation.check_message_body("")
    assert caught.value.message == "The request must contain the parameter MessageBody."


def test_sizes_of_messages_and_batches() -> None:
    validation.check_message_size(1_048_576)
    validation.check_batch_size(1_048_576)
    with pytest.raises(errors.InvalidParameterValue) as caught:
        validation.check_message_size(1_048_577)
    assert caught.value.message == (
        "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    )
    with pytest.raises(errors.BatchRequestTooLong) as too_long:
        validation.check_batch_size(1_048_577)
    assert too_long.value.message == (
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
    )


# --- attributes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 256, "a.b.c", "awsome", "amazonian", "-", "AW.S", "é", "名"])
def test_names_of_attributes(name: str) -> None:
    validation.check_message_attributes({name: text("v")})


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x" * 257,
        ".a",
        "a.",
        "a..b",
        "a b",
        "a\n",
        "a😀",
        "a\x00",
        "AWS.a",
        "aws.a",
        "Aws.x",
        "Amazon.a",
        "amazon.a",
    ],
)
def test_names_that_are_no_attribute_names(name: str) -> None:
    with pytest.raises(errors.InvalidParameterValue):
        validation.check_message_attributes({name: text("v")})


@pytest.mark.parametrize("data_type", ["String", "String.custom", "String.ä b", "String." + "x" * 249])
def test_types_of_attributes(data_type: str) -> None:
    validation.check_message_attributes({"a": text("v", data_type)})


@pytest.mark.parametrize(
    "data_type",
    ["", "string", "Strings", "StringValue", "Object", "String.", "String.\x00", "String." + "x" * 250, " String"],
)
def test_types_that_are_none(data_type: str) -> None:
    with pytest.raises(errors.InvalidParameterValue):
        validation.check_message_attributes({"a": text("v", data_type)})


@pytest.mark.parametrize(
    "number",
    ["0", "-1", "+1", "1.5", ".5", "5.", "1e10", "1E-5", "9" * 38, "0" * 50 + "1", "230.000000000000000001", "1e126"],
)
def test_a_number_in_an_attribute_is_accepted(number: str) -> None:
    validation.check_message_attributes({"a": text(number, "Number"), "b": text(number, "Number.int")})


@pytest.mark.parametrize(
    "number",
    ["x", "1x", "", ".", "-", "1 ", "1e", "NaN", "inf", "0x1", "1_0", "9" * 39, "1e127", "-2e128", "\u0661", "1e9999"],
)
def test_texts_that_are_no_numbers(number: str) -> None:
    with pytest.raises(errors.InvalidParameterValue):
        validation.check_message_attributes({"a": text(number, "Number")})


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (text(""), errors.InvalidParameterValue),
        (MessageAttributeValue(data_type="String"), errors.InvalidParameterValue),
        (MessageAttributeValue(data_type="String", binary_value="AA=="), errors.InvalidParameterValue),
        (MessageAttributeValue(data_type="Binary"), errors.InvalidParameterValue),
        (MessageAttributeValue(data_type="Binary", binary_value=""), errors.InvalidParameterValue),
        (text("v", "Binary"), errors.InvalidParameterValue),
        (
            MessageAttributeValue(data_type="String", string_value="v", binary_value="AA=="),
            errors.InvalidParameterValue,
        ),
        (MessageAttributeValue(data_type="Binary", binary_value="%%%"), errors.InvalidParameterValue),
        (MessageAttributeValue(data_type="Binary", binary_value="AAA"), errors.InvalidParameterValue),
        (MessageAttributeValue(data_type="Binary", binary_value="é==="), errors.InvalidParameterValue),
        (text("a\x00b"), errors.InvalidParameterValue),
        (
            MessageAttributeValue(data_type="String", string_value="v", string_list_values=["v"]),
            errors.UnsupportedOperation,
        ),
        (
            MessageAttributeValue(data_type="String", string_value="v", binary_list_values=["AA=="]),
            errors.UnsupportedOperation,
        ),
    ],
)
def test_values_that_are_refused(value: MessageAttributeValue, error: type[errors.AwsError]) -> None:
    with pytest.raises(error):
        validation.check_message_attributes({"a": value})


def test_binary_values() -> None:
    value = base64.b64encode(b"\x00\xff").decode()
    validation.check_message_attributes({"a": MessageAttributeValue(data_type="Binary.x", binary_value=value)})


def test_ten_attributes_and_no_more() -> None:
    validation.check_message_attributes({f"a{n}": text("v") for n in range(10)})
    with pytest.raises(errors.InvalidParameterValue) as caught:
        validation.check_message_attributes({f"a{n}": text("v") for n in range(11)})
    assert caught.value.message == "Number of message attributes [11] exceeds the allowed maximum [10]."


def test_texts_about_attributes_as_aws_answered_them() -> None:
    # The texts are recorded responses: elasticmq issue 373, aws-sdk-java issue 1692, k6-jslib-aws pull request 65.
    expected = [
        (text(""), "Message (user) attribute 'piyo' must contain a non-empty value of type 'String'."),
        (text("v", ""), "The message attribute 'piyo' must contain non-empty message attribute type."),
        (
            text("v", "value"),
            (
                "The type of message (user) attribute 'piyo' is invalid. "
                "You must use only the following supported type prefixes: Binary, Number, String."
            ),
        ),
    ]
    for value, message in expected:
        with pytest.raises(errors.InvalidParameterValue) as caught:
            validation.check_message_attributes({"piyo": value})
        assert caught.value.message == message


def test_the_only_system_attribute_is_the_trace_header() -> None:
    validation.check_system_attributes({"AWSTraceHeader": text("Root=1")})
    for name, value in (
        ("AWSTraceHeader", text("1", "Number")),
        ("AWSTraceHeader", text("")),
        ("AWSTraceHeader", text("x" * 8_193)),
        ("SenderId", text("x")),
        ("awstraceheader", text("x")),
    ):
        with pytest.raises(errors.InvalidParameterValue):
            validation.check_system_attributes({name: value})


# --- ids, names, ranges ----------------------------------------------------------------------------------------------
# The SendMessage reference lists the punctuation characters.
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


@pytest.mark.parametrize("value", ["a", "A0" + PUNCTUATION, "x" * 128])
def test_group_and_deduplication_ids(value: str) -> None:
    validation.check_group_id(value)
    validation.check_deduplication_id(value)


@pytest.mark.parametrize("value", ["", "x" * 129, "a b", "é", "a\n", "\x00", "\x7f"])
def test_texts_that_are_no_group_ids(value: str) -> None:
    with pytest.raises(errors.InvalidParameterValue) as caught:
        validation.check_group_id(value)
    assert caught.value.message == (
        f"Value {value} for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include "
        "alphanumeric and punctuation characters. 1 to 128 in length."
    )
    with pytest.raises(errors.InvalidParameterValue, match="MessageDeduplicationId"):
        validation.check_deduplication_id(value)


@pytest.mark.parametrize(
    ("name", "fifo"), [("q", False), ("A-b_9", False), ("x" * 80, False), ("q.fifo", True), ("x" * 75 + ".fifo", True)]
)
def test_names_of_queues(name: str, fifo: bool) -> None:
    validation.check_queue_name(name, fifo=fifo)
    with pytest.raises(errors.InvalidParameterValue):
        validation.check_queue_name(name, fifo=not fifo)


@pytest.mark.parametrize(
    "name", ["", "x" * 81, "x" * 76 + ".fifo", ".fifo", "a.b", "a b", "é", "q\n", "q.fifo\n", "q.FIFO", "a/b"]
)
def test_texts_that_are_no_queue_names(name: str) -> None:
    for fifo in (False, True):
        with pytest.raises(errors.InvalidParameterValue):
            validation.check_queue_name(name, fifo=fifo)


@pytest.mark.parametrize(
    ("parameter", "low", "high"),
    [
        ("DelaySeconds", 0, 900),
        ("VisibilityTimeout", 0, 43_200),
        ("MaxNumberOfMessages", 1, 10),
        ("WaitTimeSeconds", 0, 20),
        ("MaxResults", 1, 1_000),
    ],
)
def test_a_parameter_outside_its_range_is_refused(parameter: str, low: int, high: int) -> None:
    for value in (None, low, high):
        validation.check_range(parameter, value)
    for value in (low - 1, high + 1, 10**30):
        with pytest.raises(errors.InvalidParameterValue, match=f"^Value {value} for parameter {parameter} is invalid"):
            validation.check_range(parameter, value)


def test_texts_about_ranges_as_aws_answered_them() -> None:
    # The texts are recorded responses: amazon-sqs-dlq-replay-backoff issue 8, aws-sdk-java issue 197.
    with pytest.raises(errors.InvalidParameterValue) as delay:
        validation.check_range("DelaySeconds", 54524)
    assert delay.value.message == (
        "Value 54524 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."
    )
    with pytest.raises(errors.InvalidParameterValue) as count:
        validation.check_range("MaxNumberOfMessages", 1000)
    assert count.value.message == (
        "Value 1000 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
    )


def test_invalid_tags_are_refused() -> None:
    validation.check_tags({"k" * 128: "v" * 256, "é": ""} | {f"k{n}": "v" for n in range(48)})
    for tags in ({f"k{n}": "v" for n in range(51)}, {"": "v"}, {"k" * 129: "v"}, {"k": "v" * 257}, {"k": "\x00"}):
        with pytest.raises(errors.InvalidParameterValue):
            validation.check_tags(tags)


# --- batches ---------------------------------------------------------------------------------------------------------
@dataclass
class Entry:
    id: str


def test_invalid_batches_are_refused() -> None:
    validation.check_batch([Entry("a")])
    validation.check_batch([Entry(f"A-z_{n}") for n in range(10)])
    validation.check_batch([Entry("x" * 80)])


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([], errors.EmptyBatchRequest, "There should be at least one SendMessageBatchRequestEntry in the request."),
        (
            [str(n) for n in range(11)],
            errors.TooManyEntriesInBatchRequest,
            "Maximum number of entries per request are 10. You have sent 11.",
        ),
        (["a", "b", "a"], errors.BatchEntryIdsNotDistinct, "Id a repeated."),
        *(
            (
                [entry_id],
                errors.InvalidBatchEntryId,
                (
                    "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
                    "It can be at most 80 letters long."
                ),
            )
            for entry_id in ("", "a b", "x" * 81, "é", "a\n", "a.b")
        ),
    ],
)
def test_batches_that_are_refused(ids: list[str], error: type[errors.AwsError], message: str) -> None:
    with pytest.raises(error) as caught:
        validation.check_batch([Entry(i) for i in ids], "SendMessageBatchRequestEntry")
    assert caught.value.message == message
