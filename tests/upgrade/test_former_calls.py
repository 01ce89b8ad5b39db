"""Migrations come first, so the previous release runs on this schema: all that it calls is there, with its results.

The list was recorded when that release was made (record.py); test_rolling.py shows the same with its code.
"""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from tests.database import Database
from tests.sql.calls import create
from tests.upgrade.record import results
from tests.upgrade.release import PREVIOUS

RECORDED = json.loads(Path(__file__).with_name("calls.json").read_text())


def test_the_list_is_that_of_the_previous_release() -> None:
    assert RECORDED["release"] == PREVIOUS
    assert None not in RECORDED["calls"].values()


def test_everything_it_calls_is_there(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        assert dict(results(connection, list(RECORDED["calls"]))) == RECORDED["calls"]


TOPIC = "arn:aws:sns:us-east-1:000000000000:news"
ONCE = "select queue.create_topic('000000000000', 'us-east-1', 'news', '{}', '{}')"
SUBSCRIBE = """
select arn from queue.add_subscription(%s, gen_random_uuid(), '000000000000', 'sqs', %s,
    '{"RawMessageDelivery": "true"}', %s::jsonb, null, null)"""
PUBLISH = """
select * from queue.publish_messages(%s, '1', array[gen_random_uuid()], array['{"*": {"raw": "text"}}']::jsonb[],
    array[null]::jsonb[], array[0], array[%s]::jsonb[], array[null]::jsonb[], array[null]::text[], array[null]::text[],
    array[null]::text[])"""


@pytest.mark.parametrize(
    ("policy", "facts", "copies"),
    [
        # As its filter_policy.py compiled {"kind": ["a", {"prefix": "b"}]} and the like.
        ('[[["kind", [["in", ["a"]], ["prefix", "b"]]]]]', '{"kind": ["a"]}', 1),
        ('[[["kind", [["in", ["a"]], ["prefix", "b"]]]]]', '{"kind": ["beta"]}', 1),
        ('[[["kind", [["in", ["a"]], ["prefix", "b"]]]]]', '{"kind": ["c"]}', 0),
        ('[[["kind", [["in", ["a"]], ["prefix", "b"]]]]]', '{"other": ["a"]}', 0),
        ('[[["kind", [["not", [["in", ["a"]]]]]]]]', '{"kind": ["c"]}', 1),
        ('[[["size", [["numeric", [">", 10]]]]]]', '{"size": [11]}', 1),
        ('[[["size", [["numeric", [">", 10]]]]]]', '{"size": [10]}', 0),
        ('[[["kind", [["exists", false]]]]]', '{"other": ["a"]}', 1),
    ],
)
def test_filter_policies_it_has_stored_hold(database: Database, policy: str, facts: str, copies: int) -> None:
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        queue = create(connection, "reader")
        connection.execute(ONCE)
        connection.execute(SUBSCRIBE, (TOPIC, queue, policy))
        connection.execute(PUBLISH, (TOPIC, facts))
        found = connection.execute(
            "select count(*) from (select from queue.log union all select from queue.side) m"
        )
        assert found.fetchone() == (copies,)


def test_attributes_it_sets(database: Database) -> None:
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        queue = create(connection, "reader")
        connection.execute(ONCE)
        (row,) = connection.execute(SUBSCRIBE, (TOPIC, queue, None)).fetchall()
        for arn, function in (
            (row[0], "set_subscription_attributes(%s, '{}', null)"),
            (TOPIC, "set_topic_attributes(%s, '{}')"),
        ):
            asked = f"select found from queue.{function}".encode()
            assert connection.execute(asked, (arn,)).fetchall() == [(True,)]
            assert connection.execute(asked, (arn + "x",)).fetchall() == [(False,)]
