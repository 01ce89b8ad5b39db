"""Parses the statements of a policy of a user, queue or topic.

A statement applies to a request if all its elements match. An Allow never applies if an element is missing, unknown, or
contains a policy variable (`${…}`). In a Deny, a missing or unknown element, or an element with a policy variable,
counts as matching.

Sources: "IAM JSON policy element reference" (IAM User Guide), "Overview of managing access" (SQS Developer Guide).
"""

import re
from functools import lru_cache
from typing import NamedTuple

from penstock.aws.json_text import decode_json

from .conditions import PUBLISHING, Condition, read_conditions
from .patterns import Pattern
from .requests import AccessRequest, Principal

_ROOT = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):root").fullmatch
_ELEMENTS = frozenset((
    "Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition",
))  # fmt: skip

_DOCUMENT = frozenset(("Version", "Id", "Statement"))
_VERSIONS = ("2008-10-17", "2012-10-17")

# The most policies in the cache. The longest policy has 30,720 bytes.
MAX_POLICIES = 256


class Principals(NamedTuple):
    """The callers that a Principal element names. Each id in `accounts` includes all callers of the account."""

    everybody: bool
    accounts: frozenset[str]
    arns: frozenset[str]
    services: frozenset[str]

    def name(self, principal: Principal) -> bool:
        """Returns whether the element names this caller: `*`, a service, a user, or the account's root user."""
        return (
            self.everybody
            or principal.arn in self.arns
            or principal.service in self.services
            or (principal.is_root and principal.account_id in self.accounts)
        )

    def name_account(self, principal: Principal) -> bool:
        return principal.account_id in self.accounts


class Patterns(NamedTuple):
    """The patterns of Action or Resource. If `is_negated` is set, the patterns belong to NotAction or NotResource."""

    patterns: tuple[Pattern, ...]
    is_negated: bool

    def match(self, text: str) -> bool:
        return any(pattern.matches(text) for pattern in self.patterns) is not self.is_negated


class PolicyStatement(NamedTuple):
    """One statement. A field is None if the element is missing or unsupported.

    `is_complete` is false if an element is missing or unsupported. An incomplete Allow never applies. `principals` is
    None in a user's policy, which applies to that user.
    """

    denies: bool
    is_complete: bool
    principals: Principals | None
    excludes_principals: bool
    actions: Patterns | None
    resources: Patterns | None
    conditions: tuple[Condition, ...] | None
    is_of_event: bool
    """Whether a condition has a key that only requests that publish events support."""

    def applies_to(self, request: AccessRequest) -> bool:
        return (
            (self.denies or self.is_complete)
            and self.names(request.action)
            and (self.resources is None or self.resources.match(request.arn))
            and self._meets_conditions(request)
        )

    def _meets_conditions(self, request: AccessRequest) -> bool:
        """Returns whether the conditions are true. A condition that the request's action does not support is false in
        an Allow, and true in a Deny."""
        if self.conditions is None:
            return True
        if self.is_of_event and request.action not in PUBLISHING:
            return self.denies
        return all(condition.holds(request.keys) for condition in self.conditions)

    def names(self, action: str) -> bool:
        return self.actions is None or self.actions.match(action)


class Policy(NamedTuple):
    """The statements, and the condition keys that the statements compare."""

    statements: tuple[PolicyStatement, ...]
    keys: tuple[str, ...]


@lru_cache(maxsize=MAX_POLICIES)
def read_policy(text: str, *, of_user: bool = False) -> Policy:
    """Parses a policy. A text that is not JSON has no statements. The text is the cache key, so a changed policy takes
    effect immediately."""
    statements = tuple(_parse_statement(statement, of_user) for statement in list_statements(text))
    keys = {condition.key for statement in statements for condition in statement.conditions or ()}
    return Policy(statements, tuple(sorted(keys)))


def list_statements(text: str) -> list[dict[str, object]]:
    """Returns the statements of a JSON policy that are objects, or an empty list if the text is not a policy."""
    try:
        document = decode_json(text)
    except (ValueError, RecursionError):
        return []
    elements = document.get("Statement") if isinstance(document, dict) else None
    return [element for element in as_list(elements) if isinstance(element, dict)]


def find_misspelling(text: str) -> str | None:
    """Returns the first element, version or effect that IAM does not define, or a duplicate Sid. Returns None if the
    policy is correct or is not a JSON object.

    Sources: "IAM JSON policy elements reference", the pages about Version and Sid (IAM User Guide).
    """
    try:
        document = decode_json(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not document:
        return None
    if unknown := sorted(document.keys() - _DOCUMENT):
        return f"a policy has {', '.join(sorted(_DOCUMENT))}, not {unknown[0]!r}"
    if (version := document.get("Version", _VERSIONS[0])) not in _VERSIONS:
        return f"the Version of a policy is {' or '.join(_VERSIONS)}, not {version!r}"
    return _find_misspelt_statement(as_list(document.get("Statement"))) or _find_foreign_resource(text)


def _find_misspelt_statement(statements: list[object]) -> str | None:
    seen: set[str] = set()
    for statement in statements:
        if not isinstance(statement, dict):
            return "a statement of a policy is an object"
        if unknown := sorted(statement.keys() - _ELEMENTS):
            return f"a statement has {', '.join(sorted(_ELEMENTS))}, not {unknown[0]!r}"
        if (effect := statement.get("Effect")) not in ("Allow", "Deny"):
            return f"the Effect of a statement is Allow or Deny, not {effect!r}"
        if not isinstance(sid := statement.get("Sid", ""), str):
            return f"the Sid of a statement is a text, not {sid!r}"
        if sid in seen:
            return f"two statements have the Sid {sid!r}"
        if sid:  # Terraform writes an empty Sid
            seen.add(sid)
    return None


def _find_foreign_resource(policy: str) -> str | None:
    """Returns a problem if a resource's partition cannot be `aws`. A resource in another partition never matches."""
    for statement in list_statements(policy):
        for text in (*as_list(statement.get("Resource", [])), *as_list(statement.get("NotResource", []))):
            if isinstance(text, str) and text.startswith("arn:") and not _may_be_ours(text):
                return f"an ARN begins with arn:aws:, not {text[:80]!r}: Penstock has only the partition aws"
    return None


def _may_be_ours(arn: str) -> bool:
    head, star, _ = arn.removeprefix("arn:").partition(":")[0].partition("*")
    return Pattern(head + star).matches("aws")


def _parse_statement(fields: dict[str, object], of_user: bool) -> PolicyStatement:
    actions = _parse_patterns(fields, "Action", lower=True)
    resources = _parse_patterns(fields, "Resource")
    conditions = read_conditions(fields["Condition"]) if "Condition" in fields else ()
    excludes = "NotPrincipal" in fields
    principals = _parse_principals(fields.get("NotPrincipal" if excludes else "Principal"))
    understood = None not in (actions, resources, conditions) and fields.keys() <= _ELEMENTS
    named = of_user == (principals is None) and not excludes
    return PolicyStatement(
        denies=fields.get("Effect") != "Allow",
        is_complete=understood and named and fields.get("Effect") == "Allow",
        principals=principals,
        excludes_principals=excludes,
        actions=actions,
        resources=resources,
        conditions=conditions,
        is_of_event=any(condition.is_of_event for condition in conditions or ()),
    )


def _parse_patterns(fields: dict[str, object], element: str, *, lower: bool = False) -> Patterns | None:
    negated = f"Not{element}"
    if (element in fields) == (negated in fields):
        return None
    texts = _list_texts(fields.get(element, fields.get(negated)))
    if not texts or any("${" in text for text in texts):
        return None
    patterns = tuple(Pattern(text.lower() if lower else text) for text in texts)
    return Patterns(patterns, negated in fields)


def _parse_principals(element: object) -> Principals | None:
    """Parses `"*"`, `{"AWS": …}` and `{"Service": …}`. Other kinds of principals match no caller."""
    if element is None:
        return None
    kinds = element if isinstance(element, dict) else {"AWS": element}
    accounts, arns = set(), set()
    for text in _list_texts(kinds.get("AWS")):
        root = _ROOT(text)
        if root or len(text) == 12:
            accounts.add(root[1] if root else text)
        else:
            arns.add(text)
    return Principals("*" in arns, frozenset(accounts), frozenset(arns), frozenset(_list_texts(kinds.get("Service"))))


def _list_texts(value: object) -> list[str]:
    return [text for text in as_list(value) if isinstance(text, str)]


def as_list(value: object) -> list[object]:
    """Returns a list unchanged, and any other value as a list with one item."""
    return value if isinstance(value, list) else [value]
