"""Evaluates an access policy for a caller, an action and the queue or topic that the policy belongs to.

An explicit Deny wins, then an Allow, else there is no match. Effect, Principal, Action and Resource are evaluated. A
statement with another element (Condition, NotPrincipal, NotAction, NotResource) never allows; as a Deny it applies
whatever that element says.
Sources: "Policy evaluation logic" and "IAM JSON policy element reference" (IAM User Guide), "Overview of managing
access" (SQS Developer Guide). Callers are accounts, so a principal is `*`, an account id or the account's root.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import msgspec

_ROOT = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):root").fullmatch
_UNDERSTOOD = frozenset(("Sid", "Effect", "Principal", "Action", "Resource"))

# The owner's actions in the default policy of a topic (an example of it: GetTopicAttributes, API reference).
OWNER_ACTIONS = (
    "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
    "ListSubscriptionsByTopic", "Publish",
)  # fmt: skip


class Verdict(Enum):
    """The result of evaluating a policy."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NO_MATCH = "no match"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `accounts` are account ids or `*`. None: the statement lacks the element.

    `fully_understood`: an Allow that has all elements which we evaluate, and no other.
    """

    denies: bool
    accounts: frozenset[str] | None
    actions: tuple[str, ...] | None
    resources: tuple[str, ...] | None
    fully_understood: bool

    def applies_to(self, account_id: str, action: str, arn: str) -> bool:
        """Whether it applies to this caller, action (in lower case: `sqs:sendmessage`) and queue or topic."""
        if not self.denies and not self.fully_understood:
            return False
        return (
            (self.accounts is None or "*" in self.accounts or account_id in self.accounts)
            and (self.actions is None or any(matches(one, action) for one in self.actions))
            and (self.resources is None or any(matches(one, arn) for one in self.resources))
        )


def evaluate(policy: str | None, account_id: str, action: str, arn: str) -> Verdict:
    """The verdict of a policy (JSON text, None: no policy). `action` is one of IAM's, such as `sqs:SendMessage`."""
    if not policy:
        return Verdict.NO_MATCH
    verdict = Verdict.NO_MATCH
    for statement in statements(policy):
        if statement.applies_to(account_id, action.lower(), arn):
            if statement.denies:
                return Verdict.DENIED
            verdict = Verdict.ALLOWED
    return verdict


@lru_cache(maxsize=256)
def statements(policy: str) -> tuple[Statement, ...]:
    """The statements of a policy; none when it is not JSON. Cached by its text, so a change takes effect at once."""
    try:
        document = msgspec.json.decode(policy)
    except (msgspec.DecodeError, RecursionError):
        return ()
    elements = document.get("Statement") if isinstance(document, dict) else None
    return tuple(_statement(one) for one in _listed(elements) if isinstance(one, dict))


def _statement(fields: dict[str, object]) -> Statement:
    accounts = frozenset(_accounts(fields["Principal"])) if "Principal" in fields else None
    actions = tuple(text.lower() for text in _texts(fields["Action"])) if "Action" in fields else None
    resources = tuple(_texts(fields["Resource"])) if "Resource" in fields else None
    fully_understood = (
        fields.get("Effect") == "Allow"
        and fields.keys() <= _UNDERSTOOD
        and None not in (accounts, actions, resources)
    )
    return Statement(fields.get("Effect") != "Allow", accounts, actions, resources, fully_understood)


def _accounts(principal: object) -> Iterator[str]:
    """The accounts of `"*"` and `{"AWS": …}`. Users, roles and services match no caller: callers are accounts."""
    aws = principal.get("AWS") if isinstance(principal, dict) else principal
    for text in _texts(aws):
        root = _ROOT(text)
        yield root[1] if root else text


def _texts(value: object) -> list[str]:
    return [text for text in _listed(value) if isinstance(text, str)]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def matches(pattern: str, text: str) -> bool:
    """Whether the text matches the pattern: `*` is any text, `?` any character.

    The worst case takes time proportional to the product of their lengths.
    """
    at_pattern = at_text = 0
    star, retry = -1, 0
    while at_text < len(text):
        if at_pattern < len(pattern) and pattern[at_pattern] == "*":
            star, retry = at_pattern, at_text
            at_pattern += 1
        elif at_pattern < len(pattern) and pattern[at_pattern] in ("?", text[at_text]):
            at_pattern += 1
            at_text += 1
        elif star >= 0:
            retry += 1
            at_pattern, at_text = star + 1, retry
        else:
            return False
    return pattern[at_pattern:].strip("*") == ""
