"""A request that arrived whole, answered without ASGI and, mostly, without a task.

    ShortcutProtocol ─► Exchange.start ─► HotPath.begin ─► operation ─► Batcher ─► HotPath's answer ─► transport

An operation that needs only effects which are merged, or waits for messages, goes on in the callback of their answer.
Whatever else it asks for is awaited in a task. To uvicorn an exchange is the connection's current cycle, which it
tells about a lost connection and about the end of the process; to those who measure time it is a stay.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from penstock.actions import UNREAD
from penstock.effects import Operation, Row, Rows, Take, Wait, Wake, Woken
from penstock.errors import RequestTimeout, ServiceUnavailable
from penstock.gateway import Call, encode
from penstock.http import HttpResponse
from penstock_web.deadlines import UNREAD as NOBODY_KNOWS
from penstock_web.deadlines import Ended
from penstock_web.driver import Drive
from penstock_web.long_poll.waiters import Answer as WaitAnswer

if TYPE_CHECKING:
    from .aws_protocols import HotPath
    from .dispatch import ShortcutProtocol

Answer = asyncio.Future[list[Row]]


class Exchange:
    """One request of a connection and its answer. `disconnected`, `keep_alive`, `response_complete`: as uvicorn's."""

    __slots__ = (
        "_answer", "_asked", "_begun", "_call", "_drive", "_effect", "_ended", "_line", "_method",
        "_operation", "_paths", "_task", "disconnected", "keep_alive", "response_complete",
    )  # fmt: skip

    def __init__(self, line: "ShortcutProtocol", paths: "HotPath") -> None:
        self._line = line
        self._paths = paths
        self._begun = perf_counter()
        self._answer: Answer | WaitAnswer | None = None
        self._effect: Rows | Take | Wait
        self._task: asyncio.Task[Any] | None = None
        self._call: Call | None = None
        self._ended: Ended | None = None
        self.disconnected = False
        self.keep_alive = True
        self.response_complete = False

    # --- the request -------------------------------------------------------------------------------------------------
    def start(
        self, method: str, path: str, query: bytes, pairs: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Begins; the answer is written at once or later."""
        paths = self._paths
        paths.world.meter.entered()
        self._method = method
        call = paths.begin(method, path, query, pairs, body)
        if isinstance(call, HttpResponse):
            self._respond(call)
            return
        self._call = call
        self._drive = Drive(paths.world, None)
        self._operation: Operation = call.operation()
        paths.deadlines.add(self)
        self._step(None)

    def _step(self, rows: list[Row] | Woken | None) -> None:
        """Goes on with what it asked for, as far as it goes without waiting."""
        drive, operation = self._drive, self._operation
        try:
            effect = operation.send(rows)
            while True:
                if isinstance(effect, Wake):
                    drive.wake(effect)
                    effect = operation.send(None)
                elif isinstance(effect, Wait):
                    self._wait(effect)
                    return
                elif not isinstance(effect, (Rows, Take)):
                    drive.stay = self  # only here: the collector would have to free each request
                    self._task = asyncio.get_running_loop().create_task(drive.run(operation, effect))
                    self._task.add_done_callback(self._driven)
                    return
                elif (at_once := drive.at_once(effect)) is not None:
                    effect = operation.send(at_once)
                else:
                    self._submit(effect)
                    return
        except StopIteration as end:
            drive.ended()
            self._conclude(end.value)
        except Exception as error:  # noqa: BLE001 - every error has an answer
            self._fail(error)

    def _submit(self, effect: Rows | Take) -> None:
        self._effect = effect
        self._asked = perf_counter()
        answer = self._answer = self._drive.world.batcher.submit(effect)
        answer.add_done_callback(self._answered)

    def _wait(self, effect: Wait) -> None:
        self._effect = effect
        self.pause()
        answer = self._answer = self._drive.wait(effect)
        answer.add_done_callback(self._waited)

    def _waited(self, answer: WaitAnswer) -> None:
        self._answer = None
        self.resume()
        if answer.cancelled() or self._ended is Ended.LEFT:  # nobody is there to look for
            self._cut_short()
        else:
            self._step(self._drive.told(answer.result()))

    def _answered(self, answer: Answer) -> None:
        self._answer = None
        if answer.cancelled():
            self._cut_short()
        elif (error := answer.exception()) is not None:
            self._fail(error)
        else:
            rows = answer.result()
            self._drive.arrived(cast("Rows | Take", self._effect), rows, perf_counter() - self._asked)
            self._step(rows)

    def _driven(self, task: "asyncio.Task[Any]") -> None:
        self._task = self._drive.stay = None
        if task.cancelled():
            self._cut_short()
        elif (error := task.exception()) is not None:
            self._fail(error)
        else:
            self._conclude(task.result())

    # --- the answer --------------------------------------------------------------------------------------------------
    def _conclude(self, result: Any) -> None:
        try:
            response = encode(cast("Call", self._call), result)
        except Exception as error:  # noqa: BLE001 - every error has an answer
            self._fail(error)
        else:
            self._respond(response)

    def _fail(self, error: BaseException) -> None:
        self._respond(self._paths.failed(cast("Call", self._call), error))

    def _cut_short(self) -> None:
        if self._ended is Ended.LEFT:
            self._close()
        else:
            self.keep_alive = False
            self._fail(RequestTimeout() if self._ended is Ended.OVERDUE else ServiceUnavailable())

    def _close(self) -> None:
        self.response_complete = True
        self._paths.deadlines.due.pop(self, None)
        self._paths.world.meter.left()

    def _respond(self, response: HttpResponse) -> None:
        self._close()
        if self.disconnected:
            return
        self._line.write_response(response, self.keep_alive)
        seconds = perf_counter() - self._begun
        action = UNREAD if self._call is None else self._call.action
        label = NOBODY_KNOWS if action is UNREAD else action.label
        self._paths.world.meter.answered(self._method, label, response.status, seconds)

    # --- what uvicorn says -------------------------------------------------------------------------------------------
    @property
    def message_event(self) -> "Exchange":
        """Itself: the event is set when the connection is lost."""
        return self

    def set(self) -> None:
        """Something about the connection has changed."""
        if self.disconnected and not self.response_complete:
            self.end(Ended.LEFT)

    # --- a stay ------------------------------------------------------------------------------------------------------
    def pause(self) -> None:
        """A wait begins: it is not counted."""
        self._paths.deadlines.due.pop(self, None)

    def resume(self) -> None:
        """The wait is over: the time counts afresh."""
        self._paths.deadlines.add(self)

    def end(self, reason: Ended) -> None:
        """Cuts it short. Messages that are on their way to a caller who left go to others."""
        if self._ended is None:
            self._ended = reason
            if self._task is not None:
                self._task.cancel()
            elif self._answer is not None:
                self._leave(self._answer, reason)

    def stop(self) -> None:
        """Answers 503: uvicorn knows no task to cancel."""
        self.end(Ended.STOPPED)

    def _leave(self, answer: Answer | WaitAnswer, reason: Ended) -> None:
        effect = self._effect
        if not answer.done():
            if reason is not Ended.LEFT or not isinstance(effect, Rows):
                answer.cancel()
        elif reason is Ended.LEFT:  # what is about to be written, or the turn to look, is for others
            if isinstance(effect, Wait):
                self._drive.pass_on(effect.queue_arn, cast("WaitAnswer", answer).result())
            else:
                self._drive.world.batcher.abandon(effect, cast("Answer", answer))
