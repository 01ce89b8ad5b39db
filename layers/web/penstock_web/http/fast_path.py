"""A request that arrived whole, answered without ASGI and, mostly, without a task.

    HttpConnection ─► FastPathRequest.start ─► AwsApplication.decode_request ─► operation ─► Batcher
        ─► AwsApplication's response ─► transport

The operation continues in the callback of a future when its effect is merged, or is a wait for messages. A task awaits
every other effect. The connection tells the request about a disconnect and about the end of the process; `Deadlines`
treats it as a `PendingRequest`.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.actions import UNDECODED
from penstock.effects import Operation, Row, Rows, Take, Wait, Wake, Woken
from penstock.errors import RequestTimeout, ServiceUnavailable
from penstock.gateway import ActionCall, encode
from penstock.http import HttpResponse
from penstock_web.deadlines import UNKNOWN_ACTION, EndReason
from penstock_web.driver import OperationRun
from penstock_web.long_poll.waiters import WaitFuture

if TYPE_CHECKING:
    from .aws_protocols import AwsApplication

RowsFuture = asyncio.Future[list[Row]]


class ResponseWriter(Protocol):
    """What a request needs of the protocol of its connection."""

    def write_response(self, response: HttpResponse, keep_alive: bool, /) -> None: ...


class FastPathRequest:
    """One request of a connection, which reads `response_complete` and sets `keep_alive`."""

    __slots__ = (
        "_application", "_call", "_effect", "_end_reason", "_future", "_method", "_operation", "_operation_run",
        "_protocol", "_started_at", "_submitted_at", "_task", "disconnected", "keep_alive", "response_complete",
    )  # fmt: skip

    def __init__(self, protocol: ResponseWriter, application: "AwsApplication") -> None:
        self._protocol = protocol
        self._application = application
        self._started_at = perf_counter()
        self._future: RowsFuture | WaitFuture | None = None
        self._effect: Rows | Take | Wait
        self._task: asyncio.Task[Any] | None = None
        self._call: ActionCall | None = None
        self._end_reason: EndReason | None = None
        self.disconnected = False
        self.keep_alive = True
        self.response_complete = False

    # --- the request -------------------------------------------------------------------------------------------------
    def start(
        self, method: str, path: str, query: bytes, header_pairs: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Begins the request; the response is written at once or later."""
        application = self._application
        application.resources.meter.request_started()
        self._method = method
        call = application.decode_request(method, path, query, header_pairs, body)
        if isinstance(call, HttpResponse):
            self._respond(call)
            return
        self._call = call
        self._operation_run = OperationRun(application.resources, None)
        self._operation: Operation = call.operation()
        application.deadlines.add(self)
        self._continue(None)

    def _continue(self, rows: list[Row] | Woken | None) -> None:
        """Continues the operation with the result of its effect, as far as it goes without waiting."""
        operation_run, operation = self._operation_run, self._operation
        try:
            effect = operation.send(rows)
            while True:
                if isinstance(effect, Wake):
                    operation_run.wake(effect)
                    effect = operation.send(None)
                elif isinstance(effect, Wait):
                    self._wait(effect)
                    return
                elif not isinstance(effect, (Rows, Take)):
                    operation_run.request = self  # only here: a cycle that the collector has to free
                    self._task = asyncio.get_running_loop().create_task(operation_run.run(operation, effect))
                    self._task.add_done_callback(self._on_task_done)
                    return
                elif (rows_without_call := operation_run.rows_without_call(effect)) is not None:
                    effect = operation.send(rows_without_call)
                else:
                    self._submit(effect)
                    return
        except StopIteration as end:
            operation_run.finish()
            self._succeed(end.value)
        except Exception as error:  # noqa: BLE001 - every error gets a response
            self._fail(error)

    def _submit(self, effect: Rows | Take) -> None:
        self._effect = effect
        self._submitted_at = perf_counter()
        future = self._future = self._operation_run.resources.batcher.submit(effect)
        future.add_done_callback(self._on_rows)

    def _wait(self, effect: Wait) -> None:
        self._effect = effect
        self.pause()
        future = self._future = self._operation_run.wait(effect)
        future.add_done_callback(self._on_wait_ended)

    def _on_wait_ended(self, future: WaitFuture) -> None:
        self._future = None
        self.resume()
        if future.cancelled() or self._end_reason is EndReason.DISCONNECTED:  # a receive would have no reader
            self._respond_cancelled()
        else:
            self._continue(self._operation_run.accept_wake(future.result()))

    def _on_rows(self, future: RowsFuture) -> None:
        self._future = None
        if future.cancelled():
            self._respond_cancelled()
        elif (error := future.exception()) is not None:
            self._fail(error)
        else:
            rows = future.result()
            self._operation_run.rows_arrived(
                cast("Rows | Take", self._effect), rows, perf_counter() - self._submitted_at
            )
            self._continue(rows)

    def _on_task_done(self, task: "asyncio.Task[Any]") -> None:
        self._task = self._operation_run.request = None
        if task.cancelled():
            self._respond_cancelled()
        elif (error := task.exception()) is not None:
            self._fail(error)
        else:
            self._succeed(task.result())

    # --- the response ------------------------------------------------------------------------------------------------
    def _succeed(self, result: Any) -> None:
        try:
            response = encode(cast("ActionCall", self._call), result)
        except Exception as error:  # noqa: BLE001 - every error gets a response
            self._fail(error)
        else:
            self._respond(response)

    def _fail(self, error: BaseException) -> None:
        self._respond(self._application.error_response(cast("ActionCall", self._call), error))

    def _respond_cancelled(self) -> None:
        if self._end_reason is EndReason.DISCONNECTED:
            self._close()
        else:
            self.keep_alive = False
            self._fail(RequestTimeout() if self._end_reason is EndReason.TIMED_OUT else ServiceUnavailable())

    def _close(self) -> None:
        self.response_complete = True
        self._application.deadlines.due.pop(self, None)
        self._application.resources.meter.request_ended()

    def _respond(self, response: HttpResponse) -> None:
        self._close()
        if self.disconnected:
            return
        self._protocol.write_response(response, self.keep_alive)
        seconds = perf_counter() - self._started_at
        action = UNDECODED if self._call is None else self._call.action
        label = UNKNOWN_ACTION if action is UNDECODED else action.label
        self._application.resources.meter.count_response(self._method, label, response.status, seconds)

    # --- called by the connection ------------------------------------------------------------------------------------
    def disconnect(self) -> None:
        """Ends the request, whose client has disconnected; it gets no response."""
        if not self.response_complete:
            self.disconnected = True
            self.end(EndReason.DISCONNECTED)

    # --- a pending request -------------------------------------------------------------------------------------------
    def pause(self) -> None:
        """Stops counting the time: a wait begins."""
        self._application.deadlines.due.pop(self, None)

    def resume(self) -> None:
        """Counts the time from zero: the wait is over."""
        self._application.deadlines.add(self)

    def end(self, reason: EndReason) -> None:
        """Ends the request early. Messages that were received for a disconnected client go to other requests."""
        if self._end_reason is None:
            self._end_reason = reason
            if self._task is not None:
                self._task.cancel()
            elif self._future is not None:
                self._abandon(self._future, reason)

    def stop(self) -> None:
        """Answers 503: there is no task that the server could cancel."""
        self.end(EndReason.SHUTDOWN)

    def _abandon(self, future: RowsFuture | WaitFuture, reason: EndReason) -> None:
        effect = self._effect
        if not future.done():
            if reason is not EndReason.DISCONNECTED or not isinstance(effect, Rows):
                future.cancel()
        elif reason is EndReason.DISCONNECTED:  # others get the rows, or the wake-up
            if isinstance(effect, Wait):
                self._operation_run.pass_wake_on(effect.queue_arn, cast("WaitFuture", future).result())
            else:
                self._operation_run.resources.batcher.abandon(effect, cast("RowsFuture", future))
