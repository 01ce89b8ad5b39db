"""Tests POST /v1/deliveries/endpoints/test over a real service and endpoint: the request, the rights, and the audit."""

import base64
import hashlib
import hmac
import json
from functools import partial
from typing import Any

import httpx
import psycopg
import pytest

from penstock_web.cli import main
from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, Request
from tests.support.programs.penstock_service import Service, running_service
from tests.support.sns_signatures import verify
from tests.support.wait import wait_until
from tests.support.web.console import ConsoleClient

KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()
pytestmark = pytest.mark.settings(
    WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full"
)


def bind(http: httpx.Client, url: str) -> None:
    """Binds events of orders to this URL."""
    hook = {"protocol": "http", "endpoint": url}
    http.post("/v1/events/order.*/subscriptions", json=hook).raise_for_status()


def send_test(http: httpx.Client, url: str) -> dict[str, Any]:
    answer = http.post("/v1/deliveries/endpoints/test", json={"endpoint": url})
    assert answer.status_code == 202, answer.text
    sent: dict[str, Any] = answer.json()
    return sent


def attempts(http: httpx.Client, url: str) -> list[dict[str, Any]]:
    page = http.get("/v1/deliveries/attempts", params={"endpoint": url}).json()
    found: list[dict[str, Any]] = page["attempts"]
    return found


def arrived(receiver: Receiver, kind: str) -> Request:
    """Returns the first request whose body has this type."""

    def found() -> Request | None:
        return next((request for request in receiver.requests if json.loads(request.body).get("type") == kind), None)

    wait_until(lambda: found() is not None)
    request = found()
    assert request is not None
    return request


def test_an_event_is_signed_delivered_and_noted(http: httpx.Client, receiver: Receiver, database: Database) -> None:
    """The signature follows Standard Webhooks 1.0."""
    url = receiver.url("/204")
    bind(http, url)
    sent = send_test(http, url)
    request = arrived(receiver, "penstock.test")
    assert json.loads(request.body)["id"] == request.headers["webhook-id"] == sent["message_id"]
    signed = f"{sent['message_id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    digest = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"
    wait_until(lambda: len(attempts(http, url)) == 1)
    (attempt,) = attempts(http, url)
    assert (attempt["outcome"], attempt["status"], attempt["message_id"], attempt["delivery_id"]) == (
        "delivered", 204, sent["message_id"], sent["delivery_id"],
    )  # fmt: skip
    with psycopg.connect(database.dsn) as connection:
        noted = connection.execute(
            "select action, target, affected, error from queue.audit order by audit_id"
        ).fetchall()
    assert noted[-1:] == [("penstock:TestEndpoint", url, 1, None)]


def test_a_subscriber_of_a_topic_gets_a_signed_notification(
    service: Service, http: httpx.Client, receiver: Receiver
) -> None:
    """The signature follows "Verifying the signatures of Amazon SNS messages" (SNS Developer Guide)."""
    url, sns = receiver.url("/200"), service.client("sns")
    topic = sns.create_topic(Name="news")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url)
    assert http.post("/v1/deliveries/endpoints/test", json={"endpoint": url}).status_code == 404, "unconfirmed"
    wait_until(lambda: receiver.count("/200") == 1)
    token = json.loads(receiver.requests[0].body)["Token"]
    arn = sns.confirm_subscription(TopicArn=topic, Token=token)["SubscriptionArn"]
    sent = send_test(http, url)
    wait_until(lambda: receiver.count("/200") == 2)
    request = receiver.requests[1]
    message = json.loads(request.body)
    assert (message["Type"], message["TopicArn"], message["MessageId"]) == (
        "Notification", topic, sent["message_id"],
    )  # fmt: skip
    assert json.loads(message["Message"])["type"] == "penstock.test"
    assert request.headers["x-amz-sns-subscription-arn"] == arn
    certificate = http.get(httpx.URL(message["SigningCertURL"]).path).text
    verify(message, certificate)
    sns.close()


def test_an_answer_that_fails_is_tried_again_as_any_other(http: httpx.Client, receiver: Receiver) -> None:
    url = receiver.url("/500")
    bind(http, url)
    send_test(http, url)
    wait_until(lambda: len(attempts(http, url)) == 1)
    assert [(attempt["outcome"], attempt["status"]) for attempt in attempts(http, url)] == [("retried", 500)]


def test_the_guard_of_webhooks_is_asked(database: Database, receiver: Receiver) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        url = receiver.url("/200")
        bind(http, url)
        send_test(http, url)
        wait_until(lambda: len(attempts(http, url)) == 1)
        (attempt,) = attempts(http, url)
    assert attempt["status"] is None
    assert "not in WEBHOOK_ALLOW_CIDRS" in attempt["error"]
    assert receiver.connections == 0


def test_a_url_that_nobody_subscribed_is_unknown(http: httpx.Client, receiver: Receiver, database: Database) -> None:
    url = receiver.url("/200")
    answer = http.post("/v1/deliveries/endpoints/test", json={"endpoint": url})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "endpoint_not_found")
    bind(http, url)
    with psycopg.connect(database.dsn) as connection:
        connection.execute("update queue.binding set account_id = '111111111111'")
    assert http.post("/v1/deliveries/endpoints/test", json={"endpoint": url}).status_code == 404
    assert receiver.connections == 0


def test_too_many_deliveries_leave_no_room_for_one(http: httpx.Client, database: Database) -> None:
    bind(http, "http://127.0.0.1:1/")

    def is_refused() -> bool:
        """Within this time, the service counts deliveries again and then removes the row."""
        with psycopg.connect(database.dsn) as connection:
            connection.execute(
                "insert into queue.delivery_excess values ('000000000000', '', 1000000, now()) on conflict do nothing"
            )
        answer = http.post("/v1/deliveries/endpoints/test", json={"endpoint": "http://127.0.0.1:1/"})
        return answer.status_code == 429

    wait_until(is_refused)


def test_a_paused_endpoint_gets_it_when_it_is_resumed(http: httpx.Client, receiver: Receiver) -> None:
    url = receiver.url("/200")
    bind(http, url)
    assert http.post("/v1/deliveries/endpoints/pause", json={"endpoint": url}).status_code == 204
    send_test(http, url)
    wait_until(lambda: [row["waiting"] for row in http.get("/v1/deliveries/endpoints").json()] == [1])
    assert receiver.count("/200") == 0
    assert http.post("/v1/deliveries/endpoints/resume", json={"endpoint": url}).status_code == 204
    arrived(receiver, "penstock.test")


def says(browser: ConsoleClient, path: str, text: str) -> bool:
    return text in browser.get(path).text


def test_the_console_shows_the_answer(service: Service, http: httpx.Client, receiver: Receiver) -> None:
    browser = ConsoleClient(service)
    for path, notice in (("/200", "The endpoint answered the test event with 200"), ("/404", "answered 404")):
        url = receiver.url(path)
        bind(http, url)
        led = browser.post("/console/deliveries/test", endpoint=url)
        assert led.status_code == 303, led.text
        wait_until(partial(says, browser, led.headers["location"], notice))
    assert ">Test</button>" in browser.get("/console/deliveries").text
    assert browser.post("/console/deliveries/test", endpoint="nonsense here").status_code == 400
    assert browser.post("/console/deliveries/test", endpoint="http://127.0.0.1:1/x").status_code == 404


def test_the_command_line_says_what_was_answered(
    service: Service, http: httpx.Client, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = receiver.url("/204"), receiver.url("/404")
    bind(http, good)
    bind(http, bad)
    assert main(["webhooks", "test", good, "--endpoint", service.url]) == 0
    assert capsys.readouterr().out.startswith(f"{good} answered 204 after ")
    assert main(["webhooks", "test", bad, "--endpoint", service.url]) == 1
    assert capsys.readouterr().err == "penstock: not delivered: 404\n"
