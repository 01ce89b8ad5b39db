"""Describes a request to policy evaluation: the caller, the action, the resource and the condition keys."""

from collections.abc import Mapping
from typing import NamedTuple


class Principal(NamedTuple):
    """A caller, which is an account's root user, another user, or a service that acts for a resource.

    `arn` is the caller's ARN in IAM: `arn:aws:iam::111122223333:user/billing` or `…:root`. `service` is a service's
    name, such as `sns.amazonaws.com`. A service has neither an account nor an ARN.
    """

    account_id: str | None
    arn: str | None
    service: str | None = None

    @property
    def is_root(self) -> bool:
        """Whether this caller is the root user, who can do everything in the account unless a Deny applies."""
        return self.arn is not None and self.arn.endswith(":root")

    @property
    def user_name(self) -> str | None:
        """The user's name without its path, or None if the caller is not a user."""
        return self.arn.rpartition("/")[2] if self.arn is not None and ":user/" in self.arn else None


def build_root(account_id: str) -> Principal:
    """Returns the root user of an account. A key without a user belongs to the root user."""
    return Principal(account_id, f"arn:aws:iam::{account_id}:root")


class AccessRequest(NamedTuple):
    """`action` is IAM's name in lower case, such as `sqs:sendmessage`. `arn` is the queue's or topic's ARN.

    `keys` maps the request's condition keys (`conditions.KEYS`) to values.
    """

    principal: Principal
    action: str
    arn: str
    keys: Mapping[str, str]
