"""Shows each queue's lag by the hour, as a table with a strip of coloured cells in each row. The lightness of a
cell shows the lag. A tooltip shows the value.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import NamedTuple

from .formats import duration, moment, plural
from .svg import Scale, clip_name, element, join_markup, picture, time_ticks, tooltip

# Each shade's upper bound in microseconds. An additional shade is for longer durations.
SHADES = (10_000, 100_000, 1_000_000, 10_000_000, 60_000_000, 600_000_000, 3_600_000_000)
_WIDTH, _HEIGHT = 700, 20


class Cell(NamedTuple):
    """The number of messages, and the 95th percentile of their lag in microseconds."""

    messages: int
    p95_us: int


@dataclass(frozen=True)
class HeatMap:
    """The lag of each queue in each time step."""

    names: list[str]
    starts: list[datetime]
    step: timedelta
    cells: Mapping[tuple[str, datetime], Cell]


def build_heat_section(heat: HeatMap) -> Iterator[str]:
    """Yields a table of the queues that have a value. Does not yield anything if no queue has a value."""
    names = [name for name in heat.names if any((name, start) in heat.cells for start in heat.starts)]
    if not names:
        return
    width = duration(heat.step.total_seconds() * 1_000_000)
    yield "<section><h3>Lag by queue and hour</h3>"
    yield f"<p>The 95th percentile of the time from arrival to deletion. A column covers {width}.</p>"
    yield '<table class="heat"><colgroup><col class="names"><col></colgroup><thead class="hidden"><tr>'
    yield '<th scope="col">Queue</th><th scope="col">Lag</th></tr></thead><tbody>'
    for name in names:
        yield f'<tr><th scope="row">{clip_name(name)}</th><td>{_strip(name, heat)}</td></tr>'
    yield f'</tbody></table><div class="axis" aria-hidden="true">{_axis(heat)}</div><ul class="legend">'
    yield from (f'<li><i class="shade{number}"></i>{text}</li>' for number, text in draw_shade_legend())
    yield "<li><i></i>no deleted messages</li></ul></section>"


def _strip(name: str, heat: HeatMap) -> str:
    """Draws the strip of a row. Leaves cells without a value empty."""
    width = _WIDTH / len(heat.starts)
    parts = [element("rect", x=0, y=0, width=_WIDTH, height=_HEIGHT, class_="empty")]
    worst = 0
    for n, start in enumerate(heat.starts):
        if (cell := heat.cells.get((name, start))) is not None:
            text = f"{name}, {moment(start)}: p95 {duration(cell.p95_us)} of {plural(cell.messages, 'message')}"
            parts.append(element(
                "rect", tooltip(text), class_=f"shade{shade(cell.p95_us)}",
                x=n * width, y=0, width=width - min(1.0, width / 5), height=_HEIGHT,
            ))  # fmt: skip
            worst = max(worst, cell.p95_us)
    text = f"Lag of {name} by the hour: at most {duration(worst)}"
    return picture(text, _WIDTH, _HEIGHT, join_markup(parts), preserveAspectRatio="none")


def _axis(heat: HeatMap) -> str:
    """Returns the labels with times below the columns."""
    end = heat.starts[0] + len(heat.starts) * heat.step
    across = Scale(heat.starts[0].timestamp(), end.timestamp(), 0, 100)
    return join_markup(
        f'<span style="left:{min(97.0, across(at.timestamp())):.1f}%">{escape(text)}</span>'
        for at, text in time_ticks(heat.starts[0], end)
    )


def shade(microseconds: float) -> int:
    """Returns the number of the shade for a duration. The first number is 0."""
    return bisect_left(SHADES, microseconds)


def draw_shade_legend() -> Sequence[tuple[int, str]]:
    """Returns each shade's number and meaning."""
    known = [(number, f"up to {duration(most)}") for number, most in enumerate(SHADES)]
    return [*known, (len(SHADES), "longer")]
