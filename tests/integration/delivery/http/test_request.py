"""Tests the bytes on the wire: headers of SNS ("HTTP/HTTPS headers"), of events, and of Standard Webhooks.

The tests run the worker with URLs that lead to this machine. The receiver has an address to which a worker never
connects.

`tests/unit/delivery/http/test_guard.py` tests the spellings of all addresses without connections.
"""

import base64
import hashlib
import hmac
import json
import socket
from typing import Any

import pytest

from tests.integration.delivery.http.conftest import Deliver
from tests.support.delivery.receiver import Receiver, Request
from tests.support.delivery.rows import TOPIC, deliveries, publish
from tests.support.sql.calls import Connection

SECRETS = [b"0" * 24, b"1" * 32]
SETTING = " ".join("whsec_" + base64.b64encode(secret).decode() for secret in SECRETS)


def posted(db: Connection, deliver: Deliver, receiver: Receiver, **notice: Any) -> tuple[str, Request]:
    """Returns the message id, and the request that arrived."""
    settings = notice.pop("settings", {})
    message_id = publish(db, receiver.url("/200?a=1"), **notice)
    receiver.answers["/200?a=1"] = receiver.answers["/200"]
    assert deliver(**settings)["delivered"] == 1
    return str(message_id), receiver.requests[-1]


def test_a_notification(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    message_id, request = posted(db, deliver, receiver)
    headers = request.headers
    assert headers["x-amz-sns-message-type"] == "Notification"
    assert headers["x-amz-sns-message-id"] == message_id
    assert headers["x-amz-sns-topic-arn"] == TOPIC
    assert headers["x-amz-sns-subscription-arn"].startswith(f"{TOPIC}:")
    assert headers["Content-Type"] == "text/plain; charset=UTF-8"
    assert headers["User-Agent"] == "Amazon Simple Notification Service Agent"
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert headers["Accept-Encoding"] == "gzip,deflate"  # recorded at AWS
    assert "x-amz-sns-rawdelivery" not in headers
    envelope = json.loads(request.body)
    assert envelope == {"arn": headers["x-amz-sns-subscription-arn"], "Message": "hello"}
    assert request.path == "/200?a=1"


def test_a_raw_notification(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    _, request = posted(db, deliver, receiver, raw=True, text="größer")
    assert request.headers["x-amz-sns-rawdelivery"] == "true"
    assert request.body.decode() == "größer"


def test_a_subscription_to_be_confirmed_shows_no_arn(
    db: Connection, deliver: Deliver, receiver: Receiver
) -> None:
    _, request = posted(db, deliver, receiver, kind="SubscriptionConfirmation")
    assert request.headers["x-amz-sns-message-type"] == "SubscriptionConfirmation"
    assert "x-amz-sns-subscription-arn" not in request.headers


@pytest.mark.parametrize(
    ("set_", "sent"), [("application/json", "application/json"), ("text/plain", "text/plain; charset=UTF-8")]
)
def test_a_policy_chooses_the_content_type(
    db: Connection, deliver: Deliver, receiver: Receiver, set_: str, sent: str
) -> None:
    policy = {"requestPolicy": {"headerContentType": set_}}
    _, request = posted(db, deliver, receiver, policy=policy)
    assert request.headers["Content-Type"] == sent


def test_an_event_is_json_without_signature(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    _, request = posted(db, deliver, receiver, kind="event", raw=True, text='{"n":1}')
    assert request.headers["Content-Type"] == "application/json"
    assert request.body == b'{"n":1}'
    assert not [name for name in request.headers if name.startswith(("webhook-", "x-amz-"))]


def test_an_event_is_signed_with_every_secret(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """The signature is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64 (Standard Webhooks 1.0)."""
    settings = {"webhook_signing_secret": SETTING}
    message_id, request = posted(db, deliver, receiver, kind="event", raw=True, settings=settings)
    headers = request.headers
    assert headers["webhook-id"] == message_id
    signed = f"{message_id}.{int(headers['webhook-timestamp'])}.".encode() + request.body
    assert headers["webhook-signature"].split(" ") == [
        "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in SECRETS
    ]


def test_a_notification_has_no_such_signature(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    _, request = posted(db, deliver, receiver, settings={"webhook_signing_secret": SETTING})
    assert not [name for name in request.headers if name.startswith("webhook-")]


@pytest.mark.parametrize(
    "secret", ["abc", "whsec_", "whsec_???", "whsec_" + base64.b64encode(b"short").decode()]
)
def test_a_bad_secret_is_refused(secret: str) -> None:
    from penstock.delivery.http.request import read_secrets

    with pytest.raises(ValueError, match="whsec_"):
        read_secrets(secret)


HOSTS = (
    "127.0.0.1", "127.255.255.254", "127.0.0.1.", "127.1", "127.0.1", "0.0.0.0", "0", "2130706433", "0x7f000001",
    "0x7f.0.0.1", "017700000001", "0177.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::]",
    "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "[2600::5efe:7f00:1]", "user@127.0.0.1", "8.8.8.8@127.0.0.1", socket.gethostname(),
)  # fmt: skip
ANSWERS = {
    "private.example": ["127.0.0.1"], "mixed.example": ["8.8.8.8", "127.0.0.1"],
    "mixed6.example": ["2606:4700::1", "::1"], "mapped.example": ["::ffff:127.0.0.1"],
    "metadata.example": ["169.254.169.254", "127.0.0.1"],
    "last.example": ["8.8.8.8", "8.8.4.4", "1.1.1.1", "127.0.0.1"],
}  # fmt: skip


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Returns ANSWERS in the form of the system's resolver."""
    ask = socket.getaddrinfo

    def answer(host: Any, port: Any, *more: Any, **given: Any) -> Any:
        found = ANSWERS.get(host)
        return (
            ask(host, port, *more, **given)
            if found is None
            else [(0, 0, 0, "", (address, 0)) for address in found]
        )

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@pytest.mark.usefixtures("names")
def test_no_delivery_connects_to_this_machine(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    urls = [f"http://{host}:{receiver.port}/200" for host in (*HOSTS, *ANSWERS)]
    publish(db, *urls)
    tried = sum(deliver(webhook_allow_cidrs="").values())
    assert (tried, receiver.connections) == (len(urls), 0)
    found = deliveries(db)
    assert [row for row in found if not row.last_error or row.last_status is not None] == []


@pytest.mark.usefixtures("names")
def test_where_a_name_leads_is_not_told(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """A webhook's owner must not learn names of the operator's network."""
    publish(db, *(f"http://{host}:{receiver.port}/200" for host in ANSWERS))
    deliver(webhook_allow_cidrs="")
    told = {row.last_error for row in deliveries(db)}
    assert told == {"an address of the host is not public and not in WEBHOOK_ALLOW_CIDRS"}


@pytest.mark.usefixtures("names")
def test_where_it_is_allowed_it_does(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """Without this test, the test above would prove nothing."""
    publish(
        db, *(f"http://{host}:{receiver.port}/200" for host in ("127.0.0.1", "localhost", "private.example"))
    )
    deliver(webhook_allow_cidrs="127.0.0.0/8,::1/128")
    assert (receiver.count("/200"), deliveries(db)) == (3, [])
