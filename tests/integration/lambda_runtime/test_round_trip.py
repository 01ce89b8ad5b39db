"""Tests the life of a message through the functions: every form of event, both protocols, real HTTP, real
PostgreSQL."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from tests.support import plain_http
from tests.support.functions.server import FunctionServer
from tests.support.local_lambda.events import EVENT_FORMS

pytestmark = pytest.mark.parametrize("form", EVENT_FORMS)

BINARY = bytes(range(256))
TEXT = "grüße, <b>&amp;</b> = 100 % + \N{SNOWMAN}"


def test_json(sqs: Any, deployment: FunctionServer) -> None:
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    assert url == f"{deployment.endpoint_url}/000000000000/orders"
    sent = sqs.send_message(
        QueueUrl=url,
        MessageBody=TEXT,
        MessageAttributes={"picture": {"DataType": "Binary", "BinaryValue": BINARY}},
    )
    (message,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], TEXT)
    assert message["MessageAttributes"]["picture"] == {"DataType": "Binary", "BinaryValue": BINARY}
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    (again,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert again["MessageId"] == sent["MessageId"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"])
    counts = sqs.get_queue_attributes(
        QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    )["Attributes"]
    assert set(counts.values()) == {"0"}


def test_json_errors_are_typed(sqs: Any) -> None:
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as caught:
        sqs.get_queue_url(QueueName="nowhere")
    assert caught.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_concurrent_requests(sqs: Any) -> None:
    url = sqs.create_queue(QueueName="busy")["QueueUrl"]

    def send(number: int) -> str:
        return str(sqs.send_message(QueueUrl=url, MessageBody=str(number))["MessageId"])

    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(send, range(32)))
    received = [
        message["MessageId"]
        for _ in range(32)
        for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    ]
    assert sorted(received) == sorted(ids)


class Query:
    """A client that knows only the Query protocol."""

    def __init__(self, http: httpx.Client, endpoint_url: str) -> None:
        self.http = http
        self.endpoint_url = endpoint_url

    def post(self, url: str, **parameters: str) -> httpx.Response:
        """Sends parameters in a form body."""
        return self.http.post(url, content=urlencode(parameters).encode(), headers=FORM)

    def get(self, url: str, **parameters: str) -> httpx.Response:
        """Sends parameters in the query string."""
        return self.http.get(f"{url}?{urlencode(parameters)}")


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def query(deployment: FunctionServer) -> Iterator[Query]:
    with plain_http.Client() as http:
        yield Query(http, deployment.endpoint_url)


def element(response: httpx.Response, name: str) -> str:
    """Returns the text of the only element with this name in a successful answer."""
    assert (response.status_code, response.headers["content-type"]) == (200, "text/xml"), response.text
    (text,) = re.findall(f"<{name}>(.*?)</{name}>", response.text, re.DOTALL)
    return unescape(text)


def test_query(query: Query) -> None:
    url = element(query.post(query.endpoint_url, Action="CreateQueue", QueueName="orders"), "QueueUrl")
    assert url == f"{query.endpoint_url}/000000000000/orders"
    attribute = {
        "MessageAttribute.1.Name": "picture",
        "MessageAttribute.1.Value.DataType": "Binary",
        "MessageAttribute.1.Value.BinaryValue": "AP+A/w==",
    }
    # The request uses the queue's path, so no parameter names the queue.
    sent = element(query.post(url, Action="SendMessage", MessageBody=TEXT, **attribute), "MessageId")
    received = query.get(url, Action="ReceiveMessage", **{"MessageAttributeName.1": "All"})
    assert element(received, "MessageId") == sent
    assert element(received, "Body") == TEXT
    assert element(received, "BinaryValue") == "AP+A/w=="
    handle = element(received, "ReceiptHandle")
    element(
        query.post(url, Action="ChangeMessageVisibility", ReceiptHandle=handle, VisibilityTimeout="0"),
        "RequestId",
    )
    again = query.post(query.endpoint_url, Action="ReceiveMessage", QueueUrl=url)
    assert element(again, "MessageId") == sent
    element(
        query.get(url, Action="DeleteMessage", ReceiptHandle=element(again, "ReceiptHandle")), "RequestId"
    )
    counts = query.get(url, Action="GetQueueAttributes", **{"AttributeName.1": "ApproximateNumberOfMessages"})
    assert element(counts, "Value") == "0"


def test_query_errors(query: Query) -> None:
    response = query.get(f"{query.endpoint_url}/000000000000/nowhere", Action="PurgeQueue")
    assert (response.status_code, response.headers["content-type"]) == (400, "text/xml")
    assert "<Code>AWS.SimpleQueueService.NonExistentQueue</Code>" in response.text
    assert f"<RequestId>{response.headers['x-amzn-requestid']}</RequestId>" in response.text


def test_queue_url_is_reachable_by_this_caller(query: Query) -> None:
    url = query.endpoint_url.replace("127.0.0.1", "localhost")
    queue_url = element(query.post(url, Action="CreateQueue", QueueName="q"), "QueueUrl")
    assert urlsplit(queue_url).netloc == urlsplit(url).netloc
