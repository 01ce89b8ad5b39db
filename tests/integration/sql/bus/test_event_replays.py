"""Tests replays beside live events."""

from collections import Counter

import pytest

from penstock.environment import build_worker_environment
from penstock.events.delivery.step import EventStep
from penstock.events.delivery.subscriber import Subscribers
from tests.integration.sql.conftest import Connect
from tests.support.events import BUS, SETTINGS, add_bus, put, run, sequence, subscribe, take
from tests.support.sql.calls import Connection, create, value


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


def replay_from_the_horizon(db: Connection, name: str = "replayed") -> str:
    queue = create(db, name)
    point = {"PointType": "HORIZON"}
    subscribe(db, queue, name, start_at="2020-01-01T00:00:00Z", PointInTimeConfiguration=point)
    return queue


def test_live_events_come_before_the_next_slice_of_a_replay(
    db: Connection, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the first three slices begins with a publication."""
    put(db, BUS, *map(str, range(600)))
    live, replayed, publisher = create(db, "live"), replay_from_the_horizon(db), connect()
    subscribe(db, live, "live")
    db.execute("update queue.event_page set sequenced_at = now() + interval '1 hour'")  # Later pages are not earlier.
    replay = EventStep.replay
    arrived: list[int] = []
    kinds: set[bool] = set()

    def publish(step: EventStep, bus_id: int, *, yields: bool) -> bool:
        kinds.add(yields)
        if len(arrived) < 3:
            arrived.append(len(take(publisher, live)))
            put(publisher, BUS, "7")
        return replay(step, bus_id, yields=yields)

    monkeypatch.setattr(EventStep, "replay", publish)
    put(db, BUS, "7")
    run(db, delivered=4 + 604)
    assert (arrived, kinds) == ([1, 1, 1], {True})
    assert len(take(db, replayed)) == 604


def test_a_new_subscriber_does_not_wait_for_a_replay(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.events.delivery.step.PAGE_EVENTS", 200)
    put(db, BUS, *map(str, range(600)))
    replay_from_the_horizon(db)
    live = create(db, "live")
    step = EventStep(db, build_worker_environment(SETTINGS), Subscribers(), Counter())
    bus = value(db, "select bus_id from queue.event_bus")
    assert step.replay(bus, yields=False)
    subscribe(db, live, "live")
    put(db, BUS, "new")
    sequence(db)
    assert step.replay(bus, yields=False)
    assert step.deliver(bus)
    assert take(db, live) == ["new"]


@pytest.mark.parametrize("yields", [True, False])
def test_a_replay_that_yields_delivers_a_slice_and_pauses(db: Connection, yields: bool) -> None:
    put(db, BUS, *map(str, range(600)))
    replayed, counts = replay_from_the_horizon(db), Counter[str]()
    sequence(db)
    step = EventStep(db, build_worker_environment(SETTINGS), Subscribers(), counts)
    assert step.replay(value(db, "select bus_id from queue.event_bus"), yields=yields)
    assert len(take(db, replayed)) == counts["delivered"] == (200 if yields else 600)
    pause = (
        "select queue.read_replay_pause(c.resumes_at - %s * interval '1 ms') = c.resumes_at from queue.event_cursor c"
    )
    assert [value(db, pause + " where c.subscriber_id <> 0", ms) for ms in (0, 1)] == [None, True if yields else None]


def test_replays_of_all_workers_pause_together(db: Connection) -> None:
    put(db, BUS, "1")
    replay_from_the_horizon(db)
    sequence(db)
    work = "select {} from queue.next_event_work(gen_random_uuid(), 20, '{{}}')"
    claim = "select count(*) from queue.claim_event_subscribers((select bus_id from queue.event_bus), true)"
    columns = "array[cardinality(replays), pause_ms]"
    assert (value(db, work.format(columns)), value(db, claim)) == ([1, None], 1)
    assert value(db, "select count(*) from queue.watcher") == 0
    with db.transaction(force_rollback=True):
        db.execute(
            "create or replace function queue.read_replay_pause(p_now timestamptz) returns timestamptz "
            "language sql stable return p_now + interval '9 milliseconds'"
        )
        assert (value(db, work.format(columns)), value(db, claim)) == ([0, 9], 0)
        assert value(db, "select count(*) from queue.watcher") == 1  # A publication ends the pause of the worker.
