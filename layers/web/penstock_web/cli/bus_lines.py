"""The lines above the queues in `penstock top`: everything that needs attention, then a line for each event bus."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from rich.text import Text

from penstock_web.local.terminal_text import to_printable
from penstock_web.report.formats import plural, rate_with_unit

from . import printing
from .client import Document, RefusedError, RestClient


class BusReading(NamedTuple):
    """The buses, and everything that needs attention, the most severe first."""

    buses: Sequence[Document] = ()
    troubled: Sequence[Document] = ()


NO_BUSES: Final = BusReading()


def read_buses(client: RestClient, concerns: Sequence[Document]) -> BusReading:
    """Reads the buses over the REST API. Returns no buses if the caller's policies do not allow to list them."""
    try:
        buses = list(client.read_pages("/buses", "buses"))
    except RefusedError:
        buses = []
    return BusReading(buses, concerns)


def build_problem_lines(concerns: Sequence[Document], width: int, number: int) -> list[Text]:
    """Returns at most `number` lines of `width` characters: a line for each concern, and below it the reason, as far as
    the lines suffice. The reasons of the first concerns come before those of the others.
    """
    if number <= 0:
        return []
    hidden = len(concerns) - number
    left, lines = number - len(concerns), list[Text]()
    for concern in concerns[: number - 1] if hidden > 0 else concerns:
        lines.append(_show_concern(concern))
        reason = wrap(to_printable(str(concern["text"])), max(10, width - 2))
        kept = reason[: max(0, left)]
        if kept and len(kept) < len(reason):
            kept[-1] = f"{kept[-1][: width - 3]}\u2026"
        lines += [Text(f"  {line}", "dim") for line in kept]
        left -= len(kept)
    if hidden > 0:
        lines.append(Text(f"and {hidden + 1:,} more: penstock status", "dim"))
    return _keep_width(lines)


def build_lines(reading: BusReading, number: int) -> list[Text]:
    """Returns at most `number` lines about buses, the busiest first."""
    lines = [_show_bus(bus) for bus in sorted(reading.buses, key=_sort_key)]
    hidden = len(lines) - number
    if hidden > 0 and number > 0:
        lines[number - 1 :] = [Text(f"and {hidden + 1:,} more event buses", "dim")]
    return _keep_width(lines[:number])


def _keep_width(lines: list[Text]) -> list[Text]:
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return lines


def _sort_key(bus: Document) -> tuple[float, str]:
    return -_rate(bus, "published_per_second"), str(bus["name"])


def _show_concern(concern: Document) -> Text:
    state = str(concern["state"])
    return Text(f"{to_printable(str(concern['name']))}  ").append(state, printing.STYLES.get(state, ""))


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
