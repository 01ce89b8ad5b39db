"""Tests long polls (the notified process, the wait time, and the ready queues) and checks for messages without a
receive."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from penstock.postgres.statements.long_polls import (
    POLL_QUEUES,
    READY_QUEUES,
    RELEASE_POLL_SLOT,
    TAKE_POLL_SLOT,
    WATCH_QUEUES,
)
from penstock.postgres.statements.stored_messages import PEEK_MESSAGES
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BOTH,
    Connection,
    arn_of,
    call,
    change,
    change_by_id,
    create,
    delete,
    group,
    receive,
    rows_of,
    send,
    set_search_due,
)
from tests.support.wait import wait_until

pytestmark = pytest.mark.emptied

TOPIC = "arn:aws:sns:us-east-1:000000000000:t"
SUBSCRIBE = """select queue.add_subscription(
    %s, gen_random_uuid(), '000000000000', 'sqs', %s, %s, null, null, null, 200, 10000, null, null)"""
PUBLISH = """select queue.publish_messages(array[jsonb_build_object('message_id', gen_random_uuid(),
    'contents', '{"*": {"raw": "m"}}'::jsonb, 'facts', '{"MessageAttributes": {}}'::jsonb, 'attribute_bytes', 0,
    'request_bytes', 1)], %s, %s)"""

Look = tuple[set[str], str | None, int | None]


def watch(db: Connection, *arns: str) -> list[str]:
    return sorted(row.arn for row in call(db, WATCH_QUEUES, list(arns), uuid.uuid4(), None))


@pytest.fixture
def heard(connect: Connect) -> Callable[[], list[str]]:
    listener, payloads = connect(), list[str]()
    listener.add_notify_handler(lambda notice: payloads.append(notice.payload))
    listener.execute("listen penstock")

    def ask() -> list[str]:
        # The session processes the signals from earlier commits before its response ends.
        listener.execute("select 1")
        said = payloads[:]
        payloads.clear()
        return said

    return ask


@BOTH
def test_a_sender_notifies_once_and_only_when_somebody_waits(
    db: Connection, heard: Callable[[], list[str]], name: str
) -> None:
    arn = create(db, name)
    send(db, arn, "1", group=group(name))
    assert heard() == []
    assert watch(db, arn, arn_of("none")) == [arn]
    assert watch(db, arn) == [arn]
    send(db, arn, "2", group=group(name))
    send(db, arn, "3", group=group(name))
    assert heard() == [arn]
    assert rows_of(db, "watcher", arn) == 0


def test_the_notification_comes_with_the_commit(
    db: Connection, connect: Connect, heard: Callable[[], list[str]]
) -> None:
    arn = create(db)
    watch(db, arn)
    with connect() as application:
        application.execute("begin")
        send(application, arn, "m")
        assert heard() == []
        application.execute("rollback")
        assert heard() == []
        application.execute("begin")
        send(application, arn, "m")
        application.execute("commit")
    assert heard() == [arn]


def test_a_watcher_is_good_for_five_seconds(db: Connection, heard: Callable[[], list[str]]) -> None:
    arn = create(db)
    watch(db, arn)
    db.execute("update queue.watcher set registered_at = registered_at - interval '6 seconds'")
    send(db, arn, "m")
    assert heard() == []


def test_a_watcher_may_be_good_for_longer(db: Connection, heard: Callable[[], list[str]]) -> None:
    long, short = create(db, "long"), create(db, "short")
    call(db, WATCH_QUEUES, [long, short], uuid.uuid4(), [60, 1])
    db.execute("update queue.watcher set registered_at = registered_at - interval '4 seconds'")
    send(db, short, "m")
    assert heard() == [short]
    db.execute("update queue.watcher set registered_at = registered_at - interval '54 seconds'")
    send(db, long, "m")
    assert heard() == [long]
    call(db, WATCH_QUEUES, [long], uuid.uuid4(), [60])
    db.execute("update queue.watcher set registered_at = registered_at - interval '61 seconds'")
    send(db, long, "m")
    assert heard() == []


@BOTH
def test_a_sender_does_not_notify_its_own_process(db: Connection, heard: Callable[[], list[str]], name: str) -> None:
    """A setting names the process of the sender, which wakes its own waiting requests."""
    arn, own = create(db, name), uuid.uuid4()
    call(db, WATCH_QUEUES, [arn], own, None)
    db.execute("select set_config('queue.watcher', %s, false)", [str(own)])
    send(db, arn, "1", group=group(name))
    assert heard() == []
    assert db.execute("select watcher from queue.watcher").fetchall() == [(own,)]
    watch(db, arn)
    send(db, arn, "2", group=group(name))
    assert heard() == [arn]
    assert db.execute("select watcher from queue.watcher").fetchall() == [(own,)]
    # The process cannot detect when messages become visible again.
    change(db, receive(db, arn), 0)
    assert heard() == [arn]


def test_a_publisher_notifies_its_own_process_too(db: Connection, heard: Callable[[], list[str]]) -> None:
    arn, own = create(db), uuid.uuid4()
    db.execute("select queue.create_topic('000000000000', 'us-east-1', 't', '{}', '{}')")
    raw = json.dumps({"RawMessageDelivery": "true"})
    db.execute(SUBSCRIBE, [TOPIC, arn, raw])
    call(db, WATCH_QUEUES, [arn], own, None)
    db.execute("select set_config('queue.watcher', %s, false)", [str(own)])
    db.execute(PUBLISH, [TOPIC, "1"])
    assert heard() == [arn]
    assert [message.body for message in receive(db, arn)] == ["m"]
    assert db.execute("select current_setting('queue.watcher')").fetchall() == [(str(own),)]


def test_a_message_made_visible_is_announced(db: Connection, heard: Callable[[], list[str]]) -> None:
    arn = create(db)
    send(db, arn, "m")
    messages = receive(db, arn)
    watch(db, arn)
    change(db, messages, 10)
    assert heard() == []
    change(db, messages, 0)
    assert heard() == [arn]
    watch(db, arn)
    change_by_id(db, arn, messages[0].public_id, 0)
    assert heard() == [arn]


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_an_old_snapshot_may_notify_too(
    db: Connection, connect: Connect, heard: Callable[[], list[str]], isolation: str
) -> None:
    arn = create(db)
    watch(db, arn)
    with connect() as application:
        application.execute(f"begin isolation level {isolation}".encode())
        application.execute("select count(*) from queue.queues")
        send(db, arn, "first")  # The old snapshot still contains the watcher that this call removes.
        assert heard() == [arn]
        send(application, arn, "second")
        application.execute("commit")
    assert heard() == [arn]


def test_a_search_that_took_long_is_asked_for_once(db: Connection) -> None:
    """If the search stayed due, a long poll on an empty queue would find no message, learn that the queue is ready, and
    repeat both steps."""
    arn = create(db, "q.fifo")
    send(db, arn, "m", group="g")
    delete(db, receive(db, arn))
    set_search_due(db, arn)
    assert [row.arn for row in call(db, READY_QUEUES, [arn])] == [arn]
    assert receive(db, arn) == []
    assert call(db, READY_QUEUES, [arn]) == []


def test_queues_that_are_ready(db: Connection) -> None:
    standard, fifo, empty = create(db, "q", shards=3), create(db, "q.fifo"), create(db, "empty")
    everything = [standard, fifo, empty, arn_of("none")]

    def ready() -> set[str]:
        return {row.arn for row in call(db, READY_QUEUES, everything)} - {arn_of("none")}

    assert call(db, READY_QUEUES, everything) == [(arn_of("none"),)]
    send(db, standard, "1")
    send(db, fifo, "1", "2", group="g")
    assert ready() == {standard, fifo}
    held = [*receive(db, standard), *receive(db, fifo, 1)]
    assert ready() == set()
    change(db, held, 0)
    assert ready() == {standard, fifo}
    delete(db, [*receive(db, standard), *receive(db, fifo)])
    assert ready() == set()
    send(db, standard, "1", delay=100)
    assert ready() == set()
    assert call(db, READY_QUEUES, []) == []


def look(db: Connection, arns: list[str], seen: str | None = None) -> Look:
    """Returns the ready queues, and the snapshot and the time in the last row."""
    rows = call(db, POLL_QUEUES, arns, seen)
    return {str(row.arn) for row in rows[:-1]}, *((rows[-1].snapshot, rows[-1].wait_ms) if rows else (None, None))


def look_twice(db: Connection, arns: list[str]) -> tuple[Look, Look]:
    """Checks twice with one snapshot, because a vacuum could commit between two snapshots."""
    with db.transaction():
        db.execute("set transaction isolation level repeatable read")
        first = look(db, arns)
        return first, look(db, arns, first[1])


def test_a_look_says_for_how_long_it_holds(db: Connection) -> None:
    """The result is valid until a lease, delay or group wait ends in any queue."""
    standard, fifo, empty = create(db, "q", shards=3), create(db, "q.fifo"), create(db, "empty")
    everything = [standard, fifo, empty]
    (ready, snapshot, wait_ms), again = look_twice(db, everything)
    assert (ready, wait_ms) == (set(), 3_600_000)
    assert again == (set(), None, None)
    send(db, standard, "later", delay=800)
    ready, snapshot, wait_ms = look(db, everything, snapshot)
    assert not ready
    assert wait_ms is not None
    assert 790_000 < wait_ms <= 800_000
    send(db, fifo, "1", group="g")
    receive(db, fifo, visibility=600)
    _, snapshot, wait_ms = look(db, everything, snapshot)
    assert wait_ms is not None
    assert 590_000 < wait_ms <= 600_000
    send(db, standard, "1")
    assert look(db, everything, snapshot)[::2] == ({standard}, 0)
    receive(db, standard, visibility=400)
    ready, snapshot, wait_ms = look(db, everything)
    assert not ready
    assert wait_ms is not None
    assert 390_000 < wait_ms <= 400_000
    assert look(db, [*everything, arn_of("none")])[::2] == ({arn_of("none")}, 0)
    assert look(db, [empty])[2] == 3_600_000


def test_a_look_is_repeated_when_somebody_else_commits(db: Connection, connect: Connect) -> None:
    arn = create(db)
    with connect() as application:
        application.execute("begin")
        send(application, arn, "m")
        (ready, snapshot, _), again = look_twice(db, [arn])
        assert not ready
        assert again == (set(), None, None)
        application.execute("commit")
    assert look(db, [arn], snapshot)[0] == {arn}


@BOTH
def test_peeking_shows_each_state_page_by_page(db: Connection, name: str) -> None:
    arn = create(db, name, shards=2)
    for number in range(9):
        send(db, arn, str(number), group=f"g{number}" if name == "q.fifo" else None)
    in_flight = receive(db, arn, 4)
    change(db, in_flight[:1], 0)
    delayed = [] if name == "q.fifo" else send(db, arn, "later", delay=900)

    def pages(state: str) -> list[int]:
        found: list[int] = []
        while page := call(db, PEEK_MESSAGES, arn, state, found[-1] if found else 0, 2, None):
            found += [row.public_id for row in page]
        return found

    assert pages("in_flight") == sorted(d.public_id for d in in_flight[1:])
    assert len(pages("visible")) == 6
    assert in_flight[0].public_id in pages("visible")
    assert pages("visible") == sorted(pages("visible"))
    assert pages("delayed") == [row.id for row in delayed]
    assert pages("all") == sorted(pages("visible") + pages("in_flight") + pages("delayed"))
    (peeked,) = call(db, PEEK_MESSAGES, arn, "in_flight", 0, 1, None)
    assert peeked.body == min(in_flight[1:], key=lambda d: d.public_id).body
    assert peeked.attributes is None
    assert peeked.group_id == (f"g{peeked.body}" if name == "q.fifo" else None)


# --- poll slots ------------------------------------------------------------------------------------------------------
# A Lambda function's requests wait in slots. The number of slots is limited, and the slot of a lost request becomes
# free again.


GATEWAY, OTHER = "penstock-Gateway", "staging-Gateway"


def take(db: Connection, holder: UUID, slots: int, name: str = GATEWAY) -> list[int]:
    return [row.slot for row in call(db, TAKE_POLL_SLOT, name, holder, slots, 7.0)]


def release(db: Connection, holder: UUID, name: str = GATEWAY) -> list[int]:
    return [row.slot for row in call(db, RELEASE_POLL_SLOT, name, holder)]


def test_a_process_takes_no_more_slots_than_allowed(db: Connection) -> None:
    holders = [uuid4() for _ in range(3)]
    assert [take(db, holder, 2) for holder in holders] == [[1], [2], []]
    assert release(db, holders[0]) == [1]
    assert take(db, holders[2], 2) == [1]
    assert take(db, uuid4(), 0, OTHER) == []


def test_each_function_has_its_own(db: Connection) -> None:
    holder = uuid4()
    assert take(db, uuid4(), 1) == take(db, holder, 1, OTHER) == [1]
    assert release(db, holder) == []
    assert take(db, uuid4(), 1, OTHER) == []


def test_a_holder_that_is_gone_loses_its_slot_after_its_time(db: Connection) -> None:
    gone, other = uuid4(), uuid4()
    take(db, gone, 1)
    db.execute("update queue.poll_slot set ends_at = ends_at - interval '6.5 s'")
    assert take(db, other, 1) == []
    db.execute("update queue.poll_slot set ends_at = ends_at - interval '0.5 s'")
    assert take(db, other, 1) == [1]
    assert release(db, gone) == []  # The first request continues without its slot.
    assert take(db, uuid4(), 1) == []


def test_a_simultaneous_caller_waits_for_the_response(connect: Connect) -> None:
    """A slot that another open transaction has taken is not free, so the call takes another slot."""
    first, second, observer = connect(), connect(), connect()
    for slots, found in ((1, []), (2, [2])):
        name = f"{GATEWAY}-{slots}"
        with ThreadPoolExecutor(1) as thread:
            with first.transaction():
                assert take(first, uuid4(), slots, name) == [1]
                waiting = thread.submit(take, second, uuid4(), slots, name)
                wait_until(lambda: _waits(observer, second))
            assert waiting.result() == found


def _waits(observer: Connection, connection: Connection) -> bool:
    row = observer.execute(
        "select wait_event = 'advisory' from pg_stat_activity where pid = %s", [connection.info.backend_pid]
    ).fetchone()
    return bool(row and row[0])
