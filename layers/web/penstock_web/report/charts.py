"""Draws the report's charts over time as SVG. Lines have different colours and different dashes."""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from .formats import compact, count, duration, moment
from .svg import Scale, area, count_ticks, element, join_markup, label, line, paths, picture, time_ticks, tooltip

Series = Sequence[tuple[datetime, float]]

_LEFT, _BOTTOM, _TOP, _RIGHT = 52, 24, 10, 12
_MAX_HITS = 72
_MARGIN = 4
"""How far a column extends into a time without values, in pixels."""
_DURATION_TICKS = [10**n for n in range(1, 8)] + [n * 60_000_000 for n in (1, 10, 60, 600, 1440, 14400)]


class ChartPeriod(NamedTuple):
    """The time span of a chart, and the picture's size in pixels. Points more than `gap` apart have no line between
    them.
    """

    start: datetime
    end: datetime
    gap: timedelta
    width: int = 560
    height: int = 170

    @property
    def across(self) -> Scale:
        """Converts a timestamp to pixels."""
        return Scale(self.start.timestamp(), self.end.timestamp(), _LEFT, self.width - _RIGHT)

    @property
    def bottom(self) -> int:
        """The place of the time axis in pixels."""
        return self.height - _BOTTOM


class Axis(NamedTuple):
    """A vertical axis. `scale` converts values to pixels."""

    scale: Scale
    ticks: Sequence[tuple[float, str]]


def count_chart(
    name: str,
    lines: Mapping[str, Series],
    period: ChartPeriod,
    since: datetime | None = None,
    *,
    names: Mapping[str, str] | None = None,
) -> str:
    """Draws counts over time. The vertical axis begins at 0. `lines` maps CSS classes to series. The chart marks the
    time `since`. If `names` maps the classes to words, the chart shows the values below the pointer.
    """
    greatest = max(value for series in lines.values() for _, value in series)
    ticks = count_ticks(greatest)
    axis = Axis(Scale(0, ticks[-1], period.bottom, _TOP), [(tick, compact(tick)) for tick in ticks])
    last = " and ".join(count(series[-1][1]) for series in lines.values())
    text = f"{name}: at most {count(greatest)}, {last} at the end"
    hits = _hits(lines, names, period, count)
    return _time_chart(text, lines, period, axis, _Marks(since, hits, filled=len(lines) == 1), _keep)


def duration_chart(
    name: str, lines: Mapping[str, Series], period: ChartPeriod, *, names: Mapping[str, str] | None = None
) -> str:
    """Draws durations in microseconds over time. The vertical axis is logarithmic. `lines` maps CSS classes to
    series. If `names` maps the classes to words, the chart shows the values below the pointer.
    """
    values = [value for series in lines.values() for _, value in series]
    axis = _duration_axis(min(values), max(values), period.bottom)
    text = f"{name}: from {duration(min(values))} to {duration(max(values))}"
    return _time_chart(text, lines, period, axis, _Marks(hits=_hits(lines, names, period, duration)), _tick_position)


def _duration_axis(least: float, greatest: float, bottom: int) -> Axis:
    """Returns an axis from the tick below `least` to the tick above `greatest`. If there are many ticks, the axis omits
    some.
    """
    first = max(0, bisect_left(_DURATION_TICKS, least) - 1)
    last = min(len(_DURATION_TICKS) - 1, max(first + 1, bisect_left(_DURATION_TICKS, greatest)))
    scale = Scale(first, last, bottom, _TOP)
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


class _Marks(NamedTuple):
    """What a chart shows beside its lines: the mark of a time, and the values below the pointer. For counts, the area
    below a single line is filled.
    """

    since: datetime | None = None
    hits: str = ""
    filled: bool = False


def _time_chart(
    text: str,
    lines: Mapping[str, Series],
    period: ChartPeriod,
    axis: Axis,
    marks: _Marks,
    to_position: Callable[[float], float],
) -> str:
    """Draws a chart. `to_position` converts a value to a value of the axis."""
    content = [_mark(period, marks.since, axis), _grid(period, axis)]
    for kind, series in lines.items():
        points = [(at, (period.across(at.timestamp()), axis.scale(to_position(value)))) for at, value in series]
        for segment in paths(points, period.gap):
            if marks.filled and len(segment) > 1:
                content.append(element("path", d=area(segment, axis.scale.start), class_=f"area {kind}"))
            content.append(element("path", d=line(segment), class_=f"line {kind}{' dot' if len(segment) == 1 else ''}"))
    focusable = {"tabindex": 0} if marks.hits else {}
    return picture(text, period.width, period.height, *content, marks.hits, **focusable)


def list_samples(lines: Mapping[str, Series], period: ChartPeriod) -> list[tuple[datetime, dict[str, float]]]:
    """Returns at most 72 of a chart's times, and the values that are known at each time, by line. The newest time is
    always among them.
    """
    moments = _list_moments(lines, period)
    moments = moments[:: -max(1, -(-len(moments) // _MAX_HITS))][::-1]
    known = {kind: dict(series) for kind, series in lines.items()}
    return [(at, {kind: values[at] for kind, values in known.items() if at in values}) for at in moments]


def _list_moments(lines: Mapping[str, Series], period: ChartPeriod) -> list[datetime]:
    return sorted({at for series in lines.values() for at, _ in series if period.start <= at <= period.end})


class _Joint(NamedTuple):
    """Where one column ends and the next column begins, in pixels. `title` describes a time without values between the
    columns, and is empty if the columns touch.
    """

    end: float
    begin: float
    title: str = ""


def _hits(
    lines: Mapping[str, Series], names: Mapping[str, str] | None, period: ChartPeriod, write: Callable[[float], str]
) -> str:
    """Draws invisible columns whose titles are a time and its values, for at most 72 of the times. Browsers show the
    title of the column below the pointer. A column extends half of the way to its neighbours, but not into a time
    without values, which has a column that says so.
    """
    if names is None:
        return ""
    samples, moments = list_samples(lines, period), _list_moments(lines, period)
    stops = [period.start, *(at for at, _ in samples), period.end]
    joints = [_join_columns(pair, moments, period) for pair in pairwise(stops)]
    if not joints[0].title:
        joints[0] = _Joint(_LEFT, _LEFT)
    if not joints[-1].title:
        joints[-1] = _Joint(period.width - _RIGHT, period.width - _RIGHT)
    parts = [_column(joints[0].end, joints[0].begin, joints[0].title, period)]
    for (at, known), (before, after) in zip(samples, pairwise(joints), strict=True):
        values = [f"{names[kind]} {write(value)}".strip() for kind, value in known.items()]
        parts.append(_column(before.begin, after.end, f"{moment(at)} UTC\n{', '.join(values)}", period))
        parts.append(_column(after.end, after.begin, after.title, period))
    return join_markup(parts)


def _join_columns(pair: tuple[datetime, datetime], moments: Sequence[datetime], period: ChartPeriod) -> _Joint:
    """Returns how the columns of two shown times meet. The times can have others between them, which the chart draws
    but does not show below the pointer.
    """
    first, last = pair
    between = [first, *(at for at in moments if first < at < last), last]
    start, end = max(pairwise(between), key=lambda one: one[1] - one[0])
    left, right = period.across(start.timestamp()), period.across(end.timestamp())
    if end - start > period.gap:
        margin = min(_MARGIN, (right - left) / 4)
        title = f"{moment(start)} UTC to {moment(end)} UTC\nno data"
        return _Joint(left + (margin if start in moments else 0), right - (margin if end in moments else 0), title)
    middle = (period.across(first.timestamp()) + period.across(last.timestamp())) / 2
    return _Joint(middle, middle)


def _column(left: float, right: float, title: str, period: ChartPeriod) -> str:
    if not title:
        return ""
    height = period.bottom - _TOP
    return element("rect", tooltip(title), x=left, y=_TOP, width=right - left, height=height, class_="hit")


def _mark(period: ChartPeriod, since: datetime | None, axis: Axis) -> str:
    """Draws a line at the time `since`, and a band from `since` to the chart's end. Returns an empty string if `since`
    is outside of the chart.
    """
    if since is None or not period.start <= since <= period.end:
        return ""
    x = period.across(since.timestamp())
    band = element(
        "rect", tooltip(f"since {moment(since)} UTC"),
        x=x, y=_TOP, width=period.width - _RIGHT - x, height=axis.scale.start - _TOP, class_="since",
    )  # fmt: skip
    return band + element("path", d=f"M{x:.1f} {_TOP}V{axis.scale.start:.1f}", class_="mark")


def _grid(period: ChartPeriod, axis: Axis) -> str:
    """Draws the ticks and labels of both axes."""
    bottom = axis.scale.start
    parts: list[str] = []
    for value, text in axis.ticks:
        y = axis.scale(value)
        parts += [element("path", d=f"M{_LEFT} {y:.1f}H{period.width - _RIGHT}", class_="grid")]
        parts += [label(text, _LEFT - 6, y + 4, text_anchor="end")]
    return join_markup(parts) + _time_axis(period.start, period.end, period.across, bottom)


def _time_axis(start: datetime, end: datetime, across: Scale, bottom: float) -> str:
    parts: list[str] = []
    for at, text in time_ticks(start, end):
        x = across(at.timestamp())
        parts += [element("path", d=f"M{x:.1f} {bottom:.1f}v4", class_="tick")]
        parts += [label(text, min(x, across.end - 8), bottom + 17, text_anchor="middle")]
    return join_markup(parts)


def draw_sparkline(values: Sequence[float], low: Sequence[float], high: Sequence[float], text: str) -> str:
    """Draws a forecast for a table cell: a line, and a band that shows the forecast's interval."""
    across, up = Scale(0, max(1, len(values) - 1), 2, 88), Scale(0, max(1.0, *high), 20, 3)
    middle, lower, upper = (
        [(across(n), up(value)) for n, value in enumerate(numbers)] for numbers in (values, low, high)
    )
    band = element("path", d=f"{line([*upper, *reversed(lower)])}Z", class_="area first")
    return picture(text, 90, 22, band, element("path", d=line(middle), class_="line first"))
