"""The whole table: cases of all services, by action."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from tests.conformance.cases import scheduler, sns, sns_members
from tests.support.cases.case import Case, Members

USUAL: dict[str, dict[str, Members]] = {"sns": sns_members.USUAL, "scheduler": scheduler.USUAL}
ALL: tuple[Case, ...] = (*sns_members.cases(), *sns.cases(), *scheduler.cases())


def _by_action() -> dict[tuple[str, str], list[Case]]:
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in ALL:
        found[case.service, case.action].append(case)
    return dict(found)


BY_ACTION = _by_action()


class _EveryTwentieth:
    """Cases that run at all doors."""

    def __init__(self) -> None:
        self._ids = {id(case) for case in ALL[::20]}

    def __contains__(self, case: Case) -> bool:
        return id(case) in self._ids


EVERYWHERE = _EveryTwentieth()
FORBIDDEN = ("AuthorizationError", "AccessDenied", "OverLimit", "FilterPolicyLimitExceeded", "SubscriptionLimitExceeded",
             "TopicLimitExceeded", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
             "AWS.SimpleQueueService.PurgeQueueInProgress")  # fmt: skip
STATUSES = {
    "": 200,
    **dict.fromkeys(FORBIDDEN, 403),
    **dict.fromkeys(("NotFound", "ResourceNotFound", "ResourceNotFoundException"), 404),
    "ConflictException": 409,
}
"""HTTP statuses of botocore's models and "Common Errors"; others are 400."""


@cache
def _status(code: str) -> int:
    return STATUSES.get(code, 400)


def status_of(case: Case) -> int:
    """The status of a case's answer."""
    return _status(case.expected.code)
