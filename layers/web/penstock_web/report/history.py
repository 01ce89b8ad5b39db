"""Shows the metrics job's results: depth and lag over time, lag by the hour, message groups, and a table of all
queues.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html import escape

from penstock.errors import QueueDoesNotExist
from penstock.management.metrics.operations import WindowSpan
from penstock.management.metrics.types import Latency, QueueLag, QueueMetrics

from .charts import ChartPeriod, count_chart, draw_sparkline, duration_chart
from .formats import between, clock, count, duration, moment, rate
from .groups import build_groups_section
from .heat import build_heat_section
from .outlook import build_warning_texts, forecast_text, format_interval
from .read import MAX_QUEUES, Reader
from .svg import clip_name, figure, key, small

STALE = timedelta(minutes=10)
_COLUMNS = ("Queue", "Visible", "In flight", "Delayed", "Oldest", "Arrivals /s", "Drained /s", "In an hour", "Forecast",
            "Wait p50", "Lag p50", "Lag p99", "Computed (UTC)")  # fmt: skip
_WINDOWS = {"1m": "minute", "1h": "hour", "1d": "day"}
_LEAST_POINTS = 2


def build_history_section(reader: Reader, first: Sequence[str], now: datetime) -> Iterator[str]:
    """Yields the sections. If the metrics job has never run, yields a paragraph that says so. The queues in `first`
    come before the busiest queues.
    """
    computed_at = next(reader.read_lag()).computed_at
    yield "<h2>History</h2>"
    if computed_at is None:
        yield "<p>The metrics job has not run yet. <code>penstock metrics run</code> computes history,"
        yield " percentiles and forecasts.</p>"
        return
    yield from notice(computed_at, now)
    names = list(dict.fromkeys([*first, *reader.find_busiest_queues()]))[:MAX_QUEUES]
    yield from _describe_queues_over_time(reader, names)
    yield from build_heat_section(reader.read_heat(names))
    yield from build_groups_section([reader.find_hot_groups(name) for name in names])
    yield from _describe_all_queues(reader, now)


def notice(computed_at: datetime, now: datetime) -> Iterator[str]:
    """Yields a paragraph that says when the metrics job last ended."""
    if now - computed_at > STALE:
        yield f'<p class="notice">The data is old. The metrics job last ended {moment(computed_at)} UTC,'
        yield f" {between(computed_at, now)} ago.</p>"
    else:
        yield f'<p class="quiet">The metrics job ended {moment(computed_at)} UTC.</p>'


# --- over time -------------------------------------------------------------------------------------------------------
def _describe_queues_over_time(reader: Reader, names: Sequence[str]) -> Iterator[str]:
    span = reader.focus
    yield "<section><h3>Depth and lag over time</h3>"
    charts = [chart for name in names if (chart := _charts(reader, name, span))]
    if not charts:
        yield "<p>No queue has metrics for this time.</p></section>"
        return
    yield f'<p>{moment(span.start)} to {moment(span.end)} UTC. <span class="quiet">Depth: unfinished messages at the'
    yield f" end of each {_WINDOWS[span.window]}. Lag: time from arrival to deletion.</span></p>"
    yield f'<ul class="legend">{key("first", "depth, and median lag")}{key("second", "99th percentile of lag")}</ul>'
    yield from charts
    yield "</section>"


def _charts(reader: Reader, name: str, span: WindowSpan) -> str:
    try:
        return _queue(reader.read_windows(name), span)
    except QueueDoesNotExist:
        return ""  # Another client has just deleted the queue.


def _queue(metrics: QueueMetrics, span: WindowSpan) -> str:
    """Draws those charts of a queue that have at least two points. The depth is the value at the end of a window. The
    lag covers the whole window.
    """
    period = ChartPeriod(span.start, span.end, timedelta(seconds=span.seconds * 1.5))
    depth = [(window.ends_at, float(window.depth)) for window in metrics.windows]
    lags = [(window.ends_at, window.lag) for window in metrics.windows if window.lag is not None]
    lines = {
        "first": [(at, float(lag.p50_us)) for at, lag in lags],
        "second": [(at, float(lag.p99_us)) for at, lag in lags],
    }
    pictures = []
    if len(depth) >= _LEAST_POINTS:
        pictures.append(figure("Depth", count_chart(f"Depth of {metrics.queue}", {"first": depth}, period)))
    if len(lags) >= _LEAST_POINTS:
        pictures.append(figure("Lag", duration_chart(f"Lag of {metrics.queue}", lines, period)))
    if not pictures:
        return ""
    return f'<section><h4>{clip_name(metrics.queue)}</h4><div class="pair">{"".join(pictures)}</div></section>'


# --- the table -------------------------------------------------------------------------------------------------------
def _describe_all_queues(reader: Reader, now: datetime) -> Iterator[str]:
    """Yields the table of queues. Reads one page of queues at a time."""
    yield "<section><h3>All queues</h3>"
    empty = True
    for read in reader.read_lag():
        if read.queues and empty:
            heads = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
            yield '<div class="wide" tabindex="0" role="region" aria-label="All queues"><table class="all"><thead>'
            yield f"<tr>{heads}</tr></thead><tbody>"
            empty = False
        yield from (_row(queue, now) for queue in read.queues)
    if empty:
        yield "<p>There are no queues.</p></section>"
        return
    yield '</tbody></table></div><p class="quiet">Visible, in flight, delayed and the age of the oldest message are'
    yield " values at the time of the report. All other values are from the time in the last column. Latencies cover"
    yield " the hour of that time and the hour before. Queues without activity have no forecast.</p></section>"


def _row(queue: QueueLag, at: datetime) -> str:
    """Returns the table row of a queue. `at` is the time of the report."""
    now, busy = queue.now, bool(queue.arrival_rate or queue.drain_rate)
    cells = (
        count(now.visible), count(now.in_flight), count(now.delayed), duration(now.oldest_age_us or None),
        rate(queue.arrival_rate), rate(queue.drain_rate),
        _in_an_hour(queue) if busy else count(None), _forecast_cell(queue) if busy else "",
        _percentile(queue.wait, "p50_us"), _percentile(queue.lag, "p50_us"), _percentile(queue.lag, "p99_us"),
        count(None) if queue.computed_at is None else clock(queue.computed_at, at),
    )  # fmt: skip
    name = clip_name(queue.name) + small(escape(" ".join(build_warning_texts(queue))))
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _in_an_hour(queue: QueueLag) -> str:
    """Formats the expected number of messages, its interval, and how often earlier intervals contained the actual
    number.
    """
    if not queue.forecast:
        return count(None)
    last = queue.forecast[-1]
    held = format_interval(queue.outlook)
    return f"{count(last.messages)} ({count(last.low)} to {count(last.high)})" + small(escape(held))


def _percentile(latency: Latency | None, name: str) -> str:
    return duration(None if latency is None else getattr(latency, name))


def _forecast_cell(queue: QueueLag) -> str:
    """Draws the forecast and names its method, or gives the reason for a missing forecast."""
    method, points = small(escape(forecast_text(queue.outlook))), queue.forecast
    if not points:
        return method
    values, low, high = ([getattr(point, name) for point in points] for name in ("messages", "low", "high"))
    return draw_sparkline(values, low, high, f"From {count(values[0])} to {count(values[-1])} in an hour") + method
