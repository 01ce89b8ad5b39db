"""Estimates the length of each queue's messages from those that a process has seen, to choose the call of a receive.

    short, as far as known     receive_messages, which the database undoes if a message is so long that the answer
                               could be over its limit (LONG_MESSAGE); the process remembers that, and calls again
    long                       receive_answer, which measures messages and receives only those that fit
    merged, in the container   for few callers where messages are long: memory is limited (decision 14)

The estimate uses the messages received last and those sent by this process. A process assumes long messages in a queue
that it has not used yet: its first receive is for few callers. Even if the estimate is wrong, the database keeps
answers within their limit (`penstock.limits.response_limit`).
"""

from typing import Final

from penstock.aws.resolved_queue import ResolvedQueue

LARGEST_RECEIVE: Final = 250
"""How many short messages one receive brings."""

# The most bytes that a receive for many callers brings, beyond the share of its last caller.
MERGED_BYTES = 1_048_576
# The share of one caller: ten messages of 400 KB, four of a MiB. ReceiveMessage may return fewer than requested.
LARGEST_ANSWER_BYTES = 4 * 1_048_576
UNKNOWN_BYTES = 400_000
LONG_BYTES = 200_000
# For a queue with long messages among short messages, so that a receive is merged with few others: any may have a MiB.
LEAST_BYTES_OF_LONG = 25_000
MOST_QUEUES = 10_000


class MessageLengths:
    """Relevant lengths of messages by their queue's ARN. `_long` has the queues with some long messages."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._long: set[str] = set()

    def note_long(self, queue: ResolvedQueue) -> None:
        """Notes that the database undid a receive that assumed short messages."""
        self._long.add(queue.arn)
        self._note(queue, self._bytes.get(queue.arn, UNKNOWN_BYTES))

    def are_short(self, queue: ResolvedQueue) -> bool:
        """Returns whether a receive may assume short messages: it would probably not be undone."""
        return queue.arn not in self._long and self._bytes.get(queue.arn, 0) <= LONG_BYTES

    def largest_receive(self, queue: ResolvedQueue) -> int:
        """Returns how many messages one receive should bring."""
        return min(LARGEST_RECEIVE, 1 + MERGED_BYTES // (self._bytes.get(queue.arn, UNKNOWN_BYTES) + 1))

    def most_for_one(self, queue: ResolvedQueue) -> int:
        """Returns how many messages a caller should get: at least one; from an unknown queue, as many as requested."""
        return 1 + LARGEST_ANSWER_BYTES // (self._bytes.get(queue.arn, 0) + 1)

    def received(self, queue: ResolvedQueue, number: int, characters: int) -> None:
        """Notes `number` received messages with `characters` in all. An empty queue leaves the estimate unchanged."""
        if number or queue.arn not in self._bytes:
            self._note(queue, characters // max(1, number))

    def sent(self, queue: ResolvedQueue, length: int) -> None:
        """Notes a sent message of `length` bytes."""
        if length > self._bytes.get(queue.arn, 0):
            self._note(queue, length)

    def _note(self, queue: ResolvedQueue, length: int) -> None:
        if len(self._bytes) >= MOST_QUEUES:
            self._bytes.clear()
            self._long.clear()
        self._bytes[queue.arn] = max(length, LEAST_BYTES_OF_LONG) if queue.arn in self._long else length
