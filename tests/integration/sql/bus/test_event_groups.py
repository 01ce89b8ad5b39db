"""Tests FIFO subscribers: the events of a group arrive in order, and an event that cannot be delivered holds up only
its group."""

import json
from collections.abc import Callable
from itertools import combinations, count
from random import Random

import pytest
from psycopg.types.json import Jsonb

from penstock.workers.events import EventDeliverer
from tests.integration.sql.conftest import Connect
from tests.support.events import BUS, SETTINGS, add_bus, change_state, expire_pauses, put, run, subscribe, take
from tests.support.sql.calls import Connection, arn_of, create, receive, value

TWICE = {"MaxRetryAttempts": 1, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}
ALWAYS = {"MaxRetryAttempts": 185, "MaxEventAgeInSeconds": 86_400, "RetryStrategy": "ALL"}
NEVER = {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


def follow(db: Connection, target: str, name: str = "fifo", **configuration: object) -> str:
    """Creates a FIFO subscriber."""
    arn = subscribe(db, target, name, **configuration)  # type: ignore[arg-type]
    db.execute("update queue.event_subscriber set type = 'FIFO' where arn = %s", [arn])
    return arn


def refuse(db: Connection, number: int) -> None:
    """Limits the length of a queue's messages, so that the queue refuses longer ones."""
    db.execute("update queue.queues set attributes = attributes || %s", [Jsonb({"MaximumMessageSize": str(number)})])


LONG = json.dumps("x" * 2000)


def in_order(db: Connection, queue: str) -> list[str]:
    """Returns the bodies in the order in which one shard received them."""
    return [
        row[0]
        for row in db.execute(
            "select body from queue.log l join queue.queues q on q.queue_id = l.queue_id "
            "where q.arn = %s order by l.id",
            [queue],
        ).fetchall()
    ]


def test_an_event_that_is_refused_holds_up_its_group_only(db: Connection) -> None:
    queue = create(db, "q")
    follow(db, queue)
    refuse(db, 1024)
    put(db, BUS, '"a1"', LONG, '"a3"', '"b1"', '"free"', groups=["a", "a", "a", "b", None])
    put(db, BUS, '"b2"', '"a4"', groups=["b", "a"])
    run(db, delivered=4)
    assert in_order(db, queue) == ['"a1"', '"b1"', '"free"', '"b2"']
    put(db, BUS, '"a5"', groups=["a"])
    run(db)
    assert value(db, "select count(*) from queue.event_retry") == 4
    refuse(db, 262_144)
    expire_pauses(db)
    run(db, delivered=4)
    put(db, BUS, '"a6"', groups=["a"])
    run(db, delivered=1)
    assert in_order(db, queue)[4:] == [LONG, '"a3"', '"a4"', '"a5"', '"a6"']
    assert value(db, "select count(*) from queue.event_retry") == 0


def test_a_group_goes_on_after_its_event_has_ended(db: Connection) -> None:
    queue, dead = create(db, "q"), create(db, "dead")
    follow(db, queue, RetryPolicy=TWICE, OnFailureConfiguration={"Arn": dead})
    refuse(db, 1024)
    put(db, BUS, LONG, '"2"', '"3"', groups=["a", "a", "a"])
    run(db)
    expire_pauses(db)
    run(db, failed=1, delivered=2)
    assert in_order(db, queue) == ['"2"', '"3"']
    (message,) = receive(db, dead, 10)
    assert json.loads(message.body)["failedMessages"][0]["eventGroupId"] == "a"


def test_without_retries_a_group_goes_on_at_once(db: Connection) -> None:
    queue = create(db, "q")
    follow(db, queue, RetryPolicy=NEVER)
    refuse(db, 1024)
    put(db, BUS, LONG, '"2"', LONG, '"4"', groups=["a", "a", "a", "a"])
    run(db, failed=2, dropped=2, delivered=2)
    assert in_order(db, queue) == ['"2"', '"4"']


def test_a_missing_queue_gets_each_group_in_order_when_it_exists(db: Connection) -> None:
    follow(db, arn_of("missing"))
    expected = {group: [f'"{group}{n}"' for n in range(20)] for group in "abc"}
    for n in range(20):
        put(db, BUS, *(expected[group][n] for group in "abc"), groups=["a", "b", "c"])
        if n % 7 == 0:
            run(db)
    run(db)
    queue = create(db, "missing")
    expire_pauses(db)
    run(db, delivered=60)
    found = in_order(db, queue)
    assert {group: [body for body in found if group in body] for group in "abc"} == expected


def test_the_publishers_account_is_a_part_of_the_group(db: Connection) -> None:
    queue = create(db, "q")
    follow(db, queue)
    refuse(db, 1024)
    put(db, BUS, LONG, groups=["a"])
    db.execute("update queue.event set account_id = '111111111111'")
    put(db, BUS, '"mine"', groups=["a"])
    run(db, delivered=1)
    assert in_order(db, queue) == ['"mine"']


def test_an_unordered_subscriber_does_not_wait(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, queue, "unordered")
    refuse(db, 1024)
    put(db, BUS, LONG, '"2"', groups=["a", "a"])
    run(db, delivered=1)
    assert in_order(db, queue) == ['"2"']


def test_two_subscribers_of_one_queue_do_not_hold_up_each_other(db: Connection) -> None:
    good = create(db, "good")
    follow(db, arn_of("missing"), "missing")
    follow(db, good, "good")
    put(db, BUS, '"1"', '"2"', groups=["a", "a"])
    run(db, delivered=2)
    assert in_order(db, good) == ['"1"', '"2"']


def test_an_event_beyond_its_retention_frees_its_group(db: Connection) -> None:
    queue = create(db, "q")
    follow(db, queue)
    refuse(db, 1024)
    put(db, BUS, LONG, '"2"', groups=["a", "a"])
    run(db)
    db.execute("delete from queue.event where octet_length(data) > 1024")
    expire_pauses(db)
    run(db, dropped=1, delivered=1)
    assert in_order(db, queue) == ['"2"']


def test_a_stopped_subscriber_keeps_its_groups(db: Connection) -> None:
    queue = create(db, "q")
    arn = follow(db, queue)
    refuse(db, 1024)
    put(db, BUS, LONG, '"2"', groups=["a", "a"])
    run(db)
    change_state(db, arn, "STOPPED")
    refuse(db, 262_144)
    expire_pauses(db)
    put(db, BUS, '"3"', groups=["a"])
    run(db)
    assert in_order(db, queue) == []
    change_state(db, arn, "RUNNING")
    run(db, delivered=3)
    assert in_order(db, queue) == [LONG, '"2"', '"3"']


def test_a_subscriber_with_too_many_waiting_events_reads_no_further(db: Connection) -> None:
    queue, other = create(db, "q"), create(db, "other")
    follow(db, queue, "full")
    subscribe(db, other, "other")
    refuse(db, 1024)
    put(db, BUS, LONG, groups=["a"])
    db.execute(
        'update queue.queues set attributes = attributes || \'{"MaximumMessageSize": "9999"}\' where arn = %s', [other]
    )
    run(db, delivered=1)
    db.execute(
        "insert into queue.event_retry (bus_id, subscriber_id, number, ingested_at, group_key, attempts, due_at) "
        "select bus_id, subscriber_id, -n, now(), 'other', 0, 'infinity' "
        "from queue.event_retry, generate_series(1, 9999) n"
    )
    put(db, BUS, '"2"', groups=["b"])
    run(db, delivered=1)
    put(db, BUS, '"3"', groups=["b"])
    run(db, delivered=1)
    assert in_order(db, queue) == []
    db.execute("delete from queue.event_retry where group_key = 'other'")
    run(db, delivered=2)
    assert in_order(db, queue) == ['"2"', '"3"']
    assert len(take(db, other)) == 3
    put(db, BUS, '"4"', groups=["b"])
    run(db, delivered=2)
    assert value(db, "select bool_and(follows) from queue.event_subscriber")


class Publishers:
    """A publisher whose transactions commit at once, and one whose transaction stays open."""

    def __init__(self, db: Connection, late: Connection, random: Random) -> None:
        self._db = db
        self._late = late
        self._random = random
        self._open: list[str] = []
        self._clock = count()
        self.published: dict[str, int] = {}
        self.committed: dict[str, int] = {}

    def publish(self) -> None:
        body = self._put(self._db)
        self.committed[body] = next(self._clock)

    def publish_late(self) -> None:
        if not self._open:
            self._late.execute("begin")
        self._open.append(self._put(self._late))

    def commit(self) -> None:
        if self._open:
            self._late.execute("commit")
        self.committed.update(dict.fromkeys(self._open, next(self._clock)))
        self._open.clear()

    def find_disorder(self, bodies: list[str]) -> list[tuple[str, str]]:
        """Returns pairs of a group of which the second was committed before the first was published."""
        return [
            (first, second)
            for first, second in combinations(bodies, 2)
            if first[1] == second[1] and self.committed[second] < self.published[first]
        ]

    def _put(self, connection: Connection) -> str:
        group, number = self._random.choice("abcd"), next(self._clock)
        body = json.dumps(f"{group}{number}" + "x" * self._random.choice([0, 2000]))
        put(connection, BUS, body, groups=[group])
        self.published[body] = number
        return body


@pytest.mark.parametrize("seed", range(3))
def test_groups_keep_their_order_whatever_fails(db: Connection, connect: Connect, seed: int) -> None:
    """Limits change, and transactions commit late. Each event arrives once, and after all events of its group that were
    committed before its publication."""
    random = Random(seed)
    queue = create(db, "q")
    follow(db, queue, RetryPolicy=ALWAYS)
    publishers = Publishers(db, connect(), random)
    acts: list[Callable[[], object]] = [
        *[publishers.publish] * 3,
        publishers.publish_late,
        publishers.commit,
        lambda: refuse(db, random.choice([1024, 262_144])),
        lambda: expire_pauses(db),
        *[lambda: EventDeliverer().run_once(SETTINGS, db)] * 2,
    ]
    for _ in range(80):
        random.choice(acts)()
    publishers.commit()
    refuse(db, 262_144)
    for _ in range(3):
        expire_pauses(db)
        EventDeliverer().run_once(SETTINGS, db)
    found = in_order(db, queue)
    assert sorted(found) == sorted(publishers.committed)
    assert publishers.find_disorder(found) == []
    assert value(db, "select count(*) from queue.event_retry") == 0
