"""Evaluates policies of users, queues and topics for a request ("Policy evaluation logic", IAM User Guide).

An explicit Deny wins over an Allow. The module caches results by caller, action, resource and the values that the
policy compares.
"""

from enum import Enum
from functools import lru_cache

from .requests import AccessRequest, Principal
from .statements import PolicyStatement, read_policy

MAX_DECISIONS = 4096
MAX_CACHED_LENGTH = 512  # the longest value in the cache, because the values of an event's metadata can be long


class Decision(Enum):
    """The result of the evaluation of a policy. ACCOUNT_ALLOWED: the policy allows the caller's account, but does not
    name the caller."""

    ALLOWED = "allowed"
    ACCOUNT_ALLOWED = "account allowed"
    DENIED = "denied"
    NO_MATCH = "no match"


def evaluate(policy: str | None, request: AccessRequest) -> Decision:
    """Evaluates the policy of a queue or topic, in JSON. `policy` is None if the resource has no policy."""
    return _evaluate_stored(policy, request, of_user=False)


def evaluate_user(policies: tuple[str, ...], request: AccessRequest) -> Decision:
    """Evaluates a user's policies, which do not have a Principal element."""
    decisions = [_evaluate_stored(policy, request, of_user=True) for policy in policies]
    return next(
        (decision for decision in (Decision.DENIED, Decision.ALLOWED) if decision in decisions), Decision.NO_MATCH
    )


def is_ever_allowed(policies: tuple[str, ...], action: str) -> bool:
    """Returns whether a user's policies allow the action for any resource and condition."""
    return any(
        not statement.denies and statement.is_complete and statement.names(action)
        for policy in policies
        for statement in read_policy(policy, of_user=True).statements
    )


def is_ever_denied(policies: tuple[str, ...], action: str) -> bool:
    """Returns whether a user's policies deny the action for any resource and condition."""
    return any(
        statement.denies and statement.names(action)
        for policy in policies
        for statement in read_policy(policy, of_user=True).statements
    )


def _evaluate_stored(text: str | None, request: AccessRequest, *, of_user: bool) -> Decision:
    if not text:
        return Decision.NO_MATCH
    keys = tuple((key, request.keys[key]) for key in read_policy(text, of_user=of_user).keys if key in request.keys)
    is_short = all(len(value) <= MAX_CACHED_LENGTH for _, value in keys)
    find = _find_decision if is_short else _find_decision.__wrapped__
    return find(text, of_user, request.principal, request.action, request.arn, keys)


@lru_cache(MAX_DECISIONS)
def _find_decision(
    text: str, of_user: bool, principal: Principal, action: str, arn: str, keys: tuple[tuple[str, str], ...]
) -> Decision:
    request = AccessRequest(principal, action, arn, dict(keys))
    decision = Decision.NO_MATCH
    for statement in read_policy(text, of_user=of_user).statements:
        if not statement.applies_to(request):
            continue
        if statement.denies and (of_user or is_denied(statement, principal)):
            return Decision.DENIED
        if not statement.denies:
            decision = apply_allow(decision, statement, principal, of_user=of_user)
    return decision


def is_denied(statement: PolicyStatement, principal: Principal) -> bool:
    """Returns whether a Deny applies to this caller. A Deny for an account applies to all users of the account."""
    if statement.principals is None:
        return True
    named = statement.principals.name(principal) or statement.principals.name_account(principal)
    return named is not statement.excludes_principals


def apply_allow(before: Decision, statement: PolicyStatement, principal: Principal, *, of_user: bool) -> Decision:
    """Returns the decision after an Allow that applies to the request. `before` is the decision of the earlier
    statements."""
    if of_user or before is Decision.ALLOWED:
        return Decision.ALLOWED
    if statement.principals is not None and statement.principals.name(principal):
        return Decision.ALLOWED
    if statement.principals is not None and statement.principals.name_account(principal):
        return Decision.ACCOUNT_ALLOWED
    return before
