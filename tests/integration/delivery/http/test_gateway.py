"""Tests the gateway (SNS_GATEWAY_URL) for text messages and push notifications against a real receiver.

Penstock defines the contract (docs/reference/text_messages.md, "Gateway"). Standard Webhooks 1.0 defines the signature.
The worker retries after the same responses as SNS ("Fanout Amazon SNS notifications to HTTPS endpoints", SNS Developer
Guide).
"""

import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock.workers import Counts
from tests.integration.delivery.http.conftest import Deliver
from tests.support.delivery.receiver import Receiver
from tests.support.delivery.rows import deliveries, due_in_seconds, pass_time
from tests.support.sql.calls import Connection, arn_of, create, receive

pytestmark = pytest.mark.emptied

ACCOUNT, REGION = "000000000000", "us-east-1"
PHONE = "+15550100123"
SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()


def send(db: Connection, text: str, to: str = PHONE, protocol: str = "sms", account: str = ACCOUNT) -> str | None:
    """Publishes to a number or an endpoint. Returns the error of the publish, or None."""
    row = db.execute(
        "select error from queue.send_outgoing(%s, %s, %s, 'Notification', %s, gen_random_uuid(), 's', %s, %s)",
        (account, REGION, protocol, to, text, '{"a": {"DataType": "String", "StringValue": "b"}}'),
    ).fetchone()
    assert row is not None
    return None if row[0] is None else str(row[0])


def states(db: Connection) -> list[tuple[str, str | None]]:
    return db.execute("select state, error from queue.outgoing order by outgoing_id").fetchall()


def through(deliver: Deliver, receiver: Receiver, path: str = "/200", **settings: Any) -> Counts:
    """Runs the worker in an installation with a gateway. The gateway can have an address that is forbidden for
    webhooks."""
    return deliver(sns_gateway_url=receiver.url(path), webhook_allow_cidrs="", **settings)


def test_a_text_message(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    send(db, "hello")
    assert through(deliver, receiver, webhook_signing_secret=SECRET)["delivered"] == 1
    (request,) = receiver.requests
    document = json.loads(request.body)
    assert document == {
        "id": document["id"], "message_id": document["id"], "kind": "Notification", "account": ACCOUNT,
        "region": REGION, "protocol": "sms", "destination": PHONE, "subject": "s", "text": "hello",
        "attributes": {"a": {"DataType": "String", "StringValue": "b"}},
    }  # fmt: skip
    assert request.headers["Content-Type"] == "application/json"
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    digest = base64.b64encode(hmac.new(bytes(32), signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"
    assert request.headers["webhook-id"] == document["id"]
    assert (states(db), deliveries(db)) == ([("sent", None)], [])


ADD_SUBSCRIPTION = """select arn from queue.add_subscription(
    %s, gen_random_uuid(), %s, 'sms', %s, %s, null, null, null, 0, 0, null, null)"""
PUBLISH = """select error from queue.publish_messages(array[jsonb_build_object('message_id', gen_random_uuid(),
    'contents', %s::jsonb, 'facts', '{"MessageAttributes": {}}'::jsonb, 'attribute_bytes', 0,
    'request_bytes', 5)], %s, '1')"""


def topic_arn(topic: str) -> str:
    return f"arn:aws:sns:{REGION}:{ACCOUNT}:{topic}"


def subscribe(db: Connection, topic: str, endpoint: str, **attributes: str) -> str:
    """Creates the topic and subscribes a phone. Returns the subscription's ARN."""
    db.execute("select queue.create_topic(%s, %s, %s, '{}', '{}')", (ACCOUNT, REGION, topic))
    given = (topic_arn(topic), ACCOUNT, endpoint, json.dumps(attributes))
    row = db.execute(ADD_SUBSCRIPTION, given).fetchone()
    assert row is not None
    return str(row[0])


def publish(db: Connection, topic: str, text: str) -> None:
    """Publishes the envelope `{"for": subscription, "Message": text}` to a topic."""
    contents = {"*": {"raw": text, "head": '{"for":"', "tail": f'","Message":"{text}"}}'}}
    assert db.execute(PUBLISH, (json.dumps(contents), topic_arn(topic))).fetchone() == (None,)


def test_each_phone_of_a_topic_gets_its_own_id(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """A receiver treats webhooks with the same `webhook-id` as duplicates (Standard Webhooks 1.0, "Idempotency")."""
    arns = [subscribe(db, "news", phone) for phone in (PHONE, "+15550100124")]
    publish(db, "news", "hello")
    assert through(deliver, receiver, webhook_signing_secret=SECRET)["delivered"] == 2
    documents = [json.loads(request.body) for request in receiver.requests]
    (message_id,) = {document["message_id"] for document in documents}
    assert {document["id"] for document in documents} == {f"{message_id}:{arn[-36:]}" for arn in arns}
    for request, document in zip(receiver.requests, documents, strict=True):
        assert request.headers["webhook-id"] == document["id"]


def redrive(name: str) -> dict[str, str]:
    """Returns the attribute that sets a subscription's dead-letter queue."""
    return {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn_of(name)})}


@pytest.mark.parametrize("name", ["dead", "dead.fifo"])
@pytest.mark.parametrize("path", ["/404", "/500"])
def test_a_final_failure_goes_to_the_dead_letter_queue(
    db: Connection, deliver: Deliver, receiver: Receiver, path: str, name: str
) -> None:
    """The service sends the envelope to the dead-letter queue immediately after a client-side error, and after all
    retries for other errors ("Amazon SNS dead-letter queues")."""
    create(db, name)
    arn = subscribe(db, "news", PHONE, **redrive(name))
    publish(db, "news", "hello")
    if path == "/500":
        assert through(deliver, receiver, path)["retried"] == 1
        assert receive(db, arn_of(name)) == []
        db.execute("update queue.outgoing_delivery set attempts = 50, due_at = clock_timestamp()")
    assert through(deliver, receiver, path)["dead_lettered"] == 1
    (letter,) = receive(db, arn_of(name))
    assert json.loads(letter.body) == {"for": arn, "Message": "hello"}
    assert json.loads(letter.attributes or "")["PenstockError"]["StringValue"] == f"HTTP status {path[1:]}"
    assert (states(db), deliveries(db)) == ([("failed", f"HTTP status {path[1:]}")], [])


def test_a_dead_letter_queue_that_is_gone(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    subscribe(db, "news", PHONE, **redrive("gone"))
    publish(db, "news", "hello")
    assert through(deliver, receiver, "/404")["exhausted"] == 1
    assert states(db) == [("failed", "HTTP status 404; dead-letter queue: QueueDoesNotExist")]


def test_a_number_that_opts_out_before_the_gateway_gets_no_message(
    db: Connection, deliver: Deliver, receiver: Receiver
) -> None:
    """An opt-out counts as a client-side error, because a phone that sent STOP receives no messages."""
    create(db, "dead")
    arn = subscribe(db, "news", PHONE, **redrive("dead"))
    publish(db, "news", "hello")
    db.execute("select queue.opt_out(%s, %s, %s)", (ACCOUNT, REGION, PHONE))
    through(deliver, receiver)
    assert (receiver.requests, states(db)) == ([], [("failed", "OptedOut")])
    (letter,) = receive(db, arn_of("dead"))
    assert json.loads(letter.body)["for"] == arn
    assert json.loads(letter.attributes or "")["PenstockError"]["StringValue"] == "OptedOut"


def test_a_push_names_platform_and_token(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    db.execute("select queue.create_platform_application(%s, %s, 'GCM', 'app', '', '{}')", (ACCOUNT, REGION))
    made = db.execute(
        "select arn from queue.create_platform_endpoint(%s, gen_random_uuid(), 'token', '{}', 0)",
        (f"arn:aws:sns:{REGION}:{ACCOUNT}:app/GCM/app",),
    ).fetchone()
    assert made is not None
    assert send(db, "hello", made[0], "application") is None
    through(deliver, receiver)
    document = json.loads(receiver.requests[0].body)
    assert (document["destination"], document["platform"], document["token"]) == (made[0], "GCM", "token")


@pytest.mark.parametrize("path", ["/500", "/429", "/hang_up"])
def test_a_gateway_that_fails(db: Connection, deliver: Deliver, receiver: Receiver, path: str) -> None:
    """The worker retries 50 times over six hours, with the same id each time. The message then fails ("Amazon SNS
    message delivery retries": 2 retries at intervals of 10 seconds, 10 with exponential backoff from 10 to 600, 38 at
    intervals of 600).
    """
    send(db, "hello")
    through(deliver, receiver, path)
    assert states(db) == [("waiting", None)]
    assert round(due_in_seconds(db)[0]) == 10
    pass_time(db, 11)
    through(deliver, receiver, path)
    db.execute("update queue.outgoing_delivery set attempts = 49")
    pass_time(db, 11)
    through(deliver, receiver, path)
    assert round(due_in_seconds(db)[0]) == 600
    pass_time(db, 601)
    assert through(deliver, receiver, path)["exhausted"] == 1
    assert receiver.count(path) == 4
    assert len({json.loads(request.body)["id"] for request in receiver.requests}) == 1
    ((state, error),) = states(db)
    assert (state, error is not None) == ("failed", True)


def test_a_gateway_that_refuses(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    send(db, "hello")
    assert through(deliver, receiver, "/404")["exhausted"] == 1
    assert states(db) == [("failed", "HTTP status 404")]
    listed = db.execute("select endpoint from queue.list_deliveries(%s, 'exhausted', null, 1)", (ACCOUNT,))
    assert listed.fetchall() == [("sns://gateway/sms",)]  # the error does not contain the operator's address
    db.execute("select queue.retry_delivery(%s, (select delivery_id from queue.outgoing_delivery))", (ACCOUNT,))
    assert states(db) == [("waiting", None)]
    assert through(deliver, receiver)["delivered"] == 1
    assert states(db) == [("sent", None)]


def test_a_worker_without_a_gateway_posts_nowhere(
    db: Connection, deliver: Deliver, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker of a process without the gateway leaves the message to another process."""
    asked: list[str] = []

    def resolve(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    send(db, "hello")
    db.execute("select queue.hand_over_outgoing('{sms}', 1, 0)")
    assert sum(deliver().values()) == 0
    assert asked == []
    assert [(row.attempts, row.last_error) for row in deliveries(db)] == [(0, None)]
    monkeypatch.undo()
    assert through(deliver, receiver)["delivered"] == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/in", "http://gw.internal/in"])
def test_where_the_gateway_is_stays_the_operators_secret(
    db: Connection, deliver: Deliver, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accounts can read their messages' errors under /v1/outbox and /v1/deliveries."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    send(db, "hello")
    assert deliver(sns_gateway_url=url)["retried"] == 1
    assert [row.last_error for row in deliveries(db)] == ["the gateway cannot be reached"]


def test_only_these_messages_go_to_the_gateway(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """The gateway does not receive mails, messages older than six hours, or messages to numbers that opted out. Without
    a gateway, the worker does not send text messages or push notifications."""
    send(db, "old")
    assert sum(deliver().values()) == 0
    db.execute("update queue.outgoing set created_at = created_at - interval '361 minutes'")
    send(db, "mail", "a@example.com", "email")
    db.execute("select queue.opt_out(%s, %s, %s)", (ACCOUNT, REGION, PHONE))
    send(db, "opted out")
    send(db, "new", "+15550100124")
    assert through(deliver, receiver)["delivered"] == 1
    assert [json.loads(request.body)["text"] for request in receiver.requests] == ["new"]
    assert [state for state, _ in states(db)] == ["kept", "kept", "failed", "sent"]


def test_an_account_sends_a_number_of_text_messages_a_day(db: Connection) -> None:
    """Text messages beyond QUOTA_TEXT_MESSAGES fail. The quota does not affect push notifications and other
    accounts."""
    subscribe(db, "news", PHONE)
    for number in range(3):
        send(db, f"m{number}")
    send(db, "hello", account="111122223333")
    hand_over = "select handed from queue.hand_over_outgoing('{sms}', 10, 0, 2)"
    assert db.execute(hand_over).fetchone() == (3,)
    assert sorted(states(db)) == [
        ("failed", "TextMessageQuotaExceeded"), ("waiting", None), ("waiting", None), ("waiting", None),
    ]  # fmt: skip
    send(db, "m3")
    assert db.execute(hand_over).fetchone() == (0,)
    db.execute("update queue.text_message_day set day = day - 1")  # a day later
    send(db, "m4")
    assert db.execute(hand_over).fetchone() == (1,)


def test_an_account_of_which_too_many_wait_publishes_no_more_of_the_protocol(db: Connection) -> None:
    """The account cannot send one-time passwords from the SMS sandbox either. The quota does not affect mails and other
    accounts (docs/operate/quotas.md)."""
    subscribe(db, "news", PHONE)
    for number in range(2):
        send(db, f"m{number}")
    send(db, "hello", account="111122223333")
    db.execute("select queue.hand_over_outgoing('{sms}', 10, 0)")
    contents = '{"*": {"raw": "no", "head": "", "tail": ""}}'
    for most, error in ((2, "RequestThrottled"), (3, None)):
        db.execute("select queue.find_delivery_excess(%s)", (most,))
        assert send(db, "direct") == error
        assert db.execute(PUBLISH, (contents, topic_arn("news"))).fetchone() == (error,)
        added = "select error from queue.add_sandbox_number(%s, %s, '+15550100125', '123456', 'text', 10)"
        assert db.execute(added, (ACCOUNT, REGION)).fetchone() == (error,)
        assert send(db, "mail", "a@example.com", "email") is None
        assert send(db, "hello", account="111122223333") is None
        assert db.execute("select count(*) from queue.delivery_excess where protocol = ''").fetchone() == (0,)


@pytest.fixture
def others(database: Any) -> Iterator[list[Connection]]:
    with (
        psycopg.connect(database.api_dsn, autocommit=True) as one,
        psycopg.connect(database.api_dsn, autocommit=True) as two,
    ):
        yield [one, two]


def test_two_workers_hand_over_each_message_once(
    db: Connection, others: list[Connection], deliver: Deliver, receiver: Receiver
) -> None:
    for number in range(20):
        send(db, f"m{number}")
    hand_over = "select handed from queue.hand_over_outgoing('{sms}', 15, 0)"
    with others[0].transaction(), others[1].transaction():
        found = [other.execute(hand_over).fetchone() for other in others]
    assert found == [(15,), (5,)]
    assert through(deliver, receiver)["delivered"] == 20
    assert sorted(json.loads(request.body)["text"] for request in receiver.requests) == sorted(
        f"m{number}" for number in range(20)
    )


def test_an_account_with_many_messages_delays_no_other(db: Connection) -> None:
    """Messages that need a gateway do not delay other messages, because a worker without a gateway does not read
    them."""
    for number in range(30):
        send(db, f"m{number}")
        send(db, f"m{number}", "a@example.com", "email")
    send(db, "mine", account="111122223333")
    assert db.execute("select handed from queue.hand_over_outgoing('{sms,application}', 10, 0)").fetchone() == (6,)
    waiting = db.execute("select body from queue.outgoing where state = 'waiting' order by outgoing_id").fetchall()
    assert [body for (body,) in waiting] == ["m0", "m1", "m2", "m3", "m4", "mine"]


def test_old_messages_go(db: Connection) -> None:
    """Maintenance removes messages after some days, and limits the number of messages for each account."""
    for number in range(5):
        send(db, f"m{number}")
    db.execute("update queue.outgoing set created_at = created_at - interval '8 days' where body in ('m0', 'm3')")
    clean = "select queue.clean_outgoing(1000, %s, %s, '{}')"
    assert db.execute(clean, (7, 0)).fetchone() == (2,)
    assert db.execute(clean, (7, 2)).fetchone() == (1,)
    assert [row[0] for row in db.execute("select body from queue.outgoing order by outgoing_id")] == ["m2", "m4"]


@pytest.mark.parametrize(("days", "most"), [(7, 0), (30, 1)])
def test_the_clean_up_waits_for_no_message_that_another_transaction_holds(
    db: Connection, others: list[Connection], days: int, most: int
) -> None:
    """The clean-up cannot deadlock with workers, which lock messages in the order of their webhooks when they record
    outcomes."""
    for number in range(4):
        send(db, f"m{number}")
    db.execute("update queue.outgoing set created_at = created_at - interval '8 days' where body <> 'm3'")
    settling, cleaning = others
    cleaning.execute("set lock_timeout = '5s'")
    clean = "select queue.clean_outgoing(1000, %s, %s, '{}')"
    with settling.transaction():
        settling.execute("update queue.outgoing set state = 'sent' where body = 'm1'")
        assert cleaning.execute(clean, (days, most)).fetchone() == (2,)
    assert cleaning.execute(clean, (days, most)).fetchone() == (1,)


def test_a_message_that_the_gateway_has_not_got_stays(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """The clean-up keeps messages that Publish accepted, even if many newer messages exist."""
    for number in range(6):
        send(db, f"m{number}")
    db.execute("update queue.outgoing set created_at = created_at - interval '6 hours' where body = 'm0'")
    send(db, "mail", "a@example.com", "email")
    clean = "select queue.clean_outgoing(1000, 7, 1, '{sms,application}')"
    assert db.execute(clean).fetchone() == (1,)  # the clean-up removes m0, which is too old for the gateway
    assert through(deliver, receiver, "/500")["retried"] == 5
    assert db.execute(clean).fetchone() == (0,)
    pass_time(db, 11)
    assert through(deliver, receiver)["delivered"] == 5
    assert db.execute(clean).fetchone() == (5,)
