"""What becomes of an operation's effects when its request ends early."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from penstock.effects import BatchCall, Operation, Pause, Receive, Row, Statement, Wait, Wake, Woken
from penstock.postgres.statements.messages import RECEIVE_MESSAGES
from penstock.settings import Settings
from penstock_web.batching.batcher import Batcher
from penstock_web.database.pool import Pool
from penstock_web.driver import Resources, run_operation
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.metrics.meter import Meter
from tests.support.web.fake_database import ECHO, EchoEntry, FakeDatabase, RowT
from tests.support.web.fake_queue import HEADER, ORDERS, Queue, message
from tests.support.web.virtual_clock import run, settle

Steps = Operation[Any]


class Quiet:
    """A database of long polls without any messages."""

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        return []


def resources_on(database: FakeDatabase) -> Resources:
    batcher = Batcher(database.call, limit=10)
    return Resources(
        cast("Pool", database), batcher, LongPollDispatcher(Quiet().call), Meter(Settings.read({}))
    )


def waiting(seconds: float) -> Steps:
    return (yield from Wait(ORDERS, seconds))


def test_answers_go_back_into_the_operation() -> None:
    def operation() -> Steps:
        rows = yield from BatchCall(ECHO, [EchoEntry(7, 0)])
        nothing = yield Wake(ORDERS, 1)
        woken = yield from Wait(ORDERS, 5)
        return rows, nothing, woken

    assert run(drive_on(FakeDatabase, operation())) == ([(1, 7)], None, False)


async def drive_on(database: type[FakeDatabase], operation: Steps) -> Any:
    return await run_operation(operation, resources_on(database()))


def test_a_pause_takes_its_time_and_ends_with_the_process() -> None:
    def operation() -> Steps:
        return (yield from Pause(3))

    async def scenario() -> None:
        resources = resources_on(FakeDatabase())
        loop = asyncio.get_running_loop()
        assert await run_operation(operation(), resources) is True
        assert loop.time() == 3.0
        resources.long_polls.drain()
        assert await run_operation(operation(), resources) is False

    run(scenario())


def test_who_is_woken_but_has_left_passes_the_turn_on() -> None:
    async def scenario() -> None:
        resources = resources_on(FakeDatabase())
        loop = asyncio.get_running_loop()
        first = loop.create_task(run_operation(waiting(20), resources))
        await settle()
        second = loop.create_task(run_operation(waiting(20), resources))
        await settle()
        resources.long_polls.wake(ORDERS, 1)
        first.cancel()
        assert await second == Woken.FOR_ONE
        assert loop.time() == 0.0

    run(scenario())


@pytest.mark.parametrize(
    ("arn", "later_seconds", "looks"),
    [(ORDERS, 1.0, 1), (f"{ORDERS}.fifo", 0.0, 1), (f"{ORDERS}.fifo", 1.0, 2)],
)
def test_who_comes_while_others_wait_lines_up_unseen(arn: str, later_seconds: float, looks: int) -> None:
    """The first look was empty, and whatever comes afterwards wakes the first in line.

    On FIFO queues only when that look was a moment ago: of groups that another process has set free nobody is told.
    """

    def polling(may_wait: bool) -> Steps:
        receive = Receive(RECEIVE_MESSAGES, arn, 1, None, may_wait=may_wait)
        header, *_ = yield receive
        woken = yield from Wait(arn, 20)
        rows = yield receive
        return header[0], woken, rows

    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=0))
        resources = resources_on(database)
        loop = asyncio.get_running_loop()
        polls = []
        for _ in range(2):
            polls.append(loop.create_task(run_operation(polling(may_wait=True), resources)))
            await settle()
            await asyncio.sleep(later_seconds)
        assert len(database.calls) == looks
        hasty = loop.create_task(run_operation(polling(may_wait=False), resources))
        await settle()
        assert len(database.calls) == looks + 1
        resources.long_polls.wake(arn, 3)
        await asyncio.gather(*polls, hasty)
        assert [poll.result()[:2] for poll in polls] == [(None, Woken.FOR_ONE)] * 2
        assert loop.time() == 2 * later_seconds

    run(scenario())


def test_who_looked_in_vain_while_a_message_came_looks_again() -> None:
    def polling() -> Steps:
        yield Receive(RECEIVE_MESSAGES, ORDERS, 1, None)
        return (yield from Wait(ORDERS, 20))

    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=0))
        resources = resources_on(database)
        await resources.long_polls.wait(
            ORDERS, 0.1, resources.long_polls.next_ticket()
        )  # this process is registered
        begun_at = asyncio.get_running_loop().time()
        database.hold()
        poll = asyncio.get_running_loop().create_task(run_operation(polling(), resources))
        await settle()
        resources.long_polls.wake(ORDERS, 1)
        database.release()
        assert await poll == Woken.FOR_ONE
        assert asyncio.get_running_loop().time() == begun_at

    run(scenario())


def test_messages_that_came_for_a_request_that_has_just_ended_go_back() -> None:
    """The request is cancelled after its answer is there and before it goes on."""

    async def scenario() -> None:
        queue = Queue(stored=100)
        loop = asyncio.get_running_loop()

        def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
            loop.call_soon(request.cancel)
            return queue(statement, arguments)

        def operation() -> Steps:
            return (yield from Receive(RECEIVE_MESSAGES, ORDERS, 3, None))

        resources = resources_on(FakeDatabase(reply))
        request = loop.create_task(run_operation(operation(), resources))
        await asyncio.wait([request])
        assert request.cancelled()
        await resources.batcher.drain()
        assert queue.given_back == [3]

    run(scenario())


def polling_twice() -> Steps:
    receive = Receive(RECEIVE_MESSAGES, ORDERS, 3, None)
    yield receive
    woken = yield from Wait(ORDERS, 20)
    return woken, (yield receive)


def test_what_is_handed_to_who_waits_answers_its_next_look() -> None:
    async def scenario() -> None:
        database = FakeDatabase(Queue(stored=0))
        resources = resources_on(database)
        request = asyncio.get_running_loop().create_task(run_operation(polling_twice(), resources))
        await settle()
        (waiter,) = resources.long_polls.claim(ORDERS, 3)
        assert waiter.receive == Receive(RECEIVE_MESSAGES, ORDERS, 3, None)
        waiter.serve([HEADER, message(1), message(2)])
        assert await request == (Woken.FOR_ONE, [HEADER, message(1), message(2)])
        assert len(database.calls) == 1

    run(scenario())


def test_what_is_handed_to_who_has_just_left_goes_back() -> None:
    async def scenario() -> None:
        queue = Queue(stored=0)
        resources = resources_on(FakeDatabase(queue))
        request = asyncio.get_running_loop().create_task(run_operation(polling_twice(), resources))
        await settle()
        (waiter,) = resources.long_polls.claim(ORDERS, 3)
        waiter.serve([HEADER, message(1), message(2)])
        request.cancel()
        await asyncio.wait([request])
        assert request.cancelled()
        await resources.batcher.drain()
        assert queue.given_back == [2]

    run(scenario())
