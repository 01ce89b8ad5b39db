"""What functions answer when something is wrong: with the request, with the database, with us."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import psycopg
import pytest

from tests.support.database import Database
from tests.support.functions.invocations import QUEUE_URL, call, error_of, invoke, json_request, query_request
from tests.support.functions.server import FUNCTIONS, Functions, load_handler
from tests.support.local_lambda.events import event_of, response_of

# No process listens on the discard port of the loopback.
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
    assert error_of(invoke(functions, broken)) == (
        400,
        "SerializationException",
        "SerializationException;Sender",
    )


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
    [
        ({}, "DATABASE_URL is not set"),
        ({"DATABASE_URL": NOWHERE, "LOG_LEVEL": "loud"}, "LOG_LEVEL must be one of"),
    ],
)
def test_a_bad_setting_is_named_in_the_log(variables: dict[str, str], text: str) -> None:
    """In a separate process, as on Lambda, with the real Logger on standard output."""
    script = "import json, sys, gateway; print(json.dumps(gateway.handler(json.load(sys.stdin), None)))"
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{FUNCTIONS}:{FUNCTIONS.parent / 'layers/core'}", **variables},
        input=json.dumps(event_of("alb", json_request("ListQueues"))),
        capture_output=True,
        text=True,
        check=True,
    )
    logged, *_, answered = (json.loads(line) for line in result.stdout.splitlines())  # and metrics
    response = response_of(answered)
    assert error_of(response) == (500, "InternalFailure", "InternalFailure;Receiver")
    assert (logged["level"], logged["service"]) == ("ERROR", "penstock")
    assert logged["request_id"] == response.header("x-amzn-requestid")
    assert text in logged["exception"]
