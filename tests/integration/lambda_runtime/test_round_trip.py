"""Tests the REST API as a function, with every event format and real HTTP. /v1/openapi.json defines the responses.

Also tests the life of a message through the functions with every event format, both protocols, real HTTP and
PostgreSQL.
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from tests.support import client_setup
from tests.support.conformance.access_keys import SIGV4, new_key
from tests.support.database import Database
from tests.support.functions.server import Functions, FunctionServer, load_handler
from tests.support.local_lambda.events import EVENT_FORMS, EventForm, Request, event_of, response_of

# The tests import this module before the server's threads start, because pydantic parses source code, which two threads
# cannot do at the same time in Python 3.11.

JSON = {"content-type": "application/json"}

pytestmark = pytest.mark.parametrize("form", EVENT_FORMS, scope="module")


def test_the_life_of_a_message(http: httpx.Client) -> None:
    created = http.post("/v1/queues", json={"name": "life", "tags": {"of": "ü"}})
    assert (created.status_code, created.headers["location"]) == (201, "/v1/queues/life")
    message = {"text": "grüße, <b>", "n": [1, None]}
    sent = http.post("/v1/queues/life/messages", json={"message": message, "headers": {"trace": "t"}})
    assert sent.status_code == 201
    (found,) = http.get("/v1/queues/life/messages", params={"max": 10, "vt": 60}).json()
    assert (found["id"], found["message"], found["headers"]) == (sent.json()["id"], message, {"trace": "t"})
    deleted = http.request("DELETE", "/v1/queues/life/messages", json={"receipts": [found["receipt"]]})
    assert deleted.json() == {"deleted": [found["receipt"]]}
    assert http.get("/v1/queues/life").json()["queue_length"] == 0
    assert http.delete("/v1/queues/life").status_code == 204


def test_events_and_transactions(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "bound"}).raise_for_status()
    http.post("/v1/events/logs.%23/subscriptions", json={"queue_name": "bound"}).raise_for_status()
    (match,) = http.get("/v1/events/logs.a/matches").json()["subscriptions"]
    assert (match["pattern"], match["queue_name"]) == ("logs.#", "bound")
    done = http.post("/v1/transactions", json={"publish": [{"routing_key": "logs.a", "message": 1}]})
    assert done.status_code == 200, done.text
    (first,) = http.get("/v1/queues/bound/messages").json()
    assert first["message"] == 1
    forward = {"ack": [{"queue": "bound", "receipt": first["receipt"]}], "send": [{"queue": "bound", "message": 2}]}
    assert http.post("/v1/transactions", json=forward).json()["acked"] == 1
    assert http.post("/v1/transactions", json=forward).status_code == 409
    assert [each["message"] for each in http.get("/v1/queues/bound/messages").json()] == [2]


def test_errors_have_the_one_shape(http: httpx.Client) -> None:
    response = http.get("/v1/queues/nowhere")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "queue_not_found")
    assert http.post("/v1/queues", content=b"{", headers=JSON).json()["error"]["code"] == "bad_request"
    assert http.post("/v1/queues", content=b"{").json()["error"]["code"] == "unsupported_media_type"
    assert http.get("/v1/nothing").json()["error"]["code"] == "not_found"
    ids = {http.get("/v1/nothing").headers["x-amzn-requestid"], response.headers["x-amzn-requestid"]}
    assert len(ids) == 2


@pytest.mark.parametrize("deployment", ["psycopg"], indirect=True)  # Neither depends on the driver.
def test_the_openapi_document_and_the_certificate_are_served(http: httpx.Client) -> None:
    assert "/v1/queues/{name}" in http.get(http.get("/v1").json()["openapi"]).json()["paths"]
    assert http.get("/v1/cert").status_code in (200, 404)


def test_a_path_with_percent_signs_is_the_decoded_path(http: httpx.Client) -> None:
    """An encoded letter in a path is equal to the letter (RFC 3986, 6.2.2.2)."""
    http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
    http.follow_redirects = True
    for path in ("/%76%31/queues", "/v%31/queue%73", "/v1/%71ueues"):
        assert http.get(path, params={"prefix": "or"}).json() == http.get("/v1/queues", params={"prefix": "or"}).json()
    made = http.post("/%76%31/queues", json={"name": "others"})
    assert (made.status_code, made.json()["name"]) == (201, "others")
    assert http.get("/%761/nothing%0d%0ax:%20y").json()["error"]["code"] == "not_found"
    send = {"Action": "SendMessage", "MessageBody": "m"}
    assert http.post("/000000000000/%6frders", data=send).status_code == 200
    assert http.get("/%73chedules/nowhere").json()["Message"] == http.get("/schedules/nowhere").json()["Message"]


def test_without_a_database_it_is_503(form: Any) -> None:
    handler = load_handler("rest", {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1"})
    response = response_of(handler(event_of(form, Request("GET", "/v1/queues")), None))
    assert (response.status, response.header("retry-after")) == (503, "1")
    assert json.loads(response.body)["error"]["code"] == "service_unavailable"


def test_a_key_is_asked_for(shared_database: Database, form: Any) -> None:
    variables = {"QUEUE_ACCESS": "presence"}
    with Functions(shared_database.pooled_dsn, variables) as functions:
        response = response_of(functions.invoke("rest", event_of(form, Request("GET", "/v1/queues"))))
    assert (response.status, json.loads(response.body)["error"]["code"]) == (403, "unauthorized")


# --- console function ------------------------------------------------------------------------------------------------
# Tests the console in the function `rest`: pages, forms and sessions with events from API Gateway and from a load
# balancer.


@pytest.fixture
def console(database: Database, form: EventForm) -> Iterator[httpx.Client]:
    with (
        FunctionServer(database.pooled_dsn, form, SIGV4) as deployment,
        client_setup.Client(base_url=deployment.endpoint_url) as console,
    ):
        yield console


def test_sign_in_make_a_queue_and_look(console: httpx.Client, database: Database) -> None:
    assert console.get("/console/queues").headers["location"].startswith("/console/sign-in?")
    key_id, secret = new_key(database, "000000000000")
    origin = {"origin": str(console.base_url).rstrip("/")}
    response = console.post("/console/sign-in", data={"key": key_id, "secret": secret}, headers=origin)
    assert response.status_code == 303, response.text
    assert console.post("/console/queues", data={"name": "made"}, headers={"origin": "null"}).status_code == 403
    assert console.post("/console/queues", data={"name": "made"}, headers=origin).status_code == 303
    body = {"body": "gr\u00fc\u00dfe, <b>"}
    assert console.post("/console/queues/made/send", data=body, headers=origin).status_code == 303
    text = console.get("/console/queues/made/messages", headers={"accept-encoding": "gzip"}).text
    assert "gr\u00fc\u00dfe, &lt;b&gt;" in text
    assert console.get("/console/queues").status_code == console.get("/console").status_code == 200
    style = console.get("/console/static/console.css", headers={"accept-encoding": "gzip"})
    assert ":root" in style.text
    assert console.get("/console/none").status_code == 404
    for page in ("topics", "schedules", "schedules?view=calendar", "deliveries", "audit", "keys"):
        response = console.get(f"/console/{page}")
        assert response.status_code == 200, (page, response.text)
    assert "QUEUE_LAMBDA_MAPPINGS is off" in console.get("/console/mappings").text
    system = console.get("/console/system").text
    assert "<dt>connections, of at most</dt>" in system
    assert "A Lambda function has one connection and no pool." in system


def test_a_named_stage_is_no_part_of_the_path(shared_database: Database, form: EventForm) -> None:
    """`rawPath` begins with the stage of an HTTP API, unless the stage is $default. Function URLs use the same event
    format."""
    version_2 = form in {"http_api", "function_url"}
    event = event_of(form, Request("GET", "/prod/v1/queues" if version_2 else "/v1/queues"))
    event["requestContext"]["stage"] = "prod"
    with Functions(shared_database.pooled_dsn) as functions:
        assert response_of(functions.invoke("rest", event)).status == 200


BINARY = bytes(range(256))
TEXT = "grüße, <b>&amp;</b> = 100 % + \N{SNOWMAN}"


def test_a_message_passes_through_the_functions_in_json(sqs: Any, deployment: FunctionServer) -> None:
    url = sqs.create_queue(QueueName="by-json")["QueueUrl"]
    assert url == f"{deployment.endpoint_url}/000000000000/by-json"
    sent = sqs.send_message(
        QueueUrl=url, MessageBody=TEXT, MessageAttributes={"picture": {"DataType": "Binary", "BinaryValue": BINARY}}
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
    """Sends requests of the Query protocol only."""

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
    with client_setup.Client() as http:
        yield Query(http, deployment.endpoint_url)


def element(response: httpx.Response, name: str) -> str:
    """Returns the text of the only element with this name in a successful response."""
    assert (response.status_code, response.headers["content-type"]) == (200, "text/xml"), response.text
    (text,) = re.findall(f"<{name}>(.*?)</{name}>", response.text, re.DOTALL)
    return unescape(text)


def test_a_message_passes_through_the_functions_in_query(query: Query) -> None:
    url = element(query.post(query.endpoint_url, Action="CreateQueue", QueueName="by-query"), "QueueUrl")
    assert url == f"{query.endpoint_url}/000000000000/by-query"
    attribute = {
        "MessageAttribute.1.Name": "picture",
        "MessageAttribute.1.Value.DataType": "Binary",
        "MessageAttribute.1.Value.BinaryValue": "AP+A/w==",
    }
    # The request uses the path of the queue, so no parameter names the queue.
    sent = element(query.post(url, Action="SendMessage", MessageBody=TEXT, **attribute), "MessageId")
    received = query.get(url, Action="ReceiveMessage", **{"MessageAttributeName.1": "All"})
    assert element(received, "MessageId") == sent
    assert element(received, "Body") == TEXT
    assert element(received, "BinaryValue") == "AP+A/w=="
    handle = element(received, "ReceiptHandle")
    element(query.post(url, Action="ChangeMessageVisibility", ReceiptHandle=handle, VisibilityTimeout="0"), "RequestId")
    again = query.post(query.endpoint_url, Action="ReceiveMessage", QueueUrl=url)
    assert element(again, "MessageId") == sent
    element(query.get(url, Action="DeleteMessage", ReceiptHandle=element(again, "ReceiptHandle")), "RequestId")
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
