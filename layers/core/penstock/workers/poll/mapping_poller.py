"""Polls for one mapping. Receives batch after batch, and invokes the target with each batch in a separate task.

    slot ─► pause after failures ─► rights ─► receive ─► (window) ─► filter ─► invoke ─► delete what succeeded
    └──── as many as the mapping's concurrency ────────────────────────────────────────────┘

Messages that are not deleted become visible again after their visibility timeout. Therefore no message is lost if a
process dies. An invocation can take as long as its messages are invisible, and `hold` prolongs this time for URLs. A
FIFO queue does not return messages of a group that has messages in flight, so concurrent invocations have different
groups.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from time import perf_counter
from typing import Final

from penstock.context import Context
from penstock.environment import Environment
from penstock.errors import AccessDenied, AwsError, QueueDoesNotExist, ServiceUnavailable
from penstock.event_sources import batches, event, response
from penstock.event_sources.batches import StoredMapping
from penstock.event_sources.errors import InvalidParameterValueException
from penstock.event_sources.event import Record
from penstock.event_sources.invocation import Failure, FunctionThrottled, Invoker
from penstock.event_sources.targets import is_url
from penstock.postgres.statements.messages import ReceivedRow

from .hold import MAX_HOLD_SECONDS, SHORTEST_RENEWAL_SECONDS, Hold
from .invocation_slots import InvocationSlots
from .service import PollService

Report = Callable[[str, str | None], Awaitable[bool]]
"""Stores the last batch's result, and the reason why the mapping is disabled, or None. Returns whether the results were
stored."""

WAIT_SECONDS: Final = 3600.0
"""How long a receive waits. The wait is long, because it uses no resources. The poller checks permissions again at the
end of a long poll."""
FRESH_SECONDS: Final = 1.0
"""How long a check of permissions is valid."""
DELETE_PAUSE_SECONDS: Final = 1.0

OK: Final = "OK"
"""The last result after a batch that the target accepted."""
REPORTED: Final = "the function reported the message in batchItemFailures"
"""The failure of a message that a response reports as failed. The response says nothing else about the message."""
TOO_LATE: Final = "PROBLEM: messages were visible again before the invocation could begin"

_log = logging.getLogger(__name__)


class MappingPoller:
    """Polls for a mapping. All mappings of the process share `slots`. `now_ms` returns the database's time."""

    def __init__(
        self,
        mapping: StoredMapping,
        environment: Environment,
        service: PollService,
        invoker: Invoker,
        slots: InvocationSlots,
        report: Report,
        now_ms: Callable[[], float],
    ) -> None:
        self.mapping = mapping
        self._environment = environment
        self._service = service
        self._counts = service.counts
        self._invoker = invoker
        self._slots = slots
        self._report = report
        self._now_ms = now_ms
        self._concurrency = asyncio.Semaphore(mapping.concurrency)
        self._back_off = BackOff()
        self._last_result = self._stored_result = mapping.last_result
        self._is_storing = False
        self._is_unreached = False
        self.invocations = 0
        self.failed_invocations = 0
        """The number of failed invocations since the counts were last stored."""
        self._under_way: set[asyncio.Task[None]] = set()
        self._loop_task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """Stops receiving. Current invocations continue."""
        self._loop_task.cancel()

    async def wait_until_ended(self) -> None:
        """Waits until the last invocation has ended."""
        await asyncio.gather(self._loop_task, *self._under_way, return_exceptions=True)

    def abort(self) -> None:
        """Stops receiving, and ends the current invocations. Their messages become visible again after the visibility
        timeout."""
        for task in (self._loop_task, *self._under_way):
            task.cancel()

    @property
    def is_over(self) -> bool:
        """Returns whether the poller stopped because its mapping was disabled."""
        return self._loop_task.done()

    @property
    def has_ended(self) -> bool:
        """Returns whether all tasks of the poller have ended."""
        return self.is_over and not self._under_way

    # --- batches -----------------------------------------------------------------------------------------------------
    async def _run(self) -> None:
        is_stopped = False
        while not is_stopped:
            await self._concurrency.acquire()
            records: list[Record] = []
            try:
                await asyncio.sleep(self._back_off.seconds)
                async with self._take_slot():
                    pass  # without a free slot, received messages would only wait and be invisible
                records = await self._receive_batch()
            except Exception as error:  # noqa: BLE001 - the next batch may come
                is_stopped = await self._note_error(error)
            if records:
                task = asyncio.get_running_loop().create_task(self._invoke(records))
                self._under_way.add(task)
                task.add_done_callback(self._end_invocation)
            else:
                self._concurrency.release()

    async def _note_error(self, error: Exception) -> bool:
        """Returns whether an error of a receive stops the mapping, because the mapping must no longer receive or
        invoke."""
        if isinstance(error, (AccessDenied, InvalidParameterValueException)):
            await self._report(f"PROBLEM: {error.message}", f"The mapping was stopped: {error.message}")
            return True
        self._back_off.failed(throttled=True)
        if isinstance(error, AwsError):
            if not isinstance(error, ServiceUnavailable):  # the pool logs that the database cannot be reached
                await self._note(f"PROBLEM: {error.message}")
        else:
            extra = {"mapping": str(self.mapping.mapping_id)}
            _log.error("polling failed", exc_info=error, extra=extra)
        return False

    def _end_invocation(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        self._concurrency.release()
        if not task.cancelled() and task.exception() is not None:
            _log.error("invocation failed", exc_info=task.exception())

    async def _receive_batch(self) -> list[Record]:
        """Waits for messages, and collects more messages until the window ends. Deletes messages that do not match the
        filter.

        At most half of the first messages' invisible time passes before the invocation.
        """
        loop = asyncio.get_running_loop()
        mapping, context = self.mapping, batches.build_context(self.mapping, self._environment)
        await self._check(context)
        began = loop.time()
        records: list[Record] = []
        rows = await self._service.run(batches.receive(mapping, mapping.batch_size, WAIT_SECONDS, context))
        try:
            if loop.time() - began > FRESH_SECONDS:
                await self._check(context)
            window = min(mapping.window_seconds, self._seconds_left(rows) / 2) if rows else 0
            deadline = loop.time() + window
            while rows:
                passed = await self._service.run(batches.build_records(mapping, rows, context))
                self._counts.count_polled(mapping.queue_arn, len(rows), len(rows) - len(passed))
                records += passed
                rows = []
                wanted, left = mapping.batch_size - len(records), deadline - loop.time()
                if wanted <= 0 or left <= 0 or sum(len(r.encoded) for r in records) >= event.MAX_BYTES:
                    break
                rows = await self._service.run(batches.receive(mapping, wanted, left, context))
        except BaseException:
            self._service.return_messages(mapping.queue, [*(r.row for r in records), *rows])
            raise
        return records

    async def _check(self, context: Context) -> None:
        """Raises AccessDenied or InvalidParameterValueException if the mapping must not continue."""
        await self._service.run(batches.check_rights(self.mapping, context))

    # --- invocations -------------------------------------------------------------------------------------------------
    async def _invoke(self, records: Sequence[Record]) -> None:
        """Invokes the target with a batch. If the target is a URL, the messages stay invisible during the invocation,
        for up to 15 minutes."""
        if not is_url(self.mapping.function_arn):
            await self._invoke_parts(records, None)
            return
        rows = [record.row for record in records]
        seconds = self._seconds_left(rows)
        if seconds <= 0:
            await self._miss()
            return
        async with Hold(self.mapping.queue, rows, seconds, self._service) as hold:
            await self._invoke_parts(records, hold)

    async def _invoke_parts(self, records: Sequence[Record], hold: Hold | None) -> None:
        """Invokes the target with several events, one after another, if a single event would exceed 6 MB."""
        failed_groups: set[str] = set()
        for part in event.split_events(records):
            rest = [r for r in part if not failed_groups or response.read_group(r.row) not in failed_groups]
            async with self._take_slot():
                done = await self._call(rest, hold) if rest else []
            if self.mapping.queue.is_fifo:
                kept = {row.message_id for row in done}
                failed_groups |= {response.read_group(r.row) for r in part if r.row.message_id not in kept}
            if hold is not None:
                hold.release(done)
            await self._delete(done)

    def _take_slot(self) -> AbstractAsyncContextManager[None]:
        return self._slots.take(self.mapping.account_id, self.mapping.mapping_id)

    async def _call(self, records: Sequence[Record], hold: Hold | None) -> list[ReceivedRow]:
        """Returns the messages that the target has handled."""
        mapping, rows, now_ms = self.mapping, [record.row for record in records], self._now_ms()
        seconds = self._seconds_left(rows) if hold is None else hold.seconds_left
        if seconds <= 0:
            await self._miss()
            return []
        began, oldest_seconds = perf_counter(), (now_ms - min(row.sent_at_ms for row in rows)) / 1000
        done = await self._invoke_target(rows, event.build_event(records), min(seconds, MAX_HOLD_SECONDS))
        self.invocations += 1
        self.failed_invocations += not done
        self._counts.count_invocation(
            mapping.queue_arn, len(rows), len(rows) - len(done), perf_counter() - began, oldest_seconds
        )
        return done

    def _seconds_left(self, rows: Sequence[ReceivedRow]) -> float:
        """Returns the number of seconds until the first message becomes visible again."""
        return (min(row.visible_at_ms for row in rows) - self._now_ms()) / 1000

    async def _invoke_target(self, rows: Sequence[ReceivedRow], payload: bytes, seconds: float) -> list[ReceivedRow]:
        """Returns the messages that the target reports as handled. Stores the result if it has changed."""
        mapping = self.mapping
        try:
            body = await self._invoker.invoke(
                mapping.function_arn, mapping.account_id, mapping.region, payload, seconds
            )
            failed: frozenset[str] = frozenset()
            if mapping.reports_items:
                failed = response.read_failed_ids(body, frozenset(row.message_id for row in rows))
        except (Failure, response.Malformed) as error:
            self._back_off.failed(throttled=isinstance(error, FunctionThrottled))
            self._log_cause(error.cause if isinstance(error, Failure) else "")
            await self._store_failures(rows, error.error if isinstance(error, Failure) else str(error))
            await self._note(f"PROBLEM: {error}")
            return []
        except Exception as error:  # noqa: BLE001 - otherwise all next batches would fail without a pause
            extra = {"mapping": str(mapping.mapping_id)}
            _log.error("invocation failed", exc_info=error, extra=extra)
            self._back_off.failed(throttled=True)
            await self._note("PROBLEM: the target was not invoked")
            return []
        self._back_off.record_success()
        self._log_cause("")
        await self._store_failures([row for row in rows if row.message_id in failed], REPORTED)
        await self._note(OK)
        return response.select_succeeded(rows, failed, fifo=mapping.queue.is_fifo)

    async def _store_failures(self, rows: Sequence[ReceivedRow], error: str) -> None:
        """Stores why messages failed. If the database does not answer, the messages have no failure, and the poller
        continues, because a failure is only information."""
        try:
            await self._service.run(batches.store_failures(self.mapping, rows, error))
        except AwsError as reason:
            extra = {"mapping": str(self.mapping.mapping_id), "cause": reason.message}
            _log.warning("the failures of messages were not stored", extra=extra)

    def _log_cause(self, cause: str) -> None:
        """Logs the first of several invocations in a row that do not reach the target. `cause` is empty if the worker
        reached the target."""
        if cause and not self._is_unreached:
            extra = {"mapping": str(self.mapping.mapping_id), "cause": cause}
            _log.warning("the target of a mapping cannot be reached", extra=extra)
        self._is_unreached = bool(cause)

    async def _delete(self, rows: list[ReceivedRow]) -> None:
        """Deletes the messages. If the poller cannot reach the database, retries until the messages are visible again.

        The poller retries for at least the time by which a `Hold` may have prolonged the timeout.
        """
        held_until_ms = self._now_ms() + SHORTEST_RENEWAL_SECONDS * 1000
        while rows:
            try:
                await self._service.run(batches.delete_messages(self.mapping, rows))
                self._counts.count_handled(self.mapping.queue_arn, len(rows))
            except ServiceUnavailable:
                if max(held_until_ms, *(row.visible_at_ms for row in rows)) < self._now_ms():
                    return
                await asyncio.sleep(DELETE_PAUSE_SECONDS)
            except QueueDoesNotExist:
                return
            else:
                return

    async def _miss(self) -> None:
        """Drops messages that are visible again, because such messages no longer belong to the batch."""
        self._back_off.failed(throttled=True)
        await self._note(TOO_LATE)

    # --- results -----------------------------------------------------------------------------------------------------
    async def _note(self, result: str) -> None:
        """Stores the result if it has changed.

        Only one invocation stores its result at a time, because the newest result could otherwise reach the database
        before an older result. That invocation also stores the results that other invocations note in the meantime.
        """
        self._last_result = result
        if self._is_storing:
            return
        self._is_storing = True
        try:
            while self._stored_result != (newest := self._last_result):
                if not await self._report(newest, None):
                    self._stored_result = ""  # the next batch then stores its result even if it is the same
                    break
                self._stored_result = newest
        finally:
            self._is_storing = False


FIRST_SECONDS: Final = 0.1
MAX_BACKOFF_SECONDS: Final = 30.0
"""The longest pause. A target that does not respond receives two calls a minute."""
FIRST_THROTTLED_SECONDS: Final = 1.0


class BackOff:
    """The pause before the next batch, which `seconds` returns. Each failure doubles the pause, and a success resets
    the pause to 0."""

    def __init__(self) -> None:
        self._failures = 0
        self._first_seconds = 0.0

    def record_success(self) -> None:
        """Resets the pause after the target accepted a batch."""
        self._failures = 0

    def failed(self, *, throttled: bool) -> None:
        """Counts a failure. `throttled` means that the target had no capacity or could not be reached."""
        self._failures += 1
        self._first_seconds = FIRST_THROTTLED_SECONDS if throttled else FIRST_SECONDS

    @property
    def seconds(self) -> float:
        """Returns the current pause, or 0 without a failure."""
        if not self._failures:
            return 0.0
        return float(min(MAX_BACKOFF_SECONDS, self._first_seconds * 2 ** min(self._failures - 1, 20)))
