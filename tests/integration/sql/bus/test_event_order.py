"""Tests publications on event buses: their order, open transactions, deduplication, and the end of their retention."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from threading import Thread

import psycopg
import pytest

from tests.integration.sql.conftest import Connect
from tests.support.events import BUS, add_bus, put, sequence
from tests.support.sql.calls import Connection, value
from tests.support.wait import wait_until

ENTRY = '{"Data": "text"}'
TOO_LONG = f"[{ENTRY.replace('text', 'x' * 600_000)}, {ENTRY.replace('text', 'y' * 600_000)}]"
TOO_MANY = f"[{', '.join([ENTRY] * 101)}]"


@pytest.fixture
def bus(db: Connection) -> str:
    return add_bus(db)


def delivered(db: Connection, bus: str = BUS) -> list[str]:
    """Returns the bodies of the bus's events in the order of the pages."""
    return [
        row[0]
        for row in db.execute(
            "select convert_from(e.data, 'UTF8') from queue.event_page p join queue.event_bus b on b.bus_id = p.bus_id "
            "cross join lateral unnest(p.numbers) with ordinality u(number, n) "
            "join queue.event e on e.number = u.number where b.arn = %s order by p.page, u.n",
            [bus],
        ).fetchall()
    ]


def check_that_all_gaps_end(db: Connection) -> None:
    """Fails if a gap remains or an event appears. Other databases of the server share its transaction ids, so their
    open transactions can delay the end of a gap.
    """

    def have_ended() -> bool:
        assert sequence(db) == 0
        return bool(value(db, "select not exists (select from queue.event_gap)"))

    wait_until(have_ended)


@contextmanager
def transaction(connect: Connect) -> Iterator[Connection]:
    with connect() as connection:
        connection.execute("begin")
        yield connection


def test_an_open_transaction_delays_only_its_own_events(db: Connection, bus: str, connect: Connect) -> None:
    with transaction(connect) as forgotten:
        put(forgotten, bus, "late 1", "late 2")
        for n in range(3):
            put(db, bus, f"early {n}")
            assert sequence(db) == 1
        assert delivered(db) == ["early 0", "early 1", "early 2"]
        forgotten.execute("commit")
    assert sequence(db) == 2
    assert delivered(db)[3:] == ["late 1", "late 2"]
    assert sequence(db) == 0
    assert value(db, "select count(*) from queue.event_gap") == 0


def test_a_gap_shrinks_with_each_commit(db: Connection, bus: str, connect: Connect) -> None:
    with transaction(connect) as first, transaction(connect) as second:
        put(first, bus, "first")
        put(second, bus, "second")
        put(db, bus, "third")
        assert sequence(db) == 1
        second.execute("commit")
        assert sequence(db) == 1
        assert sequence(db) == 0
        first.execute("commit")
        assert sequence(db) == 1
    assert delivered(db) == ["third", "second", "first"]
    assert value(db, "select count(*) from queue.event_gap") == 0


def test_a_late_event_comes_before_the_events_that_follow_its_commit(
    db: Connection, bus: str, connect: Connect
) -> None:
    with transaction(connect) as late:
        put(late, bus, "1")
        put(db, bus, "0")
        assert sequence(db) == 1
        late.execute("commit")
    put(db, bus, "2")
    assert sequence(db) == 2
    assert delivered(db) == ["0", "1", "2"]


def test_the_youngest_transaction_is_waited_for(db: Connection, bus: str, connect: Connect) -> None:
    """No later transaction has completed, so the snapshot does not list the open one."""
    with transaction(connect) as old, transaction(connect) as young:
        put(old, bus, "0")
        put(young, bus, "1")
        put(old, bus, "2")
        old.execute("commit")
        assert sequence(db) == 2
        assert sequence(db) == 0
        young.execute("commit")
        assert sequence(db) == 1
    assert delivered(db) == ["0", "2", "1"]


def test_a_gap_that_a_transaction_with_an_older_id_notes_is_waited_for(
    db: Connection, bus: str, connect: Connect
) -> None:
    """The creation of a subscriber sequences in a transaction that has its id already."""
    with transaction(connect) as creator, transaction(connect) as publisher:
        creator.execute("select pg_current_xact_id()")
        put(publisher, bus, "late")
        put(db, bus, "early")
        assert sequence(creator) == 1
        creator.execute("commit")
        for _ in range(3):
            assert sequence(db) == 0
        publisher.execute("commit")
        assert sequence(db) == 1
    assert delivered(db) == ["early", "late"]
    check_that_all_gaps_end(db)


def test_a_gap_from_another_cluster_ends(db: Connection, bus: str, connect: Connect) -> None:
    """After a restore into a new cluster, the transaction ids of the gap are far above those of the cluster. A
    publisher may have begun before `check_server` noticed the move."""
    with transaction(connect) as publisher, transaction(connect) as undone:
        put(undone, bus, "undone")
        put(publisher, bus, "late")
        put(db, bus, "early")
        assert sequence(db) == 1
        undone.execute("rollback")
        db.execute("update queue.event_gap set last_xid = '80000000009', snapshot = '80000000000:80000000000:'")
        assert value(db, "select queue.check_server(true)") is True
        for _ in range(3):
            assert sequence(db) == 0
        publisher.execute("commit")
        assert sequence(db) == 1
    assert delivered(db) == ["early", "late"]
    check_that_all_gaps_end(db)


def test_a_read_can_end_inside_a_call(db: Connection, bus: str) -> None:
    bodies = [str(n) for n in range(250)]
    put(db, bus, *bodies[:240])
    put(db, bus, *bodies[240:])
    found = [sequence(db, limit=1) for _ in range(7)]
    assert (found[0] < 240, sum(found), found[6]) == (True, 250, 0)
    assert delivered(db) == bodies
    assert value(db, "select count(*) from queue.event_gap") == 0


def test_a_call_can_have_more_events_than_a_block_of_numbers(db: Connection, bus: str) -> None:
    bodies = [str(n) for n in range(2_049)]
    numbers = [number for _, number, _ in put(db, bus, *bodies)]
    assert numbers == sorted(set(numbers))
    assert sequence(db, limit=5_000) == 2_049
    assert delivered(db) == bodies
    assert value(db, "select count(*) from queue.event_gap") == 0


def test_duplicates_leave_no_gap(db: Connection, bus: str) -> None:
    put(db, bus, "1", deduplication_ids=["a"])
    put(db, bus, "2", "3", deduplication_ids=["a", "b"])
    put(db, bus, "4", deduplication_ids=["a"])
    put(db, bus, "5")
    assert sequence(db) == 3
    assert delivered(db) == ["1", "3", "5"]
    check_that_all_gaps_end(db)


def test_a_rollback_leaves_no_gap(db: Connection, bus: str, connect: Connect) -> None:
    with transaction(connect) as undone:
        put(undone, bus, "undone")
        put(db, bus, "kept")
        assert sequence(db) == 1
        assert value(db, "select count(*) from queue.event_gap") == 1
        undone.execute("rollback")
    check_that_all_gaps_end(db)
    assert delivered(db) == ["kept"]


def test_an_event_with_the_first_number_of_all_can_be_late(db: Connection, bus: str, connect: Connect) -> None:
    with transaction(connect) as late:
        put(late, bus, "late")
        assert sequence(db) == sequence(db) == 0
        assert value(db, "select (queue.due_work()).due") == ["events"]
        late.execute("commit")
    assert sequence(db) == 1
    assert value(db, "select (queue.due_work()).due") == []


def test_a_savepoint_that_is_rolled_back_takes_its_events_with_it(db: Connection, bus: str, connect: Connect) -> None:
    with transaction(connect) as one:
        put(one, bus, "1")
        one.execute("savepoint s")
        put(one, bus, "undone")
        one.execute("rollback to s")
        put(one, bus, "2")
        put(db, bus, "other")
        assert sequence(db) == 1
        one.execute("commit")
    assert sequence(db) == 2
    assert delivered(db) == ["other", "1", "2"]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_every_isolation_level_publishes(db: Connection, bus: str, connect: Connect, level: str) -> None:
    with connect() as old:
        old.execute(f"begin isolation level {level}")
        old.execute("select 1")
        put(db, bus, "1")
        put(old, bus, "2", "3")
        old.execute("commit")
    assert sequence(db) == 3
    assert delivered(db) == ["1", "2", "3"]


def publish_and_roll_back(connection: Connection, bus: str, publisher: int) -> list[str]:
    """Returns the bodies of the committed events in their order."""
    random = Random(publisher)
    kept: list[str] = []
    for round_ in range(25):
        bodies = [f"{publisher} {round_} {n}" for n in range(random.randint(1, 4))]
        undone = random.random() < 0.3
        connection.execute("begin")
        put(connection, bus, *bodies)
        connection.execute("rollback" if undone else "commit")
        kept += [] if undone else bodies
    return kept


def test_concurrent_publishers_keep_their_order(db: Connection, bus: str, connect: Connect) -> None:
    """Eight publishers publish and roll back at random while two workers sequence. Each event has one place, and each
    publisher's events have the order of its commits."""
    expected: dict[int, list[str]] = {}

    def publish(publisher: int) -> None:
        with connect() as connection:
            expected[publisher] = publish_and_roll_back(connection, bus, publisher)

    def work() -> None:
        with connect() as connection:
            while len(expected) < 8:
                sequence(connection, 7)

    threads = [*(Thread(target=publish, args=[n]) for n in range(8)), Thread(target=work), Thread(target=work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while sequence(db):
        pass
    found = delivered(db)
    assert len(found) == len(set(found)) == sum(map(len, expected.values()))
    for publisher, kept in expected.items():
        assert [body for body in found if body.startswith(f"{publisher} ")] == kept
    check_that_all_gaps_end(db)


def test_pages_belong_to_one_bus_and_have_at_most_200_events(db: Connection, bus: str) -> None:
    other = BUS.replace("orders", "other")
    add_bus(db, "other", other)
    put(db, bus, *[str(n) for n in range(240)])
    put(db, other, "other")
    put(db, bus, "last")
    assert sequence(db, 5000) == 242
    pages = db.execute(
        "select p.page, cardinality(p.numbers), p.events_before from queue.event_page p "
        "join queue.event_bus b on b.bus_id = p.bus_id where b.arn = %s order by p.page",
        [bus],
    ).fetchall()
    assert pages == [(1, 200, 0), (2, 41, 200)]
    assert delivered(db, other) == ["other"]
    assert delivered(db) == [*map(str, range(240)), "last"]


def test_large_events_share_a_page_of_about_a_mebibyte(db: Connection, bus: str) -> None:
    for n in range(10):
        put(db, bus, str(n) * 131_072)
    assert sequence(db) == 10
    sizes = db.execute("select cardinality(numbers) from queue.event_page order by page").fetchall()
    assert sizes == [(7,), (3,)]


# --- deduplication ---------------------------------------------------------------------------------------------------
def test_a_duplicate_has_the_values_of_the_original(db: Connection, bus: str) -> None:
    (first, other), (again, new) = (
        put(db, bus, "a", "b", deduplication_ids=["x", None]),
        put(db, bus, "changed", "c", deduplication_ids=["x", "y"]),
    )
    assert again == (first[0], first[1], True)
    assert (new[2], other[2]) == (False, False)
    sequence(db)
    assert delivered(db) == ["a", "b", "c"]


def test_equal_entries_of_a_call_are_duplicates(db: Connection, bus: str) -> None:
    first, second, third = put(db, bus, "a", "b", "c", deduplication_ids=["x", "x", "z"])
    assert (second, third[2]) == ((first[0], first[1], True), False)
    sequence(db)
    assert delivered(db) == ["a", "c"]


@pytest.mark.parametrize(
    ("first", "second", "is_duplicate"),
    [
        ({"deduplication_ids": ["x"], "groups": ["a"]}, {"deduplication_ids": ["x"], "groups": ["a"]}, True),
        ({"deduplication_ids": ["x"], "groups": ["a"]}, {"deduplication_ids": ["x"], "groups": ["b"]}, False),
        ({"deduplication_ids": ["x"], "groups": ["a"]}, {"deduplication_ids": ["x"]}, False),
        ({"content_hashes": [b"h"]}, {"content_hashes": [b"h"]}, True),
        ({"content_hashes": [b"h"]}, {"deduplication_ids": ["68"]}, False),
        ({"content_hashes": [b"h"], "deduplication_ids": ["x"]}, {"deduplication_ids": ["x"]}, True),
    ],
)
def test_the_scope_of_a_deduplication_id_is_its_group(
    db: Connection, bus: str, first: dict[str, object], second: dict[str, object], is_duplicate: bool
) -> None:
    put(db, bus, "a", **first)
    ((_, _, found),) = put(db, bus, "b", **second)
    assert found is is_duplicate


def test_a_deduplication_id_lasts_300_seconds_from_its_first_use(db: Connection, bus: str) -> None:
    ((event_id, _, _),) = put(db, bus, "a", deduplication_ids=["x"])
    earlier = "update queue.event_deduplication set expires_at = expires_at - interval '%s seconds'"
    db.execute(earlier % 299)
    ((found, _, is_duplicate),) = put(db, bus, "b", deduplication_ids=["x"])
    assert (found, is_duplicate) == (event_id, True)
    db.execute(earlier % 1)
    assert put(db, bus, "c", deduplication_ids=["x"])[0][2] is False


def test_a_rolled_back_deduplication_id_is_free(db: Connection, bus: str, connect: Connect) -> None:
    with transaction(connect) as undone:
        put(undone, bus, "a", deduplication_ids=["x"])
        undone.execute("rollback")
    assert put(db, bus, "b", deduplication_ids=["x"])[0][2] is False


# --- the SQL interface -----------------------------------------------------------------------------------------------
def test_put_events_belongs_to_the_callers_transaction(db: Connection, bus: str, connect: Connect) -> None:
    entries = (
        '[{"Source": "shop", "DetailType": "OrderPlaced", "Detail": {"n": 1}, "Time": "2026-11-30T01:02:03Z"}, '
        '{"Data": [1, {"ü": null}], "Metadata": {"k": "v"}, "SystemMetadata": {"EventGroupId": "g"}}]'
    )
    with transaction(connect) as undone:
        undone.execute("select * from queue.put_events('orders', %s)", [entries])
        undone.execute("rollback")
    rows = db.execute("select event_id, sequence_number from queue.put_events('orders', %s)", [entries]).fetchall()
    assert sequence(db) == 2
    envelope, raw = delivered(db)
    event = value(db, "select %s::jsonb", envelope)
    assert event == {
        "version": "0",
        "id": str(rows[0][0]),
        "detail-type": "OrderPlaced",
        "source": "shop",
        "account": "000000000000",
        "time": "2026-11-30T01:02:03Z",
        "region": "us-east-1",
        "resources": [],
        "detail": {"n": 1},
    }
    assert value(db, "select %s::jsonb", raw) == [1, {"ü": None}]
    assert [len(str(row[1])) for row in rows] == [20, 20]
    assert rows[0][1] < rows[1][1]


@pytest.mark.parametrize(
    "entries",
    [
        None,
        "null",
        "{}",
        "[]",
        "[1]",
        "[{}]",
        '[{"Source": "aws.x", "DetailType": "t"}]',
        '[{"Source": "", "DetailType": "t"}]',
        '[{"Source": "s"}]',
        '[{"Source": null, "DetailType": "t"}]',
        '[{"Source": "s", "DetailType": "t", "Detail": []}]',
        '[{"Source": "s", "DetailType": "t", "Detail": "{}"}]',
        '[{"Source": "s", "DetailType": "t", "Time": "yesterday at noon"}]',
        '[{"Source": "s", "DetailType": "t", "Resources": "arn"}]',
        '[{"Source": "s", "DetailType": "t", "Detial": {}}]',
        '[{"Source": "s", "DetailType": "t", "Data": 1}]',
        '[{"Data": 1, "Metadata": {"a": 1}}]',
        '[{"Data": 1, "Metadata": {"a/b": "c"}}]',
        '[{"Data": 1, "Metadata": []}]',
        '[{"Data": 1, "SystemMetadata": {"EventGroupId": ""}}]',
        '[{"Data": 1, "SystemMetadata": {"Eventgroupid": "g"}}]',
        '[{"Data": 1, "SystemMetadata": "g"}]',
        TOO_LONG,
        TOO_MANY,
    ],
    ids=lambda entries: str(entries)[:40],
)
def test_put_events_refuses_what_is_not_allowed(db: Connection, bus: str, entries: str | None) -> None:
    with pytest.raises(psycopg.Error) as caught:
        db.execute("select * from queue.put_events('orders', %s)", [entries])
    assert caught.value.sqlstate == "QU003"


def test_put_events_refuses_an_unknown_bus(db: Connection) -> None:
    with pytest.raises(psycopg.Error, match="does not exist") as caught:
        db.execute("""select * from queue.put_events('other', '[{"Data": 1}]')""")
    assert caught.value.sqlstate == "QU001"


# --- retention -------------------------------------------------------------------------------------------------------
def test_maintenance_drops_the_partitions_after_the_retention(db: Connection) -> None:
    add_bus(db, "orders", BUS, 3)
    put(db, BUS, "a")
    sequence(db)
    partition = value(db, "select tableoid::regclass::text from queue.event")
    assert partition.startswith("queue.event_4_")  # Three days share partitions with four.
    db.execute(f"alter table queue.event detach partition {partition}")
    db.execute(f"drop table {partition}")
    db.execute(
        "create table queue.event_4_20200101 partition of queue.event "
        "for values from (4, '2020-01-01 00:00Z') to (4, '2020-01-02 00:00Z')"
    )
    db.execute("update queue.event_page set sequenced_at = sequenced_at - interval '6 days'")
    put(db, BUS, "b")
    sequence(db)
    db.execute("select queue.maintain_events(100)")
    names = [
        row[0]
        for row in db.execute(
            "select inhrelid::regclass::text from pg_inherits where inhparent = 'queue.event'::regclass"
        )
    ]
    assert "queue.event_4_20200101" not in names
    assert delivered(db) == ["b"]
    assert value(db, "select min(page) from queue.event_page") == 2


def test_events_of_a_missing_partition_are_kept_and_expire(db: Connection, bus: str) -> None:
    for (name,) in db.execute(
        "select inhrelid::regclass::text from pg_inherits "
        "where inhparent = 'queue.event'::regclass and inhrelid::regclass::text ~ '_1_'"
    ).fetchall():
        db.execute(f"drop table {name}")
    put(db, bus, "old", "new")
    sequence(db)
    assert value(db, "select count(*) from queue.event_default") == 2
    db.execute("update queue.event set ingested_at = ingested_at - interval '25 hours' where data = 'old'")
    db.execute("select queue.maintain_events(100)")
    assert delivered(db) == ["new"]


def test_a_day_has_a_partition_before_it_begins(db: Connection, bus: str) -> None:
    put(db, bus, "a")
    assert value(db, "select tableoid::regclass::text from queue.event") != "queue.event_default"
    db.execute("select queue.maintain_events(100)")
    ends = value(
        db,
        "select max((regexp_match(inhrelid::regclass::text, '_1_(.*)$'))[1]::date) - "
        "(now() at time zone 'utc')::date from pg_inherits where inhparent = 'queue.event'::regclass",
    )
    assert ends == 2


def test_pages_of_a_deleted_bus_are_removed(db: Connection, bus: str) -> None:
    put(db, bus, "a")
    sequence(db)
    assert value(db, "select deleted from queue.delete_event_bus(%s)", bus) is True
    put_later = "select error from queue.put_bus_events(%s, 'a', array[gen_random_uuid()], '{1}', array['x'::bytea])"
    assert value(db, put_later, bus) == "ResourceNotFound"
    db.execute(
        "insert into queue.event_cursor (bus_id, subscriber_id, page) select max(bus_id) + n, n, 1 "
        "from queue.event_page, generate_series(0, 1) n group by n"
    )
    db.execute("select queue.maintain_events(100)")
    assert value(db, "select count(*) from queue.event_page") == 0
    assert value(db, "select count(*) from queue.event_cursor") == 0
