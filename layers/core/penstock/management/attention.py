"""Finds the queues and endpoints that need attention, for `penstock status`, the console, the report and the REST API.

A queue needs attention because of its verdict, such as dead letters, or because messages reach the end of the queue's
retention. An endpoint needs attention if deliveries to it were given up, if it is paused, or if no attempt has
succeeded for some minutes. Prometheus has an alert for each kind of concern.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from penstock.context import Context
from penstock.delivery.warnings import hide_secrets
from penstock.effects import Call, Operation
from penstock.postgres.statements.deliveries import LIST_FAILED_ENDPOINTS, FailedEndpointRow
from penstock.postgres.statements.queues import READ_OVERVIEW
from penstock.verdicts import TARGET_LAG_SECONDS, Kind, Verdict

from .metrics.views import to_utc
from .rights import needs
from .verdicts import rank_badness, read_verdicts

Level = Literal["bad", "warn", "info"]
LEVELS: Final[tuple[Level, ...]] = ("bad", "warn", "info")
QUEUE_LEVELS: Final[dict[Kind, Level]] = {
    Kind.STALLED: "bad",
    Kind.THROTTLED: "bad",
    Kind.POISONED: "bad",
    Kind.FALLING_BEHIND: "warn",
    Kind.DEAD_LETTERS: "warn",
}
"""The verdicts that need attention. A queue that still receives dead letters counts as bad."""
GIVEN_UP: Final = "given_up"
PAUSED: Final = "endpoint_paused"
FAILS: Final = "endpoint_fails"
EXPIRE: Final = "messages_expire"
FAILING_SECONDS: Final = 120
"""An endpoint that has not responded for this time needs attention. A restart of an endpoint takes less time."""
MAX_COUNTED: Final = 10_000
"""At most this many given-up deliveries are counted, the newest first."""
MAX_QUEUES: Final = 200
"""At most this many queues receive a verdict: the queues with the most messages, the oldest messages, and dead
letters."""


class Concern(Struct):
    """A queue or endpoint that needs attention, and the reason.

    `kind` is the kind of the queue's verdict, or `messages_expire`. For the endpoint `name`, `kind` is `given_up`,
    `endpoint_paused` or `endpoint_fails`. A queue's `number` counts messages that can be received, or messages that
    expired in the last 15 minutes. An endpoint's `number` counts kept given-up deliveries, waiting deliveries or
    deliveries that are being retried. `since` is null if the beginning is unknown. `since_or_before` means that the
    concern began at that time or earlier. `text` is the reason.
    """

    kind: str
    level: Level
    name: str
    since: datetime | None
    since_or_before: bool
    number: int
    text: str


class Attention(Struct):
    """The queues and endpoints that need attention in one region, and the number of all queues. The worst concern of
    each kind comes first."""

    queues: int
    concerns: list[Concern]


@needs("account", "sqs:ListQueues", "penstock:GetLag", "penstock:ListDeliveries")
def read_attention(context: Context) -> Operation[Attention]:
    """Returns the queues and endpoints that need attention."""
    place = (context.account_id, context.region)
    total, *rows = yield from Call(READ_OVERVIEW, (*place, MAX_QUEUES // 4))
    names = {row.arn: row.name for row in rows if row.arn is not None and row.name is not None}
    limit = context.environment.settings.queue_in_flight_limit
    verdicts = yield from read_verdicts(list(names), limit, TARGET_LAG_SECONDS)
    endpoints = yield from read_failed_endpoints(context.account_id)
    queues = ((names[arn], verdict) for arn, verdict in verdicts.items())
    return Attention(total.queues or 0, find_concerns(queues, endpoints))


def read_failed_endpoints(account_id: str) -> Operation[Sequence[FailedEndpointRow]]:
    """Returns an account's endpoints that are paused, fail, or have given-up deliveries."""
    return (yield from Call(LIST_FAILED_ENDPOINTS, (account_id, MAX_COUNTED, FAILING_SECONDS)))


def find_concerns(queues: Iterable[tuple[str, Verdict]], endpoints: Iterable[FailedEndpointRow]) -> list[Concern]:
    """Returns the concerns about these queues (by name) and endpoints. The worst concern of each kind comes first, so
    many concerns of one kind do not hide the other kinds. The other concerns follow, the worst first.
    """
    ranked = sorted(queues, key=lambda queue: (*rank_badness(queue[1]), queue[0]))
    found = [describe_queue(name, verdict) for name, verdict in ranked if needs_attention(verdict)]
    losing = [(name, verdict) for name, verdict in ranked if verdict.expired]
    found += [describe_loss(name, verdict) for name, verdict in sorted(losing, key=lambda queue: -queue[1].expired)]
    found += [concern for row in endpoints for concern in describe_endpoint(row)]
    found.sort(key=lambda concern: LEVELS.index(concern.level))
    seen: Counter[str] = Counter()
    places: list[tuple[int, int]] = []
    for concern in found:
        place = seen[concern.kind]
        seen[concern.kind] += 1
        places.append((min(place, 1), LEVELS.index(concern.level)))
    order = sorted(range(len(found)), key=lambda number: places[number])
    return [found[number] for number in order]


def needs_attention(verdict: Verdict) -> bool:
    return verdict.kind in QUEUE_LEVELS


def describe_queue(name: str, verdict: Verdict) -> Concern:
    level = QUEUE_LEVELS[verdict.kind]
    if verdict.kind is Kind.DEAD_LETTERS and verdict.arrival_rate:
        level = "bad"
    text = verdict.cause_text or "More messages arrive than are deleted."
    return Concern(
        verdict.kind.value, level, name, to_utc(verdict.since), verdict.since_or_before, verdict.backlog, text
    )


def describe_loss(name: str, verdict: Verdict) -> Concern:
    """Returns the concern about a queue whose messages expire. The concern is more severe if no consumer receives
    messages."""
    noun = "message" if verdict.expired == 1 else "messages"
    text = f"{verdict.expired:,} {noun} ended in 15 minutes because their retention was over"
    text += ", and consumers are too slow." if verdict.is_received else ", and no consumer received any."
    level: Level = "warn" if verdict.is_received else "bad"
    return Concern(EXPIRE, level, name, to_utc(verdict.expiring_since), False, verdict.expired, text)


def describe_endpoint(row: FailedEndpointRow) -> Iterable[Concern]:
    """Yields the concerns about an endpoint. The concern about a user's pause is only a reminder."""
    name = hide_secrets(row.endpoint)
    if row.given_up:
        noun = "delivery was" if row.given_up == 1 else "deliveries were"
        text = f"{row.given_up:,} {noun} given up: {row.last_error or 'no response'}."
        yield Concern(GIVEN_UP, "bad", name, to_utc(row.given_up_at), False, row.given_up, text)
    if row.stopped:
        text = "A user paused the deliveries to this endpoint."
        yield Concern(PAUSED, "info", name, to_utc(row.paused_at), False, row.waiting, text)
    elif row.paused_at is not None:
        text = "The endpoint fails: its deliveries wait, and the service tries one at a time."
        yield Concern(PAUSED, "warn", name, to_utc(row.paused_at), False, row.waiting, text)
    if row.failing_since is not None:
        noun = "delivery is" if row.retried == 1 else "deliveries are"
        text = f"The endpoint fails, and {row.retried:,} {noun} tried again: {row.retry_error or 'no response'}."
        yield Concern(FAILS, "warn", name, to_utc(row.failing_since), False, row.retried, text)
