"""Counts the results of a run: ids of acknowledged and received messages, deletions, and the duration of every call.

Rates count messages instead of calls, so that a service with fast but empty responses does not appear fast.
"""

from collections import Counter
from collections.abc import Iterable, MutableSequence, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from benchmarks.load.wire import Action

SAMPLES_OF_BAD_ANSWERS = 5


@dataclass(slots=True)
class Tally:
    """Holds the counts of one process during one phase. `merge_tallies` adds the counts of several processes."""

    acknowledged: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    deleted: int = 0
    empty_receives: int = 0
    bad_answers: int = 0
    bad_samples: list[str] = field(default_factory=list)
    call_seconds: dict[Action, list[float]] = field(default_factory=lambda: {a: [] for a in Action})
    waits_seconds: list[float] = field(default_factory=list)
    started_at: float = 0.0
    last_at: dict[Action, float] = field(default_factory=dict)
    generator_cpu_seconds: float = 0.0

    def record_call(self, action: Action, seconds: float, now: float) -> None:
        self.call_seconds[action].append(seconds)
        self.last_at[action] = now

    def record_bad_response(self, answer: bytes) -> None:
        self.bad_answers += 1
        if len(self.bad_samples) < SAMPLES_OF_BAD_ANSWERS:
            self.bad_samples.append(answer.decode("utf-8", "replace"))

    @property
    def finished_at(self) -> float:
        return max(self.last_at.values(), default=self.started_at)

    def seconds_until(self, *actions: Action) -> float:
        """Returns the seconds from the start of the phase to the last response to one of `actions`.

        Returns 0 if there was no response to one of `actions`.
        """
        return max((self.last_at[a] - self.started_at for a in actions if a in self.last_at), default=0.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Holds the result of comparing ids. A `phantom` is a received message without an acknowledged send."""

    lost: int
    duplicated: int
    phantom: int
    undeleted: int

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.phantom or self.undeleted)


def merge_tallies(tallies: Iterable[Tally]) -> Tally:
    """Adds up the tallies of several processes. The processes use the same clock (CLOCK_MONOTONIC)."""
    parts = list(tallies)
    total = Tally(started_at=min((part.started_at for part in parts), default=0.0))
    for part in parts:
        add_tally(total, part)
    return total


def add_tally(total: Tally, part: Tally) -> None:
    total.acknowledged += part.acknowledged
    total.received += part.received
    total.deleted += part.deleted
    total.empty_receives += part.empty_receives
    total.bad_answers += part.bad_answers
    total.bad_samples = (total.bad_samples + part.bad_samples)[:SAMPLES_OF_BAD_ANSWERS]
    total.waits_seconds.extend(part.waits_seconds)
    total.generator_cpu_seconds += part.generator_cpu_seconds
    for action, seconds in part.call_seconds.items():
        total.call_seconds[action].extend(seconds)
    for action, at in part.last_at.items():
        total.last_at[action] = max(at, total.last_at.get(action, at))


def compare_ids(acknowledged: list[str], received: list[str], deleted: int) -> Verdict:
    """Compares the ids of all acknowledged sends with the ids of all receives. The queue must be empty."""
    counts = Counter(received)
    sent = Counter(acknowledged)
    reused = len(acknowledged) - len(sent)
    return Verdict(
        lost=sum(1 for message_id in sent if message_id not in counts),
        duplicated=reused + len(received) - len(counts),
        phantom=sum(1 for message_id in counts if message_id not in sent),
        undeleted=max(0, len(received) - deleted),
    )


def percentile(values: Iterable[float], fraction: float) -> float:
    """Returns a percentile of the values by the nearest-rank method, or 0 if there are no values."""
    return percentile_of_sorted(sorted(values), fraction)


def percentile_of_sorted(ordered: Sequence[float], fraction: float) -> float:
    """Returns a percentile of values that are in ascending order (see `percentile`)."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, max(0, -(-int(fraction * 10_000) * len(ordered) // 10_000) - 1))]


# --- progress --------------------------------------------------------------------------------------------------------
# Counts the messages left to send in a process, and the messages that all processes have received.

STALL_SECONDS = 5.0


class Progress:
    """Holds the progress that the flows of one process share.

    `slots` is shared memory that contains each process's counter of received messages. A process writes only its own
    counter.
    """

    def __init__(self, to_send: int, to_receive: int, slots: MutableSequence[int], slot: int) -> None:
        self._left = to_send
        self._to_receive = to_receive
        self._slots = slots
        self._slot = slot
        self._moved_at = perf_counter()

    def claim(self, count: int) -> int:
        """Returns the number of messages, up to `count`, that the caller must send now, or 0 if no message is left."""
        taken = min(count, self._left)
        self._left -= taken
        return taken

    def received(self, count: int) -> None:
        self._slots[self._slot] += count
        self._moved_at = perf_counter()

    @property
    def complete(self) -> bool:
        return sum(self._slots) >= self._to_receive

    @property
    def stalled(self) -> bool:
        """Returns whether this process has received no message for STALL_SECONDS.

        If no message has arrived for that time, the run ends, and missing messages count as lost.
        """
        return perf_counter() - self._moved_at > STALL_SECONDS
