"""Plans which occurrences of a due schedule fire now, and which occurrence is next.

    catchup false           The plan fires occurrences that are late by up to QUEUE_SCHEDULE_MISFIRE_GRACE_SECONDS,
                            and skips occurrences that are later.
    catchup true            The plan fires missed occurrences in order, up to catchup_limit, and skips and counts the
                            other occurrences.
    EventBridge Scheduler   The plan fires occurrences younger than MaximumEventAgeInSeconds.
    one-shots               The plan always fires a one-shot, unless it belongs to EventBridge Scheduler.

If a schedule has jitter or a flexible window, an occurrence waits up to `window_seconds`, and is late only after this
time. The functions do not read a clock: `now` is the database's time.
"""

from collections.abc import Sized
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from penstock.postgres.statements.firing import ClaimedScheduleRow
from penstock.scheduler.expressions.expression import read_stored

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_AT_ONCE: Final = 100
"""The maximum number of a schedule's occurrences that one transaction fires, unless catchup_limit is larger. The next
transaction fires the remaining occurrences."""
MAX_COUNTED: Final = 10_000
"""The maximum number of skipped occurrences that a transaction counts. Each skipped occurrence costs a few
microseconds."""


class Plan(NamedTuple):
    """The occurrences to fire, and the next occurrence.

    `note` says how many occurrences the plan skips, and why. The note becomes the schedule's last_error, and the error
    of the run at `skipped_at`, the first skipped occurrence.
    """

    times: list[datetime]
    next_fire_at: datetime | None
    note: str | None = None
    skipped_at: datetime | None = None


class NextOccurrence(Protocol):
    """Returns the first occurrence after an instant."""

    def __call__(self, instant: datetime, /) -> datetime | None: ...


def plan(due: ClaimedScheduleRow, grace_seconds: int) -> Plan:
    """Plans the occurrences that fire now.

    An occurrence that is at most `window_seconds` old can be due later in its window. A later transaction plans an
    occurrence that is due later.
    """
    following = plan_occurrences(due)
    if due.next_fire_at > due.now:  # the database's clock went back (queue.rewind_schedules)
        return Plan([], following(due.now))
    due_until = due.now - timedelta(seconds=due.window_seconds)
    if due.api == "rest" and due.expression_kind == "fire_at":
        return Plan([due.next_fire_at], None)
    if due.api == "rest" and due.catchup:
        return catch_up(due, following, due_until)
    late = due.max_age_seconds if due.api == "aws" else grace_seconds
    return take_recent(due, following, due_until, due_until - timedelta(seconds=late))


def plan_occurrences(due: ClaimedScheduleRow) -> NextOccurrence:
    """Returns the occurrences of a schedule, up to its end."""
    expression = read_stored(due.expression_kind, due.canonical, due.canonical, due.timezone)

    def following(instant: datetime) -> datetime | None:
        found = expression.next_after(instant, due.anchor_at)
        return None if found is None or (due.end_at is not None and found > due.end_at) else found

    return following


def catch_up(due: ClaimedScheduleRow, following: NextOccurrence, due_until: datetime) -> Plan:
    """Plans a schedule that catches up. The oldest occurrences up to the limit fire, and the next future occurrence
    follows."""
    rest = list_missed(due.next_fire_at, following, due_until)
    times = [due.next_fire_at, *islice(rest, max(0, due.catchup_limit - 1))]
    skipped = list(islice(rest, MAX_COUNTED))
    if not skipped:
        return Plan(times, following(times[-1]))
    note = f"catchup_limit_exceeded: {describe_skipped(skipped)} fires skipped"
    return Plan(times, following(max(due_until, skipped[-1])), note, skipped[0])


def describe_skipped(skipped: Sized) -> str:
    """Returns the number of skipped occurrences, up to MAX_COUNTED."""
    return f"{len(skipped)}" if len(skipped) < MAX_COUNTED else f"at least {MAX_COUNTED}"


def take_recent(due: ClaimedScheduleRow, following: NextOccurrence, due_until: datetime, oldest: datetime) -> Plan:
    """Plans a schedule that does not catch up. Occurrences from `oldest` on fire, up to MAX_AT_ONCE."""
    if due.next_fire_at < oldest:
        until = oldest - timedelta(microseconds=1)
        skipped = [due.next_fire_at, *islice(list_missed(due.next_fire_at, following, until), MAX_COUNTED - 1)]
        seconds = int((due_until - oldest).total_seconds())
        note = f"missed: {describe_skipped(skipped)} fires skipped, which were more than {seconds} s late"
        return Plan([], following(until), note, due.next_fire_at)
    times = [due.next_fire_at, *islice(list_missed(due.next_fire_at, following, due_until), MAX_AT_ONCE - 1)]
    return Plan(times, following(times[-1]))


def list_missed(after: datetime, following: NextOccurrence, due_until: datetime) -> "Iterator[datetime]":
    """Returns the occurrences after the instant `after`, up to `due_until`."""
    while (found := following(after)) is not None and found <= due_until:
        yield found
        after = found
