"""Describes expressions in English: "At 09:00, Monday through Friday, America/New_York". cron-descriptor describes
cron."""

import re
from datetime import datetime, tzinfo

from .fields import AWS_DAY_OF_WEEK
from .rate import read_rate

_DAILY = re.compile(r"At (\d\d:\d\d(:\d\d)?)", re.ASCII).fullmatch
_AWS_WEEKDAY = re.compile(r"(?<![#/])[1-7]", re.ASCII)


def describe_cron(canonical: str, timezone: str) -> str:
    """Describes a cron expression of AWS or the REST API."""
    fields = canonical
    if canonical.startswith("cron("):
        fields = _name_weekdays(canonical[5:-1])
    text = _describe_by_library(fields)
    if daily := _DAILY(text):
        text = f"Every day at {daily[1]}"
    return text + _describe_zone(timezone)


def _name_weekdays(fields: str) -> str:
    """Converts AWS's numbers to unambiguous names: `6L` to `FRIL`, `2#1` to `MON#1`, `L` to `SAT`."""
    *others, weekdays, year = fields.split()
    if weekdays == "L":
        weekdays = "SAT"
    named = _AWS_WEEKDAY.sub(lambda number: AWS_DAY_OF_WEEK.names[int(number[0]) - 1], weekdays)
    return " ".join([*others, named, *([] if year == "*" else [year])])


def describe_moment(instant: datetime, zone: tzinfo, timezone: str) -> str:
    """Returns `Once at 2027-01-31 09:00:00 UTC`, in the zone's time."""
    local = instant.astimezone(zone).replace(tzinfo=None)
    return f"Once at {local}{_describe_zone(timezone) or ' UTC'}"


def describe_rate(canonical: str) -> str:
    """Returns `Every 5 minutes`. The time zone has no effect on a rate."""
    number, unit = read_rate(canonical)
    return f"Every {unit}" if number == 1 else f"Every {number} {unit}s"


def _describe_zone(timezone: str) -> str:
    return "" if timezone in ("UTC", "Etc/UTC") else f", {timezone}"


def _describe_by_library(fields: str) -> str:
    from cron_descriptor import FormatError, Options, get_description  # noqa: PLC0415 - 35 ms, for this text alone

    # The locale is explicit, because the library would otherwise use the process's locale.
    options = Options(use_24hour_time_format=True, locale_code="en_US")
    try:
        return str(get_description(fields, options))
    except FormatError:
        # The library does not support some combinations of L, W and #, and ranges across the end of the week.
        return f"At the times of {fields}"
