"""The users of an account. IAM policies and three built-in policies define the users' permissions.

The policy `read` shows names, attributes, counts and metrics, but no messages. The policy `operate` allows `read` and
the use of existing resources. A user with `operate` can create, change and delete only messages. The policy `admin`
allows everything.

Actions have AWS's names (`sqs:SendMessage`, `sns:Publish`, `scheduler:CreateSchedule`). A batch action has the name of
its single action. Actions that only the REST API offers have the prefix `penstock:` (`penstock.management.actions`).
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from .policy.evaluation import Decision, evaluate_user, is_ever_allowed, is_ever_denied
from .policy.requests import AccessRequest, Principal, build_root

READ = (
    "sqs:Get*", "sqs:List*", "sns:Get*", "sns:List*", "scheduler:Get*", "scheduler:List*", "lambda:Get*",
    "lambda:List*", "events:Describe*", "events:Get*", "events:List*", "penstock:Get*", "penstock:List*",
    "penstock:Match*", "penstock:Preview*",
)  # fmt: skip
OPERATE = (
    *READ, "sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility",
    "sqs:PurgeQueue", "sqs:StartMessageMoveTask", "sqs:CancelMessageMoveTask", "sns:Publish", "events:PutEvents",
    "events:PutRawEvents", "penstock:PublishEvent", "penstock:ReadArchive", "penstock:ReadOutbox",
    "penstock:RetryDelivery", "penstock:PauseEndpoint", "penstock:TestEndpoint", "penstock:TestAlerts",
    "penstock:MuteAlerts", "penstock:PauseQueue", "penstock:ReplayEvents", "penstock:RunSchedule",
)  # fmt: skip
MAX_POLICY_LENGTH = 6_144  # the most characters of a managed policy ("IAM and AWS STS quotas", IAM User Guide)


def _build_policy(actions: Iterable[str]) -> str:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return msgspec.json.encode({"Version": "2012-10-17", "Statement": [statement]}).decode()


BUILT_IN = {"read": _build_policy(READ), "operate": _build_policy(OPERATE), "admin": _build_policy(["*"])}
"""The text of each built-in policy."""


class User(NamedTuple):
    """A user. `policies` are JSON texts."""

    principal: Principal
    policies: tuple[str, ...]

    def decide(self, request: AccessRequest) -> Decision:
        """Returns ALLOWED, DENIED or NO_MATCH."""
        if self.principal.is_root:
            return Decision.ALLOWED
        return evaluate_user(self.policies, request)

    def may_ever(self, action: str) -> bool:
        """Returns whether a policy allows an action (in lower case) for any resource and condition."""
        return self.principal.is_root or is_ever_allowed(self.policies, action)

    def is_ever_denied(self, action: str) -> bool:
        """Returns whether a policy denies an action (in lower case) for any resource and condition."""
        return is_ever_denied(self.policies, action)


class Actor:
    """The caller of a request. `penstock.context.Context` adds the rest of the request."""

    __slots__ = ()

    account_id: str
    user: User | None
    key_id: str | None

    @property
    def client_address(self) -> str:
        """Returns the client's IP address, or an empty string if the address is unknown."""
        raise NotImplementedError

    @property
    def interface_name(self) -> str:
        """Returns the name of the API that received the request."""
        raise NotImplementedError


class DatabaseOperator(Actor):
    """The caller of a command that uses the database. In the audit log the actor is the command's database role."""

    __slots__ = ("account_id",)

    user = None
    key_id = None
    client_address = ""
    interface_name = "database"

    def __init__(self, account_id: str) -> None:
        self.account_id = account_id


def build_user_arn(account_id: str, name: str) -> str:
    return f"arn:aws:iam::{account_id}:user/{name}"


def build_owner_arn(name: str | None, account_id: str) -> str:
    """Returns the ARN of a key's owner: a user, or the account's root user."""
    return f"arn:aws:iam::{account_id}:root" if name is None else build_user_arn(account_id, name)


def build_user(account_id: str, user_name: str | None, policies: Iterable[str] | None) -> User:
    """Returns the user of a key. A key without a user belongs to the account's root user, who can do everything."""
    if user_name is None:
        return User(build_root(account_id), ())
    texts = tuple(BUILT_IN.get(policy, policy) for policy in policies or ())
    return User(Principal(account_id, build_user_arn(account_id, user_name)), texts)
