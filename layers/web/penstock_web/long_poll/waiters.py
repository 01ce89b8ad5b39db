"""Who waits for a queue, and what is known of it: see `hub`."""

import asyncio

from penstock.effects import Row, Take, Woken

from .timers import SharedTimer

WaitFuture = asyncio.Future[Woken | list[Row]]
"""Why to look again, or what a look would find."""


class Waiter:
    """One request's wait. Tickets keep the order of arrival, also of those who come back from an empty look.

    `receive`: what it asked for in vain, if it may be asked together with others. `timer`: when its time is over.
    """

    __slots__ = ("future", "receive", "ticket", "timer")

    def __init__(self, ticket: int, future: WaitFuture, receive: Take | None) -> None:
        self.ticket = ticket
        self.future = future
        self.receive = receive
        self.timer: SharedTimer | None = None

    def wake(self, woken: Woken = Woken.FOR_ONE) -> bool:
        """Whether it could be told: it may just have left, or been served."""
        if self.future.done():
            return False
        self.future.set_result(woken)
        return True

    def serve(self, rows: list[Row]) -> None:
        """Gives it what it looked for: a header and messages."""
        self.future.set_result(rows)

    def time_out(self) -> None:
        """The time is over."""
        self.wake(Woken.NOT)

    def __lt__(self, other: "Waiter") -> bool:
        return self.ticket < other.ticket


class QueueState:
    """A queue that requests wait for (or did a moment ago). `registered`: registered, or about to be, until `renew_at`.

    `previous_unused`: the registration before was not used up.
    `woken`: since then, a sender of this process woke somebody. `last_empty_receive_at`: when somebody last began to wait because a
    look was empty; `skipped_receive`: the next one who begins did not look. `last_missed_wakeup`: number of the last message that came
    when nobody was in line. `assumed_empty_until`: whoever comes by then need not look: somebody has just waited in vain.
    """

    __slots__ = (
        "arn",
        "assumed_empty_until",
        "last_empty_receive_at",
        "last_missed_wakeup",
        "previous_unused",
        "registered",
        "registered_at",
        "renew_at",
        "skipped_receive",
        "waiters",
        "woken",
    )

    def __init__(self, arn: str) -> None:
        self.arn = arn
        self.waiters: list[Waiter] = []
        self.registered = False
        self.previous_unused = False
        self.registered_at = self.renew_at = float("-inf")
        self.last_empty_receive_at = self.assumed_empty_until = float("-inf")
        self.skipped_receive = False
        self.last_missed_wakeup = 0
        self.woken = False


class LastCheck:
    """What the shared look saw: nothing in these queues, nor before `until`, unless something is committed."""

    __slots__ = ("arns", "snapshot", "until")

    def __init__(self) -> None:
        self.arns: frozenset[str] = frozenset()
        self.snapshot: str | None = None
        self.until = float("-inf")

    def covers(self, arns: list[str], now: float) -> bool:
        """Whether a look at these queues would see the same, as long as nothing is committed."""
        return now < self.until and self.arns.issuperset(arns)

    def update(self, arns: list[str], snapshot: str, until: float) -> None:
        """A look has seen this."""
        self.arns, self.snapshot, self.until = frozenset(arns), snapshot, until
