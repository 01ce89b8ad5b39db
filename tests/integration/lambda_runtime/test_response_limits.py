"""Tests that a function's response stays within AWS's limit, and that no message is lost because of the limit.

The limits are in "Lambda quotas" and "Use Lambda functions as targets of an Application Load Balancer" (see
`penstock.limits.response_limit`). The functions in these tests refuse longer responses, as Lambda and a load balancer
do.
"""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import boto3
import httpx
import psycopg
import pytest
from botocore.exceptions import ClientError

# The tests import this module before the server's threads start, because pydantic parses source code, which two threads
# cannot do at the same time in Python 3.11.
import penstock_web.rest.application  # noqa: F401
from penstock import drivers
from penstock.aws.codec import cbor
from penstock.lambda_runtime import events
from penstock_web.local.postgres import ROLE
from tests.support import client_setup
from tests.support.conformance.sdk_clients import build_client
from tests.support.database import Database, block_queues
from tests.support.functions import server
from tests.support.functions.invocations import (
    QUEUE_URL,
    call,
    cbor_request,
    error_of,
    invoke,
    json_request,
    query_request,
)
from tests.support.functions.server import FUNCTIONS, Functions, FunctionServer, load_handler
from tests.support.local_lambda.events import EventForm, event_of, response_of
from tests.support.sql.calls import Counts, arn_of, counts, receive

WAYS = pytest.mark.parametrize("form", ["http_api", "alb"])
# Messages and limits have a tenth of their size at AWS, so the tests run ten times as fast.
SCALES = pytest.mark.parametrize("scale", [pytest.param(1, marks=pytest.mark.slow), 10], indirect=True)
MIB = 1_048_576


@pytest.fixture
def scale(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns the factor by which the test's limits are smaller than AWS's limits. Some tests use AWS's limits."""
    divisor: int = getattr(request, "param", 1)
    for limit in (events.FUNCTION, events.LOAD_BALANCER):
        name = "FUNCTION" if limit is events.FUNCTION else "LOAD_BALANCER"
        monkeypatch.setattr(events, name, limit._replace(max_bytes=limit.max_bytes // divisor))
    for name in ("LAMBDA_BYTES", "LOAD_BALANCER_BYTES"):
        monkeypatch.setattr(server, name, getattr(server, name) // divisor)
    return divisor


@pytest.fixture
def deployment(database: Database, form: EventForm, scale: int) -> Iterator[FunctionServer]:
    with FunctionServer(database.pooled_dsn, form) as deployment:
        yield deployment


@pytest.fixture
def sql(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """Calls SQL without a function, as the container and applications do."""
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        yield connection


def query(http: httpx.Client, path: str, **parameters: str) -> httpx.Response:
    return http.get(f"{path}?{urlencode(parameters)}")


def create(sqs: Any, name: str = "q", maximum: int = 3) -> tuple[str, str]:
    """Creates a queue and its dead-letter queue. Returns both URLs."""
    suffix = ".fifo" if name.endswith(".fifo") else ""
    attributes = {"FifoQueue": "true"} if suffix else {}
    dead = sqs.create_queue(QueueName=f"dead{suffix}", Attributes=attributes)["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": arn_of(f"dead{suffix}"), "maxReceiveCount": maximum})
    return sqs.create_queue(QueueName=name, Attributes={**attributes, "RedrivePolicy": policy})["QueueUrl"], dead


def refused(sqs: Any, url: str, **parameters: Any) -> str:
    """Asserts that the service refuses the receive. Returns the error's text."""
    with pytest.raises(ClientError) as caught:
        sqs.receive_message(QueueUrl=url, **parameters)
    assert caught.value.response["Error"]["Code"] == "ResponseTooLarge"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(caught.value.response["Error"]["Message"])


@WAYS
@SCALES
@pytest.mark.parametrize("name", ["q", "q.fifo"])
def test_long_messages_all_come_and_none_becomes_a_dead_letter(
    sqs: Any, sql: psycopg.Connection[Any], form: EventForm, name: str, scale: int
) -> None:
    """A client requests ten messages of 700 KB and receives all of them in at most three calls. Together, the messages
    are longer than the response of a function can be."""
    url, _ = create(sqs, name)
    for number in range(10):
        group = {"MessageGroupId": str(number), "MessageDeduplicationId": str(number)}
        sqs.send_message(
            QueueUrl=url, MessageBody=str(number) * (700_000 // scale), **(group if name.endswith(".fifo") else {})
        )
    found, receives = [], 0
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
    ).get("Messages"):
        receives += 1
        assert {message["Attributes"]["ApproximateReceiveCount"] for message in messages} == {"1"}
        found += [message["Body"][0] for message in messages]
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert sorted(found) == [*"0123456789"]
    assert receives == {"http_api": 2, "alb": 10}[form]
    assert counts(sql, arn_of("dead.fifo" if name.endswith(".fifo") else "dead")) == Counts(0, 0, 0)


@WAYS
@SCALES
def test_a_response_in_cbor_counts_as_base64(sqs: Any, deployment: FunctionServer, form: EventForm, scale: int) -> None:
    """The function's result contains CBOR as base64, which is a third longer. Each message is received once."""
    url, _ = create(sqs)
    for number in range(10):
        sqs.send_message(QueueUrl=url, MessageBody=str(number) * (700_000 // scale))
    client, _ = build_client("cbor", deployment.endpoint_url)
    asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "AttributeNames": ["ApproximateReceiveCount"]}
    found, receives = [], 0
    while messages := client.receive_message(**asked).get("Messages"):
        receives += 1
        assert {message["Attributes"]["ApproximateReceiveCount"] for message in messages} == {"1"}
        found += [message["Body"][0] for message in messages]
    assert sorted(found) == [*"0123456789"]
    assert receives == {"http_api": 2, "alb": 10}[form]


@WAYS
@SCALES
def test_escapes_count(sqs: Any, http: httpx.Client, sql: psycopg.Connection[Any], form: EventForm, scale: int) -> None:
    """A quote takes four bytes in JSON and six in XML. A message that is too long for the response does not count as
    received, and another interface can receive the message."""
    url, _ = create(sqs)
    body = '"' * ((1_040_000 if form == "http_api" else 240_000) // scale)
    path = url.removeprefix(str(http.base_url).rstrip("/"))
    sqs.send_message(QueueUrl=url, MessageBody=body)
    limit = "Lambda function (6 MB)" if form == "http_api" else "Application Load Balancer (1 MB)"
    for _ in range(4):
        response = query(http, path, Action="ReceiveMessage", VisibilityTimeout="0")
        assert (response.status_code, f"{limit} allows" in response.text) == (400, True)
        assert "<Type>Sender</Type><Code>ResponseTooLarge</Code>" in response.text
    (message,) = sqs.receive_message(QueueUrl=url, AttributeNames=["All"], VisibilityTimeout=0)["Messages"]
    assert message["Body"] == body
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert query(http, path, Action="ReceiveMessage").status_code == 400
    (row,) = receive(sql, arn_of("q"))
    assert (row.body, row.receive_count) == (body, 2)
    assert query(http, path, Action="ReceiveMessage").status_code == 200
    assert counts(sql, arn_of("dead")) == Counts(0, 0, 0)


@pytest.mark.parametrize("form", ["alb"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param('"' * 400_000, id="quotes"),
        pytest.param("\n\t" * 200_000, id="control characters"),
        pytest.param("é" * 166_500, id="a runtime that writes ASCII"),
        pytest.param("x" * 999_000, id="letters"),
    ],
)
def test_a_message_that_is_too_long_alone(sqs: Any, sql: psycopg.Connection[Any], body: str) -> None:
    """Receives skip the long message and return the other messages. A receiver with a higher limit receives the long
    message."""
    url, _ = create(sqs, maximum=1)
    sqs.send_message(QueueUrl=url, MessageBody=body)
    sqs.send_message(QueueUrl=url, MessageBody="short")
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [message["Body"] for message in messages] == ["short"]
    assert "Application Load Balancer" in refused(sqs, url, MaxNumberOfMessages=10)
    (row,) = receive(sql, arn_of("q"))
    assert (row.body, row.receive_count) == (body, 1)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    assert counts(sql, arn_of("dead")) == Counts(0, 0, 0)


@pytest.mark.parametrize("form", ["alb"])
def test_a_result_in_utf_8_is_shorter(sqs: Any, monkeypatch: pytest.MonkeyPatch, deployment: FunctionServer) -> None:
    """On Python 3.12 and later, the limit applies to the UTF-8 result (awslambdaric)."""
    url, _ = create(sqs)
    sqs.send_message(QueueUrl=url, MessageBody="é" * 166_500)
    monkeypatch.setenv("AWS_EXECUTION_ENV", "AWS_Lambda_python3.12")
    monkeypatch.setattr(events, "LOAD_BALANCER", events.LOAD_BALANCER._replace(is_ascii=False))
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


@pytest.mark.parametrize("form", ["http_api", "function_url", "rest_api"])
def test_a_mib_goes_in_and_out(sqs: Any, form: EventForm) -> None:
    """The client sends the longest message (SendMessage: 1 MiB) to the stack's default endpoint, and to two other
    endpoints with functions."""
    url, _ = create(sqs)
    text = json.dumps([{"number": number, "text": "grüße\n"} for number in range(30_000)])
    body = text.encode()[:MIB].decode()
    sqs.send_message(QueueUrl=url, MessageBody=body)
    (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert message["Body"] == body


@pytest.mark.parametrize("form", ["alb"])
def test_a_mib_does_not_go_in_through_a_load_balancer(sqs: Any, form: EventForm) -> None:
    url, _ = create(sqs)
    with pytest.raises(ClientError) as caught:
        sqs.send_message(QueueUrl=url, MessageBody="x" * MIB)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413


@pytest.mark.parametrize("form", ["alb"])
def test_a_long_poll_waits_for_others(sqs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receive fails at the end of its wait time if no other message has arrived."""
    url, _ = create(sqs)
    sqs.send_message(QueueUrl=url, MessageBody="x" * 999_000)
    refused(sqs, url, WaitTimeSeconds=1)
    found_too_large = threading.Event()
    perform = drivers.perform

    def perform_and_notice(*arguments: Any) -> object:
        result = perform(*arguments)
        if isinstance(result, list) and result and getattr(result[0], "error", None) == "ResponseTooLarge":
            found_too_large.set()
        return result

    monkeypatch.setattr(drivers, "perform", perform_and_notice)
    responses: list[Any] = []
    waiting = threading.Thread(target=lambda: responses.append(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)))
    waiting.start()
    # The receive is therefore a long poll when the other message arrives.
    assert found_too_large.wait(20)
    sqs.send_message(QueueUrl=url, MessageBody="short")
    waiting.join()
    assert [message["Body"] for message in responses[0]["Messages"]] == ["short"]


@WAYS
@SCALES
def test_the_rest_api(http: httpx.Client, scale: int) -> None:
    http.post("/v1/queues", json={"name": "q"}).raise_for_status()
    for number in range(10):
        http.post("/v1/queues/q/messages", json={"message": f"{number}" * (700_000 // scale)}).raise_for_status()
    peeked, after = [], None
    while (
        page := http.get(
            "/v1/queues/q/messages/peek", params={"limit": 1000} | ({} if after is None else {"after": after})
        )
        .raise_for_status()
        .json()
    ):
        peeked += [message["message"][0] for message in page]
        after = page[-1]["id"]
    found: list[Any] = []
    while page := http.get("/v1/queues/q/messages", params={"max": 1000}).raise_for_status().json():
        found += page
    assert sorted(peeked) == sorted(message["message"][0] for message in found) == [*"0123456789"]
    assert {message["read_count"] for message in found} == {1}


@pytest.mark.parametrize("form", ["alb"])
def test_the_rest_api_refuses_what_is_too_long(http: httpx.Client, sql: psycopg.Connection[Any]) -> None:
    http.post("/v1/queues", json={"name": "q", "attributes": {"archive": True}}).raise_for_status()
    sql.execute("select queue.send('q', to_jsonb(repeat('x', 999000)))")
    responses = [http.get(f"/v1/queues/q/messages{path}") for path in ("", "/peek", "?wait=1")]
    sql.execute("select queue.pop('q')")
    for response in [*responses, http.get("/v1/queues/q/archive")]:
        assert response.status_code == 400, response.text[:200]
        error = response.json()["error"]
        assert error["code"] == "response_too_large"
        assert "an Application Load Balancer (1 MB) allows" in error["message"]


@pytest.mark.parametrize("form", ["alb"])
def test_any_other_response_that_is_too_long_is_refused_too(
    deployment: FunctionServer, sql: psycopg.Connection[Any]
) -> None:
    """Examples are GetSchedule, whose Input can be 1 MiB long, and the REST API's response for a schedule with the same
    message."""
    scheduler = boto3.client(
        "scheduler",
        endpoint_url=deployment.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
    )
    target = {"Arn": arn_of("q"), "RoleArn": "arn:aws:iam::000000000000:role/r", "Input": "x" * 500_000}
    scheduler.create_schedule(
        Name="s", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target
    )
    sql.execute("update queue.schedule set target = jsonb_set(target, '{Input}', to_jsonb(repeat('x', 1000000)))")
    with pytest.raises(ClientError) as caught:
        scheduler.get_schedule(Name="s")
    assert caught.value.response["Error"]["Code"] == "ResponseTooLarge"
    assert "an Application Load Balancer (1 MB)" in caught.value.response["Error"]["Message"]
    scheduler.close()
    with client_setup.Client(base_url=deployment.endpoint_url) as http:
        response = http.get("/v1/schedules")
    assert (response.status_code, response.json()["error"]["code"]) == (400, "response_too_large")


# --- errors ----------------------------------------------------------------------------------------------------------
# Tests how the functions respond to errors in the request, in the database and in Penstock.


# No process listens on the discard port of the loopback address.
NOWHERE = "postgresql://nobody:secret-password@127.0.0.1:9/nothing"


# --- the request -----------------------------------------------------------------------------------------------------
def test_status_and_headers_of_an_error(functions: Functions) -> None:
    call(functions, "CreateQueue", QueueName="orders")
    call(functions, "PurgeQueue", QueueUrl=QUEUE_URL)
    response = invoke(functions, json_request("PurgeQueue", QueueUrl=QUEUE_URL))
    code = "AWS.SimpleQueueService.PurgeQueueInProgress;Sender"
    assert error_of(response) == (403, "PurgeQueueInProgress", code)
    assert response.header("content-type") == "application/x-amz-json-1.0"
    assert response.header("x-amzn-requestid")


@pytest.mark.parametrize("function", ["gateway", "sqs/send_message"])
def test_unknown_action(functions: Functions, function: str) -> None:
    response = invoke(functions, json_request("SendSmoke"), function)
    assert error_of(response) == (400, "InvalidAction", "InvalidAction;Sender")
    response = invoke(functions, query_request("SendSmoke"), function)
    assert response.status == 400
    assert b"<Code>InvalidAction</Code>" in response.body


def test_a_function_does_its_own_action_only(functions: Functions) -> None:
    call(functions, "CreateQueue", QueueName="orders")
    members = {"QueueUrl": QUEUE_URL, "MessageBody": "b"}
    response = invoke(functions, json_request("SendMessage", **members), "sqs/receive_message")
    assert error_of(response) == (400, "InvalidAction", "InvalidAction;Sender")
    response = invoke(functions, query_request("SendMessage", **members), "sqs/receive_message")
    assert response.status == 400
    assert b"<Code>InvalidAction</Code>" in response.body
    assert "Messages" not in (call(functions, "ReceiveMessage", QueueUrl=QUEUE_URL) or {})


def test_a_function_speaks_both_protocols(functions: Functions) -> None:
    call(functions, "CreateQueue", QueueName="orders")
    request = query_request("SendMessage", QueueUrl=QUEUE_URL, MessageBody="b")
    assert invoke(functions, request, "sqs/send_message").status == 200
    assert call(functions, "ReceiveMessage", QueueUrl=QUEUE_URL)["Messages"][0]["Body"] == "b"


def test_body_that_is_not_json(functions: Functions) -> None:
    request = json_request("SendMessage")
    broken = type(request)(headers=request.headers, body=b"{")
    assert error_of(invoke(functions, broken)) == (400, "SerializationException", "SerializationException;Sender")


# --- the database ----------------------------------------------------------------------------------------------------
def test_no_database(caplog: pytest.LogCaptureFixture) -> None:
    handler = load_handler("gateway", {"DATABASE_URL": NOWHERE})
    handler.environment.logger = logging.getLogger("test")
    response = response_of(handler(event_of("http_api", json_request("ListQueues")), None))
    assert error_of(response) == (503, "ServiceUnavailable", "ServiceUnavailable;Receiver")
    assert int(response.header("retry-after")) > 0
    response = response_of(handler(event_of("http_api", query_request("ListQueues")), None))
    assert response.status == 503
    assert b"<Type>Receiver</Type><Code>ServiceUnavailable</Code>" in response.body.replace(b"\n", b"")
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert b"127.0.0.1" not in response.body


def test_a_database_that_is_back_is_used(database: Database) -> None:
    with (
        psycopg.connect(database.dsn, autocommit=True, dbname="postgres") as administrator,
        Functions(database.api_dsn) as functions,
    ):
        administrator.execute(f"alter database {database.name} allow_connections false".encode())
        assert invoke(functions, json_request("ListQueues")).status == 503
        administrator.execute(f"alter database {database.name} allow_connections true".encode())
        assert invoke(functions, json_request("ListQueues")).status == 200


def test_a_lock_that_lasts_is_503_in_cbor(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute(f"alter role {ROLE} in database {database.name} set lock_timeout = 50".encode())
    with Functions(database.api_dsn) as deployed:
        bus = f"arn:aws:events:us-east-1:000000000000:event-busv2/orders/{'a' * 25}"
        entries = [{"Source": "shop", "DetailType": "order", "Detail": "{}"}]
        publish = cbor_request("PutEvents", {"EventBusArn": bus, "Entries": entries})
        assert invoke(deployed, publish, "events/put_events").status == 404
        with block_queues(database, "event_bus"):
            response = invoke(deployed, publish, "events/put_events")
    assert (response.status, response.header("retry-after")) == (503, "1")
    assert response.header("smithy-protocol") == "rpc-v2-cbor"
    error: Any = cbor.decode(response.body)
    assert error["__type"].endswith("#ServiceUnavailableException")


# --- us --------------------------------------------------------------------------------------------------------------
def test_unexpected_errors_stay_inside(empty_database: Database, caplog: pytest.LogCaptureFixture) -> None:
    handler = load_handler("sqs/list_queues", {"DATABASE_URL": empty_database.api_dsn})
    handler.environment.logger = logging.getLogger("test")
    response = response_of(handler(event_of("http_api", json_request("ListQueues")), None))
    handler.environment.close()
    assert error_of(response) == (500, "InternalFailure", "InternalFailure;Receiver")
    assert b"queue" not in response.body
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert vars(record)["request_id"] == response.header("x-amzn-requestid")
    assert vars(record)["action"] == "ListQueues"
    assert record.exc_info is not None
    assert record.exc_info[1] is not None
    assert "shared_secret" in str(record.exc_info[1].__cause__)


@pytest.mark.parametrize(
    ("variables", "text"),
    [({}, "DATABASE_URL is not set"), ({"DATABASE_URL": NOWHERE, "LOG_LEVEL": "loud"}, "LOG_LEVEL must be one of")],
)
def test_a_bad_setting_is_named_in_the_log(variables: dict[str, str], text: str) -> None:
    """The function runs in a separate process, as on Lambda, and the real Logger writes to standard output."""
    script = "import json, sys, gateway; print(json.dumps(gateway.handler(json.load(sys.stdin), None)))"
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{FUNCTIONS}:{FUNCTIONS.parent / 'layers/core'}", **variables},
        input=json.dumps(event_of("alb", json_request("ListQueues"))),
        capture_output=True,
        text=True,
        check=True,
    )
    logged, *_, answered = (json.loads(line) for line in result.stdout.splitlines())  # with metrics between
    response = response_of(answered)
    assert error_of(response) == (500, "InternalFailure", "InternalFailure;Receiver")
    assert (logged["level"], logged["service"]) == ("ERROR", "penstock")
    assert logged["request_id"] == response.header("x-amzn-requestid")
    assert text in logged["exception"]
