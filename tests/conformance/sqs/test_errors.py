"""Tests every SQS error in docs/reference/errors.md that an action can return: code, type, status and fault.

JSON errors have `__type` and the header `x-amzn-query-error`, and Query errors have Code and Type. Other modules test
when an error occurs, and this module tests the format of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import httpx
import pytest
from botocore.exceptions import ClientError

from penstock.errors import ERRORS
from tests.support.conformance.access_keys import OWNER, SIGV4
from tests.support.conformance.requests import FORM, Raw, is_lambdas_refusal
from tests.support.conformance.sqs import Sqs

pytestmark = pytest.mark.cbor("container")

LEGACY = "AWS.SimpleQueueService."
MIB = 1_048_576

Call = tuple[str, dict[str, Any]]


class Row(NamedTuple):
    """Holds a row of the table, and a call that causes the error."""

    code: str
    type: str
    status: int
    provoke: Callable[[Sqs], Call]


def entries(*ids: str, body: str = "x") -> list[dict[str, str]]:
    return [{"Id": entry_id, "MessageBody": body} for entry_id in ids]


def batch(*ids: str, body: str = "x") -> Callable[[Sqs], Call]:
    return lambda sqs: ("send_message_batch", {"QueueUrl": sqs.create(), "Entries": entries(*ids, body=body)})


def on_queue(method: str, suffix: str = "", **parameters: Any) -> Callable[[Sqs], Call]:
    """Returns a call on an existing queue. With `suffix`, the URL names a different queue."""
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
    Row("OverLimit", "OverLimit", 403, on_queue("add_permission", Label="l", AWSAccountIds=["111122223333"],
                                                Actions=["SendMessage"] * 8)),
    Row("ResourceNotFoundException", "ResourceNotFoundException", 404,
        lambda sqs: ("list_message_move_tasks", {"SourceArn": sqs.arn(sqs.create()) + "-none"})),
)  # fmt: skip

# Lists errors that no action returns, with the reasons. InvalidAction and similar errors occur before the action runs
# (see REQUESTS below).
ELSEWHERE = {"RequestThrottled": "tests/conformance/access/test_quotas.py"}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.type)
def test_an_error_has_awss_form(sqs: Sqs, row: Row) -> None:
    method, parameters = row.provoke(sqs)
    refusal = sqs.refusal(method, **parameters)
    expected_type = None if sqs.protocol == "query" else row.type
    assert refusal[:4] == (row.code, row.status, "Sender", expected_type)
    assert refusal.message


def test_every_error_of_a_queue_is_in_the_table() -> None:
    """The table contains every error class in the namespace of SQS. Other errors concern the request itself or the
    server."""
    ours = {error.json_type for error in ERRORS.values() if error.namespace == "com.amazonaws.sqs"}
    assert ours == {row.type for row in TABLE if row.type in ours} | ELSEWHERE.keys()


def test_texts_that_clients_look_for(sqs: Sqs) -> None:
    """The Query protocol's message about a missing queue ends with "for this wsdl version."."""
    refusal = sqs.refusal("receive_message", QueueUrl=f"{sqs.create()}-none")
    ending = " for this wsdl version." if sqs.protocol == "query" else "."
    assert refusal.message == f"The specified queue does not exist{ending}"


def test_the_whole_type(sqs: Sqs) -> None:
    """The type is `com.amazonaws.sqs#QueueDoesNotExist`, and every response has x-amzn-RequestId."""
    sqs.refusal("receive_message", QueueUrl=f"{sqs.create()}-none")
    marker, content_type = {
        "json": (b'"com.amazonaws.sqs#QueueDoesNotExist"', "application/x-amz-json-1.0"),
        "query": (b"<RequestId>", "text/xml"),
        "cbor": (b"com.amazonaws.sqs#QueueDoesNotExist", "application/cbor"),
    }[sqs.protocol]
    assert marker in sqs.response.body
    assert sqs.response.headers is not None
    assert sqs.response.headers["content-type"] == content_type


TYPED = ["QueueDoesNotExist", "QueueNameExists", "PurgeQueueInProgress", "ReceiptHandleIsInvalid", "EmptyBatchRequest"]


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


# --- errors of the request itself ------------------------------------------------------------------------------------
NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"
JSON, QUERY, QUERY_JSON = "json", "query", "query-json"
Ask = Callable[[Raw, str, dict[str, tuple[str, str]]], httpx.Response]


def ask(
    raw: Raw,
    protocol: str,
    action: str = "ListQueues",
    body: bytes | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> httpx.Response:
    """Sends a request for an action. `body` replaces the whole body."""
    if protocol == JSON:
        given = {"x-amz-target": f"AmazonSQS.{action}", **headers}
        return raw.http.post(raw.sqs.endpoint_url, content=b"{}" if body is None else body, headers=given)
    accept = {"accept": "application/json" if protocol == QUERY_JSON else "*/*", "content-type": FORM}
    form = f"Action={action}".encode() if body is None else body
    return raw.http.post(raw.sqs.endpoint_url, content=form, headers={**accept, **headers})


def signed(key_id: str) -> dict[str, str]:
    """Returns headers with a complete but wrong signature."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{key_id}/{now[:8]}/us-east-1/sqs/aws4_request"
    names = "host;x-amz-date;x-amz-target"
    header = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={'0' * 64}"
    return {"authorization": header, "x-amz-date": now, "x-amz-target": "AmazonSQS.ListQueues"}


def guarded(raw: Raw) -> Raw:
    return raw._replace(sqs=raw.sqs.with_settings(SIGV4))


def wrongly_signed(raw: Raw, protocol: str, key_id: str) -> httpx.Response:
    headers = signed(key_id)
    if protocol != JSON:
        del headers["x-amz-target"]
        headers["authorization"] = headers["authorization"].replace(";x-amz-target", "")
    return ask(guarded(raw), protocol, headers=headers)


# "Common Errors" (SQS API reference), with the statuses in docs/reference/errors.md; 413 is Penstock's choice.
REQUESTS: dict[str, tuple[int, tuple[str, ...], Ask]] = {
    "InvalidAction": (400, (JSON, QUERY, QUERY_JSON), lambda raw, protocol, _: ask(raw, protocol, "NoSuchAction")),
    "SerializationException": (400, (JSON,), lambda raw, protocol, _: ask(raw, protocol, body=b"x")),
    "MissingAction": (400, (QUERY, QUERY_JSON), lambda raw, protocol, _: ask(raw, protocol,
    body=b"Version=2012-11-05")),
    "MalformedQueryString": (400, (QUERY, QUERY_JSON), lambda raw, protocol, _: ask(raw, protocol,
    body=b"Action=%ff")),
    "RequestEntityTooLarge": (413, (JSON, QUERY, QUERY_JSON), lambda raw, protocol, _: ask(
        raw, protocol, body=b" " * 6_553_601)),
    "MissingAuthenticationToken": (403, (JSON, QUERY, QUERY_JSON), lambda raw, protocol, _: ask(guarded(raw),
    protocol)),
    "IncompleteSignature": (400, (JSON, QUERY, QUERY_JSON), lambda raw, protocol, _: ask(
        guarded(raw), protocol, headers={"authorization": "AWS4-HMAC-SHA256 Credential=x"})),
    "InvalidClientTokenId": (403, (JSON, QUERY, QUERY_JSON), lambda raw, protocol, _: wrongly_signed(
        raw, protocol, "PSTKNOBODYNOBODYNOBO")),
    "SignatureDoesNotMatch": (403, (JSON, QUERY, QUERY_JSON), lambda raw, protocol, keys: wrongly_signed(
        raw, protocol, keys[OWNER][0])),
}  # fmt: skip


@pytest.mark.parametrize(("code", "protocol"), [(code, p) for code, row in REQUESTS.items() for p in row[1]])
def test_errors_of_the_request(raw: Raw, keys: dict[str, tuple[str, str]], code: str, protocol: str) -> None:
    status, _, provoke = REQUESTS[code]
    response = provoke(raw, protocol, keys)
    assert response.status_code == status
    if is_lambdas_refusal(raw, response):
        return
    request_id = response.headers["x-amzn-requestid"]
    if protocol == JSON:
        assert response.headers["x-amzn-query-error"] == f"{code};Sender"
        assert response.json().keys() == {"__type", "message"}
        assert response.json()["__type"] == f"com.amazon.coral.service#{code}"
    elif protocol == QUERY_JSON:
        assert response.json().keys() == {"Error", "RequestId"}
        assert response.json()["RequestId"] == request_id
        assert (response.json()["Error"]["Type"], response.json()["Error"]["Code"]) == ("Sender", code)
    else:
        error, found_id = ET.fromstring(response.content)
        assert [child.tag.removeprefix(NAMESPACE) for child in error] == ["Type", "Code", "Message", "Detail"]
        assert (error[0].text, error[1].text, found_id.text) == ("Sender", code, request_id)
        assert error[2].text
