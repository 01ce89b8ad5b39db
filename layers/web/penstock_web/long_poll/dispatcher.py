"""Runs the process's long polls. A waiting request uses only a future, without a connection, a task or a timer.

A request waits until one of the following events serves or wakes it:

    claim   a send in this process receives messages for waiters, and serves them (`direct_handoff`)
    wake    another event in this process wakes waiters
    NOTIFY  another process notifies this process, which has one LISTEN connection
    check   the shared check finds messages: each second, and when a delay or a visibility timeout ends

The shared check examines all queues with waiters. The check also finds changes without a notification, and messages
whose notification was lost.

A sender notifies only registered queues, because NOTIFY takes a database-wide lock at commit. Therefore, the dispatcher
registers a waiter's queue, and checks the queue once after the registration's commit. The check after the commit finds
messages sent between the waiter's empty receive and the registration.

A message sent in this process wakes one waiter. If the connection of a send names this dispatcher as `watcher`
(`pipeline_pool`), the send does not notify this process, and the registration remains. A message can arrive while its
queue has no waiters. If an empty receive was running at that moment, its request receives again instead of waiting.
Notifications and checks do not contain the number of messages, so each notification or check wakes only one waiter. A
waiter that finds messages wakes two other waiters.
"""

import asyncio
from bisect import insort
from collections.abc import Callable
from functools import partial
from itertools import count
from uuid import UUID, uuid4

from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.named_queue import NamedQueue
from penstock.effects import Receive, Woken
from penstock.postgres.statements.messages import ReceivedRow
from penstock_web.database.calls import ExecuteStatement

from .shared_check import SharedCheck
from .timers import WaitTimers
from .waiters import WaitedQueue, Waiter, WaitFuture

ASSUMED_EMPTY_SECONDS = 1.0  # The shared check finds newly visible messages within ASSUMED_EMPTY_SECONDS.
# If a FIFO queue's last empty receive is younger than EMPTY_RECEIVE_VALID_SECONDS, a new request waits without a
# receive.
EMPTY_RECEIVE_VALID_SECONDS = 0.02


class LongPollDispatcher:
    """Manages the process's waiting requests. `execute` runs SQL functions. If `execute` fails, waiters wake later.

    `watcher` is this process's id for queue registrations. `missed_wakeups` counts the wake-ups of all queues that
    found too few waiters. `receives_notifications` says whether notifications arrive (`listener`). `draining` says that
    the process is shutting down. `shared_check` is a background task.
    """

    def __init__(self, execute: ExecuteStatement, watcher: UUID | None = None) -> None:
        self.missed_wakeups = 0
        self.receives_notifications = False
        self._queues: dict[str, WaitedQueue] = {}
        self.draining = False
        self._wake_callbacks: dict[str, Callable[[], None]] = {}
        self._timers = WaitTimers()
        self.next_ticket: Callable[[], int] = count().__next__
        self.shared_check = SharedCheck(execute, watcher or uuid4(), self._queues, self)
        self._registrations = self.shared_check.registrations

    # --- waiting -----------------------------------------------------------------------------------------------------
    def can_skip_receive(self, queue: NamedQueue) -> bool:
        """Returns whether a new request can wait without a receive, because the queue is known to be empty.

        The queue counts as empty while other requests wait. The queue also counts as empty for a short time after a
        request's wait timed out, or after waiting requests received all new messages. On a FIFO queue, only a recent
        empty receive counts. A receive skips locked message groups, and another process sends no notification when it
        unlocks a group.
        """
        state = self._queues.get(queue.arn)
        if state is None:
            return False
        now = asyncio.get_running_loop().time()
        if not queue.is_fifo:
            return bool(state.waiters) or now < state.assumed_empty_until
        return bool(state.waiters) and now - state.last_empty_receive_at < EMPTY_RECEIVE_VALID_SECONDS

    def wait(
        self,
        resolved: NamedQueue,
        seconds: float,
        ticket: int,
        missed_wakeups: int | None = None,
        receive: Receive[ReceivedRow] | None = None,
        without_receive: bool = False,
    ) -> WaitFuture:
        """Returns a future. The result of the future is the reason why the wait ended, or the rows that a receive
        returned for the waiter.

        The reason NOT means that the wait time is over, or that the process is shutting down. `missed_wakeups` is the
        dispatcher's count before the request's empty receive. If the count has grown, the receive may have missed later
        messages. `without_receive` is true if the request has made no receive (`can_skip_receive`).
        """
        loop = asyncio.get_running_loop()
        future: WaitFuture = loop.create_future()
        if self.draining or seconds <= 0:
            future.set_result(Woken.NOT)
            return future
        queue = self._queues.get(resolved.arn)
        if queue is None:
            queue = self._queues[resolved.arn] = WaitedQueue(resolved)
        if missed_wakeups is not None and queue.last_missed_wakeup > missed_wakeups:
            future.set_result(Woken.FOR_ONE)
            return future
        if not without_receive:
            queue.last_empty_receive_at = loop.time()
        waiter = Waiter(ticket, future, receive)
        waiter.timer = self._timers.add(seconds, waiter.time_out)
        future.add_done_callback(partial(self._remove_waiter, queue, waiter))
        insort(queue.waiters, waiter)
        self._registrations.note_wait(queue)
        return future

    def _remove_waiter(self, queue: WaitedQueue, waiter: Waiter, future: WaitFuture) -> None:
        """Removes a waiter whose wait has ended for any reason."""
        if waiter.timer is not None:
            self._timers.remove(waiter.timer, waiter.time_out)
        if waiter in queue.waiters:
            queue.waiters.remove(waiter)
        is_over = not future.cancelled() and future.result() == Woken.NOT
        if is_over and queue.registered and self.receives_notifications:
            queue.assumed_empty_until = asyncio.get_running_loop().time() + ASSUMED_EMPTY_SECONDS

    def assume_empty(self, queue_arn: str, missed_wakeups: int) -> None:
        """Records that waiters received all new messages. The next request can then wait without a receive.

        `missed_wakeups` is the dispatcher's count before the messages were sent. If the count has grown, further
        messages have arrived.
        """
        queue = self._queues.get(queue_arn)
        if queue is None or queue.last_missed_wakeup > missed_wakeups:
            return
        if queue.registered and self.receives_notifications:
            queue.assumed_empty_until = asyncio.get_running_loop().time() + ASSUMED_EMPTY_SECONDS

    def claim(self, queue_arn: str, messages: int) -> list[Waiter]:
        """Removes the oldest waiters, as many as the messages need, and returns them. The waiters' receives can share a
        call.

        After the call, only the caller can serve or wake the returned waiters. The method does not return waiters of a
        FIFO queue.
        """
        queue = self._queues.get(queue_arn)
        if queue is None or not queue.waiters or is_fifo_name(queue_arn):
            return []
        claimed: list[Waiter] = []
        first = queue.waiters[0].receive
        for waiter in queue.waiters:
            receive = waiter.receive
            if messages <= 0 or receive is None or first is None:
                break
            if receive.visibility_seconds != first.visibility_seconds or receive.limit != first.limit:
                break
            if waiter.timer is not None:
                self._timers.remove(waiter.timer, waiter.time_out)
            claimed.append(waiter)
            messages -= receive.count
        del queue.waiters[: len(claimed)]
        queue.woken_locally = queue.woken_locally or bool(claimed)
        return claimed

    def drain(self) -> None:
        """Ends all current waits, and makes later waits end immediately."""
        self.draining = True
        for queue in self._queues.values():
            for waiter in list(queue.waiters):
                waiter.wake(Woken.NOT)

    # --- waking ------------------------------------------------------------------------------------------------------
    def on_wake(self, name: str, callback: Callable[[], None]) -> None:
        """Calls `callback` at each wake-up or notification with this name, which must not be a queue's name."""
        self._wake_callbacks[name] = callback

    def wake(self, queue_arn: str, number: int, woken: Woken = Woken.FOR_ONE) -> None:
        """Wakes up to `number` waiters, starting with the waiter that has waited longest."""
        if queue_arn in self._wake_callbacks:
            self._wake_callbacks[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            self._wake(queue, number, woken)

    def wake_waiters(self, queue: NamedQueue, number: int, woken: Woken = Woken.FOR_ONE) -> None:
        """Wakes up to `number` waiters of the queue."""
        state = self._queues.get(queue.arn)
        if state is not None:
            self._wake(state, number, woken)

    def _wake(self, queue: WaitedQueue, number: int, woken: Woken) -> None:
        queue.assumed_empty_until = float("-inf")
        while queue.waiters and number > 0:
            queue.woken_locally = queue.woken_locally or woken == Woken.FOR_ONE
            number -= queue.waiters.pop(0).wake(woken)
        if number > 0 and woken == Woken.FOR_ONE:
            self.missed_wakeups += 1
            queue.last_missed_wakeup = self.missed_wakeups

    def handle_notification(self, queue_arn: str) -> None:
        """Wakes a waiter after a notification. A notification ends the registration.

        The notification comes from another process, or from a call of this process that wakes no waiters, such as a
        publication. A message must not wake two waiters. Therefore, this method does nothing if a sender of this
        process has woken a waiter since the registration. The check after the next registration, within 20 ms, finds
        further messages.
        """
        if queue_arn in self._wake_callbacks:
            self._wake_callbacks[queue_arn]()
        queue = self._queues.get(queue_arn)
        if queue is not None:
            if not queue.woken_locally:
                self._wake(queue, 1, Woken.FOR_MORE)
            self._registrations.replace(queue)

    def renew_registrations(self) -> None:
        """Registers and checks every queue again, because notifications could have been lost. The method also wakes the
        workers."""
        self.wake_workers()
        self.shared_check.forget_last_check()
        for queue in self._queues.values():
            self._registrations.replace(queue)

    def wake_workers(self) -> None:
        """Wakes every waiting worker, because notifications could have been lost."""
        for callback in self._wake_callbacks.values():
            callback()
