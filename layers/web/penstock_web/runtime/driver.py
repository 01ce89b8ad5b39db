"""Runs operations in the container. The module performs effects, and merges the effects of concurrent requests."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec.structs import replace

from penstock.calls import build_call
from penstock.effects import Ask, BatchCall, Call, Compute, Effect, Operation, Pause, Receive, Transact, Wake
from penstock.observing.reports import REPORTS, ReceivedBy, Unjudged
from penstock.postgres.statement import Row
from penstock_web.access_log.writer import AccessLog
from penstock_web.batching.batcher import Batcher
from penstock_web.database.pool import Pool
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.metrics.meter import Meter

from .deadlines import PendingRequest
from .receive_run import Receiver, ReceiveRun

T = TypeVar("T")
QUESTIONS_AT_ONCE = 2
"""Limits the concurrent calls to other servers (`effects.Ask`), which run in threads. Calls to other servers are rare.
"""
RowT = TypeVar("RowT", bound=Row)
ResultFuture: TypeAlias = asyncio.Future[Any]
"""Holds the result of one effect. Only the operation knows the type of the result."""


class Resources:
    """Holds the resources that the requests of a process share. `observe` wraps each operation in order to record the
    operation's effects. `refresh_gauges` returns after the worker `measure` has measured the queues again. `access_log`
    is None if the log is off.
    """

    def __init__(
        self,
        pool: Pool,
        batcher: Batcher,
        long_polls: LongPollDispatcher,
        meter: Meter,
        observe: Callable[[Operation[Any]], Operation[Any]] | None = None,
        refresh_gauges: Callable[[], Awaitable[None]] | None = None,
        access_log: AccessLog | None = None,
    ) -> None:
        self.pool = pool
        self.batcher = batcher
        self.long_polls = long_polls
        self.meter = meter
        self.observe = observe
        self.refresh_gauges = refresh_gauges
        self.access_log = access_log
        # One thread is enough, because threads share the interpreter's lock.
        self.computations = ThreadPoolExecutor(1, "compute")
        self.questions = ThreadPoolExecutor(QUESTIONS_AT_ONCE, "ask")
        self.receiver = Receiver(batcher, long_polls, meter.queues, self.call)
        # Maps effects without a result to the functions that carry out the effects. The second argument is the duration
        # of the last database call.
        self.reactions: dict[type[Effect[None]], Callable[[Any, float], object]] = {
            Wake: lambda wake, _: long_polls.wake(wake.queue_arn, wake.count, wake.woken)
        }
        # Only traces use these reports.
        self.reactions.update(dict.fromkeys(REPORTS, lambda *_: None))
        self.reactions.update(meter.queues.counters.items())
        self.reactions[ReceivedBy] = meter.receivers.note
        self.reactions[Unjudged] = lambda unjudged, _: meter.count_unjudged(unjudged.by, unjudged.count)

    async def call(self, effect: Call[RowT] | Receive[RowT]) -> list[RowT]:
        """Makes a call that is not merged, and returns the rows."""
        statement, arguments = build_call(effect)
        # A pipelined connection prepares statements.
        call = self.pool.call_pipelined if statement.is_prepared else self.pool.call
        return await call(statement, arguments)

    async def pause(self, effect: Pause, request: PendingRequest | None) -> bool:
        """Sleeps. Returns False if the process is shutting down, or if the request may not wait. The pause does not
        count towards the request's deadline.
        """
        if request is not None:
            if effect.seconds and not request.may_wait:
                return False
            request.pause()
        await asyncio.sleep(effect.seconds)
        if request is not None:
            request.resume()
        return not self.long_polls.draining


class OperationRun(Generic[T]):
    """Runs one operation without a task. The callbacks of the effects' futures continue the operation. The run calls
    `on_end` once, after the operation has a `result` or an `error`, or was cancelled (`is_cancelled`).
    """

    __slots__ = (
        "_call_seconds", "_effect", "_future", "_is_abandoned", "_on_end", "_operation", "_receive_run",
        "_request", "_resources", "_started_at", "error", "is_cancelled", "result",
    )  # fmt: skip

    def __init__(
        self,
        operation: Operation[T],
        resources: Resources,
        on_end: Callable[["OperationRun[T]"], None],
        request: PendingRequest | None = None,
    ) -> None:
        self._operation = operation if resources.observe is None else resources.observe(operation)
        self._resources = resources
        self._on_end: Callable[[OperationRun[T]], None] | None = on_end
        self._request = request
        self._call_seconds = self._started_at = 0.0  # the seconds and the start of the last effect's call
        self._effect: Effect[Any] | None = None
        self._future: ResultFuture | None = None
        self._receive_run: ReceiveRun | None = None  # the run of the last Receive
        self.result: T
        self.error: BaseException | None = None
        self.is_cancelled = False
        self._is_abandoned = False  # The run was cancelled after its future had a result.

    def go_on(self, done: ResultFuture | None = None) -> None:
        """Continues the operation as far as possible without waiting. `done` is the future of the last effect, or None
        at the start of the operation.
        """
        self._future = result = None
        try:
            if done is not None:
                result = done.result()
                self._call_seconds = perf_counter() - self._started_at
            if self._is_abandoned:
                raise asyncio.CancelledError
            effect = self._operation.send(result)
            while (reaction := self._resources.reactions.get(type(effect))) is not None:
                reaction(effect, self._call_seconds)
                effect = self._operation.send(None)
            self._started_at = perf_counter()
            if isinstance(effect, (BatchCall, Transact)):
                future: ResultFuture = self._resources.batcher.submit(effect)
            else:
                future = self._perform(effect)
        except StopIteration as end:
            self.result = end.value
            self._end()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the caller handles every error
            self._end_early(error)
        else:
            self._effect, self._future = effect, future
            future.add_done_callback(self.go_on)

    def _perform(self, effect: Effect[Any]) -> ResultFuture:
        if isinstance(effect, Receive):
            waits = self._request is None or self._request.may_wait
            receive = effect if waits else replace(effect, wait_seconds=0)
            self._receive_run = ReceiveRun(self._resources.receiver, receive, self._request)
            self._receive_run.start()
            return self._receive_run
        loop = asyncio.get_running_loop()
        if isinstance(effect, Call):
            return loop.create_task(self._resources.call(effect))
        if isinstance(effect, Pause):
            return loop.create_task(self._resources.pause(effect, self._request))
        if isinstance(effect, Compute):
            return loop.run_in_executor(self._resources.computations, effect.function)
        if isinstance(effect, Ask):
            return loop.run_in_executor(self._resources.questions, effect.function)
        raise TypeError(effect)

    def _return_messages(self) -> None:
        """Makes received messages visible again if only computations followed the receive."""
        if self._receive_run is not None and isinstance(self._effect, (Compute, Receive)):
            self._receive_run.return_messages()

    def discard(self) -> None:
        """Drops the result of an operation that has ended. If the operation received messages, makes them visible
        again."""
        if self._on_end is None and self.error is None and not self.is_cancelled:
            self._return_messages()

    def cancel(self, *, disconnected: bool) -> None:
        """Ends a running operation. A change continues even if the client has disconnected (`disconnected`), because
        the database may already have made the change. If messages arrive for a cancelled receive, they become visible
        for other requests.
        """
        if self._future is None or (disconnected and isinstance(self._effect, (BatchCall, Transact))):
            return
        self._is_abandoned = not self._future.cancel() and isinstance(self._effect, (Compute, Receive))

    def _end_early(self, error: BaseException) -> None:
        self.is_cancelled = isinstance(error, asyncio.CancelledError)
        self.error = None if self.is_cancelled else error
        if self.is_cancelled:
            self._return_messages()
        self._operation.close()
        self._end()

    def _end(self) -> None:
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(self)


async def run_operation(operation: Operation[T], resources: Resources, request: PendingRequest | None = None) -> T:
    """Returns the result of the operation. Raises the errors of the operation, ServiceUnavailable and InternalFailure.
    A wait does not count towards the deadline of `request`, and ends if the client disconnects.
    """
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    run = OperationRun(operation, resources, lambda _: None if ended.done() else ended.set_result(None), request)
    run.go_on()
    try:
        await ended
    except asyncio.CancelledError:
        run.cancel(disconnected=False)
        run.discard()
        raise
    if run.is_cancelled:
        raise asyncio.CancelledError
    if run.error is not None:
        raise run.error
    return run.result
