"""Applies the rules of verdicts in order. The first rule that applies decides the verdict. See
docs/reference/verdicts.md."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from . import backlog, poison, stalls
from .causes import describe_cause, describe_growth, find_cause_of_growth
from .consumers import estimate_consumers
from .drain import estimate_emptying, measure_flow
from .rates import Rates, measure_rates
from .series import MINUTE, Series, build_series
from .types import Cause, Emptying, Facts, Kind, Minute, Verdict

TARGET_LAG_SECONDS: Final = 300
IDLE_MINUTES: Final = 5
"""The time without activity after which an empty queue is idle."""
LIMIT_SHARE: Final = 0.95
"""The fraction of the in-flight limit from which receives return fewer messages than they could."""
STANDING_MINUTES: Final = 3
"""The minimum age of a backlog that counts. A younger backlog may be a batch that has just arrived."""
BATCH_SHARE: Final = 0.5
"""The minimum fraction of minutes without sends in a queue whose producers send in batches. In a queue whose consumers
receive in batches, messages wait without a receive in at least the same fraction of minutes."""
ARRIVING_MINUTES: Final = 5
"""If no message arrived in this time, arrivals are not the cause of a backlog."""
BATCHES_TO_KNOW: Final = 3
"""The number of similar backlogs that consumers must have processed before a backlog does not count."""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """The result of a rule that applies. `start` is the index of the state's first minute, or a time."""

    kind: Kind
    start: int | datetime | None = None
    cause: Cause | None = None
    before_first_minute: bool = False
    empties: Emptying | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """The input of the rules."""

    series: Series
    facts: Facts
    rates: Rates
    now: datetime

    @property
    def visible(self) -> int:
        """Returns the number of messages that consumers can receive now."""
        return self.series.now.visible


def judge(
    minutes: Sequence[Minute], facts: Facts, now: datetime, target_lag_seconds: int = TARGET_LAG_SECONDS
) -> Verdict:
    """Returns the verdict on a queue. `minutes` covers up to 25 hours, newest last. `now` has a time zone."""
    now = now.astimezone(UTC)
    series = build_series(minutes, facts, now)
    case = Case(series, facts, measure_rates(series), now)
    found = next(found for rule in RULES if (found := rule(case)) is not None)
    consumers = estimate_consumers(series, case.rates, case.visible, target_lag_seconds)
    verdict = Verdict(
        found.kind,
        cause=found.cause,
        cause_text=describe_cause(found.cause, facts) or describe_backlog(found.kind, case),
        empties=found.empties,
        arrival_rate=case.rates.arrivals,
        drain_rate=case.rates.drain,
        rate_minutes=case.rates.minutes,
        backlog=case.visible,
        seconds_since_receive=count_seconds_since_receive(series, now),
        consumers_now=consumers.now,
        consumers_needed=consumers.needed,
        target_lag_seconds=target_lag_seconds,
        expired=sum(series.expired[-RECENT_MINUTES:]),
        expiring_since=find_loss(series),
        is_received=any(series.received[-RECENT_MINUTES:]),
    )
    return add_start(verdict, found, series)


def describe_backlog(kind: Kind, case: Case) -> str:
    """Returns the rates of a queue that falls behind, and their window. Returns an empty string for other queues."""
    if kind is not Kind.FALLING_BEHIND:
        return ""
    minutes, series = case.rates.minutes, case.series
    return describe_growth(sum(series.sent[-minutes:]), sum(series.left[-minutes:]), minutes)


def is_asking_for_more(verdict: Verdict) -> bool:
    """Returns whether older minutes may change the verdict, because older minutes show the usual behaviour and the
    start of the state."""
    return verdict.kind in (Kind.STALLED, Kind.FALLING_BEHIND, Kind.DRAINING) or verdict.since_or_before


def add_start(verdict: Verdict, found: RuleFinding, series: Series) -> Verdict:
    """Returns the verdict with the time at which its state began."""
    if isinstance(found.start, int):
        earlier = found.start <= 0 and len(series) > 0
        return replace(verdict, since=series.find_start(max(0, found.start)), since_or_before=earlier)
    return replace(verdict, since=found.start, since_or_before=found.before_first_minute)


def count_seconds_since_receive(series: Series, now: datetime) -> float | None:
    """Returns the number of seconds since the last receive, or None if no receive is known."""
    if series.last_received_at is None:
        return None
    return max(0.0, (now - series.last_received_at).total_seconds())


# --- rules -----------------------------------------------------------------------------------------------------------
def find_throttling(case: Case) -> RuleFinding | None:
    """Finds consumers that the in-flight limit slows down."""
    series, limit = case.series, case.facts.in_flight_limit
    if case.facts.paused and case.visible > 0:
        return RuleFinding(Kind.THROTTLED, cause=Cause.QUEUE_PAUSED)
    if limit is not None and case.visible > 0 and series.now.in_flight >= LIMIT_SHARE * limit:
        values = series.in_flight
        first = next((i + 1 for i in range(len(values) - 1, -1, -1) if values[i] < LIMIT_SHARE * limit), 0)
        return RuleFinding(Kind.THROTTLED, first, Cause.IN_FLIGHT_LIMIT)
    if case.facts.paused_endpoints and any(series.sent[-RECENT_MINUTES:]):
        return RuleFinding(Kind.THROTTLED, find_first(series.sent), Cause.ENDPOINT_DOWN)
    return None


RECENT_MINUTES: Final = 15


def find_loss(series: Series) -> datetime | None:
    """Returns when messages of the queue began to expire, or None if no message expired recently."""
    return series.find_start(find_first(series.expired)) if any(series.expired[-RECENT_MINUTES:]) else None


def find_first(counts: Sequence[int]) -> int:
    """Returns the index of the first minute in a run of minutes with events, with gaps of at most RECENT_MINUTES."""
    first = len(counts)
    for index in range(len(counts) - 1, -1, -1):
        if counts[index]:
            first = index
        elif first - index > RECENT_MINUTES:
            break
    return first


def find_stall(case: Case) -> RuleFinding | None:
    """Finds messages that wait unusually long without a receive. The rule does not apply to dead letters."""
    wait = stalls.find_waiting(case.series, case.facts, case.now)
    if wait is None or case.now - wait.since < wait.patience:
        return None
    if case.facts.dead_letters and not any(case.series.received[-DEAD_LETTER_MINUTES:]):
        return None
    cause = Cause.MAPPING_STOPPED if case.facts.stopped_mapping else Cause.NOBODY_RECEIVES
    return RuleFinding(Kind.STALLED, wait.since, cause, wait.before_first_minute)


DEAD_LETTER_MINUTES: Final = 120
"""The time in which a receive must have happened for a dead-letter queue to count as consumed."""


FAILING: Final = timedelta(minutes=5)
"""How long a function must fail before a queue counts as poisoned whose messages others still delete."""
FAILING_ALONE: Final = timedelta(seconds=10)
"""How long the only receiver must fail. A mapping needs attention after the same time (queue.read_late_work). Single
failures do not count, because the service retries invocations."""


def find_function_failure(case: Case) -> RuleFinding | None:
    """Finds a function whose invocations have all failed while messages wait for it."""
    since, now = case.facts.failing_since, case.series.now
    if since is None or not (now.visible or now.in_flight):
        return None
    if case.now - since < (FAILING if do_others_delete(case.series, since) else FAILING_ALONE):
        return None
    return RuleFinding(Kind.POISONED, since, Cause.FUNCTION_FAILS)


def do_others_delete(series: Series, since: datetime) -> bool:
    """Returns whether consumers other than a function that fails deleted messages after `since`. The function may have
    deleted messages earlier in the minute of `since`, so this minute does not count.
    """
    for index in range(len(series) - 1, -1, -1):
        if series.find_start(index) <= since:
            return False
        if series.left[index] > series.dead_lettered[index]:
            return True
    return False


def find_poison(case: Case) -> RuleFinding | None:
    """Finds messages that consumers receive again and again, but never delete."""
    if not poison.is_poisoned(case.series, case.facts, case.rates.drain, case.now):
        return None
    cause = Cause.HANDLERS_FAIL if poison.do_handlers_fail(case.series) else Cause.POISON_GROUP
    return RuleFinding(Kind.POISONED, poison.start_of_redeliveries(case.series), cause, empties=_find_emptying(case))


def find_dead_letters(case: Case) -> RuleFinding | None:
    """Finds messages in a dead-letter queue, even if a consumer has just received them all. The state begins with the
    arrival of the oldest message."""
    now = case.series.now
    if not case.facts.dead_letters or not (now.visible or now.in_flight or now.delayed):
        return None
    return RuleFinding(Kind.DEAD_LETTERS, case.series.now.oldest_at, Cause.DEAD_LETTERS_WAIT)


def find_backlog(case: Case) -> RuleFinding | None:
    """Finds a backlog. If the backlog grows or is constant, the queue falls behind, and if the backlog shrinks, the
    queue drains."""
    series = case.series
    if not backlog.has_backlog(case.visible, case.rates.drain):
        return None
    trend = backlog.fit_trend(series)
    if trend == 0 and case.visible < backlog.STANDING_SECONDS * case.rates.drain:
        return None
    if trend < 0:
        return RuleFinding(Kind.DRAINING, backlog.start_of_draining(series), empties=_find_emptying(case))
    if backlog.count_backlog_minutes(series, case.rates.drain) < STANDING_MINUTES or can_cope_with(series):
        return None
    start = backlog.start_of_growth(series)
    cause = find_cause_of_growth(series, start, case.facts)
    if cause is Cause.ARRIVALS_ROSE and not any(series.sent[-ARRIVING_MINUTES:]):
        cause = None  # The messages arrived earlier, and the chart shows that none arrives now.
    return RuleFinding(Kind.FALLING_BEHIND, start, cause, empties=_find_emptying(case))


def can_cope_with(series: Series) -> bool:
    """Returns whether the consumers have processed a backlog of this size several times, in a queue with batches of
    sends or receives."""
    rests = [
        sum(1 for count in series.sent if not count),
        sum(1 for visible, count in zip(series.visible, series.received, strict=True) if visible and not count),
    ]
    if max(rests) < BATCH_SHARE * len(series):
        return False
    peaks: list[int] = []
    peak = 0
    for visible in series.visible:
        if visible < backlog.LEAST_BACKLOG and peak:
            peaks.append(peak)
            peak = 0
        elif visible >= backlog.LEAST_BACKLOG:
            peak = max(peak, visible)
    coped = sorted(peaks, reverse=True)[BATCHES_TO_KNOW - 1 : BATCHES_TO_KNOW]
    return bool(coped) and series.visible[-1] <= 1.2 * coped[0]


def _find_emptying(case: Case) -> Emptying | None:
    series = case.series
    if not backlog.has_backlog(case.visible, case.rates.drain):
        return None
    return estimate_emptying(case.visible, measure_flow(series, backlog.start_of_draining(series)), case.now)


def find_idleness(case: Case) -> RuleFinding | None:
    """Finds an empty queue without activity for some minutes."""
    series = case.series
    busy = [index for index in range(len(series)) if series.sent[index] or series.received[index] or series.left[index]]
    last = busy[-1] + 1 if busy else 0
    if len(series) - last < IDLE_MINUTES and len(series) > 0:
        return None
    if series.now.visible or series.now.in_flight:
        return None
    received = series.last_received_at
    if received is not None and case.now - received < IDLE_MINUTES * MINUTE:
        return None
    return RuleFinding(Kind.IDLE, last if busy else None)


def find_ok(case: Case) -> RuleFinding:
    """Returns the default finding, which is that consumers have kept up since the last minute with a backlog."""
    values = case.series.visible
    for index in range(len(values) - 1, -1, -1):
        if backlog.has_backlog(values[index], case.rates.drain):
            return RuleFinding(Kind.OK, index + 1)
    return RuleFinding(Kind.OK)


RULES: Final = (
    find_throttling,
    find_function_failure,
    find_stall,
    find_poison,
    find_dead_letters,
    find_backlog,
    find_idleness,
    find_ok,
)
