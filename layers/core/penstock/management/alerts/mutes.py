"""Mutes the alerts about one resource for some hours. Pages and `penstock status` still show its problems."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, TypeAlias

from penstock.access.audit.acts import Act, audited
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.errors import InvalidParameterValue
from penstock.management.metrics.views import to_utc
from penstock.management.rights import needs
from penstock.postgres.statements.alerts import LIST_ALERT_MUTES, MUTE_ALERTS
from penstock.sqs.validation import encode_text

Resource = Literal["queue", "endpoint", "schedule", "schedules", "deliveries", "mapping", "subscriber"]
Hours = Literal[0, 1, 8, 24]
TOGETHER: Final[dict[str, str]] = {"schedules": "Schedules", "deliveries": "Deliveries"}
"""The names of the problems that late schedules and late deliveries have together."""
OF_ACCOUNT: Final = ("endpoint", "deliveries")
"""The resources that belong to the account and not to one of its regions."""
_BEGINNINGS: Final[dict[str, Resource | None]] = {
    "given": "endpoint", "endpoint": "endpoint", "schedule": "schedule", "schedules": "schedules",
    "deliveries": "deliveries", "mapping": "mapping", "subscriber": "subscriber", "old": None,
}  # fmt: skip
"""The resources by the first word of a kind of concern. The other kinds are about queues."""
Mutes: TypeAlias = Mapping[tuple[str, str], datetime]
"""The time in UTC at which each mute ends, by resource and name."""


def find_resource(kind: str) -> Resource | None:
    """Returns what a concern of this kind is about, or None for the database, which has no mute."""
    return _BEGINNINGS.get(kind.partition("_")[0], "queue")


def find_muted_until(mutes: Mutes, kind: str, name: str) -> datetime | None:
    """Returns when the mute of a concern's resource ends, or None."""
    resource = find_resource(kind) or ""
    return mutes.get((resource, TOGETHER.get(resource, name)))


def read_mutes(context: Context) -> Operation[Mutes]:
    """Returns the mutes of the account and of the caller's region. The caller has checked a right."""
    rows = yield from Call(LIST_ALERT_MUTES, (context.account_id, context.region))
    return {(row.resource, row.name): to_utc(row.muted_until) for row in rows}


@needs("account", "penstock:MuteAlerts")
@audited(lambda resource, name, hours, _: Act("penstock:MuteAlerts", f"{resource} {name}", {"hours": hours}))
def mute_alerts(resource: Resource, name: str, hours: Hours, context: Context) -> Operation[datetime | None]:
    """Mutes the alerts about a resource from now on, or ends the mute if `hours` is 0. Returns the end of the mute. The
    name is that of the concern, and does not matter for `schedules` and `deliveries`. Raises InvalidParameterValue for
    a character that the database cannot store.
    """
    if encode_text(name) is None:
        raise InvalidParameterValue("name: contains a character that no name can contain")
    region = "" if resource in OF_ACCOUNT else context.region
    values = (context.account_id, region, resource, TOGETHER.get(resource, name), hours)
    (row,) = yield from Call(MUTE_ALERTS, values)
    return to_utc(row.muted_until)
