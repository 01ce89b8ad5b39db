"""What is sent while somebody waits for it is received in the same transaction: one call and one commit, not two.

    flush of sends ─► send_messages, receive_messages ─► the senders, and those who waited

They are handed what the receive finds, which need not be what was just sent. Who gets nothing looks by itself.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from penstock.effects import Row, Rows, Statement
from penstock_web.database.pipeline_connection import Call
from penstock_web.long_poll.dispatcher import Hub
from penstock_web.long_poll.waiters import Waiter

from .merge import LARGEST_TAKE, deal, merged_call
from .write_backpressure import Unread

# Queues of one flush whose waiters are served with it. Each adds a receive to a transaction that holds shards.
MOST_PARTIES = 3

GiveBack = Callable[[str, Sequence[Row]], None]


class Database(Protocol):
    """The pool's part."""

    def flush(self, statement: Statement, arguments: Sequence[Any], /) -> Awaitable[list[Row]]: ...

    def flush_together(self, calls: Sequence[Call]) -> Awaitable[list[list[Row]] | None]: ...


class Party:
    """Those who wait for one queue, with looks that may share a call."""

    def __init__(self, queue_arn: str, waiters: list[Waiter]) -> None:
        self.queue_arn = queue_arn
        self._waiters = waiters
        self._takes = [waiter.look for waiter in waiters if waiter.look is not None]

    @property
    def call(self) -> Call:
        """One receive for all, in a transaction with what is sent."""
        return merged_call(self._takes, alone=False)

    def serve(self, rows: Sequence[Row], give_back: GiveBack) -> int:
        """Hands each what it asked for, as far as it goes. How many messages there were."""
        present = [not waiter.answer.done() for waiter in self._waiters]
        answers, left_over = deal(self._takes, present, rows)
        for waiter, answer in zip(self._waiters, answers, strict=True):
            if len(answer) > 1:
                waiter.hand(answer)
        give_back(self.queue_arn, left_over)
        return len(rows) - 1

    def dismiss(self) -> int:
        """Who has no answer yet looks by itself. How many these are."""
        return sum(waiter.wake() for waiter in self._waiters)


class Arrivals:
    """Stores messages and tells the `hub`'s waiters, who look by themselves while much is `unread`."""

    def __init__(self, database: Database, hub: Hub, unread: Unread) -> None:
        self._database = database
        self._hub = hub
        self._unread = unread

    async def send(self, effects: Sequence[Rows], give_back: GiveBack) -> list[Row]:
        """The rows of one call that stores all of these. Raises what the pool raises: then nobody got any."""
        call = merged_call(effects)
        numbers = messages_by_queue(effects)
        parties = self._parties(numbers)
        try:
            rows, *taken = await self._store(call, parties)
            for party, found in zip(parties, taken, strict=False):  # none, when they were not served
                numbers[party.queue_arn] -= party.serve(found, give_back)
        finally:
            for party in parties:
                numbers[party.queue_arn] -= party.dismiss()
        for queue_arn, number in numbers.items():
            self._hub.wake(queue_arn, number)
        return rows

    async def _store(self, call: Call, parties: list[Party]) -> list[list[Row]]:
        if parties:
            answers = await self._database.flush_together([call, *(party.call for party in parties)])
            if answers is not None:
                return answers
        return [await self._database.flush(*call)]

    def _parties(self, numbers: dict[str, int]) -> list[Party]:
        parties: list[Party] = []
        if self._unread.is_much:
            return parties
        for queue_arn, number in numbers.items():
            if len(parties) < MOST_PARTIES and (
                waiters := self._hub.claim(queue_arn, min(number, LARGEST_TAKE))
            ):
                parties.append(Party(queue_arn, waiters))
        return parties


def messages_by_queue(effects: Sequence[Rows]) -> dict[str, int]:
    """How many messages there are for each queue."""
    numbers: dict[str, int] = {}
    for effect in effects:
        numbers[effect.queue_arn] = numbers.get(effect.queue_arn, 0) + len(effect)
    return numbers
