"""Statements of alerts: evaluations, their state, and the addresses of accounts."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement


class BegunRow(NamedTuple):
    """An evaluation that begins now. `round` is None if none is due. `is_on` says whether any account has alerts.

    `last_at` is the end of the last evaluation, or None.
    """

    is_on: bool
    round: int | None
    now: datetime
    last_at: datetime | None


BEGIN_ALERTS = Statement("queue.begin_alerts", ("int4", "bool"), BegunRow)


class NextRoundRow(NamedTuple):
    """The time of the next evaluation."""

    next_at: datetime


NEXT_ALERT_ROUND = Statement("queue.next_alert_round", ("int4",), NextRoundRow)


class ScopeRow(NamedTuple):
    """A place in which something may need attention. `region` is empty for problems of the whole account.

    `url` is the account's own address for alerts, or None.
    """

    account_id: str
    region: str
    url: str | None


ALERT_SCOPES = Statement("queue.alert_scopes", (), ScopeRow)


class AlertRow(NamedTuple):
    """A stored alert. The columns are those of queue.alert. `title` and `page` are those of the last alert. `url` is
    the account's own address, or None.
    """

    account_id: str
    region: str
    subject: str
    name: str
    kind: str
    state: str
    evaluations: int
    since: datetime
    reported_rank: int
    reported_number: int
    reported_at: datetime | None
    title: str
    page: str
    url: str | None


LIST_ALERTS = Statement("queue.list_alerts", ("text",), AlertRow)


class UndeliveredAlertRow(NamedTuple):
    """A delivery of an alert or a test that has not succeeded (queue.list_undelivered_alerts)."""

    created_at: datetime
    state: str
    attempts: int
    next_at: datetime | None
    error: str | None


LIST_UNDELIVERED_ALERTS = Statement("queue.list_undelivered_alerts", ("text", "int4"), UndeliveredAlertRow)


class StoredAlertsRow(NamedTuple):
    """The result of an evaluation. `stored` is false if another process began a later evaluation."""

    stored: bool
    deliveries: int


STORE_ALERTS = Statement("queue.store_alerts", ("int8", "text", "jsonb", "jsonb", "jsonb"), StoredAlertsRow)


class SentAlertRow(NamedTuple):
    """The delivery of a message. `endpoint` names the server without the secret parts of its address."""

    delivery_id: int
    message_id: UUID
    endpoint: str


SEND_ALERTS = Statement("queue.send_alerts", ("text", "jsonb"), SentAlertRow, is_audited=True)


class AlertUrlRow(NamedTuple):
    url: str


FIND_ALERT_URL = Statement("queue.find_alert_url", ("text",), AlertUrlRow)


class ChangedUrlRow(NamedTuple):
    changed: bool


CHANGE_ALERT_URL = Statement(
    "queue.change_alert_url", ("text", "text"), ChangedUrlRow, is_audited=True, changed="changed"
)


class MutedRow(NamedTuple):
    """Until when alerts do not report a resource's problems, or None after the end of a mute."""

    muted_until: datetime | None


MUTE_ALERTS = Statement("queue.mute_alerts", ("text", "text", "text", "text", "int4"), MutedRow, is_audited=True)


class MuteRow(NamedTuple):
    """A resource whose problems alerts do not report before `muted_until` (penstock.management.alerts.mutes)."""

    resource: str
    name: str
    muted_until: datetime


LIST_ALERT_MUTES = Statement("queue.list_alert_mutes", ("text", "text"), MuteRow)
