"""Reads minutes and facts of queues, and computes verdicts from them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal, NamedTuple

from penstock.effects import Call, Compute, Operation
from penstock.postgres.database import Database
from penstock.postgres.statements.metrics import READ_MINUTES, READ_VERDICT_FACTS, MinuteRow, VerdictFactsRow
from penstock.postgres.statements.queues import LIST_QUEUES
from penstock.settings import Settings
from penstock.verdicts import (
    TARGET_LAG_SECONDS,
    Cause,
    Facts,
    Gauges,
    Kind,
    Minute,
    Verdict,
    is_asking_for_more,
    judge,
)
from penstock.verdicts.series import MINUTE, SETTLE

RECENT: Final = timedelta(hours=2)
"""The length of history that suffices for most verdicts."""
KEPT: Final = timedelta(hours=25)
"""How long the database keeps minutes."""
QUEUES_PER_READ: Final = {RECENT: 60, KEPT: 5}
"""The number of queues per read, by length of history."""
MAX_HISTORIES: Final = 20
"""The number of queues, worst first, for which the complete history is read. These histories have 30,000 rows."""
ORDER: Final = {kind: place for place, kind in enumerate(Kind)}
"""The kinds, worst first. Equally severe queues with equal backlogs have this order."""
Level = Literal["bad", "warn", "info"]
LEVELS: Final[tuple[Level, ...]] = ("bad", "warn", "info")
QUEUE_LEVELS: Final[dict[Kind, Level]] = {
    Kind.STALLED: "bad",
    Kind.THROTTLED: "bad",
    Kind.POISONED: "bad",
    Kind.FALLING_BEHIND: "warn",
    Kind.DEAD_LETTERS: "warn",
}
"""The verdicts that need attention, and their usual levels (find_level)."""
MANY_DEAD_LETTERS: Final = 100
"""The number of waiting dead letters from which a dead-letter queue is as severe as one that still receives them."""
NEAR_SHARE: Final = 0.2
"""The last part of the retention period in which the loss of a message is near."""
MAX_NEAR: Final = timedelta(days=1)
"""The longest time before the loss of a message in which a queue needs attention for it."""
QUEUES_PER_PAGE: Final = 200
Histories = Mapping[int, Sequence[Minute]]


def list_queue_names(database: Database, settings: Settings) -> Iterator[list[str]]:
    """Yields the names of all queues of the account QUEUE_ACCOUNT_ID in order, QUEUES_PER_PAGE at a time."""
    after: str | None = None
    place = (settings.queue_account_id, settings.queue_region)
    while rows := database.call(LIST_QUEUES, (*place, None, after, QUEUES_PER_PAGE)):
        yield [row.name for row in rows]
        after = rows[-1].name


class Observed(NamedTuple):
    """A queue with its last measurement, its known minutes from the oldest to the newest, and its verdict."""

    facts: VerdictFactsRow
    minutes: Sequence[Minute]
    verdict: Verdict

    def total(self, name: str, length: timedelta) -> int:
        """Sums a column, such as `sent`, over the minutes that began in the last `length`."""
        since = self.facts.read_at - length
        return sum(getattr(minute, name) for minute in self.minutes if minute.starts_at >= since)

    @property
    def messages(self) -> int:
        """Returns the number of messages that are visible, in flight or delayed."""
        facts = self.facts
        known = (facts.visible, facts.in_flight, facts.delayed)
        return self.verdict.backlog if facts.visible is None else sum(number or 0 for number in known)

    @property
    def kind(self) -> str | None:
        """Returns the verdict's kind, or None for a queue without known facts."""
        is_known = self.facts.measured_at is not None or bool(self.minutes)
        return self.verdict.kind.value if is_known else None

    @property
    def arrival_rate(self) -> float | None:
        """Returns messages per second, or None before the first full minute."""
        return self.verdict.arrival_rate if self._has_full_minute else None

    @property
    def drain_rate(self) -> float | None:
        """Returns deleted and dead-lettered messages per second, or None before the first full minute."""
        return self.verdict.drain_rate if self._has_full_minute else None

    @property
    def _has_full_minute(self) -> bool:
        if not self.minutes:  # The queue had no events.
            return self.facts.measured_at is not None
        return self.minutes[0].starts_at + MINUTE + SETTLE <= self.facts.read_at

    @property
    def last_received_at(self) -> datetime | None:
        """Returns when a consumer last received a message, or None if the known minutes contain no receive."""
        return max((m.last_received_at for m in self.minutes if m.last_received_at is not None), default=None)


def read_verdicts(arns: Sequence[str], in_flight_limit: int, target_lag_seconds: int) -> Operation[dict[str, Verdict]]:
    """Returns the verdicts on existing queues by ARN.

    `in_flight_limit` is the setting QUEUE_IN_FLIGHT_LIMIT; 0 means no limit.
    """
    found = yield from observe(arns, in_flight_limit, target_lag_seconds)
    return {arn: queue.verdict for arn, queue in found.items()}


def observe(
    arns: Sequence[str],
    in_flight_limit: int,
    target_lag_seconds: int = TARGET_LAG_SECONDS,
    histories: int = MAX_HISTORIES,
) -> Operation[dict[str, Observed]]:
    """Returns the existing queues by ARN, with minutes of the last two hours. Reads the complete history of up to
    `histories` queues.
    """
    give = partial(_observe, in_flight_limit=in_flight_limit, target_lag_seconds=target_lag_seconds)
    found: dict[str, Observed] = {}
    for part in split_parts(arns, RECENT):
        facts = yield from Call(READ_VERDICT_FACTS, (part,))
        found |= yield from _read_minutes(facts, RECENT, give)
    asking = ask_for_more({arn: queue.verdict for arn, queue in found.items()})
    for part in split_parts(asking[:histories], KEPT):
        found |= yield from _read_minutes([found[arn].facts for arn in part], KEPT, give)
    return found


def _read_minutes(
    facts: Sequence[VerdictFactsRow], length: timedelta, give: Callable[..., dict[str, Observed]]
) -> Operation[dict[str, Observed]]:
    if not facts:
        return {}
    numbered = [row._replace(n=place) for place, row in enumerate(facts, 1)]
    arns = [row.arn for row in numbered]
    rows = yield from Call(READ_MINUTES, (arns, *find_span_before(facts[0].read_at, length)))
    return (yield from Compute(partial(give, numbered, rows)))


def _observe(
    facts: Sequence[VerdictFactsRow], rows: Sequence[MinuteRow], in_flight_limit: int, target_lag_seconds: int
) -> dict[str, Observed]:
    histories = group_by_queue(rows)
    verdicts = dict(compute_each_verdict(facts, histories, in_flight_limit, target_lag_seconds))
    return {row.arn: Observed(row, histories.get(row.n, ()), verdicts[row.arn]) for row in facts}


def split_parts(arns: Sequence[str], length: timedelta) -> Iterator[list[str]]:
    """Yields groups of queues to read together. A group has about 7,000 rows, which take ten milliseconds to
    decode."""
    size = QUEUES_PER_READ[length]
    for start in range(0, len(arns), size):
        yield list(arns[start : start + size])


def find_span_before(now: datetime, length: timedelta) -> tuple[datetime, datetime]:
    """Returns the start and the end of the minutes before now, including the current minute."""
    minute = now.replace(second=0, microsecond=0)
    return minute - length, minute + timedelta(minutes=1)


def compute_each_verdict(
    facts: Iterable[VerdictFactsRow], histories: Histories, in_flight_limit: int, target_lag_seconds: int
) -> Iterator[tuple[str, Verdict]]:
    """Yields each queue's ARN and verdict. A verdict takes at most a few milliseconds."""
    for row in facts:
        known = read_facts(row, in_flight_limit)
        yield row.arn, judge(histories.get(row.n, ()), known, row.read_at, target_lag_seconds)


def group_by_queue(rows: Iterable[MinuteRow]) -> Histories:
    """Returns the minutes of each queue, by the queue's number."""
    found: dict[int, list[Minute]] = {}
    for row in rows:
        found.setdefault(row.n, []).append(read_minute(row))
    return found


def read_minute(row: MinuteRow) -> Minute:
    return Minute(
        row.starts_at,
        row.sent,
        row.received,
        row.redelivered,
        row.deleted,
        row.dead_lettered,
        row.visible,
        row.in_flight,
        row.delayed,
        row.oldest_at,
        row.last_received_at,
        row.expired,
    )


def read_facts(row: VerdictFactsRow, in_flight_limit: int) -> Facts:
    gauges = None
    if row.measured_at is not None and row.visible is not None and row.in_flight is not None:
        gauges = Gauges(row.measured_at, row.visible, row.in_flight, row.delayed or 0, row.oldest_at)
    return Facts(
        fifo=row.fifo,
        visibility_timeout=timedelta(seconds=row.visibility_timeout_seconds),
        in_flight_limit=in_flight_limit or None,
        dead_letters=row.dead_letters,
        noisy_groups=row.noisy_groups,
        top_group_share=row.top_group_share,
        paused_endpoints=row.paused_endpoints,
        paused=row.paused,
        stopped_mapping=row.stopped_mapping or "",
        failing_since=row.failing_since,
        failing_result=row.failing_result or "",
        now=gauges,
    )


def ask_for_more(verdicts: Mapping[str, Verdict]) -> list[str]:
    """Returns the ARNs of the queues that need the complete history, worst first.

    Queues that have long been in one state come last, because more history would not change the verdict.
    """
    asking = [arn for arn, verdict in verdicts.items() if is_asking_for_more(verdict)]
    return sorted(asking, key=lambda arn: (verdicts[arn].since_or_before, rank_badness(verdicts[arn])))[:MAX_HISTORIES]


def find_level(verdict: Verdict) -> Level | None:
    """Returns how severe a verdict is, for all pages and alerts, or None if the verdict needs no attention.

    A queue with many dead letters, or that still receives dead letters, is bad. A queue that a user paused is a
    warning.
    """
    if verdict.kind is Kind.DEAD_LETTERS:
        return rate_dead_letters(verdict)
    return "warn" if verdict.cause is Cause.QUEUE_PAUSED else QUEUE_LEVELS.get(verdict.kind)


def rate_dead_letters(verdict: Verdict) -> Level:
    is_bad = bool(verdict.arrival_rate) or verdict.backlog >= MANY_DEAD_LETTERS
    return "bad" if is_bad else QUEUE_LEVELS[Kind.DEAD_LETTERS]


def rank_badness(verdict: Verdict) -> tuple[int, int, int]:
    """Returns the sort key of lists of queues, as of concerns: the most severe first, then the largest
    backlog. Queues that need no attention follow in the order of their kinds.
    """
    level = find_level(verdict)
    if level is None:
        return len(LEVELS) + ORDER[verdict.kind], -verdict.backlog, 0
    return LEVELS.index(level), -verdict.backlog, ORDER[verdict.kind]


def find_near_loss(facts: VerdictFactsRow) -> datetime | None:
    """Returns since when the loss of a queue's first message is near, or None if it is not near."""
    if facts.expires_at is None or not (facts.visible or facts.in_flight or facts.delayed):
        return None
    near_at = facts.expires_at - min(NEAR_SHARE * timedelta(seconds=facts.retention_seconds), MAX_NEAR)
    return near_at if near_at <= facts.read_at else None
