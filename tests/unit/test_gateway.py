"""Tests the conversion of HTTP requests to calls and responses: protocols, paths, callers, refusals and headers."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.actions import Action
from penstock.aws.codec.protocol import Protocol
from penstock.effects import Operation, Wake
from penstock.environment import Environment
from penstock.errors import (
    AwsError,
    InvalidAction,
    MalformedQueryString,
    MissingAction,
    MissingParameter,
    QueueDoesNotExist,
    RequestEntityTooLarge,
    SerializationException,
    ServiceUnavailable,
)
from penstock.gateway import ActionCall, RejectedRequest, decode, encode, encode_error, guess_service
from penstock.http import HttpRequest
from penstock.settings import Settings
from penstock.sns.errors import ValidationError
from penstock.sqs import types as sqs
from penstock.sqs.uses import use_queue
from penstock_web.rest.errors import build_error_response

ENVIRONMENT = Environment(Settings.read({}), None)  # type: ignore[arg-type] # no request here has a receipt
SEND = b'{"QueueUrl":"http://h/000000000000/q","MessageBody":"b"}'
SCOPE = "AKIDEXAMPLE/20250101/eu-west-1/sqs/aws4_request"


def signed(scope: str) -> bytes:
    return f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=00ff".encode()


def http(
    body: bytes = b"",
    *,
    target: str | None = None,
    method: str = "POST",
    path: str = "/",
    query: bytes = b"",
    authorization: bytes | None = None,
) -> HttpRequest:
    headers = {b"host": b"localhost:9324"}
    if target is not None:
        headers |= {b"content-type": b"application/x-amz-json-1.0", b"x-amz-target": target.encode()}
    if authorization is not None:
        headers[b"authorization"] = authorization
    return HttpRequest(method, path, query, headers, body)


def call(request: HttpRequest) -> ActionCall:
    return decode(request, ENVIRONMENT)


def refused(request: HttpRequest, **expected: str) -> RejectedRequest:
    with pytest.raises(RejectedRequest) as caught:
        decode(request, ENVIRONMENT, **expected)
    return caught.value


# --- protocols and paths ---------------------------------------------------------------------------------------------
def test_json_by_target() -> None:
    found = call(http(SEND, target="AmazonSQS.SendMessage"))
    assert (found.action.name, found.protocol) == ("SendMessage", Protocol.JSON)
    assert found.request == sqs.SendMessageRequest(queue_url="http://h/000000000000/q", message_body="b")


@pytest.mark.parametrize(
    "request_",
    [
        http(b"Action=SendMessage&MessageBody=b&QueueUrl=http://h/000000000000/q"),
        http(b"MessageBody=b&QueueUrl=http://h/000000000000/q", query=b"Action=SendMessage"),
        http(query=b"Action=SendMessage&MessageBody=b&QueueUrl=http://h/000000000000/q", method="GET"),
        http(b"Action=SendMessage&MessageBody=b&QueueUrl=http://h/000000000000/q", path="/000000000000/other"),
    ],
    ids=["form", "action in the query string", "get", "queue path"],
)
def test_query_in_form_and_query_string(request_: HttpRequest) -> None:
    found = call(request_)
    assert (found.action.name, found.protocol) == ("SendMessage", Protocol.QUERY)
    assert found.request == sqs.SendMessageRequest(queue_url="http://h/000000000000/q", message_body="b")


def test_the_path_of_a_queue_is_its_address() -> None:
    found = call(http(b"Action=SendMessage&MessageBody=b", path="/123456789012/q"))
    assert found.context.queue_arn(found.request.queue_url) == "arn:aws:sqs:us-east-1:123456789012:q"


def test_a_request_on_a_queue_path_as_aws_shows_it() -> None:
    # The example is SendMessage of the Query protocol in the SQS API reference, whose path ends in a slash.
    found = call(http(b"Action=SendMessage&MessageBody=This+is+a+test+message", path="/177715257436/MyQueue/"))
    assert found.context.queue_arn(found.request.queue_url) == "arn:aws:sqs:us-east-1:177715257436:MyQueue"


def test_the_body_of_a_get_is_not_read() -> None:
    assert isinstance(refused(http(b"Action=ListQueues", method="GET")).error, MissingAction)


def test_an_action_may_be_expected() -> None:
    request = http(SEND, target="AmazonSQS.SendMessage")
    assert decode(request, ENVIRONMENT, "sqs", "SendMessage").action.name == "SendMessage"
    assert isinstance(refused(request, service="sqs", action="DeleteQueue").error, InvalidAction)
    assert isinstance(refused(request, service="sns", action="SendMessage").error, InvalidAction)


@pytest.mark.parametrize(
    ("request_", "service"),
    [
        (http(b"{}", target="AmazonSQS.Nothing"), "sqs"),
        (http(b"{}", target="AmazonSNS.Nothing"), "sns"),
        (http(b'{"MessageBody":"Version=2010-03-31"}', target="AmazonSQS.SendMessage"), "sqs"),
        (http(b"Action=A&Version=2010-03-31"), "sns"),
        (http(b"Action=A&Version=2011-06-15"), "sts"),
        (http(b"Action=A", authorization=signed(SCOPE.replace("sqs", "sns"))), "sns"),
        (http(b"Action=A"), "sqs"),
        (http(path="/schedules/a"), "scheduler"),
        (http(path="/2015-03-31/event-source-mappings/"), "lambda"),
        (http(path="/2015-03-31/functions/"), "lambda"),
        (http(path="/201500000000/20-03-31"), "sqs"),
    ],
)
def test_the_service_of_a_refused_request(request_: HttpRequest, service: str) -> None:
    assert guess_service(request_) == service


def test_a_call_runs_the_operation_of_its_action() -> None:
    seen = []

    def operation(request: Any, context: Any) -> Operation[None]:
        seen.append((request, context))
        yield Wake("arn", 1)

    found = call(http(SEND, target="AmazonSQS.SendMessage"))
    row: Action[Any, Any] = Action("sqs", "SendMessage", sqs.SendMessageRequest, None, operation, use_queue)
    assert list(ActionCall(row, found.request, found.context, found.protocol).operation()) == [Wake("arn", 1)]
    assert seen == [(found.request, found.context)]


# --- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (http(b"{}", target="AmazonSQS.Nothing"), InvalidAction),
        (http(b"{}", target="AmazonSNS.CreateQueue"), InvalidAction),
        (http(b"{}", target="AmazonSNS.Publish"), ValidationError),
        (http(b"{}", target="Nothing"), InvalidAction),
        (http(b"Action=Nothing"), InvalidAction),
        (http(b"Action=CreatePigeon&Version=2010-03-31"), InvalidAction),
        (http(b"Action=Publish&Version=2010-03-31"), ValidationError),
        (http(b"Action="), MissingAction),
        (http(b"Action.1=SendMessage"), MissingAction),
        (http(b""), MissingAction),
        (http(SEND), MissingAction),
        (http(b"Action=SendMessage&MessageBody=\xff"), MalformedQueryString),
        (http(b"\xff", target="AmazonSQS.SendMessage"), SerializationException),
        (http(b"{}", target="AmazonSQS.SendMessage"), MissingParameter),
        (http(b" " * (6 * 1024 * 1024 + 1), target="AmazonSQS.SendMessage"), RequestEntityTooLarge),
        (http(b"Action=ListQueues&" + b"a" * 6 * 1024 * 1024), RequestEntityTooLarge),
    ],
)
def test_refusals_know_how_to_answer(request_: HttpRequest, error: type[AwsError]) -> None:
    refusal = refused(request_)
    assert type(refusal.error) is error
    json = b"x-amz-target" in request_.headers
    assert refusal.protocol is (Protocol.JSON if json else Protocol.QUERY)
    response = refusal.response()
    assert response.status == error.status
    assert dict(response.headers)[b"x-amzn-requestid"].decode() == refusal.request_id
    assert dict(response.headers)[b"content-type"] == (b"application/x-amz-json-1.0" if json else b"text/xml")


def test_the_text_of_an_unknown_action() -> None:
    refusal = refused(http(b"{}", target="AmazonSQS.Nothing"))
    assert refusal.error.message == "The action Nothing is not valid for this endpoint."


def outcome(request: HttpRequest) -> int:
    try:
        return encode(call(request), None).status
    except RejectedRequest as refusal:
        return refusal.response().status


@given(st.binary(max_size=100), st.binary(max_size=50), st.text(max_size=20), st.binary(max_size=60))
def test_any_request_is_a_call_or_a_refusal(body: bytes, query: bytes, path: str, scope: bytes) -> None:
    for target in (None, "AmazonSQS.SendMessage"):
        request = http(body, target=target, query=b"Action=ListQueues&" + query, path="/" + path,
                       authorization=b"Credential=" + scope)  # fmt: skip
        assert outcome(request) in range(200, 500)


# --- callers ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("authorization", "account_id", "region"),
    [
        (None, "000000000000", "us-east-1"),
        (signed(SCOPE), "000000000000", "eu-west-1"),
        (signed("123456789012/20250101/ap-south-1/sqs/aws4_request"), "123456789012", "ap-south-1"),
        (signed("1234567890123/20250101/ap-south-1/sqs/aws4_request"), "000000000000", "ap-south-1"),
        (signed("AKID/20250101/Bad Region/sqs/aws4_request"), "000000000000", "us-east-1"),
        (signed("a/b/20250101/eu-west-1/sqs/aws4_request"), "000000000000", "eu-west-1"),
        (b"AWS4-HMAC-SHA256 nothing", "000000000000", "us-east-1"),
        (b"AWS4-HMAC-SHA256 Credential=\xff\xfe", "000000000000", "us-east-1"),
        (b"Bearer token", "000000000000", "us-east-1"),
    ],
)
def test_account_and_region_come_from_the_credential_scope(
    authorization: bytes | None, account_id: str, region: str
) -> None:
    for request in (
        http(SEND, target="AmazonSQS.SendMessage", authorization=authorization),
        http(b"Action=ListQueues", authorization=authorization),
    ):
        context = call(request).context
        assert (context.account_id, context.region) == (account_id, region)


def test_a_presigned_address_carries_its_scope() -> None:
    query = b"Action=ListQueues&X-Amz-Credential=123456789012%2F20250101%2Feu-west-1%2Fsqs%2Faws4_request"
    context = call(http(query=query, method="GET")).context
    assert (context.account_id, context.region) == ("123456789012", "eu-west-1")


def test_request_ids_look_like_uuids_and_differ() -> None:
    ids = {call(http(SEND, target="AmazonSQS.SendMessage")).context.request_id for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", i) for i in ids)


def test_two_processes_give_different_request_ids() -> None:
    other = Environment(ENVIRONMENT.settings, ENVIRONMENT.receipts)
    assert other.request_ids()[:24] != ENVIRONMENT.request_ids()[:24]


# --- responses --------------------------------------------------------------------------------------------------------
def response(request: HttpRequest, result: Any) -> tuple[int, dict[bytes, bytes], bytes, str]:
    found = call(request)
    response = encode(found, result)
    return response.status, dict(response.headers), response.body, found.context.request_id


def test_a_json_response() -> None:
    result = sqs.SendMessageResult(message_id="m", md5_of_message_body="d")
    status, headers, body, request_id = response(http(SEND, target="AmazonSQS.SendMessage"), result)
    assert status == 200
    assert headers == {b"content-type": b"application/x-amz-json-1.0", b"x-amzn-requestid": request_id.encode()}
    assert msgspec.json.decode(body) == {"MessageId": "m", "MD5OfMessageBody": "d"}


def test_a_json_response_without_a_result_is_empty() -> None:
    status, _, body, _ = response(http(b'{"QueueUrl": "u"}', target="AmazonSQS.DeleteQueue"), None)
    assert (status, body) == (200, b"")


def test_a_query_response_is_xml() -> None:
    status, headers, body, request_id = response(http(b"Action=DeleteQueue&QueueUrl=u"), None)
    assert (status, headers[b"content-type"]) == (200, b"text/xml")
    assert body.decode() == (
        '<?xml version="1.0"?><DeleteQueueResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/">'
        f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></DeleteQueueResponse>"
    )


def test_a_json_error_carries_both_of_its_codes() -> None:
    response = encode_error(Protocol.JSON, QueueDoesNotExist(), "id")
    assert response.status == 400
    assert dict(response.headers)[b"x-amzn-query-error"] == b"AWS.SimpleQueueService.NonExistentQueue;Sender"
    assert msgspec.json.decode(response.body)["__type"] == "com.amazonaws.sqs#QueueDoesNotExist"


@pytest.mark.parametrize("protocol", list(Protocol))
def test_unavailable_says_when_to_try_again(protocol: Protocol) -> None:
    response = encode_error(protocol, ServiceUnavailable(), "id")
    assert response.status == 503
    assert int(dict(response.headers)[b"retry-after"]) >= 1


def test_a_cause_that_awss_text_hides_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Clients receive only the text of AWS, because they may compare it."""
    with caplog.at_level("INFO"):
        response = encode_error(Protocol.JSON, InvalidAction("AWS's text.", "And why."), "id")
        encode_error(Protocol.JSON, InvalidAction("AWS's text."), "other")
    assert msgspec.json.decode(response.body)["message"] == "AWS's text."
    (record,) = caplog.records
    logged = (record.__dict__["request_id"], record.__dict__["error"], record.__dict__["cause"])
    assert logged == ("id", "InvalidAction", "AWS's text. And why.")


def test_the_rest_api_tells_it_too() -> None:
    body = build_error_response(InvalidAction("AWS's text.", "And why.")).body
    assert msgspec.json.decode(body)["error"] == {"code": "bad_request", "message": "AWS's text.", "detail": "And why."}
