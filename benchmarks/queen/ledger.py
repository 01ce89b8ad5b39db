"""Records which messages were pushed, completed (and in which order), and moved to the dead-letter queues.

Each session numbers its messages. For each session, a group stores the last completed number, and the skipped numbers,
whose messages must be in the dead-letter queue.
"""

from collections import defaultdict
from dataclasses import dataclass, field

MessageKey = tuple[int, int]  # session, number from 1


@dataclass(slots=True)
class ConsumerGroup:
    """Records the messages that one consumer group has completed. Late numbers are errors only if `ordered` is true."""

    ordered: bool = True
    completed: int = 0
    duplicates: int = 0
    violations: int = 0
    failures: int = 0
    skipped: set[MessageKey] = field(default_factory=set)
    _failed_once: set[MessageKey] = field(default_factory=set)
    _last: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))

    def complete(self, session: int, number: int) -> None:
        last, key = self._last[session], (session, number)
        if number > last:
            self.skipped.update((session, between) for between in range(last + 1, number))
            self._last[session] = number
        elif key in self.skipped:
            self.skipped.remove(key)
            self.violations += self.ordered
        else:
            self.duplicates += 1
            return
        self.completed += 1

    def first_time(self, key: MessageKey) -> bool:
        """Records a failure, and returns whether it is the first failure of the message."""
        known = key in self._failed_once
        self._failed_once.add(key)
        return not known

    def missing(self, pushed: dict[int, int]) -> set[MessageKey]:
        """Returns the messages that were pushed but not completed.

        `pushed` maps each session to its number of messages.
        """
        behind = ((session, n) for session, last in pushed.items() for n in range(self._last[session] + 1, last + 1))
        return self.skipped | set(behind)

    def unknown(self, pushed: dict[int, int]) -> int:
        """Returns the number of messages that were completed but never pushed."""
        return sum(max(0, last - pushed.get(session, 0)) for session, last in self._last.items())


@dataclass(slots=True)
class Ledger:
    """Holds the records of both groups and of stage 2.

    `uncertain` contains pushes without a response, which the service may have stored.
    """

    groups: tuple[ConsumerGroup, ConsumerGroup]
    pushed: dict[int, int] = field(default_factory=dict)
    acknowledged: int = 0
    uncertain: set[MessageKey] = field(default_factory=set)
    push_errors: int = 0
    forwarded: set[MessageKey] = field(default_factory=set)
    forward_errors: int = 0
    stage2: set[MessageKey] = field(default_factory=set)
    stage2_duplicates: int = 0

    def number(self, session: int) -> int:
        """Returns the next number of a session."""
        self.pushed[session] = self.pushed.get(session, 0) + 1
        return self.pushed[session]

    def arrive_at_stage2(self, key: MessageKey) -> None:
        self.stage2_duplicates += key in self.stage2
        self.stage2.add(key)

    def backlog(self, group: int) -> int:
        return self.acknowledged - self.groups[group].completed


@dataclass(frozen=True, slots=True)
class AuditResult:
    """Holds the result of a group's audit. `collateral` counts dead-lettered messages that were not poison."""

    completed: int
    lost: int
    duplicates: int
    order_violations: int
    unknown: int
    poison_dead_lettered: int
    collateral: int
    completed_and_dead: int
    redeliveries: int

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicates or self.order_violations or self.unknown or self.completed_and_dead)


def audit(ledger: Ledger, group: int, dead: set[MessageKey], poison: set[MessageKey]) -> AuditResult:
    """Audits a group.

    `dead` contains the messages in the group's dead-letter queue, and `poison` contains the poison messages.
    """
    books = ledger.groups[group]
    missing = books.missing(ledger.pushed)
    return AuditResult(
        completed=books.completed,
        lost=len(missing - dead - ledger.uncertain),
        duplicates=books.duplicates,
        order_violations=books.violations,
        unknown=books.unknown(ledger.pushed),
        poison_dead_lettered=len(dead & poison),
        collateral=len(dead - poison),
        completed_and_dead=len(dead - missing),
        redeliveries=books.failures,
    )
