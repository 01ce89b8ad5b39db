"""Models Amazon SQS: the queues of an account, and the effect of each request.

The model follows the SQS API reference, the Developer Guide and docs/reference/errors.md, independently of the
service's responses. A method returns the possible Query codes of a refused request, or no codes for an accepted
request. The method returns several codes if several parts are wrong and AWS does not document the order of checks. The
model checks that a free choice by the service, such as the order of a standard queue, is allowed, and then adopts the
choice.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from tests.support.model.queue import FIVE_MINUTES, HALF_A_DAY, Counts, Message, Original, Queue, Redrive, defaults

LEGACY = "AWS.SimpleQueueService."
NO_QUEUE = LEGACY + "NonExistentQueue"
BAD_HANDLE = "ReceiptHandleIsInvalid"
BAD_VALUE = "InvalidParameterValue"
MISSING = "MissingParameter"
NOT_FOUND = "ResourceNotFoundException"
# The minimum seconds between two purges, and between a queue's deletion and its re-creation.
A_MINUTE = 60

Codes = frozenset[str]
ACCEPTED: Codes = frozenset()


class Handle(NamedTuple):
    """Represents the meaning of a receipt handle: a message in a queue, and the number of its receive."""

    queue: Queue
    message: Message
    receive_count: int


class Moved(NamedTuple):
    """Represents a message that a move task has taken out of its queue, and its destination."""

    message: Message
    target: str


def allow(*codes: str) -> Codes:
    return frozenset(codes)


@dataclass
class Model:
    """Models all queues of one account. The caller supplies only `arn_of` and `now` (whole seconds)."""

    arn_of: Callable[[str], str]
    now: int = 0
    queues: dict[str, Queue] = field(default_factory=dict)
    deleted_at: dict[str, int] = field(default_factory=dict)
    handles: dict[str, Handle] = field(default_factory=dict)

    def missing(self, name: str) -> Codes:
        return ACCEPTED if name in self.queues else allow(NO_QUEUE)

    def counts(self, name: str) -> Counts:
        return self.queues[name].counts(self.now)

    def by_arn(self, arn: str) -> Queue | None:
        return next((queue for queue in self.queues.values() if queue.arn == arn), None)

    def dead_letter_queue(self, queue: Queue) -> tuple[Queue | None, int | None]:
        """Returns the queue's dead-letter queue and maxReceiveCount, or None for both while the dead-letter queue does
        not exist.
        """
        target = self.by_arn(queue.redrive.target_arn) if queue.redrive else None
        return target, queue.redrive.maximum if queue.redrive and target else None

    def sources(self, arn: str) -> list[str]:
        """Returns the result of ListDeadLetterSourceQueues."""
        return sorted(q.name for q in self.queues.values() if q.redrive and q.redrive.target_arn == arn)

    # --- time --------------------------------------------------------------------------------------------------------
    def overdue(self) -> list[Queue]:
        """Returns the queues with messages past their retention period."""
        return [queue for queue in self.queues.values() if queue.overdue(self.now)]

    def expire(self) -> None:
        for queue in self.overdue():
            gone = queue.overdue(self.now)
            queue.messages = [message for message in queue.messages if message not in gone]

    # --- queues ------------------------------------------------------------------------------------------------------
    def create(self, name: str, attributes: dict[str, str]) -> Codes:
        """Checks CreateQueue. The call succeeds for an existing queue if all supplied attributes equal the queue's
        attributes.
        """
        codes = self.check_redrive(attributes)
        deleted = self.deleted_at.get(name)
        if deleted is not None and self.now < deleted + A_MINUTE:
            codes |= allow(LEGACY + "QueueDeletedRecently")
        if name in self.queues:
            own = self.queues[name].attributes
            differs = any(own.get(key) != value for key, value in attributes.items())
            return codes | (allow("QueueAlreadyExists") if differs else ACCEPTED)
        if not codes:
            self.queues[name] = Queue(name, self.arn_of(name), {**defaults(name), **attributes})
        return codes

    def delete_queue(self, name: str) -> Codes:
        if name in self.queues:
            del self.queues[name]
            self.deleted_at[name] = self.now
            return ACCEPTED
        return allow(NO_QUEUE)

    def set_attributes(self, name: str, attributes: dict[str, str]) -> Codes:
        codes = self.missing(name) | self.check_redrive(attributes)
        if not codes:
            self.queues[name].change(attributes)
        return codes

    def check_redrive(self, attributes: Mapping[str, str]) -> Codes:
        """Checks that RedrivePolicy names an existing queue."""
        text = attributes.get("RedrivePolicy")
        known = not text or self.by_arn(json.loads(text)["deadLetterTargetArn"])
        return ACCEPTED if known else allow(BAD_VALUE)

    def purge(self, name: str) -> Codes:
        """Checks PurgeQueue, which deletes every message, in flight or not, and forgets deduplication ids. A queue
        accepts one purge in 60 seconds.
        """
        if name not in self.queues:
            return allow(NO_QUEUE)
        queue = self.queues[name]
        if queue.purged_at is not None and self.now < queue.purged_at + A_MINUTE:
            return allow(LEGACY + "PurgeQueueInProgress")
        queue.purged_at = self.now
        queue.messages.clear()
        queue.originals.clear()
        return ACCEPTED

    def tag(self, name: str, key: str, value: str) -> None:
        """Applies TagQueue, or UntagQueue for an empty value."""
        tags = self.queues[name].tags
        if value:
            tags[key] = value
        else:
            tags.pop(key, None)

    # --- sending -----------------------------------------------------------------------------------------------------
    def check_send(self, name: str, entry: Mapping[str, Any]) -> Codes:
        """Checks SendMessage, or an entry of SendMessageBatch."""
        queue = self.queues.get(name) or Queue(name, self.arn_of(name), defaults(name))
        return self.missing(name) | check_entry(entry, queue)

    def check_batch(self, name: str, entries: Sequence[Mapping[str, Any]]) -> Codes:
        """Checks SendMessageBatch as a whole. On a FIFO queue each entry needs a group and a deduplication id (recorded
        at AWS).
        """
        queue = self.queues.get(name) or Queue(name, self.arn_of(name), defaults(name))
        lacking = queue.fifo and any("MessageGroupId" not in e or not is_identified(e, queue) for e in entries)
        return self.missing(name) | (allow(BAD_VALUE) if lacking else ACCEPTED)

    def sent(self, name: str, entry: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Applies an accepted message. Stores the message, or checks that the response to a duplicate equals its
        original's response.
        """
        queue = self.queues[name]
        number = response.get("SequenceNumber")
        if not queue.fifo:
            assert number is None
            return self._store(queue, entry, str(response["MessageId"]), {})
        assert number is not None
        scope, deduplication_id = deduplication_of(queue, entry)
        original = queue.original(scope, deduplication_id, self.now)
        # The original may have been sent before a change of the scope.
        original = original or queue.original("", deduplication_id, self.now)
        if original is not None:
            assert (response["MessageId"], number) == original[:2]
            return None
        group = entry["MessageGroupId"]
        assert number > queue.last_numbers.get(group, "")
        assert len(number) == 20
        queue.last_numbers[group] = number
        until = self.now + FIVE_MINUTES
        queue.originals[scope, deduplication_id] = Original(response["MessageId"], number, until)
        more = {"MessageDeduplicationId": deduplication_id, "SequenceNumber": number}
        return self._store(queue, entry, str(response["MessageId"]), more)

    def _store(self, queue: Queue, entry: Mapping[str, Any], message_id: str, more: dict[str, str]) -> None:
        assert message_id not in (m.message_id for m in queue.messages)
        delay = None if queue.fifo else entry.get("DelaySeconds")
        system = dict(more)
        if "MessageGroupId" in entry:
            system["MessageGroupId"] = entry["MessageGroupId"]
        for header, value in entry.get("MessageSystemAttributes", {}).items():
            system[header] = value["StringValue"]
        visible_at = self.now + (queue.seconds("DelaySeconds") if delay is None else delay)
        attributes = entry.get("MessageAttributes", {})
        queue.messages.append(Message(message_id, entry["MessageBody"], self.now, visible_at, attributes, system))

    # --- receiving ---------------------------------------------------------------------------------------------------
    def received(
        self, name: str, most: int, seconds: int | None, response: Sequence[tuple[str, str]], arrivals: set[str]
    ) -> list[Message]:
        """Checks that a response is allowed, and returns its messages. `response` contains the messages' ids and
        handles.

        The response must contain all available messages. AWS may return fewer messages from a short poll, but Penstock
        returns all of them. `arrivals` lists the ids of new messages in the dead-letter queue.
        """
        queue = self.queues[name]
        target, maximum = self.dead_letter_queue(queue)
        lines, due = queue.ready(self.now, maximum), queue.exhausted(self.now, maximum)
        assert len(response) == min(most, sum(map(len, lines)))
        ids = [message_id for message_id, _ in response]
        assert len(set(ids)) == len(ids)
        for line in lines:
            taken = [message_id for message_id in ids if message_id in {m.message_id for m in line}]
            assert taken == [m.message_id for m in line[: len(taken)]]
            ids = [message_id for message_id in ids if message_id not in taken]
        assert ids == [], "not to be received now"
        self._move_to_dead_letter_queue(queue, target, due, arrivals, complete=len(response) < most)
        return [self._hand_out(queue, seconds, *delivery) for delivery in response]

    def _move_to_dead_letter_queue(
        self, queue: Queue, target: Queue | None, due: list[list[Message]], arrivals: set[str], complete: bool
    ) -> None:
        """Moves messages to the dead-letter queue. A receive that returned all requested messages may have skipped some
        lines.
        """
        for line in due:
            moved = [m for m in line if m.message_id in arrivals]
            assert moved in ([], line)
            assert moved or not complete
            for message in moved:
                assert target is not None
                queue.messages.remove(message)
                target.messages.append(arrived(message, queue, self.now))
        assert arrivals <= {m.message_id for m in chain(*due)}

    def _hand_out(self, queue: Queue, seconds: int | None, message_id: str, handle: str) -> Message:
        assert handle not in self.handles
        message = queue.find(message_id)
        visibility = queue.seconds("VisibilityTimeout") if seconds is None else seconds
        queue.hand_out(message, handle, self.now, visibility)
        self.handles[handle] = Handle(queue, message, message.receive_count)
        return message

    # --- handles -----------------------------------------------------------------------------------------------------
    def look_up(self, name: str, text: str) -> Handle | None:
        """Returns the handle's receive, or None. A handle is valid only for its queue."""
        handle = self.handles.get(text)
        return handle if handle and handle.queue is self.queues.get(name) else None

    def delete(self, name: str, text: str) -> Codes:
        """Checks DeleteMessage. On a standard queue any handle of a message deletes the message. On a FIFO queue only
        the last receive's handle deletes a message, until the visibility timeout ends.
        """
        handle = self.look_up(name, text)
        if handle is None:
            return self.missing(name) or allow(BAD_HANDLE)
        queue, message, _ = handle
        if message not in queue.messages:
            return ACCEPTED
        if queue.fifo and (message.handle != text or message.visible_at <= self.now):
            return allow(BAD_VALUE)
        queue.messages.remove(message)
        return ACCEPTED

    def change(self, name: str, text: str, seconds: int, *, batch: bool = False) -> Codes:
        """Checks ChangeMessageVisibility. The limit is 12 hours from the first receive.

        A handle whose timeout has ended, or that a later receive replaced, is still valid on a standard queue, but not
        on a FIFO queue (celery/kombu issue 1391). For a deleted message, a batch has another error code (recorded at
        AWS).
        """
        codes = allow(BAD_VALUE) if not 0 <= seconds <= HALF_A_DAY else ACCEPTED
        handle = self.look_up(name, text)
        if handle is None:
            return codes | (self.missing(name) or allow(BAD_HANDLE))
        queue, message, _ = handle
        over = queue.fifo and (message.handle != text or message.visible_at <= self.now)
        if batch and not codes and message not in queue.messages:
            return allow(BAD_HANDLE) | (allow(BAD_VALUE) if over else ACCEPTED)
        if codes or message not in queue.messages or over:
            return allow(BAD_VALUE)
        assert message.first_received_at is not None
        if self.now + seconds >= message.first_received_at + HALF_A_DAY:
            return allow(BAD_VALUE)
        message.visible_at = self.now + seconds
        return ACCEPTED

    # --- message move tasks ------------------------------------------------------------------------------------------
    def check_move(self, name: str, destination: str | None) -> Codes:
        """Checks StartMessageMoveTask. The source must be a dead-letter queue. The destination must be another queue of
        the same type.
        """
        if name not in self.queues:
            return allow(NOT_FOUND)
        codes = ACCEPTED if self.sources(self.queues[name].arn) else allow(BAD_VALUE)
        if destination is not None and destination not in self.queues:
            codes |= allow(NOT_FOUND)
        elif destination == name or (destination or name).endswith(".fifo") != name.endswith(".fifo"):
            codes |= allow(BAD_VALUE)
        return codes

    def movable(self, name: str, destination: str | None) -> tuple[list[list[Moved]], bool]:
        """Returns, by line, the messages that a task may move and their destination. Also returns whether all of the
        messages can be received now.
        """
        queue, lines, whole = self.queues[name], [], True
        for head in queue.heads(self.now):
            line: list[Moved] = []
            for message in head:
                target = destination or self._origin(queue, message)
                if target is None:
                    whole = False
                    break
                line.append(Moved(message, target))
            lines.append(line)
        return lines, whole

    def _origin(self, queue: Queue, message: Message) -> str | None:
        origin = self.by_arn(message.system.get("DeadLetterQueueSourceArn", ""))
        return origin.name if origin and origin is not queue else None

    def moved(self, name: str, target: str, message: Message, message_id: str) -> None:
        """Applies a message's arrival as a new message, with a new id and time and the queue's delay
        (docs/reference/compatibility.md).
        """
        queue = self.queues[target]
        self.queues[name].messages.remove(message)
        new = message.moved(
            message_id=message_id, sent_at=self.now, visible_at=self.now + queue.seconds("DelaySeconds")
        )
        forget(new, "DeadLetterQueueSourceArn", "SequenceNumber")
        queue.messages.append(new)


def arrived(message: Message, source: Queue, now: int) -> Message:
    """Returns a message in its dead-letter queue. The receive count continues (ReceiveMessage, ApproximateReceiveCount:
    "across all queues").

    On a standard queue the times remain. On a FIFO queue the times restart (Developer Guide, "Using dead-letter
    queues"). The MessageId becomes the deduplication id ("Configure a dead-letter queue redrive"), and the sequence
    number is unknown before a receive.
    """
    new = message.moved(
        sent_at=message.sent_at, visible_at=now, earlier_receives=message.earlier_receives + message.receive_count
    )
    new.system["DeadLetterQueueSourceArn"] = source.arn
    if source.fifo:
        new.sent_at = now
        new.system["MessageDeduplicationId"] = message.message_id
        forget(new, "SequenceNumber")
    else:
        new.seen_first_at, new.observed = message.seen_first_at, message.observed
    return new


def forget(message: Message, *names: str) -> None:
    for name in names:
        message.system.pop(name, None)


def deduplication_of(queue: Queue, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the scope and the deduplication id, which is the SHA-256 of the body by default (SendMessage, API
    reference).
    """
    grouped = queue.attributes["DeduplicationScope"] == "messageGroup"
    scope = entry["MessageGroupId"] if grouped else ""
    digest = hashlib.sha256(entry["MessageBody"].encode()).hexdigest()
    return scope, entry.get("MessageDeduplicationId", digest)


def size_of(entry: Mapping[str, Any]) -> int:
    """Returns the bytes of the body and of the attributes' names, types and values (Developer Guide, "Message
    attributes").
    """
    size = len(entry["MessageBody"].encode())
    for name, value in entry.get("MessageAttributes", {}).items():
        data = value["StringValue"].encode() if "StringValue" in value else value["BinaryValue"]
        size += len(name.encode()) + len(value["DataType"].encode()) + len(data)
    return size


def check_entry(entry: Mapping[str, Any], queue: Queue) -> Codes:
    """Returns the error codes for a message (SendMessage, API reference)."""
    body = entry["MessageBody"]
    faults = {
        MISSING: body == "" or (queue.fifo and "MessageGroupId" not in entry),
        "InvalidMessageContents": "\x01" in body,
        BAD_VALUE: size_of(entry) > int(queue.attributes["MaximumMessageSize"])
        or not 0 <= entry.get("DelaySeconds", 0) <= 900
        or len(entry.get("MessageAttributes", {})) > 10
        or (queue.fifo and bool(entry.get("DelaySeconds")))
        or (queue.fifo and not is_identified(entry, queue))
        or (not queue.fifo and "MessageDeduplicationId" in entry),
    }
    return frozenset(code for code, wrong in faults.items() if wrong)


def is_identified(entry: Mapping[str, Any], queue: Queue) -> bool:
    """Returns whether a FIFO queue can recognise the message's duplicates."""
    return "MessageDeduplicationId" in entry or queue.attributes["ContentBasedDeduplication"] == "true"


__all__ = ["ACCEPTED", "Codes", "Counts", "Model", "Moved", "Redrive"]
