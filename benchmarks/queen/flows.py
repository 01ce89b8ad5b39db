"""Defines the flows of producers and consumers.

Each flow has a separate connection. To pause, a flow yields a request that is due later.
"""

import random
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from time import perf_counter

from benchmarks.load.connection import Flow
from benchmarks.load.wire import Due, Message, decode_delete_batch, decode_receive
from benchmarks.measure.tally import Tally

from .ledger import Ledger
from .profile import Fate, Profile
from .requests import ApplicationRequests, SessionMessage, decode_session_message, read_published, session_message_body

BATCH = 10
POLL_SECONDS = 1


@dataclass(slots=True)
class Application:
    """Holds the state that all connections share. `rate` can change during a run. Times come from perf_counter."""

    profile: Profile
    requests: ApplicationRequests
    queues: tuple[str, str]
    stage2: str
    ledger: Ledger
    tally: Tally
    rate: float
    pushing: bool = True
    running: bool = True
    waits: "array[float]" = field(default_factory=lambda: array("d"))
    completions: "array[float]" = field(default_factory=lambda: array("d"))
    pushes: "array[float]" = field(default_factory=lambda: array("d"))
    last_message_at: float = 0.0


def produce(app: Application, owner: int) -> Flow:
    """Publishes batches until the push phase ends.

    A batch is due when its last message is due. A late batch is sent immediately. Each FIFO group has only one
    producer, which preserves the order. For a fair queue, all producers send messages for all groups.
    """
    profile, rng = app.profile, random.Random(owner)
    ordered = profile.groups == "fifo"
    ranks = range(1 + owner if ordered else 1, profile.sessions + 1, profile.producers if ordered else 1)
    zipf, at = Zipf(ranks, profile.sessions, profile.skew), perf_counter()
    share = zipf.share if ordered else 1 / profile.producers
    while app.pushing:
        requests: list[tuple[int, int, float]] = []
        for _ in range(BATCH):
            at += rng.expovariate(app.rate * share)
            session = zipf.draw(rng)
            requests.append((session, app.ledger.number(session), at))
        bodies = [(s, session_message_body(s, n, due, rng.randint(*profile.payload_bytes))) for s, n, due in requests]
        answer = yield Due(app.requests.publish(bodies), at)
        record_push(app, requests, answer)


def record_push(app: Application, requests: list[tuple[int, int, float]], answer: bytes | None) -> None:
    acknowledger = read_published(answer) if answer is not None else None
    if acknowledger is None or acknowledger.failed:
        app.ledger.push_errors += 1
        app.ledger.uncertain.update((session, number) for session, number, _ in requests)
        return
    app.ledger.acknowledged += len(requests)
    app.pushes.append(perf_counter() - requests[-1][2])


def consume(app: Application, group: int, seed: int) -> Flow:
    """Receives ten messages, runs their handlers concurrently, acknowledges the messages in order, and repeats these
    steps.
    """
    rng, queue = random.Random(seed), app.queues[group]
    receive = app.requests.queue(queue).receive(BATCH, POLL_SECONDS)
    while app.running:
        answer = yield receive
        messages = decode_receive(answer).messages if answer is not None else []
        if messages:
            app.last_message_at = perf_counter()
            yield from handle(app, group, messages, rng)


def handle(app: Application, group: int, messages: list[Message], rng: random.Random) -> Flow:
    """Handles messages, and releases failed messages.

    On FIFO queues, the consumer also releases later messages of the same session without handling them.
    """
    began = perf_counter()
    released: list[Message] = []
    failed: set[int] = set()
    acknowledger = Acknowledger(app, group)
    for message, content in decode_messages(messages):
        app.waits.append(began - content.due)
        fate = app.profile.fate(content.s, content.n)
        if content.s in failed or fails(app, group, fate, content):
            released.append(message)
            app.ledger.groups[group].failures += 1
            if app.profile.groups == "fifo":
                failed.add(content.s)
            continue
        due = began + app.profile.handling_seconds(rng)
        if fate is Fate.FORWARD and group == 0:
            yield from acknowledger.acknowledge()
            yield from forward(app, message, content, due)
        else:
            yield from acknowledger.add(message, content, due)
    yield from acknowledger.acknowledge()
    if released:
        yield app.requests.release(app.requests.queue(app.queues[group]).address.queue_url, released)


class Acknowledger:
    """Acknowledges messages in order, `acks_a_call` in each call, after their handlers have finished."""

    def __init__(self, app: Application, group: int) -> None:
        self._app = app
        self._group = group
        self._requests = app.requests.queue(app.queues[group])
        self._held: list[tuple[Message, SessionMessage]] = []
        self._due = 0.0

    def add(self, message: Message, content: SessionMessage, due: float) -> Flow:
        self._held.append((message, content))
        self._due = max(self._due, due)
        if len(self._held) >= self._app.profile.acks_a_call:
            yield from self.acknowledge()

    def acknowledge(self) -> Flow:
        """Deletes the handled messages. If a call fails, its messages stay in flight and are later redelivered."""
        held, self._held = self._held, []
        if not held:
            return
        handles = [message.receipt_handle for message, _ in held]
        if len(handles) == 1:
            answer = yield Due(self._requests.delete(handles[0]), self._due)
            whole = answer is not None
        else:
            answer = yield Due(self._requests.delete_batch(handles), self._due)
            whole = answer is not None and len(decode_delete_batch(answer).successful) == len(handles)
        if whole:
            for _, content in held:
                record_completion(self._app, self._group, content)


def decode_messages(messages: list[Message]) -> Iterator[tuple[Message, SessionMessage]]:
    return ((message, decode_session_message(message.body.encode())) for message in messages)


def fails(app: Application, group: int, fate: Fate, content: SessionMessage) -> bool:
    """Returns whether the handler fails: always for poison messages, and once for transient failures."""
    if fate is Fate.TRANSIENT:
        return app.ledger.groups[group].first_time((content.s, content.n))
    return fate is Fate.POISON


def forward(app: Application, message: Message, content: SessionMessage, due: float) -> Flow:
    """Acknowledges a message and sends its successor in one transaction."""
    answer = yield Due(app.requests.forward(app.queues[0], message, app.stage2, content), due)
    if answer is None:
        app.ledger.forward_errors += 1
        return
    app.ledger.forwarded.add((content.s, content.n))
    record_completion(app, 0, content)


def record_completion(app: Application, group: int, content: SessionMessage) -> None:
    app.ledger.groups[group].complete(content.s, content.n)
    app.completions.append(perf_counter() - content.due)


def consume_stage2(app: Application) -> Flow:
    """Receives and deletes the forwarded messages."""
    requests = app.requests.queue(app.stage2)
    receive = requests.receive(BATCH, POLL_SECONDS)
    while app.running:
        answer = yield receive
        messages = decode_receive(answer).messages if answer is not None else []
        if not messages:
            continue
        app.last_message_at = perf_counter()
        if (yield requests.delete_batch([message.receipt_handle for message in messages])) is not None:
            for _, content in decode_messages(messages):
                app.ledger.arrive_at_stage2((content.s, content.n))


def collect_dead_letters(app: Application, queue: str, found: set[tuple[int, int]]) -> Flow:
    """Empties a dead-letter queue, and adds the keys of its messages to `found`."""
    requests = app.requests.queue(queue)
    while True:
        answer = yield requests.receive(BATCH, POLL_SECONDS)
        messages = decode_receive(answer).messages if answer is not None else []
        if not messages:
            return
        found.update((content.s, content.n) for _, content in decode_messages(messages))
        yield requests.delete_batch([message.receipt_handle for message in messages])


class Zipf:
    """Draws numbers by Zipf's law: the k-th most frequent of n values is 1/k^s times as frequent as the first value.

    `ranks` is the part of 1..n from which the generator draws. `share` is the probability that a draw from all n values
    is in `ranks`.
    """

    def __init__(self, ranks: Sequence[int], count: int, skew: float) -> None:
        self._ranks = ranks
        self._sums = list(accumulate(rank**-skew for rank in ranks))
        self.share = self._sums[-1] / sum(rank**-skew for rank in range(1, count + 1))

    def draw(self, rng: random.Random) -> int:
        return self._ranks[bisect_left(self._sums, rng.random() * self._sums[-1])]
