"""Shows the last hours of queues in trouble, from the per-minute data of the service. The charts show when the trouble
began.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from penstock.management.attention.reading import HEALTHY
from penstock.verdicts import Kind
from penstock.verdicts.series import MINUTE, Series
from penstock.verdicts.words import name_state

from .charts import ChartPeriod, count_chart
from .charts import Series as Points
from .formats import clock, plural
from .state import QueueState
from .svg import clip_name, figure, key

SHOWN: Final = timedelta(hours=3)
MAX_CHARTS: Final = 8
_LEAST_MINUTES: Final = 2


def build_last_hours(queues: Sequence[QueueState]) -> Iterator[str]:
    """Yields two charts for each of the first MAX_CHARTS queues. The first chart shows messages, and the second chart
    shows arrivals and completions.
    """
    charts = [chart for queue in queues[:MAX_CHARTS] if (chart := _charts(queue))]
    if not charts:
        return
    yield '<h2>The last 3 hours</h2><ul class="legend">'
    yield key("first", "messages in the queue; arrived") + key("second", "deleted or dead-lettered")
    yield '<li><i class="since"></i>since the verdict\'s beginning</li></ul>'
    yield from charts
    if (rest := len(queues) - MAX_CHARTS) > 0:
        yield f'<p class="quiet">The table has {plural(rest, "more queue")} without charts.</p>'


def _charts(queue: QueueState) -> str:
    """Draws the charts of a queue. Returns an empty string if fewer than two minutes are known."""
    series = queue.series
    if series is None or len(series) < _LEAST_MINUTES:
        return ""
    period = ChartPeriod(series.ends_at - SHOWN, queue.facts.read_at, 2 * MINUTE)
    flow = {"first": _points(series, series.sent), "second": _points(series, series.left)}
    pictures = (
        _chart(queue, period, *_held(queue, series))
        + _chart(queue, period, "Arrived and done, each minute", flow)
    )  # fmt: skip
    return f'<section>{_heading(queue, period)}<div class="pair">{pictures}</div></section>'


def _held(queue: QueueState, series: Series) -> tuple[str, dict[str, Points]]:
    """Returns the caption and the series that explain the verdict. The series of a gauge ends with the current
    value.
    """
    if queue.verdict.kind is Kind.POISONED:
        return "Received again, each minute", {"first": _points(series, series.redelivered)}
    caption, values, now = "Waiting", series.visible, series.now.visible
    if queue.verdict.kind is Kind.THROTTLED:
        caption, values, now = "In flight", series.in_flight, series.now.in_flight
    return caption, {"first": [*_points(series, values), (queue.facts.read_at, float(now))]}


def _points(series: Series, values: Sequence[int]) -> list[tuple[datetime, float]]:
    """Returns the last values of a series, with the times at which their minutes ended."""
    last = values[-int(SHOWN / MINUTE) :]
    return [
        (series.ends_at - ago * MINUTE, float(value))
        for ago, value in zip(reversed(range(len(last))), last, strict=True)
    ]


def _chart(queue: QueueState, period: ChartPeriod, caption: str, lines: Mapping[str, Points]) -> str:
    """Draws a chart. Returns a text instead if all values are zero."""
    if not any(value for points in lines.values() for _, value in points):
        return figure(caption, "<p>No messages in this time.</p>")
    since = None if queue.verdict.kind in HEALTHY else queue.verdict.since
    text = f"{caption} in {queue.name}"
    return figure(caption, count_chart(text, lines, period, since))


def _heading(queue: QueueState, period: ChartPeriod) -> str:
    verdict, text = queue.verdict, name_state(queue.verdict.kind, queue.verdict.cause)
    if verdict.since is not None:
        before = "before " if verdict.since_or_before else ""
        text += f" since {before}{clock(verdict.since, queue.facts.read_at)}"
        text += ", before these charts begin" if verdict.since < period.start else ""
    return f'<h3>{clip_name(queue.name)} <span class="quiet">{text}</span></h3>'
