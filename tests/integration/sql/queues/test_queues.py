"""Tests how SQL creates, finds, describes, lists, changes and deletes queues."""

import json
import re

import psycopg
import pytest

from penstock.errors import AwsError
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


VALUES = (
    "", "-1", "0", "1", "20", "21", "59", "60", "900", "901", "1023", "1024", "43200", "43201", "86400", "86401",
    "1048576", "1048577", "1209600", "1209601", "315360000", "315360001", "2147483648", "00000000060", " 60", "60 ",
    "6e1", "60.0", "٦٠", "60\n", "true", "false", "yes", "null", "queue", "messageGroup", "perQueue",
    "perMessageGroupId",
)  # fmt: skip
POLICIES = {"Policy", "RedrivePolicy", "RedriveAllowPolicy"}


@pytest.mark.parametrize("fifo", [False, True])
def test_the_sql_interface_accepts_the_values_that_the_service_accepts(db: Connection, fifo: bool) -> None:
    """The service also accepts `True`, and stores `true`."""
    names = {**attributes.STANDARD, **attributes.FIFO, **attributes.EXTENSIONS, "Other": None}.keys() - POLICIES
    difference = set()
    for name in names:
        for text in VALUES:
            given = {name: text} | ({"DeduplicationScope": "messageGroup"} if text == "perMessageGroupId" else {})
            try:
                attributes.check_queue_attributes(given, fifo, creating=True, extensions=True)
                accepted = name != "FifoQueue" or fifo
            except AwsError:
                accepted = False
            problem = value(db, "select queue.attribute_problem(%s, %s)", json.dumps(given), fifo)
            if (problem is None) is not accepted:
                difference.add((name, text, problem))
    assert difference == set()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"VisibilityTimeout": "43201"}, 'VisibilityTimeout is "43201" and not 0 to 43200'),
        ({"VisibilityTimeout": 60}, "VisibilityTimeout is not a text"),
        ({"DelaySeconds": None}, "DelaySeconds is not a text"),
        ({"delayseconds": "1"}, 'there is no queue attribute "delayseconds"'),
        ({"paused": "TRUE"}, 'paused is "TRUE" and not true or false'),
        ({"FifoQueue": "true"}, "FifoQueue is an attribute of FIFO queues only"),
        ([], "attributes is not a JSON object"),
        (None, "attributes is not a JSON object"),
        ({"RedrivePolicy": "{"}, "RedrivePolicy is not a JSON object"),
        ({"RedrivePolicy": "[]"}, "RedrivePolicy is not a JSON object"),
        ({"RedrivePolicy": '{"deadLetterTargetArn": "a"}'}, "RedrivePolicy is not a JSON object"),
        ({"RedrivePolicy": '{"deadLetterTargetArn": "a", "maxReceiveCount": 0}'}, "RedrivePolicy is not a JSON object"),
        ({"RedrivePolicy": '{"deadLetterTargetArn": "a", "maxReceiveCount": 1001}'}, "maxReceiveCount, 1 to 1000"),
    ],
)
def test_the_sql_interface_refuses_attributes(db: Connection, given: object, problem: str) -> None:
    with pytest.raises(psycopg.Error, match=re.escape(problem)) as raised:
        db.execute("select queue.create('q', %s)", (json.dumps(given),))
    assert raised.value.sqlstate == "QU003"
    assert value(db, "select count(*) from queue.queues") == 0


def test_the_sql_interface_refuses_attributes_of_fifo_queues(db: Connection) -> None:
    for given in ({"MaximumMessageSize": "1023"}, {"FifoThroughputLimit": "perMessageGroupId"}):
        with pytest.raises(psycopg.Error, match=next(iter(given))) as raised:
            db.execute("select queue.create_fifo('f', %s)", (json.dumps(given),))
        assert raised.value.sqlstate == "QU003"
    assert value(db, "select count(*) from queue.queues") == 0


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
