"""Slots in which requests of a function of Lambda may wait: never more at once, and none is lost for good."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

from penstock.postgres.statements.long_polls import RELEASE_POLL_SLOT, TAKE_POLL_SLOT
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import Connection, call
from tests.support.wait import wait_until

GATEWAY, OTHER = "penstock-Gateway", "staging-Gateway"


def take(db: Connection, holder: UUID, slots: int, name: str = GATEWAY) -> list[int]:
    return [row.slot for row in call(db, TAKE_POLL_SLOT, name, holder, slots, 7.0)]


def release(db: Connection, holder: UUID, name: str = GATEWAY) -> list[int]:
    return [row.slot for row in call(db, RELEASE_POLL_SLOT, name, holder)]


def test_so_many_and_no_more(db: Connection) -> None:
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
    assert release(db, gone) == []  # it thaws, and the slot is no longer its own
    assert take(db, uuid4(), 1) == []


def test_who_comes_at_the_same_time_waits_for_the_answer(connect: Connect) -> None:
    """A slot that another one has taken but not committed is not free, and another free one is found."""
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
