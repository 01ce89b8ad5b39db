"""Tests that a send delivers the message to a waiting receiver in one transaction, or works as if no receiver
waited."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Receive, Woken
from penstock.errors import ServiceUnavailable
from penstock.limits.message_lengths import MAX_RECEIVE
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import RECEIVE_MESSAGES, SEND_MESSAGES, ReceivedRow, SendEntry
from penstock_web.batching.direct_handoff import MAX_WAITER_GROUPS, DirectHandoff
from penstock_web.batching.merge import Batch
from penstock_web.batching.pending_batch import PendingEffect
from penstock_web.batching.write_backpressure import WriteBackpressure
from penstock_web.database.calls import StatementCall
from penstock_web.database.errors import OutcomeUnknown
from penstock_web.database.pipeline_connection import PipelineConnection
from penstock_web.database.pipeline_pool import open_pipeline_connection
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.long_poll.waiters import WaitFuture
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service, until_row
from tests.support.web.fakes import HEADER, ORDERS, RowT, build_receive, message
from tests.support.web.http_connection import SlowClient
from tests.support.web.virtual_clock import settle


class Pool:
    """Imitates a pool and stores messages. A receive finds `found` messages. `pipelines` says whether calls can
    share a pipeline.
    """

    def __init__(self, found: int = 0, *, pipelines: bool = True) -> None:
        self.found = found
        self.pipelines = pipelines
        self.calls: list[list[str]] = []
        self.asked: list[list[Any]] = []
        self.during: Callable[[], object] = lambda: None
        self.error: Exception | None = None
        self.visibility_ms = 30_000

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]:
        (rows,) = self._response([(statement, arguments)])
        return statement.build_rows(rows)

    def lease_pipeline(self) -> "nullcontext[Pool] | None":
        return nullcontext(self) if self.pipelines else None

    async def call_in_transaction(self, calls: Sequence[StatementCall]) -> list[list[Row]]:
        return self._response(calls)

    def _response(self, calls: Sequence[StatementCall]) -> list[list[Row]]:
        self.calls.append([statement.name for statement, _ in calls])
        self.during()
        if self.error is not None:
            raise self.error
        return [statement.build_rows(self._rows(statement, arguments)) for statement, arguments in calls]

    def _rows(self, statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        if statement is SEND_MESSAGES:
            return [(1, 1, None, None, None, None)]
        self.asked.append(list(arguments))
        number = min(self.found, int(arguments[1]))
        self.found -= number
        return [HEADER, *(message(n, visibility_ms=self.visibility_ms) for n in range(1, number + 1))]


class Waiters:
    """Holds a dispatcher, and the messages that the dispatcher returned. Only the test sends to the queues."""

    def __init__(self, pool: Pool) -> None:
        self.long_polls = LongPollDispatcher(self._nothing)
        self.write_backpressure = WriteBackpressure()
        self.direct_handoff = DirectHandoff(pool, self.long_polls, self.write_backpressure)
        self.given_back: list[tuple[str, int]] = []

    async def _nothing(self, statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]:
        return []

    def wait(self, receive: Receive[ReceivedRow] | None) -> WaitFuture:
        queue = NamedQueue(ORDERS) if receive is None else receive.queue
        return self.long_polls.wait(queue, 20, self.long_polls.next_ticket(), receive=receive)

    def send(self, *numbers: int, arn: str = ORDERS, first_id: int = 1) -> Awaitable[list[list[Row]]]:
        """Makes one call for several senders. `counts` contains the number of messages of each sender."""
        return self.send_effects([sent(arn, number, first_id) for number in numbers])

    def send_effects(self, effects: Sequence[Batch]) -> Awaitable[list[list[Row]]]:
        entries = [PendingEffect(effect, asyncio.Future(), len(effect), 0.0) for effect in effects]
        return self.direct_handoff.send(entries, self._give_back)

    def _give_back(self, queue: NamedQueue, rows: Sequence[Row]) -> None:
        if rows:
            self.given_back.append((queue.arn, len(rows)))


def sent(arn: str, number: int, first_id: int = 1) -> Batch:
    """Returns messages with consecutive ids, starting with `message(first_id)`."""
    ids = [UUID(int=first_id + n).bytes for n in range(number)]
    entries = [SendEntry(arn, each, b"x", 1) for each in ids]
    return BatchCall(SEND_MESSAGES, entries, (False,), queue_arn=arn)


def messages_of(response: WaitFuture) -> int:
    rows = response.result()
    assert isinstance(rows, list)
    return len(rows) - 1


WATCHED = "select from queue.watcher join queue.queues q using (queue_id)"
TOGETHER = [SEND_MESSAGES.name, RECEIVE_MESSAGES.name]
ALONE = [SEND_MESSAGES.name]


@pytest.mark.virtual_time
async def test_a_waiting_receiver_gets_a_message_in_the_call_that_sends_it() -> None:
    pool = Pool(found=1)
    waiters = Waiters(pool)
    first, second = waiters.wait(build_receive(1)), waiters.wait(build_receive(1))
    assert await waiters.send(1) == [[(1, 1, None, None, None, None)]]
    assert pool.calls == [TOGETHER]
    assert first.result() == [HEADER, message(1)]
    assert not second.done()


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("registered", "sent", "found", "known"),
    [(True, 1, 1, True), (True, 2, 1, False), (True, 1, 2, False), (True, 1, 0, False), (False, 1, 1, False)],
)
async def test_the_queue_is_empty_again_when_all_that_was_sent_was_handed_out(
    registered: bool, sent: int, found: int, known: bool
) -> None:
    """The next receive then waits immediately, because the process receives a notification of every new message."""
    waiters = Waiters(Pool(found=found))
    waiters.long_polls.receives_notifications = registered
    waiters.wait(build_receive(10))
    await waiters.send(sent)
    assert waiters.long_polls.can_skip_receive(NamedQueue(ORDERS)) is known
    waiters.long_polls.wake(ORDERS, 1)
    assert not waiters.long_polls.can_skip_receive(NamedQueue(ORDERS))


@pytest.mark.virtual_time
async def test_the_queue_is_not_known_to_be_empty_when_an_older_message_was_handed_out() -> None:
    waiters = Waiters(Pool(found=1))
    waiters.long_polls.receives_notifications = True
    waiters.wait(build_receive(1))
    await waiters.send(1, first_id=2)
    assert not waiters.long_polls.can_skip_receive(NamedQueue(ORDERS))


@pytest.mark.virtual_time
async def test_the_queue_is_not_known_to_be_empty_when_what_was_handed_out_is_still_visible() -> None:
    """The visibility timeout is 0."""
    pool = Pool(found=1)
    pool.visibility_ms = 0
    waiters = Waiters(pool)
    waiters.long_polls.receives_notifications = True
    waiters.wait(build_receive(1, visibility_seconds=0))
    await waiters.send(1)
    assert not waiters.long_polls.can_skip_receive(NamedQueue(ORDERS))


@pytest.mark.virtual_time
async def test_the_queue_is_not_known_to_be_empty_when_another_send_came_meanwhile() -> None:
    pool = Pool(found=1)
    waiters = Waiters(pool)
    waiters.long_polls.receives_notifications = True
    waiters.wait(build_receive(10))
    pool.during = lambda: waiters.long_polls.wake(ORDERS, 1)
    await waiters.send(1)
    assert not waiters.long_polls.can_skip_receive(NamedQueue(ORDERS))


@pytest.mark.virtual_time
async def test_the_queue_is_not_known_to_be_empty_when_a_message_was_returned() -> None:
    pool = Pool(found=1)
    waiters = Waiters(pool)
    waiters.long_polls.receives_notifications = True
    gone = waiters.wait(build_receive(10))
    pool.during = gone.cancel
    await waiters.send(1)
    assert waiters.given_back == [(ORDERS, 1)]
    assert not waiters.long_polls.can_skip_receive(NamedQueue(ORDERS))


@pytest.mark.virtual_time
async def test_a_receive_beside_a_send_waits_for_the_disk() -> None:
    pool = Pool(found=1)
    waiters = Waiters(pool)
    waiters.wait(build_receive(1, visibility_seconds=7))
    await waiters.send(1)
    (arguments,) = pool.asked
    assert arguments == [ORDERS, 1, 10, 7, None, False, None]


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("asked", "messages", "got"), [([1, 1, 1], 2, [1, 1, None]), ([10, 10], 4, [4, None]), ([2, 2], 3, [2, 1])]
)
async def test_as_many_are_served_as_messages_are_enough_for(
    asked: list[int], messages: int, got: list[int | None]
) -> None:
    waiters = Waiters(Pool(found=messages))
    responses = [waiters.wait(build_receive(count)) for count in asked]
    await waiters.send(*[1] * messages)
    assert [messages_of(response) if response.done() else None for response in responses] == got


@pytest.mark.virtual_time
async def test_one_call_hands_over_a_bounded_number_of_messages() -> None:
    """The process limits the number of messages, because the queue can contain larger messages than the ones that
    arrive.
    """
    pool = Pool(found=MAX_RECEIVE + 20)
    waiters = Waiters(pool)
    responses = [waiters.wait(build_receive(1)) for _ in range(MAX_RECEIVE + 20)]
    await waiters.send(MAX_RECEIVE + 10)
    (arguments,) = pool.asked
    assert arguments[1] == MAX_RECEIVE
    looking = [response for response in responses if response.done() and response.result() == Woken.FOR_ONE]
    assert len(looking) == 10


@pytest.mark.virtual_time
async def test_while_much_is_unread_they_look_by_themselves() -> None:
    """A search for long messages can wait for clients that read slowly."""
    waiters = Waiters(Pool(found=1))
    waiters.write_backpressure.add(SlowClient(20_000_000))
    response = waiters.wait(build_receive(1))
    await waiters.send(1)
    assert response.result() == Woken.FOR_ONE


@pytest.mark.virtual_time
async def test_without_a_pipeline_connection_they_receive_by_themselves() -> None:
    pool = Pool(found=1, pipelines=False)
    waiters = Waiters(pool)
    first, second = waiters.wait(build_receive(1)), waiters.wait(build_receive(1))
    await waiters.send(1)
    assert pool.calls == [ALONE]
    assert first.result() == Woken.FOR_ONE
    assert not second.done()


@pytest.mark.virtual_time
async def test_a_receiver_that_gets_no_message_polls_by_itself() -> None:
    """Another receiver received the message, or the message is delayed."""
    waiters = Waiters(Pool(found=0))
    first, second = waiters.wait(build_receive(1)), waiters.wait(build_receive(1))
    await waiters.send(1)
    assert first.result() == Woken.FOR_ONE
    assert not second.done()


@pytest.mark.virtual_time
async def test_an_error_is_the_senders_and_whoever_waited_looks() -> None:
    pool = Pool()
    pool.error = ServiceUnavailable()
    waiters = Waiters(pool)
    waiting = waiters.wait(build_receive(1))
    with pytest.raises(ServiceUnavailable):
        await waiters.send(1)
    assert waiting.result() == Woken.FOR_ONE


@pytest.mark.virtual_time
async def test_messages_for_a_receiver_that_left_go_to_others_or_back() -> None:
    pool = Pool(found=3)
    waiters = Waiters(pool)
    leaves, stays = waiters.wait(build_receive(1)), waiters.wait(build_receive(2))
    pool.during = leaves.cancel
    await waiters.send(3)
    assert messages_of(stays) == 2
    assert waiters.given_back == [(ORDERS, 1)]


@pytest.mark.virtual_time
@pytest.mark.parametrize("receive", [None, build_receive(1, f"{ORDERS}.fifo")])
async def test_looks_of_their_own_are_not_made_by_a_send(receive: Receive[ReceivedRow] | None) -> None:
    """A FIFO queue delivers the messages of a group one after the other, and stores receives that have an attempt
    id."""
    pool = Pool(found=1)
    waiters = Waiters(pool)
    waiting = waiters.wait(receive)
    await waiters.send(1, arn=ORDERS if receive is None else receive.queue.arn)
    assert pool.calls == [ALONE]
    assert waiting.result() == Woken.FOR_ONE


@pytest.mark.virtual_time
async def test_another_visibility_timeout_is_another_look() -> None:
    waiters = Waiters(Pool(found=1))
    first, second = waiters.wait(build_receive(1)), waiters.wait(build_receive(1, visibility_seconds=7))
    await waiters.send(2)
    assert messages_of(first) == 1
    assert second.result() == Woken.FOR_ONE


@pytest.mark.virtual_time
async def test_each_queue_has_a_receive_of_its_own_but_not_many() -> None:
    pool = Pool(found=10)
    waiters = Waiters(pool)
    arns = [f"{ORDERS}-{number}" for number in range(MAX_WAITER_GROUPS + 1)]
    responses = [waiters.wait(build_receive(1, arn)) for arn in arns]
    await waiters.send_effects([sent(arn, 1) for arn in arns])
    assert pool.calls == [[SEND_MESSAGES.name, *[RECEIVE_MESSAGES.name] * MAX_WAITER_GROUPS]]
    assert [messages_of(response) for response in responses[:-1]] == [1] * MAX_WAITER_GROUPS
    assert responses[-1].result() == Woken.FOR_ONE


@pytest.mark.virtual_time
async def test_the_time_of_who_is_being_served_does_not_end() -> None:
    pool = Pool(found=1)
    waiters = Waiters(pool)
    waiting = waiters.wait(build_receive(1))
    claimed = waiters.long_polls.claim(ORDERS, 1)
    await asyncio.sleep(60)
    await settle()
    assert not waiting.done()
    assert claimed[0].wake()


@pytest.mark.virtual_time
def test_message_and_lease_are_one_transaction(database: Database) -> None:
    """Sends a message through the whole service after the service has opened a pipeline connection. The row versions
    show which transaction wrote the rows.
    """
    same = "select count(*) from queue.log l join queue.lease x on x.xmin = l.xmin where x.pos = l.id"
    with (
        running_service(database.api_dsn, database.dsn) as service,
        psycopg.connect(database.dsn, autocommit=True) as connection,
        ThreadPoolExecutor() as threads,
    ):
        sqs = service.sqs()
        for number in range(20):
            url = sqs.create_queue(QueueName=f"orders-{number}")["QueueUrl"]
            response = threads.submit(sqs.receive_message, QueueUrl=url, WaitTimeSeconds=20)
            until_row(database.dsn, f"{WATCHED} where q.arn like '%:orders-{number}'")
            sqs.send_message(QueueUrl=url, MessageBody="hello")
            assert [message["Body"] for message in response.result()["Messages"]] == ["hello"]
            if connection.execute(same).fetchone() == (1,):
                return
    pytest.fail("never in one transaction")


# --- lost handoff ----------------------------------------------------------------------------------------------------
# Tests a send whose response is lost after its commit while a receive waits for the message.


class LossyPool:
    """The server commits each transaction, but the response is lost."""

    def __init__(self, pipeline: PipelineConnection) -> None:
        self._pipeline = pipeline

    def lease_pipeline(self) -> "nullcontext[LossyPool]":
        return nullcontext(self)

    async def call_in_transaction(self, calls: Sequence[StatementCall]) -> list[list[Row]]:
        await self._pipeline.call_in_transaction(calls)
        raise OutcomeUnknown

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]:
        raise NotImplementedError


async def send_while_somebody_waits(dsn: str) -> Woken | list[Any]:
    async def execute(statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]:
        return []

    pipeline = await open_pipeline_connection(dsn, 8)
    long_polls = LongPollDispatcher(execute)
    handoff = DirectHandoff(LossyPool(pipeline), long_polls, WriteBackpressure())
    waiting = long_polls.wait(NamedQueue(ORDERS), 20, long_polls.next_ticket(), receive=build_receive(1))
    entry = SendEntry(ORDERS, uuid4().bytes, b"new", 3)
    effect = BatchCall(SEND_MESSAGES, [entry], (False,), queue_arn=ORDERS)
    with pytest.raises(OutcomeUnknown):
        await handoff.send([PendingEffect(effect, asyncio.Future(), 1, 0.0)], lambda *_: None)
    pipeline.close()
    return await waiting


async def test_a_message_of_a_lost_handoff_counts_as_received(database: Database) -> None:
    """The receive continues and finds the remaining messages. A message can therefore become a dead letter before
    maxReceiveCount responses with the message were delivered.
    """
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("select queue.create('orders')")
        connection.execute("select queue.send('orders', '\"old\"')")
        assert await send_while_somebody_waits(database.dsn) == Woken.FOR_ONE
        in_flight = "select body, receive_count from queue.peek_messages(%s, 'in_flight', 0, 10)"
        assert connection.execute(in_flight, [ORDERS]).fetchall() == [('"old"', 1)]
        assert connection.execute("select count(*) from queue.receive('orders', 30, 10)").fetchone() == (1,)
