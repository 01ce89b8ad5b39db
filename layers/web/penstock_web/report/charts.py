"""The report's charts as SVG, made from plain values.

They are readable without distinguishing colours: lines also differ by their dashes, shades by their lightness, and
every shade and bar has a tooltip with its value.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from .formats import count, duration, moment, share
from .svg import (
    Scale,
    area,
    count_ticks,
    element,
    joined,
    label,
    line,
    paths,
    picture,
    time_ticks,
    tooltip,
)

Series = Sequence[tuple[datetime, float]]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 560, 170, 62, 24, 10, 12
_DURATION_TICKS = [10**n for n in range(1, 8)] + [n * 60_000_000 for n in (1, 10, 60, 600, 1440, 14400)]

# Upper bounds in microseconds; longer durations have a last shade of their own.
SHADES = (10_000, 100_000, 1_000_000, 10_000_000, 60_000_000, 600_000_000, 3_600_000_000)
_ROW, _CELLS, _NAME = 22, 700, 190


class Period(NamedTuple):
    """The time that a chart shows; points that are more than `gap` apart are not joined by a line."""

    start: datetime
    end: datetime
    gap: timedelta


class Axis(NamedTuple):
    """The vertical axis: the scale from values to pixels, and the ticks."""

    scale: Scale
    ticks: Sequence[tuple[float, str]]


# --- over time -------------------------------------------------------------------------------------------------------
def count_chart(name: str, series: Series, period: Period) -> str:
    """A number of things over time, from 0."""
    greatest = max(value for _, value in series)
    ticks = count_ticks(greatest)
    axis = Axis(Scale(0, ticks[-1], _HEIGHT - _BOTTOM, _TOP), [(tick, count(tick)) for tick in ticks])
    text = f"{name}: at most {count(greatest)}, {count(series[-1][1])} at the end"
    return _time_chart(text, {"first": series}, period, axis, filled=True)


def duration_chart(name: str, lines: Mapping[str, Series], period: Period) -> str:
    """Durations over time in microseconds, on a logarithmic axis. `lines`: the series by their CSS class."""
    values = [value for series in lines.values() for _, value in series]
    axis = _duration_axis(min(values), max(values))
    text = f"{name}: from {duration(min(values))} to {duration(max(values))}"
    return _time_chart(text, lines, period, axis)


def _duration_axis(least: float, greatest: float) -> Axis:
    """An axis from the tick below `least` to the tick above `greatest`; of many ticks only some have a label."""
    first = max(0, bisect_left(_DURATION_TICKS, least) - 1)
    last = min(len(_DURATION_TICKS) - 1, max(first + 1, bisect_left(_DURATION_TICKS, greatest)))
    scale = Scale(first, last, _HEIGHT - _BOTTOM, _TOP)
    every = 1 + (last - first) // 5
    return Axis(scale, [(n, duration(_DURATION_TICKS[n])) for n in range(first, last + 1, every)])


def _unchanged(value: float) -> float:
    return value


def _tick_position(microseconds: float) -> float:
    """The position of a duration between the numbered ticks, which are not all ten times the one before."""
    after = min(len(_DURATION_TICKS) - 1, max(1, bisect_left(_DURATION_TICKS, microseconds)))
    below, above = _DURATION_TICKS[after - 1], _DURATION_TICKS[after]
    return after - 1 + math.log(max(below, microseconds) / below) / math.log(above / below)


def _time_chart(
    text: str, lines: Mapping[str, Series], period: Period, axis: Axis, *, filled: bool = False
) -> str:
    across = Scale(period.start.timestamp(), period.end.timestamp(), _LEFT, _WIDTH - _RIGHT)
    to_position = _unchanged if filled else _tick_position
    content = [_grid(period, axis, across)]
    for kind, series in lines.items():
        points = [(at, (across(at.timestamp()), axis.scale(to_position(value)))) for at, value in series]
        for segment in paths(points, period.gap):
            if filled and len(segment) > 1:
                content.append(element("path", d=area(segment, axis.scale.start), class_=f"area {kind}"))
            content.append(element("path", d=line(segment), class_=f"line {kind}"))
    return picture(text, _WIDTH, _HEIGHT, *content)


def _grid(period: Period, axis: Axis, across: Scale) -> str:
    """The ticks of both axes."""
    bottom = axis.scale.start
    parts: list[str] = []
    for value, text in axis.ticks:
        y = axis.scale(value)
        parts += [element("path", d=f"M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}", class_="grid")]
        parts += [label(text, _LEFT - 6, y + 4, text_anchor="end")]
    return joined(parts) + _time_axis(period.start, period.end, across, bottom)


def _time_axis(start: datetime, end: datetime, across: Scale, bottom: float) -> str:
    parts: list[str] = []
    for at, text in time_ticks(start, end):
        x = across(at.timestamp())
        parts += [element("path", d=f"M{x:.1f} {bottom:.1f}v4", class_="tick")]
        parts += [label(text, x, bottom + 17, text_anchor="middle")]
    return joined(parts)


# --- by queue and hour -----------------------------------------------------------------------------------------------
class Cell(NamedTuple):
    """How many durations there were, and their 95th percentile in microseconds."""

    messages: int
    p95_us: int


Cells = Mapping[tuple[str, datetime], Cell]


def heat_map(names: Sequence[str], slots: Sequence[datetime], cells: Cells) -> str:
    """A row a queue, a column a slot of time. A cell without a value stays empty."""
    end = slots[0] + len(slots) * (slots[1] - slots[0] if len(slots) > 1 else timedelta(hours=1))
    across = Scale(slots[0].timestamp(), end.timestamp(), _NAME, _NAME + _CELLS)
    bottom = len(names) * _ROW
    content = [_heat_row(name, n * _ROW, slots, cells, across) for n, name in enumerate(names)]
    content.append(_time_axis(slots[0], end, across, bottom))
    return picture("Lag by queue and hour", _NAME + _CELLS + 20, bottom + 26, *content)


def _heat_row(name: str, top: float, slots: Sequence[datetime], cells: Cells, across: Scale) -> str:
    width = _CELLS / len(slots)
    frame = element("rect", x=_NAME, y=top + 1, width=_CELLS, height=_ROW - 2, class_="empty")
    parts = [row_name(name, top), frame]
    for slot in slots:
        if (cell := cells.get((name, slot))) is not None:
            tooltip_text = (
                f"{name}, {moment(slot)}: p95 {duration(cell.p95_us)} of {count(cell.messages)} messages"
            )
            parts.append(element(
                "rect", tooltip(tooltip_text), class_=f"shade{shade(cell.p95_us)}",
                x=across(slot.timestamp()), y=top + 1, width=width - min(1.0, width / 5), height=_ROW - 2,
            ))  # fmt: skip
    return joined(parts)


def row_name(name: str, top: float, longest: int = 26) -> str:
    """A name before its row, shortened if it is too long; a tooltip has the whole name."""
    cut = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return element("g", tooltip(name), label(cut, _NAME - 8, top + _ROW / 2 + 4, text_anchor="end"))


def shade(microseconds: float) -> int:
    """The number of a duration's shade, from 0."""
    return bisect_left(SHADES, microseconds)


def shade_legend() -> Iterator[tuple[int, str]]:
    """The number of each shade and its meaning."""
    yield from ((number, f"up to {duration(most)}") for number, most in enumerate(SHADES))
    yield len(SHADES), "longer"


# --- hot groups ------------------------------------------------------------------------------------------------------
class Bar(NamedTuple):
    """A message group and its number of arrivals."""

    name: str
    value: int


def pareto(bars: Sequence[Bar], whole: int) -> str:
    """The bars' shares, the greatest first, and a line of their sums, on one axis: 0 to 25, 50, 75 or 100 %."""
    sums = list(accumulate(bar.value for bar in bars))
    quarters = math.ceil(4 * sums[-1] / whole)
    across = Scale(0, whole * quarters / 4, _NAME, _NAME + _CELLS - 120)
    points = [(across(total), n * _ROW + _ROW / 2) for n, total in enumerate(sums)]
    content = [_axis_of_shares(across, whole, len(bars) * _ROW)]
    rows = enumerate(zip(bars, sums, strict=True))
    content += [_bar(bar, total, n * _ROW, across, whole) for n, (bar, total) in rows]
    content += [element("path", d=line(points), class_="line second")]
    content += [element("circle", cx=x, cy=y, r=3, class_="dot second") for x, y in points]
    text = f"Hot groups: {len(bars)} have {share(sums[-1] / whole)} of all arrivals"
    return picture(text, _NAME + _CELLS + 10, len(bars) * _ROW + 26, *content)


def _bar(bar: Bar, total: int, top: float, across: Scale, whole: int) -> str:
    own = f"{count(bar.value)} · {share(bar.value / whole)}"
    tooltip_text = f"{bar.name}: {own}; with those above {share(total / whole)}"
    width = max(1.0, across(bar.value) - _NAME)
    mark = element(
        "rect", tooltip(tooltip_text), x=_NAME, y=top + 3, width=width, height=_ROW - 6, class_="bar"
    )
    return (
        row_name(bar.name, top) + mark + label(own, _NAME + _CELLS + 8, top + _ROW / 2 + 4, text_anchor="end")
    )


def _axis_of_shares(across: Scale, whole: int, bottom: float) -> str:
    parts: list[str] = []
    for fifth in range(6):
        percent = 20 * fifth * across.high / whole
        x = across(whole * percent / 100)
        parts += [element("path", d=f"M{x:.1f} 0V{bottom}", class_="grid")]
        parts += [label(f"{percent:.0f} %", x, bottom + 18, text_anchor="middle")]
    return joined(parts)


# --- forecasts -------------------------------------------------------------------------------------------------------
def sparkline(values: Sequence[float], low: Sequence[float], high: Sequence[float], text: str) -> str:
    """A forecast in a cell of a table: its line within its interval."""
    across, up = Scale(0, max(1, len(values) - 1), 2, 88), Scale(0, max(1.0, *high), 20, 3)
    middle, lower, upper = (
        [(across(n), up(value)) for n, value in enumerate(numbers)] for numbers in (values, low, high)
    )
    band = element("path", d=f"{line([*upper, *reversed(lower)])}Z", class_="area first")
    return picture(text, 90, 22, band, element("path", d=line(middle), class_="line first"))
