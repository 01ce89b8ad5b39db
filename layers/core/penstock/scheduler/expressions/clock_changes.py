"""Describes which times of an expression the changes of a zone's clock remove or repeat (the rules are in `zones`).

A local time counts as a time of the expression if the same expression fires at this time in the zone UTC, whose clock
never changes.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from .expression import Expression
from .zones import find_zone, is_repeated, list_clock_changes

_SECOND = timedelta(seconds=1)


def describe_clock_changes(expression: Expression, now: datetime, end: datetime | None = None) -> list[str]:
    """Returns a sentence for each change of the clock that affects the expression, within 366 days and not after `end`.
    No change affects a rate, because a rate counts seconds."""
    if expression.form == "rate":
        return []
    return list(_describe_moment(expression) if expression.is_one_shot else _describe_cron(expression, now, end))


def _describe_cron(expression: Expression, now: datetime, last: datetime | None) -> Iterator[str]:
    local_times = replace(expression, timezone="UTC")
    for at, before, after in list_clock_changes(find_zone(expression.timezone), now):
        if last is not None and at > last:
            return
        start, end = sorted((at + before, at + after))
        first = local_times.next_after(start - _SECOND)
        if first is None or first >= end:
            continue
        following = local_times.next_after(first)
        is_one = following is None or following >= end
        clock = f"On {start:%Y-%m-%d} the clock of {expression.timezone} goes"
        if after > before:
            missing = f"{first:%H:%M}, which does" if is_one else f"the local times from {first:%H:%M} on, which do"
            yield f"{clock} forward from {start:%H:%M} to {end:%H:%M}. The schedule skips {missing} not exist that day."
        else:
            repeated = f"{first:%H:%M} occurs" if is_one else f"The local times from {first:%H:%M} on occur"
            yield f"{clock} back from {end:%H:%M} to {start:%H:%M}. {repeated} twice, and the schedule fires only once."


def _describe_moment(expression: Expression) -> Iterator[str]:
    """Yields a sentence if the moment is a local time that occurs twice. A moment with an offset occurs once."""
    zone = find_zone(expression.timezone)
    moment = expression.next_after(datetime(1970, 1, 1, tzinfo=UTC))
    if moment is None or expression.written[-1:] in "Zz" or expression.written[-6:-5] in ("+", "-"):
        return
    local = moment.astimezone(zone).replace(tzinfo=None)
    if is_repeated(local, zone):
        yield f"{local:%Y-%m-%d %H:%M} occurs twice in {expression.timezone}. The schedule fires the first time."
