"""Draws the report's charts over time as SVG. Lines have different colours and different dashes."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from .formats import compact, count, duration, moment
from .svg import Scale, area, count_ticks, element, join_markup, label, line, paths, picture, time_ticks, tooltip

Series = Sequence[tuple[datetime, float]]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 560, 170, 62, 24, 10, 12
_DURATION_TICKS = [10**n for n in range(1, 8)] + [n * 60_000_000 for n in (1, 10, 60, 600, 1440, 14400)]


class ChartPeriod(NamedTuple):
    """The time span of a chart. Points more than `gap` apart have no line between them."""

    start: datetime
    end: datetime
    gap: timedelta


class Axis(NamedTuple):
    """A vertical axis. `scale` converts values to pixels."""

    scale: Scale
    ticks: Sequence[tuple[float, str]]


def count_chart(
    name: str, lines: Mapping[str, Series], period: ChartPeriod, since: datetime | None = None, *, filled: bool = True
) -> str:
    """Draws counts over time. The vertical axis begins at 0. `lines` maps CSS classes to series. The chart marks the
    time `since`.
    """
    greatest = max(value for series in lines.values() for _, value in series)
    ticks = count_ticks(greatest)
    axis = Axis(Scale(0, ticks[-1], _HEIGHT - _BOTTOM, _TOP), [(tick, compact(tick)) for tick in ticks])
    last = " and ".join(count(series[-1][1]) for series in lines.values())
    text = f"{name}: at most {count(greatest)}, {last} at the end"
    return _time_chart(text, lines, period, axis, since, filled=filled)


def duration_chart(name: str, lines: Mapping[str, Series], period: ChartPeriod) -> str:
    """Draws durations in microseconds over time. The vertical axis is logarithmic. `lines` maps CSS classes to
    series.
    """
    values = [value for series in lines.values() for _, value in series]
    axis = _duration_axis(min(values), max(values))
    text = f"{name}: from {duration(min(values))} to {duration(max(values))}"
    return _time_chart(text, lines, period, axis)


def _duration_axis(least: float, greatest: float) -> Axis:
    """Returns an axis from the tick below `least` to the tick above `greatest`. If there are many ticks, the axis omits
    some.
    """
    first = max(0, bisect_left(_DURATION_TICKS, least) - 1)
    last = min(len(_DURATION_TICKS) - 1, max(first + 1, bisect_left(_DURATION_TICKS, greatest)))
    scale = Scale(first, last, _HEIGHT - _BOTTOM, _TOP)
    every = 1 + (last - first) // 5
    return Axis(scale, [(n, duration(_DURATION_TICKS[n])) for n in range(first, last + 1, every)])


def _keep(value: float) -> float:
    return value


def _tick_position(microseconds: float) -> float:
    """Returns the position of a duration on the axis. Position n is the tick with the number n. The scale between two
    ticks is logarithmic.
    """
    after = min(len(_DURATION_TICKS) - 1, max(1, bisect_left(_DURATION_TICKS, microseconds)))
    below, above = _DURATION_TICKS[after - 1], _DURATION_TICKS[after]
    return after - 1 + math.log(max(below, microseconds) / below) / math.log(above / below)


def _time_chart(
    text: str,
    lines: Mapping[str, Series],
    period: ChartPeriod,
    axis: Axis,
    since: datetime | None = None,
    *,
    filled: bool | None = None,
) -> str:
    """Draws a chart. `filled` is None for durations. For counts, `filled` is true if the areas below the lines are
    filled.
    """
    across = Scale(period.start.timestamp(), period.end.timestamp(), _LEFT, _WIDTH - _RIGHT)
    to_position = _tick_position if filled is None else _keep
    content = [_mark(period, since, across, axis), _grid(period, axis, across)]
    for kind, series in lines.items():
        points = [(at, (across(at.timestamp()), axis.scale(to_position(value)))) for at, value in series]
        for segment in paths(points, period.gap):
            if filled and len(segment) > 1:
                content.append(element("path", d=area(segment, axis.scale.start), class_=f"area {kind}"))
            content.append(element("path", d=line(segment), class_=f"line {kind}"))
    return picture(text, _WIDTH, _HEIGHT, *content)


def _mark(period: ChartPeriod, since: datetime | None, across: Scale, axis: Axis) -> str:
    """Draws a line at the time `since`, and a band from `since` to the chart's end. Returns an empty string if `since`
    is outside of the chart.
    """
    if since is None or not period.start <= since <= period.end:
        return ""
    x = across(since.timestamp())
    band = element(
        "rect", tooltip(f"since {moment(since)} UTC"),
        x=x, y=_TOP, width=_WIDTH - _RIGHT - x, height=axis.scale.start - _TOP, class_="since",
    )  # fmt: skip
    return band + element("path", d=f"M{x:.1f} {_TOP}V{axis.scale.start:.1f}", class_="mark")


def _grid(period: ChartPeriod, axis: Axis, across: Scale) -> str:
    """Draws the ticks and labels of both axes."""
    bottom = axis.scale.start
    parts: list[str] = []
    for value, text in axis.ticks:
        y = axis.scale(value)
        parts += [element("path", d=f"M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}", class_="grid")]
        parts += [label(text, _LEFT - 6, y + 4, text_anchor="end")]
    return join_markup(parts) + _time_axis(period.start, period.end, across, bottom)


def _time_axis(start: datetime, end: datetime, across: Scale, bottom: float) -> str:
    parts: list[str] = []
    for at, text in time_ticks(start, end):
        x = across(at.timestamp())
        parts += [element("path", d=f"M{x:.1f} {bottom:.1f}v4", class_="tick")]
        parts += [label(text, min(x, across.end - 8), bottom + 17, text_anchor="middle")]
    return join_markup(parts)


def sparkline(values: Sequence[float], low: Sequence[float], high: Sequence[float], text: str) -> str:
    """Draws a forecast for a table cell: a line, and a band that shows the forecast's interval."""
    across, up = Scale(0, max(1, len(values) - 1), 2, 88), Scale(0, max(1.0, *high), 20, 3)
    middle, lower, upper = (
        [(across(n), up(value)) for n, value in enumerate(numbers)] for numbers in (values, low, high)
    )
    band = element("path", d=f"{line([*upper, *reversed(lower)])}Z", class_="area first")
    return picture(text, 90, 22, band, element("path", d=line(middle), class_="line first"))
