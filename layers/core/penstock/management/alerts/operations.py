"""Shows an account's alerts, changes their address, and sends a test."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal, NamedTuple, cast

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.context import Context
from penstock.delivery import DELIVERIES
from penstock.effects import Call, Operation, Wake
from penstock.errors import InvalidParameterValue
from penstock.management.attention.concerns import Concern
from penstock.management.attention.reading import read_attention
from penstock.management.errors import AlertsNotSet
from penstock.management.metrics.views import to_utc
from penstock.management.rights import needs
from penstock.management.verdicts import LEVELS, Level
from penstock.postgres.statements.alerts import (
    CHANGE_ALERT_URL,
    FIND_ALERT_URL,
    LIST_ALERTS,
    LIST_UNDELIVERED_ALERTS,
    NEXT_ALERT_ROUND,
    SEND_ALERTS,
    AlertRow,
    UndeliveredAlertRow,
)
from penstock.settings.alert_url import parse_alert_url
from penstock.verdicts.words import name_kind

from .evaluation import act_for, encode_rows, find_default_recipients, find_own_recipient, read_rules
from .messages import Recipient, find_console, write_messages
from .mutes import Hours, Resource, find_resource, read_mutes
from .state import OF_INSTALLATION, Change, Place, Rules, find_held_until, list_included, list_places

MAX_UNDELIVERED: Final = 1_000
"""How many deliveries of each state the page examines. The others of the account can be deliveries to endpoints."""


class UndeliveredAlert(msgspec.Struct):
    """The delivery of the last alert about a problem, while the endpoint has not accepted it. `state` is `waiting`
    during a pause of the endpoint. `attempts` counts the failed attempts, and `error` describes the last one. `next_at`
    is null if the service has given up the delivery, or if a user paused the endpoint.
    """

    state: Literal["pending", "waiting", "given_up"]
    attempts: int
    error: str | None
    next_at: datetime | None


class FiringAlert(msgspec.Struct):
    """A problem that an alert told, and that still exists or came back. `region` is empty for a problem of the whole
    account.

    `name`, `state`, `level`, `number` and `page` are those of `GET /v1/metrics/attention` now. `reported_number` is the
    number that the last alert told at `reported_at`, or the smallest since, and 0 after an end. `held_until` is the
    time until which an alert waits, because the problem came back or its number rose soon after the last alert, and
    otherwise null. If the problem does not show now, but its end was not told yet, `number` is 0, `level` is `info`,
    and `name` and `page` are those of the last alert. Before `muted_until`, alerts tell only the end. `resource` is the
    kind of what `POST /v1/alerts/mute` mutes, or null. `undelivered` is null if the alert arrived, if the service no
    longer keeps its delivery, or if the delivery belongs to another account.
    """

    kind: str
    name: str
    region: str
    since: datetime | None
    reported_at: datetime | None
    number: int
    reported_number: int
    held_until: datetime | None
    state: str
    level: Level
    page: str
    resource: Resource | None
    muted_until: datetime | None
    undelivered: UndeliveredAlert | None = None


class PendingAlert(msgspec.Struct):
    """A problem that exists and that no alert has told yet. An alert tells it after `evaluations` more evaluations in
    which it still exists, or never if `evaluations` is null, because the alert has no address. `expected_at` is the
    time in UTC at which the last evaluation is due. It is null if `evaluations` is null. The other fields are those of
    `GET /v1/metrics/attention`.
    """

    kind: str
    name: str
    region: str
    since: datetime | None
    number: int
    evaluations: int | None
    expected_at: datetime | None
    state: str
    level: Level
    page: str
    resource: Resource | None
    muted_until: datetime | None


class MutedResource(msgspec.Struct):
    """A resource whose problems alerts do not tell before `muted_until`, in UTC."""

    resource: str
    name: str
    muted_until: datetime | None = None


class AlertSettings(msgspec.Struct):
    """The address of an account's alerts, and the problems that were told or will be. The most severe come first.

    The problems of the installation, of the kinds in `only_installation`, go only to the installation's addresses, and
    only the account QUEUE_ACCOUNT_ID sees them here.

    `url` is the account's own address without its secret parts. If `url` is null, the alerts go to the installation's
    address, or nowhere if `installation` is false. `links` is false if alerts have no links to the console, because
    the console is off, or QUEUE_BASE_URL has no value and the service does not listen on a loopback address.
    """

    url: str | None
    installation: bool
    links: bool
    firing: list[FiringAlert]
    pending: list[PendingAlert]
    only_installation: list[str]
    muted: list[MutedResource]


class NewAlertUrl(msgspec.Struct, forbid_unknown_fields=True):
    """The URL to which the account's alerts go. The host or the prefix `slack+`, `teams+`, `pagerduty+` or `json+`
    determines the format."""

    url: Annotated[str, msgspec.Meta(min_length=1, max_length=2_048)]


class NewMute(msgspec.Struct, forbid_unknown_fields=True):
    """Which resource's alerts to mute, and for how many hours from now. 0 ends the mute. `name` is the name in
    `GET /v1/metrics/attention`, and does not matter for the resources `schedules` and `deliveries`, which are all late
    schedules and all late deliveries.
    """

    resource: Resource
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=2_048)]
    hours: Hours


class SentAlert(msgspec.Struct):
    """The delivery of a test. `GET /v1/deliveries/attempts` shows the response to this `message_id`."""

    delivery_id: int
    message_id: str
    endpoint: str


@needs("account", "penstock:GetAlerts")
def read_alerts(context: Context) -> Operation[AlertSettings]:
    """Returns the address of the account's alerts, and the problems that were told."""
    settings = context.environment.settings
    own = yield from Call(FIND_ALERT_URL, (context.account_id,))
    has_default = bool(find_default_recipients(settings))
    rows = yield from Call(LIST_ALERTS, (context.account_id,))
    sees_installation = context.account_id == settings.queue_account_id
    if sees_installation:
        rows = [*rows, *(yield from Call(LIST_ALERTS, ("",)))]
    known = {Place(row.account_id, row.region, row.subject, row.name): row for row in rows}
    found = yield from _read_problems(known, context)
    visible = {place: concern for place, concern in found.concerns.items() if place.account_id or sees_installation}
    rules, addressed = read_rules(settings), {place for place in visible if has_default or (own and place.account_id)}
    pause = timedelta(milliseconds=settings.queue_alert_interval_ms)
    (following,) = yield from Call(NEXT_ALERT_ROUND, (settings.queue_alert_interval_ms,))
    rounds = Rounds(following.next_at, pause)
    pending = [
        _describe_pending(place, known.get(place), concern, rules, rounds if place in addressed else None)
        for place, concern in visible.items()
    ]
    undelivered = yield from Call(LIST_UNDELIVERED_ALERTS, (context.account_id, MAX_UNDELIVERED))
    firing = _compare(known, found, rules)
    mutes = yield from read_mutes(context)
    for alert in firing:
        alert.undelivered = _find_undelivered(alert, undelivered, pause)
    return AlertSettings(
        url=mask_address(own[0].url) if own else None,
        installation=has_default,
        links=bool(find_console(settings)),
        firing=firing,
        pending=[alert for alert in pending if alert is not None],
        only_installation=sorted(OF_INSTALLATION),
        muted=[MutedResource(resource, name, until) for (resource, name), until in mutes.items()],
    )


class Rounds(NamedTuple):
    """The time of the next evaluation, and the pause between two evaluations."""

    next_at: datetime
    pause: timedelta


class _Problems(NamedTuple):
    """The concerns that exist now, the most severe first, and the places that other concerns include."""

    concerns: dict[Place, Concern]
    included: set[Place]


def _read_problems(known: Collection[Place], context: Context) -> Operation[_Problems]:
    """Reads the concerns in the caller's region, and in the regions of known alerts."""
    settings = context.environment.settings
    problems = _Problems({}, set())
    for region in dict.fromkeys((context.region, *(place.region for place in known if place.region))):
        found = yield from read_attention(act_for(context.account_id, region, settings))
        problems.concerns.update(list_places(context.account_id, region, found.concerns))
        problems.included.update(list_included(context.account_id, region, found.concerns))
    return problems


def _compare(known: Mapping[Place, AlertRow], found: _Problems, rules: Rules) -> list[FiringAlert]:
    """Returns the problems that were told, with the concerns that exist now."""
    concerns = found.concerns
    ranks = {place: (LEVELS.index(concern.level), rank) for rank, (place, concern) in enumerate(concerns.items())}
    shown = [place for place in known if place in ranks or place not in found.included]
    shown.sort(key=lambda place: ranks.get(place, (len(LEVELS), 0)))
    alerts = (describe_alert(known[place], concerns.get(place), datetime.now(UTC), rules) for place in shown)
    return [alert for alert in alerts if alert is not None]


def _find_undelivered(
    alert: FiringAlert, rows: Sequence[UndeliveredAlertRow], pause: timedelta
) -> UndeliveredAlert | None:
    """Returns the delivery of an evaluation's alert. The next evaluation begins at least `pause` later."""
    at = alert.reported_at
    own = [] if at is None else [row for row in rows if at <= row.created_at < at + pause]
    if not own:
        return None
    state = cast("Literal['pending', 'waiting', 'given_up']", own[0].state)
    return UndeliveredAlert(state, own[0].attempts, own[0].error, to_utc(own[0].next_at))


def _describe_pending(
    place: Place, row: AlertRow | None, concern: Concern, rules: Rules, rounds: Rounds | None
) -> PendingAlert | None:
    """Returns a problem that no alert has told, or None if an alert told it. `rounds` is None without an address."""
    if row is not None and row.state != "pending":
        return None
    left = max(1, rules.evaluations - (0 if row is None else row.evaluations))
    following = None if rounds is None else rounds.next_at + (left - 1) * rounds.pause
    return PendingAlert(
        kind=concern.kind, name=concern.name, region=place.region, since=concern.since, number=concern.number,
        evaluations=None if rounds is None else left,
        expected_at=None if following is None else to_utc(max(following, concern.muted_until or following)),
        state=concern.state, level=concern.level, page=concern.page, resource=find_resource(concern.kind),
        muted_until=concern.muted_until,
    )  # fmt: skip


def describe_alert(row: AlertRow, concern: Concern | None, now: datetime, rules: Rules) -> FiringAlert | None:
    """Returns a problem that was told, or None if it is not told, or is over and was told to be over."""
    held = None if concern is None else find_held_until(row, concern, now, rules)
    if row.state != "firing" and held is None:
        return None
    return FiringAlert(
        kind=row.kind if concern is None else concern.kind,
        name=(row.title or row.name) if concern is None else concern.name,
        region=row.region,
        since=to_utc(row.since) if row.state == "firing" or concern is None else concern.since,
        reported_at=to_utc(row.reported_at),
        number=0 if concern is None else concern.number,
        reported_number=row.reported_number if row.state == "firing" else 0,
        held_until=to_utc(held),
        state=name_kind(row.kind) if concern is None else concern.state,
        level="info" if concern is None else concern.level,
        page=row.page if concern is None else concern.page,
        resource=find_resource(row.kind if concern is None else concern.kind),
        muted_until=None if concern is None else concern.muted_until,
    )


def mask_address(text: str | None) -> str:
    """Returns an address without its secret parts, for the audit and for readers."""
    if text is None:
        return ""
    try:
        return parse_alert_url(text).shown
    except ValueError:
        return "****"


@needs("account", "penstock:SetAlerts")
@audited(lambda url, _context: Act("penstock:SetAlerts", mask_address(url)))
def set_alert_url(url: str | None, context: Context) -> Operation[None]:
    """Sets the account's own address, or removes it if `url` is None. Raises InvalidParameterValue."""
    if url is not None:
        try:
            parse_alert_url(url)
        except ValueError as error:
            raise InvalidParameterValue(f"url: {error}", member="url") from None
    yield from Call(CHANGE_ALERT_URL, (context.account_id, url))


@needs("account", "penstock:TestAlerts")
@audited(lambda context: Act("penstock:TestAlerts", context.account_id, counted="*"))
def send_test(context: Context) -> Operation[list[SentAlert]]:
    """Sends a test to the account's own address, or to the installation's addresses if they belong to the account.

    Raises AlertsNotSet.
    """
    settings = context.environment.settings
    recipients = yield from _find_recipients(context)
    if not recipients:
        raise AlertsNotSet
    change = Change(what="test", level="info", account_id=context.account_id)
    messages = [message for recipient in recipients for message in write_messages(recipient, [change], settings)]
    rows = yield from Call(SEND_ALERTS, (settings.queue_alert_url or None, encode_rows(messages)))
    yield Wake(DELIVERIES, len(rows))
    return [SentAlert(row.delivery_id, str(row.message_id), row.endpoint) for row in rows]


def _find_recipients(context: Context) -> Operation[list[Recipient]]:
    own = yield from Call(FIND_ALERT_URL, (context.account_id,))
    if own:
        recipient = find_own_recipient(context.account_id, own[0].url)
        return [] if recipient is None else [recipient]
    settings = context.environment.settings
    return find_default_recipients(settings) if context.account_id == settings.queue_account_id else []
