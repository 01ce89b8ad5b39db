"""Who waits for a queue, and what is known of it: see `hub`."""

import asyncio

from penstock.effects import Row, Take, Woken

from .timers import End

Answer = asyncio.Future[Woken | list[Row]]
"""Why to look again, or what a look would find."""


class Waiter:
    """One request's wait. Tickets keep the order of arrival, also of those who come back from an empty look.

    `look`: what it asked for in vain, if it may be asked together with others. `end`: when its time is over.
    """

    __slots__ = ("answer", "end", "look", "ticket")

    def __init__(self, ticket: int, answer: Answer, look: Take | None) -> None:
        self.ticket = ticket
        self.answer = answer
        self.look = look
        self.end: End | None = None

    def wake(self, woken: Woken = Woken.FOR_ONE) -> bool:
        """Whether it could be told: it may just have left, or been served."""
        if self.answer.done():
            return False
        self.answer.set_result(woken)
        return True

    def hand(self, rows: list[Row]) -> None:
        """Gives it what it looked for: a header and messages."""
        self.answer.set_result(rows)

    def over(self) -> None:
        """The time is over."""
        self.wake(Woken.NOT)

    def __lt__(self, other: "Waiter") -> bool:
        return self.ticket < other.ticket


class Queue:
    """A queue that requests wait for (or did a moment ago). `current`: registered, or about to be, until `renew_at`.

    `quiet`: the registration before was not used up.
    `woken`: since then, a sender of this process woke somebody. `looked_at`: when somebody last began to wait because a
    look was empty; `lines_up`: the next one who begins did not look. `missed`: number of the last message that came
    when nobody was in line. `silent_until`: whoever comes by then need not look: somebody has just waited in vain.
    """

    __slots__ = (
        "arn",
        "current",
        "lines_up",
        "looked_at",
        "missed",
        "quiet",
        "registered_at",
        "renew_at",
        "silent_until",
        "waiters",
        "woken",
    )

    def __init__(self, arn: str) -> None:
        self.arn = arn
        self.waiters: list[Waiter] = []
        self.current = False
        self.quiet = False
        self.registered_at = self.renew_at = float("-inf")
        self.looked_at = self.silent_until = float("-inf")
        self.lines_up = False
        self.missed = 0
        self.woken = False


class Sight:
    """What the shared look saw: nothing in these queues, nor before `until`, unless something is committed."""

    __slots__ = ("arns", "snapshot", "until")

    def __init__(self) -> None:
        self.arns: frozenset[str] = frozenset()
        self.snapshot: str | None = None
        self.until = float("-inf")

    def covers(self, arns: list[str], now: float) -> bool:
        """Whether a look at these queues would see the same, as long as nothing is committed."""
        return now < self.until and self.arns.issuperset(arns)

    def set(self, arns: list[str], snapshot: str, until: float) -> None:
        """A look has seen this."""
        self.arns, self.snapshot, self.until = frozenset(arns), snapshot, until
