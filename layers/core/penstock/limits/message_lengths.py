"""Estimates the length of each queue's messages from the messages that a process has seen, to choose the call of a
receive.

    short                      receive_messages is called. If a message could make the response too long, the database
                               undoes the call (LONG_MESSAGE). The process remembers this and calls again.
    long                       receive_response is called. It measures messages and receives only those that fit.
    merged, in the container   The receive is for few callers if messages are long: memory is limited (decision 14).

The estimate uses the last messages that this process received and sent. A process assumes long messages in a queue
that it has not used yet, so its first receive is for few callers. Even if the estimate is wrong, the database keeps
responses within the limit (`penstock.limits.response_limit`).
"""

from typing import Final

from penstock.aws.named_queue import NamedQueue

MAX_RECEIVE: Final = 250
"""The number of short messages that one receive returns."""

# The most bytes that a receive for many callers returns, apart from the last caller's share.
MERGED_BYTES = 1_048_576
# The share of one caller: ten messages of 400 KB, or four messages of a MiB. ReceiveMessage can return fewer messages
# than requested.
MAX_RESPONSE_BYTES = 4 * 1_048_576
UNKNOWN_BYTES = 400_000
LONG_BYTES = 200_000
# Applies to a queue that contains both long and short messages. A receive is then merged with few others, because any
# message can have a MiB.
LEAST_BYTES_OF_LONG = 25_000
MAX_QUEUES = 10_000


class MessageLengths:
    """The recent message lengths by queue ARN. `_long` contains the queues with some long messages."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._long: set[str] = set()

    def note_long(self, queue: NamedQueue) -> None:
        """Records that the database undid a receive that assumed short messages."""
        self._long.add(queue.arn)
        self._note(queue, self._bytes.get(queue.arn, UNKNOWN_BYTES))

    def are_short(self, queue: NamedQueue) -> bool:
        """Returns whether a receive can assume short messages, because the database would probably not undo it."""
        return queue.arn not in self._long and self._bytes.get(queue.arn, 0) <= LONG_BYTES

    def largest_receive(self, queue: NamedQueue) -> int:
        """Returns how many messages one receive should return."""
        return min(MAX_RECEIVE, 1 + MERGED_BYTES // (self._bytes.get(queue.arn, UNKNOWN_BYTES) + 1))

    def most_for_one(self, queue: NamedQueue) -> int:
        """Returns how many messages a caller should get: at least one, and from an unknown queue the requested
        number."""
        return 1 + MAX_RESPONSE_BYTES // (self._bytes.get(queue.arn, 0) + 1)

    def received(self, queue: NamedQueue, number: int, characters: int) -> None:
        """Records `number` received messages with `characters` characters in total. An empty queue leaves the
        estimate unchanged."""
        if number or queue.arn not in self._bytes:
            self._note(queue, characters // max(1, number))

    def sent(self, queue: NamedQueue, length: int) -> None:
        if length > self._bytes.get(queue.arn, 0):
            self._note(queue, length)

    def _note(self, queue: NamedQueue, length: int) -> None:
        if len(self._bytes) >= MAX_QUEUES:
            self._bytes.clear()
            self._long.clear()
        self._bytes[queue.arn] = max(length, LEAST_BYTES_OF_LONG) if queue.arn in self._long else length
