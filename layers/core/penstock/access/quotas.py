"""How many queues, topics, subscriptions, schedules, mappings and deliveries an account may have.

Quotas keep an account from filling the installation. How many requests it may make is in `request_rate`, how often
its schedules fire in queue.claim_schedules.

Quotas are settings; 0 is any number. AWS's are the defaults where AWS has one ("Amazon SNS endpoints and quotas",
"Amazon EventBridge Scheduler endpoints and quotas", AWS General Reference).
"""

from collections.abc import Callable
from typing import Protocol

from penstock.effects import Call, Operation
from penstock.postgres.statements.access import QUOTA_REACHED
from penstock.settings import Settings

TOO_MANY_DELIVERIES = "RequestThrottled"
"""The error of SQL functions that publish when queue.find_delivery_excess has found too many deliveries of an account,
or too many messages for the gateway or the mail server.
"""


class Environment(Protocol):
    """The environment of the process, as far as it matters here."""

    @property
    def settings(self) -> Settings: ...


class RequestContext(Protocol):
    """The context of a request, as far as it matters here."""

    account_id: str
    region: str

    @property
    def environment(self) -> Environment: ...


def check_quota(
    kind: str,
    name: str | None,
    context: RequestContext,
    error: Callable[[str], Exception],
    group: str | None = None,
    more: int = 1,
) -> Operation[None]:
    """Raises `error` when so many `more` of this kind are too many for the account, which has none of this name.

    `kind`: queues, topics, subscriptions, schedules, mappings, platform_applications, opted_out_numbers.
    `group`: of a schedule.
    """
    if (yield from is_reached(kind, name, context, group, more)):
        raise error(too_many(kind, context))


def too_many(kind: str, context: RequestContext) -> str:
    """The text of the error for one more than an account may have."""
    return f"An account can have {read_quota(kind, context)} {kind.replace('_', ' ')}."


def read_quota(kind: str, context: RequestContext) -> int:
    """The setting; 0: any number."""
    return int(getattr(context.environment.settings, f"quota_{kind}"))


def is_reached(
    kind: str, name: str | None, context: RequestContext, group: str | None = None, more: int = 1
) -> Operation[bool]:
    """Whether the account cannot have so many `more` of this kind, and has none of this name."""
    most = read_quota(kind, context)
    if most == 0:
        return False
    count = max(0, most - more + 1)
    (row,) = yield from Call(QUOTA_REACHED, (context.account_id, context.region, kind, group, name, count))
    return row.reached


def too_many_deliveries(settings: Settings) -> str:
    """The text of that error."""
    return f"{settings.quota_deliveries} deliveries of an account can wait."
