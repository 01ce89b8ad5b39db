"""Builds charts from a queue's minutes, and from the hours that the metrics job stored. The package `report` draws the
SVG.

The SVG has no inline styles, because the Content Security Policy forbids inline styles.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from markupsafe import Markup

from penstock.postgres.statements.metrics import QueueHistoryRow
from penstock.verdicts import Minute
from penstock_web.report.charts import ChartPeriod, Series, count_chart, duration_chart, list_samples
from penstock_web.report.formats import count, duration
from penstock_web.report.svg import Scale, area, element, line
from penstock_web.report.svg import picture as draw_picture

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
MICROSECONDS: Final = 1_000_000
SPARK_MINUTES: Final = 60
SPARK_WIDTH, SPARK_HEIGHT = 96, 22
SIZE: Final = (440, 160)
"""The width and height of a queue's charts in pixels. The page shows them in columns of about this width."""


class Chart(NamedTuple):
    """A picture with a caption. `lines` lists each line's CSS class and meaning. `rows` contains the values as texts,
    the newest first, because a touch screen and a keyboard cannot point at the picture. A chart with a single row has
    no picture.
    """

    caption: str
    picture: Markup
    lines: Sequence[tuple[str, str]]
    rows: Sequence[tuple[datetime, Sequence[str | None]]]


class Gathered(NamedTuple):
    """A queue's values for each minute. `visible`, `in_flight` and `ages` (µs) are values at the end of each minute."""

    visible: list[tuple[datetime, float]]
    in_flight: list[tuple[datetime, float]]
    arrived: list[tuple[datetime, float]]
    left: list[tuple[datetime, float]]
    ages: list[tuple[datetime, float]]


def build_charts(minutes: Sequence[Minute], start: datetime, end: datetime) -> list[Chart]:
    """Returns charts of depth, messages per minute and the age of the oldest message. Omits unknown values."""
    period, found = ChartPeriod(start, end, 2 * MINUTE, *SIZE), gather_series(minutes, start, end)
    charts = []
    if found.visible:
        lines: dict[str, Series] = {"first": found.visible, "second": found.in_flight}
        charts.append(draw_counts("Messages in the queue", lines, period, ("visible", "in flight")))
    if found.arrived:
        lines = {"first": found.arrived, "second": found.left}
        charts.append(draw_counts("Messages a minute", lines, period, ("in", "out")))
    if found.ages:
        charts.append(draw_durations("Age of the oldest message", {"first": found.ages}, period))
    return charts


def draw_counts(caption: str, lines: Mapping[str, Series], period: ChartPeriod, names: Sequence[str] = ()) -> Chart:
    """Draws counts over time, with the values below the pointer. `lines` has the key `first`, or `first` and `second`.
    `names` names two lines.
    """
    named = name_lines(lines, names)
    return build_chart(caption, count_chart(caption, lines, period, names=dict(named)), named, lines, period, count)


def draw_durations(caption: str, lines: Mapping[str, Series], period: ChartPeriod, names: Sequence[str] = ()) -> Chart:
    """Draws durations in microseconds over time. See `draw_counts`."""
    named = name_lines(lines, names)
    picture = duration_chart(caption, lines, period, names=dict(named))
    return build_chart(caption, picture, named, lines, period, duration)


def build_chart(
    caption: str, picture: str, named: Sequence[tuple[str, str]], lines: Mapping[str, Series], period: ChartPeriod,
    write: Callable[[float], str],
) -> Chart:  # fmt: skip
    """Adds the values to a picture."""
    samples = list_samples(lines, period)
    rows = [(at, [write(known[kind]) if kind in known else None for kind in lines]) for at, known in reversed(samples)]
    return Chart(caption, trust_picture(picture if len(rows) > 1 else ""), named, rows)


def name_lines(lines: Mapping[str, Series], names: Sequence[str]) -> list[tuple[str, str]]:
    """Returns each line's CSS class and name. The name of a single line is empty."""
    return [*zip(lines, names or [""], strict=True)]


class History(NamedTuple):
    """Charts from the metrics job. `computed_at` is when the job last succeeded. `is_kept` is true if the queue records
    history.
    """

    charts: Sequence[Chart]
    computed_at: datetime | None
    is_kept: bool


def build_history(rows: Sequence[QueueHistoryRow], start: datetime, end: datetime) -> History:
    """Builds the history from the rows of the SQL function queue.read_queue_history. `rows` is empty if the queue does
    not exist.
    """
    if not rows:
        return History((), None, is_kept=False)
    first, *hours = rows
    charts = [*history_charts(hours, ChartPeriod(start, end, 1.5 * HOUR, *SIZE))]
    return History(charts, first.ends_at, is_kept=bool(first.depth))


def history_charts(hours: Sequence[QueueHistoryRow], period: ChartPeriod) -> Iterator[Chart]:
    """Yields charts of depth, messages per hour, age and lag. A missing hour or an unknown value appears as a gap."""
    rows = [(row.ends_at, row) for row in hours if row.ends_at is not None]
    if not rows:
        return
    yield draw_counts("Messages in the queue, each hour", {"first": [(at, row.depth) for at, row in rows]}, period)
    lines: dict[str, Series] = {
        "first": [(at, row.arrivals) for at, row in rows],
        "second": [(at, row.finished) for at, row in rows],
    }
    yield draw_counts("Messages an hour", lines, period, ("in", "out"))
    ages = [(at, max(1.0, row.oldest_age_us)) for at, row in rows if row.oldest_age_us]
    if ages:
        yield draw_durations("Age of the oldest message", {"first": ages}, period)
    lags = [(at, row.lag_p50_us, row.lag_p99_us) for at, row in rows]
    lines = {
        "first": [(at, max(1.0, half)) for at, half, _ in lags if half is not None],
        "second": [(at, max(1.0, most)) for at, _, most in lags if most is not None],
    }
    if lines["first"]:
        yield draw_durations("From sending to deletion", lines, period, ("median", "99 %"))


def gather_series(minutes: Sequence[Minute], start: datetime, end: datetime) -> Gathered:
    """Returns the series from `start` to `end`. Minutes without a measurement repeat the last measured depth."""
    series = Gathered([], [], [], [], [])
    by_start = {row.starts_at: row for row in minutes}
    known: Minute | None = None
    at = min(by_start, default=end)
    while at < end:
        row = by_start.get(at) or Minute(at)
        known = row if row.visible is not None else known
        if at >= start:
            series.arrived.append((at, row.sent))
            series.left.append((at, row.deleted + row.dead_lettered))
            add_gauges(series, at, known)
        at += MINUTE
    return series


def add_gauges(series: Gathered, at: datetime, known: Minute | None) -> None:
    """Adds the last measurement of the queue to the series, as the values of the minute `at`."""
    if known is None or known.visible is None:
        return
    series.visible.append((at, known.visible))
    series.in_flight.append((at, known.in_flight or 0))
    if known.oldest_at is not None and known.visible:
        seconds = (at + MINUTE - known.oldest_at).total_seconds()
        series.ages.append((at, max(1.0, seconds * MICROSECONDS)))


def trust_picture(picture: str) -> Markup:
    """Marks a picture as safe HTML. The package `report` has escaped every text in the picture."""
    return Markup(picture)  # noqa: S704


def depths(minutes: Sequence[Minute], now: datetime, length: int = SPARK_MINUTES) -> list[int | None]:
    """Returns the visible messages at the end of each minute, from the oldest minute to the newest. None means
    unknown."""
    found = {row.starts_at: row.visible for row in minutes}
    start = now.replace(second=0, microsecond=0) - timedelta(minutes=length)
    earlier = [row.visible for row in minutes if row.starts_at < start and row.visible is not None]
    depth = earlier[-1] if earlier else None
    values: list[int | None] = []
    for number in range(length):
        measured = found.get(start + timedelta(minutes=number))
        depth = depth if measured is None else measured
        values.append(depth)
    return values


def spark(values: Sequence[int | None], text: str) -> Markup:
    """Draws a small chart: a line above a filled area. Skips unknown values."""
    known = [value for value in values if value is not None]
    if not known:
        return Markup()
    across, up = Scale(0, len(values) - 1, 1, SPARK_WIDTH - 1), Scale(0, max(1, *known), SPARK_HEIGHT - 2, 3)
    points = [(across(n), up(value)) for n, value in enumerate(values) if value is not None]
    shape = element("path", d=area(points, SPARK_HEIGHT - 1), class_="area first") if len(points) > 1 else ""
    stroke = element("path", d=line(points), class_="line first")
    return trust_picture(draw_picture(text, SPARK_WIDTH, SPARK_HEIGHT, shape, stroke, preserveAspectRatio="none"))
