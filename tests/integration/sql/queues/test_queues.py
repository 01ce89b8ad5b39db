"""Tests how SQL creates, finds, describes, lists, changes and deletes queues."""

import json

import pytest

from penstock.postgres.statements.installation import NEXT_QUEUES, SHARED_SECRET
from penstock.postgres.statements.queues import (
    CREATE_QUEUE,
    DESCRIBE_QUEUE,
    DROP_QUEUE,
    LIST_QUEUES,
    SET_QUEUE_ATTRIBUTES,
    CreatedQueueRow,
)
from penstock.settings import Settings
from penstock.sqs import attributes
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import ACCOUNT, REGION, Connection, arn_of, call, create, send, value


def create_described(
    db: Connection, name: str, supplied: dict[str, str] | None = None, recreate_seconds: int = 0
) -> CreatedQueueRow:
    defaults = value(db, "select queue.default_attributes(%s)", name.endswith(".fifo"))
    row = (ACCOUNT, REGION, name, json.dumps(supplied or {}), json.dumps(defaults), None, 2, recreate_seconds)
    return call(db, CREATE_QUEUE, *row)[0]


@pytest.mark.parametrize("fifo", [False, True])
def test_the_defaults_in_sql_are_those_of_the_service(db: Connection, fifo: bool) -> None:
    assert value(db, "select queue.default_attributes(%s)", fifo) == attributes.build_defaults(fifo, Settings.read({}))


def test_queues_of_the_sql_interface_have_the_stored_defaults(db: Connection) -> None:
    settings = Settings.read({})
    stored = "select array[shards, visibility_timeout_seconds] from queue.new_queue_default"
    assert value(db, stored) == [settings.queue_shards, settings.queue_default_visibility_timeout]
    db.execute("update queue.new_queue_default set shards = 3, visibility_timeout_seconds = 45")
    db.execute("select queue.create('q')")
    assert value(db, "select array[shards, visibility_timeout_seconds] from queue.queues where name = 'q'") == [3, 45]


def test_a_queue_is_made_once(db: Connection) -> None:
    """Equal or absent attributes find the existing queue. Different attributes raise an error (CreateQueue, API
    reference)."""
    arn = arn_of("q")
    assert create_described(db, "q", {"DelaySeconds": "5"}) == (arn, True, None, None)
    assert create_described(db, "q", {"DelaySeconds": "5"}) == (arn, False, None, None)
    assert create_described(db, "q") == (arn, False, None, None)
    assert create_described(db, "q", {"DelaySeconds": "6"}) == (arn, False, "QueueNameExists", "DelaySeconds")
    assert create_described(db, "q", {"VisibilityTimeout": "30"}) == (arn, False, None, None)


def test_a_deleted_name_is_refused_for_a_while_when_asked_for(db: Connection) -> None:
    arn = create(db, "q")
    assert call(db, DROP_QUEUE, arn) == [(None,)]
    assert call(db, DROP_QUEUE, arn) == [("QueueDoesNotExist",)]
    assert create_described(db, "q", recreate_seconds=60) == (arn, False, "QueueDeletedRecently", "60")
    assert create_described(db, "q") == (arn, True, None, None)


def test_a_description(db: Connection) -> None:
    arn = create(db, "q", VisibilityTimeout="7")
    send(db, arn, "m")
    (row,) = call(db, DESCRIBE_QUEUE, arn, True)
    assert (row.name, row.fifo, json.loads(row.attributes)["VisibilityTimeout"]) == ("q", False, "7")
    assert json.loads(row.tags) == {}
    assert row.created_at_ms == row.modified_at_ms
    assert (row.visible, row.in_flight, row.delayed, row.total_messages) == (1, 0, 0, 1)
    assert (row.oldest_age_seconds, row.newest_age_seconds) == (0, 0)
    (row,) = call(db, DESCRIBE_QUEUE, arn, False)
    assert {row.visible, row.in_flight, row.delayed, row.total_messages} == {None}
    assert (row.oldest_age_seconds, row.newest_age_seconds) == (None, None)
    assert call(db, DESCRIBE_QUEUE, arn_of("none"), True) == []


def test_attributes_are_replaced_and_removed(db: Connection) -> None:
    arn = create(db, "q", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn_of("d"), "maxReceiveCount": "3"}))
    assert value(db, "select max_receive_count from queue.queues") == 3
    change = json.dumps({"VisibilityTimeout": "9", "RedrivePolicy": None})
    assert call(db, SET_QUEUE_ATTRIBUTES, arn, change, None, None) == [(None,)]
    row = db.execute(
        "select visibility_timeout_seconds, max_receive_count, attributes ? 'RedrivePolicy' from queue.queues"
    )
    assert row.fetchone() == (9, None, False)
    assert call(db, SET_QUEUE_ATTRIBUTES, arn_of("none"), "{}", None, None) == [("QueueDoesNotExist",)]


def test_lists_are_in_the_order_of_names(db: Connection) -> None:
    """The list is sorted by bytes, so capital letters precede small letters. `_` in the prefix is not a wildcard."""
    for name in ("b", "a_1", "ab1", "B", "a_2.fifo"):
        create(db, name)

    def names(prefix: str | None, after: str | None, limit: int = 10) -> list[str]:
        return [row.name for row in call(db, LIST_QUEUES, ACCOUNT, REGION, prefix, after, limit)]

    assert names(None, None) == ["B", "a_1", "a_2.fifo", "ab1", "b"]
    assert names("a_", None) == ["a_1", "a_2.fifo"]
    assert names(None, "a_1", 2) == ["a_2.fifo", "ab1"]
    assert call(db, LIST_QUEUES, "111111111111", REGION, None, None, 10) == []


def next_queues(db: Connection, limit: int, pause_ms: int = 0) -> list[int]:
    return [row.queue_id for row in call(db, NEXT_QUEUES, "w", limit, pause_ms)]


def test_a_worker_goes_through_all_queues_in_pieces(db: Connection) -> None:
    """A round begins with the id 0, which represents rows without a queue."""
    for name in "abc":
        create(db, name)
    ids = [row[0] for row in db.execute("select queue_id from queue.queues order by 1")]
    pieces = [next_queues(db, 2) for _ in range(4)]
    assert pieces == [[0, *ids[:2]], ids[2:], [], [0, *ids[:2]]]


def test_a_round_without_queues_ends_too(db: Connection) -> None:
    assert [next_queues(db, 2) for _ in range(3)] == [[0], [], [0]]


def test_workers_share_a_round_and_the_pause_after_it(db: Connection, connect: Connect) -> None:
    """Two workers measure different queues. Both workers wait until the pause ends before they begin another round."""
    for name in "abc":
        create(db, name)
    other = connect()
    hour_ms = 3_600_000
    seen = [*next_queues(db, 2, hour_ms), *next_queues(other, 2, hour_ms)]
    assert sorted(seen) == [0, *sorted(row[0] for row in db.execute("select queue_id from queue.queues"))]
    assert [next_queues(c, 2, hour_ms) for c in (db, other, db)] == [[], [], []]
    db.execute("update queue.worker_position set ran_at = ran_at - interval '61 minutes'")
    assert len(next_queues(other, 2, hour_ms)) == 3


def test_the_previous_release_asks_without_a_pause(db: Connection) -> None:
    create(db, "a")
    assert len(db.execute("select * from queue.next_queues('w', 2)").fetchall()) == 2


def test_the_first_secret_stays(db: Connection) -> None:
    assert call(db, SHARED_SECRET, "s", b"one") == [(b"one",)]
    assert call(db, SHARED_SECRET, "s", b"two") == [(b"one",)]
