"""The scenarios as flows: what one connection asks next, and what it counts from the answer.

No input or output here, so a flow can be read as the workload it is. `Phase` is what all connections share.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TypeVar

import msgspec

from benchmarks.measure.progress import Progress
from benchmarks.measure.tally import Tally

from .connection import Flow
from .pace import CLOSED_LOOP, Pace
from .wire import (
    Entry,
    Message,
    Requests,
    decode_delete_batch,
    decode_entry,
    decode_receive,
    decode_send_batch,
    md5_of,
)

BATCH_LIMIT = 10  # AWS: MaxNumberOfMessages and the entries of a batch are 1 to 10

T = TypeVar("T")


@dataclass(slots=True)
class Phase:
    """What the flows of one process share."""

    requests: Requests
    body: str
    tally: Tally
    progress: Progress
    pace: Pace = CLOSED_LOOP
    md5: str = ""

    def __post_init__(self) -> None:
        self.md5 = md5_of(self.body)

    def decoded(self, decode: Callable[[bytes], T], answer: bytes | None) -> T | None:
        """The answer as a typed object; None, and counted as bad, when it is malformed."""
        if answer is None:
            return None
        try:
            return decode(answer)
        except msgspec.MsgspecError:
            self.tally.bad(answer[:300])
            return None

    def acknowledged(self, entry: Entry, answer: bytes | None) -> None:
        if entry.md5_of_body != self.md5:
            self.tally.bad(answer or b"")
        self.tally.acknowledged.append(entry.message_id)

    def accept(self, messages: list[Message]) -> None:
        """Count received messages; a body that is not the one sent is a bad answer."""
        self.tally.received.extend([message.message_id for message in messages])
        self.progress.received(len(messages))
        for message in messages:
            if message.body != self.body or message.md5_of_body != self.md5:
                self.tally.bad(f"wrong body or MD5: {message.body[:200]}".encode())


def send_singly(phase: Phase) -> Flow:
    """SendMessage until nothing is left to send."""
    request = phase.requests.send(phase.body)
    while phase.progress.claim(1):
        answer = yield phase.pace.timed(request, 1)
        entry = phase.decoded(decode_entry, answer)
        if entry is not None:
            phase.acknowledged(entry, answer)


def send_batches(phase: Phase, sizes: Iterator[int]) -> Flow:
    """SendMessageBatch with as many entries as `sizes` says next."""
    requests = [phase.requests.send_batch(phase.body, size) for size in range(BATCH_LIMIT + 1)]
    while count := phase.progress.claim(next(sizes)):
        answer = yield phase.pace.timed(requests[count], count)
        batch = phase.decoded(decode_send_batch, answer)
        if batch is None:
            continue
        if len(batch.successful) != count:
            phase.tally.bad(answer or b"")
        for entry in batch.successful:
            phase.acknowledged(entry, answer)


def send_tens(phase: Phase) -> Flow:
    return send_batches(phase, repeat(BATCH_LIMIT))


def send_unlisted(phase: Phase) -> Flow:
    """Bulks of 10 whose ids are not kept: for backlogs too long to compare message by message."""
    request = phase.requests.send_batch(phase.body, BATCH_LIMIT)
    while phase.progress.claim(BATCH_LIMIT) == BATCH_LIMIT:
        batch = phase.decoded(decode_send_batch, (yield request))
        if batch is not None and len(batch.successful) != BATCH_LIMIT:
            phase.tally.bad(b"an entry was refused")


def take(phase: Phase) -> Flow:
    """Receive and keep in flight."""
    request = phase.requests.receive(BATCH_LIMIT)
    while not phase.progress.complete and not phase.progress.stalled:
        answer = phase.decoded(decode_receive, (yield request))
        if answer is not None:
            phase.accept(answer.messages)


def send_random_bulks(phase: Phase) -> Flow:
    """Bulks of 1 to 10 messages, as in Warski's benchmark."""
    dice = random.Random()
    return send_batches(phase, iter(lambda: dice.randint(1, BATCH_LIMIT), 0))


def receive_delete(phase: Phase, count: int) -> Flow:
    """ReceiveMessage of up to `count`, then delete them in one call, until everything was received."""
    request = phase.requests.receive(count)
    while not phase.progress.complete:
        answer = phase.decoded(decode_receive, (yield request))
        if answer is not None and answer.messages:
            phase.accept(answer.messages)
            yield from delete(phase, answer.messages)
            continue
        phase.tally.empty_receives += 1
        if phase.progress.stalled:
            return


def receive_delete_tens(phase: Phase) -> Flow:
    return receive_delete(phase, BATCH_LIMIT)


def receive_delete_singly(phase: Phase) -> Flow:
    return receive_delete(phase, 1)


def delete(phase: Phase, messages: list[Message]) -> Flow:
    """DeleteMessage for one message, DeleteMessageBatch for more; counts what was really deleted."""
    if len(messages) == 1:
        answer = yield phase.requests.delete(messages[0].receipt_handle)
        if answer in {b"", b"{}"}:
            phase.tally.deleted += 1
        elif answer is not None:
            phase.tally.bad(answer[:300])
        return
    answer = yield phase.requests.delete_batch([message.receipt_handle for message in messages])
    batch = phase.decoded(decode_delete_batch, answer)
    if batch is None:
        return
    phase.tally.deleted += len(batch.successful)
    if len(batch.successful) != len(messages):
        phase.tally.bad((answer or b"")[:300])


def cycle(phase: Phase) -> Flow:
    """Send one message, receive one (any), delete it; again."""
    send, receive = phase.requests.send(phase.body), phase.requests.receive(1)
    while phase.progress.claim(1):
        sent = yield phase.pace.timed(send, 1)
        entry = phase.decoded(decode_entry, sent)
        if entry is None:
            continue
        phase.acknowledged(entry, sent)
        while not phase.progress.stalled:
            answer = phase.decoded(decode_receive, (yield receive))
            if answer is not None and answer.messages:
                phase.accept(answer.messages)
                yield from delete(phase, answer.messages)
                break
            phase.tally.empty_receives += 1


def sweep(phase: Phase) -> Flow:
    """Empty the queue outside the measurement: ends at the first answer without a message after 1 s of long polling."""
    request = phase.requests.receive(BATCH_LIMIT, wait_seconds=1)
    while True:
        answer = phase.decoded(decode_receive, (yield request))
        if answer is None or not answer.messages:
            return
        phase.accept(answer.messages)
        yield from delete(phase, answer.messages)
