"""Finds what needs attention, for `penstock status`, the console, the report, the REST API and alerts.

A queue needs attention because of its verdict, because it has dead letters, or because messages reach the end of the
queue's retention, or soon will. An endpoint needs attention if deliveries to it were given up, if it is paused, or if
no attempt has succeeded for some minutes. Schedules and deliveries need attention if they are late, a schedule also if
it fails, a mapping if its invocations fail or the service stopped it, a subscriber of an event bus if it lags, if it is
stopped, if its target refuses events or if it drops them, and the database if a transaction or a snapshot is old.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from penstock.access.authorization import is_user_allowed
from penstock.access.resources import ANY
from penstock.context import Context
from penstock.documents.console_pages import ConsolePage
from penstock.effects import Call, Operation
from penstock.management.alerts.mutes import Mutes, find_muted_until, read_mutes
from penstock.management.metrics.views import to_utc
from penstock.management.rights import build_schedule_arn, needs
from penstock.management.verdicts import (
    LEVELS,
    QUEUE_LEVELS,
    Level,
    Observed,
    find_level,
    find_near_loss,
    observe,
    rank_badness,
    rate_dead_letters,
)
from penstock.postgres.statements.deliveries import LIST_FAILED_ENDPOINTS
from penstock.postgres.statements.metrics import READ_LATE_WORK, VerdictFactsRow
from penstock.postgres.statements.queues import READ_OVERVIEW, OverviewRow
from penstock.settings import Settings
from penstock.verdicts import Cause, Kind, Verdict
from penstock.verdicts.words import name_state

from .concerns import (
    EXPIRE,
    FAILING_SECONDS,
    LATE_SECONDS,
    MAPPING_FAILS,
    MAPPING_STOPPED,
    MAX_COUNTED,
    OLD_SECONDS,
    OLD_SNAPSHOT,
    OLD_TRANSACTION,
    OLD_TRANSACTIONS,
    SCHEDULE_FAILS,
    SCHEDULE_PAUSED,
    SCHEDULES_LATE,
    SUBSCRIBER_KINDS,
    Concern,
    Included,
    describe_endpoints,
    describe_late_work,
)

HEALTHY: Final = frozenset({Kind.OK, Kind.IDLE})
MAX_QUEUES: Final = 200
"""At most this many queues receive a verdict: those with most messages, an early expiry, dead letters or failures."""
HOUR: Final = timedelta(hours=1)
PAGES_OF_CAUSES: Final[dict[Cause, ConsolePage]] = {
    Cause.ENDPOINT_DOWN: ConsolePage.DELIVERIES,
    Cause.MAPPING_STOPPED: ConsolePage.MAPPINGS_OF_QUEUE,
    Cause.FUNCTION_FAILS: ConsolePage.MAPPINGS_OF_QUEUE,
    Cause.POISON_GROUP: ConsolePage.RETURNING_MESSAGES,
    Cause.HANDLERS_FAIL: ConsolePage.RETURNING_MESSAGES,
}
"""The page on which a user can mend a cause. The page of the queue is right for other causes."""
MAPPING_CAUSES: Final = frozenset({Cause.MAPPING_STOPPED, Cause.FUNCTION_FAILS})


class Attention(Struct):
    """The concerns in one region, and the number of all queues. The most severe concerns come first."""

    queues: int
    concerns: list[Concern]


class JudgedQueue(NamedTuple):
    """A queue with its verdict, and the number of messages that entered it in the last hour. `seen` contains only the
    first known minute, so that a list of many queues stays small.
    """

    row: OverviewRow
    seen: Observed
    arrived: int


class Judged(NamedTuple):
    """`total` covers all queues of the account. `queues` contains the queues that may need attention, the worst
    first.
    """

    total: OverviewRow
    queues: Sequence[JudgedQueue]


@needs("account", "sqs:ListQueues", "penstock:GetLag", "penstock:ListDeliveries")
def read_attention(context: Context) -> Operation[Attention]:
    """Returns what needs attention, without what the caller may not read."""
    judged = yield from read_judged(context)
    others = yield from read_other_concerns(context)
    found = find_concerns(judged.queues, others)
    return Attention(judged.total.queues or 0, mark_muted(found, (yield from read_mutes(context))))


def mark_muted(concerns: Iterable[Concern], mutes: Mutes) -> list[Concern]:
    """Returns the concerns with the ends of their mutes."""
    return [replace(one, muted_until=find_muted_until(mutes, one.kind, one.name)) for one in concerns]


@needs("account", "sqs:ListQueues", "penstock:GetLag")
def read_judged(context: Context) -> Operation[Judged]:
    """Returns the verdicts on the 200 queues that may need attention."""
    total, *rows = yield from Call(READ_OVERVIEW, (context.account_id, context.region, MAX_QUEUES // 5))
    limit = context.environment.settings.queue_in_flight_limit
    found = yield from observe([row.arn or "" for row in rows], limit)
    queues = [judge_queue(row, found[row.arn]) for row in rows if row.arn in found]
    return Judged(total, sorted(queues, key=lambda queue: (*rank_badness(queue.seen.verdict), queue.row.name)))


@needs("account", "penstock:ListDeliveries")
def read_other_concerns(context: Context) -> Operation[list[Concern]]:
    """Returns the concerns besides queues, without those that the caller may not read."""
    settings = context.environment.settings
    return (yield from collect_other_concerns(context.account_id, context.region, find_hidden(context), settings))


def collect_other_concerns(
    account_id: str, region: str, hidden: Collection[str] = frozenset(), settings: Settings | None = None
) -> Operation[list[Concern]]:
    """Returns the concerns about endpoints, schedules, mappings and the database, without the kinds in `hidden`."""
    rows = yield from Call(LIST_FAILED_ENDPOINTS, (account_id, MAX_COUNTED, FAILING_SECONDS))
    limits = (MAX_COUNTED, LATE_SECONDS, OLD_SECONDS, OLD_TRANSACTIONS)
    late = yield from Call(READ_LATE_WORK, (account_id, region, *limits))
    return [*describe_endpoints(rows), *(describe_late_work(row, settings) for row in late if row.kind not in hidden)]


def find_hidden(context: Context) -> frozenset[str]:
    """Returns the kinds of concerns that the caller's policies do not show."""
    hidden: list[str] = []
    arn = build_schedule_arn(ANY, context)
    if not all(is_user_allowed("scheduler", action, arn, context) for action in ("ListSchedules", "GetSchedule")):
        hidden += SCHEDULES_LATE, SCHEDULE_FAILS, SCHEDULE_PAUSED
    if not all(is_user_allowed("lambda", f"List{what}", ANY, context) for what in ("EventSourceMappings", "Tags")):
        hidden += MAPPING_FAILS, MAPPING_STOPPED
    if not is_user_allowed("events", "ListSubscribers", ANY, context):
        hidden += SUBSCRIBER_KINDS
    if not is_user_allowed("penstock", "GetMetrics", ANY, context):
        hidden += OLD_TRANSACTION, OLD_SNAPSHOT
    return frozenset(hidden)


def judge_queue(row: OverviewRow, seen: Observed) -> JudgedQueue:
    return JudgedQueue(row, seen._replace(minutes=seen.minutes[:1]), seen.total("sent", HOUR))


def find_concerns(queues: Iterable[JudgedQueue], others: Iterable[Concern] = ()) -> list[Concern]:
    """Returns the concerns about these queues, and the others. The most severe come first. Among equally severe
    concerns, the worst of each kind comes first, so many concerns of one kind do not hide the other kinds. Among those,
    and among the rest, the concern with the most messages, deliveries or failures comes first.
    """
    ranked = sorted(queues, key=lambda queue: (*rank_badness(queue.seen.verdict), queue.row.name))
    found = [concern for queue in ranked for concern in describe_queue(queue)]
    losses = (describe_loss(queue.row.name or "", queue.seen.verdict, queue.seen.facts) for queue in ranked)
    found += sorted(filter(None, losses), key=lambda loss: -loss.number)
    found += others
    by_mapping = [queue for queue in ranked if find_cause(queue) in MAPPING_CAUSES]
    found = join_causes(found, {(queue.seen.verdict.kind.value, queue.row.name or "") for queue in by_mapping})
    found.sort(key=rank_harm)
    seen: set[tuple[str, Level]] = set()
    places: list[tuple[int, bool, int]] = []
    for place, concern in enumerate(found):
        first = (concern.kind, concern.level)
        places.append((LEVELS.index(concern.level), first in seen, place))
        seen.add(first)
    return [found[place] for *_, place in sorted(places)]


def rank_harm(concern: Concern) -> int:
    """Returns the sort key of equally severe concerns. The number of an old transaction or snapshot counts no work."""
    return -1 if concern.kind in (OLD_TRANSACTION, OLD_SNAPSHOT) else -concern.number


def list_dead(judged: Judged) -> list[str]:
    """Returns the names of the dead-letter queues with messages, in the order of the concerns."""
    return [one.name for one in find_concerns(judged.queues) if one.kind == Kind.DEAD_LETTERS.value]


def list_troubled(judged: Judged) -> list[str]:
    """Returns the names of the queues that are not healthy, in the order of the concerns."""
    concerns = (concern.name for concern in find_concerns(judged.queues))
    unhealthy = (queue.row.name or "" for queue in judged.queues if queue.seen.verdict.kind not in HEALTHY)
    return list(dict.fromkeys([*concerns, *unhealthy]))


def join_causes(concerns: Sequence[Concern], by_mapping: Collection[tuple[str, str]]) -> list[Concern]:
    """Removes the concerns about queues whose messages wait only because of a mapping. The mapping's concern describes
    such a queue too. `by_mapping` has the kind and the name of each removed concern.
    """
    waiting = {one.name: one for one in concerns if (one.kind, one.name) in by_mapping}
    found: list[Concern] = []
    for one in concerns:
        queue = waiting.get(one.queue) if one.queue is not None else None
        found.append(one if queue is None else include_queue(one, queue))
    joined = {(other.kind, other.name) for one in found for other in one.includes}
    return [one for one in found if waiting.get(one.name) is not one or (one.kind, one.name) not in joined]


def include_queue(mapping: Concern, queue: Concern) -> Concern:
    noun = "message" if queue.number == 1 else "messages"
    state = "" if queue.state == name_state("", Cause.FUNCTION_FAILS) else f"The queue is {queue.state}: "
    text = f"{mapping.text} {state}{queue.number:,} {noun} can be received."
    return replace(mapping, text=text, includes=[*mapping.includes, Included(queue.kind, queue.name)])


# --- queues ----------------------------------------------------------------------------------------------------------
def describe_queue(queue: JudgedQueue) -> Iterator[Concern]:
    """Yields the concern of the verdict, and the concern about dead letters, which no other verdict hides."""
    name, verdict = queue.row.name or "", queue.seen.verdict
    if queue.seen.facts.dead_letters and queue.seen.messages:
        yield describe_dead_letters(queue)
    if verdict.kind in QUEUE_LEVELS and verdict.kind is not Kind.DEAD_LETTERS:
        yield Concern(
            kind=verdict.kind.value, level=find_level(verdict) or "warn", name=name, since=to_utc(verdict.since),
            since_or_before=verdict.since_or_before, number=verdict.backlog, text=verdict.cause_text,
            page=find_page(queue), state=name_state(verdict.kind, verdict.cause),
        )  # fmt: skip


def describe_dead_letters(queue: JudgedQueue) -> Concern:
    """Returns the concern about the dead letters in a queue since the arrival of the oldest. The number includes dead
    letters that a consumer has just received.
    """
    name, seen = queue.row.name or "", queue.seen
    number = seen.messages
    arrived = f"{queue.arrived:,}" if queue.arrived else "none"
    return Concern(
        kind=Kind.DEAD_LETTERS.value, level=rate_dead_letters(seen.verdict), name=name,
        since=to_utc(seen.facts.oldest_at), since_or_before=False, number=number,
        text=f"{number:,} dead {'letter' if number == 1 else 'letters'}; {arrived} arrived in the last hour.",
        page=ConsolePage.FAILURES.build_path(name=name),
    )  # fmt: skip


def describe_loss(name: str, verdict: Verdict, facts: VerdictFactsRow) -> Concern | None:
    """Returns the concern about a queue whose messages expire, or whose first message soon will, or None. The concern
    is more severe if no consumer receives messages.
    """
    since = verdict.expiring_since if verdict.expired else find_near_loss(facts)
    if verdict.expired:
        noun = "message" if verdict.expired == 1 else "messages"
        text = f"{verdict.expired:,} {noun} ended in 15 minutes because their retention was over, and "
    elif since is not None:
        end = f"{to_utc(facts.expires_at):%Y-%m-%d %H:%M:%S} UTC"
        text = f"The first message expires at {end}, when its retention is over, and "
    else:
        return None
    text += "consumers are too slow." if verdict.is_received else "no consumer received any."
    level: Level = "warn" if verdict.is_received else "bad"
    page = ConsolePage.QUEUE.build_path(name=name)
    return Concern(EXPIRE, level, name, to_utc(since), False, verdict.expired, text, page)


def find_page(queue: JudgedQueue) -> str:
    """Returns the page where a user can mend the cause of a verdict."""
    cause = find_cause(queue)
    page = ConsolePage.QUEUE if cause is None else PAGES_OF_CAUSES.get(cause, ConsolePage.QUEUE)
    return page.build_path(name=queue.row.name or "")


def find_cause(queue: JudgedQueue) -> Cause | None:
    """Returns the cause of a verdict. Messages return again and again if a mapping of the queue fails, so the mapping
    is the cause.
    """
    if queue.seen.verdict.kind is Kind.POISONED and queue.seen.facts.failing_since is not None:
        return Cause.FUNCTION_FAILS
    return queue.seen.verdict.cause
