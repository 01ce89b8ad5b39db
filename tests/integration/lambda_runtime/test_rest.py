"""Tests the REST API as a function, with every form of event and real HTTP. The shapes are in /v1/openapi.json."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

# The module is imported here before the server's threads start, because pydantic parses source, which Python 3.11
# cannot do in two threads.
import penstock_web.rest.application
import penstock_web.rest.lambda_function  # noqa: F401
from tests.support import plain_http
from tests.support.conformance.access_keys import SIGV4, new_key
from tests.support.database import Database
from tests.support.functions.server import Functions, FunctionServer, load_handler
from tests.support.local_lambda.events import EVENT_FORMS, EventForm, Request, event_of, response_of

JSON = {"content-type": "application/json"}

pytestmark = pytest.mark.parametrize("form", EVENT_FORMS)


def test_the_life_of_a_message(http: httpx.Client) -> None:
    created = http.post("/v1/queues", json={"name": "orders", "tags": {"of": "ü"}})
    assert (created.status_code, created.headers["location"]) == (201, "/v1/queues/orders")
    message = {"text": "grüße, <b>", "n": [1, None]}
    sent = http.post("/v1/queues/orders/messages", json={"message": message, "headers": {"trace": "t"}})
    assert sent.status_code == 201
    (found,) = http.get("/v1/queues/orders/messages", params={"max": 10, "vt": 60}).json()
    assert (found["id"], found["message"], found["headers"]) == (sent.json()["id"], message, {"trace": "t"})
    deleted = http.request("DELETE", "/v1/queues/orders/messages", json={"receipts": [found["receipt"]]})
    assert deleted.json() == {"deleted": [found["receipt"]]}
    assert http.get("/v1/queues/orders").json()["queue_length"] == 0
    assert http.delete("/v1/queues/orders").status_code == 204


def test_events_and_transactions(http: httpx.Client) -> None:
    http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
    http.post("/v1/events/logs.%23/subscriptions", json={"queue_name": "orders"}).raise_for_status()
    (match,) = http.get("/v1/events/logs.a/matches").json()["subscriptions"]
    assert (match["pattern"], match["queue_name"]) == ("logs.#", "orders")
    done = http.post("/v1/transactions", json={"publish": [{"routing_key": "logs.a", "message": 1}]})
    assert done.status_code == 200, done.text
    (first,) = http.get("/v1/queues/orders/messages").json()
    assert first["message"] == 1
    forward = {
        "ack": [{"queue": "orders", "receipt": first["receipt"]}],
        "send": [{"queue": "orders", "message": 2}],
    }
    assert http.post("/v1/transactions", json=forward).json()["acked"] == 1
    assert http.post("/v1/transactions", json=forward).status_code == 409
    assert [each["message"] for each in http.get("/v1/queues/orders/messages").json()] == [2]


def test_errors_have_the_one_shape(http: httpx.Client) -> None:
    answer = http.get("/v1/queues/nowhere")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "queue_not_found")
    assert http.post("/v1/queues", content=b"{", headers=JSON).json()["error"]["code"] == "bad_request"
    assert http.post("/v1/queues", content=b"{").json()["error"]["code"] == "unsupported_media_type"
    assert http.get("/v1/nothing").json()["error"]["code"] == "not_found"
    ids = {http.get("/v1/nothing").headers["x-amzn-requestid"], answer.headers["x-amzn-requestid"]}
    assert len(ids) == 2


def test_its_document_and_the_certificate(http: httpx.Client) -> None:
    assert "/v1/queues/{name}" in http.get(http.get("/v1").json()["openapi"]).json()["paths"]
    assert http.get("/v1/cert").status_code in (200, 404)


def test_without_a_database_it_is_503(form: Any) -> None:
    handler = load_handler("rest", {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1"})
    answer = response_of(handler(event_of(form, Request("GET", "/v1/queues")), None))
    assert (answer.status, answer.header("retry-after")) == (503, "1")
    assert json.loads(answer.body)["error"]["code"] == "service_unavailable"


def test_a_key_is_asked_for(database: Database, form: Any) -> None:
    variables = {"QUEUE_ACCESS": "presence"}
    with Functions(database.pooled_dsn, variables) as functions:
        answer = response_of(functions.invoke("rest", event_of(form, Request("GET", "/v1/queues"))))
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (403, "unauthorized")


# --- console function ------------------------------------------------------------------------------------------------
# Tests the console as the function `rest`: pages, forms and sessions with events of API Gateway and of a load
# balancer.


@pytest.fixture
def console(database: Database, form: EventForm) -> Iterator[httpx.Client]:
    with (
        FunctionServer(database.pooled_dsn, form, SIGV4) as deployment,
        plain_http.Client(base_url=deployment.endpoint_url) as console,
    ):
        yield console


def test_sign_in_make_a_queue_and_look(console: httpx.Client, database: Database) -> None:
    assert console.get("/console/queues").headers["location"].startswith("/console/sign-in?")
    key_id, secret = new_key(database, "000000000000")
    origin = {"origin": str(console.base_url).rstrip("/")}
    answer = console.post("/console/sign-in", data={"key": key_id, "secret": secret}, headers=origin)
    assert answer.status_code == 303, answer.text
    assert (
        console.post("/console/queues", data={"name": "made"}, headers={"origin": "null"}).status_code == 403
    )
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
        answer = console.get(f"/console/{page}")
        assert answer.status_code == 200, (page, answer.text)
    assert "QUEUE_LAMBDA_MAPPINGS is off" in console.get("/console/mappings").text
    system = console.get("/console/system").text
    assert "<dt>connections, of at most</dt>" in system
    assert "A function has one connection and no pool." in system


def test_a_named_stage_is_no_part_of_the_path(database: Database, form: EventForm) -> None:
    """`rawPath` has every stage of an HTTP API except $default, and function URLs have the same form of events."""
    version_2 = form in {"http_api", "function_url"}
    event = event_of(form, Request("GET", "/prod/v1/queues" if version_2 else "/v1/queues"))
    event["requestContext"]["stage"] = "prod"
    with Functions(database.pooled_dsn) as functions:
        assert response_of(functions.invoke("rest", event)).status == 200
