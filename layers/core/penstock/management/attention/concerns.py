"""Describes what needs attention besides queues: endpoints, schedules, deliveries, mappings, subscribers, databases."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from penstock.delivery.warnings import hide_secrets
from penstock.documents.console_pages import ConsolePage
from penstock.management.metrics.views import to_utc
from penstock.management.verdicts import Level
from penstock.postgres.statements.deliveries import FailedEndpointRow
from penstock.postgres.statements.metrics import LateWorkRow
from penstock.settings import Settings
from penstock.verdicts.words import explain_delay, name_state

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

    `queue` is the queue of a mapping. `bus`, which is the ARN of a bus of another account, and `subscriber` name a
    subscriber. Other concerns have null there.

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
    queue: str | None = None
    bus: str | None = None
    subscriber: str | None = None

    def __post_init__(self) -> None:
        """Names the state by the kind, unless the caller names it."""
        self.state = self.state or name_state(self.kind)


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
    return LATE_WORK[row.kind](row, settings)


def describe_late_schedules(row: LateWorkRow, settings: Settings | None) -> Concern:
    name = name_first(row.name, row.number) or "Schedules"
    fires = settings is not None and settings.queue_schedule_enabled
    text = f"{name} {'is' if row.number == 1 and row.name else 'are'} due and did not fire."
    text += f" {explain_delay(row.kind, row.error, is_done_here=fires)}"
    page = ConsolePage.SCHEDULES.build_path()
    if row.number == 1 and row.name:
        page = ConsolePage.SCHEDULE.build_path(schedule=row.name)
    return build_concern(row, name, text, page)


def describe_late_deliveries(row: LateWorkRow, settings: Settings | None) -> Concern:
    number = f"{row.number:,} or more" if row.number >= MAX_COUNTED else f"{row.number:,}"
    endpoint = hide_secrets(row.name or "")
    delivers = settings is not None and settings.queue_http_delivery_enabled
    text = f"{number} due {'delivery waits' if row.number == 1 else 'deliveries wait'}"
    text += f", the first to {endpoint}" if endpoint else ""
    text += f". {explain_delay(row.kind, row.error, is_done_here=delivers)}"
    name = name_first(endpoint, row.number) or "Deliveries"
    return build_concern(row, name, text, ConsolePage.WAITING_DELIVERIES.build_path())


def describe_old_transaction(row: LateWorkRow, _: Settings | None) -> Concern:
    text = "A transaction is open. PostgreSQL cannot remove deleted rows meanwhile."
    return build_concern(row, "Database", text, ConsolePage.SYSTEM.build_path())


def describe_old_snapshot(row: LateWorkRow, _: Settings | None) -> Concern:
    text = f"A snapshot is {row.number:,} transactions old. PostgreSQL cannot remove deleted rows meanwhile."
    return build_concern(row, "Database", text, ConsolePage.SYSTEM.build_path())


def build_concern(row: LateWorkRow, name: str, text: str, page: str) -> Concern:
    return Concern(row.kind, OTHER_LEVELS[row.kind], name, to_utc(row.since), False, row.number, text, page)


def describe_mapping(row: LateWorkRow, _: Settings | None) -> Concern:
    """Returns the concern about a mapping whose invocations fail, or that the service stopped."""
    queue = row.owner or ""
    name = name_mapping(queue, row.name or "")
    what = "No invocation succeeds" if row.kind == MAPPING_FAILS else "The service stopped the mapping"
    return Concern(
        kind=row.kind, level=OTHER_LEVELS[row.kind], name=name, since=to_utc(row.since), since_or_before=False,
        number=row.number, text=f"{what}: {(row.error or 'no cause').removeprefix('PROBLEM: ').rstrip('.')}.",
        page=ConsolePage.MAPPING.build_path(mapping=row.mapping_id or ""),
        includes=[Included(MAPPING_FAILS, name)] if row.kind == MAPPING_STOPPED else [], queue=queue,
    )  # fmt: skip


def name_mapping(queue: str, target: str) -> str:
    """Names a mapping. `target` is a URL, or the ARN or the name of a function."""
    return f"{queue} to {hide_secrets(target.rpartition(':function:')[2])}"


def describe_failing_schedule(row: LateWorkRow, _: Settings | None) -> Concern:
    """Returns the concern about a schedule that fails. Only a user lets a paused one fire again, so it is severe."""
    name, error = row.name or "", (row.error or "no cause").rstrip(".")
    page = ConsolePage.SCHEDULE.build_path(schedule=name)
    if row.kind == SCHEDULE_FAILS:
        text = f"The schedule failed {'once' if row.number == 1 else f'{row.number:,} times'}: {error}."
        return build_concern(row, name, text, page)
    text = f"The schedule is paused after {row.number:,} {'failure' if row.number == 1 else 'failures'}: {error}. "
    text += "It fires again after you resume it."
    includes, level = [Included(SCHEDULE_FAILS, name)], OTHER_LEVELS[row.kind]
    return Concern(row.kind, level, name, to_utc(row.since), False, row.number, text, page, includes=includes)


def describe_subscriber(row: LateWorkRow, _: Settings | None) -> Concern:
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
    bus, name = row.owner or "", row.name or ""
    is_own = not bus.startswith("arn:")  # The account has no page about a bus of another account.
    page = ConsolePage.SUBSCRIBER.build_path(bus=bus, subscriber=name) if is_own else ""
    return Concern(
        kind=row.kind, level=level, name=f"{bus}/{name}", since=to_utc(row.since), since_or_before=False,
        number=row.number, text=text, page=page, bus=bus, subscriber=name,
    )  # fmt: skip


def name_first(name: str | None, number: int) -> str:
    """Names the first of the late schedules or deliveries, and the number of the others."""
    if number == 1 or not name:
        return name or ""
    return f"{name} and {'at least ' if number >= MAX_COUNTED else ''}{number - 1:,} more"


LATE_WORK: Final[Mapping[str, Callable[[LateWorkRow, Settings | None], Concern]]] = {
    SCHEDULES_LATE: describe_late_schedules,
    DELIVERIES_LATE: describe_late_deliveries,
    SCHEDULE_FAILS: describe_failing_schedule,
    SCHEDULE_PAUSED: describe_failing_schedule,
    MAPPING_FAILS: describe_mapping,
    MAPPING_STOPPED: describe_mapping,
    **dict.fromkeys(SUBSCRIBER_KINDS, describe_subscriber),
    OLD_TRANSACTION: describe_old_transaction,
    OLD_SNAPSHOT: describe_old_snapshot,
}
