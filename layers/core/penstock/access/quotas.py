"""Limits the queues, topics, subscriptions, schedules, mappings and deliveries of an account.

Also counts requests for their limit (`request_rate`). queue.claim_schedules limits how often an account's schedules
fire.

Each quota is a setting, in which 0 means no limit. The default is AWS's quota, if one exists ("Amazon SNS endpoints and
quotas", "Amazon EventBridge Scheduler endpoints and quotas", AWS General Reference).
"""

from collections.abc import Callable

from penstock.effects import Call, Operation
from penstock.postgres.statements.access import QUOTA_REACHED
from penstock.settings import Settings

from .context import RequestContext
from .failures import rate_limit_key

TOO_MANY_DELIVERIES = "RequestThrottled"
"""The error that SQL functions raise when an account publishes too much. The quota counts the account's deliveries and
the messages for the gateway or the mail server (queue.find_delivery_excess)."""


def check_quota(
    kind: str,
    name: str | None,
    context: RequestContext,
    error: Callable[[str], Exception],
    group: str | None = None,
    more: int = 1,
) -> Operation[None]:
    """Raises `error` if the account has no item of this name and `more` further items exceed the quota.

    `kind` is queues, topics, subscriptions, schedules, mappings, platform_applications or opted_out_numbers. `group`
    is a schedule's group.
    """
    if (yield from is_reached(kind, name, context, group, more)):
        raise error(explain_quota(kind, context))


def explain_quota(kind: str, context: RequestContext) -> str:
    """Returns the error text for an exceeded quota."""
    most, noun = read_quota(kind, context), kind.replace("_", " ")
    return f"An account can have {most} {noun.removesuffix('s') if most == 1 else noun}."


def read_quota(kind: str, context: RequestContext) -> int:
    """Returns the quota, or 0 for no limit."""
    return int(getattr(context.environment.settings, f"quota_{kind}"))


def is_reached(
    kind: str, name: str | None, context: RequestContext, group: str | None = None, more: int = 1
) -> Operation[bool]:
    """Returns whether the account has no item of this name and `more` further items exceed the quota."""
    most = read_quota(kind, context)
    if most == 0:
        return False
    count = max(0, most - more + 1)
    (row,) = yield from Call(QUOTA_REACHED, (context.account_id, context.region, kind, group, name, count))
    return row.reached


def explain_deliveries_quota(settings: Settings) -> str:
    """Returns the error text for an exceeded delivery quota."""
    most = settings.quota_deliveries
    return f"{most} {'delivery' if most == 1 else 'deliveries'} of an account can wait."


# --- requests --------------------------------------------------------------------------------------------------------
def check_rate(context: RequestContext, size: int) -> None:
    """Counts a request of `size` bytes after authentication. Raises RequestThrottled."""
    rate = context.environment.request_rate
    if rate is not None:
        rate.check(_name_caller(context), size)


def count_response(context: RequestContext, size: int) -> None:
    """Counts a response of `size` bytes. Does not count the first 64 KiB of a response."""
    rate = context.environment.request_rate
    if rate is not None:
        rate.count_response(_name_caller(context), size)


def _name_caller(context: RequestContext) -> str:
    return rate_limit_key(context.client_address) if context.user is None else context.account_id
