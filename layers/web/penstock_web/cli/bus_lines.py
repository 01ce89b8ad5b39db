"""The event buses in `penstock top`: a line for each bus, and a line for each subscriber that needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.text import Text

from penstock_web.local.terminal_text import to_printable
from penstock_web.report.formats import rate_with_unit
from penstock_web.report.svg import plural

from . import printing
from .client import Document, RefusedError, RestClient

KINDS: Final = frozenset(("subscriber_lags", "subscriber_stopped", "subscriber_fails", "subscriber_drops"))
"""The kinds of concerns about subscribers (docs/reference/verdicts.md)."""


class BusReading(NamedTuple):
    """The buses, and the concerns about subscribers, the most severe first."""

    buses: Sequence[Document] = ()
    troubled: Sequence[Document] = ()


NO_BUSES: Final = BusReading()


def read_buses(client: RestClient, concerns: Sequence[Document]) -> BusReading:
    """Reads the buses over the REST API. Returns no buses if the caller's policies do not allow to list them."""
    try:
        buses = list(client.pages("/buses", "buses"))
    except RefusedError:
        buses = []
    return BusReading(buses, [concern for concern in concerns if concern["kind"] in KINDS])


def build_lines(reading: BusReading, number: int) -> list[Text]:
    """Returns at most `number` lines. Subscribers that need attention come before the buses, the busiest first."""
    lines = [_show_concern(concern) for concern in reading.troubled]
    lines += [_show_bus(bus) for bus in sorted(reading.buses, key=_sort_key)]
    hidden = len(lines) - number
    if hidden > 0 and number > 0:
        lines[number - 1 :] = [Text(f"and {hidden + 1:,} more lines of event buses", "dim")]
    for line in lines[:number]:
        line.no_wrap, line.overflow = True, "ellipsis"
    return lines[:number]


def _sort_key(bus: Document) -> tuple[float, str]:
    return -_rate(bus, "published_per_second"), str(bus["name"])


def _show_concern(concern: Document) -> Text:
    state = str(concern["state"])
    text = f"subscriber {to_printable(str(concern['name']))}  "
    shown = Text(text)
    shown.append(state, printing.STYLES.get(state, ""))
    return shown.append(f"  {to_printable(str(concern['text']))}")


def _show_bus(bus: Document) -> Text:
    rates = f"in {rate_with_unit(_rate(bus, 'published_per_second'))}  out "
    rates += rate_with_unit(_rate(bus, "delivered_per_second"))
    counts = f"{plural(_count(bus, 'events'), 'event')}  {plural(_count(bus, 'subscribers'), 'subscriber')}"
    return Text(f"bus {to_printable(str(bus['name']))}  {rates}  {counts}")


def _rate(bus: Document, name: str) -> float:
    value = bus[name]
    return value if isinstance(value, int | float) else 0.0


def _count(bus: Document, name: str) -> int:
    return int(_rate(bus, name))
