"""Runs the worker `poll` as a Lambda function, for the mappings of a serverless deployment.

A schedule invokes the function every minute. An invocation receives messages for QUEUE_LAMBDA_WORKER_SECONDS. After
QUEUE_LAMBDA_WORKER_SECONDS the invocation only waits, until its timeout, for the functions that it invoked. The next
invocation polls for the mappings. Messages of an unfinished function become visible again after the queue's visibility
timeout.

    receive ── queue empty ────► wait, together with all other mappings: one query, twice a second, for all queues
       ▲                           │
       └──── may have a message ───┘

The poller has only one connection and therefore makes one database call at a time, in a thread.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Final, Protocol, TypeVar, cast

from msgspec.structs import replace

from penstock.aws.named_queue import NamedQueue
from penstock.drivers import allow_any_wait, is_empty, perform
from penstock.effects import Effect, Operation, Pause, Receive
from penstock.errors import AwsError
from penstock.limits.message_lengths import MessageLengths
from penstock.observing.reports import Report
from penstock.postgres.database import Database
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.long_polls import READY_QUEUES
from penstock.postgres.statements.messages import ReceiptHandle, ReceivedRow
from penstock.sqs.visibility import change
from penstock.workers.poll.poller import Poller

from .environment import ExecutionEnvironment
from .scheduled import MAX_INVOCATION_SECONDS

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)

LOOK_SECONDS: Final = 0.5
RESERVE_SECONDS: Final = 5.0
"""An invocation stops waiting for functions this many seconds before its timeout."""
OWN_MB: Final = 128
"""The memory that the function needs without invocations."""


class FunctionCounts:
    """Counts an invocation's work for the worker's metrics."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter(polled=0, filtered=0, invocations=0, failed=0, handled=0)

    def count_polled(self, _arn: str, messages: int, filtered: int, /) -> None:
        """Counts received messages."""
        self.totals.update(polled=messages, filtered=filtered)

    def count_invocation(self, _arn: str, _messages: int, failed: int, _seconds: float, _oldest: float, /) -> None:
        """Counts an invocation of a function. `failed` is the number of failed messages."""
        self.totals.update(invocations=1, failed=failed)

    def count_handled(self, _arn: str, messages: int, /) -> None:
        """Counts deleted messages."""
        self.totals.update(handled=messages)


class FunctionService:
    """Runs operations for many mappings at once on one connection.

    The driver polls, because the database does not notify the driver of changes.
    """

    claim_seconds = idle_seconds = 2.0

    def __init__(self, database: Database, counts: FunctionCounts) -> None:
        self.counts = counts
        self._database = database
        self._lengths = MessageLengths()
        self._thread = ThreadPoolExecutor(1, "database")
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._returning: set[asyncio.Task[None]] = set()
        self._look_task = asyncio.get_running_loop().create_task(self._look())

    async def close(self) -> None:
        """Waits until returned messages are visible, including messages of cancelled receives."""
        self._look_task.cancel()
        await self._run_in_thread(lambda: None)  # every earlier call has ended
        await asyncio.sleep(0)
        await asyncio.gather(self._look_task, *self._returning, return_exceptions=True)
        self._thread.shutdown()

    async def run(self, operation: Operation[T]) -> T:
        try:
            effect = next(operation)
            while True:
                effect = operation.send(await self._perform(effect))
        except StopIteration as end:
            return cast("T", end.value)

    async def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Returns the rows of one call. Raises AwsError."""
        return await self._run_in_thread(lambda: self._database.call(statement, arguments))

    def return_messages(self, queue: NamedQueue, messages: Sequence[ReceivedRow]) -> None:
        """Makes messages visible again."""
        if messages:
            task = asyncio.get_running_loop().create_task(self._show(queue, messages))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    async def _show(self, queue: NamedQueue, messages: Sequence[ReceivedRow]) -> None:
        handles = [ReceiptHandle._make(row.handle) for row in messages]
        with suppress(AwsError):  # the messages become visible after the visibility timeout
            await self.run(change(queue, handles, [0] * len(handles)))

    # --- effects -----------------------------------------------------------------------------------------------------
    async def _perform(self, effect: Effect[T]) -> object:
        if isinstance(effect, Report):
            return None
        if isinstance(effect, Receive):
            return await self._receive(effect)
        if isinstance(effect, Pause):
            await asyncio.sleep(effect.seconds)
            return True
        return await self._run_in_thread(lambda: perform(effect, self._database, allow_any_wait, self._lengths))

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _receive(self, effect: Receive[ReceivedRow]) -> list[ReceivedRow]:
        """Returns the rows of a receive, which waits for its `wait_seconds`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (effect.wait_seconds or 0)
        at_once = replace(effect, wait_seconds=0)
        while True:
            rows = await self._receive_now(at_once)
            left = deadline - loop.time()
            if not is_empty(rows) or left <= 0:
                return rows
            await self._wait_until_ready(effect.queue.arn, left)

    async def _receive_now(self, effect: Receive[ReceivedRow]) -> list[ReceivedRow]:
        """Receives messages. If the receive is cancelled, makes the received messages visible again."""
        receiving = asyncio.ensure_future(
            self._run_in_thread(
                lambda: cast("list[ReceivedRow]", perform(effect, self._database, allow_any_wait, self._lengths))
            )
        )
        try:
            return await asyncio.shield(receiving)
        except asyncio.CancelledError:
            receiving.add_done_callback(lambda done: self._give_back(effect.queue, done))
            raise

    def _give_back(self, queue: NamedQueue, received: "asyncio.Future[list[ReceivedRow]]") -> None:
        if not received.cancelled() and received.exception() is None:
            self.return_messages(queue, received.result()[1:])

    # --- waits -------------------------------------------------------------------------------------------------------
    async def _wait_until_ready(self, arn: str, seconds: float) -> None:
        """Waits until the queue may have a message, for at most `seconds`."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[arn].add(ready)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await ready
        finally:
            self._waiting[arn].discard(ready)
            if not self._waiting[arn]:
                del self._waiting[arn]

    async def _look(self) -> None:
        """Checks, twice a second, which queues may have messages for waiting receives."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._waiting:
                with suppress(AwsError):
                    for row in await self.call(READY_QUEUES, [list(self._waiting)]):
                        for ready in self._waiting.get(row.arn, ()):
                            if not ready.done():
                                ready.set_result(None)


class LambdaContext(Protocol):
    """The part of Lambda's context that this module uses."""

    def get_remaining_time_in_millis(self) -> int: ...


class MappingsHandler:
    """Polls for the mappings during an invocation."""

    def __init__(self, environment: ExecutionEnvironment) -> None:
        self.environment = environment

    def __call__(self, event: object, lambda_context: LambdaContext) -> dict[str, int]:  # noqa: ARG002 - Lambda's form
        """Returns the counts. Raises ServiceUnavailable if the database does not respond, so that the invocation
        counts as failed."""
        return self.environment.traced(lambda: self._work(lambda_context), lambda_context)

    def _work(self, lambda_context: LambdaContext) -> dict[str, int]:
        ends = monotonic() + lambda_context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
        counts = FunctionCounts()
        if self.environment.settings.queue_lambda_mappings:
            try:
                asyncio.run(self._poll(counts, ends))
            finally:
                self.environment.metrics.count({"Worker": "poll"}, counts.totals)
        return counts.totals

    async def _poll(self, counts: FunctionCounts, ends: float) -> None:
        seconds = self.environment.settings.queue_lambda_worker_seconds or MAX_INVOCATION_SECONDS
        service = FunctionService(self.environment.database, counts)
        memory = self.environment.variables.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
        free_mb = None if memory is None else int(memory) - OWN_MB
        poller = Poller(self.environment.environment, service, free_mb)
        try:
            await asyncio.sleep(min(seconds, ends - monotonic()))
        finally:
            await poller.close(max(0.0, ends - monotonic()))
            await service.close()


def build_mappings_handler() -> MappingsHandler:
    """Returns the handler of the function that polls for event source mappings."""
    return MappingsHandler(ExecutionEnvironment.start())
