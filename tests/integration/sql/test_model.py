"""Compares random sequences of calls with a small model of a queue.

A message is visible or hidden, and ends once. Time does not pass in the model: a hidden message stays hidden for an
hour, and a shown message is visible immediately. After each call the counts must agree. In the middle and at the end of
a test, the views of the metrics job must contain every message exactly once. Each message has its outcome and a time
for each receive after the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, takewhile

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.sql import calls
from tests.support.sql.calls import Connection, Counts, Delivery

HIDDEN = 3600
_EACH_ONCE = """
select coalesce(m.group_id, ''), m.receive_count, coalesce(m.outcome, m.state), m.first_received_at is not null,
    m.finished_at is not null, coalesce(cardinality(m.redelivered_at), 0),
    m.first_received_at < all (coalesce(m.redelivered_at, '{}')), m.entered_at = m.sent_at, m.entered_by
from (
    select queue_id, group_id, first_received_at, finished_at, receive_count, outcome, state, redelivered_at, sent_at,
        entered_at, entered_by
    from queue.live_message
    union all
    select queue_id, group_id, first_received_at, finished_at, receive_count, outcome, null, redelivered_at, sent_at,
        entered_at, entered_by
    from queue.finished_message) m
where m.queue_id = %s"""
_numbers = count()


@dataclass
class Message:
    public_id: int
    group: str
    hidden: bool = False
    receive_count: int = 0
    handle: Delivery | None = None  # the handle of the last receive
    outcome: str | None = None

    @property
    def state(self) -> str:
        """Returns the state of the live message, as SQS counts it."""
        return "visible" if not self.hidden else "in_flight" if self.receive_count else "delayed"

    def seen(self) -> tuple[object, ...]:
        """Returns the row of the message in _EACH_ONCE."""
        received, ended = self.receive_count > 0, self.outcome is not None
        again = max(self.receive_count - 1, 0)
        return (
            self.group, self.receive_count, self.outcome or self.state, received, ended, again, True, True, "sent"
        )  # fmt: skip


@dataclass
class Queue:
    """Holds the model and the tested queue."""

    db: Connection
    arn: str
    dead: str
    maximum: int | None
    is_fair: bool = False
    messages: dict[int, Message] = field(default_factory=dict)
    handles: list[Delivery] = field(default_factory=list)

    @property
    def fifo(self) -> bool:
        return self.arn.endswith(".fifo")

    def alive(self) -> list[Message]:
        return [message for message in self.messages.values() if message.outcome is None]

    def exhausted(self, message: Message) -> bool:
        return self.maximum is not None and message.receive_count >= self.maximum

    def check(self) -> None:
        """Checks that the counts of the queue equal the counts of the model."""
        states = Counter(m.state for m in self.alive())
        expected = Counts(states["visible"], states["in_flight"], states["delayed"])
        assert calls.counts(self.db, self.arn) == expected

    def send(self, number: int, choice: int) -> None:
        group = f"g{choice % 3}" if self.fifo or (self.is_fair and choice % 7) else None
        delay = HIDDEN // 4 if choice % 5 == 0 and not self.fifo else 0
        for row in calls.send(self.db, self.arn, *["m"] * number, delay=delay, group=group):
            assert row.id is not None
            assert row.id not in self.messages
            self.messages[row.id] = Message(row.id, group or "", hidden=delay > 0)

    def send_and_roll_back(self, number: int, choice: int) -> None:
        self.db.execute("begin")
        calls.send(self.db, self.arn, *["never"] * number, group=f"g{choice % 3}" if self.fifo else None)
        self.db.execute("rollback")

    def receive(self, number: int, choice: int) -> None:
        ready = self.ready()
        if self.is_fair:
            calls.check_groups_again(self.db, self.arn)
        seconds, lease_size = (0, HIDDEN, HIDDEN)[choice % 3], (1, 3, 10)[choice % 7 % 3]
        deliveries = calls.receive(self.db, self.arn, number, seconds, lease_size)
        received = [self.messages[d.public_id] for d in deliveries]
        self.bury(received)
        assert len(deliveries) == len({d.public_id for d in deliveries})
        if self.fifo and lease_size < number:
            self.check_shares(number, lease_size, ready, received)
        else:
            assert len(deliveries) == min(number, len(ready))
        assert all(message in ready for message in received)
        for message, delivery in zip(received, deliveries, strict=True):
            message.receive_count += 1
            message.hidden, message.handle = seconds > 0, delivery
            assert delivery.receive_count == message.receive_count
        self.handles += deliveries
        if self.fifo:
            self.check_order(ready, received)

    def ready(self) -> list[Message]:
        """Returns the messages that a receive can return. In FIFO queues, a receive can return the messages before the
        first hidden message of each group."""
        alive = sorted(self.alive(), key=lambda m: m.public_id)
        if not self.fifo:
            return [m for m in alive if not m.hidden and not self.exhausted(m)]
        groups = {m.group: [n for n in alive if n.group == m.group] for m in alive}
        heads = [list(takewhile(lambda m: not m.hidden, group)) for group in groups.values()]
        return [m for head in heads for m in head]

    def check_order(self, ready: list[Message], received: list[Message]) -> None:
        """Checks that the first messages of each group arrived in order."""
        for group in {message.group for message in received}:
            mine = [m.public_id for m in received if m.group == group]
            assert mine == [m.public_id for m in ready if m.group == group][: len(mine)]

    def check_shares(self, number: int, share: int, ready: list[Message], received: list[Message]) -> None:
        """Checks that two receivers in one call never receive messages of the same group, and that a receiver with free
        capacity does not skip a group."""
        shares = [{m.group for m in received[start : start + share]} for start in range(0, len(received), share)]
        assert sum(map(len, shares)) == len(set[str]().union(*shares))
        assert len(received) == number or {m.group for m in received} == {m.group for m in ready}

    def bury(self, received: list[Message]) -> None:
        """Records the messages that a receive moved to the dead-letter queue, and empties that queue."""
        if self.maximum is None:
            return
        for moved in calls.receive(self.db, self.dead, 1000, HIDDEN, 1000):
            (message,) = [m for m in self.alive() if m.handle is not None and m.handle.message_id == moved.message_id]
            assert self.exhausted(message)
            assert not message.hidden
            message.outcome = "dead_lettered"
        assert not any(self.exhausted(m) for m in received)

    def delete(self, number: int, choice: int) -> None:
        chosen = self.pick(number, choice)
        outcomes = calls.delete(self.db, chosen)
        # If a call contains several handles for a message, the handle of the earliest receive applies first.
        expected = Counter((h.public_id, self.delete_one(h)) for h in sorted(chosen, key=lambda h: h.receive_count))
        assert Counter((h.public_id, outcome) for h, outcome in zip(chosen, outcomes, strict=True)) == expected

    def delete_one(self, handle: Delivery) -> str:
        if refused := self.refused(handle):
            return refused
        self.messages[handle.public_id].outcome = "deleted"
        return "deleted"

    def refused(self, handle: Delivery) -> str | None:
        """Returns the reason why a handle has no effect, or None for a valid handle (docs/reference/compatibility.md,
        "an old receipt handle").
        """
        message = self.messages[handle.public_id]
        if message.outcome is not None:
            return "gone"
        return "expired" if self.fifo and (message.handle != handle or not message.hidden) else None

    def change(self, number: int, choice: int) -> None:
        chosen = self.pick(number, choice)
        seconds = HIDDEN if choice % 2 else 0
        expected = []
        for handle in chosen:
            expected.append(self.refused(handle) or "changed")
            if expected[-1] == "changed":
                self.messages[handle.public_id].hidden = seconds > 0
        assert calls.change(self.db, chosen, seconds) == expected

    def pick(self, number: int, choice: int) -> list[Delivery]:
        """Returns different handles. A quarter of the calls use the newest messages."""
        newest = list(dict.fromkeys(reversed(self.handles)))
        start = choice % 4 * number
        return newest[start : start + number]

    def delete_by_id(self, number: int, choice: int) -> None:
        chosen = list(self.messages.values())[choice % 4 :: 1 + choice % 3][:number]
        expected = sorted(m.public_id for m in chosen if m.outcome is None)
        assert calls.delete_by_id(self.db, self.arn, *(m.public_id for m in chosen)) == expected
        for message in chosen:
            message.outcome = message.outcome or "deleted"

    def change_by_id(self, number: int, choice: int) -> None:
        for message in list(self.messages.values())[-number:]:
            there = calls.change_by_id(self.db, self.arn, message.public_id, HIDDEN if choice % 2 else 0)
            assert there == (message.outcome is None)
            message.hidden = choice % 2 > 0 if there else message.hidden

    def purge(self, number: int, choice: int) -> None:
        assert calls.purge(self.db, self.arn) == len(self.alive())
        for message in self.alive():
            message.outcome = "purged"

    def maintain(self, number: int, choice: int) -> None:
        calls.maintain(self.db, self.arn)

    def check_views(self) -> None:
        """Checks that live and finished messages together contain each message exactly once."""
        seen = self.db.execute(_EACH_ONCE, (calls.queue_id(self.db, self.arn),)).fetchall()
        expected = Counter(message.seen() for message in self.messages.values())
        assert Counter(seen) == expected

    def finish(self) -> None:
        """Deletes the remaining messages, and checks that each message was recorded once and that no message
        remains."""
        self.check_views()
        self.delete_by_id(len(self.messages), 0)
        assert calls.counts(self.db, self.arn) == Counts(0, 0, 0)
        self.db.execute("update queue.fifo_ready set changed_at = changed_at - interval '1 minute'")
        while calls.maintain(self.db, self.arn):
            pass
        self.check_views()
        assert calls.history(self.db, self.arn) == Counter(m.outcome for m in self.messages.values())
        for table in ("log", "side", "deferred", "fifo_message", "fifo_group", "fifo_ready"):
            assert calls.rows_of(self.db, table, self.arn) == 0, table


# The list contains the frequent calls twice.
OPERATIONS: list[Callable[[Queue, int, int], None]] = [
    Queue.send, Queue.send, Queue.receive, Queue.receive, Queue.delete, Queue.delete, Queue.change, Queue.change,
    Queue.delete_by_id, Queue.change_by_id, Queue.send_and_roll_back, Queue.maintain, Queue.purge,
]  # fmt: skip
STEPS = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.integers(1, 12), st.integers(0, 99)), min_size=5, max_size=40
)
CAREFULLY = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
Steps = list[tuple[Callable[[Queue, int, int], None], int, int]]


def play(db: Connection, suffix: str, shards: int, maximum: int | None, steps: Steps, is_fair: bool = False) -> None:
    number = next(_numbers)
    dead = calls.create(db, f"dead{number}{suffix}")
    policy = {"RedrivePolicy": calls.redrive(dead, maximum)} if maximum else {}
    queue = Queue(db, calls.create(db, f"q{number}{suffix}", shards, **policy), dead, maximum, is_fair)
    for operation, size, choice in steps:
        operation(queue, size, choice)
        queue.check()
    queue.finish()


# Deletes and hides a message with a handle from an earlier receive, which random steps rarely do.
OLD_HANDLE: Steps = [
    (Queue.send, 1, 1), (Queue.receive, 1, 0), (Queue.receive, 1, 1), (Queue.change, 1, 1), (Queue.delete, 1, 1),
]  # fmt: skip


@CAREFULLY
@example(steps=OLD_HANDLE, shards=1)
@given(steps=STEPS, shards=st.integers(1, 3))
def test_a_standard_queue_is_like_its_model(db: Connection, steps: Steps, shards: int) -> None:
    play(db, "", shards, None, steps)


@CAREFULLY
@given(steps=STEPS, shards=st.integers(1, 2), maximum=st.sampled_from((None, 2)))
def test_a_fair_queue_is_like_its_model(db: Connection, steps: Steps, shards: int, maximum: int | None) -> None:
    play(db, "", shards, maximum, steps, is_fair=True)


@CAREFULLY
@given(steps=STEPS, maximum=st.integers(1, 3))
def test_a_standard_queue_with_dead_letters_is_like_its_model(db: Connection, steps: Steps, maximum: int) -> None:
    play(db, "", 1, maximum, steps)


@CAREFULLY
@example(steps=OLD_HANDLE)
@given(steps=STEPS)
def test_a_fifo_queue_is_like_its_model(db: Connection, steps: Steps) -> None:
    play(db, ".fifo", 1, None, steps)
