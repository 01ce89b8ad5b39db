"""The gateway (SNS_GATEWAY_URL) that carries text messages and pushes, against a real receiver.

The contract is ours (docs/topics.md, "Gateway"); the signature is that of Standard Webhooks 1.0; what is tried again is
what SNS tries again ("Fanout Amazon SNS notifications to HTTPS endpoints", SNS Developer Guide).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock.workers import Counts
from tests.integration.delivery.webhooks.conftest import Deliver
from tests.support.sql.calls import Connection
from tests.support.webhooks.receiver import Receiver
from tests.support.webhooks.rows import due_in_seconds, pass_time, webhooks

ACCOUNT, REGION = "000000000000", "us-east-1"
PHONE = "+15550100123"
SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()


def send(db: Connection, text: str, to: str = PHONE, protocol: str = "sms") -> str | None:
    """Publish to a number or an endpoint; the error, if there is one."""
    row = db.execute(
        "select error from queue.send_outgoing(%s, %s, %s, 'Notification', %s, gen_random_uuid(), 's', %s, %s)",
        (ACCOUNT, REGION, protocol, to, text, '{"a": {"DataType": "String", "StringValue": "b"}}'),
    ).fetchone()
    assert row is not None
    return None if row[0] is None else str(row[0])


def states(db: Connection) -> list[tuple[str, str | None]]:
    return db.execute("select state, error from queue.outgoing order by outgoing_id").fetchall()


def through(deliver: Deliver, receiver: Receiver, path: str = "/200", **settings: Any) -> Counts:
    """A run of the worker of an installation with a gateway. It may be at a forbidden address."""
    return deliver(sns_gateway_url=receiver.url(path), webhook_allow_cidrs="", **settings)


def test_a_text_message(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    send(db, "hello")
    assert through(deliver, receiver, webhook_signing_secret=SECRET)["delivered"] == 1
    (request,) = receiver.requests
    document = json.loads(request.body)
    assert document == {
        "id": document["id"], "kind": "Notification", "account": ACCOUNT, "region": REGION, "protocol": "sms",
        "destination": PHONE, "subject": "s", "text": "hello",
        "attributes": {"a": {"DataType": "String", "StringValue": "b"}},
    }  # fmt: skip
    assert request.headers["Content-Type"] == "application/json"
    signed = (
        f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    )
    digest = base64.b64encode(hmac.new(bytes(32), signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"
    assert request.headers["webhook-id"] == document["id"]
    assert (states(db), webhooks(db)) == ([("sent", None)], [])


def test_a_push_names_platform_and_token(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    db.execute("select queue.create_platform_application(%s, %s, 'GCM', 'app', '', '{}')", (ACCOUNT, REGION))
    made = db.execute(
        "select arn from queue.create_platform_endpoint(%s, gen_random_uuid(), 'token', '{}')",
        (f"arn:aws:sns:{REGION}:{ACCOUNT}:app/GCM/app",),
    ).fetchone()
    assert made is not None
    assert send(db, "hello", made[0], "application") is None
    through(deliver, receiver)
    document = json.loads(receiver.requests[0].body)
    assert (document["destination"], document["platform"], document["token"]) == (made[0], "GCM", "token")


@pytest.mark.parametrize("path", ["/500", "/429", "/hang_up"])
def test_a_gateway_that_fails(db: Connection, deliver: Deliver, receiver: Receiver, path: str) -> None:
    """Tried again after 10, 30, 60 and 300 seconds, under the same id; then the message has failed."""
    send(db, "hello")
    delays = []
    while not (webhooks(db) and webhooks(db)[0].state == "exhausted"):
        through(deliver, receiver, path)
        left = due_in_seconds(db)
        if webhooks(db)[0].state == "pending":
            assert states(db) == [("waiting", None)]
            delays.append(round(left[0]))
            pass_time(db, delays[-1] + 1)
    assert delays == [10, 30, 60, 300]
    assert receiver.count(path) == 5
    assert len({json.loads(request.body)["id"] for request in receiver.requests}) == 1
    ((state, error),) = states(db)
    assert (state, error is not None) == ("failed", True)


def test_a_gateway_that_refuses(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    send(db, "hello")
    assert through(deliver, receiver, "/404")["exhausted"] == 1
    assert states(db) == [("failed", "HTTP status 404")]
    listed = db.execute("select endpoint from queue.list_webhooks(%s, 'exhausted', null, 1)", (ACCOUNT,))
    assert listed.fetchall() == [("https://gateway/sms",)]  # not the address, which is the operator's
    db.execute("select queue.retry_webhook(%s, (select webhook_id from queue.webhook))", (ACCOUNT,))
    assert through(deliver, receiver)["delivered"] == 1
    assert states(db)[0][0] == "sent"


def test_who_goes_to_the_gateway(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """Not mail, not what is older than an hour, not who is opted out; without a gateway nobody."""
    send(db, "old")
    assert sum(deliver().values()) == 0
    db.execute("update queue.outgoing set created_at = created_at - interval '61 minutes'")
    send(db, "mail", "a@example.com", "email")
    db.execute("select queue.opt_out(%s, %s, %s)", (ACCOUNT, REGION, PHONE))
    send(db, "opted out")
    send(db, "new", "+15550100124")
    assert through(deliver, receiver)["delivered"] == 1
    assert [json.loads(request.body)["text"] for request in receiver.requests] == ["new"]
    assert [state for state, _ in states(db)] == ["kept", "kept", "failed", "sent"]


@pytest.fixture
def others(database: Any) -> Iterator[list[Connection]]:
    """More connections."""
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
        found = [one.execute(hand_over).fetchone() for one in others]
    assert found == [(15,), (5,)]
    assert through(deliver, receiver)["delivered"] == 20
    assert sorted(json.loads(request.body)["text"] for request in receiver.requests) == sorted(
        f"m{number}" for number in range(20)
    )


def test_old_messages_go(db: Connection) -> None:
    """Those of over so many days, and of an account all but the newest."""
    for number in range(5):
        send(db, f"m{number}")
    db.execute(
        "update queue.outgoing set created_at = created_at - interval '8 days' where body in ('m0', 'm3')"
    )
    clean = "select queue.clean_outgoing(1000, %s, %s)"
    assert db.execute(clean, (7, 0)).fetchone() == (2,)
    assert db.execute(clean, (7, 2)).fetchone() == (1,)
    assert [row[0] for row in db.execute("select body from queue.outgoing order by outgoing_id")] == [
        "m2",
        "m4",
    ]
