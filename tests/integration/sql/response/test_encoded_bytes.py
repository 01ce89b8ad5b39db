"""Tests that queue.encoded_bytes and queue.response_bytes return the size of the encoders' output.

`penstock/aws/codec` encodes the body, and the Lambda runtime encodes the body again as JSON.
"""

import json
import uuid

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.aws.codec import json as aws_json
from penstock.aws.codec import query_json, xml
from penstock.aws.named_queue import NamedQueue
from penstock.documents.times import format_timestamp
from penstock.limits.response_limit import HEAD_BYTES
from penstock.management.messages.conversion import convert_to_json, to_headers
from penstock.management.messages.types import StoredMessage
from penstock.postgres.statements.messages import ReceivedRow
from penstock.sqs.attributes import ALL_ATTRIBUTES
from penstock.sqs.receive import build_message
from penstock.sqs.types import ReceiveMessageResult
from tests.support.sql.calls import Connection, arn_of, value

pytestmark = pytest.mark.shared

FORMATS = ("json", "xml", "function-json", "function-xml", "function-json-ascii", "function-xml-ascii")

# The weights favour characters that the encoders escape.
BEYOND_ASCII = ["\x80", "é", "\u2028", "漢", "\ud7ff", "\ue000", "\ufffe", "\uffff"]
SPECIAL = [*map(chr, range(1, 32)), *'"\\/&<>\x7f', *BEYOND_ASCII]
# PostgreSQL stores neither NUL nor lone surrogates.
characters = st.one_of(
    st.sampled_from([*SPECIAL, "\U00010000", "😀", "\U0010ffff"]),
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
)
texts = st.text(characters, max_size=200)


def in_function(text: str, *, ascii_only: bool) -> int:
    """Returns the size of a text in the result of a function. A runtime that writes ASCII also escapes U+007F."""
    written = json.dumps(text, ensure_ascii=ascii_only)
    return len((written.replace("\x7f", "\\u007f") if ascii_only else written).encode())


def encoded(text: str, kind: str) -> int:
    """Returns the encoders' output for a text that is the value of a member."""
    inner = msgspec.json.encode(text).decode()
    if kind == "json":
        return len(inner.encode()) - 2
    if kind.startswith("function-json"):
        # The length includes the quotes around the text and the member's name.
        return in_function(inner, ascii_only=kind.endswith("ascii")) - 2 - 4
    inner = xml.write_document(xml.escape_text(text)).decode()
    if kind == "xml":
        return len(inner.encode())
    return in_function(inner, ascii_only=kind.endswith("ascii")) - 2


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(sample=["".join(SPECIAL), '"' * 1000, ""])
@given(sample=st.lists(texts, min_size=1, max_size=40))
def test_a_text_has_as_many_bytes_as_the_encoders_write(db: Connection, kind: str, sample: list[str]) -> None:
    measured = db.execute("select queue.encoded_bytes(t, %s) from unnest(%s::text[]) t", (kind, sample))
    assert [size for (size,) in measured] == [encoded(text, kind) for text in sample]


def row(body: str, attributes: dict[str, dict[str, str]] | None, system: dict[str, str] | None) -> ReceivedRow:
    return ReceivedRow(
        None, None, 2_000_000_000, 100, 2**50, 2**50, 2_000_000_000, str(uuid.uuid4()), 1_800_000_000_000,
        1_800_000_000_000, body, None if attributes is None else json.dumps(attributes, ensure_ascii=False),
        None if system is None else json.dumps(system, ensure_ascii=False), 2**60, 1_800_000_000_000, 2**31 - 1,
    )  # fmt: skip


def responses(received: ReceivedRow) -> dict[str, list[str]]:
    """Returns the bodies of all responses that contain one message, by format."""
    queue = NamedQueue(arn_of("q.fifo"))  # Messages from this strategy have the maximum number of attributes.
    message = build_message(received, queue, "h" * 88, ALL_ATTRIBUTES, ALL_ATTRIBUTES)
    result = ReceiveMessageResult(messages=[message])
    rest = StoredMessage(
        id=received.public_id,
        receipt="h" * 88,
        read_count=received.receive_count,
        enqueued_at=format_timestamp(received.sent_at_ms),
        visible_at=format_timestamp(received.visible_at_ms),
        message=convert_to_json(received.body),
        headers=to_headers(received.attributes),
        message_id=received.message_id,
        group_id="g" * 128,
    )
    namespace = "http://queue.amazonaws.com/doc/2012-11-05/"
    identity = str(uuid.uuid4())
    return {
        "json": [
            aws_json.encode(result).decode(),
            query_json.encode_result("ReceiveMessage", result, identity).decode(),
            msgspec.json.encode([rest]).decode(),
        ],
        "xml": [xml.encode_result("ReceiveMessage", namespace, result, identity).decode()],
    }


names = st.text("abcdefghijklmnopqrstuvwxyz-_.", min_size=1, max_size=256)
attributes_of_messages = st.dictionaries(
    names,
    st.one_of(
        st.fixed_dictionaries({"DataType": st.just("String"), "StringValue": texts}),
        st.fixed_dictionaries({"DataType": st.just("Binary.x"), "BinaryValue": st.just("AAECAw==" * 20)}),
    ),
    max_size=10,
)
GROUP = {"MessageGroupId": "g" * 128, "MessageDeduplicationId": "d" * 128}
system_attributes = st.sampled_from(
    [
        None,
        GROUP,
        {**GROUP, "AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793", "DeadLetterQueueSourceArn": "a" * 130},
    ]
)
MESSAGE_BYTES = """
select queue.response_bytes(row(null, null, 1, 1::int2, 1, 1, 1, '', 1, 1, %s, %s::jsonb::text,
    %s::jsonb::text, 1, 1, 1)::queue.received_row, %s)
"""


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(body="", attributes={}, system=None)
@given(body=texts, attributes=attributes_of_messages, system=system_attributes)
def test_no_response_with_the_message_is_longer_than_what_was_measured(
    db: Connection, kind: str, body: str, attributes: dict[str, dict[str, str]], system: dict[str, str] | None
) -> None:
    received = row(body, attributes or None, system)
    measured = value(db, MESSAGE_BYTES, body, received.attributes, received.system, kind)
    in_result = kind.startswith("function")
    for response in responses(received)["json" if "json" in kind else "xml"]:
        length = in_function(response, ascii_only=kind.endswith("ascii")) if in_result else len(response.encode())
        assert length <= measured + HEAD_BYTES / 2


GROWTH = {"json": 2, "xml": 6}
STORED = """
select queue.stored_bytes(row(null, null, 1, 1::int2, 1, 1, 1, '', 1, 1, %s, %s::jsonb::text, %s::jsonb::text, 1, 1,
    1)::queue.received_row)
"""


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(body='"' * 1000, attributes={}, system=None)
@example(body="\r\n\t" * 300, attributes={}, system=None)
@example(body="\x7f" * 300, attributes={}, system=None)
@example(body="", attributes={str(n): {"DataType": "String", "StringValue": ""} for n in range(10)}, system=GROUP)
@given(
    body=st.text(characters.filter(lambda c: c >= " " or c in "\t\n\r"), max_size=1000),
    attributes=attributes_of_messages,
    system=system_attributes,
)
def test_no_accepted_message_grows_more_than_is_assumed_before_it_is_measured(
    db: Connection, kind: str, body: str, attributes: dict[str, dict[str, str]], system: dict[str, str] | None
) -> None:
    """SQS and the other interfaces accept only these three control characters (SendMessage, API reference)."""
    received = row(body, accepted(attributes) or None, system)
    measured = value(db, MESSAGE_BYTES, body, received.attributes, received.system, kind)
    stored = value(db, STORED, body, received.attributes, received.system)
    assert measured <= 2000 + GROWTH.get(kind, 7) * stored


def accepted(attributes: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Removes characters that no interface accepts from the attributes."""
    return {
        name: {key: "".join(c for c in text if c >= " " or c in "\t\n\r") for key, text in attribute.items()}
        for name, attribute in attributes.items()
    }
