"""The management API's errors that AWS's APIs lack."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import AwsError


class ManagementError(AwsError):
    """Base class of the management API's errors. An error's code is the class name, unless the class sets another
    code."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "json_type" not in cls.__dict__:
            cls.json_type = cls.query_code = cls.__name__


class ObjectNotFound(ManagementError):  # noqa: N818 - called as the response is
    """Base class of errors for objects that do not exist."""

    status = 404


class MessageNotFound(ObjectNotFound):
    """No message has this id, or the message no longer exists."""

    default_message = "The message does not exist."


class MessageInFlight(ManagementError):  # noqa: N818 - called as the response is
    """A consumer has received the message, and its visibility timeout is not over."""

    status = 409
    default_message = "A consumer has received the message and works on it."


class DuplicateMessage(ManagementError):  # noqa: N818 - called as the response is
    """The target FIFO queue would drop the message, because it has the deduplication id of an earlier message."""

    status = 409
    default_message = (
        "The target has received a message with this deduplication id in the last five minutes. Choose another id."
    )


class BodyNotJson(ManagementError):  # noqa: N818 - called as the response is
    """The body of an edited message is not JSON, although the original body is."""

    default_message = "The original body is JSON, and the edited body is not."


class UndoOver(MessageNotFound):
    """More than 30 seconds have passed since the deletion or the edit, or it was undone before."""

    default_message = "A deletion or an edit can be undone once, within 30 seconds."


class SubscriptionNotFound(ObjectNotFound):
    default_message = "The subscription does not exist."


class StaleReceipt(ManagementError):  # noqa: N818 - called as the response is
    """A transaction acknowledges a message that was deleted or received again after the receipt was issued."""

    status = 409


class DeliveryNotFound(ObjectNotFound):
    """No delivery has this id. The delivery never existed, succeeded, or was moved to a dead-letter queue."""

    default_message = "The delivery does not exist."


class EndpointNotFound(ObjectNotFound):
    """No subscription, binding or recent attempt of the account has this URL. Resuming an endpoint that is not paused
    also raises this error.
    """

    default_message = "The account delivers nothing to this endpoint."


class AlertsNotSet(ObjectNotFound):
    """The account has no address for alerts, and the installation's address does not belong to the account."""

    default_message = "The account has no address for alerts."


class BusNotFound(ObjectNotFound):
    @classmethod
    def named(cls, name: str) -> "BusNotFound":
        """Returns the error for an event bus of this name."""
        return cls(f"Event bus '{name}' does not exist")


class EventSourceNotFound(ObjectNotFound):
    """The account has no webhook event source of this name."""

    @classmethod
    def named(cls, name: str) -> "EventSourceNotFound":
        """Returns the error for an event source of this name."""
        return cls(f"Webhook event source '{name}' does not exist")


class SubscriberNotFound(ObjectNotFound):
    """The account has no subscriber of this name on the event bus."""

    @classmethod
    def named(cls, name: str) -> "SubscriberNotFound":
        """Returns the error for a subscriber of this name."""
        return cls(f"Subscriber '{name}' does not exist")


class ConnectionNotFound(ObjectNotFound):
    @classmethod
    def named(cls, name: str) -> "ConnectionNotFound":
        """Returns the error for a connection of this name."""
        return cls(f"Connection '{name}' does not exist")


class ConnectionConflict(ManagementError):  # noqa: N818 - called as the response is
    """The name is taken, or an API destination uses the connection."""

    status = 409


class ApiDestinationNotFound(ObjectNotFound):
    @classmethod
    def named(cls, name: str) -> "ApiDestinationNotFound":
        """Returns the error for an API destination of this name."""
        return cls(f"API destination '{name}' does not exist")


class ApiDestinationConflict(ManagementError):  # noqa: N818 - called as the response is
    """The name is taken."""

    status = 409


class UserNotFound(ObjectNotFound):
    default_message = "The user does not exist."


class KeyNotFound(ObjectNotFound):
    default_message = "The key does not exist."


class AccessIsOff(ManagementError):  # noqa: N818 - called as the response is
    """The service refuses to change users and keys, because it does not require keys and anyone could make the
    change."""

    status = 409
    default_message = "The service requires no keys (QUEUE_ACCESS), so it creates none."


class ScheduleNotFound(ObjectNotFound):
    @classmethod
    def named(cls, name: str) -> "ScheduleNotFound":
        """Returns the error for a schedule of this name."""
        return cls(f"Schedule '{name}' does not exist")


class ScheduleConflict(ManagementError):  # noqa: N818 - called as the response is
    """The name is taken, or the schedule does not permit this change or run."""

    status = 409


class ScheduleUnusable(ManagementError):  # noqa: N818 - called as the response is
    """The schedule could never fire.

    `details` are members of the error document if an expression is wrong: its position (from 0, in the written
    expression), suggestion, examples. `member` names the wrong member of the request, or is empty if the expression is
    wrong. `reason` is the text about a member without its name.
    """

    json_type = query_code = "ScheduleInvalid"

    def __init__(
        self, message: str, details: Mapping[str, Any] | None = None, *, member: str = "", reason: str = ""
    ) -> None:
        super().__init__(message)
        self.details = details or {}
        self.member = member
        self.reason = reason

    @classmethod
    def of(cls, member: str, reason: str) -> "ScheduleUnusable":
        """Returns the error about a member of the request."""
        return cls(f"{member}: {reason}", member=member, reason=reason)
