"""Records the events that senders and receivers see, and checks them for contradictions.

A message's unique body identifies it. An actor reports each action before the action, and the outcome afterwards. If an
actor dies between the two reports, the outcome is unknown, and the ledger accepts any outcome. Times are seconds of one
clock (`time.time`), taken before and after each call, so that the results do not depend on an actor's speed.

    sending -> sent | withdrawn (rolled back)            deleting -> deleted | kept (not deleted by this call)
    delivered: a receive between `begun` and `ended` returned the message and hides it for `seconds`
    released:  the message is about to be visible or deleted, so any consumer may receive it
    forgotten: the database crashed, and may have lost receives that began before the crash
    rewound:   the database returned to an earlier state, so later acknowledgements may be lost
"""

import heapq
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

# The longest time between a response's arrival and its note in the ledger.
NOTED_SECONDS = 0.5
# The longest time until a receive without a response takes effect. Exceeds the longest time for which a fault suspends
# a session.
LATE_SECONDS = 15


@dataclass(frozen=True)
class Findings:
    """Counts messages. In a correct run, all counts except `sent`, `deliveries`, `unknown_sends`, `unknown_deletes` and
    `rewound` are 0.
    """

    sent: int
    deliveries: int
    unknown_sends: int  # The response was lost, so the message may be stored.
    unknown_deletes: int  # The response was lost, and the message was not delivered again.
    rewound: int  # The message is gone, because the database was restored to a moment before the send.
    lost: int  # The message was acknowledged to the sender and never deleted, but is gone.
    phantom: int  # The message was delivered although it was rolled back or never sent.
    resurrected: int  # The message was delivered by a receive that began after the acknowledgement of its delete.
    overlapping: int  # The message was delivered although another receiver certainly had it in flight.
    out_of_order: int  # The message was delivered before the delete of an earlier message in its group.
    beyond_maximum: int  # The message was delivered more often than maxReceiveCount, or moved too early.
    stored_twice: int  # The message was sent once but delivered with two message ids.

    @property
    def violations(self) -> dict[str, int]:
        """Returns the number of violations by name. A correct run has no violations."""
        harmless = {"sent", "deliveries", "unknown_sends", "unknown_deletes", "rewound"}
        return {name: number for name, number in asdict(self).items() if number and name not in harmless}


@dataclass(slots=True)
class _Message:
    group: str | None = None
    order: int = 0
    sent: bool = False
    sent_at: float = 0
    message_id: str | None = None
    identified_at: float = -math.inf
    excused: bool = False
    uncertain: bool = False
    miscounted: bool = False
    withdrawn: bool = False
    moved_at: float | None = None
    deliveries: int = 0
    begun: float = 0
    ended: float = 0
    until: float = 0
    deleting: int = 0
    deleted_at: float | None = None

    @property
    def done(self) -> bool:
        return self.deleted_at is not None or self.moved_at is not None


@dataclass
class Ledger:
    """Is thread-safe. `maximum` is the queue's maxReceiveCount, or None.

    `stored_later` means that a worker stores a message in the queue some time after the acknowledgement of its send.
    """

    maximum: int | None = None
    stored_later: bool = False
    clock: Callable[[], float] = time.time
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _messages: dict[str, _Message] = field(default_factory=dict)
    _open: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    _phantom: set[str] = field(default_factory=set)
    _findings: list[tuple[float, str, str]] = field(default_factory=list)
    """The time, kind and details of each violation."""
    _forgotten: float = -math.inf
    _unanswered: list[tuple[float, float]] = field(default_factory=list)

    def sending(self, bodies: Iterable[str], group: str | None = None) -> None:
        with self._lock:
            for body in bodies:
                self._messages[body] = _Message(group)

    def sent(self, bodies: Iterable[str], orders: Iterable[int | None]) -> None:
        """Notes the acknowledgement of a commit. `orders` are ids that increase within a group."""
        now = self.clock()
        with self._lock:
            for body, order in zip(bodies, orders, strict=True):
                message = self._messages[body]
                message.sent, message.order, message.sent_at = True, order or 0, now
                if message.group is not None:
                    heapq.heappush(self._open.setdefault(message.group, []), (message.order, body))

    def withdrawn(self, bodies: Iterable[str]) -> None:
        with self._lock:
            for body in bodies:
                self._messages[body].withdrawn = True

    def delivered(self, bodies: Sequence[str], begun: float, seconds: float, message_ids: Sequence[str] = ()) -> None:
        """Notes the bodies from one committed receive in their order."""
        ended = self.clock()
        with self._lock:
            for body, message_id in zip(bodies, message_ids, strict=False):
                if (known := self._messages.get(body)) is not None:
                    if known.message_id not in (None, message_id):
                        self._findings.append((ended, "stored_twice", f"{body}: {known.message_id}, {message_id}"))
                    if known.message_id != message_id:
                        known.message_id, known.identified_at = message_id, ended
            for body, message in self._known(bodies):
                message.deliveries += 1
                message.excused = False
                if message.deleted_at is not None and begun > message.deleted_at:
                    detail = f"{body}: deleted {message.deleted_at:.3f}, received {begun:.3f} to {ended:.3f}"
                    self._findings.append((ended, "resurrected", detail))
                # The two receives overlap, regardless of their order.
                held = message.begun > self._forgotten and ended < message.until
                if held and message.ended < begun + seconds:
                    detail = (
                        f"{body}, sent {message.sent_at:.3f}: received {message.begun:.3f} to {message.ended:.3f}"
                        f" until {message.until:.3f}, again {begun:.3f} to {ended:.3f} for {seconds} s"
                    )
                    self._findings.append((ended, "overlapping", detail))
                message.begun, message.ended, message.until = begun, ended, begun + seconds
            self._check_order(bodies)

    def _known(self, bodies: Iterable[str]) -> Iterator[tuple[str, _Message]]:
        for body in bodies:
            if body in self._messages:
                yield body, self._messages[body]
            else:
                self._phantom.add(body)

    def released(self, bodies: Iterable[str]) -> None:
        with self._lock:
            for _, message in self._known(bodies):
                message.until = 0

    def forgotten(self, until: float | None = None, since: float = math.inf) -> None:
        """Notes that messages received before now, or before `until`, may be received again immediately.

        `since` is the earliest moment of the crash. Redeliveries between `since` and the current time are not
        violations.
        """
        with self._lock:
            self._forgotten = until or self.clock()
            self._findings = [found for found in self._findings if found[1] != "overlapping" or found[0] < since]

    def unanswered_receive(self, begun: float) -> None:
        """Notes that a receive began at `begun` and has no response. The received messages are unknown, and the receive
        may still take effect for a short time.

        The call may also be a send that receives messages for a waiting request.
        """
        with self._lock:
            self._unanswered.append((begun, self.clock()))

    def rewound(self, moment: float, cut: float, until: float | None = None) -> None:
        """Notes that a restore, or a failover to a lagging standby, returned the database at `cut` to its state at
        `moment` or later.

        Between `moment` and `cut`, sends may be lost, deletes and moves may be undone, receives may not be counted, and
        a worker may have stored messages that it stores again.
        Violations since `cut` do not count, because the ledger did not know the database's state. Before `until`, no
        response of the restored database can have arrived. The default allows NOTED_SECONDS for responses that arrived
        before `cut`.
        """
        until = cut + NOTED_SECONDS if until is None else until
        with self._lock:
            self._forgotten = self.clock()
            self._findings = [found for found in self._findings if found[0] < cut]
            for message in self._messages.values():
                message.miscounted = True
                if not message.sent or moment <= message.sent_at <= until:
                    message.excused, message.message_id = message.sent, None
                    message.uncertain = True
                if self.stored_later and moment <= message.identified_at <= until:
                    message.message_id = None  # The worker stores the message again, with another id.
                if message.deleted_at is not None and moment <= message.deleted_at <= until:
                    message.deleted_at = None
                    message.deleting += 1
                if message.moved_at is not None and moment <= message.moved_at <= until:
                    message.moved_at = None
                    message.deleting += 1

    def held(self, bodies: Iterable[str], begun: float, seconds: float) -> None:
        """Notes the acknowledgement of a visibility change that began at `begun`."""
        with self._lock:
            for _, message in self._known(bodies):
                message.until = begun + seconds

    def deleting(self, bodies: Iterable[str]) -> None:
        with self._lock:
            for _, message in self._known(bodies):
                message.until = 0
                message.deleting += 1

    def deleted(self, bodies: Iterable[str]) -> None:
        now = self.clock()
        with self._lock:
            for _, message in self._known(bodies):
                message.deleted_at = now

    def kept(self, bodies: Iterable[str]) -> None:
        """Notes that the call has not deleted the messages. Another call has deleted or will delete the messages."""
        with self._lock:
            for body, message in ((b, self._messages[b]) for b in bodies if b in self._messages):
                message.deleting -= 1
                if message.group is not None and not message.done:
                    heapq.heappush(self._open.setdefault(message.group, []), (message.order, body))

    def moved(self, bodies: Iterable[str]) -> None:
        """Notes that the messages arrived in the dead-letter queue."""
        now = self.clock()
        with self._lock:
            for _, message in self._known(bodies):
                message.moved_at, message.excused = now, False

    def seen(self) -> set[str]:
        """Returns the messages that were delivered or moved at least once."""
        with self._lock:
            return {body for body, m in self._messages.items() if m.deliveries or m.moved_at is not None}

    def uncertain(self) -> set[str]:
        """Returns the messages that were in progress when the database was rewound."""
        with self._lock:
            return {body for body, m in self._messages.items() if m.uncertain}

    def details(self) -> list[str]:
        """Returns the details of forbidden deliveries."""
        with self._lock:
            counted = [
                f"beyond_maximum: {body}, {m.deliveries} deliveries, sent {m.sent_at:.3f}, moved {m.moved_at or 0:.3f},"
                f" last received {m.begun:.3f} to {m.ended:.3f}; crash known {self._forgotten:.3f}"
                for body, m in self._messages.items()
                if self._counts_wrongly(m)
            ]
            return counted + [f"{what}: {detail}" for _, what, detail in self._findings]

    def lost(self) -> list[str]:
        """Returns the details of lost messages. All queues must be drained."""
        with self._lock:
            return [
                f"lost: {body}, sent {m.sent_at:.3f}, last received {m.begun:.3f} to {m.ended:.3f}"
                for body, m in self._messages.items()
                if self._is_lost(m)
            ]

    def findings(self) -> Findings:
        """Returns the results of the whole run. All queues must be drained."""
        with self._lock:
            messages = list(self._messages.values())
            found = Counter(what for _, what, _ in self._findings)
        return Findings(
            sent=sum(m.sent for m in messages),
            deliveries=sum(m.deliveries for m in messages),
            unknown_sends=sum(not m.sent and not m.withdrawn for m in messages),
            unknown_deletes=sum(m.sent and not m.done and m.deleting > 0 for m in messages),
            rewound=sum(m.excused and not m.done for m in messages),
            lost=sum(map(self._is_lost, messages)),
            phantom=len(self._phantom)
            + sum(m.withdrawn and (m.deliveries > 0 or m.moved_at is not None) for m in messages),
            resurrected=found["resurrected"],
            overlapping=found["overlapping"],
            out_of_order=found["out_of_order"],
            beyond_maximum=sum(self._counts_wrongly(m) for m in messages),
            stored_twice=found["stored_twice"],
        )

    @staticmethod
    def _is_lost(message: _Message) -> bool:
        return message.sent and not message.done and not message.deleting and not message.excused

    def _counts_wrongly(self, message: _Message) -> bool:
        moved = message.moved_at is not None
        if self.maximum is None:
            return moved
        too_often = message.deliveries > self.maximum and message.sent_at > self._forgotten
        too_early = (
            message.moved_at is not None
            and message.deliveries < self.maximum
            and not self._may_have_been_received(message.sent_at, message.moved_at)
        )
        return (too_often or too_early) and not message.miscounted

    def _may_have_been_received(self, sent_at: float, moved_at: float) -> bool:
        """Returns whether a receive without a response may have received a message that existed between `sent_at` and
        `moved_at`.
        """
        return any(begun <= moved_at and sent_at <= given_up + LATE_SECONDS for begun, given_up in self._unanswered)

    def _check_order(self, bodies: Sequence[str]) -> None:
        """Checks that each earlier message of the group is done, or precedes the message in the batch."""
        for group in {m.group for m in map(self._messages.get, bodies) if m and m.group is not None}:
            batch = [body for body in bodies if body in self._messages and self._messages[body].group == group]
            orders = [self._messages[body].order for body in batch if self._messages[body].sent]
            first = self._first_open(group, set(batch))
            late = first is not None and bool(orders) and first < max(orders)
            if late or orders != sorted(orders):
                self._findings.append(
                    (self.clock(), "out_of_order", f"{group}: {orders}, first that is not done: {first}")
                )

    def _first_open(self, group: str, batch: set[str]) -> int | None:
        heap = self._open.get(group, [])
        aside = []
        while heap and (heap[0][1] in batch or not self._is_open(heap[0][1])):
            entry = heapq.heappop(heap)
            if self._is_open(entry[1]):
                aside.append(entry)
        first = heap[0][0] if heap else None
        for entry in aside:
            heapq.heappush(heap, entry)
        return first

    def _is_open(self, body: str) -> bool:
        message = self._messages[body]
        exhausted = self.maximum is not None and message.deliveries >= self.maximum
        return not (message.done or message.deleting or exhausted or message.excused)
