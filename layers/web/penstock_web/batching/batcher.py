"""The natural micro-batch: while a call is under way, the next ones gather, and then go together.

    submit(effect) ─► lane ─► flush ─► one SQL call ─► every caller's own rows

A lane holds effects that may share a call: equal statement, options and lane name, or equal queue and visibility.
When nothing is under way an effect goes at once: nothing is added when idle, and the busier the lane the larger the
flush. A flush is a task of its own, so a caller that is cancelled cannot cancel it. A lane is gone when it is idle.

What goes wrong stays with whom it concerns: a flush whose data the database refuses is halved until the bad entry is
alone, as are transactions of which one is refused; messages that were taken for a caller who left meanwhile go to the
others of the flush or back to the queue.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from typing import Any, cast

from penstock.effects import Row, Rows, Statement, Take, Transact
from penstock.errors import AwsError, InternalFailure, ServiceUnavailable
from penstock.postgres.statements import CHANGE_VISIBILITIES, DELETE_MESSAGES, READ_POLICIES, SEND_MESSAGES
from penstock_web.database.pool import Lost, Undone

from .direct_handoff import Arrivals
from .lengths import Lengths
from .merge import (
    Mergeable,
    check_distinct,
    check_done,
    deal,
    give_back,
    merged_call,
    rows_of_each,
)
from .pending_batch import Answer, Entry, Lane, lane_key
from .write_backpressure import Unread

# After so long without a call nobody is at the door: who comes goes at once.
ALONE_SECONDS = 0.003
# Made again once when the outcome is unknown: done twice they change nothing. A send would be stored twice.
REPEATABLE = frozenset((DELETE_MESSAGES, CHANGE_VISIBILITIES, READ_POLICIES))

Call = Callable[[Statement, list[Any]], Awaitable[list[Row]]]

_log = logging.getLogger(__name__)


class Batcher:
    """All lanes of a process. `limit`: most entries that wait; `linger_seconds`: how long a send waits for others.

    `flushed` is told how many messages a call has stored. `arrivals`: who stores messages and tells those who wait.
    `unread`: what receives of long messages wait for.
    """

    def __init__(
        self,
        call: Call,
        limit: int,
        linger_seconds: float = 0.0,
        flushed: Callable[[int], None] = lambda _: None,
        arrivals: Arrivals | None = None,
        unread: Unread | None = None,
    ) -> None:
        self._call = call
        self._unread = unread or Unread()
        self._arrivals = arrivals
        self._flushed = flushed
        self._limit = limit
        self._linger_seconds = linger_seconds
        self._lanes: dict[Hashable, Lane] = {}
        self._waiting = 0
        self._lengths = Lengths()
        self._landed_at = 0.0  # when the last flight of all lanes ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # looked up once, not for each of thousands

    def submit(self, effect: Mergeable) -> Answer:
        """The rows of this effect, soon. Raises ServiceUnavailable when too many wait already."""
        if self._waiting >= self._limit:
            raise ServiceUnavailable
        key = lane_key(effect)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(effect, self._linger_seconds, self._lengths)
            self._start(self._fly(key, lane))
        loop = self._loop = self._loop or asyncio.get_running_loop()
        answer: Answer = loop.create_future()
        entry = Entry(effect, answer)
        lane.waiting.append(entry)
        if isinstance(effect, Rows) and effect.statement is SEND_MESSAGES and entry.weight > len(effect):
            self._lengths.sent(effect.queue_arn, int(max(effect.columns[3])))
        self._waiting += 1
        return answer

    def abandon(self, effect: Mergeable, answer: Answer) -> None:
        """The caller left. What was taken for it, when the answer had come already, goes back to the queue."""
        if isinstance(effect, Take) and answer.done() and not answer.cancelled() and not answer.exception():
            self.give_back(effect.queue_arn, answer.result()[1:])

    async def drain(self) -> None:
        """Returns when no flush is under way any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, flight: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(flight)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fly(self, key: Hashable, lane: Lane) -> None:
        loop = asyncio.get_running_loop()
        alone = loop.time() - self._landed_at > ALONE_SECONDS
        try:
            while lane.waiting:
                if not alone:
                    await lane.gather()
                alone = False
                if lane.is_long:
                    await self._unread.wait()
                before = len(lane.waiting)
                entries = lane.board()
                self._waiting -= before - len(lane.waiting)
                if entries:
                    await self._flush(entries)
        finally:
            self._landed_at = loop.time()
            del self._lanes[key]

    async def _flush(self, entries: Sequence[Entry], *, again: bool = True) -> None:
        statement = entries[0].effect.statement
        try:
            rows = await self._rows([entry.effect for entry in entries])
        except ServiceUnavailable as error:
            if again and (isinstance(error, Undone) or (isinstance(error, Lost) and statement in REPEATABLE)):
                await self._flush(entries, again=False)
            else:
                fail(entries, ServiceUnavailable)
        except Exception as error:  # noqa: BLE001 - psycopg's, that of a value without a binary form, or Apart
            if len(entries) > 1 and is_about_data(error):
                middle = len(entries) // 2
                await self._flush(entries[:middle])
                await self._flush(entries[middle:])
            else:
                _log.error("database call failed", exc_info=error, extra={"function": statement.name})
                fail(entries, InternalFailure)
        else:
            if statement is SEND_MESSAGES:
                self._flushed(len(rows))
            self._deliver(entries, rows)

    async def _rows(self, effects: Sequence[Mergeable]) -> list[Row]:
        if self._arrivals is not None and effects[0].statement is SEND_MESSAGES:
            return await self._arrivals.send(cast("Sequence[Rows]", effects), self.give_back)
        if len(effects) == 1 or not isinstance(effects[0], Transact):
            return await self._call(*merged_call(effects))
        check_distinct(cast("Sequence[Transact]", effects))
        rows = await self._call(*merged_call(effects))
        check_done(rows)
        return rows

    def _deliver(self, entries: Sequence[Entry], rows: list[Row]) -> None:
        first = entries[0].effect
        effects = [entry.effect for entry in entries]
        left_over: list[Row] = []
        if isinstance(first, Take):
            self._lengths.received(first.queue_arn, rows)
            present = [not entry.answer.done() for entry in entries]
            answers, left_over = deal(cast("list[Take]", effects), present, rows)
        else:
            answers = rows_of_each(cast("list[Rows]", effects), rows)
        for entry, answer in zip(entries, answers, strict=True):
            if not entry.answer.done():
                entry.answer.set_result(answer)
        if isinstance(first, Take):
            self.give_back(first.queue_arn, left_over)

    def give_back(self, queue_arn: str, messages: Sequence[Row]) -> None:
        """Messages that nobody is there to take are visible again, soon."""
        if messages:
            try:
                self.submit(give_back(queue_arn, messages)).add_done_callback(_note_failure)
            except ServiceUnavailable:
                _log.warning("messages stay invisible until their timeout", extra={"queue": queue_arn})


def is_about_data(error: Exception) -> bool:
    """Whether one entry may be to blame. A missing function or privilege (SQLSTATE class 42, 3F) fails for each."""
    state = getattr(error, "sqlstate", None) or ""
    return not state.startswith(("42", "3F"))


def fail(entries: Sequence[Entry], error: type[AwsError]) -> None:
    """An error of its own for every caller that is still there: a shared one would collect their tracebacks."""
    for entry in entries:
        if not entry.answer.done():
            entry.answer.set_exception(error())


def _note_failure(answer: Answer) -> None:
    if not answer.cancelled() and answer.exception():
        _log.warning("messages stay invisible until their timeout")
