"""Tests of SendMessage. The sources are SendMessage (API reference) and "Message quotas" and "Message metadata"
(Developer Guide).

The source for the trace header is the X-Ray Developer Guide, "Amazon SQS and AWS X-Ray".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.conformance.requests import md5_of_attributes, md5_of_body
from tests.support.conformance.sqs import Sqs

pytestmark = pytest.mark.cbor("container")

MIB = 1_048_576
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "text": {"DataType": "String", "StringValue": "grüße & <more>\r\n"},
    "number": {"DataType": "Number", "StringValue": "-1.50e3"},
    "binary": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    "custom.text": {"DataType": "String.json", "StringValue": "{}"},
    "custom-number": {"DataType": "Number.int", "StringValue": "7"},
    "custom_binary": {"DataType": "Binary.gif", "BinaryValue": b"GIF89a"},
}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}


def test_a_message_comes_back_as_it_was_sent(sqs: Sqs) -> None:
    """SendMessage returns MessageId and MD5OfMessageBody. A standard queue returns no sequence number."""
    url = sqs.create()
    sent = sqs.send(url, "hello")
    assert str(uuid.UUID(sent["MessageId"])) == sent["MessageId"]
    assert sent["MD5OfMessageBody"] == md5_of_body("hello")
    assert sent.keys() - {"ResponseMetadata"} == {"MessageId", "MD5OfMessageBody"}
    got = sqs.receive_one(url)
    assert got.keys() == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}
    assert (got["MessageId"], got["Body"], got["MD5OfBody"]) == (sent["MessageId"], "hello", md5_of_body("hello"))


@pytest.mark.parametrize(
    "body",
    [
        "\t\n\r",
        " \ud7ff\ue000\ufffd",
        "\U00010000\U0010ffff",
        "naïve 汉字 🎉 ' \" \\ & < > ]]> &#13; \u2028 \u0085 \x7f",
        "a\r\nb\rc\n",
        "+%2B%00\\u0000 %s {} $1",
        '{"json": [1, null, "\\u0000"]}',
        " ",
    ],
)
def test_every_allowed_character(sqs: Sqs, body: str) -> None:
    """SendMessage: #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF."""
    url = sqs.create()
    sent = sqs.send(url, body)
    got = sqs.receive_one(url)
    assert (got["Body"], sent["MD5OfMessageBody"], got["MD5OfBody"]) == (body, md5_of_body(body), md5_of_body(body))


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x08", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff"])
def test_no_other_character(sqs: Sqs, character: str) -> None:
    """SendMessage, InvalidMessageContents: "characters outside the allowed set". In an attribute's value, the error is
    InvalidParameterValue (recorded at AWS).
    """
    url = sqs.create()
    assert sqs.code("send_message", QueueUrl=url, MessageBody=f"a{character}b") == "InvalidMessageContents"
    value = {"note": {"DataType": "String", "StringValue": f"a{character}b"}}
    code = sqs.code("send_message", QueueUrl=url, MessageBody="x", MessageAttributes=value)
    assert code == "InvalidParameterValue"
    assert sqs.counts(url) == (0, 0, 0)


def test_one_mebibyte(sqs: Sqs) -> None:
    """The maximum is 1,048,576 bytes in UTF-8, including attributes, and one more byte is InvalidParameterValue
    (SendMessage).
    """
    url = sqs.create()
    body = "ä" * (MIB // 2)
    assert sqs.send(url, body)["MD5OfMessageBody"] == md5_of_body(body)
    assert sqs.receive_one(url)["Body"] == body
    assert sqs.code("send_message", QueueUrl=url, MessageBody=f"{body}x") == "InvalidParameterValue"
    note = {"n": {"DataType": "String", "StringValue": "x"}}
    fits = body[:-4]  # the attribute has 8 bytes: name 1, type 6, value 1
    assert sqs.send(url, fits, MessageAttributes=note)["MessageId"]
    code = sqs.code("send_message", QueueUrl=url, MessageBody=f"{fits}x", MessageAttributes=note)
    assert code == "InvalidParameterValue"


def test_the_queue_has_a_limit_of_its_own(sqs: Sqs) -> None:
    """MaximumMessageSize is the largest size in bytes that SQS accepts (SetQueueAttributes)."""
    url = sqs.create(MaximumMessageSize="1024")
    sqs.send(url, "x" * 1024)
    assert sqs.code("send_message", QueueUrl=url, MessageBody="x" * 1025) == "InvalidParameterValue"
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"MaximumMessageSize": "1025"})
    sqs.send(url, "x" * 1025)
    assert sqs.counts(url) == (2, 0, 0)


def test_an_empty_body(sqs: Sqs) -> None:
    """SendMessage: "The minimum size is one character"; MissingParameter was recorded at AWS."""
    assert sqs.code("send_message", QueueUrl=sqs.create(), MessageBody="") == "MissingParameter"


def test_attributes_of_every_type(sqs: Sqs) -> None:
    """MD5OfMessageAttributes equals the digest that SDKs compute. ReceiveMessage returns the exact bytes of the
    values.
    """
    url = sqs.create()
    sent = sqs.send(url, MessageAttributes=ATTRIBUTES)
    got = sqs.receive_one(url, MessageAttributeNames=["All"])
    digest = md5_of_attributes(ATTRIBUTES)
    assert (sent["MD5OfMessageAttributes"], got["MD5OfMessageAttributes"]) == (digest, digest)
    assert got["MessageAttributes"] == ATTRIBUTES


def test_ten_attributes(sqs: Sqs) -> None:
    """A message can contain up to 10 metadata attributes (Developer Guide, "Message quotas")."""
    url = sqs.create()
    many = {f"name-{number}": {"DataType": "Number", "StringValue": str(number)} for number in range(11)}
    ten = dict(list(many.items())[:10])
    assert sqs.send(url, MessageAttributes=ten)["MD5OfMessageAttributes"] == md5_of_attributes(ten)
    code = sqs.code("send_message", QueueUrl=url, MessageBody="x", MessageAttributes=many)
    assert code == "InvalidParameterValue"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS.name", {"DataType": "String", "StringValue": "x"}),
        ("amazon.name", {"DataType": "String", "StringValue": "x"}),
        (".name", {"DataType": "String", "StringValue": "x"}),
        ("name.", {"DataType": "String", "StringValue": "x"}),
        ("na..me", {"DataType": "String", "StringValue": "x"}),
        ("na me", {"DataType": "String", "StringValue": "x"}),
        ("n" * 257, {"DataType": "String", "StringValue": "x"}),
        ("name", {"DataType": "Text", "StringValue": "x"}),
        ("name", {"DataType": "", "StringValue": "x"}),
        ("name", {"DataType": "string", "StringValue": "x"}),
        ("name", {"DataType": "String", "StringValue": ""}),
        ("name", {"DataType": "String", "BinaryValue": b"x"}),
        ("name", {"DataType": "Binary", "StringValue": "x"}),
        ("name", {"DataType": "Binary", "BinaryValue": b""}),
        ("name", {"DataType": "Number", "StringValue": "one"}),
        ("name", {"DataType": "Number", "StringValue": "1" * 39}),
        ("name", {"DataType": "String"}),
    ],
)
def test_attributes_that_cannot_be(sqs: Sqs, name: str, value: dict[str, Any]) -> None:
    """Names, types and non-empty values follow the Developer Guide, "Message attribute components" and "data types"."""
    url = sqs.create()
    code = sqs.code("send_message", QueueUrl=url, MessageBody="x", MessageAttributes={name: value})
    assert code == "InvalidParameterValue"


def test_the_trace_header(sqs: Sqs) -> None:
    """MessageSystemAttributes accepts AWSTraceHeader of type String, which does not count toward the size of the
    message."""
    url = sqs.create(MaximumMessageSize="1024")
    sent = sqs.send(url, "x" * 1024, MessageSystemAttributes=TRACE)
    assert sent["MD5OfMessageSystemAttributes"] == md5_of_attributes(TRACE)
    got = sqs.receive_one(url, AttributeNames=["AWSTraceHeader"])
    assert got["Attributes"] == {"AWSTraceHeader": TRACE["AWSTraceHeader"]["StringValue"]}


@pytest.mark.parametrize(
    ("name", "kind"), [("SenderId", "String"), ("AWSTraceHeader", "Number"), ("awstraceheader", "String")]
)
def test_no_other_system_attribute(sqs: Sqs, name: str, kind: str) -> None:
    """SendMessage: "Currently, the only supported message system attribute is AWSTraceHeader. Its type must be
    String".
    """
    given = {name: {"DataType": kind, "StringValue": "1"}}
    code = sqs.code("send_message", QueueUrl=sqs.create(), MessageBody="x", MessageSystemAttributes=given)
    assert code == "InvalidParameterValue"


def test_a_delayed_message(sqs: Sqs) -> None:
    """DelaySeconds ranges from 0 to 900. The message becomes available after the delay."""
    url = sqs.create()
    sqs.send(url, "later", DelaySeconds=900)
    sqs.clock.advance(840)
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 0, 1))
    sqs.clock.advance(60)
    assert sqs.receive_one(url)["Body"] == "later"


def test_a_delayed_queue_and_a_message_with_its_own_delay(sqs: Sqs) -> None:
    """SendMessage: "If you don't specify a value, the default value for the queue applies"; 0 is a value."""
    url = sqs.create(DelaySeconds="60")
    sqs.send(url, "later")
    sqs.send(url, "now", DelaySeconds=0)
    assert sqs.receive_one(url)["Body"] == "now"
    assert sqs.counts(url) == (0, 1, 1)
    sqs.clock.advance(60)
    bodies = {message["Body"] for message in sqs.receive(url, 2)}
    assert bodies == {"later", "now"}  # the visibility timeout of 30 s is also over


def test_names_of_attributes_in_any_script(sqs: Sqs) -> None:
    """AWS accepts letters outside ASCII (recorded at AWS)."""
    url = sqs.create()
    given = {"größe.名": {"DataType": "String", "StringValue": "v"}}
    sent = sqs.send(url, MessageAttributes=given)
    got = sqs.receive_one(url, MessageAttributeNames=["größe.*"])
    assert got["MessageAttributes"] == given
    assert sent["MD5OfMessageAttributes"] == got["MD5OfMessageAttributes"] == md5_of_attributes(given)


@pytest.mark.parametrize("seconds", [-1, 901])
def test_delays_that_cannot_be(sqs: Sqs, seconds: int) -> None:
    """SendMessage: "Valid values: 0 to 900"."""
    code = sqs.code("send_message", QueueUrl=sqs.create(), MessageBody="x", DelaySeconds=seconds)
    assert code == "InvalidParameterValue"


def test_a_deduplication_id_is_for_fifo_queues(sqs: Sqs) -> None:
    """MessageDeduplicationId applies only to FIFO queues."""
    code = sqs.code("send_message", QueueUrl=sqs.create(), MessageBody="x", MessageDeduplicationId="d")
    assert code == "InvalidParameterValue"


def test_a_standard_queue_returns_the_group(sqs: Sqs) -> None:
    """Developer Guide, "Fair queues": MessageGroupId on a standard queue names the tenant. ReceiveMessage returns the
    name."""
    url = sqs.create()
    sqs.send(url, MessageGroupId="tenant-1")
    assert sqs.receive_one(url, AttributeNames=["MessageGroupId"])["Attributes"] == {"MessageGroupId": "tenant-1"}


def test_messages_end_with_their_retention(sqs: Sqs) -> None:
    """MessageRetentionPeriod (SetQueueAttributes) is at least 60 seconds and counts from the original send."""
    url = sqs.create(MessageRetentionPeriod="60")
    sqs.send_all(url, "received", "waiting")
    sqs.receive_one(url, VisibilityTimeout=600)
    sqs.clock.advance(61)
    sqs.until_cleaned(url)
    assert sqs.poll(url) == []


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_messages_past_their_retention_are_neither_received_nor_counted(sqs: Sqs, fifo: bool) -> None:
    """No worker has cleaned the queue in this test. The worker also frees the group of a message that is in flight."""
    url = (sqs.create_fifo if fifo else sqs.create)(MessageRetentionPeriod="60")

    def send(body: str) -> None:
        sqs.send(url, body, **({"MessageGroupId": "g", "MessageDeduplicationId": body} if fifo else {}))

    send("received")
    send("waiting")
    sqs.receive_one(url, VisibilityTimeout=0 if fifo else 600)
    sqs.clock.advance(61)
    send("new")
    assert sqs.counts(url) == (1, 0, 0)
    assert [message["Body"] for message in sqs.poll(url)] == ["new"]
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 1, 0))


OF_THE_REQUEST = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
OF_THE_MESSAGE = "Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=0"
OWN = {"AWSTraceHeader": {"DataType": "String", "StringValue": OF_THE_MESSAGE}}


@contextmanager
def header(sqs: Sqs, value: str) -> Iterator[None]:
    """Returns a client that sends the trace header, as the X-Ray SDK does."""

    def add(params: dict[str, Any], **_: Any) -> None:
        params["headers"]["X-Amzn-Trace-Id"] = value

    events = sqs.client.meta.events
    events.register("before-call.sqs.*", add, unique_id="trace")
    try:
        yield
    finally:
        events.unregister("before-call.sqs.*", unique_id="trace")


def traces(sqs: Sqs, url: str, count: int) -> list[str | None]:
    """Returns the trace headers of the queue's messages, in the order of their bodies."""
    got = sqs.receive(url, count, AttributeNames=["AWSTraceHeader"])
    in_order = sorted(got, key=lambda message: str(message["Body"]))
    return [message.get("Attributes", {}).get("AWSTraceHeader") for message in in_order]


def test_the_header_of_the_request_goes_with_the_message(sqs: Sqs) -> None:
    """ "Default HTTP Header"; "excluded from both … message size and message attribute quotas". The response does not
    contain a digest of the trace header either.
    """
    url = sqs.create(MaximumMessageSize="1024")
    with header(sqs, OF_THE_REQUEST):
        sent = sqs.send(url, "x" * 1024)
    assert "MD5OfMessageSystemAttributes" not in sent
    assert traces(sqs, url, 1) == [OF_THE_REQUEST]


def test_the_attribute_overrides_the_header(sqs: Sqs) -> None:
    """ "If both header instrumentations are set, the message system attribute overrides the HTTP trace header". The
    header "corresponds to all messages included in a SendMessage or SendMessageBatch request".
    """
    url = sqs.create()
    entries = [
        {"Id": "a", "MessageBody": "a"},
        {"Id": "b", "MessageBody": "b", "MessageSystemAttributes": OWN},
        {"Id": "c", "MessageBody": "c"},
    ]
    with header(sqs, OF_THE_REQUEST):
        sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert traces(sqs, url, 3) == [OF_THE_REQUEST, OF_THE_MESSAGE, OF_THE_REQUEST]


def test_a_header_that_names_no_span_is_left_out(sqs: Sqs) -> None:
    """Penstock chose this behaviour, because load balancers add such a header to every request."""
    url = sqs.create()
    with header(sqs, "Root=1-67891233-abcdef012345678912345678"):
        sqs.send(url, "hello")
    assert traces(sqs, url, 1) == [None]
