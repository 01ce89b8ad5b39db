"""Merges the effects of concurrent requests. During a call, new effects wait, and later share the next call.

    submit(effect) ─► pending batch ─► flush ─► one SQL call ─► each request's own rows

Effects can share a call if their statement, options and merge key are equal. Receives can share a call if their queue
and visibility timeout are equal. Long messages go into separate batches, because otherwise short messages would wait
for the transfer of long messages. If no call is running, the batcher flushes an effect immediately. An idle process
therefore adds no delay, and a busy process makes large flushes. A separate task runs each flush, so a cancelled request
cannot cancel the flush. The batcher removes empty pending batches.

A failure affects only the requests that caused the failure. If the database refuses the data, the batcher halves the
flush until the bad effect is alone. The batcher also halves a flush if the database refuses one transaction in the
flush, or if another open transaction holds a lock. Effects that need the lock wait in a separate call (`contention`).
If a client disconnects during a receive, the messages go to the flush's other requests or back to the queue.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from time import monotonic
from typing import Any, cast

import psycopg

from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Receive, Transact
from penstock.errors import AwsError, InternalFailure, ServiceUnavailable
from penstock.limits.message_lengths import MessageLengths
from penstock.postgres.database import LongMessageFound
from penstock.postgres.sqlstates import LONG_MESSAGE, Meaning, find_error_meaning
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import ReceivedRow, SendEntry, TransactedRow
from penstock_web.database.calls import ExecuteStatement
from penstock_web.database.errors import Locked, OutcomeUnknown, RolledBack
from penstock_web.database.pool import WAITING_SINCE

from .contention import Contention, LockedKeys, QueueShares
from .direct_handoff import DirectHandoff
from .merge import (
    Batch,
    Mergeable,
    build_visible_effect,
    check_distinct,
    check_not_refused,
    distribute_messages,
    group_rows_by_effect,
    group_rows_by_transaction,
    merge_calls,
)
from .pending_batch import BYTES_PER_ENTRY, LONG_WEIGHT, PendingBatch, PendingEffect, RowsFuture
from .write_backpressure import WriteBackpressure

# If IDLE_SECONDS have passed since the last flush, the batcher flushes a new effect immediately.
IDLE_SECONDS = 0.003
# The batcher does not repeat calls for a request that has waited longer than this. Two hanging calls would use up the
# request's time, and the response would be 408.
LATEST_REPETITION_SECONDS = 5.0

ExecuteEffects = Callable[[Sequence[PendingEffect]], Awaitable[Sequence[Sequence[Row]]]]
"""Makes the database call of a flush. Returns the rows of each effect."""


class LockWait(Enum):
    """Chooses how long a call waits for other transactions' locks. See `Contention`."""

    USUAL = "as the pool lets every call wait"
    BRIEF = "only briefly: the batcher looks for the effects that need the lock"
    LONG = "on few connections: every effect needs the lock"


@dataclass(frozen=True, slots=True)
class Flusher:
    """Makes the database calls. `lock_wait` chooses how long a call waits for a lock."""

    execute: ExecuteEffects
    lock_wait: LockWait


@dataclass(frozen=True, slots=True)
class Flushers:
    """The flushers of a batcher. `sending` is for sends, and `usual` for other calls. `brief` and `long` are for calls
    that need a lock of another transaction.
    """

    usual: Flusher
    sending: Flusher
    brief: Flusher
    long: Flusher


@dataclass(slots=True)
class Backlog:
    """The effects that wait for a call, in their pending batches. `effects` is their number.

    The batcher accepts a new effect only if `effects` is less than `limit`. Accepted effects that wait for another call
    can make `effects` greater than `limit`.
    """

    limit: int
    effects: int = 0
    batches: dict[Hashable, PendingBatch] = field(default_factory=dict)


_log = logging.getLogger(__name__)


class Batcher:
    """Keeps all pending batches of a process.

    `limit` limits the number of waiting effects (`Backlog`). `linger_seconds` is the time for which a send waits for
    other sends. After each call, the batcher calls `on_response` with the statement and the number of rows, without the
    headers of receives. `direct_handoff` stores messages and serves waiting receives. Receives of long messages wait
    for `write_backpressure`.
    """

    def __init__(
        self,
        execute: ExecuteStatement,
        limit: int,
        linger_seconds: float = 0.0,
        on_response: Callable[[Statement[Row], int], None] = lambda *_: None,
        direct_handoff: DirectHandoff | None = None,
        write_backpressure: WriteBackpressure | None = None,
        contention: Contention | None = None,
    ) -> None:
        contention = contention or Contention(execute, execute)
        self._shares = QueueShares(contention.queue_share)
        self._locked_keys = LockedKeys()
        self._flushers = self._build_flushers(execute, contention, direct_handoff)
        self._write_backpressure = write_backpressure or WriteBackpressure()
        self._direct_handoff = direct_handoff
        self._on_response = on_response
        self._linger_seconds = linger_seconds
        self._backlog = Backlog(limit)
        self._lengths = MessageLengths()
        self._last_flush_ended_at = 0.0  # of the last flush of any pending batch
        self._tasks: set[asyncio.Task[None]] = set()
        # The event loop is looked up once, not for each effect.
        self._loop: asyncio.AbstractEventLoop | None = None

    def _build_flushers(
        self, execute: ExecuteStatement, contention: Contention, direct_handoff: DirectHandoff | None
    ) -> Flushers:
        sending = usual = Flusher(partial(self._call, execute), LockWait.USUAL)
        if direct_handoff is not None:
            send = partial(direct_handoff.send, return_messages=self.return_messages)
            sending = Flusher(send, LockWait.USUAL)
        return Flushers(
            usual,
            sending,
            brief=Flusher(partial(self._call_and_wake, contention.execute_hurriedly), LockWait.BRIEF),
            long=Flusher(partial(self._call_and_wake, contention.execute_waiting), LockWait.LONG),
        )

    def submit(self, effect: Mergeable) -> RowsFuture:
        """Returns a future of the effect's rows. Raises ServiceUnavailable if too many effects wait."""
        backlog = self._backlog
        if backlog.effects >= backlog.limit:
            raise ServiceUnavailable
        loop = self._loop = self._loop or asyncio.get_running_loop()
        future: RowsFuture = loop.create_future()
        key, queue = effect.batch_key, None
        if isinstance(effect, Receive):
            weight, queue = effect.count, effect.queue
        else:
            entries = len(effect)
            weight = entries + effect.size_bytes // BYTES_PER_ENTRY
            if weight > entries and isinstance(effect, BatchCall) and effect.statement.stores_messages:
                sizes = [message.size_bytes for message in cast("Sequence[SendEntry]", effect.entries)]
                self._lengths.sent(NamedQueue(effect.queue_arn), max(sizes))
                if weight >= LONG_WEIGHT:
                    key = (key, LONG_WEIGHT)
        locked_key = self._locked_keys.find(effect) if self._locked_keys else None
        batch = self._batch(effect.statement, key, queue, locked_key)
        batch.pending.append(PendingEffect(effect, future, weight, monotonic()))
        backlog.effects += 1
        return future

    def _batch(
        self, statement: Statement[Row], key: Hashable, queue: NamedQueue | None, locked_key: Hashable | None
    ) -> PendingBatch:
        """Returns the pending batch for `key`. A task flushes the batch later. `queue` is set if the effects are
        receives.

        `locked_key` is a key that the effects need and that another open transaction has locked, or None.
        """
        if locked_key is not None:
            key = (key, locked_key)
        batch = self._backlog.batches.get(key)
        if batch is None:
            stores = statement.stores_messages
            linger_seconds = self._linger_seconds if stores else 0.0
            batch = self._backlog.batches[key] = PendingBatch(queue, linger_seconds, self._lengths)
            flusher = self._flushers.sending if stores else self._flushers.usual
            self._start(self._run_batch(key, batch, flusher if locked_key is None else self._flushers.long))
        return batch

    async def drain(self) -> None:
        """Waits until no flush is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_batch(self, key: Hashable, batch: PendingBatch, flusher: Flusher) -> None:
        loop = asyncio.get_running_loop()
        idle = loop.time() - self._last_flush_ended_at > IDLE_SECONDS
        try:
            while batch.pending:
                if not idle:
                    await batch.collect()
                idle = False
                if batch.receives_long_messages:
                    await self._write_backpressure.wait_until_low()
                before = len(batch.pending)
                pending = batch.next_flush()
                self._backlog.effects -= before - len(batch.pending)
                if pending and batch.queue is not None:
                    await self._shares.start(batch.queue)
                    try:
                        await self._flush(pending, flusher)
                    finally:
                        self._shares.end(batch.queue)
                elif pending:
                    await self._flush(pending, flusher)
        finally:
            self._last_flush_ended_at = loop.time()
            del self._backlog.batches[key]

    async def _flush(self, pending: Sequence[PendingEffect], flusher: Flusher, *, retry: bool = True) -> None:
        statement = pending[0].effect.statement
        WAITING_SINCE.set(pending[0].since)
        try:
            results = await flusher.execute(pending)
        except Locked:
            self._isolate(pending, flusher.lock_wait)
        except ServiceUnavailable as error:
            if retry and may_be_repeated(error, statement, pending[0].since):
                await self._flush(pending, flusher, retry=False)
            else:
                fail_effects(pending, partial(ServiceUnavailable, error.message))
        except Exception as error:  # noqa: BLE001 - psycopg's, a value's without a binary form, NotMergeable
            await self._flush_apart(pending, flusher, error)
        else:
            headers = len(pending) if isinstance(pending[0].effect, Receive) else 0
            self._on_response(statement, sum(map(len, results)) - headers)
            self._locked_keys.remove(each.effect for each in pending)
            for each, rows in zip(pending, results, strict=True):
                if not each.future.done():  # The request is still waiting.
                    each.future.set_result(rows)

    async def _flush_apart(self, pending: Sequence[PendingEffect], flusher: Flusher, error: Exception) -> None:
        """Repeats a failed call in halves if a single effect could be the cause."""
        if isinstance(error, LongMessageFound):
            self._receive_again(pending)
        elif len(pending) > 1 and may_be_data_error(error):
            middle = len(pending) // 2
            await self._flush(pending[:middle], flusher)
            await self._flush(pending[middle:], flusher)
        else:
            statement = pending[0].effect.statement
            _log.error("database call failed", exc_info=error, extra={"function": statement.name})
            fail_effects(pending, InternalFailure)

    def _receive_again(self, pending: Sequence[PendingEffect]) -> None:
        """Puts these effects at the front of the batch, because their messages are longer than expected."""
        effect = cast("Receive[ReceivedRow]", pending[0].effect)
        locked_key = self._locked_keys.find(effect) if self._locked_keys else None
        batch = self._batch(effect.statement, effect.batch_key, effect.queue, locked_key)
        batch.pending.extendleft(reversed(pending))
        self._backlog.effects += len(pending)

    def _isolate(self, pending: Sequence[PendingEffect], lock_wait: LockWait) -> None:
        """Halves a call that waited too long for a lock, and repeats the halves until only the effects that need the
        lock are left. Other effects do not wait for the lock."""
        if lock_wait is LockWait.LONG:  # All effects of the call need the lock.
            for each in pending:  # Other effects' calls do not wait for a remembered lock.
                self._locked_keys.add(each.effect)
            fail_effects(pending, ServiceUnavailable)
            return
        if len(pending) > 1:
            middle = len(pending) // 2
            for half in (pending[:middle], pending[middle:]):
                self._start(self._flush(half, self._flushers.brief))
            return
        locked_key = self._locked_keys.add(pending[0].effect)
        if locked_key is not None and lock_wait is LockWait.BRIEF:
            self._backlog.effects += 1
            effect = pending[0].effect
            self._batch(effect.statement, effect.batch_key, None, locked_key).pending.append(pending[0])
        else:
            fail_effects(pending, ServiceUnavailable)

    async def _call(self, execute: ExecuteStatement, pending: Sequence[PendingEffect]) -> Sequence[Sequence[Row]]:
        effects = [each.effect for each in pending]
        first = effects[0]
        if isinstance(first, Transact):
            return await self._call_transactions(execute, cast("list[Transact[TransactedRow]]", effects))
        if not isinstance(first, Receive):
            rows = await execute(*merge_calls(effects))
            return group_rows_by_effect(list(map(len, cast("list[Batch]", effects))), rows)
        try:
            rows = await execute(*merge_calls(effects, assume_short=self._lengths.are_short(first.queue)))
        except psycopg.Error as error:
            if error.sqlstate != LONG_MESSAGE:
                raise
            self._lengths.note_long(first.queue)
            raise LongMessageFound from error
        messages = cast("list[ReceivedRow]", rows)
        self._lengths.received(first.queue, len(messages) - 1, sum([len(row.body) for row in messages[1:]]))
        receives = cast("list[Receive[ReceivedRow]]", effects)
        results, left_over = distribute_messages(receives, [not each.future.done() for each in pending], messages)
        self.return_messages(first.queue, left_over)
        return results

    async def _call_transactions(
        self, execute: ExecuteStatement, transactions: Sequence[Transact[TransactedRow]]
    ) -> Sequence[Sequence[Row]]:
        if len(transactions) > 1:
            check_distinct(transactions)
        rows = cast("list[TransactedRow]", await execute(*merge_calls(transactions)))
        if len(transactions) > 1:
            check_not_refused(rows)
        return group_rows_by_transaction(transactions, rows)

    async def _call_and_wake(
        self, execute: ExecuteStatement, pending: Sequence[PendingEffect]
    ) -> Sequence[Sequence[Row]]:
        results = await self._call(execute, pending)
        if self._direct_handoff is not None and pending[0].effect.statement.stores_messages:
            self._direct_handoff.wake([cast("Batch", each.effect) for each in pending])
        return results

    def return_messages(self, queue: NamedQueue, messages: Sequence[ReceivedRow]) -> None:
        """Makes messages visible again if no remaining request can take the messages."""
        if messages:
            try:
                self.submit(build_visible_effect(queue, messages)).add_done_callback(_log_failed_return)
            except ServiceUnavailable:
                _log.warning("messages stay invisible until their timeout", extra={"queue": queue.arn})


def may_be_repeated(error: ServiceUnavailable, statement: Statement[Row], since: float) -> bool:
    """Returns whether the batcher may repeat a failed call, because the call had no effect or a repetition would have
    no further effect.

    `since` is the time when the first request of the call began to wait. A repetition requires that this request has
    time left.
    """
    if monotonic() - since > LATEST_REPETITION_SECONDS:
        return False
    if isinstance(error, RolledBack):
        return True
    return isinstance(error, OutcomeUnknown) and statement.is_idempotent


def may_be_data_error(error: Exception) -> bool:
    """Returns whether one effect could have caused the error. A missing function or privilege affects all effects."""
    return find_error_meaning(error) is not Meaning.NOT_INSTALLED


def fail_effects(pending: Sequence[PendingEffect], error: Callable[[], AwsError]) -> None:
    """Gives each waiting request a separate error object, because the tracebacks of all requests would accumulate in a
    shared object.
    """
    for each in pending:
        if not each.future.done():
            each.future.set_exception(error())


def _log_failed_return(future: RowsFuture) -> None:
    if not future.cancelled() and future.exception():
        _log.warning("messages stay invisible until their timeout")
