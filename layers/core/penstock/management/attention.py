"""Finds what needs attention, for `penstock status`, the console, the report, the REST API and alerts.

A queue needs attention because of its verdict, because it has dead letters, or because messages reach the end of the
queue's retention, or soon will. An endpoint needs attention if deliveries to it were given up, if it is paused, or if
no attempt has succeeded for some minutes. Schedules and deliveries need attention if they are late, a schedule also if
it fails, a mapping if its invocations fail or the service stopped it, a subscriber of an event bus if it lags, if it is
stopped, if its target refuses events or if it drops them, and the database if a transaction or a snapshot is old.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from penstock.access.authorization import is_user_allowed
from penstock.access.resources import ANY
from penstock.context import Context
from penstock.delivery.warnings import hide_secrets
from penstock.documents.console_pages import ConsolePage
from penstock.effects import Call, Operation
from penstock.postgres.statements.deliveries import LIST_FAILED_ENDPOINTS, FailedEndpointRow
from penstock.postgres.statements.metrics import READ_LATE_WORK, LateWorkRow, VerdictFactsRow
from penstock.postgres.statements.queues import READ_OVERVIEW, OverviewRow
from penstock.settings import Settings
from penstock.verdicts import Cause, Kind, Verdict
from penstock.verdicts.words import explain_delay, name_state

from .alerts.mutes import Mutes, find_muted_until, read_mutes
from .metrics.views import to_utc
from .rights import build_schedule_arn, needs
from .verdicts import (
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

GIVEN_UP: Final = "given_up"
PAUSED: Final = "endpoint_paused"
FAILS: Final = "endpoint_fails"
EXPIRE: Final = "messages_expire"
SCHEDULES_LATE: Final = "schedules_late"
SCHEDULE_FAILS: Final = "schedule_fails"
SCHEDULE_PAUSED: Final = "schedule_paused"
DELIVERIES_LATE: Final = "deliveries_late"
MAPPING_FAILS: Final = "mapping_fails"
MAPPING_STOPPED: Final = "mapping_stopped"
SUBSCRIBER_LAGS: Final = "subscriber_lags"
SUBSCRIBER_STOPPED: Final = "subscriber_stopped"
SUBSCRIBER_FAILS: Final = "subscriber_fails"
SUBSCRIBER_DROPS: Final = "subscriber_drops"
SUBSCRIBER_KINDS: Final = (SUBSCRIBER_LAGS, SUBSCRIBER_STOPPED, SUBSCRIBER_FAILS, SUBSCRIBER_DROPS)
OLD_TRANSACTION: Final = "old_transaction"
OLD_SNAPSHOT: Final = "old_snapshot"
OTHER_LEVELS: Final[dict[str, Level]] = {
    GIVEN_UP: "bad",
    PAUSED: "info",
    FAILS: "warn",
    SCHEDULES_LATE: "bad",
    SCHEDULE_FAILS: "warn",
    SCHEDULE_PAUSED: "bad",
    DELIVERIES_LATE: "bad",
    MAPPING_FAILS: "bad",
    MAPPING_STOPPED: "bad",
    OLD_TRANSACTION: "warn",
    OLD_SNAPSHOT: "bad",
}
"""The levels of the other kinds, on all pages and in all alerts. Lost messages have describe_loss."""
FAILING_SECONDS: Final = 120
"""An endpoint that has not responded for this time needs attention. A restart of an endpoint takes less time."""
LATE_SECONDS: Final = 60.0
"""How long a schedule or a delivery can be due before it needs attention."""
OLD_SECONDS: Final = 600.0
"""How long a transaction or a snapshot can be open before it needs attention."""
OLD_TRANSACTIONS: Final = 10_000_000
"""How many transactions a snapshot can be behind before it needs attention."""
MAX_COUNTED: Final = 10_000
"""At most this many given-up deliveries are counted, the newest first, and as many late schedules and deliveries."""
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


class Included(Struct):
    """Another concern with the same cause, which the text of a concern also describes."""

    kind: str
    name: str


class Concern(Struct):
    """A queue, an endpoint or a schedule that needs attention, and the reason.

    `kind` is the kind of the queue's verdict, or `messages_expire`. For the endpoint `name`, `kind` is `given_up`,
    `endpoint_paused` or `endpoint_fails`. For all schedules or deliveries together, `kind` is `schedules_late` or
    `deliveries_late`, and `name` names the first one and the number of the others; for the schedule `name`,
    `schedule_fails` or `schedule_paused`; for the mapping `name`, `mapping_fails` or `mapping_stopped`; for the
    subscriber `name`, after its bus and a slash, `subscriber_lags`, `subscriber_stopped`, `subscriber_fails` or
    `subscriber_drops`; for the database, `old_transaction` or `old_snapshot`. `state` is the word for the kind.

    One fault is one concern: `includes` names the concerns that this concern replaces, because they have the same
    cause.

    A queue's `number` counts messages that can be received, dead letters, or messages that expired in the last 15
    minutes, which is 0 before the first one expires. An endpoint's `number` counts given-up deliveries that are kept or
    tried again, waiting deliveries or deliveries that are being retried. Other numbers count late schedules or
    deliveries, failures in a row, failed invocations of a mapping, events that wait, or transactions. `since` is null
    if the beginning is unknown. `since_or_before` means that the concern began at that time or earlier. `text` is the
    reason. `page` is the path of the console's page where a user can look at the concern and mend it, or empty if the
    console has no such page. Before `muted_until`, alerts do not report the concern.
    """

    kind: str
    level: Level
    name: str
    since: datetime | None
    since_or_before: bool
    number: int
    text: str
    page: str
    state: str = ""
    includes: list[Included] = []
    muted_until: datetime | None = None

    def __post_init__(self) -> None:
        """Names the state by the kind, unless the caller names it."""
        self.state = self.state or name_state(self.kind)


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
        queue = waiting.get(one.name.partition(" to ")[0]) if one.kind in (MAPPING_FAILS, MAPPING_STOPPED) else None
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


# --- deliveries, schedules and the database --------------------------------------------------------------------------
def describe_endpoints(rows: Iterable[FailedEndpointRow]) -> Iterator[Concern]:
    for row in rows:
        yield from describe_endpoint(row)


def describe_endpoint(row: FailedEndpointRow) -> Iterator[Concern]:
    """Yields the concerns about an endpoint. The concern about a user's pause is only a reminder. If the worker gave up
    deliveries because of the present failure, their concern includes the failure. The concern stays until a retry of
    these deliveries succeeds, because only a success shows that the endpoint works.
    """
    name, page = hide_secrets(row.endpoint), ConsolePage.DELIVERIES.build_path()
    fails = [Included(FAILS, name)] if row.fails_since is not None else []
    last = row.last_given_up_at
    is_same = row.fails_since is not None and (row.again > 0 or (last is not None and last >= row.fails_since))
    if row.given_up or row.again:
        yield describe_given_up(row, name, fails if is_same and not row.stopped else [])
    if row.stopped:
        text = "A user paused the deliveries to this endpoint."
        level, since = OTHER_LEVELS[PAUSED], to_utc(row.paused_at)
        yield Concern(PAUSED, level, name, since, False, row.waiting, text, page, includes=fails)
    if row.stopped or is_same:
        return
    if row.paused_at is not None:
        text = "The endpoint fails: its deliveries wait, and the service tries one at a time."
        yield Concern(FAILS, OTHER_LEVELS[FAILS], name, to_utc(row.paused_at), False, row.waiting, text, page)
    if row.failing_since is not None:
        noun = "delivery is" if row.retried == 1 else "deliveries are"
        text = f"The endpoint fails, and {row.retried:,} {noun} tried again: {row.retry_error or 'no response'}."
        attempts = ConsolePage.FAILED_ATTEMPTS.build_path()
        if name == row.endpoint:  # The list of attempts compares whole URLs.
            attempts = ConsolePage.FAILED_ATTEMPTS_OF_ENDPOINT.build_path(endpoint=name)
        since = to_utc(row.failing_since)
        yield Concern(FAILS, OTHER_LEVELS[FAILS], name, since, False, row.retried, text, attempts)


def describe_given_up(row: FailedEndpointRow, name: str, fails: list[Included]) -> Concern:
    """Returns the concern about an endpoint's given-up deliveries, and those of them that a user retries."""
    error, parts = row.last_error or "no response", []
    if row.given_up:
        parts.append(f"{name_given_up(row)}: {error}.")
    if row.again:
        parts.append(f"{row.again:,} given-up {'delivery is' if row.again == 1 else 'deliveries are'} tried again")
        parts[-1] += "." if row.given_up else f": {error}."
    if fails:
        parts.append("The endpoint still fails.")
    page = (ConsolePage.GIVEN_UP_DELIVERIES if row.given_up else ConsolePage.WAITING_DELIVERIES).build_path()
    level, since, number = OTHER_LEVELS[GIVEN_UP], to_utc(row.given_up_at), row.given_up + row.again
    return Concern(GIVEN_UP, level, name, since, False, number, " ".join(parts), page, includes=fails)


def name_given_up(row: FailedEndpointRow) -> str:
    """Names the given-up deliveries. A user of a topic must know of a confirmation, because the endpoint receives
    nothing from the topic before somebody confirms the subscription.
    """
    if row.confirms is None:
        return f"{row.given_up:,} {'delivery was' if row.given_up == 1 else 'deliveries were'} given up"
    confirmation = f"confirmation of a subscription to the topic {row.confirms.rpartition(':')[2]}"
    if row.given_up == 1:
        return f"The {confirmation} was given up"
    return f"{row.given_up:,} deliveries were given up, the newest of them the {confirmation}"


def describe_late_work(row: LateWorkRow, settings: Settings | None = None) -> Concern:
    """Returns the concern about late or failing work, or an old transaction. `settings` are those of this process."""
    name, page = "Database", ConsolePage.SYSTEM.build_path()
    includes: list[Included] = []
    if row.kind == SCHEDULES_LATE:
        name = name_first(row.name, row.number) or "Schedules"
        text = f"{name} {'is' if row.number == 1 and row.name else 'are'} due and did not fire."
        fires = settings is not None and settings.queue_schedule_enabled
        text += f" {explain_delay(row.kind, row.error, is_done_here=fires)}"
        page = ConsolePage.SCHEDULES.build_path()
        if row.number == 1 and row.name:
            page = ConsolePage.SCHEDULE.build_path(schedule=row.name)
    elif row.kind == DELIVERIES_LATE:
        number = f"{row.number:,} or more" if row.number >= MAX_COUNTED else f"{row.number:,}"
        endpoint, page = hide_secrets(row.name or ""), ConsolePage.WAITING_DELIVERIES.build_path()
        name = name_first(endpoint, row.number) or "Deliveries"
        text = f"{number} due {'delivery waits' if row.number == 1 else 'deliveries wait'}"
        text += f", the first to {endpoint}" if endpoint else ""
        delivers = settings is not None and settings.queue_http_delivery_enabled
        text += f". {explain_delay(row.kind, row.error, is_done_here=delivers)}"
    elif row.kind in (SCHEDULE_FAILS, SCHEDULE_PAUSED):
        return describe_failing_schedule(row)
    elif row.kind in SUBSCRIBER_KINDS:
        return describe_subscriber(row)
    elif row.kind in (MAPPING_FAILS, MAPPING_STOPPED):
        name = name_mapping(*(row.name or "").split(" to ", 1))
        page = ConsolePage.MAPPING.build_path(mapping=row.mapping_id or "")
        what = "No invocation succeeds" if row.kind == MAPPING_FAILS else "The service stopped the mapping"
        text = f"{what}: {(row.error or 'no cause').removeprefix('PROBLEM: ').rstrip('.')}."
        includes = [Included(MAPPING_FAILS, name)] if row.kind == MAPPING_STOPPED else []
    elif row.kind == OLD_TRANSACTION:
        text = "A transaction is open. PostgreSQL cannot remove deleted rows meanwhile."
    else:
        text = f"A snapshot is {row.number:,} transactions old. PostgreSQL cannot remove deleted rows meanwhile."
    level = OTHER_LEVELS[row.kind]
    return Concern(row.kind, level, name, to_utc(row.since), False, row.number, text, page, includes=includes)


def name_mapping(queue: str, target: str) -> str:
    """Names a mapping. `target` is a URL, or the ARN or the name of a function."""
    return f"{queue} to {hide_secrets(target.rpartition(':function:')[2])}"


def describe_failing_schedule(row: LateWorkRow) -> Concern:
    """Returns the concern about a schedule that fails. Only a user lets a paused one fire again, so it is severe."""
    name, error = row.name or "", (row.error or "no cause").rstrip(".")
    page = ConsolePage.SCHEDULE.build_path(schedule=name)
    if row.kind == SCHEDULE_FAILS:
        text = f"The schedule failed {'once' if row.number == 1 else f'{row.number:,} times'}: {error}."
        return Concern(row.kind, OTHER_LEVELS[row.kind], name, to_utc(row.since), False, row.number, text, page)
    text = f"The schedule is paused after {row.number:,} {'failure' if row.number == 1 else 'failures'}: {error}. "
    text += "It fires again after you resume it."
    includes, level = [Included(SCHEDULE_FAILS, name)], OTHER_LEVELS[row.kind]
    return Concern(row.kind, level, name, to_utc(row.since), False, row.number, text, page, includes=includes)


def describe_subscriber(row: LateWorkRow) -> Concern:
    """Returns the concern about a subscriber of an event bus. Events that it drops or that leave the bus are lost."""
    number = f"{row.number:,} {'event' if row.number == 1 else 'events'}"
    levels: dict[str, Level] = {SUBSCRIBER_STOPPED: "info", SUBSCRIBER_FAILS: "warn"}
    level, error = levels.get(row.kind, "bad"), (row.error or "no cause").rstrip(".")
    if row.kind == SUBSCRIBER_LAGS:
        reason = row.error or "A process with the container's workers delivers events"
        text = f"{number} {'waits' if row.number == 1 else 'wait'} for the subscriber. {reason}."
    elif row.kind == SUBSCRIBER_STOPPED:
        text = f"A user stopped the subscriber, and {number} {'waits' if row.number == 1 else 'wait'}."
    elif row.kind == SUBSCRIBER_DROPS:
        text = f"{number} dropped, no failure queue: {error}."
    else:
        text = f"The target refuses {number}: {error}."
    bus, _, name = (row.name or "").rpartition("/")
    is_own = not bus.startswith("arn:")  # The account has no page about a bus of another account.
    page = ConsolePage.SUBSCRIBER.build_path(bus=bus, subscriber=name) if is_own else ""
    return Concern(row.kind, level, row.name or "", to_utc(row.since), False, row.number, text, page)


def name_first(name: str | None, number: int) -> str:
    """Names the first of the late schedules or deliveries, and the number of the others."""
    if number == 1 or not name:
        return name or ""
    return f"{name} and {'at least ' if number >= MAX_COUNTED else ''}{number - 1:,} more"
