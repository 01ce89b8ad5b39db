"""Errors of the management API that AWS's APIs do not have."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import AwsError


class MessageNotFound(AwsError):  # noqa: N818 - called as the answer is
    """No message has this id (any more)."""

    json_type = query_code = "MessageNotFound"
    status = 404
    default_message = "The message does not exist."


class SubscriptionNotFound(AwsError):  # noqa: N818 - called as the answer is
    """No binding has this pattern and id."""

    json_type = query_code = "SubscriptionNotFound"
    status = 404
    default_message = "The subscription does not exist."


class StaleReceipt(AwsError):  # noqa: N818 - called as the answer is
    """A transaction acknowledges a message that was deleted or received again after the receipt was issued."""

    json_type = query_code = "StaleReceipt"
    status = 409


class DeliveryNotFound(AwsError):  # noqa: N818 - called as the answer is
    """No delivery has this id: it was delivered or moved to a dead-letter queue, or it never existed."""

    json_type = query_code = "DeliveryNotFound"
    status = 404
    default_message = "The delivery does not exist."


class EndpointNotFound(AwsError):  # noqa: N818 - called as the answer is
    """No subscription, binding or recent attempt of the account has this URL; or, to resume, it is not paused."""

    json_type = query_code = "EndpointNotFound"
    status = 404
    default_message = "The account delivers nothing to this endpoint."


class UserNotFound(AwsError):  # noqa: N818 - called as the answer is
    """The account has no user of this name."""

    json_type = query_code = "UserNotFound"
    status = 404
    default_message = "The user does not exist."


class KeyNotFound(AwsError):  # noqa: N818 - called as the answer is
    """The account has no key of this id."""

    json_type = query_code = "KeyNotFound"
    status = 404
    default_message = "The key does not exist."


class AccessIsOff(AwsError):  # noqa: N818 - called as the answer is
    """The service changes users and keys only if it requires keys: otherwise anyone could create one."""

    json_type = query_code = "AccessIsOff"
    status = 409
    default_message = "The service requires no keys (QUEUE_ACCESS), so it creates none."


class ScheduleNotFound(AwsError):  # noqa: N818 - called as the answer is
    """No schedule has this name."""

    json_type = query_code = "ScheduleNotFound"
    status = 404

    @classmethod
    def named(cls, name: str) -> "ScheduleNotFound":
        """Returns the error for a schedule of this name."""
        return cls(f"Schedule '{name}' does not exist")


class ScheduleConflict(AwsError):  # noqa: N818 - called as the answer is
    """The name is taken, or the schedule does not permit this change or run."""

    json_type = query_code = "ScheduleConflict"
    status = 409


class ScheduleUnusable(AwsError):  # noqa: N818 - called as the answer is
    """A schedule that could never fire as it is written.

    `details` are members of the error document if an expression is wrong: its position (from 0, in the written
    expression), suggestion, examples.
    """

    json_type = query_code = "ScheduleInvalid"

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details or {}
