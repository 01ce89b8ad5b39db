"""Formats attributes for readers: durations, sizes and times in units instead of plain numbers. Rounds nothing, so that
two different values never look alike.
"""

from datetime import UTC, datetime
from re import sub
from types import NoneType
from typing import Final, Literal, NamedTuple

import msgspec
from markupsafe import Markup

from penstock_web.report.formats import plural

Unit = Literal["seconds", "bytes", "milliseconds", "timestamp", ""]
UNITS: Final[dict[str, Unit]] = {
    "VisibilityTimeout": "seconds",
    "MessageRetentionPeriod": "seconds",
    "DelaySeconds": "seconds",
    "ReceiveMessageWaitTimeSeconds": "seconds",
    "KmsDataKeyReusePeriodSeconds": "seconds",
    "archive_seconds": "seconds",
    "MaximumMessageSize": "bytes",
    "ApproximateFirstReceiveTimestamp": "milliseconds",
    "SentTimestamp": "milliseconds",
    "CreatedTimestamp": "timestamp",
    "LastModifiedTimestamp": "timestamp",
}
"""The units of attributes whose values are whole numbers. A timestamp is in seconds since 1970."""
_DURATIONS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_SIZES: Final = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))
_LAST_TIMESTAMP: Final = 253_402_300_799
MAX_UNFOLDED: Final = 4
"""A list of more values is folded after its first three values."""
SHOWN: Final = 3
_NOISE: Final = (
    "app/", "md/", "ua/", "os/", "lang/", "exec-env/", "cfg/", "api/", "m/", "ft/", "lib/", "hll/", "internal/", "io/",
    "http/", "vendor/", "linux/", "java/", "openjdk", "kotlin/", "guzzlehttp/", "...",
)  # fmt: skip
"""The beginnings of the parts of a User-Agent that do not name a program."""


def unit_of(name: str) -> Unit:
    """Returns the unit of an attribute's value, or an empty string for texts and unknown attributes."""
    return UNITS.get(name, "")


def exact_duration(seconds: int) -> str:
    """Formats whole seconds in days, hours, minutes and seconds. Omits the parts that are 0."""
    parts = []
    for length, unit in _DURATIONS:
        number, seconds = divmod(seconds, length)
        if number:
            parts.append(plural(number, unit))
    return " ".join(parts) or "0 seconds"


def exact_size(size: int) -> str:
    """Formats bytes in the largest unit in which the number is whole."""
    for length, unit in _SIZES:
        if size and size % length == 0:
            return f"{size // length:,} {unit}"
    return plural(size, "byte")


def in_words(value: str, name: str) -> str:
    """Formats an attribute's value in its unit. Returns any other value unchanged."""
    unit = unit_of(name)
    if not unit or not (value.isascii() and value.isdigit() and len(value) < 19):
        return value
    number = int(value)
    if unit == "seconds":
        return exact_duration(number)
    if unit == "bytes":
        return exact_size(number)
    seconds = number / 1000 if unit == "milliseconds" else number
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC" if seconds <= _LAST_TIMESTAMP else value


def readable(value: str, name: str) -> str:
    """Formats an attribute's value as an HTML element whose title is the value itself, with the unit of the API."""
    text = in_words(value, name)
    unit = {"timestamp": "seconds"}.get(unit_of(name), unit_of(name))
    if text in (value, f"{value} {unit}"):
        return text
    return Markup('<span title="{}">{}</span>').format(f"{value} {unit}", text)


class AuditFact(NamedTuple):
    """A member of an audit row. `rest` has the values of a long list after those that `text` shows."""

    name: str
    text: str
    rest: str = ""


def list_facts(document: str) -> list[AuditFact]:
    """Returns the names and texts of a JSON object's members. A list of two values, which the audit log writes for a
    change, becomes "before → after". A list with more than four values becomes its number and its first three values.
    Omits empty members. Returns any other text as one text without a name.
    """
    try:
        members: object = msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError):
        members = None
    if not isinstance(members, dict):
        return [AuditFact("", document)]
    return [_write_fact(value, str(name)) for name, value in members.items() if value not in (None, {}, [])]


def _write_fact(value: object, name: str) -> AuditFact:
    if not isinstance(value, list) or len(value) <= MAX_UNFOLDED:
        return AuditFact(name, _write_value(value, name))
    values = [_write_value(one, name) for one in value]
    return AuditFact(name, f"{len(values):,}: {', '.join(values[:SHOWN])}", ", ".join(values[SHOWN:]))


def _write_value(value: object, name: str) -> str:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, (str, NoneType)) for one in value):
        return " → ".join(in_words(one, name) if one else "not set" for one in value)
    return in_words(value, name) if isinstance(value, str) else msgspec.json.encode(value).decode()


def short_agent(agent: str) -> str:
    """Returns the programs that a User-Agent names: first the application id, then the application's programs, and last
    the SDK. Omits the operating system, the language and the settings. Returns a User-Agent without programs unchanged.
    """
    words = sub(r"\([^()]*\)", " ", agent).split()
    ids = [word.removeprefix("app/") for word in words if word.startswith("app/") and word != "app/"]
    programs = [word for word in words if not word.casefold().startswith(_NOISE)]
    programs = [word for word in programs if not word.startswith("Botocore/")] or programs[:1]
    return " · ".join(dict.fromkeys([*ids, *programs[1:], *programs[:1]])) or agent
