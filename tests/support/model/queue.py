"""Models one queue from AWS's documentation: the messages that a receive may return, and the validity of receipt
handles.

Times are whole seconds of the model's clock, which stops during a step. A timeout that ends now has already ended,
because real time has passed in the service since the timeout's start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from typing import Any, NamedTuple

from tests.support.conformance.requests import md5_of_attributes, md5_of_body

HALF_A_DAY = 43_200
FIVE_MINUTES = 300

# The default attributes (CreateQueue, API reference).
DEFAULTS = {
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "VisibilityTimeout": "30",
}
FIFO_DEFAULTS = {"FifoQueue": "true", "ContentBasedDeduplication": "false", "DeduplicationScope": "queue"}


class Counts(NamedTuple):
    """ApproximateNumberOfMessages, …NotVisible and …Delayed."""

    visible: int
    in_flight: int
    delayed: int


@dataclass(eq=False)
class Message:
    """Represents a message in a queue. `system` contains the constant system attributes."""

    message_id: str
    body: str
    sent_at: int
    visible_at: int
    attributes: dict[str, Any]
    system: dict[str, str]
    receive_count: int = 0
    first_received_at: int | None = None
    earlier_receives: int = 0  # in queues that moved the message to a dead-letter queue
    seen_first_at: int | None = None  # across all queues that have contained the message
    handle: str | None = None  # from the last receive
    # Times in the service's responses, which must not change.
    observed: dict[str, int] = field(default_factory=dict)

    @property
    def group(self) -> str:
        return self.system.get("MessageGroupId", "")

    def moved(self, **changes: Any) -> Message:
        """Returns a copy of the message for another queue, with a receive count of 0."""
        kept = {"message_id": self.message_id, "body": self.body, "attributes": self.attributes}
        return Message(**{**kept, "system": dict(self.system), **changes})

    def seen(self) -> dict[str, Any]:
        """Returns everything that a receiver sees, except the handle, the times and the sender."""
        count = str(self.earlier_receives + self.receive_count)
        response: dict[str, Any] = {
            "MessageId": self.message_id,
            "Body": self.body,
            "MD5OfBody": md5_of_body(self.body),
            "Attributes": {**self.system, "ApproximateReceiveCount": count},
        }
        if self.attributes:
            response["MessageAttributes"] = self.attributes
            response["MD5OfMessageAttributes"] = md5_of_attributes(self.attributes)
        return response


class Original(NamedTuple):
    """Represents the first message with a deduplication id, and the end of the id's validity."""

    message_id: str
    sequence_number: str
    until: int


class Redrive(NamedTuple):
    """A RedrivePolicy."""

    target_arn: str
    maximum: int


@dataclass(eq=False)
class Queue:
    """Represents a queue with its messages. A re-created queue is another object."""

    name: str
    arn: str
    attributes: dict[str, str]
    tags: dict[str, str] = field(default_factory=dict)
    # in the order of arrival
    messages: list[Message] = field(default_factory=list)
    originals: dict[tuple[str, str], Original] = field(default_factory=dict)
    last_numbers: dict[str, str] = field(default_factory=dict)  # Sequence numbers increase within a group.
    handles: list[str] = field(default_factory=list)  # every handle from the queue
    purged_at: int | None = None

    @property
    def fifo(self) -> bool:
        return self.name.endswith(".fifo")

    @property
    def redrive(self) -> Redrive | None:
        text = self.attributes.get("RedrivePolicy")
        policy = json.loads(text) if text else None
        return policy and Redrive(policy["deadLetterTargetArn"], int(policy["maxReceiveCount"]))

    def seconds(self, attribute: str) -> int:
        return int(self.attributes[attribute])

    def find(self, message_id: str) -> Message:
        (message,) = [m for m in self.messages if m.message_id == message_id]
        return message

    def counts(self, now: int) -> Counts:
        """Returns the counts in GetQueueAttributes. Only a message without receives counts as delayed. A message behind
        others in its group counts as visible. A message past its retention period does not count, even before the
        worker has expired the message.
        """
        overdue = self.overdue(now)
        kept = [m for m in self.messages if m not in overdue]
        hidden = [m for m in kept if m.visible_at > now]
        delayed = sum(m.receive_count == 0 for m in hidden)
        return Counts(len(kept) - len(hidden), len(hidden) - delayed, delayed)

    # --- receiving ---------------------------------------------------------------------------------------------------
    def heads(self, now: int) -> Iterator[list[Message]]:
        """Yields the messages that can be received now, by line. A group is one line, and returns messages only up to
        its first invisible message. On a standard queue each message is a separate line.
        """
        lines: dict[str, list[Message]] = {}
        for message in self.messages:
            lines.setdefault(message.group if self.fifo else message.message_id, []).append(message)
        for line in lines.values():
            yield list(takewhile(lambda m: m.visible_at <= now, line))

    def ready(self, now: int, maximum: int | None) -> list[list[Message]]:
        """Returns the lines for a receive, without the messages that the receive moves to the dead-letter queue."""
        lines = (list(dropwhile(lambda m: is_exhausted(m, maximum), head)) for head in self.heads(now))
        return [line for line in lines if line]

    def exhausted(self, now: int, maximum: int | None) -> list[list[Message]]:
        """Returns the messages that a receive moves to the dead-letter queue if the receive reaches their line."""
        lines = (list(takewhile(lambda m: is_exhausted(m, maximum), head)) for head in self.heads(now))
        return [line for line in lines if line]

    def hand_out(self, message: Message, handle: str, now: int, visibility_seconds: int) -> None:
        """Applies a receive: counts the receive, and hides the message."""
        message.receive_count += 1
        message.first_received_at = now if message.first_received_at is None else message.first_received_at
        message.seen_first_at = now if message.seen_first_at is None else message.seen_first_at
        message.visible_at = now + visibility_seconds
        message.handle = handle
        self.handles.append(handle)

    # --- the rest ----------------------------------------------------------------------------------------------------
    def overdue(self, now: int) -> list[Message]:
        """Returns all messages past their retention period. A new period applies to existing messages too."""
        return [m for m in self.messages if now - m.sent_at >= self.seconds("MessageRetentionPeriod")]

    def change(self, attributes: dict[str, str]) -> None:
        """Applies SetQueueAttributes. An empty value removes an attribute.

        A new delay applies to existing messages on FIFO queues, but not on standard queues (Developer Guide, "Delay
        queues").
        """
        self.attributes.update(attributes)
        self.attributes = {name: value for name, value in self.attributes.items() if value != ""}
        if self.fifo and "DelaySeconds" in attributes:
            for message in self.messages:
                if message.receive_count == 0:
                    message.visible_at = message.sent_at + self.seconds("DelaySeconds")

    def original(self, scope: str, deduplication_id: str, now: int) -> Original | None:
        """Returns the first message with the given deduplication id, if a sender sent the message in the last five
        minutes. The message may be deleted.
        """
        found = self.originals.get((scope, deduplication_id))
        return found if found and now < found.until else None


def defaults(name: str) -> dict[str, str]:
    """Returns the default attributes for a queue with the given name."""
    return {**DEFAULTS, **(FIFO_DEFAULTS if name.endswith(".fifo") else {})}


def is_exhausted(message: Message, maximum: int | None) -> bool:
    """Returns whether a message has reached maxReceiveCount, so that the next receive moves the message."""
    return maximum is not None and message.receive_count >= maximum
