"""Explains why a queue falls behind, by comparing the minutes before and after the queue began to fall behind.

Describes each cause in plain English.
"""

from typing import Final, NamedTuple

from .series import Series
from .types import Cause, Facts

BEFORE_MINUTES: Final = 60
SINCE_MINUTES: Final = 15
ROSE: Final = 1.2
"""The multiple of the earlier rate above which arrivals count as risen."""
FELL: Final = 0.85
"""The fraction of the earlier rate below which consumers count as slower."""
SLOWER: Final = 1.3
"""The multiple of the earlier handling time above which handlers count as slow. If handlers are faster, some consumers
have left.
"""
GROUP_SHARE: Final = 0.5
"""The fraction of all messages above which one group is the cause of risen arrivals."""


class RateChange(NamedTuple):
    """Arrivals per minute, completions per minute and messages in flight, before and after a minute."""

    arrivals_before: float
    arrivals: float
    drain_before: float
    drain: float
    in_flight_before: float
    in_flight: float


def change_since(series: Series, start: int) -> RateChange | None:
    """Returns the change at the given minute, or None if no earlier minute is known."""
    before = slice(max(0, start - BEFORE_MINUTES), start)
    since = slice(start, min(len(series), start + SINCE_MINUTES))
    if not series.sent[before] or not series.sent[since]:
        return None
    means = [
        sum(values[part]) / len(values[part])
        for values in (series.sent, series.left, series.in_flight)
        for part in (before, since)
    ]
    return RateChange(*means)


def find_cause_of_growth(series: Series, start: int, facts: Facts) -> Cause | None:
    """Returns why the backlog has grown since the given minute, or None if the cause is unknown.

    Slower consumers take precedence over faster producers, because consumers that keep up handle more messages when
    more arrive.
    """
    change = change_since(series, start)
    if change is None or not change.arrivals_before:
        return Cause.ONE_GROUP if has_one_group(facts) else Cause.ARRIVALS_ROSE if change else None
    if change.drain < FELL * change.drain_before and change.drain < FELL * change.arrivals:
        return Cause.SLOW_HANDLERS if is_slower(change) else Cause.CONSUMERS_FELL
    if change.arrivals > ROSE * change.arrivals_before:
        return Cause.ONE_GROUP if has_one_group(facts) else Cause.ARRIVALS_ROSE
    if has_one_group(facts):
        return Cause.ONE_GROUP
    return Cause.ARRIVALS_ROSE if change.arrivals > change.arrivals_before else None


def describe_growth(arrived: int, left: int, minutes: int) -> str:
    """Returns the sentence about a queue that falls behind for an unknown cause. The charts show the same numbers."""
    window = "minute" if minutes == 1 else f"{minutes} minutes"
    came = f"{arrived:,} {'message' if arrived == 1 else 'messages'}" if arrived else "no message"
    return f"In the last {window}, {came} arrived and {f'{left:,}' if left else 'none'} left the queue."


def is_slower(change: RateChange) -> bool:
    """Returns whether a message takes longer than before. A message's time is the number of messages in flight divided
    by the completion rate."""
    if not change.drain or not change.drain_before or not change.in_flight_before:
        return False
    return change.in_flight / change.drain > SLOWER * change.in_flight_before / change.drain_before


def has_one_group(facts: Facts) -> bool:
    """Returns whether one group sends most of the messages."""
    return facts.noisy_groups > 0 or (facts.top_group_share is not None and facts.top_group_share > GROUP_SHARE)


CAUSES: Final[dict[Cause, str]] = {
    Cause.NOBODY_RECEIVES: "Messages wait and no consumer receives them.",
    Cause.QUEUE_PAUSED: "The queue is paused, so messages wait until somebody resumes the queue.",
    Cause.IN_FLIGHT_LIMIT: "Too many messages are in flight, so receives return no messages until some are deleted.",
    Cause.ENDPOINT_DOWN: "An endpoint does not respond, so its deliveries wait. Undeliverable messages arrive here.",
    Cause.MAPPING_STOPPED: "Messages wait, because their mapping to a function does not run.",
    Cause.FUNCTION_FAILS: "A function that the queue triggers fails.",
    Cause.POISON_GROUP: "Consumers receive some messages again and again, and never delete them.",
    Cause.HANDLERS_FAIL: "Consumers receive messages but delete hardly any, because handlers fail.",
    Cause.DEAD_LETTERS_WAIT: "Failed messages wait here until somebody redrives or deletes them.",
    Cause.ONE_GROUP: "One message group causes most of the work.",
    Cause.CONSUMERS_FELL: "Consumers process fewer messages than before, although each message takes as long. Some "
    "consumers have stopped.",
    Cause.SLOW_HANDLERS: "Consumers process fewer messages than before, because each message takes longer.",
    Cause.ARRIVALS_ROSE: "More messages arrive than before.",
}


def describe_cause(cause: Cause | None, facts: Facts) -> str:
    """Returns the sentence about a cause, with details of a mapping, or an empty string without a cause."""
    if cause is None:
        return ""
    details = {Cause.MAPPING_STOPPED: facts.stopped_mapping, Cause.FUNCTION_FAILS: facts.failing_result}
    detail = details.get(cause, "").removeprefix("PROBLEM: ")
    return f"{CAUSES[cause]} {detail[:1].upper()}{detail[1:].rstrip('.')}." if detail else CAUSES[cause]
