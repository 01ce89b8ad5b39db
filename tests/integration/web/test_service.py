"""Tests the whole container as a real process on a real database."""

import contextlib
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from botocore.exceptions import ClientError

from penstock.aws.codec import cbor
from penstock_web.cli import main
from penstock_web.local.postgres import ROLE
from tests.support.conformance.sqs import read_cbor
from tests.support.database import Database, TestServer, block_queues, end_sessions, set_read_only
from tests.support.programs.penstock_service import Service, running_service, until_row
from tests.support.sql import calls as sql_calls
from tests.support.sql.calls import call_pattern

# The value 0 turns the worker that delivers webhooks off.
WAITS = "select from queue.watcher where queue_id > 0"
BUS = f"arn:aws:events:us-east-1:000000000000:event-busv2/orders/{'a' * 25}"
BLOCKED = "select from pg_locks where not granted"


@pytest.fixture(scope="module")
def shared(postgres: TestServer) -> Iterator[Service]:
    """Provides a service for tests that use the default settings."""
    with postgres.database() as database, running_service(database.api_dsn) as service:
        yield service


def let_calls_wait_for_locks(database: Database, milliseconds: int = 0) -> None:
    """Changes the time limit for lock waits of services that start later. 0 removes the limit, because calls must be
    able to wait."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        change = f"alter role {ROLE} in database {database.name} set lock_timeout = {milliseconds}"
        connection.execute(change.encode())


def sqs_request(action: str, **body: object) -> tuple[dict[str, str], bytes]:
    headers = {"x-amz-target": f"AmazonSQS.{action}", "content-type": "application/x-amz-json-1.0"}
    return headers, json.dumps(body).encode()


# --- long polls ------------------------------------------------------------------------------------------------------
def test_a_send_wakes_a_long_poll_of_the_same_process(database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with ThreadPoolExecutor() as threads:
        response = threads.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        until_row(database.dsn, WAITS)
        sqs.send_message(QueueUrl=url, MessageBody="hello")
        assert [message["Body"] for message in response.result()["Messages"]] == ["hello"]


def test_a_send_wakes_a_long_poll_of_another_process(database: Database, service: Service) -> None:
    """Only NOTIFY wakes the long poll, because the shared check finds no message."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute(
            "create or replace function queue.poll_queues(p_arns text[], p_seen text default null) "
            "returns table (arn text, snapshot text, wait_ms int) language sql "
            "as $$ select null::text, null::text, 0 $$"
        )
    with running_service(database.api_dsn) as other, ThreadPoolExecutor() as threads:
        sqs = service.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        until_row(
            database.dsn,
            f"select from pg_stat_activity where query ~ '{call_pattern('queue.due_work')}' having count(*) >= 2",
        )
        response = threads.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        until_row(database.dsn, WAITS)
        other.sqs().send_message(QueueUrl=url, MessageBody="hello")
        assert [message["Body"] for message in response.result()["Messages"]] == ["hello"]


def test_the_shared_look_finds_messages_when_notifications_get_lost_in_a_pooler(database: Database) -> None:
    with (
        running_service(database.pooled_dsn) as one,
        running_service(database.pooled_dsn) as other,
        ThreadPoolExecutor() as threads,
    ):
        sqs = one.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        response = threads.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        until_row(database.dsn, WAITS)
        other.sqs().send_message(QueueUrl=url, MessageBody="hello")
        assert [message["Body"] for message in response.result()["Messages"]] == ["hello"]


def test_a_commit_in_sql_wakes_a_long_poll(database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with ThreadPoolExecutor() as threads, psycopg.connect(database.dsn, autocommit=True) as connection:
        response = threads.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        until_row(database.dsn, WAITS)
        connection.execute(
            "select queue.send_messages(array['arn:aws:sqs:us-east-1:000000000000:orders'], "
            "array[gen_random_uuid()], array['from SQL'], array[8], null, null, null, null, null)"
        )
        assert [message["Body"] for message in response.result()["Messages"]] == ["from SQL"]


def test_a_burst_reaches_every_long_poll(database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with ThreadPoolExecutor(20) as threads:
        responses = [
            threads.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20, MaxNumberOfMessages=1)
            for _ in range(20)
        ]
        until_row(database.dsn, WAITS)
        for start in (0, 10):
            batch = [{"Id": str(n), "MessageBody": str(n)} for n in range(start, start + 10)]
            sqs.send_message_batch(QueueUrl=url, Entries=batch)
        bodies = [message["Body"] for response in responses for message in response.result()["Messages"]]
        assert sorted(bodies, key=int) == [str(n) for n in range(20)]


def test_a_client_that_leaves_during_a_long_poll_takes_no_message(database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    address = urlsplit(service.url)
    headers, body = sqs_request("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = f"POST / HTTP/1.1\r\nhost: x\r\n{lines}content-length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        until_row(database.dsn, WAITS)
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    messages = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    assert [message["Body"] for message in messages] == ["hello"]


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\nx-y: ", b"GET /"])
def test_a_head_without_an_end_is_refused(shared: Service, start: bytes) -> None:
    """RFC 6585: 431. The service stops reading from this client, and continues to serve other clients."""
    address = urlsplit(shared.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        with contextlib.suppress(ConnectionError):  # closed the connection before the request was complete
            connection.sendall(start + b"a" * 2**22)
        with contextlib.suppress(ConnectionError):
            assert connection.recv(64).startswith(b"HTTP/1.1 431 ")
    with shared.http() as http:
        assert http.get("/livez").status_code == 200


@pytest.mark.parametrize(
    ("head", "status", "kind"),
    [
        ("content-length: x", 400, "SerializationException"),
        (f"x-long: {'a' * 70_000}", 431, "RequestHeaderFieldsTooLarge"),
        ("\r\n".join(f"x-{number}: a" for number in range(1_001)), 431, "RequestHeaderFieldsTooLarge"),
        ("content-length: 7000000", 413, "RequestEntityTooLarge"),
        ("transfer-encoding: chunked\r\n\r\nzz", 400, "SerializationException"),
    ],
    ids=["length", "long header", "many headers", "long body", "chunk"],
)
def test_a_refusal_of_the_server_is_in_cbor(shared: Service, head: str, status: int, kind: str) -> None:
    """A client with `smithy-protocol` ignores the body of any other response."""
    address = urlsplit(shared.url)
    path = "/service/AmazonSQS/operation/SendMessage"
    lines = f"POST {path} HTTP/1.1\r\nhost: x\r\nsmithy-protocol: rpc-v2-cbor\r\n{head}\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(lines.encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(partial(connection.recv, 65_536), b""))
    first, _, body = answer.partition(b"\r\n\r\n")
    assert first.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nsmithy-protocol: rpc-v2-cbor\r\n" in first
    assert b"\r\ncontent-type: application/cbor\r\n" in first
    assert read_cbor(body)["__type"].endswith(f"#{kind}")


@pytest.mark.parametrize(("method", "path"), [("GET", "/livez"), ("POST", "/v1/queues"), ("PUT", "/nothing")])
def test_any_path_answers_in_cbor_to_smithy_protocol(shared: Service, method: str, path: str) -> None:
    with shared.http() as http:
        response = http.request(method, path, headers={"smithy-protocol": "rpc-v2-cbor"})
    assert (response.status_code, response.headers["content-type"]) == (404, "application/cbor")
    assert read_cbor(response.content)["__type"].endswith("#UnknownOperationException")


# --- the end ---------------------------------------------------------------------------------------------------------
def test_sigterm_releases_long_polls_with_empty_responses(database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with ThreadPoolExecutor() as threads:
        response = threads.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        until_row(database.dsn, WAITS)
        assert service.stop() == 0
        assert "Messages" not in response.result()


def test_sigterm_lets_a_request_under_way_finish(database: Database) -> None:
    let_calls_wait_for_locks(database)
    with running_service(database.api_dsn) as service, ThreadPoolExecutor() as threads:
        sqs = service.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        with block_queues(database):
            response = threads.submit(sqs.send_message, QueueUrl=url, MessageBody="hello")
            until_row(database.dsn, BLOCKED)
            service.process.terminate()
        assert response.result()["MessageId"]
        assert service.exit_code() == 0


def test_sigterm_does_not_wait_for_a_database_that_hangs(database: Database) -> None:
    let_calls_wait_for_locks(database)
    with running_service(database.api_dsn, QUEUE_DRAIN_SECONDS="1") as service:
        sqs = service.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        with ThreadPoolExecutor() as threads, block_queues(database):
            response = threads.submit(sqs.send_message, QueueUrl=url, MessageBody="hello")
            until_row(database.dsn, BLOCKED)
            assert service.stop() == 0  # Every call is blocked at this point.
            error = response.exception()
            assert isinstance(error, ClientError)
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 503


# --- limits ----------------------------------------------------------------------------------------------------------
def test_a_request_that_takes_too_long_is_408(database: Database) -> None:
    let_calls_wait_for_locks(database)
    with running_service(database.api_dsn, QUEUE_REQUEST_TIMEOUT_SECONDS="1") as service:
        url = service.sqs().create_queue(QueueName="orders")["QueueUrl"]
        headers, body = sqs_request("SendMessage", QueueUrl=url, MessageBody="hello")
        with block_queues(database), service.http() as http:
            response = http.post("/", headers=headers, content=body)
            assert response.status_code == 408
            assert response.json()["__type"].endswith("#RequestTimeout")
            response = http.get("/v1/queues/orders")
            assert response.status_code == 408
            assert response.json()["error"]["code"] == "request_timeout"


def put_event(http: httpx.Client, bus: str = BUS) -> httpx.Response:
    """Publishes an event with the deduplication id `d`."""
    entry = {"Source": "shop", "DetailType": "order", "Detail": "{}", "SystemMetadata": {"DeduplicationId": "d"}}
    members = {"EventBusArn": bus, "Entries": [entry]}
    headers = {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}
    return http.post("/service/AWSEventsV2/operation/PutEvents", headers=headers, content=cbor.encode(members))


def assert_unavailable_in_cbor(response: httpx.Response) -> None:
    """Smithy's clients ignore the body of a response without the header smithy-protocol, and retry a 503."""
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.headers["smithy-protocol"] == "rpc-v2-cbor"
    error: Any = cbor.decode(response.content)
    assert error["__type"].endswith("#ServiceUnavailableException")
    assert error["Message"]


def test_a_lock_that_lasts_is_503_in_cbor(database: Database) -> None:
    let_calls_wait_for_locks(database, milliseconds=50)
    with running_service(database.api_dsn) as service, service.http() as http:
        bus = service.client("eventbridgev2").create_event_bus(Name="orders")["EventBusArn"]
        with block_queues(database, "event_bus"):
            assert_unavailable_in_cbor(put_event(http, bus))
        with psycopg.connect(database.dsn) as connection:  # an application that has not committed the same event
            connection.execute(
                "select queue.put_bus_events(%s, '000000000000', array[gen_random_uuid()], array[1::smallint],"
                " array['1'::bytea], p_deduplication_ids => array['d'])",
                (bus,),
            )
            assert_unavailable_in_cbor(put_event(http, bus))
            connection.rollback()
        response = put_event(http, bus)
        answer: Any = cbor.decode(response.content)
        assert (response.status_code, answer["Entries"][0]["SuccessCode"]) == (200, "PUBLISHED")


def test_an_exhausted_pool_is_503_with_retry_after(database: Database) -> None:
    let_calls_wait_for_locks(database)
    limits = {"QUEUE_MAX_CONNECTIONS": "1", "QUEUE_POOL_TIMEOUT_MS": "500"}
    with running_service(database.api_dsn, **limits) as service, ThreadPoolExecutor() as threads:
        sqs = service.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        with service.http() as http:
            with block_queues(database):
                first = threads.submit(sqs.send_message, QueueUrl=url, MessageBody="hello")
                until_row(database.dsn, BLOCKED)
                headers, body = sqs_request("ListQueues")
                response = http.post("/", headers=headers, content=body)
                assert response.status_code == 503
                assert response.headers["retry-after"] == "1"
                assert response.json()["__type"].endswith("#ServiceUnavailable")
                assert_unavailable_in_cbor(put_event(http))
                response = http.get("/v1/queues")
                assert response.status_code == 503
                assert response.headers["retry-after"] == "1"
                assert response.json()["error"]["code"] == "service_unavailable"
                assert http.get("/readyz").status_code == 503
                assert http.get("/livez").status_code == 200
            assert first.result()["MessageId"]
            assert http.get("/readyz").status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1/queues", "/v1/queues/orders/messages"])
def test_a_body_beyond_6_and_a_quarter_mib_is_413(shared: Service, path: str) -> None:
    with shared.http() as http:
        assert http.post(path, content=b"x" * 6_553_601).status_code == 413


@pytest.mark.parametrize("path", ["/", "/v1/queues", "/v1/queues/orders/messages"])
def test_a_chunked_body_beyond_6_and_a_quarter_mib_is_413(shared: Service, path: str) -> None:
    with shared.http() as http:
        response = http.post(path, content=(b"x" * 65_536 for _ in range(101)))
        assert response.status_code == 413


# --- failures --------------------------------------------------------------------------------------------------------
def test_internals_do_not_reach_the_client(database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("alter function queue.list_queue_page rename to hidden")
        connection.execute(
            "alter function queue.receive_messages(text, int, int, int, int, bool, int, int, text) rename to hidden_too"
        )
    for call in (sqs.list_queues, lambda: sqs.receive_message(QueueUrl=url)):
        with pytest.raises(ClientError) as caught:
            call()
        assert caught.value.response["Error"]["Code"] == "InternalFailure"
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
        assert caught.value.response["ResponseMetadata"]["RequestId"]
        assert "function" not in str(caught.value)
    with service.http() as http:
        response = http.get("/v1/queues")
        assert response.status_code == 500
        assert response.json()["error"]["code"] == "internal_error"
        assert "list_queue_page" not in response.text
        assert response.headers["x-request-id"] in response.text


def test_readyz_says_when_the_database_cannot_be_written_to(
    database: Database, service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection, service.http() as http:
        assert http.get("/readyz").json() == {"status": "ok"}
        set_read_only(connection, database.name, "on")
        response = http.get("/readyz")
        reason = "the database is read-only, or a standby"
        assert (response.status_code, response.json()) == (503, {"status": "degraded", "reason": reason})
        monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
        assert main(["status"]) == 1
        assert f"not ready: {reason}" in capsys.readouterr().out
        assert http.get("/livez").json()["status"] == "ok"
        set_read_only(connection, database.name, "off")
        assert http.get("/readyz").status_code == 200


def test_broken_connections_are_replaced_before_anybody_notices(database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for number in range(5):
            end_sessions(connection)
            assert sqs.send_message(QueueUrl=url, MessageBody=str(number))["MessageId"]


def test_a_connection_lost_during_a_send_is_503(database: Database) -> None:
    """The service cannot know whether the database stored the message, so it leaves the decision about a retry to the
    client."""
    let_calls_wait_for_locks(database)
    with (
        running_service(database.api_dsn) as service,
        ThreadPoolExecutor() as threads,
        psycopg.connect(database.dsn) as connection,
    ):
        sqs = service.sqs()
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        connection.execute("lock table queue.queues in access exclusive mode")
        response = threads.submit(sqs.send_message, QueueUrl=url, MessageBody="hello")
        until_row(database.dsn, BLOCKED)
        end_sessions(connection)
        error = response.exception()
        assert isinstance(error, ClientError)
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 503


# --- routing ---------------------------------------------------------------------------------------------------------
def test_the_query_protocol_on_a_queue_path(shared: Service) -> None:
    with shared.http() as http:
        assert http.post("/", data={"Action": "CreateQueue", "QueueName": "invoices"}).status_code == 200
        response = http.get("/000000000000/invoices", params={"Action": "SendMessage", "MessageBody": "hello"})
        assert response.status_code == 200
        assert "<MessageId>" in response.text
        assert response.headers["content-type"] == "text/xml"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("PUT", "/", 405, "method_not_allowed"),
        ("GET", "/v1/queues/orders", 404, "queue_not_found"),
        ("PUT", "/v1/queues", 405, "method_not_allowed"),
    ],
)
def test_every_other_request_is_answered_as_the_rest_api_does(
    shared: Service, method: str, path: str, status: int, code: str
) -> None:
    with shared.http() as http:
        response = http.request(method, path)
        assert response.status_code == status
        assert response.json()["error"]["code"] == code


def test_the_root_of_the_rest_api_names_the_document(shared: Service) -> None:
    with shared.http() as http:
        responses = [http.get(path) for path in ("/v1", "/v1/")]
        assert [response.status_code for response in responses] == [200, 200]
        assert http.get(responses[0].json()["openapi"]).json()["openapi"].startswith("3.")


def test_openapi_describes_the_native_api(shared: Service) -> None:
    with shared.http() as http:
        document = http.get("/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "/v1/queues/{name}/messages" in document["paths"]


def test_headers_appear_once(shared: Service) -> None:
    with shared.http() as http:
        response: httpx.Response = http.get("/livez")
    names = [name.lower() for name, _ in response.headers.multi_items()]
    assert len(names) == len(set(names))
    assert "server" not in names


# --- long messages ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_long_messages_in_a_queue_of_short_ones_are_bounded_too(
    database: Database, service: Service, name: str
) -> None:
    """The process has only returned short messages of the queue so far. Another process sends long messages by SQL."""
    sqs, is_fifo = service.sqs(), name.endswith(".fifo")
    url = sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"} if is_fifo else {})["QueueUrl"]
    for length, responses in ((1_000, 1), (700_000, 2)):
        with psycopg.connect(database.dsn, autocommit=True) as sql:
            for number in range(10):
                body = f"{number}{'x' * length}"
                sql_calls.send(sql, sql_calls.arn_of(name), body, group=str(number) if is_fifo else None)
        received = []
        for _ in range(responses):
            messages = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["ApproximateReceiveCount"]
            )["Messages"]
            assert sum(len(message["Body"]) for message in messages) <= 4_200_000
            received += [(m["Body"][0], m["Attributes"]["ApproximateReceiveCount"]) for m in messages]
            for message in messages:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        assert sorted(received) == [(str(number), "1") for number in range(10)]


@pytest.mark.parametrize(("quotes", "count"), [(1_500, 4), (2_500, 3)])
def test_a_response_has_4_mib_and_what_stands_around_them(
    database: Database, service: Service, quotes: int, count: int
) -> None:
    """One response contains four messages of 1 MiB, or three if escapes make the messages too long
    (docs/operate/lambda_limits.md).
    """
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        for _ in range(4):
            sql_calls.send(sql, sql_calls.arn_of("orders"), '"' * (quotes // 4) + "x" * (1_048_576 - quotes // 4))
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert len(messages) == count
