"""Tests the log of attempts, and endpoints that an operator pauses (docs/reference/webhooks.md).

Also tests queue.outgoing_delivery_history, which contains each delivery's outcome once.
"""

from collections import Counter
from typing import Any

import pytest

from penstock.delivery.http import sender as sender_module
from penstock.delivery.http.outcome import judge_answer
from penstock.delivery.outcome import Finished
from penstock.delivery.store import DeliveryStore
from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from tests.support.delivery.receiver import Receiver
from tests.support.delivery.rows import deliveries, number, pass_time, publish
from tests.support.sql.calls import ACCOUNT, Connection, call, create

from .conftest import Deliver

BAD = "http://bad.example/"
THROTTLED = {"throttlePolicy": {"maxReceivesPerSecond": 5}}


def logged(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute(
        "select endpoint, attempt, outcome, status, error, answer, account_id, sent_bytes > 100, duration_ms >= 0"
        " from queue.outgoing_delivery_attempt order by endpoint, attempt"
    ).fetchall()


def test_each_attempt_is_logged(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    urls = {path: receiver.url(path) for path in ("/200", "/404", "/500", "/hang_up")}
    publish(db, *urls.values())
    deliver(webhook_log_answers=True)
    lost = "the endpoint closed the connection"
    # The log never keeps answers from the operator's network, and the setting does not change that.
    assert logged(db) == [
        (urls["/200"], 1, "delivered", 200, None, None, ACCOUNT, True, True),
        (urls["/404"], 1, "given_up", 404, "HTTP status 404", None, ACCOUNT, True, True),
        (urls["/500"], 1, "retried", 500, "HTTP status 500", None, ACCOUNT, True, True),
        (urls["/hang_up"], 1, "retried", None, lost, None, ACCOUNT, True, True),
    ]
    pass_time(db, 20)
    deliver()
    assert [row[1:3] for row in logged(db) if row[0] == urls["/500"]] == [(1, "retried"), (2, "retried")]


@pytest.mark.parametrize(
    ("path", "setting", "kept"),
    [("/200", True, "ok"), ("/long", True, "\ufffdé" + "x" * 253), ("/204", True, ""), ("/200", False, None)],
)
def test_of_public_addresses_the_answers_are_kept(
    db: Connection, deliver: Deliver, receiver: Receiver, monkeypatch: pytest.MonkeyPatch,
    path: str, setting: bool, kept: str | None,
) -> None:  # fmt: skip
    monkeypatch.setattr(sender_module, "is_public", lambda _: True)
    body = b"\0" + "é".encode() + b"x" * 9_000
    receiver.answers["/long"] = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    publish(db, receiver.url(path))
    deliver(webhook_log_answers=setting)
    assert [row[2:6] for row in logged(db)] == [
        ("delivered", int(path[1:]) if path != "/long" else 200, None, kept)
    ]


def test_a_body_that_never_ends_takes_nothing_from_the_status(
    db: Connection, deliver: Deliver, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt ends while the service reads the body. The status decides the outcome, with and without the log."""
    monkeypatch.setattr(sender_module, "is_public", lambda _: True)
    receiver.answers["/half"] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    publish(db, receiver.url("/half"), kind="event", raw=True)
    deliver(webhook_log_answers=True, queue_http_delivery_timeout_secs=1)
    assert [row[2:6] for row in logged(db)] == [("delivered", 200, None, "half")]


def test_a_paused_endpoint_gets_nothing_until_it_is_resumed(
    db: Connection, deliver: Deliver, receiver: Receiver
) -> None:
    """The pause also applies to subscriptions with a separate rate, and to webhooks older than an hour."""
    url, other = receiver.url("/200"), receiver.url("/204")
    publish(db, url, other)
    deliver()
    assert paused(db, url)
    publish(db, url, other)
    publish(db, url, policy=THROTTLED)
    pass_time(db, 7_200)
    deliver()
    assert (receiver.count("/200"), receiver.count("/204")) == (1, 2)
    assert [row.attempts for row in deliveries(db)] == [0, 0]
    listed = "select endpoint, stopped, waiting from queue.list_delivery_endpoints(%s, 100)"
    assert db.execute(listed, (ACCOUNT,)).fetchall() == [(url, True, 1), (other, False, None)]
    assert resumed(db, url)
    deliver()
    assert receiver.count("/200") == 3
    assert not resumed(db, url)


def test_an_answer_of_an_attempt_under_way_ends_no_pause(db: Connection) -> None:
    store = DeliveryStore(db, None, 20)
    publish(db, BAD, copies=3)
    claims = store.claim(50, {})
    assert paused(db, BAD) is False  # the service does not know the endpoint yet
    store.settle([Finished(claims[0], judge_answer(claims[0].delivery, 503))])
    assert paused(db, BAD)
    store.settle([Finished(claim, judge_answer(claim.delivery, 200)) for claim in claims[1:]])
    pass_time(db, 3_600)
    assert store.claim(50, {}) == []
    assert number(db, "select count(*) from queue.outgoing_delivery") == 1


def test_deliveries_that_were_given_up_are_tried_again_in_pages(
    db: Connection, deliver: Deliver, receiver: Receiver
) -> None:
    publish(db, receiver.url("/404"), copies=5)
    publish(db, receiver.url("/404?b"))
    receiver.answers["/404?b"] = receiver.answers["/404"]
    deliver()
    since = db.execute("select clock_timestamp()").fetchall()[0][0]
    publish(db, receiver.url("/404"))
    deliver()
    retry = "select * from queue.retry_deliveries(%s, %s, %s, %s, %s)"
    assert db.execute(retry, ("111122223333", None, None, None, 9)).fetchall() == [(0, None)]
    assert db.execute(retry, (ACCOUNT, receiver.url("/404"), since, None, 9)).fetchall() == [(1, None)]
    ((first, last),) = db.execute(retry, (ACCOUNT, receiver.url("/404"), None, None, 3)).fetchall()
    assert (first, db.execute(retry, (ACCOUNT, None, None, last, 9)).fetchall()) == (3, [(3, None)])
    receiver.answers["/404"] = receiver.answers["/404?b"] = receiver.answers["/204"]
    deliver()
    assert deliveries(db) == []


def paused(db: Connection, url: str) -> bool:
    ((known,),) = db.execute(
        "select known from queue.pause_delivery_endpoint(%s, %s)", (ACCOUNT, url)
    ).fetchall()
    return bool(known)


def resumed(db: Connection, url: str) -> bool:
    ((known,),) = db.execute(
        "select known from queue.resume_delivery_endpoint(%s, %s)", (ACCOUNT, url)
    ).fetchall()
    return bool(known)


URL = "http://receiver.example/"
ONCE = {"healthyRetryPolicy": {"minDelayTarget": 1, "maxDelayTarget": 1, "numRetries": 0}}
FINISHED = "select outcome, attempts, published_at <= finished_at from queue.finished_delivery"


def settle(store: DeliveryStore, status: int, limit: int = 20) -> dict[str, int]:
    claims = store.claim(limit, {})
    return store.settle([Finished(claimed, judge_answer(claimed.delivery, status)) for claimed in claims])


def finished(db: Connection) -> Counter[Any]:
    return Counter(db.execute(FINISHED.encode()).fetchall())


def test_deliveries_settled_together_are_one_row(db: Connection, store: DeliveryStore) -> None:
    publish(db, URL, copies=5)
    created = db.execute("select min(created_at), max(created_at) from queue.outgoing_delivery").fetchone()
    settle(store, 200)
    assert finished(db) == {("delivered", 1, True): 5}
    assert number(db, "select count(*) from queue.outgoing_delivery_history") == 1
    published = "select min(published_at), max(published_at) from queue.finished_delivery"
    assert db.execute(published.encode()).fetchone() == created


def test_a_delivery_that_is_tried_again_has_not_ended(db: Connection, store: DeliveryStore) -> None:
    publish(db, URL)
    assert settle(store, 503)["retried"] == 1
    assert finished(db) == {}
    pass_time(db, 3600)
    assert settle(store, 200)["delivered"] == 1
    assert finished(db) == {("delivered", 2, True): 1}


@pytest.mark.parametrize(("dead_letters", "outcome"), [(False, "exhausted"), (True, "dead_lettered")])
def test_a_delivery_that_was_given_up(
    db: Connection, store: DeliveryStore, dead_letters: bool, outcome: str
) -> None:
    publish(db, URL, policy=ONCE, dead_letters=create(db, "dead") if dead_letters else None)
    assert settle(store, 503)[outcome] == 1
    assert finished(db) == {(outcome, 1, True): 1}


def test_an_outcome_that_comes_too_late_is_not_recorded(db: Connection, store: DeliveryStore) -> None:
    """Another worker has since claimed the webhook."""
    publish(db, URL)
    (late,) = store.claim(1, {})
    pass_time(db, 3600)
    (claimed,) = store.claim(1, {})
    assert store.settle([Finished(late, judge_answer(late.delivery, 200))])["lost"] == 1
    assert finished(db) == {}
    store.settle([Finished(claimed, judge_answer(claimed.delivery, 200))])
    assert finished(db) == {("delivered", 1, True): 1}


def test_its_partitions_come_and_go_as_those_of_the_messages(db: Connection) -> None:
    db.execute("select queue.add_history_day('outgoing_delivery_history', '2020-02-29')")
    call(db, MAINTAIN_INSTALLATION, 1000, 30, None)
    parts = db.execute(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = 'queue.outgoing_delivery_history'::regclass"
        " and c.relname ~ '^outgoing_delivery_history_[0-9]{8}$'"
    ).fetchall()
    today = db.execute("select to_char(now() at time zone 'utc', 'YYYYMMDD')").fetchone()
    assert today is not None
    assert min(name for (name,) in parts) == f"outgoing_delivery_history_{today[0]}"
    assert len(parts) == 3


def test_partitions_of_other_tables_are_not_made(db: Connection) -> None:
    """The function runs as the owner of the schema."""
    db.execute("select queue.add_history_day('log', '2020-02-29')")
    assert number(db, "select count(*) from pg_class where relname like '%20200229%'") == 0
