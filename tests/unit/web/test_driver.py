"""Tests what happens to the effects of an operation when its request ends early."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, cast

import psycopg
import pytest

from penstock import drivers
from penstock.aws.codec.protocol import Protocol
from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Operation, Pause, Receive, Wake, Woken, compute
from penstock.limits.response_limit import build_receive_limit
from penstock.observing.reports import Client
from penstock.postgres.sqlstates import LONG_MESSAGE
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import RECEIVE_MESSAGES, ReceivedRow
from penstock.sqs.receive import receive_messages
from penstock_web.long_poll.dispatcher import EMPTY_RECEIVE_VALID_SECONDS
from penstock_web.runtime.driver import run_operation
from penstock_web.runtime.receive_run import EMPTY_RECEIVE
from tests.support.web.fakes import (
    ECHO,
    HEADER,
    ORDERS,
    EchoEntry,
    FakeDatabase,
    FakeQueue,
    bodies,
    build_resources,
    message,
)
from tests.support.web.virtual_clock import settle

Steps = Operation[Any]

CLIENT = cast("Client", None)  # Only receives of a queue with the attribute PenstockTrace use the client.


def receiving(count: int = 1, arn: str = ORDERS, wait_seconds: float | None = 20) -> Operation[list[ReceivedRow]]:
    return (yield from Receive(RECEIVE_MESSAGES, NamedQueue(arn), count, None, wait_seconds=wait_seconds))


@pytest.mark.virtual_time
async def test_answers_go_back_into_the_operation() -> None:
    def operation() -> Steps:
        rows = yield from BatchCall(ECHO, [EchoEntry(7, 0)])
        yield Wake(ORDERS, 1)
        return rows

    assert await drive_on(FakeDatabase, operation()) == [(1, 7)]


async def drive_on(database: type[FakeDatabase], operation: Steps) -> Any:
    return await run_operation(operation, build_resources(database()))


@pytest.mark.virtual_time
async def test_a_pause_takes_its_time_and_ends_with_the_process() -> None:
    def operation() -> Steps:
        return (yield from Pause(3))

    resources = build_resources(FakeDatabase())
    loop = asyncio.get_running_loop()
    assert await run_operation(operation(), resources) is True
    assert loop.time() == 3.0
    resources.long_polls.drain()
    assert await run_operation(operation(), resources) is False


async def test_a_long_computation_holds_up_nobody() -> None:
    """The computation ends only after the event loop has run other work."""
    goes_on = threading.Event()

    def operation(wait: bool) -> Steps:
        return (yield from compute(lambda: goes_on.wait(60) if wait else "at once", 1_000_000 if wait else 10))

    resources = build_resources(FakeDatabase())
    long = asyncio.ensure_future(run_operation(operation(wait=True), resources))
    assert await run_operation(operation(wait=False), resources) == "at once"
    goes_on.set()
    assert await long is True


async def test_an_error_of_a_computation_ends_the_operation() -> None:
    def operation() -> Steps:
        return (yield from compute(lambda: int("x"), 1_000_000))

    with pytest.raises(ValueError, match="invalid literal"):
        await run_operation(operation(), build_resources(FakeDatabase()))


def test_in_a_function_a_computation_is_a_call() -> None:
    def operation() -> Steps:
        return (yield from compute(threading.get_ident, 1_000_000))

    assert drivers.run(operation(), cast("drivers.StatementExecutor", None)) == threading.get_ident()


@pytest.mark.virtual_time
async def test_a_receive_without_messages_ends_when_its_time_is_over() -> None:
    resources = build_resources(FakeDatabase(FakeQueue(stored=0)))
    assert await run_operation(receiving(wait_seconds=5), resources) == [EMPTY_RECEIVE]
    assert asyncio.get_running_loop().time() == pytest.approx(5, rel=0.01)  # `timers`
    assert await run_operation(receiving(wait_seconds=None), resources) == [HEADER]  # The wait time of the queue is 0.


@pytest.mark.virtual_time
async def test_a_woken_receiver_that_left_passes_the_turn_on() -> None:
    queue = FakeQueue(stored=0)
    resources = build_resources(FakeDatabase(queue))
    loop = asyncio.get_running_loop()
    first = loop.create_task(run_operation(receiving(), resources))
    await settle()
    second = loop.create_task(run_operation(receiving(), resources))
    await settle()
    queue.stored = 1
    resources.long_polls.wake(ORDERS, 1)
    first.cancel()
    assert bodies(await second) == ["body 1"]
    assert loop.time() == 0.0


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("arn", "later_seconds", "looks"), [(ORDERS, 1.0, 1), (f"{ORDERS}.fifo", 0.0, 1), (f"{ORDERS}.fifo", 1.0, 2)]
)
async def test_a_receiver_waits_without_a_call_while_others_wait(arn: str, later_seconds: float, looks: int) -> None:
    """The first call found no message, and every later message wakes the first waiting request.

    On FIFO queues, a receive skips its call only after a recent call, because a process does not learn about groups
    that another process unlocked.
    """
    queue = FakeQueue(stored=0)
    database = FakeDatabase(queue)
    resources = build_resources(database)
    loop = asyncio.get_running_loop()
    polls = []
    for _ in range(2):
        polls.append(loop.create_task(run_operation(receiving(arn=arn), resources)))
        await settle()
        await asyncio.sleep(later_seconds)
    assert len(database.calls) == looks
    assert await run_operation(receiving(arn=arn, wait_seconds=0), resources) == [HEADER]
    assert len(database.calls) == looks + 1
    queue.stored = 2
    resources.long_polls.wake(arn, 3)
    responses = await asyncio.gather(*polls)
    assert sorted(map(bodies, responses)) == [["body 1"], ["body 2"]]
    assert loop.time() == 2 * later_seconds


@pytest.mark.virtual_time
async def test_on_a_fifo_queue_nobody_relies_on_somebody_who_made_no_call() -> None:
    database = FakeDatabase(FakeQueue(stored=0))
    resources = build_resources(database)
    loop = asyncio.get_running_loop()
    polls = []
    for looks in (1, 1, 2):
        polls.append(loop.create_task(run_operation(receiving(arn=f"{ORDERS}.fifo"), resources)))
        await asyncio.sleep(0.6 * EMPTY_RECEIVE_VALID_SECONDS)
        assert len(database.calls) == looks
    resources.long_polls.drain()
    assert await asyncio.gather(*polls) == [[EMPTY_RECEIVE]] * 3


@pytest.mark.virtual_time
async def test_a_receiver_calls_again_when_a_message_came_during_its_call() -> None:
    queue = FakeQueue(stored=0)

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        rows = queue(statement, arguments)
        queue.stored = 1
        return rows

    database = FakeDatabase(reply)
    resources = build_resources(database)
    ticket = resources.long_polls.next_ticket()
    await resources.long_polls.wait(NamedQueue(ORDERS), 0.1, ticket)  # The process is now registered.
    begun_at = asyncio.get_running_loop().time()
    database.hold()
    poll = asyncio.get_running_loop().create_task(run_operation(receiving(), resources))
    await settle()
    resources.long_polls.wake(ORDERS, 1)
    database.release()
    assert bodies(await poll) == ["body 1"]
    assert asyncio.get_running_loop().time() == begun_at


@pytest.mark.virtual_time
async def test_a_burst_wakes_two_others_for_each_receive_that_found_messages() -> None:
    """A notification does not contain the number of messages."""
    queue = FakeQueue(stored=0)
    resources = build_resources(FakeDatabase(queue))
    loop = asyncio.get_running_loop()
    polls = [loop.create_task(run_operation(receiving(), resources)) for _ in range(5)]
    await settle()
    queue.stored = 5
    resources.long_polls.wake(ORDERS, 1, Woken.FOR_MORE)
    responses = await asyncio.gather(*polls)
    assert sorted(map(bodies, responses)) == [[f"body {number}"] for number in range(1, 6)]
    assert loop.time() == 0.0


@pytest.mark.virtual_time
async def test_messages_that_came_for_a_request_that_has_just_ended_go_back() -> None:
    """The test cancels the request after its response has arrived and before the request continues."""
    queue = FakeQueue(stored=100)
    loop = asyncio.get_running_loop()

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        loop.call_soon(request.cancel)
        return queue(statement, arguments)

    def operation() -> Steps:
        return (yield from Receive(RECEIVE_MESSAGES, NamedQueue(ORDERS), 3, None))

    resources = build_resources(FakeDatabase(reply))
    request = loop.create_task(run_operation(operation(), resources))
    await asyncio.wait([request])
    assert request.cancelled()
    await resources.batcher.drain()
    assert queue.given_back == [3]


@pytest.mark.virtual_time
async def test_messages_go_back_whenever_a_receive_is_cancelled() -> None:
    """Cancels the receive some turns of the event loop after its queue received messages."""

    async def cancelled_after(rounds: int) -> tuple[int, int]:
        queue = FakeQueue(stored=0)
        resources = build_resources(FakeDatabase(queue))
        request = asyncio.get_running_loop().create_task(
            run_operation(
                receive_messages(Receive(RECEIVE_MESSAGES, NamedQueue(ORDERS), 3, None, wait_seconds=20), CLIENT),
                resources,
            )
        )
        await settle()
        queue.stored = 3
        resources.long_polls.wake(ORDERS, 1)
        for _ in range(rounds):
            await asyncio.sleep(0)
        request.cancel()
        await asyncio.wait([request])
        await settle()
        await resources.batcher.drain()
        return queue.taken, sum(queue.given_back) + (0 if request.cancelled() else len(request.result()))

    for rounds in range(20):
        taken, known = await cancelled_after(rounds)
        assert taken == known, rounds


async def test_messages_go_back_if_a_receive_is_cancelled_during_a_computation() -> None:
    begins, goes_on = threading.Event(), threading.Event()

    def work() -> None:
        begins.set()
        goes_on.wait(60)

    def operation() -> Steps:
        yield from Receive(RECEIVE_MESSAGES, NamedQueue(ORDERS), 3, None)
        return (yield from compute(work, 1_000_000))

    queue = FakeQueue(stored=100)
    resources = build_resources(FakeDatabase(queue))
    request = asyncio.ensure_future(run_operation(operation(), resources))
    await asyncio.to_thread(begins.wait, 60)
    request.cancel()
    await asyncio.wait([request])
    goes_on.set()
    await resources.batcher.drain()
    assert (request.cancelled(), queue.given_back) == (True, [3])


@pytest.mark.virtual_time
async def test_handed_over_messages_are_the_response_of_the_waiting_receiver() -> None:
    database = FakeDatabase(FakeQueue(stored=0))
    resources = build_resources(database)
    request = asyncio.get_running_loop().create_task(run_operation(receiving(3), resources))
    await settle()
    (waiter,) = resources.long_polls.claim(ORDERS, 3)
    assert waiter.receive == Receive(RECEIVE_MESSAGES, NamedQueue(ORDERS), 3, None, wait_seconds=20)
    waiter.serve([HEADER, message(1), message(2)])
    assert await request == [HEADER, message(1), message(2)]
    assert len(database.calls) == 1


@pytest.mark.virtual_time
async def test_messages_handed_to_a_receiver_that_left_go_back() -> None:
    queue = FakeQueue(stored=0)
    resources = build_resources(FakeDatabase(queue))
    request = asyncio.get_running_loop().create_task(run_operation(receiving(3), resources))
    await settle()
    (waiter,) = resources.long_polls.claim(ORDERS, 3)
    waiter.serve([HEADER, message(1), message(2)])
    request.cancel()
    await asyncio.wait([request])
    assert request.cancelled()
    await resources.batcher.drain()
    assert queue.given_back == [2]


class LongMessageFound(psycopg.Error):
    """Imitates the exception that psycopg raises for the SQLSTATE with which `queue.receive_messages` refuses long
    messages."""

    sqlstate = LONG_MESSAGE


@pytest.mark.virtual_time
async def test_a_receiver_woken_for_a_long_message_asks_again_at_once() -> None:
    """The request retries even while others wait, because the long message does not wake the others."""
    queue = FakeQueue(stored=0)

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        if statement is RECEIVE_MESSAGES and queue.stored:
            raise LongMessageFound
        return queue(statement, arguments)

    resources = build_resources(FakeDatabase(reply))
    limit = build_receive_limit(None, Protocol.JSON)
    effect = Receive(RECEIVE_MESSAGES, NamedQueue(ORDERS), 10, None, wait_seconds=20, limit=limit)
    loop = asyncio.get_running_loop()
    first, second = [loop.create_task(run_operation(receive_messages(effect, CLIENT), resources)) for _ in range(2)]
    await settle()
    queue.stored = 1
    resources.long_polls.wake(ORDERS, 1)
    await settle()
    assert first.done()
    assert [row.body for row in first.result()] == ["body 1"]
    assert not second.done()
    second.cancel()


@pytest.mark.virtual_time
@pytest.mark.parametrize("is_long", [True, False])
async def test_a_receiver_of_a_known_empty_queue_makes_no_call(is_long: bool) -> None:
    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        if statement is RECEIVE_MESSAGES and is_long:
            raise LongMessageFound
        return queue(statement, arguments)

    queue = FakeQueue(stored=0)
    database = FakeDatabase(reply)
    resources = build_resources(database)
    effect = Receive(
        RECEIVE_MESSAGES, NamedQueue(ORDERS), 10, None, wait_seconds=20,
        limit=build_receive_limit(None, Protocol.JSON),
    )  # fmt: skip
    loop = asyncio.get_running_loop()
    polls = []
    for _ in range(2):
        polls.append(loop.create_task(run_operation(receive_messages(effect, CLIENT), resources)))
        await settle()
    assert len(database.calls) == 1 + is_long
    resources.long_polls.drain()
    assert await asyncio.gather(*polls) == [[], []]
