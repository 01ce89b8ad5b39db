"""Tests /v1/deliveries on a real service while the worker delivers. Shapes: docs/reference/webhooks.md."""

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
from tests.support.delivery.rows import deliveries, publish
from tests.support.programs.penstock_service import Service, running_service
from tests.support.sns_signatures import verify
from tests.support.sql.calls import Connection
from tests.support.wait import wait_until
from tests.support.web.console import ConsoleClient


def listed(http: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    response = http.get("/v1/deliveries", params=query)
    assert response.status_code == 200, response.text
    deliveries: list[dict[str, Any]] = response.json()
    return deliveries


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_given_up_listed_tried_again_and_delivered(http: httpx.Client, db: Connection, receiver: Receiver) -> None:
    message_id = publish(db, receiver.url("/404"), copies=3)
    db.execute("select queue.wake_deliveries()")
    wait_until(lambda: [row.state for row in deliveries(db)] == ["exhausted"] * 3)
    page = listed(http, state="exhausted", limit=2)
    assert [delivery["attempts"] for delivery in page] == [1, 1]
    assert set(page[0]) == {
        "id", "state", "kind", "message_id", "topic_arn", "subscription_arn", "endpoint", "attempts", "under_way",
        "last_status", "last_error", "created_at",
    }  # fmt: skip
    assert (page[0]["message_id"], page[0]["last_status"]) == (str(message_id), 404)
    (last,) = listed(http, state="exhausted", after=page[1]["id"])
    receiver.responses["/404"] = receiver.responses["/200"]
    response = http.post(f"/v1/deliveries/{last['id']}/retry")
    assert (response.status_code, response.json()) == (202, {"id": last["id"]})
    wait_until(lambda: len(deliveries(db)) == 2)
    assert listed(http, state="pending") == []


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_a_delivery_that_will_be_repeated_has_a_time(http: httpx.Client, db: Connection, receiver: Receiver) -> None:
    publish(db, receiver.url("/500"), kind="event", raw=True)
    wait_until(lambda: [row.attempts for row in deliveries(db)] == [1])
    (delivery,) = listed(http)
    assert (delivery["state"], delivery["kind"], delivery["under_way"]) == ("pending", "event", False)
    assert delivery["next_attempt_at"] > delivery["created_at"]


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_a_dead_letter_without_its_queue_is_counted_and_listed(http: httpx.Client, db: Connection) -> None:
    """AWS counts failed moves to a dead-letter queue in NumberOfNotificationsFailedToRedriveToDlq ("Amazon SNS
    metrics")."""
    region = "arn:aws:{}:us-east-1:000000000000:{}".format
    for name in ("target", "letters"):
        http.post("/v1/queues", json={"name": name}).raise_for_status()
    for form in (
        {"Action": "CreateTopic", "Name": "lost"},
        {
            "Action": "Subscribe", "TopicArn": region("sns", "lost"), "Protocol": "sqs",
            "Endpoint": region("sqs", "target"), "Attributes.entry.1.key": "RedrivePolicy",
            "Attributes.entry.1.value": json.dumps({"deadLetterTargetArn": region("sqs", "letters")}),
        },
    ):  # fmt: skip
        http.post("/", data={**form, "Version": "2010-03-31"}).raise_for_status()
    for name in ("target", "letters"):
        http.delete(f"/v1/queues/{name}").raise_for_status()
    publishing = {"Action": "Publish", "Version": "2010-03-31", "TopicArn": region("sns", "lost"), "Message": "m"}
    http.post("/", data=publishing).raise_for_status()
    wait_until(lambda: [row.state for row in deliveries(db)] == ["exhausted"])
    (delivery,) = listed(http, state="exhausted")
    assert (delivery["endpoint"], delivery["topic_arn"]) == (region("sqs", "target"), region("sns", "lost"))
    assert delivery["last_error"] == (
        "the queue does not exist, or cannot take the message; dead-letter queue: QueueDoesNotExist"
    )
    wait_until(lambda: "penstock_queue_delivery_failed_redrives_total 1" in http.get("/metrics").text)


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_an_unknown_delivery_is_404(http: httpx.Client) -> None:
    response = http.post("/v1/deliveries/1/retry")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "delivery_not_found")


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_another_account_neither_sees_nor_retries_it(http: httpx.Client, db: Connection, receiver: Receiver) -> None:
    publish(db, receiver.url("/404"))
    wait_until(lambda: [row.state for row in deliveries(db)] == ["exhausted"])
    db.execute("update queue.outgoing_delivery set account_id = '111111111111'")
    row = db.execute("select delivery_id from queue.outgoing_delivery").fetchone()
    assert row is not None
    assert listed(http, state="exhausted") == []
    assert http.post(f"/v1/deliveries/{row[0]}/retry").status_code == 404


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_attempts_and_what_was_given_up_since(http: httpx.Client, db: Connection, receiver: Receiver) -> None:
    publish(db, receiver.url("/200"), receiver.url("/404"))
    publish(db, receiver.url("/404"))
    db.execute("select queue.wake_deliveries()")
    wait_until(lambda: [row.state for row in deliveries(db)] == ["exhausted"] * 2)
    page = http.get("/v1/deliveries/attempts", params={"limit": 2}).json()
    assert (len(page["attempts"]), page["looked_at"]) == (2, 2)
    rest = http.get("/v1/deliveries/attempts", params={"before": page["next"]}).json()
    assert (len(rest["attempts"]), rest["next"]) == (1, None)
    failed = http.get("/v1/deliveries/attempts", params={"failed": True, "endpoint": receiver.url("/404")}).json()
    assert [(row["attempt"], row["outcome"], row["status"]) for row in failed["attempts"]] == [(1, "given_up", 404)] * 2
    assert failed["looked_at"] == 3
    later = http.get("/v1/deliveries/attempts", params={"since": "2100-01-01T00:00:00Z"}).json()
    assert (later["attempts"], later["looked_at"]) == ([], 3)
    endpoints = http.get("/v1/deliveries/endpoints").json()
    assert [(row["endpoint"], row["attempts"], row["delivered"], row["paused"]) for row in endpoints] == [
        (receiver.url("/404"), 2, 0, False),
        (receiver.url("/200"), 1, 1, False),
    ]
    receiver.responses["/404"] = receiver.responses["/200"]
    later = http.post("/v1/deliveries/retry", json={"since": "2100-01-01T00:00:00Z"})
    assert (later.status_code, later.json()) == (202, {"retried": 0, "next": None})
    response = http.post("/v1/deliveries/retry", json={"endpoint": receiver.url("/404")})
    assert response.json() == {"retried": 2, "next": None}
    wait_until(lambda: deliveries(db) == [])
    audited = db.execute("select action, target, details, affected from queue.audit order by audit_id").fetchall()
    assert audited[-1] == ("penstock:RetryDelivery", receiver.url("/404"), {"limit": 1000}, 2)


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_an_endpoint_is_paused_and_resumed(http: httpx.Client, db: Connection, receiver: Receiver) -> None:
    url = {"endpoint": receiver.url("/200")}
    unknown = http.post("/v1/deliveries/endpoints/pause", json=url)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "endpoint_not_found")
    publish(db, receiver.url("/200"))
    db.execute("select queue.wake_deliveries()")
    wait_until(lambda: deliveries(db) == [])
    assert http.post("/v1/deliveries/endpoints/pause", json=url).status_code == 204
    publish(db, receiver.url("/200"))
    db.execute("select queue.wake_deliveries()")
    wait_until(lambda: [row["waiting"] for row in http.get("/v1/deliveries/endpoints").json()] == [1])
    assert receiver.count("/200") == 1
    assert http.post("/v1/deliveries/endpoints/resume", json=url).status_code == 204
    wait_until(lambda: receiver.count("/200") == 2)
    again = http.post("/v1/deliveries/endpoints/resume", json=url)
    assert (again.status_code, again.json()["error"]["message"]) == (404, "The endpoint is not paused.")


# --- outbox ----------------------------------------------------------------------------------------------------------
# Tests /v1/outbox on a real service, with and without a gateway. Shapes: docs/reference/text_messages.md.


PHONE = "+15550100123"


def send(http: httpx.Client, text: str, **more: str) -> None:
    form = {"Action": "Publish", "Version": "2010-03-31", "PhoneNumber": PHONE, "Message": text, **more}
    response = http.post("/", data=form)
    assert response.status_code == 200, response.text


def states(http: httpx.Client) -> list[str]:
    return [message["state"] for message in http.get("/v1/outbox", params={"destination": PHONE}).json()]


def are_sent(http: httpx.Client, number: int) -> bool:
    return states(http) == ["sent"] * number


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_the_worker_carries_what_the_service_publishes(database: Database, receiver: Receiver) -> None:
    """The worker sends immediately, even if it was asleep."""
    settings = {"SNS_GATEWAY_URL": receiver.url("/200")}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        for number in range(3):
            send(http, f"m{number}")
            wait_until(partial(are_sent, http, number + 1))
    assert [json.loads(request.body)["text"] for request in receiver.requests] == ["m0", "m1", "m2"]


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_without_a_gateway_it_is_kept(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        send(http, "hello")
        assert states(http) == ["kept"]
        assert http.get("/v1/outbox", params={"protocol": "email"}).json() == []
        assert http.get("/v1/outbox", params={"protocol": "pigeon"}).status_code == 400
        assert http.get("/v1/outbox", params={"limit": 101}).status_code == 400
        assert http.put("/v1/outbox/opted-out/0123").status_code == 400
        assert http.put(f"/v1/outbox/opted-out/{PHONE.replace('+', '%2B')}").json() == {"phone_number": PHONE}
        send(http, "again")
        assert states(http) == ["kept", "failed"]


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_the_quota_limits_opted_out_numbers(database: Database) -> None:
    """At the quota, a client can still store a number that the list already contains (QUOTA_OPTED_OUT_NUMBERS,
    docs/operate/quotas.md)."""
    with running_service(database.api_dsn, QUOTA_OPTED_OUT_NUMBERS="2") as service, service.http() as http:
        responses = [http.put(f"/v1/outbox/opted-out/%2B1555010000{last}") for last in (1, 2, 3, 1)]
        assert [response.status_code for response in responses] == [200, 200, 429, 200]
        assert responses[2].json()["error"]["message"] == "An account can have 2 opted out numbers."
        form = {"Action": "CheckIfPhoneNumberIsOptedOut", "Version": "2010-03-31"}
        checked = http.post("/", data={**form, "phoneNumber": "+15550100003"})
        assert "<isOptedOut>false</isOptedOut>" in checked.text


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8")
def test_a_page_has_512_kib_at_most_with_attributes(database: Database) -> None:
    entry = "MessageAttributes.entry.1"
    long = {f"{entry}.Name": "a", f"{entry}.Value.DataType": "String", f"{entry}.Value.StringValue": "x" * 200_000}
    with running_service(database.api_dsn) as service, service.http() as http:
        for number in range(3):
            send(http, f"m{number}", **long)
        first = http.get("/v1/outbox").json()
        last = http.get("/v1/outbox", params={"after": first[-1]["id"]}).json()
    assert [[message["text"] for message in page] for page in (first, last)] == [["m0", "m1"], ["m2"]]


# --- endpoint tests --------------------------------------------------------------------------------------------------
# Tests POST /v1/deliveries/endpoints/test on a real service with a real endpoint: the request, the rights, and the
# audit.

KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()


def bind(http: httpx.Client, url: str) -> None:
    """Binds the routing keys of orders to the given URL."""
    hook = {"protocol": "http", "endpoint": url}
    http.post("/v1/events/order.*/subscriptions", json=hook).raise_for_status()


def send_test(http: httpx.Client, url: str) -> dict[str, Any]:
    response = http.post("/v1/deliveries/endpoints/test", json={"endpoint": url})
    assert response.status_code == 202, response.text
    sent: dict[str, Any] = response.json()
    return sent


def attempts(http: httpx.Client, url: str) -> list[dict[str, Any]]:
    page = http.get("/v1/deliveries/attempts", params={"endpoint": url}).json()
    found: list[dict[str, Any]] = page["attempts"]
    return found


def arrived(receiver: Receiver, kind: str) -> Request:
    """Returns the first request whose body has the given type."""

    def found() -> Request | None:
        return next((request for request in receiver.requests if json.loads(request.body).get("type") == kind), None)

    wait_until(lambda: found() is not None)
    request = found()
    assert request is not None
    return request


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
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


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
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


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
def test_a_response_that_fails_is_tried_again_as_any_other(http: httpx.Client, receiver: Receiver) -> None:
    url = receiver.url("/500")
    bind(http, url)
    send_test(http, url)
    wait_until(lambda: len(attempts(http, url)) == 1)
    assert [(attempt["outcome"], attempt["status"]) for attempt in attempts(http, url)] == [("retried", 500)]


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
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


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
def test_a_url_that_nobody_subscribed_is_unknown(http: httpx.Client, receiver: Receiver, database: Database) -> None:
    url = receiver.url("/200")
    response = http.post("/v1/deliveries/endpoints/test", json={"endpoint": url})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "endpoint_not_found")
    bind(http, url)
    with psycopg.connect(database.dsn) as connection:
        connection.execute("update queue.binding set account_id = '111111111111'")
    assert http.post("/v1/deliveries/endpoints/test", json={"endpoint": url}).status_code == 404
    assert receiver.connections == 0


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
def test_too_many_deliveries_leave_no_room_for_one(http: httpx.Client, database: Database) -> None:
    bind(http, "http://127.0.0.1:1/")

    def is_refused() -> bool:
        """The test inserts the row in each attempt, because the service counts deliveries at intervals and then removes
        the row."""
        with psycopg.connect(database.dsn) as connection:
            connection.execute(
                "insert into queue.delivery_excess values ('000000000000', '', 1000000, now()) on conflict do nothing"
            )
        response = http.post("/v1/deliveries/endpoints/test", json={"endpoint": "http://127.0.0.1:1/"})
        return response.status_code == 429

    wait_until(is_refused)


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
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


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
def test_the_console_shows_the_response(service: Service, http: httpx.Client, receiver: Receiver) -> None:
    browser = ConsoleClient(service)
    for path, notice in (("/200", "The endpoint responded to the test event with 200"), ("/404", "responded with 404")):
        url = receiver.url(path)
        bind(http, url)
        led = browser.post("/console/deliveries/test", endpoint=url)
        assert led.status_code == 303, led.text
        wait_until(partial(says, browser, led.headers["location"], notice))
    assert ">Test</button>" in browser.get("/console/deliveries").text
    assert browser.post("/console/deliveries/test", endpoint="nonsense here").status_code == 400
    assert browser.post("/console/deliveries/test", endpoint="http://127.0.0.1:1/x").status_code == 404


@pytest.mark.settings(WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", WEBHOOK_SIGNING_SECRET=SECRET, QUEUE_CONSOLE="full")
def test_the_command_line_says_what_was_answered(
    service: Service, http: httpx.Client, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = receiver.url("/204"), receiver.url("/404")
    bind(http, good)
    bind(http, bad)
    assert main(["webhooks", "test", good, "--endpoint", service.url]) == 0
    assert capsys.readouterr().out.startswith(f"{good} responded with 204 after ")
    assert main(["webhooks", "test", bad, "--endpoint", service.url]) == 1
    assert capsys.readouterr().err == "penstock: not delivered: 404\n"
