"""Tests the worker against a real receiver: attempts, retry delays and final state.

The sources are pages in the SNS developer guide: "Amazon SNS message delivery retries", "Fanout Amazon SNS
notifications to HTTPS endpoints" (SNS retries after 5xx and 429, but not after other errors), and the page about
headers. Penstock makes 5 attempts for an event, with pauses of 10, 30, 60 and 300 seconds.
"""

import base64
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest

from penstock.delivery import run
from penstock.delivery.http import carrier
from penstock.delivery.http.outcome import judge_response
from penstock.delivery.outcome import Finished
from penstock.delivery.store import DeliveryStore
from penstock.observing.observer import Observer
from penstock.settings import Settings
from penstock.workers import deliver as worker
from penstock.workers.deliver import Deliverer
from tests.integration.delivery.http.conftest import Deliver
from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, Request
from tests.support.delivery.rows import TOPIC, Row, deliveries, due_in_seconds, number, pass_time, publish
from tests.support.sql import calls
from tests.support.sql.calls import ACCOUNT, Connection, bodies, create, receive

pytestmark = pytest.mark.emptied

POLICY = {"healthyRetryPolicy": {"minDelayTarget": 1, "maxDelayTarget": 4, "numRetries": 4, "numNoDelayRetries": 1,
                                 "numMinDelayRetries": 1, "numMaxDelayRetries": 2}}  # fmt: skip


def spacing(db: Connection, deliver: Deliver, **settings: Any) -> list[float]:
    """Runs all retries of the only webhook in the database. Moves the clock to each retry, and returns the seconds
    before each retry."""
    delays: list[float] = []
    while True:
        before = number(db, "select coalesce(sum(attempts), 0) from queue.outgoing_delivery")
        assert sum(deliver(**settings).values()) >= 1
        left = deliveries(db)
        if not left or left[0].state == "exhausted":
            return delays
        assert left[0].attempts > before
        delays.append(round(due_in_seconds(db)[0]))
        pass_time(db, delays[-1] + 1)


# --- delivered -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/200", "/204", "/chunked", "/continue"])
def test_a_delivered_webhook_is_gone(db: Connection, deliver: Deliver, receiver: Receiver, path: str) -> None:
    publish(db, receiver.url(path))
    assert deliver()["delivered"] == 1
    assert receiver.count(path) == 1
    assert (
        number(db, "select (select count(*) from queue.outgoing_delivery) + (select count(*) from queue.notice)") == 0
    )


def test_a_notice_stays_until_the_last_webhook(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    publish(db, receiver.url("/200"), receiver.url("/500"))
    assert deliver()["delivered"] == 1
    assert number(db, "select count(*) from queue.notice") == 1
    pass_time(db, 21)
    receiver.responses["/500"] = receiver.responses["/200"]
    assert deliver()["delivered"] == 1
    assert number(db, "select count(*) from queue.notice") == 0


def test_connections_are_used_again(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    publish(db, receiver.url("/200"), copies=200)
    assert deliver()["delivered"] == 200
    assert receiver.count("/200") == 200
    assert receiver.connections <= worker.MAX_PER_HOST


def test_a_delivery_of_a_kind_without_a_carrier_stays_unsent(
    database: Database, db: Connection, receiver: Receiver, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """A later release can send the delivery. Other deliveries are sent. One record names the kind, and the attempts
    count as failed."""
    monkeypatch.setattr(run, "WAIT_FOR_MORE_MS", 0)
    publish(db, receiver.url("/200"), receiver.url("/404"))
    db.execute("update queue.notice set kind = 'pigeon'")
    publish(db, receiver.url("/204"))
    heard = Heard()
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        settings = Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"})
        counts = Deliverer(longest_run_seconds=60, observer=heard).run_once(settings, connection)
    assert counts["delivered"] == 1
    assert [request.path for request in receiver.requests] == ["/204"]
    assert deliveries(db) == [Row("pending", 0, None, None)] * 2
    assert sorted(heard.attempts) == [False, False, True]
    told = [(record.levelname, record.__dict__.get("delivery_kind")) for record in caplog.records]
    assert told == [("ERROR", "pigeon")]


def test_nothing_is_claimed_when_delivery_is_off(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    publish(db, receiver.url("/200"))
    assert sum(deliver(queue_http_delivery_enabled=False).values()) == 0
    assert receiver.requests == []


@pytest.mark.parametrize(
    ("path", "requests"), [("/basic", 2), ("/digest", 2), ("/both", 2), ("/digest?a=1", 2), ("/unknown", 1)]
)
@pytest.mark.parametrize("password", ["geh%3Aheim", "wrong", None])
def test_user_and_password_answer_a_challenge(
    db: Connection, deliver: Deliver, receiver: Receiver, path: str, requests: int, password: str | None
) -> None:
    """ "Fanout Amazon SNS notifications to HTTPS endpoints": the first request has no Authorization header. A 401 is a
    permanent failure if the endpoint has no credentials, or has rejected them."""
    url = receiver.url(path).replace("//", "//max:****@")
    publish(db, url)
    db.execute("select queue.store_endpoint_password(%s, %s, %s, %s)", (ACCOUNT, TOPIC, url, password))
    succeeds = password == "geh%3Aheim" and path != "/unknown"
    assert deliver()["delivered" if succeeds else "exhausted"] == 1
    sent = ["Authorization" in request.headers for request in receiver.requests]
    assert sent == [False, True][: requests if password else 1]
    assert db.execute("select endpoint from queue.outgoing_delivery_attempt").fetchall() == [(url,)]
    if not succeeds:
        assert deliveries(db)[0][:3] == ("exhausted", 1, 401)


# --- retried ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/500", "/429", "/hang_up", "/garbage", "/long_head"])
def test_sns_tries_three_times_more_20_seconds_apart(
    db: Connection, deliver: Deliver, receiver: Receiver, path: str
) -> None:
    publish(db, receiver.url(path))
    assert spacing(db, deliver) == [20, 20, 20]
    (row,) = deliveries(db)
    assert (row.state, row.attempts) == ("exhausted", 4)
    assert receiver.count(path) == 4


@pytest.mark.parametrize("path", ["/404", "/302"])
def test_sns_does_not_try_again_after_a_permanent_failure(
    db: Connection, deliver: Deliver, receiver: Receiver, path: str
) -> None:
    publish(db, receiver.url(path))
    assert deliver()["exhausted"] == 1
    assert deliveries(db) == [Row("exhausted", 1, int(path[1:]), f"HTTP status {path[1:]}")]
    # The worker does not follow a redirect.
    assert [request.path for request in receiver.requests] == [path]


@pytest.mark.parametrize("path", ["/500", "/404", "/302", "/hang_up"])
def test_an_event_is_tried_five_times(db: Connection, deliver: Deliver, receiver: Receiver, path: str) -> None:
    publish(db, receiver.url(path), kind="event", raw=True)
    assert spacing(db, deliver) == [10, 30, 60, 300]
    assert deliveries(db)[0].attempts == 5
    assert receiver.count(path) == 5


def test_a_delivery_policy_sets_attempts_and_delays(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """The first retry has no delay, so the first run of the worker already makes the retry."""
    publish(db, receiver.url("/500"), policy=POLICY)
    assert spacing(db, deliver) == [1, 4, 4]
    assert receiver.count("/500") == 5


def test_a_silent_endpoint_runs_out_of_time(
    db: Connection, deliver: Deliver, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrier, "ATTEMPT_SECONDS", 0.3)
    publish(db, receiver.url("/silent"), receiver.url("/drip_head"))
    assert deliver()["retried"] == 2
    assert deliveries(db) == [Row("pending", 1, None, "no response within 0.3 s")] * 2


def test_the_status_counts_whatever_becomes_of_the_body(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    publish(db, receiver.url("/drip"), receiver.url("/gzip"))
    assert deliver()["delivered"] == 2


def test_an_endless_body_is_not_read(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """The worker reads at most 64 KiB. The buffers of both sockets are far smaller than the receiver's body."""
    publish(db, receiver.url("/gzip"), copies=5)
    assert deliver()["delivered"] == 5
    assert receiver.sent["gzip"] < 5 * 16 * 2**20


def test_a_response_nobody_asked_for_closes_the_connection(
    db: Connection, deliver: Deliver, receiver: Receiver
) -> None:
    publish(db, receiver.url("/twice"))
    assert deliver()["delivered"] == 1
    publish(db, receiver.url("/404"))
    assert deliver()["exhausted"] == 1
    assert deliveries(db)[0].last_status == 404


# --- given up --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["dead", "dead.fifo"])
@pytest.mark.parametrize("raw", [True, False])
def test_a_webhook_given_up_goes_to_its_dead_letter_queue(
    db: Connection, deliver: Deliver, receiver: Receiver, raw: bool, name: str
) -> None:
    dead = create(db, name)
    attributes = {"colour": {"DataType": "String", "StringValue": "red"}}
    publish(db, receiver.url("/404"), raw=raw, dead_letters=dead, attributes=attributes)
    assert deliver()["dead_lettered"] == 1
    assert (
        number(db, "select (select count(*) from queue.outgoing_delivery) + (select count(*) from queue.notice)") == 0
    )
    (letter,) = receive(db, dead)
    error = {"PenstockError": {"DataType": "String", "StringValue": "HTTP status 404"}}
    if raw:
        assert letter.body == "hello"
        assert json.loads(letter.attributes or "") == attributes | error
    else:
        assert json.loads(letter.body)["Message"] == "hello"
        assert json.loads(letter.body)["arn"].startswith(TOPIC)
        assert json.loads(letter.attributes or "") == error


def test_without_that_queue_it_stays(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    publish(db, receiver.url("/404"), dead_letters=calls.arn_of("gone"))
    counts = deliver()
    assert (counts["exhausted"], counts["failed_redrives"]) == (1, 1)
    assert deliveries(db)[0].last_error == "HTTP status 404; dead-letter queue: QueueDoesNotExist"


def test_each_letter_has_its_own_fate(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    small, dead = create(db, "small", MaximumMessageSize="1024"), create(db, "dead")
    for number_, queue in enumerate((small, dead, None)):
        publish(db, receiver.url("/404"), raw=True, dead_letters=queue, text=f"{number_}" * 2000)
    counts = deliver()
    assert (counts["dead_lettered"], counts["exhausted"]) == (1, 2)
    assert bodies(receive(db, dead)) == ["1" * 2000]


# --- leases ----------------------------------------------------------------------------------------------------------
def test_only_the_holder_of_the_lease_writes_the_outcome(db: Connection, receiver: Receiver) -> None:
    publish(db, receiver.url("/200"))
    store = DeliveryStore(db, None, 20)
    (slow,) = store.claim(10, {})
    assert store.claim(10, {}) == []
    pass_time(db, 31)
    (quick,) = store.claim(10, {})
    assert quick.delivery.delivery_id == slow.delivery.delivery_id
    late = store.settle([Finished(slow, judge_response(slow.delivery, 200))])
    assert (late["delivered"], late["lost"]) == (0, 1)
    assert deliveries(db) == [Row("pending", 0, None, None)]
    assert store.settle([Finished(quick, judge_response(quick.delivery, 200))])["delivered"] == 1


def test_two_workers_settle_the_last_two_webhooks_of_a_notice(db: Connection, receiver: Receiver) -> None:
    """The workers also delete the row in queue.notice."""
    publish(db, receiver.url("/200"), copies=2)
    claims = [DeliveryStore(db, None, 20).claim(1, {})[0] for _ in range(2)]
    for claimed in claims:
        DeliveryStore(db, None, 20).settle([Finished(claimed, judge_response(claimed.delivery, 200))])
    assert number(db, "select count(*) from queue.notice") == 0


def test_outcomes_outlive_a_lost_database(
    db: Connection, receiver: Receiver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run writes the outcomes over a new connection and does not repeat any delivery."""
    publish(db, receiver.url("/200"), copies=5)
    settings = Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"})
    deliverer = Deliverer(longest_run_seconds=5)
    broken = psycopg.connect(database.api_dsn, autocommit=True)
    settle = DeliveryStore.settle

    def lost(self: DeliveryStore, finished: list[Finished]) -> dict[str, int]:
        broken.close()
        return settle(self, finished)

    with monkeypatch.context() as patch:
        patch.setattr(DeliveryStore, "settle", lost)
        with pytest.raises(psycopg.Error):
            deliverer.run_once(settings, broken)
    assert len(deliverer.unwritten) == 5
    assert deliverer.run_once(settings, db)["delivered"] == 5
    assert receiver.count("/200") == 5


# --- what is told while it happens -----------------------------------------------------------------------------------
class Heard(Observer):
    """Records its calls."""

    def __init__(self) -> None:
        self.attempts: list[bool] = []
        self.counts: Counter[str] = Counter()

    def attempted(self, delivered: bool, seconds: float) -> None:
        assert seconds > 0
        self.attempts.append(delivered)

    def counted(self, counts: Mapping[str, int]) -> None:
        self.counts.update(counts)


def test_an_observer_hears_of_each_attempt_and_outcome(
    database: Database, db: Connection, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "WAIT_FOR_MORE_MS", 0)
    publish(db, receiver.url("/200"), receiver.url("/404"))
    heard = Heard()
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        settings = Settings.read({"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"})
        counts = Deliverer(longest_run_seconds=60, observer=heard).run_once(settings, connection)
    assert sorted(heard.attempts) == [False, True]
    assert heard.counts == counts
    assert (counts["delivered"], counts["exhausted"]) == (1, 1)


# --- bytes on the wire -----------------------------------------------------------------------------------------------
# Tests headers for SNS ("HTTP/HTTPS headers"), events, and Standard Webhooks.
SECRETS = [b"0" * 24, b"1" * 32]
SETTING = " ".join("whsec_" + base64.b64encode(secret).decode() for secret in SECRETS)


def posted(db: Connection, deliver: Deliver, receiver: Receiver, **notice: Any) -> tuple[str, Request]:
    """Returns the message id and the received request."""
    settings = notice.pop("settings", {})
    message_id = publish(db, receiver.url("/200?a=1"), **notice)
    receiver.responses["/200?a=1"] = receiver.responses["/200"]
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
    assert headers["Accept-Encoding"] == "gzip,deflate"  # recorded from AWS
    assert "x-amz-sns-rawdelivery" not in headers
    envelope = json.loads(request.body)
    assert envelope == {"arn": headers["x-amz-sns-subscription-arn"], "Message": "hello"}
    assert request.path == "/200?a=1"


def test_a_raw_notification(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    _, request = posted(db, deliver, receiver, raw=True, text="größer")
    assert request.headers["x-amz-sns-rawdelivery"] == "true"
    assert request.body.decode() == "größer"


def test_a_subscription_to_be_confirmed_shows_no_arn(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
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


@pytest.mark.parametrize("secret", ["abc", "whsec_", "whsec_???", "whsec_" + base64.b64encode(b"short").decode()])
def test_a_bad_secret_is_refused(secret: str) -> None:
    from penstock.delivery.http.request import read_secrets

    with pytest.raises(ValueError, match="whsec_"):
        read_secrets(secret)
