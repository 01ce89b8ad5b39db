"""What an access policy says about a caller, an action and the queue or topic that it belongs to.

An explicit Deny wins, then an Allow, else nobody is named. Understood are Effect, Principal, Action and Resource. What
is not understood (Condition, NotPrincipal, NotAction, NotResource) never allows, and holds where it denies.
Sources: "Policy evaluation logic" and "IAM JSON policy element reference" (IAM User Guide), "Overview of managing
access" (SQS Developer Guide). Callers are accounts, so a principal is `*`, an account id or the account's root.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import msgspec

_ROOT = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):root").fullmatch
_UNDERSTOOD = frozenset(("Sid", "Effect", "Principal", "Action", "Resource"))

# Who may do what with a topic that nobody has given a policy (an example of it: GetTopicAttributes, API reference).
OWNER_ACTIONS = (
    "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
    "ListSubscriptionsByTopic", "Publish",
)  # fmt: skip


class Verdict(Enum):
    """What a policy says."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NO_MATCH = "no match"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `accounts` are account ids or `*`. None: the statement lacks the element.

    `fully_understood`: it allows, and has no element that we do not evaluate.
    """

    denies: bool
    accounts: frozenset[str] | None
    actions: tuple[str, ...] | None
    resources: tuple[str, ...] | None
    fully_understood: bool

    def applies_to(self, account_id: str, action: str, arn: str) -> bool:
        """Whether it speaks of this caller, action (`sqs:sendmessage`) and queue."""
        if not self.denies and not self.fully_understood:
            return False
        return (
            (self.accounts is None or "*" in self.accounts or account_id in self.accounts)
            and (self.actions is None or any(matches(one, action) for one in self.actions))
            and (self.resources is None or any(matches(one, arn) for one in self.resources))
        )


def evaluate(policy: str | None, account_id: str, action: str, arn: str) -> Verdict:
    """What the policy (JSON text; None: there is none) says. `action` is one of IAM's, such as `sqs:SendMessage`."""
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
    """The statements of a policy; none when it is not JSON. Cached by its text, so a change holds at once."""
    try:
        document = msgspec.json.decode(policy)
    except (msgspec.DecodeError, RecursionError):
        return ()
    found = document.get("Statement") if isinstance(document, dict) else None
    return tuple(_statement(one) for one in _listed(found) if isinstance(one, dict))


def _statement(given: dict[str, Any]) -> Statement:
    accounts = frozenset(_accounts(given["Principal"])) if "Principal" in given else None
    actions = tuple(text.lower() for text in _texts(given["Action"])) if "Action" in given else None
    resources = tuple(_texts(given["Resource"])) if "Resource" in given else None
    fully_understood = (
        given.get("Effect") == "Allow"
        and given.keys() <= _UNDERSTOOD
        and None not in (accounts, actions, resources)
    )
    return Statement(given.get("Effect") != "Allow", accounts, actions, resources, fully_understood)


def _accounts(principal: Any) -> Iterator[str]:
    """Of `"*"` and `{"AWS": …}`. A user, a role or a service is nobody whom we can tell apart: it matches no caller."""
    aws = principal.get("AWS") if isinstance(principal, dict) else principal
    for text in _texts(aws):
        root = _ROOT(text)
        yield root[1] if root else text


def _texts(value: Any) -> list[str]:
    return [text for text in _listed(value) if isinstance(text, str)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def matches(pattern: str, text: str) -> bool:
    """Whether the text is like the pattern: `*` is any text, `?` any character. Time is their product at worst."""
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
