"""Holds the state of long polls, of their queues, and of the last shared check. See `dispatcher`."""

import asyncio

from penstock.aws.named_queue import NamedQueue
from penstock.effects import Receive, Woken
from penstock.postgres.statements.long_polls import PolledQueueRow
from penstock.postgres.statements.messages import ReceivedRow

from .timers import SharedTimer

WaitFuture = asyncio.Future[Woken | list[ReceivedRow]]
"""Holds the reason why a wait ended, or the rows that a receive returned for the waiter."""


class Waiter:
    """One request's wait. Tickets keep the order of arrival, even for requests that wait again after an empty receive.
    `receive` is the effect of the empty receive if the effect may share a call. `timer` ends the wait.
    """

    __slots__ = ("future", "receive", "ticket", "timer")

    def __init__(self, ticket: int, future: WaitFuture, receive: Receive[ReceivedRow] | None) -> None:
        self.ticket = ticket
        self.future = future
        self.receive = receive
        self.timer: SharedTimer | None = None

    def wake(self, woken: Woken = Woken.FOR_ONE) -> bool:
        """Ends the wait. Returns False if the wait has already ended."""
        if self.future.done():
            return False
        self.future.set_result(woken)
        return True

    def serve(self, rows: list[ReceivedRow]) -> None:
        """Ends the wait with the rows of a receive: a header, and then messages."""
        self.future.set_result(rows)

    def time_out(self) -> None:
        """Ends the wait when the wait time is over."""
        self.wake(Woken.NOT)

    def __lt__(self, other: "Waiter") -> bool:
        return self.ticket < other.ticket


class WaitedQueue:
    """Represents a queue that has waiting requests, or had waiting requests a moment ago.

    `registered` is true while the queue is registered (until `renew_at`) or the process registers it. `previous_unused`
    is true if the previous registration ended without a notification. `woken_locally` is true if a sender of this
    process has woken a waiter since the registration. `last_empty_receive_at` is the time when the last wait after an
    empty receive began. `last_missed_wakeup` is the number of the last wake-up that found too few waiters. Until
    `assumed_empty_until`, a new request waits without a receive. The queue is probably empty, because another request's
    wait has just timed out, or other requests have received all new messages.
    """

    __slots__ = (
        "assumed_empty_until",
        "last_empty_receive_at",
        "last_missed_wakeup",
        "previous_unused",
        "registered",
        "registered_at",
        "renew_at",
        "resolved",
        "waiters",
        "woken_locally",
    )

    def __init__(self, resolved: NamedQueue) -> None:
        self.resolved = resolved
        self.waiters: list[Waiter] = []
        self.registered = False
        self.previous_unused = False
        self.registered_at = self.renew_at = float("-inf")
        self.last_empty_receive_at = self.assumed_empty_until = float("-inf")
        self.last_missed_wakeup = 0
        self.woken_locally = False


class LastCheck:
    """Holds the result of the last shared check. The checked queues have no messages before `until`, unless a commit
    adds messages."""

    __slots__ = ("arns", "snapshot", "until")

    def __init__(self) -> None:
        self.arns: frozenset[str] = frozenset()
        self.snapshot: str | None = None
        self.until = float("-inf")

    def covers(self, arns: list[str], now: float) -> bool:
        """Returns whether a check of these queues would have the same result if there was no commit."""
        return now < self.until and self.arns.issuperset(arns)

    def update(self, arns: list[str], rows: list[PolledQueueRow], now: float) -> None:
        """Stores a check's result. `now` is the start of the check, by the event loop's clock."""
        *_, summary = rows
        self.arns, self.snapshot = frozenset(arns), summary.snapshot
        self.until = now + (summary.wait_ms or 0) / 1000

    def add(self, arns: list[str], rows: list[PolledQueueRow], now: float) -> None:
        """Adds the result of a later check of other queues. A change after the earlier check's snapshot makes the next
        check examine the queues.
        """
        *_, summary = rows
        self.arns |= frozenset(arns)
        self.until = min(self.until, now + (summary.wait_ms or 0) / 1000)
