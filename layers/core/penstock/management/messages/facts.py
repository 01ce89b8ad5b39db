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
    "edited": "edited", "edited_from": "edited_from", "first_sent": "sent",
}  # fmt: skip


class Facts(msgspec.Struct):
    """The members of the row `facts` (`queue.message_facts`). Members that are unknown are None."""

    message_id: str
    public_id: int | None = None
    moved_from: str | None = None
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

    def count_receives(self) -> int | None:
        """Returns the number of receives in all queues."""
        return None if self.receives is None else self.receives + (self.total_earlier or 0)

    def last_known_receive(self, times: Sequence[int]) -> int | None:
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


class Event(NamedTuple):
    """An event. `receive` is the number of the receive in the queue `arn`."""

    what: What
    at_ms: int | None
    arn: str
    receive: int | None = None
    by: str | None = None
    agent: str | None = None
    detail: str | None = None


def list_events(arn: str, facts: Facts, rows: Sequence[LifeRow], *, shows_source: bool) -> list[Event]:
    """Returns the events in the order of time. Events at an unknown time follow the event that precedes them."""
    source = facts.source_arn if shows_source else None
    events = [*_list_sends(arn, facts, rows, source)]
    traced = {(row.arn, row.receive_count) for row in rows if row.kind == "received"}
    if source is not None:
        events += _list_receives(source, facts.source_times, traced)
    events += _list_receives(arn, facts.own_times, traced)
    events += [
        Event(EVENTS[row.kind], row.at_ms, row.arn, row.receive_count, row.actor, row.agent, row.detail)
        for row in rows
        if row.kind in EVENTS
    ]
    if facts.entered_by == "dead_lettered":
        events.append(Event("dead_lettered", facts.entered_ms, arn))
    if facts.state in ("dead_lettered", "moved"):
        events.append(Event("dead_lettered" if facts.state == "dead_lettered" else "moved", facts.ended_ms, arn))
    elif facts.state in ENDS:
        events.append(Event(ENDS[facts.state], facts.ended_ms, arn))
    return _sort(events)


def find_unknown(arn: str, facts: Facts, rows: Sequence[LifeRow], *, shows_source: bool) -> Iterator[str]:
    """Yields a sentence for each fact without a record."""
    name = arn.rpartition(":")[2]
    if facts.sent_ms is None:
        yield "When the message was sent is not known."
    if facts.moved_from is None and facts.entered_by == "moved":
        yield "The id that the message had before the move is not known."
    traced = {(row.arn, row.receive_count) for row in rows if row.kind == "received"}
    if shows_source and facts.source_arn is not None:
        yield from _find_unknown_times(
            facts.source_arn, facts.source_times, traced, keeps_history=facts.source_keeps_history
        )
    if facts.receives is None:
        yield f"How often {name} delivered the message is not known."
    yield from _find_unknown_times(arn, facts.own_times, traced, keeps_history=None)
    if shows_source and facts.source_arn is not None:
        yield from _find_unknown_receivers(facts.source_arn, len(facts.source_times), rows)
    yield from _find_unknown_receivers(arn, facts.receives or 0, rows)
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


def _list_sends(arn: str, facts: Facts, rows: Sequence[LifeRow], source: str | None) -> Iterator[Event]:
    """Yields how the message began: by a send, or by a move, which gives it a new id."""
    if facts.moved_from is None and facts.first_sent_to is not None:
        return  # A row of the kind `first_sent` names the queue.
    if facts.moved_from is None and facts.entered_by != "moved":
        if facts.sent_ms is not None or facts.entered_by is not None:
            first = source if facts.entered_by == "dead_lettered" else arn
            if first is not None:
                yield Event("sent", facts.sent_ms, first)
        return
    task = next((row for row in rows if row.kind == "moving"), None)
    first = source if facts.entered_by == "dead_lettered" and source is not None else arn
    yield Event("moved", facts.sent_ms, first, detail=None if task is None else task.detail)


def _list_times(number: int | None, first: int | None, again: list[int] | None) -> list[int | None]:
    if not number:
        return []
    later: list[int | None] = [*(again or ())][: number - 1]
    return [first, *later, *[None] * (number - 1 - len(later))]


def _list_receives(arn: str, times: Sequence[int | None], traced: set[tuple[str, int | None]]) -> Iterator[Event]:
    """Yields the receives whose times are known and that no trace has."""
    for number, at in enumerate(times, 1):
        if at is not None and (arn, number) not in traced:
            yield Event("received", at, arn, number)


def _find_unknown_times(
    arn: str, times: Sequence[int | None], traced: set[tuple[str, int | None]], *, keeps_history: bool | None
) -> Iterator[str]:
    """Yields a sentence if the times of some receives are unknown."""
    missing = [number for number, at in enumerate(times, 1) if at is None and (arn, number) not in traced]
    if not missing:
        return
    name = arn.rpartition(":")[2]
    which = f"receive {missing[0]}" if len(missing) == 1 else f"receives {missing[0]} to {missing[-1]}"
    why = f": {name} keeps no history" if keeps_history is False else ""
    yield f"When {which} of {len(times)} in {name} happened is not known{why}."


def _find_unknown_receivers(arn: str, number: int, rows: Sequence[LifeRow]) -> Iterator[str]:
    """Yields a sentence if the callers of some receives are unknown."""
    missing = number - len({row.receive_count for row in rows if row.kind == "received" and row.arn == arn})
    name = arn.rpartition(":")[2]
    if 0 < missing < number:
        yield f"The receivers of {missing} of {number} receives in {name} are not known."
    elif missing > 0:
        yield f"The receivers in {name} are not known: the queue has not recorded them (attribute PenstockTrace)."


def _sort(events: Sequence[Event]) -> list[Event]:
    """Sorts by time. An event at an unknown time stays behind the event before it in the list."""
    keyed: list[tuple[int, int, Event]] = []
    last = 0
    for place, event in enumerate(events):
        last = event.at_ms if event.at_ms is not None else last
        keyed.append((last, place, event))
    return [event for _, _, event in sorted(keyed, key=lambda item: item[:2])]
