"""Tests pending batches: which calls merge, how results return to callers, and how failures end.

docs/explain/internals.md, "The path of a request", defines the rules.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import psycopg
import pytest

from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Receive
from penstock.errors import InternalFailure, ServiceUnavailable
from penstock.postgres.binary_array import encode_arguments
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    RECEIVE_MESSAGES,
    SEND_MESSAGES,
    ReceiptHandle,
    SendEntry,
)
from penstock.postgres.statements.sns.topics import PUBLISH_MESSAGES, PublishEntry
from penstock_web.batching import batcher as batcher_module
from penstock_web.batching.batcher import Batcher
from penstock_web.batching.merge import Batch, Mergeable, distribute_messages
from penstock_web.database.errors import OutcomeUnknown, RolledBack
from tests.support.web.fakes import (
    HEADER,
    ORDERS,
    EchoRow,
    FakeDatabase,
    FakeQueue,
    bodies,
    build_receive,
    echo,
    empty,
    entries,
    message,
    stored,
)
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time


def values_of(rows: Sequence[Row]) -> list[int]:
    """Returns the rows of an effect in the order of its entries. `n` is the number of the entry in the call."""
    return [row.value for row in sorted(cast("Sequence[EchoRow]", rows))]


async def test_an_idle_batcher_adds_nothing() -> None:
    database = FakeDatabase()
    batcher = Batcher(database.call, limit=10)
    assert await batcher.submit(entries(7)) == [(1, 7)]
    assert asyncio.get_running_loop().time() == 0.0


async def test_calls_that_gather_share_one_and_each_caller_gets_its_rows() -> None:
    database = FakeDatabase()
    database.hold()
    batcher = Batcher(database.call, limit=10)
    first = batcher.submit(entries(1))
    await settle()
    rest = [batcher.submit(entries(2, 3)), batcher.submit(entries(4)), batcher.submit(entries(5, 6))]
    await settle()
    assert database.values == [[1]]
    database.release()
    assert await first == [(1, 1)]
    responses = [sorted(await response) for response in rest]
    assert list(map(values_of, responses)) == [[2, 3], [4], [5, 6]]
    assert database.values == [[1], [2, 3, 4, 5, 6]]


async def test_calls_of_other_options_or_merge_keys_neither_merge_nor_wait_for_each_other() -> None:
    database = FakeDatabase()
    database.hold()
    batcher = Batcher(database.call, limit=10)
    responses = [
        batcher.submit(entries(1)),
        batcher.submit(entries(2, options=(True,))),
        batcher.submit(entries(3, merge_key="orders.fifo")),
    ]
    await settle()
    assert database.values == [[1], [2], [3]]
    assert database.calls[1][1][2:] == [True]
    database.release()
    assert await asyncio.gather(*responses) == [[(1, 1)], [(1, 2)], [(1, 3)]]


async def test_takes_of_one_queue_merge_and_messages_are_dealt_in_order() -> None:
    queue = FakeQueue(stored=100)
    database = FakeDatabase(queue)
    database.hold()
    batcher = Batcher(database.call, limit=10)
    first = batcher.submit(build_receive(1))
    await settle()
    rest = [batcher.submit(build_receive(2)), batcher.submit(build_receive(20)), batcher.submit(build_receive(1))]
    database.release()
    assert bodies(await first) == ["body 1"]
    responses = await asyncio.gather(*rest)
    assert [row[0] for row in responses] == [HEADER] * 3
    assert bodies(responses[0]) == ["body 2", "body 3"]
    assert bodies(responses[1]) == [f"body {n}" for n in range(4, 24)]
    assert bodies(responses[2]) == ["body 24"]
    # p_max is the sum of the callers' limits. The lease size is the largest count, but at least 10.
    assert [arguments for _, arguments in database.calls] == [
        [ORDERS, 1, 10, None, None, True, None],
        [ORDERS, 23, 20, None, None, True, None],
    ]


async def test_the_last_ones_get_only_the_header_when_messages_run_out() -> None:
    database = FakeDatabase(FakeQueue(stored=2))
    database.hold()
    batcher = Batcher(database.call, limit=10)
    responses = [batcher.submit(build_receive(2)) for _ in range(3)]
    database.release()
    assert [bodies(rows) for rows in await asyncio.gather(*responses)] == [["body 1", "body 2"], [], []]


async def test_takes_with_another_visibility_do_not_merge() -> None:
    database = FakeDatabase(FakeQueue(stored=0))
    database.hold()
    batcher = Batcher(database.call, limit=10)
    responses = [batcher.submit(build_receive(1)), batcher.submit(build_receive(1, visibility_seconds=5))]
    await settle()
    assert [arguments[3] for _, arguments in database.calls] == [None, 5]
    database.release()
    await asyncio.gather(*responses)


async def test_takes_of_a_fifo_queue_merge_when_they_are_equally_large() -> None:
    """Two receivers with messages of one group would process them at the same time, so SQL distributes the groups in
    equal shares."""
    database = FakeDatabase(FakeQueue(stored=0))
    batcher = Batcher(database.call, limit=100)
    await empty(batcher, ORDERS + ".fifo")
    database.hold()
    counts = (10, 1, 10, 10, 1)
    responses = [batcher.submit(build_receive(count, ORDERS + ".fifo")) for count in counts]
    await settle()
    database.release()
    await asyncio.gather(*responses)
    assert sorted(tuple(arguments[1:3]) for _, arguments in database.calls[1:]) == [(2, 1), (30, 10)]


def publication(topic: str, version: str, count: int = 2, size: int = 100) -> Batch:
    entry = PublishEntry(b"{}")
    options = (topic, version)
    return BatchCall(PUBLISH_MESSAGES, [entry] * count, options, merge_key=topic, size_bytes=2 * size * count)


async def test_publications_for_one_topic_go_together() -> None:
    """The publications have the same signature. A call contains several MiB, because each message is in the call twice:
    directly and in its envelope.
    """
    database = FakeDatabase()
    database.hold()
    batcher = Batcher(database.call, limit=10_000)
    first = batcher.submit(publication("a", "1"))
    await settle()
    others = [batcher.submit(publication(*key)) for key in (("a", "1"), ("b", "1"), ("a", "2"), ("a", "1"))]
    large = [batcher.submit(publication("c", "1", 10, 100_000)) for _ in range(9)]
    await settle()
    database.release()
    await asyncio.gather(first, *others, *large)
    calls = [(len(arguments[0]), *arguments[1:]) for _, arguments in database.calls]
    assert sorted(calls) == sorted([
        (2, "a", "1"), (4, "a", "1"), (2, "a", "2"), (2, "b", "1"), *[(10, "c", "1")] * 9,
    ])  # fmt: skip


def test_the_share_of_who_left_a_fifo_queue_goes_to_nobody_else() -> None:
    """The share of a receiver that left contains groups that differ from the groups in other shares."""
    arn = ORDERS + ".fifo"
    takes = [Receive(RECEIVE_MESSAGES, NamedQueue(arn), 2, None)] * 3
    rows = [message(number) for number in range(5)]
    responses, left_over = distribute_messages(takes, [True, False, True], [HEADER, *rows])
    assert [response[1:] for response in responses] == [rows[:2], rows[2:4], rows[4:]]
    assert left_over == rows[2:4]


async def test_an_entry_whose_caller_left_before_the_flush_is_dropped() -> None:
    database = FakeDatabase()
    database.hold()
    batcher = Batcher(database.call, limit=10)
    first = batcher.submit(entries(1))
    await settle()
    gone, stays = batcher.submit(entries(2)), batcher.submit(entries(3))
    gone.cancel()
    database.release()
    assert await first == [(1, 1)]
    assert await stays == [(1, 3)]
    assert database.values == [[1], [3]]


async def test_a_caller_who_leaves_during_the_flush_does_not_cancel_it() -> None:
    database = FakeDatabase()
    database.hold()
    batcher = Batcher(database.call, limit=10)
    responses = [batcher.submit(entries(1)), batcher.submit(entries(2))]
    caller = asyncio.get_running_loop().create_task(asyncio.wait_for(responses[0], None))
    await settle()
    caller.cancel()
    database.release()
    assert values_of(await responses[1]) == [2]


async def test_messages_of_a_caller_who_left_go_to_the_others_first_and_then_back_to_the_queue() -> None:
    queue = FakeQueue(stored=100)
    database = FakeDatabase(queue)
    batcher = Batcher(database.call, limit=10)
    await batcher.submit(build_receive(1))
    database.hold()
    gone, stays = batcher.submit(build_receive(3)), batcher.submit(build_receive(2))
    await settle()
    gone.cancel()
    database.release()
    assert bodies(await stays) == ["body 2", "body 3"]
    await batcher.drain()
    assert queue.given_back == [3]
    _, arguments = database.calls[-1]
    assert list(arguments[0]) == [1, 1, 1]  # queue ids
    assert list(arguments[4]) == [1, 1, 1]  # receive counts


async def test_a_poisoned_entry_is_isolated_by_halving() -> None:
    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        values = list(arguments[0])
        if 13 in values:
            raise psycopg.errors.CharacterNotInRepertoire("invalid byte sequence")
        return [(n, value) for n, value in enumerate(values, 1)]

    database = FakeDatabase(reply)
    batcher = Batcher(database.call, limit=100)
    responses = [batcher.submit(entries(value)) for value in range(10, 18)]
    outcomes = await asyncio.gather(*responses, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(InternalFailure) == 1
    assert isinstance(outcomes[3], InternalFailure)
    assert [values_of(o) for o in outcomes if isinstance(o, list)] == [[v] for v in range(10, 18) if v != 13]
    assert len(database.calls) == 7  # 8, 4, 2, 1, 1, 2, 4


async def test_a_value_without_a_binary_form_is_isolated_too() -> None:
    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        encode_arguments(statement.types, arguments)
        return echo(statement, arguments)

    batcher = Batcher(FakeDatabase(reply).call, limit=100)
    responses = [batcher.submit(entries(value)) for value in (1, 2**40, 3)]
    outcomes = await asyncio.gather(*responses, return_exceptions=True)
    assert outcomes[0] == [(1, 1)]
    assert isinstance(outcomes[1], InternalFailure)
    assert outcomes[2] == [(1, 3)]


async def test_a_missing_function_is_nobodys_data() -> None:
    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        raise psycopg.errors.UndefinedFunction("function test.echo does not exist")

    database = FakeDatabase(reply)
    batcher = Batcher(database.call, limit=100)
    responses = [batcher.submit(entries(value)) for value in range(8)]
    outcomes = await asyncio.gather(*responses, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {InternalFailure}
    assert len(database.calls) == 1


def send() -> Batch:
    entry = SendEntry(ORDERS, bytes(16), b"body", 4)
    return BatchCall(SEND_MESSAGES, [entry], (False,))


def delete() -> Batch:
    return BatchCall(DELETE_MESSAGES, [ReceiptHandle(1, 0, 1, 1, 1, 1, bytes(16))])


@pytest.mark.parametrize(
    ("effect", "error", "calls"),
    [
        (send(), OutcomeUnknown, 1),  # The database may have stored the message, so the batcher does not retry.
        (build_receive(1), OutcomeUnknown, 1),
        (delete(), OutcomeUnknown, 2),
        (send(), RolledBack, 2),  # The database rolled the call back, so it did not store the message.
        (send(), ServiceUnavailable, 1),
    ],
)
async def test_the_cause_of_a_failed_call_decides_about_its_repetition(
    effect: Mergeable, error: type[ServiceUnavailable], calls: int
) -> None:
    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        raise error

    database = FakeDatabase(reply)
    batcher = Batcher(database.call, limit=10)
    responses = [batcher.submit(effect), batcher.submit(effect)]
    outcomes = await asyncio.gather(*responses, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {ServiceUnavailable}
    assert len(database.calls) == calls


async def test_no_call_is_repeated_for_a_request_that_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second slow call would use up the time of the request, and the response would be 408 instead of 503."""
    clock = 1000.0
    monkeypatch.setattr(batcher_module, "monotonic", lambda: clock)

    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        nonlocal clock
        clock += batcher_module.LATEST_REPETITION_SECONDS + 0.1
        raise OutcomeUnknown

    database = FakeDatabase(reply)
    with pytest.raises(ServiceUnavailable):
        await Batcher(database.call, limit=10).submit(delete())
    assert len(database.calls) == 1


async def test_a_delete_that_works_the_second_time_is_a_success() -> None:
    def reply(statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        if len(database.calls) == 1:
            raise OutcomeUnknown
        return [(1, "deleted")]

    database = FakeDatabase(reply)

    assert await Batcher(database.call, limit=10).submit(delete()) == [(1, "deleted")]


async def test_too_many_waiting_effects_are_refused() -> None:
    """A batch of several messages counts as one effect."""
    database = FakeDatabase()
    database.hold()
    batcher = Batcher(database.call, limit=2)
    under_way = batcher.submit(entries(0))
    await settle()
    waiting = [batcher.submit(entries(*range(10))), batcher.submit(entries(2))]
    with pytest.raises(ServiceUnavailable):
        batcher.submit(entries(3))
    database.release()
    await asyncio.gather(under_way, *waiting)
    assert await batcher.submit(entries(4)) == [(1, 4)]


async def test_an_idle_batcher_keeps_no_pending_batch() -> None:
    batcher = Batcher(FakeDatabase(FakeQueue(stored=0)).call, limit=10_000)
    await asyncio.gather(*(batcher.submit(build_receive(1, f"{ORDERS}-{n}")) for n in range(500)))
    await batcher.drain()
    assert batcher._backlog.batches == {}


async def test_linger_adds_a_timer_to_sends_alone() -> None:
    loop = asyncio.get_running_loop()
    database = FakeDatabase(stored)
    batcher = Batcher(database.call, limit=100, linger_seconds=0.005)
    first = batcher.submit(send())
    await asyncio.sleep(0.004)
    second = batcher.submit(send())
    await asyncio.gather(first, second)
    assert loop.time() == pytest.approx(0.005)
    assert len(database.calls) == 1
    database.reply = FakeQueue(stored=0)
    await batcher.submit(build_receive(1))
    assert loop.time() == pytest.approx(0.005)


async def test_drain_waits_for_flushes() -> None:
    database = FakeDatabase()
    database.hold()
    batcher = Batcher(database.call, limit=10)
    response = batcher.submit(entries(1))
    drained = asyncio.get_running_loop().create_task(batcher.drain())
    await settle()
    assert not drained.done()
    database.release()
    await drained
    assert response.done()


async def test_callers_in_successive_turns_share_the_first_call() -> None:
    """Callers share the first call if the event loop reads their requests in consecutive turns."""
    database = FakeDatabase()
    batcher = Batcher(database.call, limit=10)
    responses = []
    for number in (1, 2, 3):
        responses.append(batcher.submit(entries(number)))
        await asyncio.sleep(0)
    assert [values_of(await response) for response in responses] == [[1], [2], [3]]
    assert database.values == [[1, 2, 3]]


async def test_after_a_while_without_a_call_the_first_goes_at_once() -> None:
    database = FakeDatabase()
    batcher = Batcher(database.call, limit=10)
    for _ in range(2):
        await asyncio.sleep(1)
        responses = []
        for number in (1, 2, 3):
            responses.append(batcher.submit(entries(number)))
            await asyncio.sleep(0)
        await asyncio.gather(*responses)
    assert database.values == [[1], [2, 3]] * 2
