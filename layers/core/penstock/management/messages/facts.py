"""Derives a message's events from the facts that `queue.read_message` returns, and says what is unknown."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from penstock.postgres.statements.message_life import LifeRow

from .types import What

LIVE: Final = ("visible", "in_flight", "delayed")
ENDS: Final[dict[str, What]] = {"deleted": "deleted", "purged": "purged", "expired": "expired"}
EVENTS: Final[dict[str, What]] = {
    "received": "received", "failed": "failed", "archived": "archived", "selected": "selected", "acted": "acted",
    "edited": "edited", "edited_from": "edited_from", "first_sent": "sent", "dead_lettered": "dead_lettered",
    "moved": "moved",
}  # fmt: skip

MOVES: Final = ("dead_lettered", "moved")
Receive = tuple[str, str | None, int | None]
"""A receive: the queue's ARN, the message id, and the number of the receive."""


class Move(msgspec.Struct):
    """A move of the message from the queue `source`, where it had the message id `id`. `n` counts from 1."""

    n: int
    what: str
    id: str
    source: str = msgspec.field(name="from")


class Facts(msgspec.Struct):
    """The members of the row `facts` (`queue.message_facts`). Members that are unknown are None."""

    message_id: str
    public_id: int | None = None
    moves: list[Move] = []
    is_known: bool = False
    first_sent_ms: int | None = None
    first_sent_to: str | None = None
    group_id: str | None = None
    source_arn: str | None = None
    state: str | None = None
    ended_ms: int | None = None
    sent_ms: int | None = None
    entered_ms: int | None = None
    entered_by: str | None = None
    visible_ms: int | None = None
    receives: int | None = None
    first_ms: int | None = None
    again_ms: list[int] | None = None
    total_earlier: int | None = None
    first_earlier_ms: int | None = None
    source_receives: int | None = None
    source_first_ms: int | None = None
    source_again_ms: list[int] | None = None
    ended_together: int | None = None
    keeps_history: bool | None = None
    source_keeps_history: bool | None = None
    traces: bool | None = None

    @property
    def former_id(self) -> str | None:
        """Returns the message id before the last move that gave the message a new id."""
        return next((move.id for move in reversed(self.moves) if move.what == "moved"), None)

    def count_receives(self) -> int | None:
        """Returns the number of receives in all queues."""
        return None if self.receives is None else self.receives + (self.total_earlier or 0)

    def find_last_known_receive(self, times: Sequence[int]) -> int | None:
        """Returns the time of the last receive, or None if the last receive's time is unknown. `times` are the known
        times of receives, in all queues."""
        last = (self.own_times or self.source_times)[-1:]
        is_known = not last or last[0] is not None or len(times) >= (self.count_receives() or 0)
        return max(times, default=None) if is_known else None

    @property
    def own_times(self) -> list[int | None]:
        """Returns the time of each receive in this queue, in order. Tables keep at most 101 times."""
        return _list_times(self.receives, self.first_ms, self.again_ms)

    @property
    def source_times(self) -> list[int | None]:
        """Returns the time of each receive in the last source queue. The first receive of a message that passed through
        several queues was in another queue."""
        number = self.source_receives or self.total_earlier
        first = self.source_first_ms
        if first is None and self.source_receives in (None, self.total_earlier):
            first = self.first_earlier_ms
        return _list_times(number, first, self.source_again_ms)


class LifeFact(NamedTuple):
    """An event in the life of a message, which `life.py` shows as a LifeEvent.

    `receive` is the number of the receive in the queue `arn`. `message_id` is the id at that time.
    """

    what: What
    at_ms: int | None
    arn: str
    receive: int | None = None
    by: str | None = None
    agent: str | None = None
    detail: str | None = None
    message_id: str | None = None
    source_arn: str | None = None
    is_original: bool = False


def list_events(arn: str, facts: Facts, rows: Sequence[LifeRow], *, shows_source: bool) -> list[LifeFact]:
    """Returns the events in the order of time. Events at an unknown time follow the event that precedes them."""
    source = facts.source_arn if shows_source else None
    events: list[LifeFact] = []
    if facts.first_sent_to is None and facts.entered_by not in ("moved", "dead_lettered") and facts.sent_ms is not None:
        events.append(LifeFact("sent", facts.sent_ms, arn))
    known = _find_traced(rows)
    if source is not None:
        events += _list_receives(source, facts, facts.source_times, known)
    events += _list_receives(arn, facts, facts.own_times, known)
    known |= {(event.arn, event.message_id, event.receive) for event in events}
    events += [
        LifeFact(
            EVENTS[row.kind], row.at_ms, row.arn, None if row.kind in MOVES else row.receive_count, row.actor,
            row.agent, row.detail, _id(row), row.source_arn, bool(row.is_original),
        )
        for row in sorted(rows, key=lambda row: row.at_ms or 0)
        if row.kind in EVENTS
    ]  # fmt: skip
    events += [
        LifeFact("received", row.at_ms, row.arn, 1, message_id=_id(row), is_original=bool(row.is_original))
        for row in rows
        if row.kind == "first_received" and (row.arn, _id(row), 1) not in known
    ]
    if facts.state in ("dead_lettered", "moved"):
        events.append(LifeFact("dead_lettered" if facts.state == "dead_lettered" else "moved", facts.ended_ms, arn))
    elif facts.state in ENDS:
        events.append(LifeFact(ENDS[facts.state], facts.ended_ms, arn))
    return _sort(events)


def find_unknown(arn: str, facts: Facts, rows: Sequence[LifeRow], *, shows_source: bool) -> Iterator[str]:
    """Yields a sentence for each fact without a record."""
    name = arn.rpartition(":")[2]
    if facts.sent_ms is None:
        yield "When the message was sent is not known."
    traced = _find_traced(rows)
    yield from _find_unknown_moves(facts)
    yield from _find_unknown_before(facts, rows, traced)
    if shows_source and facts.source_arn is not None:
        yield from _find_unknown_times(
            facts.source_arn, facts, facts.source_times, traced, keeps_history=facts.source_keeps_history
        )
    if facts.receives is None:
        yield f"How often {name} delivered the message is not known."
    yield from _find_unknown_times(arn, facts, facts.own_times, traced, keeps_history=None)
    if shows_source and facts.source_arn is not None:
        yield from _find_unknown_receivers(facts.source_arn, facts, len(facts.source_times), rows)
    yield from _find_unknown_receivers(arn, facts, facts.receives or 0, rows)
    if facts.state is None:
        yield _explain_end(name, facts)
    elif facts.state not in LIVE and facts.ended_ms is None:
        yield "When the message ended is not known."


def _explain_end(name: str, facts: Facts) -> str:
    how = "How and when the message ended is not known"
    if facts.public_id is None:
        return "Whether the message still exists is not known: no examined queue has it."
    if facts.keeps_history is False:
        return f"{how}: {name} keeps no history."
    if (facts.ended_together or 0) > 1:
        return f"{how}: the history has {facts.ended_together:,} messages that were sent in the same moment."
    return f"{how}: the history of {name} does not have the message, or does not have it yet."


def _find_unknown_moves(facts: Facts) -> Iterator[str]:
    if not facts.is_known:
        yield "Whether the message moved from another queue is not known: no row of the message is left."
    elif facts.moves and facts.moves[0].n > 1:
        which = "move" if facts.moves[0].n == 2 else f"{facts.moves[0].n - 1:,} moves"
        yield f"The first {which} of the message cannot be shown: a message keeps its last 40."


def _find_unknown_before(facts: Facts, rows: Sequence[LifeRow], traced: set[Receive]) -> Iterator[str]:
    """Yields a sentence for the receives before the last move whose times or callers are unknown. Receives in the last
    source queue of a dead letter have other sentences."""
    last = facts.moves[-1] if facts.entered_by == "dead_lettered" and facts.moves else None
    left = {
        (row.source_arn or "", _id(row)): row.receive_count or 0
        for row in rows
        if row.kind in MOVES and (last is None or (row.source_arn, _id(row)) != (last.source, last.id))
    }
    known = [sum(receive[:2] == place for receive in traced) for place in left]
    first = {(row.arn, _id(row)) for row in rows if row.kind == "first_received"}
    total = sum(left.values())
    times = sum(max(number, place in first) for place, number in zip(left, known, strict=True))
    if times < total:
        yield f"When {total - times} of the {total} receives before the last move happened is not known."
    if sum(known) < total:
        yield f"The receivers of {total - sum(known)} of the {total} receives before the last move are not known."


def _find_traced(rows: Sequence[LifeRow]) -> set[Receive]:
    return {(row.arn, _id(row), row.receive_count) for row in rows if row.kind == "received"}


def _id(row: LifeRow) -> str | None:
    return None if row.message_id is None else str(row.message_id)


def _list_times(number: int | None, first: int | None, again: list[int] | None) -> list[int | None]:
    if not number:
        return []
    later: list[int | None] = [*(again or ())][: number - 1]
    return [first, *later, *[None] * (number - 1 - len(later))]


def _list_receives(arn: str, facts: Facts, times: Sequence[int | None], traced: set[Receive]) -> Iterator[LifeFact]:
    """Yields the receives whose times are known and that no trace has."""
    for number, at in enumerate(times, 1):
        if at is not None and (arn, facts.message_id, number) not in traced:
            yield LifeFact("received", at, arn, number, message_id=facts.message_id)


def _find_unknown_times(
    arn: str, facts: Facts, times: Sequence[int | None], traced: set[Receive], *, keeps_history: bool | None
) -> Iterator[str]:
    """Yields a sentence if the times of some receives are unknown."""
    missing = [
        number for number, at in enumerate(times, 1) if at is None and (arn, facts.message_id, number) not in traced
    ]
    if not missing:
        return
    name = arn.rpartition(":")[2]
    which = f"receive {missing[0]}" if len(missing) == 1 else f"receives {missing[0]} to {missing[-1]}"
    why = f": {name} keeps no history" if keeps_history is False else ""
    yield f"When {which} of {len(times)} in {name} happened is not known{why}."


def _find_unknown_receivers(arn: str, facts: Facts, number: int, rows: Sequence[LifeRow]) -> Iterator[str]:
    """Yields a sentence if the callers of some receives are unknown."""
    missing = number - sum(receive[:2] == (arn, facts.message_id) for receive in _find_traced(rows))
    name = arn.rpartition(":")[2]
    if 0 < missing < number:
        yield f"The receivers of {missing} of {number} receives in {name} are not known."
    elif missing > 0:
        yield f"The receivers in {name} are not known: the queue has not recorded them (attribute PenstockTrace)."


def _sort(events: Sequence[LifeFact]) -> list[LifeFact]:
    """Sorts by time. An event at an unknown time stays behind the event before it in the list."""
    keyed: list[tuple[int, int, LifeFact]] = []
    last = 0
    for place, event in enumerate(events):
        last = event.at_ms if event.at_ms is not None else last
        keyed.append((last, place, event))
    return [event for _, _, event in sorted(keyed, key=lambda item: item[:2])]
