"""Limits the queues, topics, subscriptions, schedules, mappings and deliveries of an account.

Quotas keep an account from filling the installation. `request_rate` limits an account's requests, and
queue.claim_schedules limits how often its schedules fire.

Quotas are settings; 0 means no limit. The default is AWS's quota if AWS has one ("Amazon SNS endpoints and quotas",
"Amazon EventBridge Scheduler endpoints and quotas", AWS General Reference).
"""

from collections.abc import Callable
from typing import Protocol

from penstock.effects import Call, Operation
from penstock.postgres.statements.access import QUOTA_REACHED
from penstock.settings import Settings

TOO_MANY_DELIVERIES = "RequestThrottled"
"""The error of SQL functions that publish. The functions raise the error if queue.find_delivery_excess finds too many
deliveries of an account, or too many messages for the gateway or the mail server.
"""


class QuotaEnvironment(Protocol):
    """The part of the process's environment that this module uses."""

    @property
    def settings(self) -> Settings: ...


class QuotaContext(Protocol):
    """The part of a request's context that this module uses."""

    account_id: str
    region: str

    @property
    def environment(self) -> QuotaEnvironment: ...


def check_quota(
    kind: str,
    name: str | None,
    context: QuotaContext,
    error: Callable[[str], Exception],
    group: str | None = None,
    more: int = 1,
) -> Operation[None]:
    """Raises `error` if `more` further items of this kind exceed the quota, and the account has no item of this name.

    `kind`: queues, topics, subscriptions, schedules, mappings, platform_applications, opted_out_numbers.
    `group` is a schedule's group.
    """
    if (yield from is_reached(kind, name, context, group, more)):
        raise error(explain_quota(kind, context))


def explain_quota(kind: str, context: QuotaContext) -> str:
    """Returns the error text for one item more than the quota."""
    return f"An account can have {read_quota(kind, context)} {kind.replace('_', ' ')}."


def read_quota(kind: str, context: QuotaContext) -> int:
    """Returns the setting; 0 means no limit."""
    return int(getattr(context.environment.settings, f"quota_{kind}"))


def is_reached(
    kind: str, name: str | None, context: QuotaContext, group: str | None = None, more: int = 1
) -> Operation[bool]:
    """Returns whether `more` further items of this kind exceed the quota, and the account has no item of this name."""
    most = read_quota(kind, context)
    if most == 0:
        return False
    count = max(0, most - more + 1)
    (row,) = yield from Call(QUOTA_REACHED, (context.account_id, context.region, kind, group, name, count))
    return row.reached


def explain_deliveries_quota(settings: Settings) -> str:
    """Returns the text of the error for an exceeded quota."""
    return f"{settings.quota_deliveries} deliveries of an account can wait."
