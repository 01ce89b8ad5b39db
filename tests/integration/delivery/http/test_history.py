"""queue.outgoing_delivery_history: the outcome of deliveries, once each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.delivery.http.outcome import judge_answer
from penstock.delivery.store import DeliveryStore, Finished
from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from tests.support.delivery.rows import number, pass_time, publish
from tests.support.sql.calls import Connection, call, create

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
    """Another worker has claimed the webhook since."""
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
    call(db, MAINTAIN_INSTALLATION, 1000, 30)
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
