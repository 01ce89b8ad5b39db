"""Defines the scenarios as flows. A flow yields the requests of one connection and counts the responses."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, repeat
from time import perf_counter
from typing import TypeVar

import msgspec

from benchmarks.measure.tally import Progress, Tally

from .connection import Flow
from .wire import (
    Due,
    Entry,
    Message,
    Request,
    Requests,
    decode_delete_batch,
    decode_entry,
    decode_receive,
    decode_send_batch,
    md5_of,
)

# --- pace ------------------------------------------------------------------------------------------------------------
# Decides when requests are due: at once (closed loop), or at a rate independent of the service (open loop).


class Pace:
    """Generates the arrivals of one load process: independent messages with an average rate of `rate` a second (a
    Poisson process).

    The process's connections claim arrivals in turn. If all connections are busy, a request is late. The latency of a
    late request also counts from the due time, and therefore includes the wait of an independent client. Timers wake up
    to 1 ms late, which also counts against the service.
    """

    def __init__(self, rate: float, seed: int = 1) -> None:
        self._rate = rate
        self._dice = random.Random(seed)
        self._next_at = 0.0

    def start(self) -> None:
        """Starts the clock: the first arrival follows this call."""
        self._next_at = perf_counter()

    def timed(self, request: Request, messages: int) -> Request | Due:
        """Returns the request with its due time, or only the request in a closed loop. Before a request with n
        messages, the average pause is n times as long.
        """
        return Due(request, self.arrival(messages)) if self._rate else request

    def arrival(self, messages: int = 1) -> float:
        """Returns the time of the next arrival (perf_counter). Needs a rate."""
        self._next_at += self._dice.expovariate(self._rate / messages)
        return self._next_at


CLOSED_LOOP = Pace(0.0)


# --- flows -----------------------------------------------------------------------------------------------------------
# Flows do no input or output. `Phase` contains the state that the connections of a process share.

BATCH_LIMIT = 10  # AWS's limit for MaxNumberOfMessages and the entries of a batch
FIFO_GROUPS = 64  # for each connection

T = TypeVar("T")


@dataclass(slots=True)
class Phase:
    """Holds the requests, counters and pace that the flows of one process share."""

    requests: Requests
    body: str
    tally: Tally
    progress: Progress
    pace: Pace = CLOSED_LOOP
    md5: str = ""

    def __post_init__(self) -> None:
        self.md5 = md5_of(self.body)

    def decoded(self, decode: Callable[[bytes], T], answer: bytes | None) -> T | None:
        """Decodes a response. A malformed response counts as bad, and the result is None."""
        if answer is None:
            return None
        try:
            return decode(answer)
        except msgspec.MsgspecError:
            self.tally.record_bad_response(answer[:300])
            return None

    def record_acknowledged(self, entry: Entry, answer: bytes | None) -> None:
        if entry.md5_of_body != self.md5:
            self.tally.record_bad_response(answer or b"")
        self.tally.acknowledged.append(entry.message_id)

    def accept(self, messages: list[Message]) -> None:
        """Counts received messages. If a body differs from the sent body, the response counts as bad."""
        self.tally.received.extend([message.message_id for message in messages])
        self.progress.received(len(messages))
        for message in messages:
            if message.body != self.body or message.md5_of_body != self.md5:
                self.tally.record_bad_response(f"wrong body or MD5: {message.body[:200]}".encode())


def send_singly(phase: Phase) -> Flow:
    """Calls SendMessage until all messages have been sent."""
    request = phase.requests.send(phase.body)
    while phase.progress.claim(1):
        answer = yield phase.pace.timed(request, 1)
        entry = phase.decoded(decode_entry, answer)
        if entry is not None:
            phase.record_acknowledged(entry, answer)


def send_batches(phase: Phase, sizes: Iterator[int]) -> Flow:
    """Calls SendMessageBatch. `sizes` yields the number of entries for each call."""
    requests = [phase.requests.send_batch(phase.body, size) for size in range(BATCH_LIMIT + 1)]
    while count := phase.progress.claim(next(sizes)):
        answer = yield phase.pace.timed(requests[count], count)
        batch = phase.decoded(decode_send_batch, answer)
        if batch is None:
            continue
        if len(batch.successful) != count:
            phase.tally.record_bad_response(answer or b"")
        for entry in batch.successful:
            phase.record_acknowledged(entry, answer)


def send_tens(phase: Phase) -> Flow:
    return send_batches(phase, repeat(BATCH_LIMIT))


def send_without_recording(phase: Phase) -> Flow:
    """Sends batches of 10 messages without storing the ids, for backlogs that are too long to compare message by
    message."""
    request = phase.requests.send_batch(phase.body, BATCH_LIMIT)
    while phase.progress.claim(BATCH_LIMIT) == BATCH_LIMIT:
        batch = phase.decoded(decode_send_batch, (yield request))
        if batch is not None and len(batch.successful) != BATCH_LIMIT:
            phase.tally.record_bad_response(b"an entry was refused")


def receive_without_delete(phase: Phase) -> Flow:
    """Receives messages and leaves them in flight."""
    request = phase.requests.receive(BATCH_LIMIT)
    while not phase.progress.complete and not phase.progress.stalled:
        answer = phase.decoded(decode_receive, (yield request))
        if answer is not None:
            phase.accept(answer.messages)


def send_random_bulks(phase: Phase) -> Flow:
    """Sends batches of 1 to 10 messages, as in Warski's benchmark."""
    rng = random.Random()
    return send_batches(phase, iter(lambda: rng.randint(1, BATCH_LIMIT), 0))


def receive_delete(phase: Phase, count: int) -> Flow:
    """Receives up to `count` messages and deletes them in one call, until all messages have been received."""
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
    """Calls DeleteMessage for one message and DeleteMessageBatch for several, and counts the deleted messages."""
    if len(messages) == 1:
        answer = yield phase.requests.delete(messages[0].receipt_handle)
        if answer in {b"", b"{}"}:
            phase.tally.deleted += 1
        elif answer is not None:
            phase.tally.record_bad_response(answer[:300])
        return
    answer = yield phase.requests.delete_batch([message.receipt_handle for message in messages])
    batch = phase.decoded(decode_delete_batch, answer)
    if batch is None:
        return
    phase.tally.deleted += len(batch.successful)
    if len(batch.successful) != len(messages):
        phase.tally.record_bad_response((answer or b"")[:300])


def cycle(phase: Phase) -> Flow:
    """Repeatedly sends one message, receives any message, and deletes the received message."""
    return send_receive_delete(phase, repeat(phase.requests.send(phase.body)))


def fifo_cycle(phase: Phase) -> Flow:
    """Repeats the calls of `cycle` on a FIFO queue. Each connection has separate groups and deduplication ids."""
    connection = f"{random.getrandbits(64):x}"
    numbers = count()
    return send_receive_delete(
        phase,
        (
            phase.requests.send(phase.body, f"{connection}-{number % FIFO_GROUPS}", f"{connection}-{number}")
            for number in numbers
        ),
    )


def send_receive_delete(phase: Phase, sends: Iterator[Request]) -> Flow:
    """Repeatedly sends the next request of `sends`, receives any message, and deletes the received message."""
    receive = phase.requests.receive(1)
    while phase.progress.claim(1):
        sent = yield phase.pace.timed(next(sends), 1)
        entry = phase.decoded(decode_entry, sent)
        if entry is None:
            continue
        phase.record_acknowledged(entry, sent)
        while not phase.progress.stalled:
            answer = phase.decoded(decode_receive, (yield receive))
            if answer is not None and answer.messages:
                phase.accept(answer.messages)
                yield from delete(phase, answer.messages)
                break
            phase.tally.empty_receives += 1


def drain_queue(phase: Phase) -> Flow:
    """Outside the measured time, empties the queue until a long poll of 1 s returns no message."""
    request = phase.requests.receive(BATCH_LIMIT, wait_seconds=1)
    while True:
        answer = phase.decoded(decode_receive, (yield request))
        if answer is None or not answer.messages:
            return
        phase.accept(answer.messages)
        yield from delete(phase, answer.messages)
