"""What producers and consumers do, one connection each; pauses are requests that are due later."""

import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

from benchmarks.load.connection import Flow
from benchmarks.load.wire import Due, Message, decode_delete_batch, decode_receive
from benchmarks.measure.tally import Tally

from .ledger import Ledger
from .letters import Letter, Letters, letter_of, read_letter, read_published
from .profile import Fate, Profile
from .zipf import Zipf

BATCH = 10
POLL_SECONDS = 1


@dataclass(slots=True)
class Application:
    """What all connections share. `rate` may change while it runs; times are of perf_counter."""

    profile: Profile
    letters: Letters
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
    """A batch is due when its last message is; a late batch is sent at once.

    Of FIFO groups each has one writer, which keeps its order; tenants of a fair queue are written for by all.
    """
    profile, dice = app.profile, random.Random(owner)
    ordered = profile.groups == "fifo"
    ranks = range(1 + owner if ordered else 1, profile.sessions + 1, profile.producers if ordered else 1)
    zipf, at = Zipf(ranks, profile.sessions, profile.skew), perf_counter()
    share = zipf.share if ordered else 1 / profile.producers
    while app.pushing:
        letters: list[tuple[int, int, float]] = []
        for _ in range(BATCH):
            at += dice.expovariate(app.rate * share)
            session = zipf.draw(dice)
            letters.append((session, app.ledger.number(session), at))
        bodies = [(s, letter_of(s, n, due, dice.randint(*profile.payload_bytes))) for s, n, due in letters]
        answer = yield Due(app.letters.publish(bodies), at)
        pushed(app, letters, answer)


def pushed(app: Application, letters: list[tuple[int, int, float]], answer: bytes | None) -> None:
    done = read_published(answer) if answer is not None else None
    if done is None or done.failed:
        app.ledger.push_errors += 1
        app.ledger.uncertain.update((session, number) for session, number, _ in letters)
        return
    app.ledger.acknowledged += len(letters)
    app.pushes.append(perf_counter() - letters[-1][2])


def consume(app: Application, group: int, seed: int) -> Flow:
    """Receive ten, let their handlers work at once, acknowledge each in order."""
    dice, queue = random.Random(seed), app.queues[group]
    receive = app.letters.queue(queue).receive(BATCH, POLL_SECONDS)
    while app.running:
        answer = yield receive
        messages = decode_receive(answer).messages if answer is not None else []
        if messages:
            app.last_message_at = perf_counter()
            yield from handle(app, group, messages, dice)


def handle(app: Application, group: int, messages: list[Message], dice: random.Random) -> Flow:
    """A failed message is released, and in FIFO queues what follows it in its session too, unhandled."""
    began = perf_counter()
    released: list[Message] = []
    failed: set[int] = set()
    done = Done(app, group)
    for message, letter in opened(messages):
        app.waits.append(began - letter.due)
        fate = app.profile.fate(letter.s, letter.n)
        if letter.s in failed or fails(app, group, fate, letter):
            released.append(message)
            app.ledger.groups[group].failures += 1
            if app.profile.groups == "fifo":
                failed.add(letter.s)
            continue
        due = began + app.profile.handling_seconds(dice)
        if fate is Fate.FORWARD and group == 0:
            yield from done.acknowledge()
            yield from forward(app, message, letter, due)
        else:
            yield from done.add(message, letter, due)
    yield from done.acknowledge()
    if released:
        yield app.letters.release(app.letters.queue(app.queues[group]).address.queue_url, released)


class Done:
    """Handled messages, acknowledged `acks_a_call` at a time when their handlers are done, in order."""

    def __init__(self, app: Application, group: int) -> None:
        self._app = app
        self._group = group
        self._requests = app.letters.queue(app.queues[group])
        self._held: list[tuple[Message, Letter]] = []
        self._due = 0.0

    def add(self, message: Message, letter: Letter, due: float) -> Flow:
        self._held.append((message, letter))
        self._due = max(self._due, due)
        if len(self._held) >= self._app.profile.acks_a_call:
            yield from self.acknowledge()

    def acknowledge(self) -> Flow:
        """What a call refuses stays in flight and comes again."""
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
            for _, letter in held:
                completed(self._app, self._group, letter)


def opened(messages: list[Message]) -> Iterator[tuple[Message, Letter]]:
    return ((message, read_letter(message.body.encode())) for message in messages)


def fails(app: Application, group: int, fate: Fate, letter: Letter) -> bool:
    """Poison always, transient failures the first time."""
    if fate is Fate.TRANSIENT:
        return app.ledger.groups[group].first_time((letter.s, letter.n))
    return fate is Fate.POISON


def forward(app: Application, message: Message, letter: Letter, due: float) -> Flow:
    """Acknowledge it and send its successor in one transaction."""
    answer = yield Due(app.letters.forward(app.queues[0], message, app.stage2, letter), due)
    if answer is None:
        app.ledger.forward_errors += 1
        return
    app.ledger.forwarded.add((letter.s, letter.n))
    completed(app, 0, letter)


def completed(app: Application, group: int, letter: Letter) -> None:
    app.ledger.groups[group].complete(letter.s, letter.n)
    app.completions.append(perf_counter() - letter.due)


def consume_stage2(app: Application) -> Flow:
    """Receive and delete what was forwarded."""
    requests = app.letters.queue(app.stage2)
    receive = requests.receive(BATCH, POLL_SECONDS)
    while app.running:
        answer = yield receive
        messages = decode_receive(answer).messages if answer is not None else []
        if not messages:
            continue
        app.last_message_at = perf_counter()
        if (yield requests.delete_batch([message.receipt_handle for message in messages])) is not None:
            for _, letter in opened(messages):
                app.ledger.arrive_at_stage2((letter.s, letter.n))


def collect(app: Application, queue: str, found: set[tuple[int, int]]) -> Flow:
    """Empty a dead-letter queue into `found`."""
    requests = app.letters.queue(queue)
    while True:
        answer = yield requests.receive(BATCH, POLL_SECONDS)
        messages = decode_receive(answer).messages if answer is not None else []
        if not messages:
            return
        found.update((letter.s, letter.n) for _, letter in opened(messages))
        yield requests.delete_batch([message.receipt_handle for message in messages])
