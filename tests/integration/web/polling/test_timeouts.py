"""A function may not take longer than its messages are invisible.

Source: "Creating and configuring an Amazon SQS event source mapping",
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
"""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from penstock.aws.function_arn import parse_function
from penstock.delivery.functions.configuration import read_timeout
from tests.support.mappings.harness import Harness


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
    assert refused(harness, "update_event_source_mapping", UUID=mapping, Enabled=True).startswith(
        "Queue visib"
    )


def test_the_rest_api_says_it_too(harness: Harness) -> None:
    url, _ = harness.queue(VisibilityTimeout="10")
    slow = harness.function(lambda _: None)
    harness.functions.timeouts[slow] = 11
    with harness.service.http() as http:
        answer = http.post("/v1/mappings", json={"queue": url.rpartition("/")[2], "function": slow})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("Queue visibility timeout: 10 seconds is less than")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnot json!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
    ],
)
def test_an_endpoint_that_says_nothing_of_use(answer: bytes) -> None:
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            assert read_timeout(f"http://127.0.0.1:{unused.getsockname()[1]}", function) is None

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert read_timeout(address, function) is None
        thread.join()
