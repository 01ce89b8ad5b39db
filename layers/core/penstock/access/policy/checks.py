"""Validates a queue's or topic's policy before it is stored.

Sources: "Grammar of the IAM JSON policy language", "IAM JSON policy elements: Condition operators" (IAM User Guide);
"Amazon SQS policy quotas"
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html); "Amazon SNS API
permissions: Actions and resources reference"
(https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-language-api-permissions-reference.html); "Actions,
resources, and condition keys for Amazon SQS", and for Amazon SNS (Service Authorization Reference).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from penstock.aws.json_text import decode_json

from .statements import as_list, find_misspelling

MAX_BRACKETS = 500  # a policy with 20 statements has 100 patterns

_PRINCIPAL_KINDS = frozenset(("AWS", "Service", "Federated", "CanonicalUser"))
# Matches an account, an IAM or STS identity, or the id that AWS shows for a deleted identity. The module compiles the
# patterns when it checks a policy, because every function imports the module.
_PRINCIPAL = r"\*|[0-9]{12}|[A-Z0-9]{16,128}|arn:aws:(iam|sts)::[0-9]{12}:(root|[a-z-]+/[A-Za-z0-9_+=,.@/-]+)"
_ACTION = r"\*|([A-Za-z0-9*?-]+):([A-Za-z*?]+)"
_OPERATOR = (
    r"(forallvalues:|foranyvalue:)?((string(not)?(equals|equalsignorecase|like)"
    r"|(numeric|date)(not)?equals|(numeric|date)(less|greater)than(equals)?"
    r"|bool|binaryequals|(not)?ipaddress|arn(not)?(equals|like))(ifexists)?|null)"
)

SQS_ACTIONS = frozenset((
    "addpermission", "cancelmessagemovetask", "changemessagevisibility", "createqueue", "deletemessage",
    "deletequeue", "getqueueattributes", "getqueueurl", "listdeadlettersourcequeues",
    "listmessagemovetasks", "listqueues", "listqueuetags", "purgequeue", "receivemessage",
    "removepermission", "sendmessage", "setqueueattributes", "startmessagemovetask", "tagqueue",
    "untagqueue",
))  # fmt: skip
SNS_ACTIONS = frozenset((
    "addpermission", "deletetopic", "getdataprotectionpolicy", "gettopicattributes",
    "listsubscriptionsbytopic", "listtagsforresource", "publish", "putdataprotectionpolicy", "receive",
    "removepermission", "settopicattributes", "subscribe", "tagresource", "untagresource",
))  # fmt: skip


class PolicyProblem(NamedTuple):
    """The reason why AWS refuses a policy.

    `kind` is form, principal, action, or (if there are too many) statements or actions. `found` is the wrong action,
    or the number of statements or actions.
    """

    kind: str
    found: str = ""


class PolicyRules(NamedTuple):
    """The rules for resource policies of one service. `actions` are names in lower case."""

    service: str
    actions: frozenset[str]
    most_statements: int
    most_actions: int | None


EVENTS_ACTIONS = frozenset((
    "createeventsource", "createsubscriber", "deleteeventbus", "deleteresourcepolicy", "describeeventbus",
    "getresourcepolicy", "listeventsources", "listresourcepolicies", "listsubscribers", "listtagsforresource",
    "putevents", "putrawevents", "putresourcepolicy", "tagresource", "untagresource", "updateeventbus",
    "updatesubscriber",
))  # fmt: skip

SQS_RULES = PolicyRules("sqs", SQS_ACTIONS, 20, 7)
SNS_RULES = PolicyRules("sns", SNS_ACTIONS, 100, None)
EVENTS_RULES = PolicyRules("events", EVENTS_ACTIONS, 100, None)


def find_policy_problem(text: str, rules: PolicyRules) -> PolicyProblem | None:
    """Returns the first problem of a resource policy, or None."""
    if text.count("[") + text.count("{") > MAX_BRACKETS * rules.most_statements // SQS_RULES.most_statements:
        return PolicyProblem("form")
    try:
        document = decode_json(text)
    except (ValueError, RecursionError):
        return PolicyProblem("form")
    if not isinstance(document, dict) or not document.get("Statement") or find_misspelling(text):
        return PolicyProblem("form")
    statements = as_list(document["Statement"])
    if len(statements) > rules.most_statements:
        return PolicyProblem("statements", str(len(statements)))
    return next(_find_problems(statements, rules), None)


def _find_problems(statements: list[object], rules: PolicyRules) -> Iterator[PolicyProblem]:
    for statement in statements:
        if isinstance(statement, dict):
            yield from _check_statement(statement, rules)


def _check_statement(statement: dict[str, object], rules: PolicyRules) -> Iterator[PolicyProblem]:
    for element in ("Principal", "Action", "Resource"):
        if (element in statement) == (f"Not{element}" in statement):
            yield PolicyProblem("form")
    if not _has_principals(statement.get("Principal", statement.get("NotPrincipal"))):
        yield PolicyProblem("principal")
    resources = _list_texts(statement.get("Resource", statement.get("NotResource")))
    if not resources or not has_known_operators(statement.get("Condition", {})):
        yield PolicyProblem("form")
    actions = _list_texts(statement.get("Action", statement.get("NotAction")))
    if not actions:
        yield PolicyProblem("form")
    if rules.most_actions is not None and len(actions) > rules.most_actions:
        yield PolicyProblem("actions", str(len(actions)))
    yield from (PolicyProblem("action", action) for action in actions if not _is_known(action, rules))


def _has_principals(element: object) -> bool:
    """Returns whether a Principal element is `*`, or names at least one principal of each kind."""
    if element == "*":
        return True
    if not isinstance(element, dict) or not element or not element.keys() <= _PRINCIPAL_KINDS:
        return False
    identities = _list_texts(element.get("AWS", "*"))
    return all(map(_list_texts, element.values())) and all(
        re.fullmatch(_PRINCIPAL, identity) for identity in identities
    )


def _is_known(action: str, rules: PolicyRules) -> bool:
    """Returns whether a pattern can match an action of the service. Accepts every name with a wildcard."""
    parts = re.fullmatch(_ACTION, action)
    if parts is None:
        return False
    service, name = (parts[1] or "*").lower(), (parts[2] or "*").lower()
    has_wildcard = "*" in service + name or "?" in service + name
    return has_wildcard or (service == rules.service and name in rules.actions)


def has_known_operators(condition: object) -> bool:
    """Returns whether IAM defines all operators of a Condition element, and each operator has a key with values."""
    return isinstance(condition, dict) and all(
        re.fullmatch(_OPERATOR, operator.lower())
        and isinstance(keys, dict)
        and keys
        and all(isinstance(element, str | int | float) for value in keys.values() for element in as_list(value))
        for operator, keys in condition.items()
    )


def _list_texts(value: object) -> list[str]:
    """Returns a text as a list with one item, the texts of a list, or an empty list for other values."""
    texts = [element for element in as_list(value) if isinstance(element, str) and element]
    return texts if len(texts) == len(as_list(value)) else []
