"""Parses, stores, evaluates and describes schedule expressions of every form.

    form       written                    canonical, as stored
    cron       0 9 * * mon-fri            0 9 * * MON-FRI; seconds are the first of six fields
    every      5m                         */5 * * * *
    when       every weekday at 9am       0 9 * * 1-5
    fire_at    2027-01-31T09:00:00+01:00  2027-01-31T08:00:00Z
    aws_cron   cron(0 12 * * ? *)         cron(0 12 * * ? *)
    rate       rate(5 minutes)            rate(5 minutes)
    at         at(2027-01-31T09:00:00)    at(2027-01-31T09:00:00)

A schedule skips a local time that does not exist, and fires once at a time that occurs twice (zones.py). No schedule
fires after 2199. The SQL counterparts are queue.parse_schedule.sql and queue.next_fires.sql. test_schedule_expressions
compares the results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from . import cron as crons
from . import every as everies
from . import meant, moments, rate, when
from .description import describe_cron, describe_moment, describe_rate
from .invalid import ScheduleInvalid, raise_flaw
from .next_time import LATEST, build_cron_times
from .zones import find_clock_set_back, find_zone

__all__ = ["Expression", "ScheduleInvalid", "list_occurrences", "parse", "parse_aws", "read_stored"]

_ONE_SHOTS = ("fire_at", "at")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression. The table above explains the forms. `timezone` is an IANA name."""

    form: str
    written: str
    canonical: str
    timezone: str

    def next_after(self, instant: datetime, anchor: datetime | None = None) -> datetime | None:
        """Returns the first time strictly after `instant`, in UTC and whole seconds, or None after the last time.

        Both `instant` and the result have a time zone. Only rates need `anchor`, which is a rate's first time. The
        first time is StartDate, or the schedule's creation time without the fraction of a second. A rate counts from
        `instant` if `anchor` is missing. Raises ScheduleInvalid if a row contains no expression or an unknown zone.
        """
        found = self._next_after(instant.astimezone(UTC), anchor)
        return found if found is not None and found <= _LATEST else None

    def _next_after(self, instant: datetime, anchor: datetime | None) -> datetime | None:
        if self.form == "rate":
            start = (anchor or instant).astimezone(UTC).replace(microsecond=0)
            return rate.find_next_of_rate(_read_seconds(self.canonical), instant, start)
        if self.is_one_shot:
            moment = _parse_moment(self.canonical, self.timezone)
            return moment if moment > instant else None
        return build_cron_times(self.canonical).next_after(instant, find_zone(self.timezone))

    def description(self) -> str:
        """Returns the description in English."""
        if self.form == "rate":
            return describe_rate(self.canonical)
        if self.is_one_shot:
            moment = _parse_moment(self.canonical, self.timezone)
            return describe_moment(moment, find_zone(self.timezone), self.timezone)
        return _describe_cron(self.canonical, self.timezone)

    @property
    def is_one_shot(self) -> bool:
        """Returns whether the expression is a single moment."""
        return self.form in _ONE_SHOTS


def parse(
    *,
    cron: str | None = None,
    every: str | None = None,
    when: str | None = None,
    fire_at: str | None = None,
    timezone: str = "UTC",
) -> Expression:
    """Parses a REST schedule's expression, which must have exactly one form. Raises ScheduleInvalid."""
    forms = {"cron": cron, "every": every, "when": when, "fire_at": fire_at}
    given = [(form, text) for form, text in forms.items() if text is not None]
    if len(given) != 1:
        names = ", ".join(form for form, _ in given) or "none"
        raise ScheduleInvalid(f"exactly one of cron, every, when and fire_at is given, not {names}")
    form, text = given[0]
    return Expression(form, text, _READERS[form](text, find_zone(timezone)), timezone)


def parse_aws(expression: str, timezone: str = "UTC") -> Expression:
    """Parses an expression of EventBridge Scheduler. Raises ScheduleInvalid."""
    zone = find_zone(timezone)
    form = next((form for start, form in _AWS_FORMS.items() if expression.startswith(start)), "aws_cron")
    return Expression(form, expression, _READERS[form](expression, zone), timezone)


def convert_sentence(text: str) -> str:
    """Returns AWS's expression for a sentence of `when`. Returns an expression of AWS unchanged. Raises ScheduleInvalid
    for a wrong sentence, and for a text that begins as neither does.
    """
    if when.is_sentence(text):
        return raise_flaw(text, when.convert_to_aws, when.EXAMPLES)
    if not text.startswith((*_AWS_FORMS, "cron(")):
        message = "an expression is a sentence such as every weekday at 9am, or rate(…), cron(…) or at(…)"
        raise ScheduleInvalid(message, 0, meant.find_meant(text), meant.EXAMPLES)
    return text


@lru_cache(maxsize=8192)
def read_stored(form: str, written: str, canonical: str, timezone: str) -> Expression:
    """Returns a row's expression without checks. An invalid expression raises an error only when a caller evaluates
    it."""
    return Expression(form, written, canonical, timezone)


def list_occurrences(
    expression: Expression, after: datetime, count: int, anchor: datetime | None = None
) -> list[datetime]:
    """Returns the next `count` times, or fewer times if the expression ends earlier."""
    found: list[datetime] = []
    anchor = anchor or after
    while len(found) < count and (following := expression.next_after(after, anchor)) is not None:
        found.append(after := following)
    return found


def find_pause(expression: Expression, now: datetime) -> datetime | None:
    """Returns the time at which an hourly schedule pauses because the zone's clock goes back (`zones`), or None."""
    if expression.form == "rate" or expression.is_one_shot:
        return None
    found = find_clock_set_back(find_zone(expression.timezone), now)
    if found is None:
        return None
    change, length = found

    def fires(number: int) -> bool:
        """Returns whether the expression fires in this span. Each span is as long as the clock change, and span 0
        starts with the change."""
        start = change + number * length
        following = expression.next_after(start - timedelta(seconds=1))
        return following is not None and following < start + length

    is_paused = not fires(0) and all(map(fires, (-3, -2, -1, 1, 2)))
    return change if is_paused else None


# --- reading ---------------------------------------------------------------------------------------------------------
def _read_cron(text: str, _zone: tzinfo) -> str:
    raise_flaw(text, crons.read_crontab, crons.EXAMPLES)
    return crons.format_crontab(text)


def _read_aws_cron(text: str, _zone: tzinfo) -> str:
    raise_flaw(text, crons.read_aws, crons.AWS_EXAMPLES)
    return crons.format_aws_cron(text)


def _read_every(text: str, _zone: tzinfo) -> str:
    return raise_flaw(text, everies.convert_every, everies.EXAMPLES)


def _read_when(text: str, _zone: tzinfo) -> str:
    return raise_flaw(text, when.convert_when, when.EXAMPLES)


def _read_fire_at(text: str, zone: tzinfo) -> str:
    instant = raise_flaw(text, lambda written: moments.read_fire_at(written, zone), moments.EXAMPLES)
    return moments.format_moment(instant)


def _read_at(text: str, zone: tzinfo) -> str:
    raise_flaw(text, lambda written: moments.read_at(written, zone), moments.AWS_EXAMPLES)
    return text


def _read_rate(text: str, _zone: tzinfo) -> str:
    return raise_flaw(text, rate.format_rate, rate.EXAMPLES)


_READERS: dict[str, Callable[[str, tzinfo], str]] = {
    "cron": _read_cron,
    "every": _read_every,
    "when": _read_when,
    "fire_at": _read_fire_at,
    "aws_cron": _read_aws_cron,
    "rate": _read_rate,
    "at": _read_at,
}
_AWS_FORMS = {"rate(": "rate", "at(": "at"}
_LATEST = LATEST.replace(tzinfo=UTC)


# --- evaluating ------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=1024)
def _read_seconds(canonical: str) -> int:
    return raise_flaw(canonical, rate.read_seconds, rate.EXAMPLES)


@lru_cache(maxsize=1024)
def _parse_moment(canonical: str, timezone: str) -> datetime:
    zone = find_zone(timezone)
    read = moments.read_at if canonical.startswith("at(") else moments.read_fire_at
    return raise_flaw(canonical, lambda text: read(text, zone), moments.EXAMPLES)


@lru_cache(maxsize=1024)
def _describe_cron(canonical: str, timezone: str) -> str:
    return describe_cron(canonical, timezone)
