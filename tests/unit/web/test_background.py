"""Tests the workers' sleep, in virtual time. The database is a list of responses, and each run takes no time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from unittest.mock import AsyncMock, Mock

import psycopg
import pytest

from penstock.delivery import DELIVERIES
from penstock.scheduler.expressions import SCHEDULES
from penstock.settings import Settings
from penstock.workers import alert
from penstock.workers import measure as workers_measure
from penstock.workers.maintain import MAINTENANCE
from penstock.workers.move import MOVE_TASKS
from penstock_web.database.activity import Activity
from penstock_web.local.up import warn_of_open_access
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.metrics.meter import Meter
from penstock_web.workers import background, worker
from penstock_web.workers.background import (
    DeliveryWorker,
    FiringWorker,
    MaintenanceWorker,
    MeasurementWorker,
    MoveTaskWorker,
)
from penstock_web.workers.worker import Worker

SETTINGS = Settings.read({})
HOUR = 3600.0


@pytest.fixture(autouse=True)
def _no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the work immediately in the event loop, on a mock connection."""

    async def call(function: Callable[[], Any]) -> Any:
        return function()

    connection = Mock(closed=False)
    monkeypatch.setattr(asyncio, "to_thread", call)
    monkeypatch.setattr(worker, "connect", lambda *_: connection)
    monkeypatch.setattr(worker, "is_stale", lambda _: False)


class Rest:
    """Holds the signals of a process that receives notifications."""

    def __init__(self, receives_notifications: bool = True) -> None:
        self.long_polls = LongPollDispatcher(AsyncMock())
        self.long_polls.receives_notifications = receives_notifications
        self.activity = Activity()
        self.activity.compare(1)
        self.meter = Meter(SETTINGS)

    async def times(self, worker: Worker, seconds: float, *events: tuple[float, Callable[[], None]]) -> list[float]:
        """Returns the times at which the worker runs within `seconds`. Each event happens at its given time."""
        loop, ran = asyncio.get_running_loop(), []
        run_once = worker._run_once

        def record(*arguments: Any) -> Any:
            ran.append(loop.time())
            return run_once(*arguments)

        worker._run_once = record
        for at, event in events:
            loop.call_at(at, event)
        task = loop.create_task(worker.run())
        await asyncio.sleep(seconds)
        worker.stop()
        await task
        return ran


def delivery(rest: Rest, *wait_ms: int | None) -> DeliveryWorker:
    """Returns a worker whose runs find a webhook that is due in these milliseconds. The last response repeats."""
    worker = DeliveryWorker(SETTINGS, rest.long_polls, rest.meter)
    responses = list(wait_ms)

    def deliver(*_: Any) -> dict[str, int]:
        worker._deliverer.wait_ms = responses.pop(0) if len(responses) > 1 else responses[0]
        return {}

    worker._run_once = deliver
    return worker


@pytest.mark.virtual_time
async def test_deliver_sleeps_once_it_is_registered() -> None:
    """The second run registers for a minute. A run near the end of the minute registers for two hours."""
    rest = Rest()
    assert await rest.times(delivery(rest, None), 2 * HOUR) == [0, 1, 2, 47, 47 + HOUR]


@pytest.mark.virtual_time
async def test_deliver_sleeps_until_a_retry_is_due() -> None:
    rest = Rest()
    ran = await rest.times(delivery(rest, None, None, None, 600_000, 0, None), 1000)
    assert ran == [0, 1, 2, 47, 647, 648, 649, 694]


@pytest.mark.virtual_time
async def test_a_publish_wakes_deliver_which_registers_again() -> None:
    rest = Rest()
    publish = (100.0, lambda: rest.long_polls.handle_notification(DELIVERIES))
    assert await rest.times(delivery(rest, None), 200, publish) == [0, 1, 2, 47, 100, 101, 102, 147]


@pytest.mark.virtual_time
async def test_fire_sleeps_until_a_schedule_is_due_or_a_nearer_one_is_written() -> None:
    rest = Rest()
    worker = FiringWorker(SETTINGS, rest.long_polls, rest.meter)
    waits = iter([600_000, 590_000, None])

    def fire(*_: Any) -> dict[str, int]:
        worker._firer.wait_ms = next(waits)
        return {}

    worker._run_once = fire
    written = (10.0, lambda: rest.long_polls.handle_notification(SCHEDULES))
    assert await rest.times(worker, HOUR, written) == [0, 10, 600]


def mover(rest: Rest) -> MoveTaskWorker:
    worker = MoveTaskWorker(SETTINGS, rest.long_polls, rest.meter)
    worker._run_once = lambda *_: {"steps": 0}
    return worker


@pytest.mark.virtual_time
async def test_move_begins_a_pause_after_the_start_of_a_task() -> None:
    rest = Rest()
    start = (100.0, lambda: rest.long_polls.handle_notification(MOVE_TASKS))
    assert await rest.times(mover(rest), HOUR, start) == [0, 101]


@pytest.mark.virtual_time
async def test_without_listen_workers_run_as_often_as_the_settings_say() -> None:
    rest = Rest(receives_notifications=False)
    assert await rest.times(mover(rest), 3.5) == [0, 1, 2, 3]
    assert await rest.times(delivery(rest, None), 3.5) == [3.5, 4.5, 5.5, 6.5]


@pytest.mark.virtual_time
async def test_when_listen_is_lost_workers_wake_and_run_as_often() -> None:
    rest = Rest()

    def lose() -> None:
        rest.long_polls.receives_notifications = False
        rest.long_polls.wake_workers()

    assert await rest.times(mover(rest), 103.5, (100.0, lose)) == [0, 101, 102, 103]


@pytest.mark.virtual_time
@pytest.mark.parametrize(("error", "times"), [(None, [0, 30.5, 60.5]), (ValueError(), [])])
async def test_a_check_says_that_all_is_done_unless_the_last_run_failed(
    error: Exception | None, times: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check sets the time of the last success. An alert uses it to detect that no worker cleans."""
    rest = Rest()
    worker, loop = mover(rest), asyncio.get_running_loop()
    worker._run_once = Mock(return_value={"steps": 0}, side_effect=error)
    rest.activity.after_check(worker.confirm_rest)
    succeeded: list[float] = []
    monkeypatch.setattr(rest.meter, "count_success", lambda _: succeeded.append(loop.time()))
    await rest.times(worker, 61, *((at, lambda: rest.activity.compare(1)) for at in (30.5, 60.5)))
    assert succeeded == times


def maintenance(rest: Rest, *cleaned: str) -> MaintenanceWorker:
    """Returns a worker whose rounds clean rows ("rows"), find full queues ("full"), or find no work ("none")."""
    worker = MaintenanceWorker(SETTINGS, rest.long_polls, rest.activity, rest.meter)
    rounds = list(cleaned)

    def maintain(*_: Any) -> dict[str, int]:
        found = rounds.pop(0) if len(rounds) > 1 else rounds[0]
        worker._maintainer.found_nothing = found == "none"
        worker._maintainer.idle = found != "rows"
        worker._maintainer.changes = 1
        return {}

    worker._run_once = maintain
    return worker


@pytest.mark.virtual_time
async def test_maintain_stops_when_nothing_is_left_to_clean() -> None:
    """The worker sleeps even while queues contain messages. A send, or a change that the check detects, wakes the
    worker.
    """
    rest = Rest()
    assert await rest.times(
        maintenance(rest, "rows", "rows", "full"),
        4000,
        (100.0, rest.activity.notice),
        (200.0, lambda: rest.activity.compare(1)),
        (300.0, lambda: rest.activity.compare(2)),
        (310.0, lambda: rest.long_polls.handle_notification(MAINTENANCE)),
    ) == [0, 2, 4, 100, 300, 310, 310 + HOUR]


@pytest.mark.virtual_time
@pytest.mark.parametrize(("found", "pause"), [("none", 10), ("full", 2)])
async def test_maintain_without_listen_does_not_stop(found: str, pause: int) -> None:
    rest = Rest(receives_notifications=False)
    assert await rest.times(maintenance(rest, found), 21) == list(range(0, 21, pause))


def measurement(
    rest: Rest,
    monkeypatch: pytest.MonkeyPatch,
    *pages: int,
    minutes: Sequence[int] = (1,),
    rounds: Sequence[int] | None = None,
) -> MeasurementWorker:
    """Returns a worker whose runs measure the given numbers of pages and store minutes. The number 0 means that the
    pause after another round has not ended. In `rounds`, 0 means that a run ends before its round does. By default each
    run that measures a page ends a round. No account has alerts.
    """
    measured, added, ended = list(pages), list(minutes), list(pages if rounds is None else rounds)

    def measure(*_: Any) -> dict[str, int]:
        number, count, end = (left.pop(0) if len(left) > 1 else left[0] for left in (measured, added, ended))
        return {"queues": 0, "pages": number, "rounds": end, "minutes": count, "unjudged": count}

    monkeypatch.setattr(workers_measure, "run_once", measure)
    monkeypatch.setattr("penstock.workers.alert.run_once", lambda *_, refusal: alert.AlertRun(False, 0, refusal))
    monkeypatch.setattr(background, "TransactionExecutor", lambda connection: connection)
    return MeasurementWorker(SETTINGS, rest.long_polls, rest.activity, rest.meter)


@pytest.mark.virtual_time
async def test_measure_stops_after_a_round_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round of another process can have preceded the change, so the worker runs a round after each change."""
    rest = Rest()
    worker = measurement(rest, monkeypatch, 1, 0, 0, 1)
    assert await rest.times(
        worker, HOUR, (100.0, rest.activity.notice), (200.0, lambda: rest.activity.compare(1)),
        (300.0, lambda: rest.activity.compare(2)),
    ) == [0, 100, 105, 110, 300]  # fmt: skip


@pytest.mark.virtual_time
async def test_measure_counts_unjudged_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs find one event, no event and two events."""
    rest, counted = Rest(), Mock()
    monkeypatch.setattr(rest.meter, "count_unjudged", counted)
    await rest.times(measurement(rest, monkeypatch, 0, minutes=(1, 0, 2)), 11)
    assert [call.args for call in counted.call_args_list] == [("event", 1), ("event", 0), ("event", 2)]


@pytest.mark.virtual_time
async def test_measure_stops_where_the_parts_of_a_round_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of a round has a separate pause. A change that happens between the two parts also counts."""
    rest = Rest()
    worker = measurement(rest, monkeypatch, *[0, 1] * 5, minutes=[1, 0] * 5)
    assert await rest.times(
        worker, HOUR, (100.0, rest.activity.notice), (102.0, rest.activity.notice),
        (200.0, lambda: rest.activity.compare(2)), (202.0, lambda: rest.activity.compare(3)),
    ) == [0, 5, 100, 105, 110, 200, 205, 210]  # fmt: skip


@pytest.mark.virtual_time
@pytest.mark.parametrize(("changes_at", "times"), [(100.0, [0, 5, 10, 100]), (7.0, [0, 5, 10, 15])])
async def test_measure_does_not_stop_within_a_round(
    changes_at: float, times: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many queues take several runs. A change during the round leads to another round."""
    rest = Rest()
    worker = measurement(rest, monkeypatch, 9, 9, 9, 9, rounds=[0, 0, 1])
    assert await rest.times(worker, HOUR, (changes_at, rest.activity.notice)) == times


@pytest.mark.virtual_time
async def test_a_scrape_waits_for_a_round_only_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = Rest()
    worker = measurement(rest, monkeypatch, 1, 1, 0)
    loop, answered = asyncio.get_running_loop(), []

    async def scrape() -> None:
        await worker.refresh()
        answered.append(loop.time())

    tasks = []
    scrapes = [(at, lambda: tasks.append(loop.create_task(scrape()))) for at in (50.0, 60.0, 62.0)]
    ran = await rest.times(worker, 66, *scrapes)
    assert (ran, answered) == ([0, 50, 60, 65], [50, 60, 62])


@pytest.mark.virtual_time
async def test_a_scrape_does_not_wait_long_for_a_database_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = Rest()
    worker = measurement(rest, monkeypatch, 1)
    rest.activity.wait(worker.wake, 1)  # The worker sleeps, and does not wake up.
    await worker.refresh()
    assert asyncio.get_running_loop().time() == background.REFRESH_SECONDS


def failing(rest: Rest, error: Exception, runs: int, pool: Any = None) -> DeliveryWorker:
    """Returns a worker whose first `runs` runs fail and whose later runs succeed."""
    worker = DeliveryWorker(SETTINGS, rest.long_polls, rest.meter, pool)
    left = iter(range(runs))

    def deliver(*_: Any) -> dict[str, int]:
        if next(left, None) is not None:
            raise error
        worker._deliverer.wait_ms = None
        return {}

    worker._run_once = deliver
    return worker


@pytest.mark.virtual_time
async def test_an_outage_is_a_record_when_it_begins_and_one_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    rest = Rest()
    lost = failing(rest, psycopg.OperationalError("no\nroute"), 700)
    rest.meter.outage.fails("listen", OSError("closed"))
    caplog.set_level("WARNING")
    await rest.times(lost, HOUR, (10.0, lambda: rest.meter.outage.works("listen")))
    began, ended = caplog.records
    assert (began.getMessage(), began.levelname) == (
        "database unavailable: trying again until it is back", "ERROR",
    )  # fmt: skip
    assert vars(began)["cause"] == "closed"
    assert (ended.getMessage(), vars(ended)["failed_attempts"]) == ("database available again", 701)


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            psycopg.errors.ReadOnlySqlTransaction("cannot execute UPDATE in a read-only transaction"),
            "database read-only",
        ),
        (
            psycopg.errors.FeatureNotSupported("cannot access temporary or unlogged relations during recovery"),
            "database read-only",
        ),
        (psycopg.OperationalError("FATAL:  sorry, too many clients already"), "database has too few connections"),
        (psycopg.OperationalError('FATAL:  too many connections for role "api"'), "database has too few connections"),
        (psycopg.OperationalError("query_wait_timeout"), "the pooler of DATABASE_URL has no free connection"),
    ],
    ids=repr,
)
async def test_an_outage_names_its_cause(caplog: pytest.LogCaptureFixture, error: Exception, said: str) -> None:
    rest = Rest()
    caplog.set_level("WARNING")
    await rest.times(failing(rest, error, 700), HOUR)
    (began, _) = caplog.records
    assert began.getMessage().startswith(f"{said}: trying again until ")
    assert began.exc_info is None


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("cause", "records"),
    [
        ("connection failed: Connection refused", ["database unavailable", "database available again"]),
        ("the connection is lost", ["database unavailable", "database available again"]),
        ("FATAL:  sorry, too many clients already", []),
    ],
)
async def test_an_outage_while_workers_take_turns_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, cause: str, records: list[str]
) -> None:
    """The pool has already logged the shortage. In an outage, a worker logs in only once in five seconds."""
    rest = Rest()
    pool = Mock(is_divided=False, give_up_connection=AsyncMock(), shortage=Mock(turn=asyncio.Lock()))
    taking = failing(rest, psycopg.OperationalError(), 0, pool)
    logins: list[float] = []
    loop = asyncio.get_running_loop()

    def log_in(*_: object) -> Mock:
        logins.append(loop.time())
        if len(logins) <= 10:
            raise psycopg.OperationalError(cause)
        return Mock(closed=True)

    monkeypatch.setattr(worker, "connect", log_in)
    caplog.set_level("WARNING")
    await rest.times(taking, 60)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == records
    assert pool.give_up_connection.await_count == (0 if records else 10)
    assert logins[:6] == pytest.approx([0, 0.1, 1.1, 3.1, 8.1, 13.1])
    assert min(later - former for former, later in pairwise(logins[10:])) == 3


@pytest.mark.virtual_time
async def test_a_worker_stops_during_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pooler is down, so the cancellation of a query cannot connect."""
    rest = Rest()
    refuse = Mock(side_effect=psycopg.OperationalError("cancellation failed: Connection refused"))
    monkeypatch.setattr(worker, "connect", lambda *_: Mock(closed=False, cancel_safe=refuse))
    stopped = mover(rest)
    stopped._run_once = lambda _settings, _connection: {"steps": 0}
    assert await rest.times(stopped, 1.5) == [0]
    assert refuse.called


@pytest.mark.virtual_time
async def test_runs_that_never_work_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    rest = Rest()
    await rest.times(failing(rest, ValueError("broken"), 10_000), HOUR)
    numbers = [vars(record)["failures_in_a_row"] for record in caplog.records if record.exc_info]
    assert numbers == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("error", "outage", "closes"),
    [
        (psycopg.OperationalError("the connection was lost"), True, True),
        (psycopg.errors.AdminShutdown(), True, True),
        (psycopg.errors.TooManyConnections(), True, False),
        (psycopg.errors.ReadOnlySqlTransaction(), True, True),
        (psycopg.errors.FeatureNotSupported("cannot set transaction read-write mode during recovery"), True, True),
        (psycopg.errors.FeatureNotSupported("cached plan must not change result type"), False, False),
        (psycopg.errors.ObjectNotInPrerequisiteState(), False, False),  # a table without a replica identity
        (psycopg.errors.UndefinedFunction(), False, False),
        (KeyError(), False, False),
    ],
    ids=repr,
)
async def test_an_error_that_the_server_repeats_is_no_outage(error: Exception, outage: bool, closes: bool) -> None:
    """A worker connects again after an error of a former primary, because another server may now be the primary."""
    failed, connection = mover(Rest()), Mock(closed=False)
    failed._connection = connection
    assert worker.is_outage(error) is outage
    if outage:
        await failed._note_outage(error)
    assert connection.close.called is closes


# --- activity --------------------------------------------------------------------------------------------------------
# Tests which workers a change wakes, and that `penstock up` warns at each start if every client has access.


class Sleeper:
    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


def test_a_change_of_this_process_wakes_once() -> None:
    activity, sleeper = Activity(), Sleeper()
    activity.wait(sleeper.wake, 7)
    activity.notice()
    activity.notice()
    assert sleeper.woken == 1
    assert not activity.end_wait(sleeper.wake)


def test_another_number_wakes_and_the_same_does_not() -> None:
    activity, first, second = Activity(), Sleeper(), Sleeper()
    activity.wait(first.wake, 7)
    activity.wait(second.wake, 8)
    activity.compare(8)
    assert (first.woken, second.woken) == (1, 0)
    activity.compare(7)  # The counter of the server restarts after a crash.
    assert (first.woken, second.woken) == (1, 1)


def test_a_worker_that_waits_again_when_woken_waits_for_the_next_change() -> None:
    activity = Activity()

    def wake() -> None:
        activity.wait(wake, 8)

    activity.wait(wake, 7)
    activity.compare(8)
    assert activity.end_wait(wake)
    assert activity.changes == 8


@pytest.mark.parametrize(
    ("access", "host", "warns"),
    [
        *(("off", host, True) for host in ("0.0.0.0", "::", "10.0.0.1", "queue.internal")),
        *(("off", host, False) for host in ("127.0.0.1", "::1", "localhost")),
        ("presence", "0.0.0.0", True),
        ("sigv4", "0.0.0.0", False),
    ],
)
def test_open_to_other_machines(access: str, host: str, warns: bool, capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_open_access(Settings.read({"QUEUE_ACCESS": access}), host)
    said = capsys.readouterr().err
    assert said.startswith(f"penstock: WARNING: with QUEUE_ACCESS={access}, everyone") is warns
    assert said.count("\n") == warns
