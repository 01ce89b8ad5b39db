"""Every error of the SQS table in aws-behaviour that the actions can answer: code, type, status, whose fault.

JSON carries `__type` and the header `x-amzn-query-error`; Query carries Code and Type. The tests of the other modules
say when an error comes; this one says what it looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError

from penstock.errors import ERRORS
from tests.conformance.scenario import Sqs

LEGACY = "AWS.SimpleQueueService."
MIB = 1_048_576

Call = tuple[str, dict[str, Any]]


class Row(NamedTuple):
    """One row of the table, and a call that is answered with it."""

    code: str
    type: str
    status: int
    provoke: Callable[[Sqs], Call]


def entries(*ids: str, body: str = "x") -> list[dict[str, str]]:
    return [{"Id": entry_id, "MessageBody": body} for entry_id in ids]


def batch(*ids: str, body: str = "x") -> Callable[[Sqs], Call]:
    return lambda sqs: ("send_message_batch", {"QueueUrl": sqs.create(), "Entries": entries(*ids, body=body)})


def on_queue(method: str, suffix: str = "", **parameters: Any) -> Callable[[Sqs], Call]:
    """A call on a queue that exists; `suffix` makes its URL that of another."""
    return lambda sqs: (method, {"QueueUrl": sqs.create() + suffix, **parameters})


def existing_queue(sqs: Sqs) -> Call:
    name = sqs.create(DelaySeconds="1").rpartition("/")[2]
    return "create_queue", {"QueueName": name, "Attributes": {"DelaySeconds": "2"}}


def deleted_queue(sqs: Sqs) -> Call:
    url = sqs.create()
    sqs.client.delete_queue(QueueUrl=url)
    return "create_queue", {"QueueName": url.rpartition("/")[2]}


def purged_queue(sqs: Sqs) -> Call:
    url = sqs.create()
    sqs.client.purge_queue(QueueUrl=url)
    return "purge_queue", {"QueueUrl": url}


def message_without_group(sqs: Sqs) -> Call:
    return "send_message", {"QueueUrl": sqs.create_fifo(), "MessageBody": "x"}


LIST_VALUES = {"a": {"DataType": "String", "StringListValues": ["x"], "StringValue": "x"}}

TABLE = (
    Row("InvalidParameterValue", "InvalidParameterValueException", 400,
        on_queue("receive_message", MaxNumberOfMessages=11)),
    Row("MissingParameter", "MissingRequiredParameterException", 400, message_without_group),
    Row(LEGACY + "NonExistentQueue", "QueueDoesNotExist", 400, on_queue("receive_message", "-none")),
    Row("QueueAlreadyExists", "QueueNameExists", 400, existing_queue),
    Row("InvalidAttributeName", "InvalidAttributeName", 400,
        on_queue("get_queue_attributes", AttributeNames=["Colour"])),
    Row("InvalidAttributeValue", "InvalidAttributeValue", 400,
        on_queue("set_queue_attributes", Attributes={"DelaySeconds": "901"})),
    Row("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 400, on_queue("delete_message", ReceiptHandle="x")),
    Row("InvalidMessageContents", "InvalidMessageContents", 400, on_queue("send_message", MessageBody="\x01")),
    Row(LEGACY + "TooManyEntriesInBatchRequest", "TooManyEntriesInBatchRequest", 400, batch(*"abcdefghijk")),
    Row(LEGACY + "BatchRequestTooLong", "BatchRequestTooLong", 400, batch("a", "b", body="x" * (MIB // 2 + 1))),
    Row(LEGACY + "InvalidBatchEntryId", "InvalidBatchEntryId", 400, batch("a b")),
    Row(LEGACY + "EmptyBatchRequest", "EmptyBatchRequest", 400, batch()),
    Row(LEGACY + "BatchEntryIdsNotDistinct", "BatchEntryIdsNotDistinct", 400, batch("a", "a")),
    Row(LEGACY + "QueueDeletedRecently", "QueueDeletedRecently", 400, deleted_queue),
    Row(LEGACY + "UnsupportedOperation", "UnsupportedOperation", 400,
        on_queue("send_message", MessageBody="x", MessageAttributes=LIST_VALUES)),
    Row(LEGACY + "PurgeQueueInProgress", "PurgeQueueInProgress", 403, purged_queue),
    Row("InvalidAddress", "InvalidAddress", 404, lambda sqs: ("delete_queue", {"QueueUrl": "http://host/"})),
)  # fmt: skip

# Rows that these actions never answer, and why. Raw requests provoke InvalidAction and the like: test_raw_*.py.
ELSEWHERE = {
    "MessageNotInflight": "AWS has not answered it in years: an InvalidParameterValue (moto pull request 4655)",
    "OverLimit": "the limit of 120,000 messages in flight is not enforced",
    "ResourceNotFoundException": "message move tasks",
    "InvalidIdFormat": "in botocore's model alone",
    "InvalidSecurity": "signatures are not checked",
    "RequestThrottled": "nothing is throttled",
}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.type)
def test_what_an_error_looks_like(sqs: Sqs, row: Row) -> None:
    method, parameters = row.provoke(sqs)
    refusal = sqs.refusal(method, **parameters)
    expected_type = row.type if sqs.protocol == "json" else None
    assert refusal[:4] == (row.code, row.status, "Sender", expected_type)
    assert refusal.message


def test_every_error_of_a_queue_is_in_the_table() -> None:
    """The classes of SQS's own namespace; the others are about the request itself or our fault."""
    ours = {error.json_type for error in ERRORS.values() if error.namespace == "com.amazonaws.sqs"}
    assert ours == {row.type for row in TABLE if row.type in ours} | ELSEWHERE.keys()


def test_texts_that_clients_look_for(sqs: Sqs) -> None:
    """aws-behaviour: the Query message of a missing queue adds "for this wsdl version."."""
    refusal = sqs.refusal("receive_message", QueueUrl=f"{sqs.create()}-none")
    ending = " for this wsdl version." if sqs.protocol == "query" else "."
    assert refusal.message == f"The specified queue does not exist{ending}"


def test_the_whole_type(sqs: Sqs) -> None:
    """aws-behaviour: `com.amazonaws.sqs#QueueDoesNotExist`; every answer carries x-amzn-RequestId."""
    sqs.refusal("receive_message", QueueUrl=f"{sqs.create()}-none")
    marker = b'"com.amazonaws.sqs#QueueDoesNotExist"' if sqs.protocol == "json" else b"<RequestId>"
    assert marker in sqs.answer.body
    content_type = "application/x-amz-json-1.0" if sqs.protocol == "json" else "text/xml"
    assert sqs.answer.headers is not None
    assert sqs.answer.headers["content-type"] == content_type


TYPED = [
    "QueueDoesNotExist",
    "QueueNameExists",
    "PurgeQueueInProgress",
    "ReceiptHandleIsInvalid",
    "EmptyBatchRequest",
]


@pytest.mark.parametrize("name", TYPED)
def test_sdks_raise_typed_exceptions(sqs: Sqs, name: str) -> None:
    """`except sqs.exceptions.QueueDoesNotExist` works in both protocols, as with AWS."""
    (row,) = (row for row in TABLE if row.type == name)
    method, parameters = row.provoke(sqs)
    with pytest.raises(getattr(sqs.client.exceptions, name)) as caught:
        getattr(sqs.client, method)(**parameters)
    assert isinstance(caught.value, ClientError)
    assert caught.value.response["Error"]["Code"] == row.code
    assert caught.value.response["Error"].get("Type", "Sender") == "Sender"
