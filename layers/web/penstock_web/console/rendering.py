"""Renders templates, defines the templates' filters, and reads styles and scripts. Templates escape every value.
Filters show an unknown value as a dash. URLs of styles and scripts contain the content's digest, so that browsers can
cache the files for a year.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final
from urllib.parse import quote, urlencode

from jinja2 import Environment as Templates
from jinja2 import PackageLoader, StrictUndefined
from markupsafe import Markup

from penstock.management.attention.concerns import OTHER_LEVELS
from penstock.management.verdicts import find_level
from penstock.verdicts.words import name_state
from penstock_web.report import formats
from penstock_web.report.formats import duration

from .units import exact_duration, in_words, list_facts, readable, short_agent, unit_of

TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
NOT_KNOWN: Final = Markup('<span class="na" title="not known yet">&ndash;<span class="sr">not known</span></span>')
MILLION: Final = 1_000_000


@cache
def templates() -> Templates:
    made = Templates(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters |= FILTERS
    made.globals["asset"] = asset_path
    made.policies["urlize.rel"] = "noreferrer"
    return made


def render(template: str, values: Mapping[str, object]) -> str:
    """Renders a template. The value `layout` names the surrounding template. For a poll, the layout `part.html` renders
    only the live part of the page.
    """
    return str(templates().get_template(template).render(values))


# --- styles and scripts ----------------------------------------------------------------------------------------------
# htmx.min.js is the unchanged file of htmx 4.0.1. static/README.md states its address, digest and licence.
@cache
def read_asset(name: str) -> tuple[bytes, str] | None:
    """Returns the content and type of a file in static/, or None for an unknown name."""
    kind = TYPES.get("." + name.rpartition(".")[2])
    folder = files(__package__) / "static"
    if kind is None or name not in {file.name for file in folder.iterdir()}:
        return None
    return (folder / name).read_bytes(), kind


@cache
def asset_path(name: str) -> str:
    """Returns an asset's URL path, with the first 12 digits of the content's digest. Raises KeyError for an unknown
    asset.
    """
    found = read_asset(name)
    if found is None:
        raise KeyError(name)
    return f"/console/static/{name}?{sha256(found[0]).hexdigest()[:12]}"


# --- filters ---------------------------------------------------------------------------------------------------------
def count(value: float | None) -> str:
    """Formats a whole number."""
    return NOT_KNOWN if value is None else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Formats a duration in a suitable unit."""
    if value is None:
        return NOT_KNOWN
    return "0 s" if value < 1 else duration(value * MILLION)


def size(value: float | None) -> str:
    """Formats a number of bytes in a suitable unit, such as KiB."""
    if value is None:
        return NOT_KNOWN
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "B" or value >= 9.95 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"


def age(at: datetime | None, now: datetime) -> str:
    return NOT_KNOWN if at is None else seconds(max(0.0, (now - at).total_seconds()))


def ago(at: datetime | None, now: datetime) -> str:
    """Formats the time since `at` as an HTML element. The element's attributes contain `at` itself."""
    if at is None:
        return NOT_KNOWN
    text = age(at, now)
    return Markup('<time datetime="{}" title="{}">{} ago</time>').format(
        at.astimezone(UTC).isoformat(timespec="milliseconds"), moment(at), text
    )


def until(at: datetime, now: datetime) -> str:
    """Formats the time until `at`. A past time becomes "due for …"."""
    left = (at - now).total_seconds()
    return f"in {seconds(left)}" if left >= 1 else "now" if left > -1 else f"due for {seconds(-left)}"


def clock(at: datetime) -> str:
    """Formats the time of day in UTC. Omits zero seconds."""
    return f"{at.astimezone(UTC):{'%H:%M:%S' if at.second else '%H:%M'}}"


def moment(at: datetime | None) -> str:
    """Formats a time in UTC, with seconds."""
    return NOT_KNOWN if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def rate(value: float | None, largest: float | None = None) -> str:
    """Formats a rate as messages per second, or as messages per minute if the rate is low. The values of a column have
    the unit of the column's `largest` value.
    """
    return NOT_KNOWN if value is None else formats.rate_with_unit(value, largest)


def words(name: str) -> str:
    """Formats an identifier as words: `falling_behind` becomes `falling behind`."""
    return name.replace("_", " ")


def plural(number: float | None, one: str, several: str | None = None) -> str:
    """Formats a number and a noun, such as "2 queues"."""
    if number is None:
        return NOT_KNOWN + f" {several or one + 's'}"
    return formats.plural(number, one, several)


def segment(name: str) -> str:
    """Escapes a name for use in a path."""
    return quote(name, safe="")


def query(parameters: dict[str, object], **changes: object) -> str:
    """Returns a query string with changed parameters. Omits empty parameters."""
    merged = {key: str(value) for key, value in {**parameters, **changes}.items() if value not in (None, "")}
    return f"?{urlencode(merged)}" if merged else ""


FILTERS: Final[dict[str, Callable[..., object]]] = {
    "age": age,
    "agent": short_agent,
    "ago": ago,
    "clock": clock,
    "count": count,
    "exact_duration": exact_duration,
    "facts": list_facts,
    "in_words": in_words,
    "kind_level": OTHER_LEVELS.__getitem__,
    "level": find_level,
    "minute": formats.moment,
    "moment": moment,
    "plural": plural,
    "query": query,
    "rate": rate,
    "readable": readable,
    "seconds": seconds,
    "segment": segment,
    "size": size,
    "state": name_state,
    "unit_of": unit_of,
    "until": until,
    "words": words,
}
