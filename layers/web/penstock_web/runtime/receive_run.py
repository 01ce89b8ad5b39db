"""Runs one receive. While the queue is empty, the receive waits and calls again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias, cast

from penstock.drivers import count_seconds_to_wait
from penstock.effects import Receive, Woken
from penstock.postgres.statements.messages import ReceivedRow
from penstock_web.batching.batcher import Batcher
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.long_poll.waiters import WaitFuture
from penstock_web.metrics.queue_counts import QueueCounts

from .deadlines import PendingRequest

ReceivedFuture: TypeAlias = asyncio.Future[Sequence[ReceivedRow]]

# A receive has EMPTY_RECEIVE as its result if it makes no call, because the queue is known to be empty.
EMPTY_RECEIVE = ReceivedRow._make((None, 0, *[None] * (len(ReceivedRow._fields) - 2)))


@dataclass(frozen=True, slots=True)
class Receiver:
    """Holds the objects that all receives of a process share. `call_alone` makes a call that is not merged."""

    batcher: Batcher
    long_polls: LongPollDispatcher
    counts: QueueCounts
    call_alone: Callable[[Receive[ReceivedRow]], Awaitable[list[ReceivedRow]]]


class ReceiveRun(asyncio.Future[Sequence[ReceivedRow]]):
    """Represents a running receive, as a future of rows: a header, and then messages. If messages arrive after a
    cancellation, they become visible for other requests. A wait does not count towards the deadline of `request`, and
    ends if the client disconnects. `ticket` is the place of this receive in the order of waiting receives, and stays
    the same after an empty call. `missed_wakeups` is the dispatcher's count before the last call. `woken` is the reason
    why the last wait ended. `started_at` is the start of the last call, or None after a wait.
    """

    __slots__ = (
        "_deadline", "_missed_wakeups", "_pending", "_receive", "_receiver", "_request", "_started_at", "_ticket",
        "_woken",
    )  # fmt: skip

    def __init__(self, receiver: Receiver, receive: Receive[ReceivedRow], request: PendingRequest | None) -> None:
        super().__init__()
        self._receiver = receiver
        self._receive = receive
        self._request = request
        self._deadline: float | None = None
        self._started_at: float | None = None
        self._ticket: int | None = None
        self._woken = Woken.NOT
        self._pending: ReceivedFuture | WaitFuture | None = None

    def start(self) -> None:
        """Makes the first call, unless the queue is known to be empty (`can_skip_receive`). Raises ServiceUnavailable
        if too many calls wait.
        """
        receive, long_polls = self._receive, self._receiver.long_polls
        self._missed_wakeups = long_polls.missed_wakeups
        waits = bool(receive.wait_seconds) and receive.attempt_id is None
        if waits and long_polls.can_skip_receive(receive.queue):
            self._wait(EMPTY_RECEIVE)
        else:
            self._call()

    def cancel(self, msg: Any = None) -> bool:
        """Cancels the current call or wait. If a wake-up has already reached this receive, wakes another receive."""
        if not super().cancel(msg):
            return False
        if self._pending is not None:
            self._pending.cancel()
            if self._woken:
                self._receiver.long_polls.wake_waiters(self._receive.queue, 1, self._woken)
        return True

    def return_messages(self) -> None:
        """If the receive has ended, makes its messages visible again."""
        if self.done() and not self.cancelled() and self.exception() is None:
            self._receiver.batcher.return_messages(self._receive.queue, self.result()[1:])

    def _call(self) -> None:
        self._missed_wakeups = self._receiver.long_polls.missed_wakeups
        self._started_at = perf_counter()
        if self._receive.attempt_id is None:
            pending = cast("ReceivedFuture", self._receiver.batcher.submit(self._receive))
        else:
            pending = asyncio.ensure_future(self._receiver.call_alone(self._receive))
        self._pending = pending
        pending.add_done_callback(self._on_rows)

    def _on_rows(self, pending: ReceivedFuture) -> None:
        self._pending = None
        try:
            rows = pending.result()
        except asyncio.CancelledError:
            self.cancel()
            return
        except Exception as error:  # noqa: BLE001 - for whoever waits for the rows
            self._fail(error)
            return
        header = rows[0]
        if self._started_at is not None and header.error is None:
            seconds = perf_counter() - self._started_at
            self._receiver.counts.count_receive_call(self._receive.queue, seconds)
        if self.done():  # the client has disconnected
            self._receiver.batcher.return_messages(self._receive.queue, rows[1:])
        elif len(rows) == 1 and header.error is None:
            self._wait(header)
        else:
            self._wake_others(len(rows) - 1)
            self.set_result(rows)

    def _wake_others(self, messages: int) -> None:
        """Wakes two waiting receives if the queue may have more messages. Because woken receives wake further receives,
        a burst of messages soon reaches all receives. On a FIFO queue, this receive wakes other receives only after a
        call that returned all requested messages. A call that returned fewer messages took all available messages. A
        call that returned all requested messages briefly locked further messages, which other receives may have
        skipped.
        """
        receive = self._receive
        if messages == receive.count if receive.queue.is_fifo else self._woken == Woken.FOR_MORE:
            self._receiver.long_polls.wake_waiters(receive.queue, 2, Woken.FOR_MORE)

    # --- waiting -----------------------------------------------------------------------------------------------------
    def _wait(self, header: ReceivedRow) -> None:
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + count_seconds_to_wait(self._receive, [header])
        left = self._deadline - now
        if left <= 0:
            self.set_result([header])
            return
        long_polls, receive = self._receiver.long_polls, self._receive
        if self._ticket is None:
            self._ticket = long_polls.next_ticket()
        self._woken = Woken.NOT
        if self._request is not None:
            self._request.pause()
        merged = receive if receive.attempt_id is None else None
        without_receive = header is EMPTY_RECEIVE
        pending = long_polls.wait(receive.queue, left, self._ticket, self._missed_wakeups, merged, without_receive)
        self._pending = pending
        pending.add_done_callback(self._on_wait_ended)

    def _on_wait_ended(self, pending: WaitFuture) -> None:
        self._pending = self._started_at = None
        if self._request is not None and not self.done():
            self._request.resume()
        if pending.cancelled():
            self.cancel()
            return
        woken = pending.result()
        if isinstance(woken, list):  # Another call has already received the messages.
            self._woken = Woken.FOR_ONE
            self._on_rows(cast("ReceivedFuture", pending))
        elif self.done():
            self._receiver.long_polls.wake_waiters(self._receive.queue, 1, woken)
        elif woken:
            self._woken = woken
            self._call_again()
        else:
            self.set_result([EMPTY_RECEIVE])

    def _call_again(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001 - for whoever waits for the rows
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self.done():
            self.set_exception(error)
