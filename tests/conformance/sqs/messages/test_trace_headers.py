"""X-Ray's trace header. Source: X-Ray Developer Guide, "Amazon SQS and AWS X-Ray"."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.conformance.sqs import Sqs

OF_THE_REQUEST = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
OF_THE_MESSAGE = "Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=0"
OWN = {"AWSTraceHeader": {"DataType": "String", "StringValue": OF_THE_MESSAGE}}


@contextmanager
def header(sqs: Sqs, value: str) -> Iterator[None]:
    """As the X-Ray SDK sends it with the calls of a client."""

    def add(params: dict[str, Any], **_: Any) -> None:
        params["headers"]["X-Amzn-Trace-Id"] = value

    events = sqs.client.meta.events
    events.register("before-call.sqs.*", add, unique_id="trace")
    try:
        yield
    finally:
        events.unregister("before-call.sqs.*", unique_id="trace")


def traces(sqs: Sqs, url: str, count: int) -> list[str | None]:
    """What the messages of a queue carry, in the order of their bodies."""
    got = sqs.receive(url, count, AttributeNames=["AWSTraceHeader"])
    in_order = sorted(got, key=lambda message: str(message["Body"]))
    return [message.get("Attributes", {}).get("AWSTraceHeader") for message in in_order]


def test_the_header_of_the_request_goes_with_the_message(sqs: Sqs) -> None:
    """ "Default HTTP Header"; "excluded from both … message size and message attribute quotas": no digest either."""
    url = sqs.create(MaximumMessageSize="1024")
    with header(sqs, OF_THE_REQUEST):
        sent = sqs.send(url, "x" * 1024)
    assert "MD5OfMessageSystemAttributes" not in sent
    assert traces(sqs, url, 1) == [OF_THE_REQUEST]


def test_the_attribute_overrides_the_header(sqs: Sqs) -> None:
    """ "If both header instrumentations are set, the message system attribute overrides the HTTP trace header"; the
    header "corresponds to all messages included in a SendMessage or SendMessageBatch request"."""
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
    """Our choice: load balancers give such a one to every request."""
    url = sqs.create()
    with header(sqs, "Root=1-67891233-abcdef012345678912345678"):
        sqs.send(url, "hello")
    assert traces(sqs, url, 1) == [None]
