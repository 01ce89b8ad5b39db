"""How many queues, topics, subscriptions and schedules an account may have, so that none fills the installation.

Quotas are settings; 0 is any number. AWS's are the defaults where AWS has one ("Amazon SNS endpoints and quotas",
"Amazon EventBridge Scheduler endpoints and quotas", AWS General Reference).
"""

from collections.abc import Callable
from typing import Protocol

from penstock.effects import Call, Operation
from penstock.postgres.statements.access import QUOTA_REACHED
from penstock.settings import Settings


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
) -> Operation[None]:
    """Raises `error` when the caller's account has as many of this kind as it may have, and none of this name.

    `kind`: queues, topics, subscriptions or schedules. `group`: of a schedule.
    """
    if (yield from is_reached(kind, name, context, group)):
        most = quota_of(kind, context)
        raise error(f"An account can have {most} {kind}.")


def quota_of(kind: str, context: RequestContext) -> int:
    """The setting; 0: any number."""
    return int(getattr(context.environment.settings, f"quota_{kind}"))


def is_reached(
    kind: str, name: str | None, context: RequestContext, group: str | None = None
) -> Operation[bool]:
    """Whether the account can have no other of this kind, and has none of this name."""
    most = quota_of(kind, context)
    if most == 0:
        return False
    (row,) = yield from Call(QUOTA_REACHED, (context.account_id, context.region, kind, group, name, most))
    return row.reached
