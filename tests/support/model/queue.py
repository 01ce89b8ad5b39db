"""Models one queue from AWS's documentation: the messages that a receive may return, and the power of each receipt
handle.

Times are whole seconds of the model's clock, which stands still between its steps. A timeout that ends now has ended,
because some real time has always passed in the service since its beginning.
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

# CreateQueue (API reference) defines the value of an attribute that the request does not name.
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
    """A message in a queue. `system` has the system attributes that stay unchanged."""

    message_id: str
    body: str
    sent_at: int
    visible_at: int
    attributes: dict[str, Any]
    system: dict[str, str]
    receive_count: int = 0
    first_received_at: int | None = None
    earlier_receives: int = 0  # in queues whose dead letter it is
    seen_first_at: int | None = None  # over all these queues
    handle: str | None = None  # of the last receive
    # The service gave these times, and they may not change.
    observed: dict[str, int] = field(default_factory=dict)

    @property
    def group(self) -> str:
        return self.system.get("MessageGroupId", "")

    def moved(self, **changes: Any) -> Message:
        """Returns the same message in another queue, where no consumer has received the message."""
        kept = {"message_id": self.message_id, "body": self.body, "attributes": self.attributes}
        return Message(**{**kept, "system": dict(self.system), **changes})

    def seen(self) -> dict[str, Any]:
        """Returns everything that a receiver can request, except handle, times and sender."""
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
    """The message of a deduplication id, and the end of its validity."""

    message_id: str
    sequence_number: str
    until: int


class Redrive(NamedTuple):
    """A RedrivePolicy: the dead-letter queue, and maxReceiveCount."""

    target_arn: str
    maximum: int


@dataclass(eq=False)
class Queue:
    """A queue with its messages. A queue that was created again is another object."""

    name: str
    arn: str
    attributes: dict[str, str]
    tags: dict[str, str] = field(default_factory=dict)
    # Messages are in the order of their arrival.
    messages: list[Message] = field(default_factory=list)
    originals: dict[tuple[str, str], Original] = field(default_factory=dict)
    last_numbers: dict[str, str] = field(default_factory=dict)  # Sequence numbers rise within a group.
    handles: list[str] = field(default_factory=list)  # Holds every handle that was ever given out.
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
        """Returns the counts of GetQueueAttributes. A delayed message was never received. A message behind others of
        its group counts as available.
        """
        hidden = [m for m in self.messages if m.visible_at > now]
        delayed = sum(m.receive_count == 0 for m in hidden)
        return Counts(len(self.messages) - len(hidden), len(hidden) - delayed, delayed)

    # --- receiving ---------------------------------------------------------------------------------------------------
    def heads(self, now: int) -> Iterator[list[Message]]:
        """Yields the messages that can be received now, by line. Messages of a line keep their order: a group returns
        messages only up to its first invisible one. On a standard queue each message is a separate line.
        """
        lines: dict[str, list[Message]] = {}
        for message in self.messages:
            lines.setdefault(message.group if self.fifo else message.message_id, []).append(message)
        for line in lines.values():
            yield list(takewhile(lambda m: m.visible_at <= now, line))

    def ready(self, now: int, maximum: int | None) -> list[list[Message]]:
        """Returns the lines that a receive may hand out, without the messages that it moves to the
        dead-letter queue.
        """
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
        """Returns messages past their retention period in any state. A change of the attribute applies to all
        messages.
        """
        return [m for m in self.messages if now - m.sent_at >= self.seconds("MessageRetentionPeriod")]

    def change(self, attributes: dict[str, str]) -> None:
        """Applies SetQueueAttributes. An empty value removes an attribute.

        The delay is retroactive on FIFO queues but not on standard queues (Developer Guide, "Delay queues").
        """
        self.attributes.update(attributes)
        self.attributes = {name: value for name, value in self.attributes.items() if value != ""}
        if self.fifo and "DelaySeconds" in attributes:
            for message in self.messages:
                if message.receive_count == 0:
                    message.visible_at = message.sent_at + self.seconds("DelaySeconds")

    def original(self, scope: str, deduplication_id: str, now: int) -> Original | None:
        """Returns the original of a message with this deduplication id. The original was sent in the last five
        minutes, and it may already be deleted.
        """
        found = self.originals.get((scope, deduplication_id))
        return found if found and now < found.until else None


def defaults(name: str) -> dict[str, str]:
    """Returns the attributes of a queue with this name that was created without attributes."""
    return {**DEFAULTS, **(FIFO_DEFAULTS if name.endswith(".fifo") else {})}


def is_exhausted(message: Message, maximum: int | None) -> bool:
    """Returns whether a message moves on the next receive after maxReceiveCount."""
    return maximum is not None and message.receive_count >= maximum
