"""Estimates the length of each queue's messages from the messages that a process has seen, to choose the call of a
receive.

If messages are short, the process calls receive_messages. If a message could make the response too long, the database
undoes the call (LONG_MESSAGE), and the process assumes long messages. If messages are long, the process calls
receive_response, which receives only the messages that fit. In the container, a merged receive of long messages serves
few callers, to limit memory (decision 14).

The estimate uses the last messages that this process received and sent. A process's first receive from a queue serves
few callers, because the process does not yet know the lengths of the queue's messages. Even if the estimate is wrong,
the database keeps responses within the limit (`penstock.limits.response_limit`).
"""

from typing import Final

from penstock.aws.named_queue import NamedQueue

MAX_RECEIVE: Final = 250
"""The most short messages that one receive returns."""

# The most bytes that a receive for many callers returns, without the last caller's share.
MERGED_BYTES = 1_048_576
# The share of one caller: ten messages of 400 KB, or four messages of a MiB. ReceiveMessage can return fewer messages
# than requested.
MAX_RESPONSE_BYTES = 4 * 1_048_576
UNKNOWN_BYTES = 400_000
LONG_BYTES = 200_000
# The lowest estimate for a queue that contains both long and short messages. The container merges fewer receives from a
# queue with long messages, because any message can have a MiB.
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
        """Returns whether a receive can assume short messages, because the database would probably not undo the
        receive."""
        return queue.arn not in self._long and self._bytes.get(queue.arn, 0) <= LONG_BYTES

    def estimate_largest_receive(self, queue: NamedQueue) -> int:
        """Returns the number of messages that one receive should return."""
        return min(MAX_RECEIVE, 1 + MERGED_BYTES // (self._bytes.get(queue.arn, UNKNOWN_BYTES) + 1))

    def estimate_most_for_one(self, queue: NamedQueue) -> int:
        """Returns the most messages that a caller should receive, which is at least one. For an unknown queue, the
        result limits no request."""
        return 1 + MAX_RESPONSE_BYTES // (self._bytes.get(queue.arn, 0) + 1)

    def received(self, queue: NamedQueue, number: int, characters: int) -> None:
        """Records `number` received messages with `characters` characters in total. A receive without messages does not
        change an existing estimate."""
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
