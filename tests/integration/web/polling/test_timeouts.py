"""Tests that a mapping loses no message and that groups keep their order while the worker is killed repeatedly during
invocations.

Tests that a function ends before its messages become visible again.

The source is "Creating and configuring an Amazon SQS event source mapping",
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html

Also tests URLs that respond later than the visibility timeout of the queue. Mappings to URLs are an extension of
Penstock. On AWS, every function has a timeout.

The credentials of the process sign the invocations.

The sources are "Signature Version 4 for API requests" (AWS IAM User Guide), "Credentials" (boto3 documentation),
https://boto3.amazonaws.com/v1/documentation/api/latest/guide/credentials.html, and "Container credential provider" (AWS
SDKs and Tools Reference Guide), https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html"""

import json
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.access.sigv4 import parse, verify
from penstock.aws.function_arn import parse_function
from penstock.delivery.functions.configuration import UNKNOWN, read_function_state
from penstock.errors import AwsError
from penstock.http import HttpRequest
from tests.support.database import Database
from tests.support.mappings.harness import Functions, Harness, Invocation, Refusal, running_functions
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import MAX_SECONDS, wait_until

KILLS = 5
SENDERS = 4


@dataclass(frozen=True)
class Size:
    """Holds the number of messages, the number of groups, and the queue's visibility timeout in seconds."""

    messages: int
    groups: int
    timeout: int

    def body(self, n: int) -> str:
        """Returns the group of the n-th message and the message's number within the group."""
        return f"g{n % self.groups}-{n // self.groups}"

    def is_poison(self, body: str) -> bool:
        """Three percent of the messages always fail."""
        group, number = body.removeprefix("g").split("-")
        return (int(number) * self.groups + int(group)) % 33 == 32


class Ledger:
    """Imitates a function, and records the invocations and the handled messages. `waiting` counts the invocations that
    `pause` blocks.
    """

    def __init__(self, size: Size) -> None:
        self.handled: dict[str, list[int]] = defaultdict(list)
        self.came: Counter[str] = Counter()
        self.waiting: list[list[str]] = []
        self._size = size
        self._goes_on = True
        self._changed = threading.Condition()

    def __call__(self, event: Any) -> Any:
        failures: list[str] = []
        stopped: set[str] = set()
        bodies = [record["body"] for record in event["Records"]]
        with self._changed:
            for record in event["Records"]:
                group, number = record["body"].split("-")
                if self._size.is_poison(record["body"]) or group in stopped:
                    stopped.update([group] if ".fifo" in record["eventSourceARN"] else [])
                    failures.append(record["messageId"])
                else:
                    self.handled[group].append(int(number))
            self.came.update(bodies)
            self.waiting.append(bodies)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._goes_on, MAX_SECONDS)
            self.waiting.remove(bodies)
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failures]}

    def until_came(self, messages: int) -> None:
        """Waits for the given number of first or repeated deliveries."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.came.total() >= messages, MAX_SECONDS)

    def pause(self) -> list[str]:
        """Returns the messages of the invocations that wait for `go_on`."""
        with self._changed:
            self._goes_on = False
            assert self._changed.wait_for(lambda: bool(self.waiting), MAX_SECONDS)
            return [body for bodies in self.waiting for body in bodies]

    def go_on(self) -> None:
        with self._changed:
            self._goes_on = True
            self._changed.notify_all()


def kill(service: Service, ledger: Ledger, dsn: str) -> Counter[str]:
    """Returns the messages of the running invocations with their numbers of deliveries up to now. The worker never
    deletes the returned messages.

    The test ends the sessions of the process, so that other processes do not wait until PostgreSQL detects the death of
    the process.
    """
    held = ledger.pause()
    before = Counter({body: ledger.came[body] for body in held})
    service.process.kill()
    service.process.join()
    ledger.go_on()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("update queue.poller set alive_until = clock_timestamp()")
    return before


def prepare(service: Service, size: Size, fifo: bool) -> tuple[str, str]:
    """Returns two URLs: the URL of a mapped queue that contains all messages, and the URL of its dead-letter queue."""
    sqs = service.sqs()
    suffix, kind = (".fifo", {"FifoQueue": "true", "ContentBasedDeduplication": "true"}) if fifo else ("", {})
    dead_url = sqs.create_queue(QueueName=f"dead{suffix}", Attributes=kind)["QueueUrl"]
    name = ["QueueArn"]
    dead = sqs.get_queue_attributes(QueueUrl=dead_url, AttributeNames=name)["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 4})
    attributes = {**kind, "VisibilityTimeout": str(size.timeout), "RedrivePolicy": policy}
    url = sqs.create_queue(QueueName=f"q{suffix}", Attributes=attributes)["QueueUrl"]
    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(partial(send, sqs, url, size, fifo), range(SENDERS)))
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=name)["Attributes"]["QueueArn"]
    service.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="f", FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": 8},
    )  # fmt: skip
    return url, dead_url


def send(sqs: Any, url: str, size: Size, fifo: bool, sender: int) -> None:
    """Returns the messages of every fourth group, in order."""
    numbers = [n for n in range(size.messages) if n % size.groups % SENDERS == sender]
    for start in range(0, len(numbers), 10):
        entries = [
            {"Id": str(n), "MessageBody": size.body(n)}
            | ({"MessageGroupId": size.body(n).partition("-")[0]} if fifo else {})
            for n in numbers[start : start + 10]
        ]
        assert "Failed" not in sqs.send_message_batch(QueueUrl=url, Entries=entries)


def depth(sqs: Any, url: str) -> int:
    """Returns the number of visible and invisible messages in the queue."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(int(n) for n in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values())


def until_empty(sqs: Any, url: str) -> None:
    """Waits while the number of messages in the queue falls."""
    while left := depth(sqs, url):
        wait_until(lambda left=left: depth(sqs, url) < left)  # type: ignore[misc]


def drained(sqs: Any, url: str) -> Iterator[str]:
    """Receives and deletes all messages of a queue and returns their bodies."""
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        yield from (message["Body"] for message in messages)
        entries = [{"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
@pytest.mark.parametrize(
    "size", [Size(600, 20, 1), pytest.param(Size(100_000, 1_000, 5), marks=pytest.mark.slow)], ids=["600", "100000"]
)
def test_every_message_is_handled_or_a_dead_letter(database: Database, size: Size, fifo: bool) -> None:
    """Five kills interrupt running invocations. The worker had not deleted the messages, so a worker delivers them
    again.
    """
    ledger, url, dead_url = Ledger(size), "", ""
    kills: list[Counter[str]] = []
    with running_functions(f=ledger) as functions:
        settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        for round_number in range(KILLS):
            with running_service(database.api_dsn, **settings) as service:
                if round_number == 0:
                    url, dead_url = prepare(service, size, fifo)
                ledger.until_came(round_number * size.messages // (KILLS + 1))
                kills.append(kill(service, ledger, database.dsn))
        with running_service(database.api_dsn, **settings) as service:
            sqs = service.sqs()
            until_empty(sqs, url)
            dead = set(drained(sqs, dead_url))
        assert functions.most_at_once <= 8
    everything = {size.body(n) for n in range(size.messages)}
    poison = set(filter(size.is_poison, everything))
    handled = {f"{group}-{number}" for group, numbers in ledger.handled.items() for number in numbers}
    assert handled | dead == everything
    assert poison <= dead
    assert all(kills)
    for held in kills:
        assert {body for body, count in held.items() if ledger.came[body] == count} <= dead
    if fifo:
        for numbers in ledger.handled.values():
            first = list(dict.fromkeys(numbers))
            assert first == sorted(first)


def refused(harness: Harness, call: str, **members: Any) -> str:
    with pytest.raises(harness.client.exceptions.InvalidParameterValueException) as refusal:
        getattr(harness.client, call)(**members)
    return str(refusal.value.response["Error"]["Message"])


def test_a_mapping_whose_function_may_take_longer_is_refused(harness: Harness) -> None:
    _, arn = harness.queue(VisibilityTimeout="30")
    _, patient = harness.queue(VisibilityTimeout="60")
    slow, quick = harness.function(lambda _: None), harness.function(lambda _: None)
    harness.functions.timeouts |= {slow: 60, quick: 30}
    message = "Queue visibility timeout: 30 seconds is less than Function timeout: 60 seconds"
    assert refused(harness, "create_event_source_mapping", EventSourceArn=arn, FunctionName=slow) == message
    assert harness.client.list_event_source_mappings(EventSourceArn=arn)["EventSourceMappings"] == []
    harness.map(patient, slow)
    mapping = harness.map(arn, quick)
    assert refused(harness, "update_event_source_mapping", UUID=mapping, FunctionName=slow) == message
    assert harness.get(mapping)["FunctionArn"].endswith(quick)


def test_a_mapping_that_would_be_refused_by_now_can_be_stopped(harness: Harness) -> None:
    _, arn = harness.queue(VisibilityTimeout="30")
    name = harness.function(lambda _: None)
    mapping = harness.map(arn, name)
    harness.functions.timeouts[name] = 60
    harness.client.update_event_source_mapping(UUID=mapping, Enabled=False)
    assert harness.get(mapping)["State"] == "Disabled"
    assert refused(harness, "update_event_source_mapping", UUID=mapping, Enabled=True).startswith("Queue visib")


def test_the_rest_api_says_it_too(harness: Harness) -> None:
    url, _ = harness.queue(VisibilityTimeout="10")
    slow = harness.function(lambda _: None)
    harness.functions.timeouts[slow] = 11
    with harness.service.http() as http:
        response = http.post("/v1/mappings", json={"queue": url.rpartition("/")[2], "function": slow})
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("Queue visibility timeout: 10 seconds is less than")


@pytest.mark.parametrize(
    "response",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnot json!", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"],
)
def test_an_endpoint_that_says_nothing_of_use(response: bytes) -> None:
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            assert read_function_state(f"http://127.0.0.1:{unused.getsockname()[1]}", function) == UNKNOWN

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(response)

        thread = threading.Thread(target=serve)
        thread.start()
        assert read_function_state(address, function) == UNKNOWN
        thread.join()


HIDDEN_SECONDS = """select min(extract(epoch from m.visible_at - clock_timestamp()))
    from queue.live_message m join queue.queues q using (queue_id) where q.name = %s and m.state = 'in_flight'"""


def hidden_seconds(harness: Harness, arn: str) -> float:
    """Sets the queue's visibility timeout."""
    with psycopg.connect(harness.dsn) as db:
        row = db.execute(HIDDEN_SECONDS, (arn.split(":")[5],)).fetchone()
    return float(row[0]) if row is not None and row[0] is not None else 0.0


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_messages_stay_invisible_while_a_url_handles_them(harness: Harness, fifo: bool) -> None:
    """The URL answers after the visibility timeout of the queue, which is one second."""
    goes_on = threading.Event()

    def waits(_: Any) -> None:
        assert goes_on.wait(60)

    url, arn = harness.queue(VisibilityTimeout="1", **({"FifoQueue": "true"} if fifo else {}))
    path = f"/slow-{fifo}"
    harness.functions.functions[path] = waits
    harness.map(arn, harness.functions.url + path)
    for body in ("a", "b"):
        members = {"MessageGroupId": "g", "MessageDeduplicationId": body} if fifo else {}
        harness.sqs.send_message(QueueUrl=url, MessageBody=body, **members)
    harness.functions.wait(lambda: bool(harness.invocations(path)))
    wait_until(lambda: hidden_seconds(harness, arn) > 20)
    goes_on.set()
    harness.until_empty(url)
    assert sorted(harness.seen(path)) == ["a", "b"]


def test_a_message_that_a_url_refuses_returns_after_the_queues_timeout(harness: Harness) -> None:
    """The invocation ends before its messages become visible again."""
    began, goes_on = threading.Event(), threading.Event()

    def refuses_once(_: Any) -> None:
        if not began.is_set():
            began.set()
            assert goes_on.wait(60)
            raise Refusal(500, "error")

    url, arn = harness.queue(VisibilityTimeout="2")
    harness.functions.functions["/refuses"] = refuses_once
    harness.map(arn, harness.functions.url + "/refuses")
    harness.sqs.send_message(QueueUrl=url, MessageBody="m")
    assert began.wait(30)
    wait_until(lambda: hidden_seconds(harness, arn) > 20)
    goes_on.set()
    wait_until(lambda: hidden_seconds(harness, arn) <= 2)
    harness.until_empty(url)
    assert harness.seen("/refuses") == ["m", "m"]


KEY_ID, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "session-token"
ALONE = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/none", "AWS_CONFIG_FILE": "/none"}


def ignore(_: Any) -> None:
    """Implements a function that succeeds."""


def check(invocation: Invocation) -> None:
    """The server refuses a request without a signature for its service and region, as Lambda does."""
    address = urlsplit(invocation.target)
    headers = {name.encode(): value.encode() for name, value in invocation.headers.items()}
    http = HttpRequest("POST", address.path, address.query.encode(), headers, invocation.body)
    try:
        claim = parse(http)
        verify(http, claim, SECRET, time.time())
    except AwsError as error:
        raise Refusal(403, type(error).__name__) from error
    if (claim.access_key_id, claim.region, claim.service) != (KEY_ID, "us-east-1", "lambda"):
        raise Refusal(403, "InvalidSignatureException")


def check_session(invocation: Invocation) -> None:
    """Checks credentials with a token, which Penstock's verifier refuses. botocore's signer computes the signature."""
    headers = invocation.headers
    signed = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    url = f"http://{headers['host']}{invocation.target}"
    request = AWSRequest("POST", url, data=invocation.body, headers={name: headers[name] for name in signed})
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(KEY_ID, SECRET, TOKEN), "lambda", "us-east-1")
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    if "x-amz-security-token" not in signed or not headers["authorization"].endswith(f"Signature={signature}"):
        raise Refusal(403, "InvalidSignatureException")


def last_result(database: Database, functions: Functions, **credentials: str) -> str:
    """Invokes the function of a mapping by a name that contains an alias, and returns the result."""
    settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url, **ALONE, **credentials}
    with running_service(database.api_dsn, **settings) as service:
        sqs, client = service.sqs(), service.client("lambda")
        url = sqs.create_queue(QueueName="signed")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="ä")
        made = client.create_event_source_mapping(
            EventSourceArn="arn:aws:sqs:us-east-1:000000000000:signed", FunctionName="f:live"
        )

        def result() -> str:
            return str(httpx.get(f"{service.url}/v1/mappings/{made['UUID']}").json()["last_result"])

        wait_until(lambda: result() != "No records processed")
        return result()


def test_credentials_of_the_environment(database: Database) -> None:
    with running_functions(f=ignore) as functions:
        functions.authorize = check
        keys = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
        assert last_result(database, functions, **keys) == "OK"


@contextmanager
def container_role() -> Iterator[str]:
    """Yields the address at which a container receives the credentials of its role."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({
                "AccessKeyId": KEY_ID, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": "2100-01-01T00:00:00Z",
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Writes nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/role"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_role_of_a_container(database: Database) -> None:
    with running_functions(f=ignore) as functions, container_role() as address:
        functions.authorize = check_session
        assert last_result(database, functions, AWS_CONTAINER_CREDENTIALS_FULL_URI=address) == "OK"
