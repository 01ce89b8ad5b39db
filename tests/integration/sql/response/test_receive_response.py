"""Tests queue.receive_response, which leaves messages that do not fit into a response, and skips a message that is too
long for any response.

The expected results follow from two rules of AWS. A receive "might return fewer" messages than requested
(ReceiveMessage, MaxNumberOfMessages). The receive count is the number of receives without a delete (Message,
ApproximateReceiveCount), and a message that no response contained was not received.
"""

from collections.abc import Callable

import psycopg
import pytest

from penstock.postgres.statements.messages import RECEIVE_ATTEMPT, RECEIVE_RESPONSE
from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.sql.calls import (
    BOTH,
    Connection,
    Counts,
    Delivery,
    Entry,
    bodies,
    call,
    change,
    change_by_id,
    counts,
    create,
    delete,
    history,
    maintain,
    queue_id,
    receive,
    redrive,
    rows_of,
    send,
    send_entries,
    value,
)

LIMIT = 100_000
LONG = '"' * 25_000  # Each quote takes four bytes in JSON that is embedded in JSON.
SHORT = "short"


def response(
    db: Connection,
    arn: str,
    count: int = 10,
    limit: int | None = LIMIT,
    kind: str = "function-json",
    visibility: int | None = None,
) -> tuple[str | None, list[Delivery]]:
    """Returns the header's error and the messages."""
    share = count if arn.endswith(".fifo") else 10
    header, *rows = call(db, RECEIVE_RESPONSE, arn, count, share, visibility, None, False, limit, kind)
    return header.error, rows


def send_each(db: Connection, arn: str, *texts: str) -> None:
    """Sends each message in a different group if the queue is a FIFO queue."""
    for number, text in enumerate(texts):
        send(db, arn, text, group=f"g{number}" if arn.endswith(".fifo") else None)


# --- several messages ------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize(
    ("kind", "limit"), [("function-json", 100_000), ("function-xml-ascii", 80_000), ("json", 95_000), ("xml", 95_000)]
)
def test_as_many_as_fit_and_the_others_stay(db: Connection, name: str, kind: str, limit: int) -> None:
    """Each limit has room for three messages of 30,000 bytes, or for two messages and some space, but never for
    four."""
    dead = create(db, "dead.fifo" if name.endswith(".fifo") else "dead")
    arn = create(db, name, RedrivePolicy=redrive(dead, 1))
    texts = [f"{number}" * 30_000 for number in range(7)]
    send_each(db, arn, *texts)
    found = []
    while rows := response(db, arn, limit=limit, kind=kind)[1]:
        assert 1 <= len(rows) <= 3
        assert {row.receive_count for row in rows} == {1}
        found += bodies(rows)
    assert found == texts
    assert (counts(db, arn), counts(db, dead)) == (Counts(0, 7, 0), Counts(0, 0, 0))


@BOTH
def test_short_messages_come_together(db: Connection, name: str) -> None:
    arn = create(db, name)
    send_each(db, arn, *"0123456789")
    for kind in ("json", "function-json"):
        error, rows = response(db, arn, kind=kind, visibility=0)
        assert (error, bodies(rows)) == (None, [*"0123456789"])


@BOTH
@pytest.mark.parametrize(("kind", "limit"), [("json", 4_200_000), ("xml", 4_200_000), ("function-json", LIMIT)])
def test_messages_that_did_not_fit_are_unchanged(db: Connection, name: str, kind: str, limit: int) -> None:
    """The other messages have no lease, receive count or receive time, as if the caller had requested fewer
    messages."""
    one, other = create(db, name), create(db, f"other-{name}")
    body = "x" * (10_000 if kind.startswith("function") else 500_000)
    for arn in (one, other):
        send_each(db, arn, *[body] * 9)
    _, rows = response(db, one, limit=limit, kind=kind)
    assert 0 < len(rows) < 9
    assert len(receive(db, other, len(rows))) == len(rows)
    for table, column in (("lease", "ids"), ("side", "id"), ("fifo_message", "receive_count")):
        states = [
            value(
                db,
                f"select array_agg({column}::text order by {column}::text) from queue.{table} where queue_id = %s",
                queue_id(db, arn),
            )
            for arn in (one, other)
        ]
        assert states[0] == states[1], table


@BOTH
def test_a_long_one_behind_short_ones_comes_alone(db: Connection, name: str) -> None:
    arn = create(db, name)
    texts = [SHORT, "x" * 98_000, SHORT]
    send_each(db, arn, *texts)
    assert [bodies(response(db, arn)[1]) for _ in range(4)] == [*([text] for text in texts), []]


@pytest.mark.parametrize(("length", "count"), [(350_000, 20), (450_000, 9)])
def test_merged_requests_have_a_limit_each(db: Connection, length: int, count: int) -> None:
    """In the container, one caller receives ten messages, and another caller receives ten other messages. The messages
    of each caller fit into one response."""
    arn = create(db)
    send_each(db, arn, *["x" * length] * 20)
    _, rows = response(db, arn, 20, limit=4_200_000, kind="json")
    assert len(rows) == count


@pytest.mark.parametrize(
    ("kind", "character", "growth"),
    [
        ("json", "x", 1), ("json", '"', 2), ("json", "é", 2), ("xml", "x", 1), ("xml", '"', 6), ("xml", "\n", 1),
        ("function-json", "x", 1), ("function-json", '"', 4), ("function-json", "\n", 3),
        ("function-json-ascii", "é", 6), ("function-xml", '"', 6), ("function-xml", "\n", 2),
    ],
)  # fmt: skip
def test_just_below_the_limit_both_come_and_just_above_one(
    db: Connection, kind: str, character: str, growth: int
) -> None:
    """The test sends two messages that the encoders escape. A response has 1,500 bytes in addition to the messages."""
    arn = create(db)
    body = character * 30_000
    send_each(db, arn, body, body)
    both = 2 * (growth * 30_000 + (1_500 if kind.startswith("function") else 1_000))
    assert bodies(response(db, arn, limit=both, kind=kind, visibility=0)[1]) == [body, body]
    assert bodies(response(db, arn, limit=both - 1, kind=kind, visibility=0)[1]) == [body]


# --- one message -----------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("kind", ["json", "xml"])
def test_the_container_hands_out_any_single_message(db: Connection, name: str, kind: str) -> None:
    arn = create(db, name)
    send_each(db, arn, LONG, LONG)
    for _ in range(2):
        error, rows = response(db, arn, limit=10_000, kind=kind)
        assert (error, bodies(rows)) == (None, [LONG])


def never_received(db: Connection, arn: str) -> int:
    send_each(db, arn, LONG)
    return 0


def received_before(db: Connection, arn: str) -> int:
    """Receives the message, and ends its lease."""
    send_each(db, arn, LONG)
    assert len(receive(db, arn, 1, visibility=0)) == 1
    return 1


def in_the_slow_path(db: Connection, arn: str) -> int:
    send_each(db, arn, LONG)
    assert change(db, receive(db, arn, 1), 0) == ["changed"]
    return 1


@BOTH
@pytest.mark.parametrize("put", [never_received, received_before, in_the_slow_path])
def test_a_message_that_is_too_long_is_passed_over(
    db: Connection, name: str, put: Callable[[Connection, str], int]
) -> None:
    """The long message can have any position, and any number of receives can skip it. The other messages arrive first,
    and then the container receives the long message."""
    dead = create(db, "dead.fifo" if name.endswith(".fifo") else "dead")
    arn = create(db, name, RedrivePolicy=redrive(dead, 2))
    before = put(db, arn)
    for _ in range(4):
        assert response(db, arn) == ("ResponseTooLarge", [])
    send(db, arn, SHORT, group="other")
    assert bodies(response(db, arn)[1]) == [SHORT]
    assert response(db, arn) == ("ResponseTooLarge", [])
    assert (counts(db, arn), counts(db, dead)) == (Counts(1, 1, 0), Counts(0, 0, 0))
    ((row,),) = [response(db, arn, limit=4_200_000, kind="json")[1]]
    assert (row.body, row.receive_count) == (LONG, before + 1)
    assert response(db, arn) == (None, [])
    assert delete(db, [row]) == ["deleted"]
    maintain(db, arn)
    assert history(db, arn) == {"deleted": 1}


def test_one_of_a_lease_is_passed_over(db: Connection) -> None:
    """Receives return the other messages of the expired lease again, and the old handles still delete them."""
    arn = create(db)
    send_each(db, arn, SHORT, LONG, SHORT)
    old = receive(db, arn, 3, visibility=0)
    taken = [row for _ in range(3) for row in response(db, arn)[1]]
    assert [(row.body, row.receive_count) for row in taken] == [(SHORT, 2)] * 2
    assert response(db, arn) == ("ResponseTooLarge", [])
    assert delete(db, [old[0], taken[1]]) == ["deleted"] * 2
    assert delete(db, [old[1]]) == ["deleted"]  # Another interface received the message.
    assert counts(db, arn) == Counts(0, 0, 0)


def test_a_message_of_a_noisy_group_is_passed_over(db: Connection) -> None:
    """The lease of the message has no consumer (fair queues)."""
    arn = create(db)
    send(db, arn, *[SHORT] * 60, group="noisy")
    assert len([*receive(db, arn, 10), *receive(db, arn, 50)]) == 60
    send(db, arn, LONG, group="noisy")
    send(db, arn, *[SHORT] * 20, group="quiet")
    assert len(receive(db, arn, 10)) == 10
    assert rows_of(db, "deferred", arn) == 1
    assert len(response(db, arn)[1]) == 10
    assert response(db, arn) == ("ResponseTooLarge", [])
    (row,) = receive(db, arn)
    assert (row.body, row.receive_count) == (LONG, 1)


def test_a_long_message_is_measured_once(db: Connection) -> None:
    """Later receives read the stored length. A receive with a higher limit returns the message without measuring it."""
    arn = create(db)
    send_each(db, arn, LONG)
    response(db, arn)
    measured = value(db, "select response_bytes from queue.side where queue_id = %s", queue_id(db, arn))
    assert measured == {"function-json": 4 * 25_000 + 1_500}
    # The size equals the size of a short message.
    db.execute("update queue.side set response_bytes = '{\"function-json\": 1}'")
    assert response(db, arn) == ("ResponseTooLarge", [])
    assert value(db, "select response_bytes from queue.side where queue_id = %s", queue_id(db, arn)) == measured
    assert bodies(response(db, arn, limit=110_000)[1]) == [LONG]


def test_each_format_is_measured_on_its_own(db: Connection) -> None:
    """A body of angle brackets is four times as long in XML as in JSON."""
    arn = create(db)
    send_each(db, arn, "<" * 30_000)
    assert response(db, arn, kind="function-xml") == ("ResponseTooLarge", [])
    assert len(response(db, arn, kind="function-json")[1]) == 1


def test_many_are_passed_over_at_once(db: Connection) -> None:
    arn = create(db)
    send_each(db, arn, *[LONG] * 30, SHORT)
    assert bodies(response(db, arn)[1]) == [SHORT]
    assert rows_of(db, "side", arn) == 30
    assert sorted({row.receive_count for row in [*receive(db, arn), *receive(db, arn, 20)]}) == [1]


def test_measuring_ends_long_before_the_calls_deadline(db: Connection, database: Database) -> None:
    """If a call exceeded its deadline, PostgreSQL would roll it back, and the next call would measure all messages
    again."""
    arn = create(db, "q")
    send_each(db, arn, *[LONG] * 4)
    with psycopg.connect(database.dsn, autocommit=True) as superuser:
        superuser.execute(
            "create or replace function queue.response_bytes(p_message queue.received_row, p_format text) returns int "
            "language sql as 'select pg_sleep(1.05); select 200000'"
        )
    assert response(db, arn) == (None, [])
    noted = value(db, "select count(*) from queue.side where response_bytes is not null")
    assert 1 <= noted < 4


def test_dead_letters_behind_many_that_are_passed_over_are_moved(db: Connection) -> None:
    """If only functions receive, the skipped messages stay at the front until their retention ends."""
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send_each(db, arn, *[SHORT] * 120, LONG)
    assert change(db, receive(db, arn, 121), 0) == ["changed"] * 121
    db.execute(
        "update queue.side set receive_count = 0, response_bytes = '{\"function-json\": 1000000}' where body = %s",
        [SHORT],
    )
    assert response(db, arn) == ("ResponseTooLarge", [])
    assert (counts(db, arn), counts(db, dead)) == (Counts(120, 0, 0), Counts(1, 0, 0))


@BOTH
def test_a_receive_is_refused_only_when_all_messages_have_been_measured(db: Connection, name: str) -> None:
    """A receive of one message measures at most 20 messages. The next receive finds the messages behind the measured
    messages."""
    arn = create(db, name)
    send_each(db, arn, *[LONG] * 25, SHORT)
    assert response(db, arn, 1) == (None, [])
    assert bodies(response(db, arn, 1)[1]) == [SHORT]
    assert response(db, arn, 1) == ("ResponseTooLarge", [])


# --- FIFO ------------------------------------------------------------------------------------------------------------
def test_the_group_of_a_long_message_waits_for_it(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "a1", LONG, "a3", group="a")
    send(db, arn, "b1", "b2", group="b")
    first = response(db, arn)[1]
    assert bodies(first) == ["a1"]
    assert bodies(response(db, arn)[1]) == ["b1", "b2"]
    assert delete(db, first) == ["deleted"]
    assert response(db, arn) == ("ResponseTooLarge", [])
    long = receive(db, arn, 1)
    assert bodies(long) == [LONG]
    assert response(db, arn) == (None, [])
    assert delete(db, long) == ["deleted"]
    assert bodies(response(db, arn)[1]) == ["a3"]


def test_many_groups_that_wait_are_not_locked(db: Connection, connect: Connect) -> None:
    """The number of groups does not matter, because receives with a higher limit take the messages in the meantime."""
    arn = create(db, "q.fifo")
    entries = [Entry(SHORT, group=f"g{number}", deduplication=f"{number}") for number in range(1_001)]
    send_entries(db, arn, entries)
    measured = "update queue.fifo_message set response_bytes = '{\"function-json\": 1000000}'"
    db.execute(f"{measured} where group_key < (select max(group_key) from queue.fifo_message)")
    other = connect()
    with db.transaction():
        assert len(response(db, arn)[1]) == 1
        assert response(db, arn) == ("ResponseTooLarge", [])
        free = "select count(*) from (select from queue.fifo_group for update skip locked) g"
        assert value(other, free) == 1_000


def test_a_repeated_receive_gets_what_the_first_one_got(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send_each(db, arn, *["x" * 40_000] * 4)
    first, again, second, last = (
        call(db, RECEIVE_ATTEMPT, arn, 10, None, None, attempt, LIMIT, "function-json") for attempt in "aabc"
    )
    assert len(first[1:]) == 2
    assert [row.handle for row in again[1:]] == [row.handle for row in first[1:]]
    assert len(second[1:]) == 2
    assert (last[0].error, last[1:]) == (None, [])


# --- beside others ---------------------------------------------------------------------------------------------------
@BOTH
def test_a_message_that_somebody_holds_is_not_waited_for(db: Connection, connect: Connect, name: str) -> None:
    arn = create(db, name)
    send_each(db, arn, LONG)
    if not name.endswith(".fifo"):
        assert change(db, receive(db, arn, 1), 0) == ["changed"]
    with connect() as other, other.transaction():
        assert len(receive(other, arn, 1)) == 1
        assert response(db, arn) == (None, [])
    assert response(db, arn) == (None, [])


def undone(db: Connection, arn: str) -> str:
    """Returns the message of the undone receive for `pass_over`."""
    with db.transaction(force_rollback=True):
        received = "queue.receive_messages(%s, 1, 10, null, null, false)"
        return str(value(db, f"select r::queue.received_row::text from {received} r offset 1", arn))


def pass_over(db: Connection, arn: str, message: str) -> bool:
    return bool(value(db, "select queue.pass_over(%s, %s::queue.received_row, 'function-json', 101500)", arn, message))


def received(other: Connection, arn: str) -> None:
    """Lets another consumer receive the message."""
    assert len(receive(other, arn, 1, visibility=60)) == 1


def hidden(other: Connection, arn: str) -> None:
    """Hides the message, as an operator does, or as a consumer does after the visibility timeout."""
    with other.transaction(force_rollback=True):
        (row,) = receive(other, arn, 1)
    assert change_by_id(other, arn, row.public_id, 60)


@BOTH
@pytest.mark.parametrize("put", [never_received, received_before, in_the_slow_path])
@pytest.mark.parametrize("happens", [received, hidden])
def test_a_message_that_another_transaction_changed_is_not_passed_over(
    db: Connection,
    connect: Connect,
    name: str,
    put: Callable[[Connection, str], int],
    happens: Callable[[Connection, str], None],
) -> None:
    """The change happens between the undone receive and `pass_over`. The message stays invisible and keeps its receive
    count."""
    arn = create(db, name)
    before = put(db, arn)
    message = undone(db, arn)
    happens(connect(), arn)
    assert pass_over(db, arn, message) is False
    assert receive(db, arn) == []
    table = "queue.fifo_message" if name.endswith(".fifo") else "queue.side"
    assert value(db, f"select count(*) from {table} where response_bytes is not null") == 0
    public_id = int(message.split(",")[-3])
    assert change_by_id(db, arn, public_id, 0)
    (row,) = receive(db, arn)
    assert row.receive_count == before + (2 if happens is received else 1)


@BOTH
@pytest.mark.parametrize("put", [never_received, received_before, in_the_slow_path])
def test_an_unchanged_message_is_passed_over(db: Connection, name: str, put: Callable[[Connection, str], int]) -> None:
    arn = create(db, name)
    before = put(db, arn)
    assert pass_over(db, arn, undone(db, arn)) is True
    (row,) = receive(db, arn)
    assert row.receive_count == before + 1


@BOTH
def test_a_receive_is_not_refused_while_other_transactions_lock_short_messages(
    db: Connection, connect: Connect, name: str
) -> None:
    """A receive locks a shard, and a send locks a message group. Consumers can receive the waiting messages a moment
    later."""
    arn = create(db, name)
    group = "short" if name.endswith(".fifo") else None
    send_each(db, arn, LONG)
    assert response(db, arn) == ("ResponseTooLarge", [])
    send(db, arn, SHORT, SHORT, group=group)
    with connect() as other, other.transaction(force_rollback=True):
        if group is None:
            assert bodies(response(other, arn, 1)[1]) == [SHORT]
        else:
            send(other, arn, SHORT, group=group)
        assert response(db, arn) == (None, [])
    assert bodies(response(db, arn)[1]) == [SHORT, SHORT]
    assert response(db, arn) == ("ResponseTooLarge", [])


def test_other_errors_are_told_first(db: Connection) -> None:
    arn = create(db)
    send_each(db, arn, SHORT, LONG)
    receive(db, arn, 1)
    header, *rows = call(db, RECEIVE_RESPONSE, arn, 10, 10, None, 1, False, LIMIT, "function-json")
    assert (header.error, rows) == ("OverLimit", [])
    assert response(db, arn + "-none") == ("QueueDoesNotExist", [])


def test_without_a_limit_everything_comes(db: Connection) -> None:
    arn = create(db)
    send_each(db, arn, LONG, LONG)
    assert bodies(response(db, arn, limit=None)[1]) == [LONG, LONG]
