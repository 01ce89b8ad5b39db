"""Tests the batches of a mapping, in virtual time. docs/reference/mapping_polling.md defines the rules."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

import pytest

from penstock.access.receipt_handle import ReceiptHandles
from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Operation, Receive
from penstock.environment import Environment
from penstock.errors import ServiceUnavailable
from penstock.event_sources.batches import StoredMapping
from penstock.event_sources.invocation import FunctionThrottled, Invoker
from penstock.event_sources.types import Options, ScalingConfig
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.mappings import ClaimedMappingRow
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    FAIL_MESSAGES,
    ChangedRow,
    DeletedRow,
    ReceivedRow,
)
from penstock.settings import Settings
from penstock.workers.poll.invocation_slots import InvocationSlots
from penstock.workers.poll.mapping_poller import MappingPoller
from penstock.workers.poll.poller import Poller, count_most_invocations
from penstock.workers.poll.service import PollService
from tests.support.web.virtual_clock import settle

pytestmark = pytest.mark.virtual_time

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
HEADER = ReceivedRow._make((None, 0, *[None] * (len(ReceivedRow._fields) - 2)))


def now_ms() -> float:
    return asyncio.get_running_loop().time() * 1000


class Counts:
    """Ignores all counts."""

    def count_polled(self, *_: Any) -> None: ...

    def count_invocation(self, *_: Any) -> None: ...

    def count_handled(self, *_: Any) -> None: ...


class Queue:
    """Imitates a queue that returns each message once. `deleted` contains the numbers of deleted messages, in order.

    Deletes fail during the period `away`.
    """

    claim_seconds = idle_seconds = 20.0
    counts = Counts()

    def __init__(self, visible_seconds: float, *bodies: str) -> None:
        self.visible_seconds = visible_seconds
        self.bodies = deque(bodies)
        self.received: list[tuple[float, str]] = []
        self.deleted: list[int] = []
        self.away = (0.0, 0.0)

    async def run(self, operation: Operation[T]) -> T:
        try:
            effect = next(operation)
            while True:
                effect = operation.send(await self._result(effect))
        except StopIteration as end:
            return cast("T", end.value)

    async def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        raise NotImplementedError

    def return_messages(self, queue: NamedQueue, messages: Sequence[ReceivedRow]) -> None: ...

    async def _result(self, effect: Any) -> Any:
        if isinstance(effect, Receive):
            if not self.bodies:
                await asyncio.sleep(effect.wait_seconds or 0)
            return [HEADER, *(self._row() for _ in range(min(effect.count, len(self.bodies))))]
        if isinstance(effect, BatchCall) and effect.statement in (CHANGE_VISIBILITIES, FAIL_MESSAGES):
            return [ChangedRow(n, "changed", 0) for n in range(1, len(effect.entries) + 1)]
        if isinstance(effect, BatchCall):
            if self.away[0] <= asyncio.get_running_loop().time() < self.away[1]:
                raise ServiceUnavailable
            self.deleted += [entry.id for entry in effect.entries]
            return [DeletedRow(n, "deleted") for n in range(1, len(effect.entries) + 1)]
        return None

    def _row(self) -> ReceivedRow:
        number, body, now = len(self.received) + 1, self.bodies.popleft(), round(now_ms())
        self.received.append((now / 1000, body))
        return ReceivedRow(
            None, None, 1, 0, 0, number, 1, str(UUID(int=number)), now, now, body, None, None, number,
            round(now + self.visible_seconds * 1000), 0,
        )  # fmt: skip


class Target:
    """Imitates a function whose invocations take `seconds`. `began` contains the start of each invocation, and `error`
    is the error of every invocation."""

    def __init__(self, seconds: float = 0.0, error: Exception | None = None) -> None:
        self.seconds = seconds
        self.error = error
        self.began: list[float] = []

    async def invoke(self, _: str, __: str, ___: str, ____: bytes, _____: float) -> bytes:
        self.began.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return b""


class Harness:
    """Runs a mapping that polls a queue. `results` contains the reports of the mapping. `lost_reports` counts the
    reports that the database could not store.

    `stored_result` is the result in the database. The first report takes `first_report_seconds`.
    """

    def __init__(
        self,
        service: Queue,
        target: Target,
        options: Options,
        slots: int | InvocationSlots = 200,
        function: str = FUNCTION,
        number: int = 1,
    ) -> None:
        self.service, self.target = service, target
        self.results: list[str] = []
        self.lost_reports = 0
        self.first_report_seconds = 0.0
        self.stored_result = ""
        settings = Settings.read({"QUEUE_LAMBDA_ENDPOINT": "http://127.0.0.1:1"})
        mapping = StoredMapping(
            mapping_id=UUID(int=number), account_id="000000000000", region="us-east-1", queue_arn=QUEUE,
            function_arn=function, user_name=None, options=options, filters=None, enabled=True, reason="",
            last_result="", tags={}, updated_at=0.0, revision=1, invocations=0, failed_invocations=0,
            failing_since=None,
        )  # fmt: skip
        self.poller = MappingPoller(
            mapping, Environment(settings, ReceiptHandles(b"k" * 32)), service, cast("Invoker", target),
            slots if isinstance(slots, InvocationSlots) else InvocationSlots(slots), self._report, now_ms,
        )  # fmt: skip

    async def _report(self, result: str, _: str | None) -> bool:
        self.results.append(result)
        number = len(self.results)
        if number == 1:
            await asyncio.sleep(self.first_report_seconds)
        if number <= self.lost_reports:
            return False
        self.stored_result = result
        return True


async def polled(seconds: float, build: Callable[[], Harness]) -> Harness:
    """Runs the harness for `seconds` and returns the harness."""
    harness = build()
    await asyncio.sleep(seconds)
    harness.poller.abort()
    await harness.poller.wait_until_ended()
    return harness


async def test_a_window_leaves_time_for_the_invocation() -> None:
    """With the whole window, the messages would become visible again at the end of each invocation."""
    options = Options(batch_size=100, maximum_batching_window_in_seconds=60)
    harness = await polled(100, lambda: Harness(Queue(30, "a"), Target(), options))
    assert harness.target.began == [15]
    assert harness.service.deleted == [1]


@pytest.mark.parametrize("function", [FUNCTION, "http://127.0.0.1:1/"])
async def test_messages_that_are_visible_at_once_are_not_asked_for_without_a_pause(function: str) -> None:
    bodies = [str(n) for n in range(1000)]
    harness = await polled(10, lambda: Harness(Queue(0, *bodies), Target(), Options(batch_size=1), function=function))
    assert harness.target.began == []
    assert len(harness.service.received) < 20
    assert harness.results == ["PROBLEM: messages were visible again before the invocation could begin"]


async def test_nothing_is_received_while_the_process_has_no_place() -> None:
    """If the process received more messages, they would wait in flight, and become visible again before a function
    receives them."""
    options = Options(batch_size=1, scaling_config=ScalingConfig(50))
    bodies = [str(n) for n in range(60)]
    harness = await polled(55, lambda: Harness(Queue(30, *bodies), Target(10), options, slots=3))
    assert len(harness.target.began) == 12
    assert len(harness.service.received) <= 14


async def test_an_error_that_nobody_foresaw_is_a_failure() -> None:
    """If the error did not count as a failure, the poller would receive each message without effect until the redrive
    policy moves the message."""
    bodies = [str(n) for n in range(1000)]
    harness = await polled(
        10, lambda: Harness(Queue(30, *bodies), Target(error=ZeroDivisionError()), Options(batch_size=1))
    )
    assert len(harness.service.received) < 20
    assert harness.service.deleted == []
    assert harness.results == ["PROBLEM: the target was not invoked"]


async def test_a_result_that_could_not_be_stored_is_told_again() -> None:
    """Without a second report, the mapping would appear to fail after a database outage until its next failure."""

    def build() -> Harness:
        harness = Harness(Queue(30, "a", "b", "c"), Target(), Options(batch_size=1))
        harness.lost_reports = 1
        return harness

    assert (await polled(5, build)).results == ["OK", "OK"]


async def test_the_newest_result_is_stored_last() -> None:
    """Two invocations report at the same time over two connections. The second report can reach the database first."""

    class FailsOnce(Target):
        async def invoke(self, *arguments: Any) -> bytes:
            if not self.began:
                self.began.append(asyncio.get_running_loop().time())
                raise FunctionThrottled("the target returned 429")
            return await super().invoke(*arguments)

    def build() -> Harness:
        harness = Harness(Queue(30, "a", "b", "c"), FailsOnce(1), Options(batch_size=1))
        harness.first_report_seconds = 5
        return harness

    harness = await polled(20, build)
    assert harness.results[0].startswith("PROBLEM: ")
    assert harness.stored_result == "OK"
    assert harness.service.deleted == [2, 3]


async def test_an_unreachable_target_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    unreached = FunctionThrottled("the target cannot be reached", "Connection refused")
    errors = iter([unreached, unreached, FunctionThrottled("the target returned 429"), unreached, None, unreached])

    class Fails(Target):
        async def invoke(self, *arguments: Any) -> bytes:
            self.error = next(errors)
            return await super().invoke(*arguments)

    caplog.set_level("WARNING")
    harness = await polled(100, lambda: Harness(Queue(30, *"abcdef"), Fails(), Options(batch_size=1)))
    assert next(errors, None) is None
    assert harness.service.deleted == [5]
    logged = [(record.getMessage(), vars(record)["cause"]) for record in caplog.records]
    assert logged == [("the target of a mapping cannot be reached", "Connection refused")] * 3


async def test_messages_that_a_url_handled_are_deleted_after_an_outage() -> None:
    """The poller deletes the messages even if the request took longer than the visibility timeout of the queue."""

    def build() -> Harness:
        harness = Harness(Queue(30, "a"), Target(40), Options(), function="http://127.0.0.1:1/")
        harness.service.away = (35, 50)
        return harness

    assert (await polled(60, build)).service.deleted == [1]


async def test_a_mapping_leaves_places_to_others() -> None:
    """The functions of the mapping take 15 minutes, and the mapping can run a thousand of them at the same time."""
    others: list[Harness] = []

    slots, bodies = InvocationSlots(200), [str(n) for n in range(1000)]
    slow = Options(batch_size=1, scaling_config=ScalingConfig(1000))
    first = Harness(Queue(900, *bodies), Target(900), slow, slots)
    await asyncio.sleep(1)
    others.append(Harness(Queue(900, "a"), Target(), Options(), slots, number=2))
    await asyncio.sleep(1)
    for harness in (first, *others):
        harness.poller.abort()
        await harness.poller.wait_until_ended()
    assert len(first.target.began) == 133
    assert others[0].service.deleted == [1]


# --- poller ----------------------------------------------------------------------------------------------------------
# Tests when a process reads the list of its mappings, in virtual time. Also tests which mapping receives an invocation
# slot that becomes free.


class Database:
    """Imitates a database without mappings, which is unreachable until `away_until`. `looks` contains the times of the
    calls."""

    claim_seconds = idle_seconds = 60.0

    def __init__(self, away_until: float) -> None:
        self.away_until = away_until
        self.looks: list[float] = []

    async def call(self, _: Any, __: Sequence[object]) -> list[Any]:
        now = asyncio.get_running_loop().time()
        self.looks.append(now)
        if now < self.away_until:
            raise ServiceUnavailable
        return []


async def looks(away_until: float, seconds: float) -> list[float]:
    database = Database(away_until)
    settings = Settings.read({})
    environment = Environment(settings, ReceiptHandles(bytes(32)))
    poller = Poller(environment, cast("PollService", database))
    await asyncio.sleep(seconds)
    found = list(database.looks)
    await poller.close(0)
    return found


async def test_a_look_that_failed_is_repeated_soon() -> None:
    """Until the process reads the list again, no process polls for a changed mapping."""
    first, *again = await looks(away_until=12, seconds=100)
    assert [at - first for at in again] == [5, 10, 15, 75]


async def test_the_poller_looks_often_while_another_process_polls_for_the_mappings() -> None:
    """The other process can die. The remaining process then takes over the mappings when the registration of the other
    process ends, after 7 seconds.
    """

    class Elsewhere(Database):
        claim_seconds, idle_seconds = 5.0, 60.0

        async def call(self, _: Any, __: Sequence[object]) -> list[Any]:
            await super().call(_, __)
            left_ms = 7000 - round((self.looks[-1] - self.looks[0]) * 1000)
            return [ClaimedMappingRow(None, None, 0, left_ms if left_ms > 0 else None)]

    database = Elsewhere(0)
    environment = Environment(Settings.read({}), ReceiptHandles(bytes(32)))
    poller = Poller(environment, cast("PollService", database))
    await asyncio.sleep(12)
    first, *again = list(database.looks)
    await poller.close(0)
    assert [round(at - first, 1) for at in again] == [5, 7.1]


async def test_otherwise_it_looks_seldom() -> None:
    first, *again = await looks(away_until=0, seconds=100)
    assert [at - first for at in again] == [60]


async def hold(slots: InvocationSlots, account_id: str, mapping: int, held: list[str], seconds: float) -> None:
    async with slots.take(account_id, UUID(int=mapping)):
        held.append(account_id)
        await asyncio.sleep(seconds)
    held.remove(account_id)


async def test_an_account_leaves_places_to_others() -> None:
    slots, held = InvocationSlots(200), list[str]()
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(hold(slots, "a", n, held, 10)) for n in range(500)]
    await settle()
    assert len(held) == 160
    tasks += [loop.create_task(hold(slots, "b", 1000 + n, held, 10)) for n in range(500)]
    await settle()
    assert held.count("b") == 32
    await asyncio.gather(*tasks)
    assert held == []


async def test_one_place_is_enough_and_a_wait_can_be_cancelled() -> None:
    slots, held = InvocationSlots(1), list[str]()
    loop = asyncio.get_running_loop()
    first, second, third = [loop.create_task(hold(slots, name, 1, held, 10)) for name in "abc"]
    await settle()
    assert held == ["a"]
    second.cancel()
    first.cancel()
    await settle()
    assert held[1:] == ["c"]  # Task a was cancelled while it held its slot.
    third.cancel()
    await settle()
    fourth = loop.create_task(hold(slots, "d", 1, held, 10))
    await settle()
    assert held[-1] == "d"
    await fourth


async def test_a_place_that_is_given_in_the_moment_of_a_cancellation_is_not_lost() -> None:
    slots, held = InvocationSlots(1), list[str]()
    loop = asyncio.get_running_loop()
    first, second = [loop.create_task(hold(slots, name, 1, held, 1)) for name in "ab"]
    await settle()
    first.add_done_callback(lambda _: second.cancel())
    await asyncio.wait([first, second])
    await asyncio.wait_for(hold(slots, "c", 1, held, 1), 5)


@pytest.mark.parametrize(("memory_mb", "most"), [(None, 200), (256 - 128, 5), (0, 1), (10_240 - 128, 200)])
def test_a_function_has_as_many_as_its_memory_holds(memory_mb: int | None, most: int) -> None:
    """A batch can be 6 MB long ("payload limit", Lambda quotas)."""
    assert count_most_invocations(memory_mb) == most
