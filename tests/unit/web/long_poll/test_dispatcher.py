"""Tests long polls in one process, in virtual time. docs/explain/internals.md, "Long polls", defines the rules."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, inf
from typing import Any, TypeVar

import pytest

from penstock.aws.named_queue import NamedQueue
from penstock.effects import Woken
from penstock.errors import ServiceUnavailable
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.long_polls import POLL_QUEUES, WATCH_QUEUES, PolledQueueRow
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.long_poll.timers import STEPS_PER_WAIT, WaitTimers
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time

ORDERS = "arn:aws:sqs:us-east-1:000000000000:orders"
BILLS = "arn:aws:sqs:us-east-1:000000000000:bills"

RowT = TypeVar("RowT", bound=Row)


class Database:
    """Imitates a database with ready queues, and records the time of each call. `commits` counts the commits.

    A message becomes ready at `due_at`. `asked` contains the number of queues in each check. `spared` counts
    unnecessary checks.
    """

    def __init__(self) -> None:
        self.ready: set[str] = set()
        self.watched: list[tuple[float, list[str]]] = []
        self.seconds: list[int] = []
        self.looked: list[tuple[float, list[str]]] = []
        self.asked: list[int] = []
        self.spared: list[float] = []
        self.commits = 0
        self.due_at = inf
        self.away = False
        self.takes_seconds = 0.0

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        if self.away:
            raise ServiceUnavailable
        now = asyncio.get_running_loop().time()
        if statement is WATCH_QUEUES:
            self.watched.append((now, arguments[0]))
            self.seconds += arguments[2]
            return []
        assert statement is POLL_QUEUES
        self.asked.append(len(arguments[0]))
        if arguments[1] == str(self.commits):
            self.spared.append(now)
            return []
        self.looked.append((now, arguments[0]))
        await asyncio.sleep(self.takes_seconds if arguments[0] else 0)
        ready = [arn for arn in arguments[0] if arn in self.ready]
        wait_ms = 0 if ready else ceil(min(3600.0, max(0.0, self.due_at - now)) * 1000)
        found = [PolledQueueRow(arn, None, None) for arn in ready]
        return statement.build_rows([*found, PolledQueueRow(None, str(self.commits), wait_ms)])


async def test_wake_answers_those_first_who_have_waited_longest() -> None:
    long_polls = LongPollDispatcher(Database().call)
    responses = [long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket()) for _ in range(3)]
    long_polls.wake(ORDERS, 2)
    assert [response.done() for response in responses] == [True, True, False]
    assert responses[0].result() == Woken.FOR_ONE
    long_polls.wake(BILLS, 1)
    assert not responses[2].done()
    long_polls.wake(ORDERS, 5)
    assert responses[2].result() == Woken.FOR_ONE


async def test_a_receiver_that_found_nothing_returns_to_the_front() -> None:
    long_polls = LongPollDispatcher(Database().call)
    first, second = long_polls.next_ticket(), long_polls.next_ticket()
    long_polls.wait(NamedQueue(ORDERS), 20, first)
    waiting = long_polls.wait(NamedQueue(ORDERS), 20, second)
    long_polls.wake(ORDERS, 1)
    again = long_polls.wait(NamedQueue(ORDERS), 20, first)
    long_polls.wake(ORDERS, 1)
    assert again.done()
    assert not waiting.done()


async def test_a_message_that_came_without_waiting_receivers_is_found() -> None:
    """Two receives find no message, a message arrives, and only then do the receives begin to wait."""
    long_polls = LongPollDispatcher(Database().call)
    long_polls.wait(NamedQueue(ORDERS), 0.5, long_polls.next_ticket())
    await asyncio.sleep(1)
    missed_wakeups = long_polls.missed_wakeups
    long_polls.wake(ORDERS, 1)
    assert not long_polls.wait(NamedQueue(BILLS), 20, long_polls.next_ticket(), missed_wakeups).done()
    assert [
        long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket(), missed_wakeups).result() for _ in range(2)
    ] == [Woken.FOR_ONE] * 2
    assert not long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket(), long_polls.missed_wakeups).done()


async def test_a_guess_that_there_is_more_is_not_missed() -> None:
    long_polls = LongPollDispatcher(Database().call)
    long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket())
    missed_wakeups = long_polls.missed_wakeups
    long_polls.wake(ORDERS, 2, Woken.FOR_MORE)
    assert not long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket(), missed_wakeups).done()


async def test_a_receiver_after_an_empty_wait_makes_no_call() -> None:
    """Clients poll again immediately, so all clients of a queue poll at about the same time."""
    long_polls = LongPollDispatcher(Database().call)
    assert await long_polls.wait(NamedQueue(ORDERS), 2, long_polls.next_ticket()) == Woken.NOT
    await settle()
    assert not long_polls.can_skip_receive(NamedQueue(ORDERS))  # The process receives no notifications.
    long_polls.receives_notifications = True
    for word in (
        lambda: long_polls.wake(ORDERS, 1),
        lambda: long_polls.handle_notification(ORDERS),
        long_polls.renew_registrations,
        None,
    ):
        assert await long_polls.wait(NamedQueue(ORDERS), 2, long_polls.next_ticket()) == Woken.NOT
        await settle()
        assert long_polls.can_skip_receive(NamedQueue(ORDERS))
        if word is not None:
            word()
        else:
            await asyncio.sleep(1)
        assert not long_polls.can_skip_receive(NamedQueue(ORDERS))


async def test_the_time_is_over() -> None:
    long_polls = LongPollDispatcher(Database().call)
    assert await long_polls.wait(NamedQueue(ORDERS), 7.5, 0) == Woken.NOT
    assert asyncio.get_running_loop().time() == pytest.approx(7.5)
    assert await long_polls.wait(NamedQueue(ORDERS), 0, 1) == Woken.NOT


async def test_a_look_after_the_registration_closes_the_race() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    # The message was sent after the check of the empty queue and before the commit of the registration.
    database.ready = {ORDERS}
    assert await long_polls.wait(NamedQueue(ORDERS), 20, 0) == Woken.FOR_MORE
    assert database.watched == [(0.0, [ORDERS])]
    assert database.looked == [(0.0, [ORDERS])]


async def test_one_registration_serves_all_waiters_of_a_queue_and_many_queues() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    for number in range(100):
        for _ in range(10):
            long_polls.wait(NamedQueue(f"{ORDERS}-{number}"), 20, long_polls.next_ticket())
    await settle()
    assert [len(arns) for _, arns in database.watched] == [100]


async def test_a_notification_wakes_one_and_registers_again_while_others_wait() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    responses = [long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket()) for _ in range(2)]
    await asyncio.sleep(0.5)
    long_polls.handle_notification(ORDERS)
    await settle()
    assert [response.done() for response in responses] == [True, False]
    assert database.watched == [(0.0, [ORDERS]), (0.5, [ORDERS])]
    long_polls.handle_notification(ORDERS)
    await settle()
    assert responses[1].done()
    assert len(database.watched) == 2  # No receiver waits, so no process registers.


async def test_the_echo_of_a_sender_of_this_process_wakes_nobody_else() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    responses = [long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket()) for _ in range(3)]
    await asyncio.sleep(0.5)
    long_polls.wake(ORDERS, 1)  # This process sent the message and used the registration.
    long_polls.handle_notification(ORDERS)
    await settle()
    assert [response.done() for response in responses] == [True, False, False]
    assert database.watched == [(0.0, [ORDERS]), (0.5, [ORDERS])]
    long_polls.handle_notification(ORDERS)  # Another process sent the message.
    assert [response.done() for response in responses] == [True, True, False]


async def test_a_message_of_another_process_is_found_by_the_check() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    responses = [long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket()) for _ in range(2)]
    await asyncio.sleep(0.5)
    long_polls.wake(ORDERS, 1)
    database.ready = {ORDERS}
    long_polls.handle_notification(ORDERS)
    assert await responses[1] == Woken.FOR_MORE
    assert asyncio.get_running_loop().time() == pytest.approx(0.5)


async def test_a_busy_queue_registers_every_20_ms_at_most() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    for _ in range(200):
        long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket())
    for _ in range(100):
        long_polls.handle_notification(ORDERS)
        await asyncio.sleep(0.001)
    times = [time for time, _ in database.watched]
    assert 5 <= len(times) <= 6
    assert min(b - a for a, b in pairwise(times)) >= 0.02 - 1e-9


async def test_a_queue_is_registered_anew_before_its_time_is_over() -> None:
    """A registration lasts five seconds, or a minute if no message arrived. After a notification, the registration
    lasts five seconds again.
    """
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    for number in range(8):
        await long_polls.wait(NamedQueue(ORDERS), 20, number)
    times = [time for time, _ in database.watched]
    ends = [time + good for time, good in zip(times, database.seconds, strict=True)]
    assert all(end > time for end, time in zip(ends, [*times[1:], 160.0], strict=True))
    assert database.seconds == [5, 60, 60, 60, 60]
    long_polls.wait(NamedQueue(ORDERS), 20, 0)
    long_polls.handle_notification(ORDERS)
    long_polls.wait(NamedQueue(ORDERS), 20, 0)
    await settle()
    assert database.seconds[5:] == [5]
    polling.cancel()


async def test_each_second_one_look_serves_all_queues_and_wakes_those_that_are_ready() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    orders, bills = (long_polls.wait(NamedQueue(ORDERS), 20, 0), long_polls.wait(NamedQueue(BILLS), 20, 1))
    await asyncio.sleep(1.5)
    database.ready = {BILLS}  # The notification for this queue was lost.
    database.commits += 1
    assert await bills == Woken.FOR_MORE
    assert asyncio.get_running_loop().time() == pytest.approx(2.0)
    assert not orders.done()
    assert [sorted(arns) for _, arns in database.looked] == [[BILLS, ORDERS]] * 3
    polling.cancel()


async def test_nothing_is_looked_for_while_nothing_was_committed_and_nothing_is_due() -> None:
    database = Database()
    database.due_at = 8.3
    long_polls = LongPollDispatcher(database.call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    response = long_polls.wait(NamedQueue(ORDERS), 20, 0)
    await asyncio.sleep(8.29)
    assert [time for time, _ in database.looked] == pytest.approx([0.0, 1.0])
    assert database.spared == pytest.approx([2.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    database.ready = {ORDERS}  # A delay ends without a commit.
    assert await response == Woken.FOR_MORE
    # The message does not wait for the check of the next second.
    assert asyncio.get_running_loop().time() == pytest.approx(8.301)
    polling.cancel()


async def test_thousands_of_queues_are_not_named_while_nothing_was_committed() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    queues = [NamedQueue(f"{ORDERS}-{number}") for number in range(101)]
    responses = [long_polls.wait(queue, 3600, 0) for queue in queues]
    await asyncio.sleep(10.5)
    assert database.asked[-5:] == [0] * 5
    database.commits += 1
    database.ready = {queues[7].arn}  # The notification for this queue was lost.
    assert await responses[7] == Woken.FOR_MORE
    assert asyncio.get_running_loop().time() == pytest.approx(11.0)
    assert database.asked[-2:] == [0, 101]
    database.ready = set()
    await asyncio.sleep(1.5)
    bill = long_polls.wait(NamedQueue(BILLS), 20, 1)  # The last check did not return this queue.
    database.due_at = 13.7
    await asyncio.sleep(1)
    database.ready = {BILLS}
    assert await bill == Woken.FOR_MORE
    assert asyncio.get_running_loop().time() == pytest.approx(13.701)
    polling.cancel()


@pytest.mark.parametrize(("notified", "looks"), [(True, 5), (False, 39)])
async def test_looks_at_thousands_of_queues_take_a_hundredth_of_the_time(notified: bool, looks: int) -> None:
    """The limit applies as long as notifications arrive. With constant commits, a check takes 0.08 seconds."""
    database = Database()
    database.takes_seconds = 0.08
    long_polls = LongPollDispatcher(database.call)
    long_polls.receives_notifications = notified
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    responses = [long_polls.wait(NamedQueue(f"{ORDERS}-{number}"), 3600, 0) for number in range(101)]
    for _ in range(84):
        database.commits += 1
        await asyncio.sleep(0.5)
    assert abs(sum(len(arns) == 101 for time, arns in database.looked if time > 0) - looks) <= 1
    database.ready = {f"{ORDERS}-7"}
    long_polls.handle_notification(f"{ORDERS}-7")
    assert await responses[7] == Woken.FOR_MORE
    polling.cancel()


async def test_a_message_that_becomes_visible_is_found_at_once_among_thousands() -> None:
    database = Database()
    database.takes_seconds, database.due_at = 0.08, 12.5
    long_polls = LongPollDispatcher(database.call)
    long_polls.receives_notifications = True
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    responses = [long_polls.wait(NamedQueue(f"{ORDERS}-{number}"), 3600, 0) for number in range(101)]
    await asyncio.sleep(12.4)
    database.ready = {f"{ORDERS}-7"}
    assert await responses[7] == Woken.FOR_MORE
    assert asyncio.get_running_loop().time() == pytest.approx(12.58, abs=0.1)
    polling.cancel()


async def test_registrations_that_failed_are_made_again_among_thousands() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    for number in range(101):
        long_polls.wait(NamedQueue(f"{ORDERS}-{number}"), 3600, 0)
    await asyncio.sleep(60.5)
    watched = len(database.watched)
    database.away = True
    await asyncio.sleep(50)
    database.away = False
    await asyncio.sleep(2)
    assert len(database.watched) == watched + 1
    assert len(database.watched[-1][1]) == 101
    polling.cancel()


async def test_a_queue_that_the_last_look_left_out_is_looked_at() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    long_polls.wait(NamedQueue(ORDERS), 20, 0)
    await asyncio.sleep(1.5)
    long_polls.wait(NamedQueue(BILLS), 20, 1)
    await asyncio.sleep(1)
    assert sorted(database.looked[-1][1]) == [BILLS, ORDERS]
    polling.cancel()


async def test_a_waiter_that_leaves_is_out_of_the_line() -> None:
    long_polls = LongPollDispatcher(Database().call)
    gone, stays = (long_polls.wait(NamedQueue(ORDERS), 20, 0), long_polls.wait(NamedQueue(ORDERS), 20, 1))
    gone.cancel()
    long_polls.wake(ORDERS, 1)
    assert stays.done()


async def test_a_thousand_waiters_have_no_task_each() -> None:
    long_polls = LongPollDispatcher(Database().call)
    for _ in range(1000):
        long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket())
    await settle()
    assert len(asyncio.all_tasks()) == 1


async def test_drain_sends_everybody_home() -> None:
    long_polls = LongPollDispatcher(Database().call)
    responses = [long_polls.wait(NamedQueue(arn), 20, long_polls.next_ticket()) for arn in (ORDERS, BILLS, ORDERS)]
    long_polls.drain()
    assert await asyncio.gather(*responses) == [Woken.NOT] * 3
    assert await long_polls.wait(NamedQueue(ORDERS), 20, 9) == Woken.NOT
    assert asyncio.get_running_loop().time() == 0.0


async def test_a_database_that_is_away_costs_only_time() -> None:
    database = Database()
    database.away = True
    long_polls = LongPollDispatcher(database.call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    response = long_polls.wait(NamedQueue(ORDERS), 20, 0)
    await asyncio.sleep(2.5)
    database.away = False
    await asyncio.sleep(1)
    assert database.watched == [(3.0, [ORDERS])]
    long_polls.handle_notification(ORDERS)
    assert await response == Woken.FOR_MORE
    polling.cancel()


async def test_a_new_listen_connection_registers_everybody_and_looks() -> None:
    database = Database()
    long_polls = LongPollDispatcher(database.call)
    response = long_polls.wait(NamedQueue(ORDERS), 20, 0)
    await asyncio.sleep(0.5)
    database.ready = {ORDERS}  # The message was sent while no process listened.
    long_polls.renew_registrations()
    assert await response == Woken.FOR_MORE
    assert asyncio.get_running_loop().time() == pytest.approx(0.5)


async def test_queues_that_nobody_waits_for_are_forgotten() -> None:
    long_polls = LongPollDispatcher(Database().call)
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    for number in range(1000):
        long_polls.wait(NamedQueue(f"{ORDERS}-{number}"), 1, number)
    await asyncio.sleep(10)
    assert long_polls._queues == {}
    polling.cancel()


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("begins_at", [22.0, 38.0])
async def test_a_queue_that_the_last_check_did_not_name_is_looked_at_among_thousands(
    begins_at: float, away: bool
) -> None:
    """The queue is registered for a minute, but no receiver waited, so the process does not know about messages that
    became visible."""
    database = Database()
    database.takes_seconds = 0.08
    long_polls = LongPollDispatcher(database.call)
    long_polls.receives_notifications = True
    polling = asyncio.get_running_loop().create_task(long_polls.shared_check.run())
    for number in range(101):
        long_polls.wait(NamedQueue(f"{BILLS}-{number}"), 3600, 0)
    long_polls.wait(NamedQueue(ORDERS), 6, 0)
    for _ in range(42):
        database.commits += 1
        await asyncio.sleep(0.5)
    assert ORDERS not in database.looked[-1][1]
    await asyncio.sleep(begins_at - asyncio.get_running_loop().time())
    response = long_polls.wait(NamedQueue(ORDERS), 10, 0)
    database.due_at, database.away = begins_at + 3, away
    await asyncio.sleep(1.5)
    database.away = False
    await asyncio.sleep(1.5)
    database.ready = {ORDERS}
    assert await response == Woken.FOR_MORE
    assert asyncio.get_running_loop().time() < begins_at + 4.2
    polling.cancel()


# --- timers ----------------------------------------------------------------------------------------------------------
# Tests timers of waits that end at the same time, in virtual time.


@pytest.mark.parametrize("seconds", [0.001, 0.3, 1.0, 7.7, 20.0])
async def test_no_timer_fires_early_or_more_than_a_hundredth_late(seconds: float) -> None:
    timers, times = WaitTimers(), list[float]()
    loop = asyncio.get_running_loop()
    for _ in range(20):
        due = loop.time() + seconds
        timers.add(seconds, lambda due=due: times.append(loop.time() - due))  # type: ignore[misc]
        await asyncio.sleep(0.0137)
    await asyncio.sleep(2 * seconds)
    assert len(times) == 20
    assert min(times) >= -1e-9
    assert max(times) <= seconds / STEPS_PER_WAIT + 1e-9


async def test_a_moment_that_nobody_waits_for_any_more_is_forgotten() -> None:
    timers, called = WaitTimers(), list[str]()

    def first() -> None:
        called.append("first")

    def second() -> None:
        called.append("second")

    timer = timers.add(20, first)
    assert timers.add(20, second) is timer
    timers.remove(timer, first)
    assert not timer.handle.cancelled()
    timers.remove(timer, second)
    assert timer.handle.cancelled()
    assert timers.add(20, second) is not timer
    timers.remove(timer, second)  # This call removes the previous registration again.
    await asyncio.sleep(21)
    assert called == ["second"]
