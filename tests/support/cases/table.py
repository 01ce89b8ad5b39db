"""Combines the cases of all services, by action."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from tests.support.cases import policies
from tests.support.cases.case import OK, Answer, Case, Members
from tests.support.cases.scheduler import members as scheduler_members
from tests.support.cases.scheduler.rows import ROWS as SCHEDULER_ROWS
from tests.support.cases.sns import members as sns_members
from tests.support.cases.sns import messages as sns_messages
from tests.support.cases.sns import others, subscriptions, topics
from tests.support.cases.sns import states as sns_states
from tests.support.cases.sqs import members as sqs_members
from tests.support.cases.sqs import messages as sqs_messages
from tests.support.cases.sqs import queues
from tests.support.cases.sqs import states as sqs_states

USUAL: dict[str, dict[str, Members]] = {
    "sqs": sqs_members.USUAL,
    "sns": sns_members.USUAL,
    "scheduler": scheduler_members.USUAL,
}
"""Holds the usual requests, which cases change."""

DIFFERING: dict[tuple[str, str, str], tuple[Answer, str]] = {
    ("Unsubscribe", "SubscriptionArn", "of one that is pending"): (
        OK,
        "AWS forgets it after two days; here this request does, and nothing else",
    )
}
"""Holds Penstock's answers that differ from AWS's, and the reasons, by action, parameter and case."""


def _all() -> Iterator[Case]:
    yield from sqs_members.cases()
    yield from (Case("sqs", *row) for table in (queues, sqs_messages, sqs_states) for row in table.rows())
    yield from (Case("sqs", *row) for row in policies.sqs_rows())
    yield from sns_members.cases()
    yield from (Case("sns", *row) for row in policies.sns_rows())
    yield from (
        Case("sns", *row)
        for table in (topics, subscriptions, sns_messages, sns_states, others)
        for row in table.rows()
    )
    yield from scheduler_members.cases()
    yield from (Case("scheduler", *row) for row in SCHEDULER_ROWS)


def _differing(case: Case) -> Case:
    ours, why = DIFFERING.get((case.action, case.parameter, case.case), (None, ""))
    return case._replace(ours=ours, why=why)


ALL: tuple[Case, ...] = tuple(map(_differing, _all()))


def _by_action() -> dict[tuple[str, str], list[Case]]:
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in ALL:
        found[case.service, case.action].append(case)
    return dict(found)


BY_ACTION = _by_action()


class _EveryTwentieth:
    """Marks the cases that run at all endpoints."""

    def __init__(self) -> None:
        self._ids = {id(case) for case in ALL[::20]}

    def __contains__(self, case: Case) -> bool:
        return id(case) in self._ids


EVERYWHERE = _EveryTwentieth()
FORBIDDEN = (
    "AuthorizationError",
    "AccessDenied",
    "OverLimit",
    "FilterPolicyLimitExceeded",
    "SubscriptionLimitExceeded",
    "TopicLimitExceeded",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "AWS.SimpleQueueService.PurgeQueueInProgress",
)
STATUSES = {
    "": 200,
    **dict.fromkeys(FORBIDDEN, 403),
    **dict.fromkeys(("NotFound", "ResourceNotFound", "ResourceNotFoundException"), 404),
    "ConflictException": 409,
}
"""Holds the HTTP statuses from botocore's models and "Common Errors". All other errors have the status 400."""


@cache
def _status(code: str) -> int:
    return STATUSES.get(code, 400)


def status_of(case: Case) -> int:
    """Returns the status of a case's answer."""
    return _status(case.expected.code)
