"""Calls SQS, SNS, STS and EventBridge Scheduler in CBOR ("Smithy RPC v2 CBOR protocol",
https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html) with botocore's serializer and parser.

AWS does not serve these services in CBOR yet. Each kind of shape has one test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError

from penstock.aws.codec import cbor
from penstock.gateway import MAX_BODY_BYTES
from tests.support.conformance.access_keys import OWNER, SIGV4
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.requests import (
    Members,
    Raw,
    is_lambdas_refusal,
    md5_of_attributes,
    md5_of_body,
    with_bytes,
)
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sdk_clients import ACCOUNT, build_client
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs, read_cbor
from tests.support.conformance.valid_requests import scheduler as scheduler_requests
from tests.support.conformance.valid_requests import sns as sns_requests
from tests.support.conformance.valid_requests import sqs as sqs_requests

in_cbor = pytest.mark.parametrize("sqs", ["container-cbor", "lambda-cbor"], indirect=True)
schedules_in_cbor = pytest.mark.parametrize("scheduler", ["container-cbor", "lambda-cbor"], indirect=True)


# --- kinds of shapes -------------------------------------------------------------------------------------------------
@in_cbor
def test_a_structure_with_texts_and_integers(sqs: Sqs) -> None:
    url = sqs.create(DelaySeconds="900")
    sent = sqs.send(url, "Größe 𐅑", DelaySeconds=0)
    assert sent["MD5OfMessageBody"] == md5_of_body("Größe 𐅑")
    assert sqs.receive_one(url)["Body"] == "Größe 𐅑"


@in_cbor
def test_blobs_in_a_map(sqs: Sqs) -> None:
    url = sqs.create()
    attributes: dict[str, dict[str, Any]] = {
        "raw": {"DataType": "Binary.x", "BinaryValue": bytes(range(256))},
        "number": {"DataType": "Number", "StringValue": "1"},
    }
    assert sqs.send(url, MessageAttributes=attributes)["MD5OfMessageAttributes"] == md5_of_attributes(attributes)
    received = sqs.receive_one(url, MessageAttributeNames=["All"])
    assert received["MessageAttributes"] == attributes


@in_cbor
def test_lists_of_structures_with_booleans(sqs: Sqs) -> None:
    entries = [{"Id": "good", "MessageBody": "b"}, {"Id": "bad", "MessageBody": "b", "DelaySeconds": 901}]
    answer = sqs.client.send_message_batch(QueueUrl=sqs.create(), Entries=entries)
    assert [entry["Id"] for entry in answer["Successful"]] == ["good"]
    (failed,) = answer["Failed"]
    assert (failed["Id"], failed["SenderFault"], failed["Code"]) == ("bad", True, "InvalidParameterValue")


@in_cbor
def test_maps_of_texts(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.client.tag_queue(QueueUrl=url, Tags={"a": "1", "ü": ""})
    assert sqs.client.list_queue_tags(QueueUrl=url)["Tags"] == {"a": "1", "ü": ""}
    assert sqs.attributes(url, "VisibilityTimeout") == {"VisibilityTimeout": "30"}


@in_cbor
def test_longs(sqs: Sqs) -> None:
    dead = sqs.create()
    policy = json.dumps({"deadLetterTargetArn": sqs.arn(dead), "maxReceiveCount": "1"})
    sqs.create(RedrivePolicy=policy)
    sqs.client.start_message_move_task(SourceArn=sqs.arn(dead))
    (task,) = sqs.client.list_message_move_tasks(SourceArn=sqs.arn(dead))["Results"]
    assert task["StartedTimestamp"] > 2**32


@schedules_in_cbor
def test_timestamps(scheduler: Scheduler) -> None:
    start = datetime(2036, 1, 2, 3, 4, 5, 250_000, UTC)
    end = datetime(2037, 1, 1, tzinfo=UTC)
    found = scheduler.get(scheduler.create(StartDate=start, EndDate=end, Description="d"))
    assert (found["StartDate"], found["EndDate"]) == (start, end)
    assert abs((found["CreationDate"] - datetime.now(UTC)).total_seconds()) < 3_600


@in_cbor
def test_members_of_sns(sqs: Sqs) -> None:
    sns = Sns(sqs)
    topic = sns.create()
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    attribute = {"a": {"DataType": "Binary", "BinaryValue": b"\0\xff"}}
    sns.publish(topic, "hello", MessageAttributes=attribute)
    received = sqs.receive_one(url, MessageAttributeNames=["All"])
    assert (received["Body"], received["MessageAttributes"]) == ("hello", attribute)


@in_cbor
def test_sts(sqs: Sqs) -> None:
    sts, _ = build_client("cbor", sqs.endpoint_url, service="sts")
    assert sts.get_caller_identity()["Account"] == ACCOUNT
    credentials = sts.get_session_token()["Credentials"]
    assert credentials["Expiration"] > datetime.now(UTC)


@in_cbor
def test_an_operation_without_a_result_answers_an_empty_map(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.send(url)
    sqs.delete(url, sqs.receive_one(url))
    assert read_cbor(sqs.response.body) == {}
    assert sqs.response.headers is not None
    assert sqs.response.headers["smithy-protocol"] == "rpc-v2-cbor"
    assert sqs.poll(url) == []
    assert read_cbor(sqs.response.body) == {}


@in_cbor
def test_an_error_is_typed_and_has_the_query_code(sqs: Sqs) -> None:
    with pytest.raises(sqs.client.exceptions.QueueDoesNotExist) as caught:
        sqs.client.get_queue_url(QueueName="none")
    assert isinstance(caught.value, ClientError)
    error = caught.value.response["Error"]
    assert (error["Code"], error["QueryErrorCode"], error["Type"]) == (
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        "Sender",
    )


@schedules_in_cbor
def test_an_error_of_a_service_without_query_codes(scheduler: Scheduler) -> None:
    with pytest.raises(scheduler.client.exceptions.ResourceNotFoundException) as caught:
        scheduler.client.get_schedule(Name="none")
    assert caught.value.response["Error"] == {
        "Code": "ResourceNotFoundException",
        "Message": "Schedule none does not exist.",
    }
    headers = scheduler.response.headers
    assert headers is not None
    assert "x-amzn-query-error" not in headers


# --- requests that no SDK sends --------------------------------------------------------------------------------------
REFUSED = {
    "no map": (b"\x01", "SerializationException", 400),
    "too early": (b"\xa1", "SerializationException", 400),
    "deep": (b"\x81" * 100_000, "SerializationException", 400),
    "many": (b"\x9a\x00\xff\xff\xff" + b"\xa0" * 1_000_000, "SerializationException", 400),
    "twice": (b"\xa2\x61a\x01\x61a\x01", "SerializationException", 400),
    "tagged": (b"\xa1\x61a\xc2\x41\x01", "SerializationException", 400),
    "too long": (b"\x5a\xff\xff\xff\xff" + bytes(MAX_BODY_BYTES), "RequestEntityTooLarge", 413),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_body(raw: Raw, name: str) -> None:
    body, kind, status = REFUSED[name]
    response = raw.cbor("SendMessage", body)
    if not is_lambdas_refusal(raw, response):
        assert read_error(response.headers, response.content) == kind
        assert response.status_code == status


def read_error(headers: Mapping[str, str], body: bytes) -> str:
    assert (headers["smithy-protocol"], headers["content-type"]) == ("rpc-v2-cbor", "application/cbor")
    assert headers["x-amzn-requestid"]
    return str(read_cbor(body)["__type"]).rpartition("#")[2]


@pytest.mark.parametrize(
    ("service", "action", "headers", "status", "kind"),
    [
        ("AmazonSQS", "Nothing", {}, 404, "UnknownOperationException"),
        ("Nothing", "SendMessage", {}, 404, "UnknownOperationException"),
        ("AmazonSQS", "ListQueues", {"smithy_protocol": "rpc-v2-json"}, 400, "SerializationException"),
        ("AmazonSQS", "ListQueues", {"x_amz_target": "AmazonSQS.ListQueues"}, 400, "SerializationException"),
        ("AmazonSQS", "ListQueues", {"x_amzn_target": "AmazonSQS.ListQueues"}, 400, "SerializationException"),
        ("AmazonSQS", "ListQueues", {"host": "evil.example"}, 421, "MisdirectedRequest"),
    ],
)
def test_a_refused_head(raw: Raw, service: str, action: str, headers: dict[str, str], status: int, kind: str) -> None:
    response = raw.cbor(action, {}, service, **headers)
    assert (response.status_code, read_error(response.headers, response.content)) == (status, kind)


@pytest.mark.parametrize("prefix", ["", "/stage", "/a/service/b/operation/c"])
def test_a_prefix_of_the_path(raw: Raw, prefix: str) -> None:
    response = raw.cbor("ListQueues", {"QueueNamePrefix": "none-"}, prefix=prefix)
    assert (response.status_code, cbor.decode(response.content)) == (200, {})


# --- signatures ------------------------------------------------------------------------------------------------------
@in_cbor
def test_a_signed_request(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> None:
    owner = sqs.with_settings(SIGV4).with_key(*keys[OWNER])
    url = owner.create()
    owner.send(url, "signed ü")
    assert owner.receive_one(url)["Body"] == "signed ü"
    refusal = owner.with_key(owner.account, "not the secret").refusal("list_queues")
    assert (refusal.code, refusal.status) == ("SignatureDoesNotMatch", 403)


@in_cbor
def test_a_signature_for_another_service(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> None:
    """The path names the service, and the scope of the signature must name the same service."""
    owner = sqs.with_settings(SIGV4).with_key(*keys[OWNER])

    def call_sns(request: AWSRequest, **_: object) -> None:
        request.url = request.url.replace("/AmazonSQS/operation/ListQueues", "/AmazonSNS/operation/ListTopics")

    owner.client.meta.events.register("before-sign.sqs.ListQueues", call_sns)
    try:
        refusal = owner.refusal("list_queues")
    finally:
        owner.client.meta.events.unregister("before-sign.sqs.ListQueues", call_sns)
    assert (refusal.code, refusal.status) == ("SignatureDoesNotMatch", 403)
    assert refusal.message == "Credential should be scoped to correct service: 'sns'."


@schedules_in_cbor
def test_signed_requests_of_schedules(scheduler: Scheduler, keys: dict[str, tuple[str, str]]) -> None:
    signed = scheduler.of(scheduler.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))
    assert signed.get(signed.create(Description="d"))["Description"] == "d"


@pytest.mark.parametrize("action", ["AssumeRoleWithWebIdentity", "GetCallerIdentity"])
def test_unsigned_requests_for_tokens(raw: Raw, action: str) -> None:
    """SDKs do not sign AssumeRoleWithWebIdentity, so the service says that it issues no tokens."""
    deployment = raw._replace(sqs=raw.sqs.with_settings(SIGV4))
    response = deployment.cbor(action, {}, "AWSSecurityTokenServiceV20110615")
    kind = read_error(response.headers, response.content)
    expected = {"AssumeRoleWithWebIdentity": "AccessDeniedException", "GetCallerIdentity": "MissingAuthenticationToken"}
    assert (response.status_code, kind) == (403, expected[action])


def test_links_of_messages_are_no_operations(raw: Raw) -> None:
    """A body that contains the form of a link does not make an operation public."""
    deployment = raw._replace(sqs=raw.sqs.with_settings(SIGV4))
    body = cbor.encode({"&Action=Unsubscribe&": "x"})
    for given in (body, b"&Action=Unsubscribe&"):
        response = deployment.cbor("DeleteTopic", given, "AmazonSNS")
        assert (response.status_code, read_error(response.headers, response.content)) == (
            403,
            "MissingAuthenticationToken",
        )


# --- every action ----------------------------------------------------------------------------------------------------
def outline(value: Any) -> Any:
    """Returns the names and the types of a result. Lists of any length have the outline of their first item."""
    if isinstance(value, dict):
        return {name: outline(member) for name, member in value.items() if name != "ResponseMetadata"}
    if isinstance(value, list):
        return [outline(item) for item in value[:1]]
    return type(value)


def ask_twice(protocol: str, service: str, sqs: Sqs, action: str, build: Callable[[], Members]) -> list[Any]:
    """Returns the outlines of the results in the service's own protocol and in CBOR, or the codes of the errors."""
    outlines = []
    for name in (protocol, "cbor"):
        client, _ = build_client(name, sqs.endpoint_url, service=service, validates=False)
        try:
            # The method's name in Python is no part of the model.
            outlines.append(outline(client._make_api_call(action, with_bytes(build()))))
        except ClientError as error:
            outlines.append(error.response["Error"]["Code"])
    return outlines


@pytest.mark.parametrize("service", ["sqs", "sns", "scheduler"])
def test_every_action_has_the_same_result_as_in_the_services_own_protocol(
    deployments: Deployments, clock: Clock, service: str
) -> None:
    """The inputs are the valid requests of test_every_action.py, which have every member that an action supports."""
    sqs = Sqs(deployments, clock, "container", "json")
    services: dict[str, tuple[str, Mapping[str, Any], Any]] = {
        "sqs": ("json", sqs_requests.GOOD, sqs),
        "sns": ("query", sns_requests.GOOD, Sns(sqs)),
        "scheduler": ("rest-json", scheduler_requests.GOOD, Scheduler(sqs)),
    }
    protocol, good, helper = services[service]
    for action, request in good.items():
        by_own, by_cbor = ask_twice(protocol, service, sqs, action, partial(request.needs, helper))
        assert by_cbor == by_own, action
        # AWS refuses PutDataProtectionPolicy for new customers.
        assert isinstance(by_own, dict) or (action, by_own) == ("PutDataProtectionPolicy", "AuthorizationError")
